"""Which columns a learned kernel looks at, from its length scales and from the rows it compares."""

from __future__ import annotations

import dataclasses
import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
import torch
from torch import Tensor

from torte.embedding import KernelLift
from torte.errors import InvalidInput
from torte.features import Fourier, Nystroem, Standardize
from torte.inspection.columns import crossed, table, take
from torte.inspection.models import Inspected
from torte.kernels import Composed, Constant, Kernel, On, Product, Stationary

__all__ = ["Relevance", "combined", "image_shape", "movement", "relevance"]

_SPREAD_ROWS = 2000  # that measure a column's spread
_MOVED_ROWS = 150  # whose columns are replaced, one column after another
_LEAST_IMAGE = 64  # pixels: a square table narrower than that is just a table


@dataclass(frozen=True, eq=False)
class Relevance:
    """One stationary part of a kernel: a length scale ``l_d`` for each of its columns.

    ``variance`` is the product of the constants in front of it.
    ``values`` are ``s_d / l_d``, the spread of a column in units of its length scale, or ``1 / l_d``
    where no rows are at hand (``in_spreads`` says which). A column of value 0.1 hardly matters
    in this part: over its whole spread the kernel stays the same.
    """

    name: str
    variance: float
    columns: tuple[int, ...]
    length_scales: np.ndarray
    values: np.ndarray
    in_spreads: bool


class _Part(NamedTuple):
    kernel: Stationary
    seen: Any  # what it sees of some rows, or None
    columns: tuple[int, ...]
    variance: float


def _stationary(
    kernel: Kernel, A: Any, columns: tuple[int, ...] | None, variance: float = 1.0
) -> Iterator[_Part]:
    """Stationary parts with what they see of some rows; ``A`` is those rows represented, or None.

    A kernel of two kernels represents rows as a pair, one of a single kernel as that one does.
    """
    if isinstance(kernel, On) and columns is not None:
        columns = tuple(columns[p] for p in kernel.positions or ())
    if isinstance(kernel, Composed) and not isinstance(kernel.features, Standardize):
        columns = None  # columns of a feature map are no columns of the table
    if isinstance(kernel, Stationary):
        if columns is not None:
            yield _Part(kernel, A, columns, variance)
        return
    values = [getattr(kernel, field.name) for field in dataclasses.fields(kernel)]
    inner = [value for value in values if isinstance(value, Kernel)]
    if isinstance(kernel, Product):
        variance *= math.prod(part.value for part in inner if isinstance(part, Constant))
    parts = [A] if len(inner) == 1 else A if isinstance(A, tuple) else [None] * len(inner)
    if len(parts) == len(inner):
        for part, represented in zip(inner, parts, strict=True):
            yield from _stationary(part, represented, columns, variance)


def _kernel_and_rows(inspected: Inspected, rows: Any) -> tuple[Kernel | None, Any]:
    """The kernel that compares the table's columns, and rows as it represents them, where there are any."""
    kernel, lift = inspected.engine.kernel_, inspected.engine.embedding_.lift
    inner = kernel.kernel if isinstance(kernel, (Fourier, Nystroem)) else kernel
    if not isinstance(inner, Kernel):
        return None, None
    if rows is not None:
        few = np.random.default_rng(0).permutation(len(rows))[:_SPREAD_ROWS]
        with torch.no_grad():
            return inner, inner.represent(rows[few])
    if isinstance(lift, KernelLift):
        return inner, lift.anchors
    if isinstance(kernel, Nystroem):
        with torch.no_grad():
            like = inspected.engine.embedding_.weights
            return inner, inner.represent(torch.as_tensor(kernel.points).to(like))
    return inner, None


def _spread(A: Tensor, d: int) -> np.ndarray:
    """Standard deviation of each column; a column wound around a circle counts with both its halves."""
    variance = A.double().var(dim=0, unbiased=False).cpu().numpy()
    return np.sqrt(variance.reshape(-1, d).sum(axis=0))


