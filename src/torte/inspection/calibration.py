"""Whether a stated probability is the frequency of being right."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from torte.errors import InvalidInput

__all__ = ["Reliability", "reliability"]


@dataclass(frozen=True, eq=False)
class Reliability:
    """Rows binned by the probability of their predicted class, equal widths from 0 to 1.

    Of each bin: ``confidence`` the mean of that probability, ``accuracy`` the share of rows
    predicted right, ``counts`` the rows; both means are NaN in an empty bin. ``error`` is the
    expected calibration error ``sum_b counts_b / n |accuracy_b - confidence_b|``.
    """

    edges: np.ndarray
    confidence: np.ndarray
    accuracy: np.ndarray
    counts: np.ndarray
    error: float


def reliability(codes: np.ndarray, P: np.ndarray, n_bins: int = 10) -> Reliability:
    """Top-label reliability of probabilities (n x m), given the position of each row's class.

    >>> import numpy as np
    >>> from torte.inspection import reliability
    >>> P = np.array([[0.95, 0.05], [0.95, 0.05], [0.25, 0.75], [0.25, 0.75]])
    >>> round(reliability(np.array([0, 0, 1, 0]), P).error, 3)
    0.15
    """
    if not isinstance(n_bins, (int, np.integer)) or n_bins < 1:
        raise InvalidInput(f"`n_bins` must be a whole number of at least 1, got {n_bins!r}.")
    top, right = P.max(axis=1), P.argmax(axis=1) == codes
    edges = np.linspace(0, 1, n_bins + 1)
    at = np.clip(np.digitize(top, edges[1:-1], right=True), 0, n_bins - 1)
    counts = np.bincount(at, minlength=n_bins)
    total = np.where(counts > 0, counts, np.nan)
    confidence = np.bincount(at, weights=top, minlength=n_bins) / total
    accuracy = np.bincount(at, weights=right, minlength=n_bins) / total
    error = float(np.nansum(counts * np.abs(accuracy - confidence)) / len(P))
    return Reliability(edges, confidence, accuracy, counts, error)
