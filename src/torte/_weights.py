"""Rows that count more or less than once: weights at the border, and the algebra they change.

A row of weight w stands for w rows: ``n`` becomes the sum of weights, ``n lambda I`` becomes
``n lambda diag(1 / w)``, every mean over rows a weighted one. None means that every row
counts once, and costs nothing.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
import torch
from torch import Tensor

from torte.errors import InvalidInput

__all__ = [
    "admit_weights",
    "class_factors",
    "diagonal_shift",
    "one_copy",
    "part",
    "resampled",
    "total",
    "weighted_mean",
]

_REPEATS = 20  # copies of a row on average, up to which whole weights are taken literally


def admit_weights(sample_weight: Any, rows: int) -> np.ndarray | None:
    """One finite number of at least 0 for each row, at least one of them positive."""
    if sample_weight is None:
        return None
    try:
        weights = np.asarray(sample_weight, dtype=np.float64)
    except (TypeError, ValueError):
        raise InvalidInput(
            f"`sample_weight` must hold one number for each row of X, got {sample_weight!r}."
        ) from None
    if weights.shape != (rows,):
        raise InvalidInput(
            f"`sample_weight` must hold one number for each of the {rows} rows of X, got shape {weights.shape}."
        )
    if not np.isfinite(weights).all() or (weights < 0).any():
        row = int(np.flatnonzero(~np.isfinite(weights) | (weights < 0))[0])
        raise InvalidInput(
            f"`sample_weight` must hold finite numbers of at least 0, got {weights[row]} in row {row}."
        )
    if not weights.any():
        raise InvalidInput("`sample_weight` must be positive in some row, got zero in all of them.")
    return weights


def class_factors(class_weight: Any, classes: np.ndarray, mass: np.ndarray) -> np.ndarray:
    """One factor a class; "balanced" gives every class the same share of the total mass."""
    if class_weight == "balanced":
        return mass.sum() / (np.count_nonzero(mass) * np.where(mass > 0, mass, np.inf))
    if not isinstance(class_weight, Mapping):
        raise InvalidInput(
            f"`class_weight` must be a dictionary of one positive number a class, 'balanced' or None, got {class_weight!r}."
        )
    labels = classes.tolist()
    unknown = [label for label in class_weight if label not in labels]
    if unknown:
        raise InvalidInput(
            f"`class_weight` names the class {unknown[0]!r}, but y holds the classes {labels}."
        )
    factors = np.array([class_weight.get(label, 1.0) for label in labels], dtype=np.float64)
    if not (np.isfinite(factors) & (factors > 0)).all():
        raise InvalidInput(
            f"`class_weight` must hold positive numbers, got {dict(class_weight)!r}."
        )
    return factors


def part(weights: Tensor | None, rows: Any) -> Tensor | None:
    """The weights of some rows."""
    return None if weights is None else weights[rows]


def total(Y: Tensor, weights: Tensor | None) -> float:
    """``n``: the number of rows, or the sum of their weights."""
    return len(Y) if weights is None else float(weights.sum())


def diagonal_shift(regularization: Any, Y: Tensor, weights: Tensor | None) -> Tensor:
    """What is added to the diagonal of K: the number ``n lambda``, or ``n lambda / w_i`` in row i."""
    shift = total(Y, weights) * torch.as_tensor(regularization, dtype=Y.dtype, device=Y.device)
    return shift if weights is None else shift / weights


def one_copy(weights: Tensor) -> Tensor:
    """The share of a row's weight that one row has, at most all of it: ``min(1, w) / w``."""
    return weights.clamp(max=1.0) / weights


def weighted_mean(values: Tensor, weights: Tensor | None) -> Tensor:
    """``sum_i w_i v_i / sum_i w_i``."""
    return values.mean() if weights is None else (weights @ values) / weights.sum()


def resampled(X: Any, weights: Tensor | None) -> Any:
    """A table whose rows come as often as they weigh, for whatever is started from the data.

    Small whole weights repeat their rows; of others about n rows are taken, evenly spaced
    along the sum of weights.
    """
    if weights is None:
        return X
    w = weights.double().cpu()
    if bool((w == w.round()).all()) and float(w.sum()) <= _REPEATS * len(w):
        counts = w.long()
    else:
        ends = (w.cumsum(0) * (len(w) / w.sum())).round().long()
        counts = ends.diff(prepend=ends.new_zeros(1))
    return X[torch.repeat_interleave(torch.arange(len(w)), counts)]
