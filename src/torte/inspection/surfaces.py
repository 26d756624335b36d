"""Probabilities and entropy over two columns, and the colors of classes."""

from __future__ import annotations

import colorsys
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from torte.entropy import clip_normalized_entropy
from torte.errors import InvalidInput
from torte.inspection.columns import Column, Table, table, take
from torte.inspection.models import Inspected

__all__ = ["Surface", "class_colors", "surface"]

# Distinct to color-blind readers, calm on white and on black.
PALETTE = ("4c78a8", "e0873d", "4f9d69", "c2556e", "8d76b8", "b59a2c", "56a3b0", "9a6a4f")


def class_colors(m: int) -> np.ndarray:
    """One RGB color a class (m x 3), numbers from 0 to 1; the same for the same m.

    >>> from torte.inspection import class_colors
    >>> class_colors(3).shape
    (3, 3)
    """
    if m <= len(PALETTE):
        return np.array([[int(c[i : i + 2], 16) / 255 for i in (0, 2, 4)] for c in PALETTE[:m]])
    around = [colorsys.hls_to_rgb((0.58 + 0.618034 * i) % 1, 0.55, 0.45) for i in range(m)]
    return np.array(around)


@dataclass(frozen=True, eq=False)
class Surface:
    """A grid over two columns: ``probabilities`` (k x k x m) and ``entropy`` (k x k), rows upward.

    ``limits`` are (low, high) of both columns; other columns were held at their medians.
    """

    names: tuple[str, str]
    limits: tuple[tuple[float, float], tuple[float, float]]
    probabilities: np.ndarray
    entropy: np.ndarray
    points: np.ndarray
    held: int

    def colors(self) -> np.ndarray:
        """The classes' colors mixed by their probabilities (k x k x 3)."""
        return self.probabilities @ class_colors(self.probabilities.shape[2])


def _positions(found: Table, columns: Sequence[Any] | None) -> tuple[int, int]:
    names = [column.name for column in found.columns]
    if columns is None:
        if len(names) != 2:
            raise InvalidInput(
                f"`columns` must name two of the {len(names)} columns, by position or by name."
            )
        return 0, 1
    known = [names.index(c) if c in names else c for c in columns]
    if (
        len(known) != 2
        or known[0] == known[1]
        or not all(isinstance(c, (int, np.integer)) and 0 <= c < len(names) for c in known)
    ):
        raise InvalidInput(
            f"`columns` must be two different positions or names of columns, got {columns!r}."
        )
    return int(known[0]), int(known[1])


def _middle(X: Any, column: Column, name: Any, count: int) -> Any:
    """Cells from the middle of the column: its median, or its most frequent value."""
    if column.numbers is not None:
        return np.full(count, np.nanmedian(column.numbers))
    cells = [str(cell) for cell in column.cells.tolist()]
    values, counts = np.unique(cells, return_counts=True)
    row = cells.index(values[counts.argmax()])
    rows = take(X, np.full(count, row))  # the same type of cell, a category stays one
    return rows[name] if hasattr(X, "columns") else rows[:, name]


def _numbers(column: Column) -> np.ndarray:
    if column.numbers is None or np.isnan(column.numbers).all():
        raise InvalidInput(
            f"`columns` of a decision map must hold numbers, but {column.name!r} does not."
        )
    return column.numbers


def surface(
    inspected: Inspected, X: Any, columns: Sequence[Any] | None = None, resolution: int = 120
) -> Surface:
    """The model's predictions over two columns of X, a tenth wider than the rows on each side."""
    found = table(X)
    first, second = _positions(found, columns)
    axes, limits = [], []
    for position in (first, second):
        numbers = _numbers(found.columns[position])
        low, high = float(np.nanmin(numbers)), float(np.nanmax(numbers))
        margin = 0.1 * (high - low) or 1.0
        limits.append((low - margin, high + margin))
        axes.append(np.linspace(*limits[-1], resolution))
    across, upward = (part.ravel() for part in np.meshgrid(*axes))
    named = getattr(X, "columns", range(len(found.columns)))
    cells = {
        name: across
        if i == first
        else upward
        if i == second
        else _middle(X, column, name, len(across))
        for i, (name, column) in enumerate(zip(named, found.columns, strict=True))
    }
    grid: Any = type(X)(cells) if hasattr(X, "columns") else np.column_stack(list(cells.values()))
    P = inspected.model.predict_proba(grid)
    return Surface(
        (found.columns[first].name, found.columns[second].name),
        (limits[0], limits[1]),
        P.reshape(resolution, resolution, -1),
        clip_normalized_entropy(P).reshape(resolution, resolution),
        np.column_stack([_numbers(found.columns[first]), _numbers(found.columns[second])]),
        len(found.columns) - 2,
    )
