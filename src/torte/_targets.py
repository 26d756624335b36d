"""Targets at the border: labels or distributions over classes, and how much each row counts."""

from __future__ import annotations

from typing import Any

import numpy as np
import torch
from sklearn.base import BaseEstimator
from torch import Tensor

from torte._arrays import admit_any
from torte._labels import admit_labels, cells_of, demand_rows, encode_labels
from torte._weights import admit_weights, class_factors
from torte.errors import InvalidInput

__all__ = ["admit", "encode_targets", "weigh"]


def _soft_labels(y: Any, rows: int) -> np.ndarray | None:
    """y as a matrix of probabilities (n x m), where it has two or more columns; else None."""
    given = cells_of(y)
    if given.ndim != 2 or given.shape[1] < 2:
        return None
    try:
        Y = given.astype(np.float64)
    except (TypeError, ValueError):
        raise InvalidInput(
            f"y must be one label a row, or probabilities of m classes in each row, got text in shape {given.shape}."
        ) from None
    demand_rows(Y, rows)
    sums = Y.sum(axis=1)
    wrong = ~np.isfinite(sums) | (Y < 0).any(axis=1) | (np.abs(sums - 1) > 1e-6)
    if wrong.any():
        row = int(np.flatnonzero(wrong)[0])
        raise InvalidInput(
            f"y with {Y.shape[1]} columns must hold the probabilities of as many classes, at least 0 and with sum 1 in "
            f"each row, got {Y[row].tolist()} in row {row}; divide each row by its sum, or give one label a row."
        )
    return Y / sums[:, None]


def _one_hot(codes: np.ndarray, classes: int) -> np.ndarray:
    """Positions of labels as rows of zeros with a single one (n x m)."""
    Y = np.zeros((len(codes), classes))
    Y[np.arange(len(codes)), codes] = 1.0
    return Y


def _admit_targets(y: Any, rows: int, kept: Any) -> tuple[np.ndarray, np.ndarray]:
    """The classes, and the labels of the kept rows as distributions over them (n x m)."""
    soft = _soft_labels(y, rows)
    if soft is None:
        classes, codes = admit_labels(y, rows, kept)
        return classes, _one_hot(codes, len(classes))
    soft = soft[kept]
    if np.count_nonzero(soft.sum(axis=0)) < 2:
        raise InvalidInput(
            f"y must give probability to at least 2 classes, got 1 class in all {len(soft)} rows; a classifier needs "
            f"examples of another one."
        )
    return np.arange(soft.shape[1]), soft


def encode_targets(y: Any, rows: int, classes: np.ndarray) -> np.ndarray:
    """Labels or distributions over known classes as distributions (n x m)."""
    soft = _soft_labels(y, rows)
    if soft is None:
        return _one_hot(encode_labels(y, rows, classes), len(classes))
    if not np.array_equal(classes, np.arange(soft.shape[1])):
        raise InvalidInput(
            f"y with {soft.shape[1]} columns holds probabilities of the classes 0 to {soft.shape[1] - 1}, but the classes "
            f"are {classes.tolist()}; give one label a row."
        )
    return soft


def weigh(
    Y: np.ndarray, classes: np.ndarray, weights: np.ndarray | None, class_weight: Any
) -> tuple[np.ndarray, np.ndarray | None]:
    """Targets and weights of rows, with the weights of classes in them.

    A row labeled with a distribution is that row once for each class, weighted by its
    probability; so a factor of a class scales its share of the row.
    """
    if class_weight is not None:
        mass = Y if weights is None else weights[:, None] * Y
        mass = mass * class_factors(class_weight, classes, mass.sum(axis=0))
        weights = mass.sum(axis=1)
        Y = mass / weights[:, None]
    if weights is not None and (weights == 1.0).all():
        weights = None
    return Y, weights


def admit(
    estimator: BaseEstimator,
    X: Any,
    y: Any,
    takes: str,
    device: torch.device,
    sample_weight: Any = None,
    class_weight: Any = None,
) -> tuple[Any, Tensor, Tensor | None, np.ndarray]:
    """``X`` (n rows of what the kernel takes), ``Y`` (n x m), weights (n; None: all 1), and the classes.

    Rows of weight zero are not there.
    """
    if y is None:
        raise InvalidInput(
            f"{type(estimator).__name__} requires y to be passed, but the target y is None; give one label a row."
        )
    rows = admit_any(estimator, X, takes, device, reset=True)
    if len(rows) < 2:
        raise InvalidInput(
            "X must hold at least 2 rows, one for each class, got 1 sample; give more rows."
        )
    weights = admit_weights(sample_weight, len(rows))
    kept: Any = slice(None) if weights is None else np.flatnonzero(weights)
    classes, Y = _admit_targets(y, len(rows), kept)
    Y, weights = weigh(Y, classes, None if weights is None else weights[kept], class_weight)

    def like_rows(values: np.ndarray) -> Tensor:
        return torch.as_tensor(values).to(dtype=rows.dtype, device=device)

    return rows[kept], like_rows(Y), None if weights is None else like_rows(weights), classes
