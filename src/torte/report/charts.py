"""Charts of bars and lines as SVG: numbers in, one drawing out."""

from __future__ import annotations

from collections.abc import Callable, Sequence

import numpy as np

from torte.inspection import Reliability
from torte.report.axes import WIDTH, Frame, drawing, round_ticks, words
from torte.report.markup import E, Element, fitted, number, percent

__all__ = ["bars", "histogram", "legend", "line_chart", "reliability_chart", "stacked_bar"]

_NARROW = 300.0  # width of a chart of lines, three of which stand side by side
_ROW = 22.0  # height of one bar with its surroundings
_LABEL = 134.0  # width of the labels beside bars


def legend(names: Sequence[str], kinds: Sequence[str]) -> Element:
    """Names beside the colors they are drawn in."""
    items = [E("li", E("i", class_=kind), name) for name, kind in zip(names, kinds, strict=True)]
    return E("ul", *items, class_="legend")


def bars(
    title: str,
    labels: Sequence[str],
    values: Sequence[float],
    shown: Callable[[float], str] = number,
) -> Element:
    """Horizontal bars from zero, their numbers beside them."""
    largest = max(values, default=0.0) or 1.0
    room = WIDTH - _LABEL - 58
    parts: list[Element] = []
    for i, (label, value) in enumerate(zip(labels, values, strict=True)):
        y, length = _ROW * i + 5, room * max(0.0, value) / largest
        text = words(_LABEL - 8, y + 11, fitted(label, _LABEL - 12), "end")
        text.append(E("title", label))
        told = E("title", f"{label}: {shown(value)}")
        bar = E("rect", told, x=_LABEL, y=y, width=max(length, 0.75), rx=1.5, class_="fill0")
        bar.set("height", "13")
        parts += [text, bar, words(_LABEL + length + 5, y + 10.5, shown(value), kind="tick")]
    first = "; ".join(f"{labels[i]} {shown(values[i])}" for i in range(min(5, len(labels))))
    return drawing(_ROW * len(labels) + 4, title, first, *parts)


def line_chart(title: str, values: np.ndarray, starts: Sequence[int], unit: str) -> Element:
    """One series over the steps of learning; dashes where another run of learning begins."""
    finite = values[np.isfinite(values)]
    low, high = float(finite.min()), float(finite.max())
    logarithmic = low > 0 and high / low > 30
    if high == low:
        low, high = low - 0.5, high + 0.5
    elif logarithmic:
        low, high = low / 1.15, high * 1.15
    else:
        low, high = low - 0.05 * (high - low), high + 0.05 * (high - low)
    last = max(len(values), 2)
    frame = Frame(
        (1.0, float(last)), (low, high), 170.0, right=_NARROW - 8, logarithmic=logarithmic
    )
    whole = [tick for tick in round_ticks(1, last) if tick == int(tick) and tick >= 1]
    parts = frame.grid("evaluation of the objective", [1.0, *whole] if 1.0 not in whole else whole)
    for start in starts[1:]:
        x = frame.x(start + 0.5)
        parts.append(E("line", x1=x, x2=x, y1=frame.top, y2=frame.bottom, class_="dashed"))
    for begin, end in zip(starts, [*starts[1:], len(values)], strict=True):
        path = " ".join(
            f"{frame.x(i + 1):.1f},{frame.y(float(values[i])):.1f}"
            for i in range(begin, end)
            if np.isfinite(values[i])
        )
        parts.append(E("polyline", points=path, class_="line0"))
    at = frame.x(len(values)), frame.y(float(finite[-1]))
    parts.append(
        E(
            "circle",
            E("title", number(float(finite[-1]))),
            cx=at[0],
            cy=at[1],
            r=3.0,
            class_="fill0",
        )
    )
    told = f"From {number(float(finite[0]))} to {number(float(finite[-1]))} {unit} in {len(values)} evaluations"
    return drawing(frame.height, title, told.replace("  ", " "), *parts, width=_NARROW)


