"""Whether stated probabilities are frequencies."""

from __future__ import annotations

from typing import Any, Self

import numpy as np
from sklearn.calibration import CalibrationDisplay

from torte.inspection import Reliability, evaluate, inspect_model, reliability
from torte.plots.canvas import FILLS, Display

__all__ = ["ReliabilityDisplay"]


class ReliabilityDisplay(Display):
    """scikit-learn's calibration curve of the predicted class, for any number of classes.

    The legend states the expected calibration error. ``calibration_`` is the
    `sklearn.calibration.CalibrationDisplay` that was drawn.

    >>> import matplotlib
    >>> matplotlib.use("agg")
    >>> from sklearn.datasets import load_iris
    >>> from torte import MCEClassifier
    >>> from torte.plots import ReliabilityDisplay
    >>> X, y = load_iris(return_X_y=True)
    >>> model = MCEClassifier(random_state=0).fit(X[::2], y[::2])
    >>> bool(ReliabilityDisplay.from_estimator(model, X[1::2], y[1::2]).reliability.error < 0.2)
    True
    """

    calibration_: Any

    def __init__(self, reliability: Reliability, name: str = "model"):
        self.reliability, self.name = reliability, name

    @classmethod
    def from_estimator(
        cls,
        estimator: Any,
        X: Any,
        y: Any,
        *,
        n_bins: int = 10,
        name: str | None = None,
        ax: Any = None,
    ) -> Self:
        """Of a fitted model's predictions of ``X`` with the labels ``y``."""
        found = evaluate(inspect_model(estimator), X, y)
        assert found.scores is not None
        bins = reliability(found.scores.codes, found.probabilities, n_bins)
        return cls(bins, type(estimator).__name__ if name is None else name).plot(ax)

    def _draw(self, ax: Any) -> None:
        full = self.reliability.counts > 0
        right, stated = self.reliability.accuracy[full], self.reliability.confidence[full]
        curve = CalibrationDisplay(right, stated, np.repeat(stated, self.reliability.counts[full]))
        label = f"{self.name}, calibration error {self.reliability.error:.3f}"
        self.calibration_ = curve.plot(ax=ax, name=label, color=FILLS[0])
        ax.set(xlabel="stated probability of the predicted class", ylabel="share predicted right")
