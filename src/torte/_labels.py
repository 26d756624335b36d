"""Labels at the border: one a row, none missing, all of one kind, and their place among classes."""

from __future__ import annotations

from typing import Any

import numpy as np
from sklearn.preprocessing import LabelEncoder
from sklearn.utils import column_or_1d
from sklearn.utils.multiclass import check_classification_targets

from torte.errors import InvalidInput

__all__ = [
    "admit_labels",
    "cells_of",
    "demand_rows",
    "encode_labels",
    "is_missing",
    "numbers_of_classes",
]


def is_missing(cell: Any) -> bool:
    """None, NaN, NaT and NA: what is not equal to itself, or does not say so."""
    equal = cell == cell
    return cell is None or not (isinstance(equal, (bool, np.bool_)) and bool(equal))


def demand_rows(y: Any, rows: int) -> None:
    """Raise `InvalidInput` unless there is one label for each row."""
    if len(y) != rows:
        raise InvalidInput(
            f"X and y must have the same number of rows (inconsistent numbers of samples), got {rows} and {len(y)}."
        )


def cells_of(y: Any) -> np.ndarray:
    """y as an array of what it holds: NumPy would make text of a NaN or a number beside text."""
    try:
        cells = np.asarray(y)
        listed = cells.dtype.kind in "US" and not isinstance(y, np.ndarray)
        return np.asarray(y, dtype=object) if listed else cells
    except ValueError as error:
        raise InvalidInput(
            f"y must be one label a row, or probabilities of m classes in each row, got rows of different lengths ({error})."
        ) from error


def _kind(row: int, label: Any) -> str:
    try:
        hash(label)
    except TypeError:
        raise InvalidInput(
            f"y must hold labels that can be told apart (hashable ones: text, numbers), got {label!r} in row {row}."
        ) from None
    if is_missing(label):
        _refuse(row, label)
    if isinstance(label, str):
        return "text"
    if not isinstance(label, (bool, int, float, np.bool_, np.integer, np.floating)):
        raise InvalidInput(
            f"y must hold labels that are text or numbers, got {label!r} ({type(label).__name__}) in row {row}; write "
            f"labels of other types as text."
        )
    return "number"


def _refuse(row: int, label: Any) -> None:
    said = "NaN" if isinstance(label, (float, np.floating)) and label != label else repr(label)
    raise InvalidInput(
        f"y must hold a label in every row, got {said} in row {row}; drop the rows without a label."
    )


def _demand_labels(cells: np.ndarray, rows: np.ndarray) -> None:
    """Raise `InvalidInput` at a row without a label, or with one of another kind than the first."""
    kind = cells.dtype.kind
    if kind in "fmM":
        bad = ~np.isfinite(cells) if kind == "f" else np.isnat(cells)
        if bad.any():
            first = int(np.argmax(bad))
            _refuse(int(rows[first]), cells[first].item() if kind == "f" else cells[first])
    if kind != "O" or not len(cells):
        return
    first_kind = _kind(int(rows[0]), cells[0])
    for row, label in zip(rows.tolist(), cells, strict=True):
        if _kind(row, label) != first_kind:
            raise InvalidInput(
                f"y must hold labels of one kind, all text or all numbers, got {cells[0]!r} in row {rows[0]} and {label!r} in "
                f"row {row}; write all of them as text."
            )


def _one_label_a_row(y: Any, rows: int, kept: Any) -> np.ndarray:
    """The labels of the kept rows, each of which has one."""
    cells = cells_of(y)
    labels = column_or_1d(y, warn=True)
    demand_rows(labels, rows)
    cells, labels = cells.ravel()[kept], labels[kept]
    _demand_labels(cells, np.arange(rows)[kept])
    if labels.dtype.kind == "O" and len(labels) and not isinstance(cells[0], str):
        return np.asarray(labels.tolist())  # numbers that an array of objects holds
    return labels


def admit_labels(y: Any, rows: int, kept: Any = slice(None)) -> tuple[np.ndarray, np.ndarray]:
    """The classes of the kept rows, sorted, and the position of each label among them."""
    labels = _one_label_a_row(y, rows, kept)
    check_classification_targets(labels)
    encoder = LabelEncoder()
    codes = encoder.fit_transform(labels)
    if len(encoder.classes_) < 2:
        raise InvalidInput(
            f"y must hold at least 2 classes, got 1 class, {encoder.classes_[0]!r}, in all {len(labels)} rows; a classifier "
            f"needs examples of another one."
        )
    return encoder.classes_, codes


def encode_labels(y: Any, rows: int, classes: np.ndarray) -> np.ndarray:
    """The position of each label among known classes."""
    labels = _one_label_a_row(y, rows, slice(None))
    unknown = [label for label in np.unique(labels).tolist() if label not in set(classes.tolist())]
    if unknown:
        raise InvalidInput(
            f"y must hold labels of the classes {classes.tolist()}, got {unknown[0]!r} too; declare every class "
            f"in the first call, or drop the rows with it."
        )
    return np.searchsorted(classes, labels)


def numbers_of_classes(g: Any, classes: np.ndarray) -> np.ndarray:
    """One number for each class: given in their order, or as a function of a label.

    >>> import numpy as np
    >>> from torte._labels import numbers_of_classes
    >>> numbers_of_classes(str.isupper, np.array(["A", "b"]))
    array([1., 0.])
    """
    given = [g(label) for label in classes] if callable(g) else g
    try:
        values = np.asarray(given, dtype=np.float64)
        got = f"shape {values.shape}"
    except (TypeError, ValueError):
        values, got = np.empty(0), repr(given)
    if values.shape == classes.shape and np.isnan(values).any():
        got = f"{given!r}"
    elif values.shape == classes.shape:
        return values
    raise InvalidInput(
        f"`g` must be a function of a label, or hold one number for each of the {len(classes)} classes, got {got}."
    )
