"""Which columns a learned kernel looks at, from its length scales and from the rows it compares."""

from __future__ import annotations

import dataclasses
import math
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np
import torch
from torch import Tensor

from torte.embedding import KernelLift
from torte.errors import InvalidInput
from torte.features import Fourier, Nystroem, Standardize
from torte.inspection.models import Inspected
from torte.kernels import Composed, Kernel, On, Stationary

__all__ = ["Relevance", "image_shape", "movement", "relevance"]

_SPREAD_ROWS = 2000  # that measure a column's spread
_MOVED_ROWS = 150  # whose columns are replaced, one column after another
_LEAST_IMAGE = 64  # pixels: a square table narrower than that is just a table


@dataclass(frozen=True, eq=False)
class Relevance:
    """One stationary part of a kernel: a length scale ``l_d`` for each of its columns.

    ``values`` are ``s_d / l_d``, the spread of a column in units of its length scale, or ``1 / l_d``
    where no rows are at hand (``in_spreads`` says which). A column of value 0.1 hardly matters
    in this part: over its whole spread the kernel stays the same.
    """

    name: str
    columns: tuple[int, ...]
    length_scales: np.ndarray
    values: np.ndarray
    in_spreads: bool


def _stationary(
    kernel: Kernel, A: Any, columns: tuple[int, ...] | None
) -> Iterator[tuple[Stationary, Any, tuple[int, ...]]]:
    """Stationary parts with what they see of some rows; ``A`` is those rows represented, or None.

    A kernel of two kernels represents rows as a pair, one of a single kernel as that one does.
    """
    if isinstance(kernel, On) and columns is not None:
        columns = tuple(columns[p] for p in kernel.positions or ())
    if isinstance(kernel, Composed) and not isinstance(kernel.features, Standardize):
        columns = None  # columns of a feature map are no columns of the table
    if isinstance(kernel, Stationary):
        if columns is not None:
            yield kernel, A, columns
        return
    values = [getattr(kernel, field.name) for field in dataclasses.fields(kernel)]
    inner = [value for value in values if isinstance(value, Kernel)]
    parts = [A] if len(inner) == 1 else A if isinstance(A, tuple) else [None] * len(inner)
    if len(parts) == len(inner):
        for part, represented in zip(inner, parts, strict=True):
            yield from _stationary(part, represented, columns)


def _kernel_and_rows(inspected: Inspected, rows: np.ndarray | None) -> tuple[Kernel | None, Any]:
    """The kernel that compares the table's columns, and rows as it represents them, where there are any."""
    kernel, lift = inspected.engine.kernel_, inspected.engine.embedding_.lift
    inner = kernel.kernel if isinstance(kernel, (Fourier, Nystroem)) else kernel
    if not isinstance(inner, Kernel):
        return None, None
    weights = inspected.engine.embedding_.weights
    if rows is not None:
        few = np.random.default_rng(0).permutation(len(rows))[:_SPREAD_ROWS]
        with torch.no_grad():
            return inner, inner.represent(torch.as_tensor(rows[few]).to(weights))
    if isinstance(lift, KernelLift):
        return inner, lift.anchors
    if isinstance(kernel, Nystroem):
        with torch.no_grad():
            return inner, inner.represent(torch.as_tensor(kernel.points).to(weights))
    return inner, None


def _spread(A: Tensor, d: int) -> np.ndarray:
    """Standard deviation of each column; a column wound around a circle counts with both its halves."""
    variance = A.double().var(dim=0, unbiased=False).cpu().numpy()
    return np.sqrt(variance.reshape(-1, d).sum(axis=0))


def relevance(inspected: Inspected, rows: np.ndarray | None = None) -> list[Relevance]:
    """The stationary parts of the learned kernel with their columns' relevance.

    Spreads are those of ``rows``, or of the rows that the model keeps. A part with one length
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
    for part, represented, columns in _stationary(kernel, A, tuple(range(len(inspected.columns)))):
        scales = np.broadcast_to(np.asarray(part.length_scale, dtype=float), (len(columns),))
        if represented is not None:
            values = _spread(represented, len(columns))
        elif isinstance(part.length_scale, tuple):
            values = 1 / scales
        else:
            continue
        found.append(
            Relevance(type(part).__name__, columns, scales, values, represented is not None)
        )
    names = [part.name for part in found]
    return [
        dataclasses.replace(part, name=f"{part.name} {names[: i + 1].count(part.name)}")
        if names.count(part.name) > 1
        else part
        for i, part in enumerate(found)
    ]


def movement(inspected: Inspected, rows: np.ndarray) -> np.ndarray:
    """How far a row moves in the kernel's space when one column is taken from another row.

    The mean of ``|phi(x) - phi(x')|^2 = k(x, x) + k(x', x') - 2 k(x, x')`` over rows, for one column
    after another, as shares that sum to one (d numbers). It needs no length scales, so any
    kernel and any feature map has it.
    """
    lift = inspected.engine.embedding_.lift
    rng = np.random.default_rng(0)
    few = rows[rng.permutation(len(rows))[:_MOVED_ROWS]]
    other = np.roll(few, 1, axis=0)
    distances = np.zeros(few.shape[1])
    with torch.no_grad():
        like = inspected.engine.embedding_.weights

        def moved(changed: np.ndarray) -> float:
            X, Z = (torch.as_tensor(part).to(like) for part in (few, changed))
            if not isinstance(lift, KernelLift):
                return float((lift(X) - lift(Z)).square().sum(dim=1).mean())
            kernel = lift.kernel
            A, B = kernel.represent(X), kernel.represent(Z)
            across = kernel.compare(A, B).diagonal()
            return float((kernel.norms(A) + kernel.norms(B) - 2 * across).mean())

        for column in range(few.shape[1]):
            changed = few.copy()
            changed[:, column] = other[:, column]
            distances[column] = max(0.0, moved(changed))
    total = distances.sum()
    return distances / total if total > 0 else distances


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