def relevance(inspected: Inspected, rows: Any = None) -> list[Relevance]:
    """The stationary parts of the learned kernel with their columns' relevance.

    Spreads are those of ``rows``, as `Inspected.rows` gives them, or of the rows that the model keeps. A part with one length
    scale for all columns is left out where no spread is known: it says nothing of columns.

    >>> from sklearn.datasets import load_iris
    >>> from torte import MCEClassifier
    >>> from torte.inspection import inspect_model, relevance
    >>> model = MCEClassifier(random_state=0).fit(*load_iris(return_X_y=True))
    >>> [part.name for part in relevance(inspect_model(model))]
    ['Gaussian', 'Laplacian']
    """
    kernel, A = _kernel_and_rows(inspected, rows)
    if kernel is None:
        return []
    found = []
    every = tuple(range(len(inspected.columns)))
    for part, seen, columns, variance in _stationary(kernel, A, every):
        scales = np.broadcast_to(np.asarray(part.length_scale, dtype=float), (len(columns),))
        if seen is not None:
            values = _spread(seen, len(columns))
        elif isinstance(part.length_scale, tuple):
            values = 1 / scales
        else:
            continue
        name = type(part).__name__
        found.append(Relevance(name, variance, columns, scales, values, seen is not None))
    names = [part.name for part in found]
    return [
        dataclasses.replace(part, name=f"{part.name} {names[: i + 1].count(part.name)}")
        if names.count(part.name) > 1
        else part
        for i, part in enumerate(found)
    ]


def combined(parts: list[Relevance], d: int) -> np.ndarray:
    """One number a column (d): the parts' values, weighted by their shares of the variance."""
    total = np.zeros(d)
    for part in parts:
        total[list(part.columns)] += part.variance * part.values
    return total / sum(part.variance for part in parts)


def movement(inspected: Inspected, X: Any, positions: Sequence[int] | None = None) -> np.ndarray:
    """How far predictions move when one column of a row is taken from another row.

    The mean total variation ``sum_c |p_c(x) - p_c(x')| / 2`` over rows, one number from 0 to 1 a
    column of X, or for each of the columns at some ``positions``. It asks the model, not its
    length scales, so any kernel and any map has it.

    >>> import numpy as np
    >>> from torte import MCEClassifier
    >>> from torte.inspection import inspect_model, movement
    >>> X = np.random.default_rng(0).normal(size=(60, 2))
    >>> model = MCEClassifier(random_state=0).fit(X, X[:, 0] > 0)
    >>> first, second = movement(inspect_model(model), X)
    >>> bool(first > 2 * second)
    True
    """
    rng = np.random.default_rng(0)
    found = table(X)
    if positions is None:
        positions = range(len(found.columns))
    few = rng.permutation(len(found.index))[: _MOVED_ROWS if len(positions) <= 50 else 50]
    here, there = take(X, few), take(X, np.roll(few, 1))
    P = inspected.model.predict_proba(here)
    moved = [
        np.abs(inspected.model.predict_proba(crossed(here, there, position)) - P).sum(axis=1)
        for position in positions
    ]
    return np.array([float(change.mean()) / 2 for change in moved])


def image_shape(inspected: Inspected, shape: Any = "auto") -> tuple[int, int] | None:
    """Height and width where the columns are pixels.

    "auto" takes at least 64 columns that form a square and have no names, or names that begin
    with "pixel".
    """
    d = len(inspected.columns)
    if shape is None:
        return None
    if shape == "auto":
        side = math.isqrt(d)
        unnamed = all(name.startswith(("column ", "pixel")) for name in inspected.columns)
        return (side, side) if side * side == d and d >= _LEAST_IMAGE and unnamed else None
    sides = tuple(shape) if isinstance(shape, (tuple, list)) else ()
    if len(sides) != 2 or math.prod(sides) != d:
        raise InvalidInput(
            f"`image_shape` must be (height, width) with height x width = {d}, the number of columns, 'auto' or "
            f"None, got {shape!r}."
        )
    return int(sides[0]), int(sides[1])
