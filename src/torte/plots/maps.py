"""Predictions over two columns."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Self

import numpy as np

from torte._labels import encode_labels
from torte.errors import InvalidInput
from torte.inspection import Surface, class_colors, inspect_model, surface
from torte.plots.canvas import Display, colormap

__all__ = ["DecisionMapDisplay"]


class DecisionMapDisplay(Display):
    """Class probabilities as mixed colors, or the entropy, over two columns.

    Other columns stay at their medians. The rows are drawn in the colors of their classes.

    >>> import matplotlib
    >>> matplotlib.use("agg")
    >>> from sklearn.datasets import load_iris
    >>> from torte import MCEClassifier
    >>> from torte.plots import DecisionMapDisplay
    >>> X, y = load_iris(return_X_y=True)
    >>> model = MCEClassifier(random_state=0).fit(X, y)
    >>> drawn = DecisionMapDisplay.from_estimator(model, X, y, columns=(2, 3), grid_resolution=20)
    >>> drawn.surface.probabilities.shape
    (20, 20, 3)
    """

    def __init__(
        self,
        surface: Surface,
        classes: np.ndarray,
        codes: np.ndarray | None = None,
        response: str = "probabilities",
    ):
        if response not in ("probabilities", "entropy"):
            raise InvalidInput(
                f"`response` must be 'probabilities' or 'entropy', got {response!r}."
            )
        self.surface, self.classes, self.codes, self.response = surface, classes, codes, response

    @classmethod
    def from_estimator(
        cls,
        estimator: Any,
        X: Any,
        y: Any = None,
        *,
        columns: Sequence[Any] | None = None,
        response: str = "probabilities",
        grid_resolution: int = 120,
        ax: Any = None,
    ) -> Self:
        """Of a fitted model over two columns of ``X``, by position or by name."""
        inspected = inspect_model(estimator)
        found = surface(inspected, X, columns, grid_resolution)
        classes = inspected.engine.classes_
        codes = None if y is None else encode_labels(y, len(found.points), classes)
        return cls(found, classes, codes, response).plot(ax)

    def _draw(self, ax: Any) -> None:
        (left, right), (low, high) = self.surface.limits
        frame = {"origin": "lower", "extent": (left, right, low, high), "aspect": "auto"}
        m = len(self.classes)
        if self.response == "probabilities":
            ax.imshow(np.clip(self.surface.colors(), 0, 1), interpolation="bilinear", **frame)
        else:
            entropy = self.surface.entropy
            shades = ax.imshow(entropy, vmin=0, vmax=np.log(m), cmap=colormap(), **frame)
            self.figure_.colorbar(shades, ax=ax, label="entropy of the label, nats")
        if self.codes is not None:
            for code, (color, label) in enumerate(zip(class_colors(m), self.classes, strict=True)):
                own = self.surface.points[self.codes == code]
                ax.scatter(
                    *own.T, s=18, color=[color], edgecolor="black", linewidth=0.6, label=label
                )
            ax.legend()
        names = self.surface.names
        ax.set(xlabel=names[0], ylabel=names[1], xlim=(left, right), ylim=(low, high))
