"""A user's table column by column, whatever holds it."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from torte._labels import is_missing
from torte.errors import InvalidInput

__all__ = ["Column", "Table", "crossed", "is_missing", "table", "take"]


@dataclass(frozen=True, eq=False)
class Column:
    """Its cells; as ``numbers`` (floats, NaN where missing) if it holds nothing else."""

    name: str
    cells: np.ndarray
    numbers: np.ndarray | None
    missing: int


@dataclass(frozen=True, eq=False)
class Table:
    """Columns of one length, and the label of every row."""

    columns: tuple[Column, ...]
    index: np.ndarray


def _column(name: str, cells: np.ndarray) -> Column:
    if cells.dtype.kind in "iuf":
        numbers = cells.astype(float)
        return Column(name, cells, numbers, int(np.isnan(numbers).sum()))
    if cells.dtype.kind in "mM":
        return Column(name, cells, None, int(np.isnat(cells).sum()))
    if cells.dtype.kind == "b":
        return Column(name, cells, None, 0)
    blank = np.array([is_missing(cell) for cell in cells.tolist()], dtype=bool)
    try:
        numbers = np.full(len(cells), np.nan)
        numbers[~blank] = cells[~blank].astype(float)
    except (TypeError, ValueError):
        return Column(name, cells, None, int(blank.sum()))
    return Column(name, cells, None if blank.all() else numbers, int(blank.sum()))


def table(X: Any, takes: str = "vectors") -> Table:
    """An array, a data frame, a list of rows; of "objects" a list, of "pairs" anything with rows.

    >>> import numpy as np
    >>> from torte.inspection import table
    >>> [column.name for column in table(np.eye(2)).columns]
    ['column 0', 'column 1']
    """
    if takes in ("objects", "pairs"):
        objects = np.empty(len(X), dtype=object)
        objects[:] = [str(item) for item in X] if takes == "objects" else None
        column = Column("object", objects, None, 0)
        return Table((column,) if takes == "objects" else (), np.arange(len(X)))
    names = getattr(X, "columns", None)
    if names is not None:
        if len(set(names)) < len(list(names)):
            raise InvalidInput("`X` must have columns of distinct names; rename the doubled ones.")
        columns = [_column(str(name), np.asarray(X[name])) for name in names]
        index = np.asarray(getattr(X, "index", np.arange(len(X))))
        return Table(tuple(columns), index)
    cells = np.asarray(X)
    if cells.ndim != 2:
        raise InvalidInput(f"`X` must be a table of rows and columns, got shape {cells.shape}.")
    columns = [_column(f"column {i}", cells[:, i]) for i in range(cells.shape[1])]
    return Table(tuple(columns), np.arange(len(cells)))


def take(X: Any, positions: np.ndarray) -> Any:
    """Rows of a table as a table of the same kind, columns with the types they had.

    >>> import numpy as np
    >>> from torte.inspection.columns import take
    >>> take(np.eye(3), np.array([2]))
    array([[0., 0., 1.]])
    """
    if hasattr(X, "iloc"):
        return X.iloc[positions].reset_index(drop=True)
    return X[positions] if hasattr(X, "columns") else np.asarray(X)[positions]


def crossed(X: Any, other: Any, position: int) -> Any:
    """X with one column taken from another table of the same rows and kind.

    >>> import numpy as np
    >>> from torte.inspection.columns import crossed
    >>> crossed(np.zeros((1, 3)), np.ones((1, 3)), 1)
    array([[0., 1., 0.]])
    """
    if hasattr(X, "columns"):
        names = list(X.columns)
        return type(X)({n: (other if i == position else X)[n] for i, n in enumerate(names)})
    changed = X.copy()
    changed[:, position] = other[:, position]
    return changed
