"""What one column of a table becomes: frozen values that take numbers from it, and JSON of them.

Every kind of column says which numeric columns and which columns of codes it gives. Codes are
compared as equal or not; a missing cell has a code of its own.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np

from torte.errors import InvalidInput
from torte.tables.frames import pandas

__all__ = ["Categorical", "Column", "Numeric", "Ordinal", "filled", "indicator", "median"]

UNSEEN, MISSING, RARE = -1.0, 0.0, 1.0  # codes of categories; known ones follow


@dataclass(frozen=True)
class Column:
    """One column of a table; ``kind`` is its name in JSON."""

    kind: ClassVar[str] = ""
    kinds: ClassVar[dict[str, type[Column]]] = {}

    name: str

    def __init_subclass__(cls, **kwargs: Any) -> None:
        super().__init_subclass__(**kwargs)
        Column.kinds[cls.kind] = cls

    def numeric_names(self) -> list[str]:
        """Names of the numbers that it gives."""
        return []

    def code_names(self) -> list[str]:
        """Names of the codes that it gives."""
        return []

    def encode(self, column: Any) -> tuple[np.ndarray, np.ndarray]:
        """Numbers (n x a) and codes (n x b) of the cells of a pandas column."""
        raise NotImplementedError

    def unseen(self, column: Any) -> int:
        """How many cells hold a category that was not there when the column was read."""
        return 0

    def to_dict(self) -> dict[str, Any]:
        """Plain JSON."""
        form = {key: list(v) if isinstance(v, tuple) else v for key, v in vars(self).items()}
        return {"kind": self.kind, **form}

    @staticmethod
    def from_dict(form: Mapping[str, Any]) -> Column:
        """The column that `to_dict` described."""
        cls = Column.kinds.get(str(form.get("kind")))
        given: dict[str, Any] = {
            key: tuple(v) if isinstance(v, list) else v for key, v in form.items()
        }
        given.pop("kind", None)
        if cls is None or set(given) != {field.name for field in dataclasses.fields(cls)}:
            raise InvalidInput(
                f"`form` must describe a column of the kind {', '.join(filter(None, Column.kinds))} with all of its fields, "
                f"got {dict(form)!r}."
            )
        return cls(**given)


def filled(values: np.ndarray, fill: float, missing: bool) -> tuple[np.ndarray, np.ndarray]:
    """Numbers with holes filled, and the code that says where they were."""
    holes = np.isnan(values)
    codes = holes[:, None].astype(np.float64) if missing else np.zeros((len(values), 0))
    return np.where(holes, fill, values)[:, None], codes


def indicator(name: str, missing: bool) -> list[str]:
    return [f"{name} is missing"] if missing else []


def median(values: np.ndarray) -> float:
    known = values[~np.isnan(values)]
    return float(np.median(known)) if len(known) else 0.0


@dataclass(frozen=True)
class Numeric(Column):
    """Numbers and durations: as they are; a missing one is the median, and a code says so."""

    kind: ClassVar[str] = "numeric"

    fill: float
    missing: bool

    @staticmethod
    def values(column: Any) -> np.ndarray:
        pd = pandas()
        if pd.api.types.is_timedelta64_dtype(column.dtype):
            return column.dt.total_seconds().to_numpy(np.float64)
        try:
            numbers = pd.to_numeric(column)
            values = numbers.to_numpy(dtype=np.float64, na_value=np.nan)
        except (TypeError, ValueError) as error:
            raise InvalidInput(
                f"column {column.name!r} must hold numbers, as it did when the table was fitted, got text or "
                f"another type ({error})."
            ) from error
        infinite = np.isinf(values)
        if infinite.any():
            raise InvalidInput(
                f"column {column.name!r} must hold finite numbers, got infinity (inf) in row "
                f"{int(np.flatnonzero(infinite)[0])}; drop or replace it."
            )
        return values

    @classmethod
    def read(cls, column: Any) -> Numeric:
        values = cls.values(column)
        return cls(str(column.name), median(values), bool(np.isnan(values).any()))

    def numeric_names(self) -> list[str]:
        return [self.name]

    def code_names(self) -> list[str]:
        return indicator(self.name, self.missing)

    def encode(self, column: Any) -> tuple[np.ndarray, np.ndarray]:
        return filled(self.values(column), self.fill, self.missing)


def _texts(column: Any) -> np.ndarray:
    """Cells as text, None where missing: ``1``, ``1.0`` and ``"1"`` are the same category."""

    def text(cell: Any) -> str:
        if isinstance(cell, (float, np.floating)) and float(cell).is_integer():
            return str(int(cell))
        return str(cell)

    present = column.notna().to_numpy(dtype=bool)
    cells = column.to_numpy(dtype=object)
    return np.array([text(c) if p else None for c, p in zip(cells, present, strict=True)], object)


@dataclass(frozen=True)
class Categorical(Column):
    """Text, truth values, categories: codes, the most frequent levels first.

    Levels beyond ``max_levels`` share one code, and where there are such, a level never seen
    has it too; elsewhere that one is like no other.
    """

    kind: ClassVar[str] = "categorical"

    levels: tuple[str, ...]
    rare: tuple[str, ...]

    @classmethod
    def read(cls, column: Any, max_levels: int) -> Categorical:
        counts = pandas().Series(_texts(column)).value_counts(sort=False)
        order = sorted(counts.index, key=lambda level: (-counts[level], level))
        return cls(str(column.name), tuple(order[:max_levels]), tuple(order[max_levels:]))

    def code_names(self) -> list[str]:
        return [self.name]

    def encode(self, column: Any) -> tuple[np.ndarray, np.ndarray]:
        texts = _texts(column)
        found = pandas().Index(self.levels, dtype=object).get_indexer(texts)
        codes = np.where(found >= 0, found + RARE + 1, RARE if self.rare else UNSEEN)
        codes = np.where([text is None for text in texts], MISSING, codes)
        return np.zeros((len(codes), 0)), codes[:, None]

    def unseen(self, column: Any) -> int:
        known = {None, *self.levels, *self.rare}
        return sum(text not in known for text in _texts(column))


@dataclass(frozen=True)
class Ordinal(Column):
    """Ordered categories: their positions, as numbers; a level never seen counts as missing."""

    kind: ClassVar[str] = "ordinal"

    levels: tuple[str, ...]
    fill: float
    missing: bool

    @classmethod
    def read(cls, column: Any) -> Ordinal:
        levels = tuple(_texts(pandas().Series(column.cat.categories)).tolist())
        values = cls(str(column.name), levels, 0.0, False)._positions(column)
        return cls(str(column.name), levels, median(values), bool(np.isnan(values).any()))

    def _positions(self, column: Any) -> np.ndarray:
        found = pandas().Index(self.levels, dtype=object).get_indexer(_texts(column))
        return np.where(found >= 0, found.astype(np.float64), np.nan)

    def numeric_names(self) -> list[str]:
        return [self.name]

    def code_names(self) -> list[str]:
        return indicator(self.name, self.missing)

    def encode(self, column: Any) -> tuple[np.ndarray, np.ndarray]:
        return filled(self._positions(column), self.fill, self.missing)

    def unseen(self, column: Any) -> int:
        return int((np.isnan(self._positions(column)) & column.notna().to_numpy(bool)).sum())
