"""A table of mixed columns as one matrix of numbers: first what is measured, then what is named."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Self

import numpy as np
from sklearn.base import BaseEstimator, TransformerMixin
from sklearn.utils.validation import check_is_fitted

from torte._forms import savable
from torte.errors import InvalidInput
from torte.tables.columns import Categorical, Column, Numeric, Ordinal
from torte.tables.dates import Date
from torte.tables.frames import frame_of, kind_of

__all__ = ["TableEncoder"]

_VERSION = 1
# From the kind of a column to that of what it became.
_KINDS = {
    "numeric": "numeric",
    "boolean": "categorical",
    "categorical": "categorical",
    "ordinal": "ordinal",
    "date": "date",
}


def _read(column: Any, kind: str, max_levels: int) -> Column:
    if kind == "numeric":
        return Numeric.read(column, max_levels)
    if kind == "ordinal":
        return Ordinal.read(column)
    return Date.read(column) if kind == "date" else Categorical.read(column, max_levels)


def _names(columns: Any) -> str:
    return ", ".join(map(repr, columns))


class TableEncoder(TransformerMixin, BaseEstimator):
    """Numeric, boolean, categorical, ordinal and date columns, whole or incomplete, as numbers.

    Numbers stay as they are, and where one value fills more than half of a column its frequent
    values are codes as well; ordered categories become their positions; dates the number of
    days and points on the circles of year, week and day. Text, truth values and unordered
    categories become codes, for kernels such as `Categories`. A missing number is the median,
    with a code that says so; a missing category has a code of its own.

    Parameters
    ----------
    categorical : sequence of names
        Columns of numbers that are names of categories.
    max_levels : int
        Categories kept in a column, the most frequent; the others share one code.

    Attributes
    ----------
    columns_ : list of Column
        What became of each column, in the order of the table.
    kinds_ : dict
        From names of columns to "numeric", "boolean", "categorical", "ordinal" or "date".
    numeric_names_, code_names_ : list of str
        Columns of the matrix: first the numbers, then the codes.
    feature_names_in_, n_features_in_
        As everywhere in scikit-learn.

    Examples
    --------
    >>> import pandas as pd
    >>> from torte.tables import TableEncoder
    >>> frame = pd.DataFrame({"size": [1.5, None, 3.0], "color": ["red", "blue", None]})
    >>> encoder = TableEncoder().fit(frame)
    >>> encoder.transform(frame)
    array([[1.5 , 0.  , 3.  ],
           [2.25, 1.  , 2.  ],
           [3.  , 0.  , 0.  ]])
    >>> encoder.get_feature_names_out().tolist()
    ['size', 'size is missing', 'color']
    >>> encoder.unseen(pd.DataFrame({"color": ["green", "red"], "size": 1.0}))
    {'color': 1}
    """

    def __init__(self, *, categorical: Any = (), max_levels: int = 100):
        self.categorical = categorical
        self.max_levels = max_levels

    def fit(self, X: Any, y: Any = None) -> Self:
        """Find the kinds of columns, their levels and what fills their holes."""
        if not isinstance(self.max_levels, (int, np.integer)) or self.max_levels < 1:
            raise InvalidInput(
                f"`max_levels` must be a whole number of at least 1, got {self.max_levels!r}."
            )
        frame = frame_of(X)
        if frame.shape[0] == 0 or frame.shape[1] == 0:
            raise InvalidInput(
                f"the table must have at least one row and one column, got shape {frame.shape}."
            )
        named = [str(name) for name in self.categorical]
        absent = [name for name in named if name not in frame.columns]
        if absent:
            raise InvalidInput(
                f"`categorical` names {_names(absent)}, but the table has {_names(frame.columns)}."
            )
        self.kinds_ = {
            name: "categorical" if name in named else kind_of(frame[name]) for name in frame.columns
        }
        self.columns_ = [
            _read(frame[name], kind, self.max_levels) for name, kind in self.kinds_.items()
        ]
        return self._named()

    def _named(self) -> Self:
        """What follows from `columns_`."""
        self.numeric_names_ = [name for column in self.columns_ for name in column.numeric_names()]
        self.code_names_ = [name for column in self.columns_ for name in column.code_names()]
        self.feature_names_in_ = np.array([column.name for column in self.columns_], dtype=object)
        self.n_features_in_ = len(self.columns_)
        return self

    def _found(self, X: Any) -> Any:
        """The table with the columns that were fitted, by name; others are ignored."""
        check_is_fitted(self)
        frame = frame_of(X)
        names = self.feature_names_in_.tolist()
        absent = [name for name in names if name not in frame.columns]
        if absent:
            raise InvalidInput(
                f"the table lacks {len(absent)} of the {len(names)} columns that were fitted: {_names(absent)}; it has "
                f"{_names(frame.columns) or 'none'}."
            )
        return frame[names]

    def transform(self, X: Any) -> np.ndarray:
        """The matrix (n x p): numbers, then codes. Columns are found by name, in any order."""
        frame = self._found(X)
        parts = [column.encode(frame[column.name]) for column in self.columns_]
        return np.hstack([numbers for numbers, _ in parts] + [codes for _, codes in parts])

    def get_feature_names_out(self, input_features: Any = None) -> np.ndarray:
        """Names of the columns of the matrix."""
        check_is_fitted(self)
        return np.array([*self.numeric_names_, *self.code_names_], dtype=object)

    def unseen(self, X: Any) -> dict[str, int]:
        """How many cells of which columns hold categories that were not there in `fit`."""
        frame = self._found(X)
        counts = {column.name: column.unseen(frame[column.name]) for column in self.columns_}
        return {name: count for name, count in counts.items() if count}

    # -- the JSON form ----------------------------------------------------------------

    def to_dict(self) -> dict[str, Any]:
        """The fitted encoder as plain JSON; `from_dict` is its inverse."""
        check_is_fitted(self)
        return {
            "version": _VERSION,
            "categorical": [str(name) for name in self.categorical],
            "max_levels": int(self.max_levels),
            "kinds": dict(self.kinds_),
            "columns": [column.to_dict() for column in self.columns_],
        }

    @classmethod
    def from_dict(cls, form: Mapping[str, Any]) -> TableEncoder:
        """The fitted encoder that `to_dict` described."""
        if form.get("version") != _VERSION:
            raise InvalidInput(
                f"`form` must be what to_dict of a TableEncoder gave, of version {_VERSION}, got version "
                f"{form.get('version')!r}."
            )
        encoder = cls(categorical=tuple(form["categorical"]), max_levels=form["max_levels"])
        encoder.kinds_ = dict(form["kinds"])
        encoder.columns_ = [Column.from_dict(column) for column in form["columns"]]
        found = [(column.name, column.kind) for column in encoder.columns_]
        kinds = [(name, _KINDS.get(kind)) for name, kind in encoder.kinds_.items()]
        if not found or found != kinds:
            raise InvalidInput(
                f"`form` must say the kind of each of its {len(found)} columns, one of {', '.join(_KINDS)}, got "
                f"{repr(form['kinds'])[:200]}."
            )
        return encoder._named()


def _state(encoder: TableEncoder) -> dict[str, Any]:
    fitted = hasattr(encoder, "columns_")
    return {"form": encoder.to_dict()} if fitted else {"settings": encoder.get_params()}


def _restored(fields: dict[str, Any]) -> TableEncoder:
    if "settings" in fields:
        return TableEncoder(**fields["settings"])
    return TableEncoder.from_dict(fields["form"])


savable(TableEncoder, _state, _restored)
