"""MNIST for the experiments: rows in [0, 1], the original's order of training images."""

from __future__ import annotations

from functools import lru_cache

import numpy as np

from torte import datasets

__all__ = ["mnist"]


@lru_cache(maxsize=1)
def mnist() -> tuple[np.ndarray, np.ndarray, np.ndarray, np.ndarray]:
    """Training rows (60 000 x 784), their digits, test rows (10 000 x 784), their digits.

    The original read MNIST through TensorFlow, which put the first 5000 training images
    behind the others: "the first n" are those from 5000 on.
    """
    X, y, *_ = datasets.load("mnist")
    order = np.r_[5000:60_000, 0:5000]
    rows = X.astype(np.float32) / 255
    return rows[:60_000][order], y[:60_000][order], rows[60_000:], y[60_000:]
