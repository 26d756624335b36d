"""How risk, complexity and objective went while the model learned."""

from __future__ import annotations

from typing import Any, Self

import numpy as np

from torte.inspection import Curves, curves, inspect_model
from torte.plots.canvas import FILLS, Display

__all__ = ["LearningDisplay"]


class LearningDisplay(Display):
    """Risk and objective over the evaluations, and the complexity on an axis of its own.

    Scores of a monitored table join risk and objective. Dotted lines part runs of learning.
    ``complexity_ax_`` is the axis on the right.

    >>> import matplotlib
    >>> matplotlib.use("agg")
    >>> from sklearn.datasets import load_iris
    >>> from torte import MCEClassifier
    >>> from torte.plots import LearningDisplay
    >>> model = MCEClassifier(random_state=0).fit(*load_iris(return_X_y=True))
    >>> sorted(LearningDisplay.from_estimator(model).lines_)
    ['complexity', 'objective', 'risk']
    """

    complexity_ax_: Any
    lines_: dict[str, Any]

    def __init__(self, curves: Curves):
        self.curves = curves

    @classmethod
    def from_estimator(cls, estimator: Any, *, ax: Any = None) -> Self:
        """Of a fitted model's ``history_``."""
        return cls(curves(inspect_model(estimator))).plot(ax)

    def _draw(self, ax: Any) -> None:
        self.complexity_ax_ = ax.twinx()
        self.lines_ = {}
        for color, (name, values) in zip(FILLS, self.curves.series.items(), strict=False):
            where = self.complexity_ax_ if name == "complexity" else ax
            steps = np.arange(1, len(values) + 1)
            label = name.replace("_", " ")
            style = "--" if name == "complexity" else "-"
            self.lines_[name] = where.plot(steps, values, style, color=color, label=label)[0]
        for start in self.curves.starts[1:]:
            ax.axvline(start + 0.5, color="gray", linestyle=":", linewidth=1)
        ax.set(xlabel="evaluation of the objective", ylabel="nats")
        self.complexity_ax_.set_ylabel("complexity")
        ax.legend(handles=list(self.lines_.values()))
