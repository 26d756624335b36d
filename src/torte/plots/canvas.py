"""Where a figure is drawn; matplotlib is imported here, when the first one is."""

from __future__ import annotations

from abc import ABC, abstractmethod
from typing import Any, Self

import numpy as np

from torte.inspection import class_colors

__all__ = ["FILLS", "Display", "colormap", "new_axes"]

FILLS = [tuple(map(float, color)) for color in class_colors(8)]


def new_axes() -> Any:
    """Axes of a new figure; says what to install where matplotlib is missing."""
    try:
        import matplotlib.pyplot as plt
    except ImportError as error:
        raise ImportError(
            "torte.plots draws with matplotlib; install it with: pip install 'torte[plots]'"
        ) from error
    return plt.subplots(layout="constrained")[1]


def colormap() -> Any:
    """White to the first color."""
    from matplotlib.colors import LinearSegmentedColormap

    return LinearSegmentedColormap.from_list("torte", ["white", tuple(np.array(FILLS[0]) * 0.6)])


class Display(ABC):
    """Values that draw themselves on axes."""

    ax_: Any
    figure_: Any

    def plot(self, ax: Any = None) -> Self:
        """Draw on these axes, or on those of a new figure."""
        self.ax_ = new_axes() if ax is None else ax
        self.figure_ = self.ax_.figure
        self._draw(self.ax_)
        return self

    @abstractmethod
    def _draw(self, ax: Any) -> None:
        """Draw on these axes."""
