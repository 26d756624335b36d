"""The frame of a chart: from numbers to places in the drawing, with ticks at round numbers."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass

from torte.report.markup import E, Element, number

__all__ = ["WIDTH", "Frame", "drawing", "round_ticks", "words"]

WIDTH = 400.0  # of a drawing; a phone shows it at about this size


def drawing(
    height: float, title: str, description: str, *parts: Element | None, width: float = WIDTH
) -> Element:
    """An SVG that scales with the page and reads aloud as its title and description."""
    return E(
        "svg",
        E("desc", description),
        *parts,
        viewBox=f"0 0 {width:g} {height:g}",
        role="img",
        aria_label=f"{title}. {description}",
    )


def words(x: float, y: float, text: str, anchor: str = "start", kind: str = "label") -> Element:
    """A text at a place; ``anchor`` is start, middle or end."""
    return E("text", text, x=x, y=y, text_anchor=anchor, class_=kind)


def round_ticks(low: float, high: float, about: int = 4) -> list[float]:
    """Round numbers from low to high, about so many.

    >>> from torte.report.axes import round_ticks
    >>> round_ticks(0.0, 0.93)
    [0.0, 0.2, 0.4, 0.6, 0.8]
    """
    rough = (high - low) / about
    unit = 10.0 ** math.floor(math.log10(rough))
    step = unit * min((1, 2, 5, 10), key=lambda multiple: abs(multiple * unit - rough))
    first, last = math.ceil(low / step - 1e-9), math.floor(high / step + 1e-9)
    return [round(i * step, 12) for i in range(first, last + 1)]


def _decades(low: float, high: float) -> list[float]:
    """Powers of ten between two positive numbers; with 2 and 5 where those are too few."""
    powers = range(math.floor(math.log10(low)), math.ceil(math.log10(high)) + 1)
    inside = [10.0**p for p in powers if low <= 10.0**p <= high]
    if len(inside) >= 2:
        return inside[:: max(1, len(inside) // 4)]
    return [m * 10.0**p for p in powers for m in (1, 2, 5) if low <= m * 10.0**p <= high]


@dataclass(frozen=True)
class Frame:
    """A rectangle ``left, top, right, bottom`` of the drawing with a range of numbers each way."""

    across: tuple[float, float]
    upward: tuple[float, float]
    height: float
    left: float = 44.0
    right: float = WIDTH - 10
    top: float = 8.0
    below: float = 34.0
    logarithmic: bool = False

    @property
    def bottom(self) -> float:
        return self.height - self.below

    def x(self, value: float) -> float:
        low, high = self.across
        return self.left + (self.right - self.left) * (value - low) / (high - low)

    def y(self, value: float) -> float:
        low, high = self.upward
        if self.logarithmic:
            low, high, value = math.log(low), math.log(high), math.log(max(value, low))
        return self.bottom - (self.bottom - self.top) * (value - low) / (high - low)

    def grid(
        self,
        x_label: str,
        x_ticks: list[float] | None = None,
        shown: Callable[[float], str] = number,
    ) -> list[Element]:
        """Lines and numbers at round places, and what the horizontal axis is."""
        parts = []
        for tick in _decades(*self.upward) if self.logarithmic else round_ticks(*self.upward):
            y = self.y(tick)
            parts.append(E("line", x1=self.left, x2=self.right, y1=y, y2=y, class_="grid"))
            parts.append(words(self.left - 6, y + 4, shown(tick), "end", "tick"))
        for tick in round_ticks(*self.across) if x_ticks is None else x_ticks:
            parts.append(words(self.x(tick), self.bottom + 14, number(tick), "middle", "tick"))
        middle = (self.left + self.right) / 2
        parts.append(words(middle, self.height - 5, x_label, "middle", "axis"))
        return parts
