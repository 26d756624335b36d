"""Theorem 4, term by term."""

from __future__ import annotations

from typing import Any, Self

from torte.bounds import RiskBound
from torte.inspection import inspect_model
from torte.plots.canvas import FILLS, Display

__all__ = ["RiskBoundDisplay"]


class RiskBoundDisplay(Display):
    """The terms of the risk bound one after another, and the largest loss there is, 1.

    >>> import matplotlib
    >>> matplotlib.use("agg")
    >>> from sklearn.datasets import load_iris
    >>> from torte import MCEClassifier
    >>> from torte.plots import RiskBoundDisplay
    >>> model = MCEClassifier(random_state=0).fit(*load_iris(return_X_y=True))
    >>> RiskBoundDisplay.from_estimator(model, confidence=0.9).bound.confidence
    0.9
    """

    def __init__(self, bound: RiskBound):
        self.bound = bound

    @classmethod
    def from_estimator(
        cls, estimator: Any, *, confidence: float = 0.95, domain: Any = None, ax: Any = None
    ) -> Self:
        """Of a fitted model; ``domain`` as in `MCEClassifier.risk_bound`."""
        engine = inspect_model(estimator).engine
        return cls(engine.risk_bound(confidence, domain=domain)).plot(ax)

    def _draw(self, ax: Any) -> None:
        terms = {
            "training risk": self.bound.empirical_risk,
            "4e x complexity": self.bound.complexity_term,
            "confidence term": self.bound.confidence_term,
        }
        at = 0.0
        for (name, value), color in zip(terms.items(), FILLS, strict=False):
            ax.barh([0], [value], left=at, height=0.5, color=color, label=f"{name}: {value:.3g}")
            at += value
        ax.axvline(1.0, color="black", linewidth=1.2, label="the loss is at most 1")
        ax.set(yticks=[], ylim=(-0.5, 1.6), xlabel=f"expected risk is at most {at:.3g}")
        ax.legend(loc="upper right")
