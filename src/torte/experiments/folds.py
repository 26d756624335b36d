"""The paper's folds, scaling and scores."""

from __future__ import annotations

from typing import Any

import numpy as np
from sklearn.model_selection import KFold

__all__ = ["FLOOR", "log_loss", "split", "unit_range"]

FLOOR = 1e-15  # of a probability in a log loss, the paper's epsilon


def split(n: int, fold: int, seed: int = 0) -> tuple[np.ndarray, np.ndarray]:
    """Training and test rows of one of ten folds: one permutation of all rows, cut in order.

    >>> from torte.experiments.folds import split
    >>> train, test = split(20, fold=0)
    >>> len(train), test.tolist()
    (18, [18, 1])
    """
    order = np.random.RandomState(seed).permutation(n)
    train, test = list(KFold(10).split(order))[fold]
    return order[train], order[test]


def unit_range(X: np.ndarray) -> np.ndarray:
    """Every column to [0, 1] over the whole table, as in the paper; a constant one to 0."""
    width = np.ptp(X, axis=0)
    return (X - X.min(axis=0)) / np.where(width > 0, width, 1.0)


def log_loss(P: np.ndarray, classes: np.ndarray, y: np.ndarray) -> float:
    """Mean ``-log p`` of the labels that came, in nats; no probability counts as less than `FLOOR`.

    A label that the training rows did not have is a miss at the floor.
    """
    own = np.full(len(y), FLOOR)
    known = np.isin(y, classes)
    rows: Any = np.flatnonzero(known)
    own[known] = P[rows, np.searchsorted(classes, y[known])]
    return float(-np.log(np.maximum(own, FLOOR)).mean())
