"""The cells of a table: which one is at fault where NumPy or scikit-learn cannot take it."""

from __future__ import annotations

from collections.abc import Sized
from typing import Any

import numpy as np

from torte.errors import InvalidInput, WrongType

__all__ = ["column_name", "demand_table", "explained"]

# Of errors about single cells; any other says enough.
_OF_CELLS = ("could not convert", "argument must be", "could not be promoted", "too large to")
_OF_SHAPE = ("inhomogeneous", "with a sequence")


def column_name(names: Any, position: int) -> str:
    """How a message calls a column."""
    return f"column {position}" if names is None else f"column {str(names[position])!r}"


def demand_table(X: Any) -> None:
    """Raise `InvalidInput` unless there is a row and a column."""
    if X is None:
        raise InvalidInput("X must be a table of rows and columns, got None; give rows of numbers.")
    shape: tuple[int, ...] = tuple(getattr(X, "shape", ()))
    if len(shape) == 2 and shape[0] == 0:
        raise InvalidInput(
            f"X must have at least one row, got 0 sample(s) (shape={shape}); see whether a filter took them all."
        )
    if len(shape) == 2 and shape[1] == 0:
        raise InvalidInput(
            f"X must have at least one column, got 0 feature(s) (shape={shape}) while a minimum of 1 is required; "
            f"see whether a selection took them all."
        )


def explained(X: Any, error: Exception) -> Exception:
    """The error that names the cell of X which ``error`` is about; ``error``, where it says enough."""
    if any(mark in str(error) for mark in _OF_SHAPE):
        return _of_shape(np.asarray(X, dtype=object)) or error
    if not any(mark in str(error) for mark in _OF_CELLS):
        return error
    table = np.asarray(X, dtype=object)
    if table.ndim != 2:
        cell = table.flat[0] if table.size else X
        return InvalidInput(
            f"X must be a table of rows and columns, got shape {table.shape} with {cell!r} in it; text and other objects "
            f"are for a kernel on objects, such as Spectrum()."
        )
    names = getattr(X, "columns", None)
    for position, column in enumerate(table.T):
        for cell in column:
            try:
                float(cell)
            except OverflowError:
                return InvalidInput(
                    f"X must hold numbers that fit in float64 (below 2e+308), got a larger one in "
                    f"{column_name(names, position)}; rescale that column."
                )
            except (TypeError, ValueError) as reason:
                kind = WrongType if isinstance(reason, TypeError) else InvalidInput
                return kind(
                    f"X must hold numbers, got text or another type in {column_name(names, position)}, value {cell!r} "
                    f"({reason}); encode such columns, for instance with sklearn.preprocessing.OneHotEncoder, or drop them."
                )
    return error


def _many(cell: Any) -> bool:
    return isinstance(cell, Sized) and not isinstance(cell, (str, bytes))


def _of_shape(table: np.ndarray) -> InvalidInput | None:
    """Rows of different lengths, or a cell that holds several values."""
    if table.ndim == 1:
        lengths = [len(row) if _many(row) else 1 for row in table]
        other = next((i for i, length in enumerate(lengths) if length != lengths[0]), None)
        if other is not None:
            return InvalidInput(
                f"X must have rows of one length, got {lengths[0]} cells in row 0 and {lengths[other]} in row {other}; fill or "
                f"drop the cells that not every row has."
            )
    for place, cell in np.ndenumerate(table):
        if table.ndim == 2 and _many(cell):
            return InvalidInput(
                f"X must hold one number in a cell, got {cell!r} in row {place[0]}, column {place[1]}; give its values columns "
                f"of their own."
            )
    return None
