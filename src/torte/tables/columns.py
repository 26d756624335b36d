"""What one column of a table becomes: frozen values that take numbers from it, and JSON of them.

Every kind of column says which numeric columns and which columns of codes it gives. Codes are
compared as equal or not; a missing cell has a code of its own.
"""

from __future__ import annotations

import dataclasses
import math
from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np

from torte.errors import InvalidInput
from torte.tables.frames import pandas

__all__ = ["Categorical", "Column", "Numeric", "Ordinal", "filled", "indicator", "median"]

UNSEEN, MISSING, RARE = -1.0, 0.0, 1.0  # codes of categories; known ones follow


def _is_number(value: Any) -> bool:
    return isinstance(value, (int, float)) and not isinstance(value, bool) and math.isfinite(value)


def _distinct(value: Any, holds: Callable[[Any], bool]) -> bool:
    return isinstance(value, tuple) and all(map(holds, value)) and len({*value}) == len(value)


# What a field may hold, by its annotation: from JSON anything may come.
_HOLDS: dict[str, Callable[[Any], bool]] = {
    "str": lambda value: isinstance(value, str),
    "bool": lambda value: isinstance(value, bool),
    "float": _is_number,
    "tuple[float, ...]": lambda value: _distinct(value, _is_number),
    "tuple[str, ...]": lambda value: _distinct(value, lambda part: isinstance(part, str)),
}


@dataclass(frozen=True)
class Column(ABC):
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

    @abstractmethod
    def encode(self, column: Any) -> tuple[np.ndarray, np.ndarray]:
        """Numbers (n x a) and codes (n x b) of the cells of a pandas column."""

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
        fields = {} if cls is None else {f.name: str(f.type) for f in dataclasses.fields(cls)}
        sound = set(given) == set(fields) and all(_HOLDS[t](given[n]) for n, t in fields.items())
        if cls is None or not sound:
            raise InvalidInput(
                f"`form` must describe a column of the kind {', '.join(filter(None, Column.kinds))} with all of its fields, "
                f"each of the right type, got {repr(dict(form))[:200]}."
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
    """Numbers and durations: as they are; a missing one is the median, and a code says so.

    Where one value fills more than half of the cells, as zero often does, the distance of two
    numbers says little of the others. Values that occur more than once are then categories
    too, ``common``, and all others share one code.
    """

    kind: ClassVar[str] = "numeric"

    fill: float
    missing: bool
    common: tuple[float, ...]

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
    def read(cls, column: Any, max_levels: int) -> Numeric:
        values = cls.values(column)
        levels, counts = np.unique(values[~np.isnan(values)], return_counts=True)
        common: tuple[float, ...] = ()
        if len(levels) > 2 and counts.max() > 0.5 * len(values):
            order = np.argsort(-counts, kind="stable")[: min(max_levels, int((counts > 1).sum()))]
            common = tuple(levels[order].tolist())
        return cls(str(column.name), median(values), bool(np.isnan(values).any()), common)

    def numeric_names(self) -> list[str]:
        return [self.name]

    def code_names(self) -> list[str]:
        exactly = [f"{self.name} exactly"] if self.common else []
        return indicator(self.name, self.missing) + exactly

    def encode(self, column: Any) -> tuple[np.ndarray, np.ndarray]:
        values = self.values(column)
        numbers, codes = filled(values, self.fill, self.missing)
        if not self.common:
            return numbers, codes
        found = pandas().Index(self.common, dtype=float).get_indexer(values)
        exactly = np.where(found >= 0, found + RARE + 1, RARE)
        return numbers, np.hstack([codes, np.where(np.isnan(values), MISSING, exactly)[:, None]])


def _texts(column: Any) -> tuple[np.ndarray, np.ndarray]:
    """Distinct cells as text, and the position of each cell among them, -1 where missing.

    ``1``, ``1.0`` and ``"1"`` are the same category.
    """

    def text(cell: Any) -> str:
        whole = isinstance(cell, (float, np.floating)) and float(cell).is_integer()
        return str(int(cell)) if whole else str(cell)

    positions, distinct = pandas().factorize(column)
    return np.array([text(cell) for cell in distinct], dtype=object), positions


def _spread(values: Any, missing: float, positions: np.ndarray) -> np.ndarray:
    """One value a cell, from one for each distinct cell and that of missing ones."""
    return np.append(np.asarray(values, dtype=np.float64), missing)[positions]


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
        texts, positions = _texts(column)
        sizes = np.bincount(positions[positions >= 0], minlength=len(texts))
        counts = pandas().Series(sizes).groupby(texts).sum()
        order = sorted(counts.index, key=lambda level: (-counts[level], level))
        return cls(str(column.name), tuple(order[:max_levels]), tuple(order[max_levels:]))

    def code_names(self) -> list[str]:
        return [self.name]

    def encode(self, column: Any) -> tuple[np.ndarray, np.ndarray]:
        texts, positions = _texts(column)
        found = pandas().Index(self.levels, dtype=object).get_indexer(texts)
        codes = np.where(found >= 0, found + RARE + 1, RARE if self.rare else UNSEEN)
        return np.zeros((len(column), 0)), _spread(codes, MISSING, positions)[:, None]

    def unseen(self, column: Any) -> int:
        texts, positions = _texts(column)
        known = {*self.levels, *self.rare}
        return int(_spread([text not in known for text in texts], 0, positions).sum())


@dataclass(frozen=True)
class Ordinal(Column):
    """Ordered categories: their positions, as numbers; a level never seen counts as missing."""

    kind: ClassVar[str] = "ordinal"

    levels: tuple[str, ...]
    fill: float
    missing: bool

    @classmethod
    def read(cls, column: Any) -> Ordinal:
        levels = tuple(_texts(column.cat.categories)[0].tolist())
        values = cls(str(column.name), levels, 0.0, False)._positions(column)
        return cls(str(column.name), levels, median(values), bool(np.isnan(values).any()))

    def _positions(self, column: Any) -> np.ndarray:
        texts, positions = _texts(column)
        found = pandas().Index(self.levels, dtype=object).get_indexer(texts)
        return _spread(np.where(found >= 0, found, np.nan), np.nan, positions)

    def numeric_names(self) -> list[str]:
        return [self.name]

    def code_names(self) -> list[str]:
        return indicator(self.name, self.missing)

    def encode(self, column: Any) -> tuple[np.ndarray, np.ndarray]:
        return filled(self._positions(column), self.fill, self.missing)

    def unseen(self, column: Any) -> int:
        return int((np.isnan(self._positions(column)) & column.notna().to_numpy(bool)).sum())
