"""Drawings made of cells: the confusion matrix, pixels, a map of two columns."""

from __future__ import annotations

import base64
import struct
import zlib
from collections.abc import Sequence

import numpy as np

from torte.inspection import Surface, class_colors
from torte.report.axes import WIDTH, Frame, drawing, round_ticks, words
from torte.report.markup import E, Element, fitted, number

__all__ = ["class_css", "color_map", "confusion_chart", "data_uri", "entropy_map", "pixel_image"]

MOST_CLASSES = 60  # that a confusion matrix is drawn for
_NAMES = 92.0  # width of the classes beside a confusion matrix
MOST_POINTS = 400  # of a map
ACCENT = (0.22, 0.47, 0.62)  # visible on white and on black


def data_uri(image: np.ndarray) -> str:
    """An image (h x w, h x w x 3 or h x w x 4, numbers from 0 to 1) as a PNG inside an address."""
    pixels = (np.clip(image, 0, 1) * 255).round().astype(np.uint8)
    kind = 0 if pixels.ndim == 2 else {3: 2, 4: 6}[pixels.shape[2]]
    height, width = pixels.shape[:2]

    def chunk(name: bytes, content: bytes) -> bytes:
        check = struct.pack(">I", zlib.crc32(name + content))
        return struct.pack(">I", len(content)) + name + content + check

    lines = b"".join(b"\0" + line.tobytes() for line in pixels)  # each line unfiltered
    png = (
        b"\x89PNG\r\n\x1a\n"
        + chunk(b"IHDR", struct.pack(">IIBBBBB", width, height, 8, kind, 0, 0, 0))
        + chunk(b"IDAT", zlib.compress(lines, 9))
        + chunk(b"IEND", b"")
    )
    return "data:image/png;base64," + base64.b64encode(png).decode()


def _tinted(shares: np.ndarray) -> np.ndarray:
    """Shares from 0 to 1 as the opacity of one color: it works on any background."""
    rgb = np.broadcast_to(ACCENT, (*shares.shape, 3))
    return np.concatenate([rgb, shares[..., None]], axis=-1)


def class_css(code: int, m: int) -> str:
    """The color of a class as CSS writes it."""
    r, g, b = (class_colors(m)[code] * 255).round().astype(int)
    return f"#{r:02x}{g:02x}{b:02x}"


def confusion_chart(title: str, confusion: np.ndarray, labels: Sequence[str]) -> Element:
    """True classes by row, predicted by column; shade is the share of the row."""
    m = len(labels)
    named = m <= 25
    beside = [fitted(label, _NAMES - 12) for label in labels]
    space = min(_NAMES, 14 + 8 * max(map(len, beside))) if named else 8.0
    side = min(76.0, (WIDTH - space - 6) / m)
    tilted = any(fitted(label, side - 4) != label for label in labels)
    short = [fitted(label, 70.0) for label in labels]
    top = 26.0
    below = 8.0 if not named else 24.0 if not tilted else 14.0 + 5.5 * max(map(len, short))
    left = (WIDTH - m * side - space) / 2 + space
    shares = confusion / np.maximum(confusion.sum(axis=1, keepdims=True), 1)
    parts = [words(left + m * side / 2, 14.0, "predicted", "middle", "axis")]
    for i in range(m):
        middle = side * (i + 0.5)
        if named:
            name = words(left - 8, top + middle + 4, beside[i], "end")
            name.append(E("title", labels[i]))
            x, y = left + middle, top + m * side + 14
            under = words(x, y, short[i], "end" if tilted else "middle")
            if tilted:
                under.set("transform", f"rotate(-45 {x:.5g} {y:.5g})")
            parts += [name, under]
        for j in range(m):
            count, share = int(confusion[i, j]), float(shares[i, j])
            told = f"{labels[i]} predicted as {labels[j]}: {count:,} of {int(confusion[i].sum()):,}"
            place = {"x": left + j * side + 0.5, "y": top + i * side + 0.5}
            # A few errors stay visible beside thousands of hits.
            opacity = 1.0 if count == 0 else 0.12 + 0.88 * (share if i == j else share**0.5)
            parts.append(
                E(
                    "rect",
                    E("title", told),
                    **place,
                    width=side - 1,
                    height=side - 1,
                    rx=2.0,
                    class_="empty" if not count else "fill0" if i == j else "fill1",
                    fill_opacity=opacity,
                )
            )
            if side >= 22 and count:
                kind = "count strong" if share > 0.5 else "count"
                size = min(12.0, 1.5 * (side - 3) / len(str(count)))
                middle_of = place["x"] + side / 2 - 0.5, place["y"] + side / 2 + 0.35 * size
                text = words(*middle_of, str(count), "middle", kind)
                text.set("font-size", f"{size:.3g}")
                parts.append(text)
    right, total = int(np.trace(confusion)), int(confusion.sum())
    return drawing(
        top + m * side + below, title, f"{right:,} of {total:,} rows on the diagonal", *parts
    )