def histogram(
    title: str,
    edges: np.ndarray,
    counts: Sequence[np.ndarray],
    names: Sequence[str],
    x_label: str,
) -> Element:
    """Counts in bins as bars, of several kinds stacked."""
    total = np.sum(counts, axis=0)
    frame = Frame((float(edges[0]), float(edges[-1])), (0.0, float(total.max()) * 1.05), 210.0)
    parts = frame.grid(x_label)
    base = np.zeros(len(total))
    for j, (kind, name) in enumerate(zip(counts, names, strict=True)):
        for i in np.flatnonzero(kind):
            x, end = frame.x(float(edges[i])), frame.x(float(edges[i + 1]))
            y = frame.y(float(base[i] + kind[i]))
            told = f"{number(float(edges[i]))} to {number(float(edges[i + 1]))}: {kind[i]:,} {name}"
            bar = E(
                "rect", E("title", told), x=x + 0.75, y=y, width=end - x - 1.5, class_=f"fill{j}"
            )
            bar.set("height", f"{frame.y(float(base[i])) - y:.5g}")
            parts.append(bar)
        base = base + kind
    told = f"{int(total.sum()):,} rows, {int(total[0]):,} of them in the first of {len(total)} bins"
    return drawing(frame.height, title, told, *parts)


def reliability_chart(title: str, found: Reliability) -> Element:
    """Share predicted right over the stated probability; each point as large as its bin is full."""
    frame = Frame((0.0, 1.0), (0.0, 1.0), 310.0, right=WIDTH - 16, top=16.0)
    parts = frame.grid("stated probability of the predicted class", [0.0, 0.2, 0.4, 0.6, 0.8, 1.0])
    parts.append(
        E("line", x1=frame.x(0), y1=frame.y(0), x2=frame.x(1), y2=frame.y(1), class_="dashed")
    )
    largest = found.counts.max()
    full = np.flatnonzero(found.counts)
    for i in full:
        stated, right = float(found.confidence[i]), float(found.accuracy[i])
        x, y = frame.x(stated), frame.y(right)
        told = f"stated {percent(stated)}, right {percent(right)}, {found.counts[i]:,} rows"
        parts.append(E("line", x1=x, x2=x, y1=frame.y(stated), y2=y, class_="gap"))
        radius = 3.5 + 6.5 * float(found.counts[i] / largest) ** 0.5
        parts.append(E("circle", E("title", told), cx=x, cy=y, r=radius, class_="dot"))
    told = f"Expected calibration error {percent(found.error)} over {len(full)} filled bins"
    return drawing(frame.height, title, told, *parts)


def stacked_bar(title: str, names: Sequence[str], values: Sequence[float], limit: float) -> Element:
    """Terms of a sum one after another, and a mark at a limit."""
    total = float(sum(values))
    frame = Frame((0.0, max(total, limit) * 1.04), (0.0, 1.0), 92.0, left=8.0)
    parts, at = [], 0.0
    for j, (name, value) in enumerate(zip(names, values, strict=True)):
        x, end = frame.x(at), frame.x(at + value)
        told = E("title", f"{name}: {number(value)}")
        parts.append(
            E("rect", told, x=x, y=22.0, width=max(end - x, 0.75), height=28.0, class_=f"fill{j}")
        )
        at += value
    x = frame.x(limit)
    parts.append(E("line", x1=x, x2=x, y1=14.0, y2=58.0, class_="mark"))
    parts.append(words(x + 4, 12.0, "the loss is at most 1", kind="tick"))
    for tick in round_ticks(*frame.across):
        parts.append(words(frame.x(tick), 72.0, number(tick), "middle", "tick"))
    parts.append(words(WIDTH / 2, 88.0, "expected risk is at most", "middle", "axis"))
    terms = " + ".join(f"{name} {number(v)}" for name, v in zip(names, values, strict=True))
    return drawing(frame.height, title, f"{terms} = {number(total)}", *parts)
