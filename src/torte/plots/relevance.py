"""Which columns a learned kernel looks at."""

from __future__ import annotations

from typing import Any, Self

import numpy as np

from torte.errors import InvalidInput
from torte.inspection import (
    Relevance,
    combined,
    image_shape,
    inspect_model,
    movement,
    relevance,
    table,
)
from torte.plots.canvas import FILLS, Display, colormap

__all__ = ["PixelRelevanceDisplay", "RelevanceDisplay"]


def _values(estimator: Any, X: Any, kind: str) -> tuple[list[str], list[Relevance]]:
    """Names of the columns and one `Relevance` a part of the kernel, or one of the movement."""
    inspected = inspect_model(estimator)
    if kind not in ("length scales", "movement"):
        raise InvalidInput(f"`kind` must be 'length scales' or 'movement', got {kind!r}.")
    if kind == "movement":
        if X is None:
            raise InvalidInput("`X` must be given for kind='movement', which moves its rows.")
        moved = movement(inspected, X)
        every = tuple(range(len(moved)))
        names = [column.name for column in table(X).columns]
        return names, [Relevance("", 1.0, every, np.ones(len(moved)), moved, True)]
    parts = relevance(inspected, None if X is None else inspected.rows(X))
    if not parts:
        raise InvalidInput(
            f"`estimator` has no length scales by column in its kernel {inspected.engine.kernel_!r}; give `X` and "
            f"kind='movement', which any kernel has."
        )
    return list(inspected.columns), parts


def _label(parts: list[Relevance], kind: str) -> str:
    if kind == "movement":
        return "probability that moves with the column"
    return "spread in length scales" if parts[0].in_spreads else "inverse length scale"


class RelevanceDisplay(Display):
    """Bars of each column's relevance, one for every stationary part of the kernel.

    The value is ``s_d / l_d``, a column's spread in units of its length scale; of ``1 / l_d`` where
    neither ``X`` nor the model has rows. ``kind="movement"`` instead shows how much probability
    moves when rows of ``X`` get the column's value of another row, for any kernel or map.

    >>> import matplotlib
    >>> matplotlib.use("agg")
    >>> from sklearn.datasets import load_iris
    >>> from torte import MCEClassifier
    >>> from torte.plots import RelevanceDisplay
    >>> model = MCEClassifier(random_state=0).fit(*load_iris(return_X_y=True))
    >>> RelevanceDisplay.from_estimator(model).ax_.get_xlabel()
    'spread in length scales'
    """

    def __init__(self, columns: list[str], parts: list[Relevance], label: str, most: int = 20):
        self.columns, self.parts, self.label, self.most = columns, parts, label, most

    @classmethod
    def from_estimator(
        cls,
        estimator: Any,
        X: Any = None,
        *,
        kind: str = "length scales",
        most: int = 20,
        ax: Any = None,
    ) -> Self:
        """Of a fitted model; at most ``most`` columns, the largest first."""
        columns, parts = _values(estimator, X, kind)
        return cls(columns, parts, _label(parts, kind), most).plot(ax)

    def _draw(self, ax: Any) -> None:
        total = combined(self.parts, len(self.columns))
        best = np.argsort(-total, kind="stable")[: self.most]
        height = 0.8 / len(self.parts)
        for j, part in enumerate(self.parts):
            values = np.zeros(len(self.columns))
            values[list(part.columns)] = part.values
            places = np.arange(len(best)) + height * (j - (len(self.parts) - 1) / 2)
            color = FILLS[j % len(FILLS)]
            label = f"{part.variance:.3g} x {part.name}"
            ax.barh(places, values[best], height, label=label, color=color)
        ax.set_yticks(np.arange(len(best)), [self.columns[i] for i in best])
        ax.invert_yaxis()
        ax.set_xlabel(self.label)
        if len(self.parts) > 1:
            ax.legend()


class PixelRelevanceDisplay(Display):
    """Relevance of columns that are pixels, as an image: the kernel's parts weighted by variance.

    >>> import matplotlib
    >>> matplotlib.use("agg")
    >>> from sklearn.datasets import load_digits
    >>> from torte import MCEClassifier
    >>> from torte.kernels import Gaussian
    >>> from torte.plots import PixelRelevanceDisplay
    >>> X, y = load_digits(n_class=2, return_X_y=True)
    >>> model = MCEClassifier(Gaussian(ard=True), optimizer=None).fit(X[:50], y[:50])
    >>> PixelRelevanceDisplay.from_estimator(model).values.shape
    (8, 8)
    """

    def __init__(self, values: np.ndarray, label: str):
        self.values, self.label = values, label

    @classmethod
    def from_estimator(
        cls,
        estimator: Any,
        X: Any = None,
        *,
        kind: str = "length scales",
        image_shape: Any = "auto",
        ax: Any = None,
    ) -> Self:
        """Of a fitted model whose columns form images of ``image_shape`` (height, width)."""
        shape = _shape_of(estimator, image_shape)
        columns, parts = _values(estimator, X, kind)
        values = combined(parts, len(columns))
        return cls(values.reshape(shape), _label(parts, kind)).plot(ax)

    def _draw(self, ax: Any) -> None:
        shades = ax.imshow(self.values, vmin=0, cmap=colormap(), interpolation="nearest")
        ax.set(xticks=[], yticks=[])
        self.figure_.colorbar(shades, ax=ax, label=self.label)


def _shape_of(estimator: Any, wanted: Any) -> tuple[int, int]:
    shape = image_shape(inspect_model(estimator), wanted)
    if shape is None:
        raise InvalidInput(
            f"`image_shape` must be (height, width) here: the columns are not unnamed ones that form a square, got "
            f"{wanted!r}."
        )
    return shape