def pixel_image(title: str, values: np.ndarray) -> Element:
    """One number a pixel (h x w), stronger where it is larger; a few outliers share one shade."""
    height, width = values.shape
    scale = 300.0 / max(height, width)
    w, h = scale * width, scale * height
    largest = float(np.quantile(values, 0.99)) or float(values.max()) or 1.0
    image = E(
        "image",
        href=data_uri(_tinted(np.minimum(values / largest, 1))),
        x=(WIDTH - w) / 2,
        y=4.0,
        width=w,
        height=h,
        class_="pixels",
    )
    border = E("rect", x=(WIDTH - w) / 2, y=4.0, width=w, height=h, class_="border")
    told = f"{height} x {width} pixels, the largest value is {number(float(values.max()))}"
    return drawing(h + 8, title, told, image, border)


def _frame(found: Surface) -> Frame:
    return Frame(*found.limits, height=340.0, top=24.0)


def _map(title: str, told: str, image: np.ndarray, found: Surface, marks: list[Element]) -> Element:
    frame = _frame(found)
    picture = E(
        "image",
        href=data_uri(image[::-1]),  # rows of an image go down
        x=frame.left,
        y=frame.top,
        width=frame.right - frame.left,
        height=frame.bottom - frame.top,
        preserveAspectRatio="none",
    )
    ticks = [
        words(frame.left - 6, frame.y(t) + 4, number(t), "end", "tick")
        for t in round_ticks(*frame.upward)
    ]
    ticks += [
        words(frame.x(t), frame.bottom + 14, number(t), "middle", "tick")
        for t in round_ticks(*frame.across)
    ]
    middle = (frame.left + frame.right) / 2
    name = words(middle, frame.height - 5, fitted(found.names[0], 320.0), "middle", "axis")
    side = words(frame.left, 15.0, fitted(found.names[1], 320.0), kind="axis")
    return drawing(frame.height, title, told, picture, *marks, *ticks, name, side)


def color_map(title: str, found: Surface, codes: np.ndarray | None) -> Element:
    """The classes' colors mixed by their probabilities, with some rows in the colors of theirs."""
    frame = _frame(found)
    m = found.probabilities.shape[2]
    marks = []
    if codes is not None:
        few = np.random.default_rng(0).permutation(len(codes))[:MOST_POINTS]
        for i in few:
            x, y = found.points[i]
            if np.isfinite(x + y):
                place = {"cx": frame.x(float(x)), "cy": frame.y(float(y))}
                marks.append(
                    E("circle", **place, r=3.2, fill=class_css(codes[i], m), class_="point")
                )
    told = f"{found.names[0]} across, {found.names[1]} upward"
    return _map(title, told, found.colors(), found, marks)


def entropy_map(title: str, found: Surface) -> Element:
    """Entropy of the label, darker where it is larger; log m is the most it can be."""
    most = float(np.log(found.probabilities.shape[2]))
    told = f"From {number(float(found.entropy.min()))} to {number(float(found.entropy.max()))} nats"
    return _map(title, told, _tinted(found.entropy / most), found, [])
