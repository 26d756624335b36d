"""``K + shift I`` in tiles: filled into one matrix, or applied to columns without being formed."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import torch
from torch import Tensor

from torte.kernels.base import Kernel, count, rows

__all__ = ["SIDE", "ShiftedKernel", "fill_upper", "tiles"]

SIDE = 1024  # rows and columns of a tile: what a kernel does once a row is paid off by then


def tiles(n: int) -> Iterator[tuple[slice, slice]]:
    """Square tiles that cover the upper triangle of an n x n matrix, its diagonal tiles first in a row."""
    for top in range(0, n, SIDE):
        for left in range(top, n, SIDE):
            yield slice(top, min(top + SIDE, n)), slice(left, min(left + SIDE, n))


def _tile(kernel: Kernel, A: Any, i: slice, j: slice) -> Tensor:
    upper = rows(A, i.start, i.stop)
    return kernel.compare(upper, upper if i == j else rows(A, j.start, j.stop))


def fill_upper(kernel: Kernel, A: Any, out: Tensor) -> None:
    """Write ``k(a_i, a_j)`` over the upper triangle of ``out`` (n x n); below it is nothing of use."""
    for i, j in tiles(len(out)):
        out[i, j] = _tile(kernel, A, i, j)


@dataclass(frozen=True)
class ShiftedKernel:
    """``V -> (K + shift I) V`` (n x m), every value of K computed when it is needed.

    ``shift`` is ``n lambda``, or one number a row (n x 1). A tile above the diagonal serves
    twice, so a product computes ``n (n + SIDE) / 2`` kernel values. The product is in the
    precision of V, the kernel's values in that of the representation.
    """

    kernel: Kernel
    A: Any
    shift: Tensor | float

    def __call__(self, V: Tensor) -> Tensor:
        with torch.no_grad():
            out, norms = self.shift * V, self.kernel.norms(self.A).to(V.dtype)
            for i, j in tiles(count(self.A)):
                K = _tile(self.kernel, self.A, i, j).to(V.dtype)
                out[i].addmm_(K, V[j])
                if i == j:  # the diagonal as it is, not as a product rounds it
                    out[i] += (norms[i] - K.diagonal())[:, None] * V[i]
                else:
                    out[j].addmm_(K.mT, V[i])
        return out
