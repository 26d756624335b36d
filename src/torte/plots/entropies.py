"""How certain the predictions are."""

from __future__ import annotations

from typing import Any, Self

import numpy as np

from torte.inspection import evaluate, inspect_model
from torte.plots.canvas import FILLS, Display

__all__ = ["EntropyDisplay"]


class EntropyDisplay(Display):
    """Histogram of the entropy of the label from 0 to ``log m`` nats.

    Where labels are known, rows predicted wrong (``right`` False) stand on those predicted right.

    >>> import matplotlib
    >>> matplotlib.use("agg")
    >>> from sklearn.datasets import load_iris
    >>> from torte import MCEClassifier
    >>> from torte.plots import EntropyDisplay
    >>> X, y = load_iris(return_X_y=True)
    >>> model = MCEClassifier(random_state=0).fit(X, y)
    >>> EntropyDisplay.from_estimator(model, X, y).entropy.shape
    (150,)
    """

    def __init__(self, entropy: np.ndarray, n_classes: int, right: np.ndarray | None = None):
        self.entropy, self.n_classes, self.right = entropy, n_classes, right

    @classmethod
    def from_estimator(cls, estimator: Any, X: Any, y: Any = None, *, ax: Any = None) -> Self:
        """Of a fitted model's predictions of ``X``."""
        found = evaluate(inspect_model(estimator), X, y)
        right = None if found.scores is None else found.predicted == found.scores.codes
        return cls(found.entropy, found.probabilities.shape[1], right).plot(ax)

    def _draw(self, ax: Any) -> None:
        edges = np.linspace(0, np.log(self.n_classes), 21)
        if self.right is None:
            ax.hist(self.entropy, edges, color=FILLS[0])
        else:
            kinds = [self.entropy[self.right], self.entropy[~self.right]]
            names = ["predicted right", "predicted wrong"]
            ax.hist(kinds, edges, stacked=True, color=FILLS[:2], label=names)
            ax.legend()
        ax.set(xlabel="entropy of the label, nats", ylabel="rows")
