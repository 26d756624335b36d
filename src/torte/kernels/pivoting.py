"""A few columns that explain most of a gram matrix, found without forming it."""

from __future__ import annotations

from typing import Any, NamedTuple

import torch
from torch import Tensor

from torte.kernels.base import Kernel, count, rows
from torte.objects import cut

__all__ = ["PartialFactor", "partial_cholesky"]

_AT_ONCE = 64  # pivots drawn together
_ROWS = 8192  # rows of the factor extended at a time


class PartialFactor(NamedTuple):
    """``K ~ F F'`` with ``F`` (n x r), exact on the rows and columns ``pivots`` (at most r of them).

    ``K - F F'`` is positive semidefinite; ``residual`` is its diagonal (n numbers).
    """

    F: Tensor
    pivots: Tensor
    residual: Tensor


def partial_cholesky(
    kernel: Kernel, A: Any, rank: int, generator: torch.Generator, stop: float = 0.0
) -> PartialFactor:
    """Randomly pivoted Cholesky (Chen, Epperly, Tropp and Webber, 2025), some pivots at a time.

    A pivot is drawn with probability proportional to the residual diagonal, that is to what
    the pivots before it have not explained. Pivots drawn together that explain each other are
    thinned out by rejection, so their distribution is that of pivots drawn one by one. Ends
    early where the trace of the residual is at most ``stop``. Costs n r kernel values.
    """
    n = count(A)
    residual = kernel.norms(A).clone()
    F = residual.new_zeros(n, rank)
    scale = float(residual.sum()) * torch.finfo(residual.dtype).eps
    chosen: list[int] = []
    while len(chosen) < rank:
        weights = residual.double().cpu().clamp(min=0)
        weights[chosen] = 0
        if float(weights.sum()) <= max(stop, scale):
            break
        drawn = torch.multinomial(
            weights, min(_AT_ONCE, rank - len(chosen)), replacement=True, generator=generator
        )
        kept, L = _accept(kernel, A, F, drawn, residual, len(chosen), generator)
        if not kept:
            break
        r, k = len(chosen), len(kept)
        pivots = torch.tensor(kept)
        anchors, known = cut(A, pivots), F[pivots, :r].clone()
        for start in range(0, n, _ROWS):
            stop_row = min(start + _ROWS, n)
            C = kernel.compare(rows(A, start, stop_row), anchors)
            C = C - F[start:stop_row, :r] @ known.mT
            F[start:stop_row, r : r + k] = torch.linalg.solve_triangular(L, C.mT, upper=False).mT
        residual -= F[:, r : r + k].square().sum(dim=1)
        residual.clamp_(min=0)
        chosen += kept
    F = F[:, : len(chosen)] if len(chosen) < rank else F
    return PartialFactor(F, torch.tensor(chosen, dtype=torch.long), residual)


def _accept(
    kernel: Kernel,
    A: Any,
    F: Tensor,
    drawn: Tensor,
    residual: Tensor,
    r: int,
    generator: torch.Generator,
) -> tuple[list[int], Tensor]:
    """Of pivots drawn together those that the ones before them leave unexplained, and their factor."""
    distinct = list(dict.fromkeys(drawn.tolist()))
    at = torch.tensor(distinct)
    anchors, known = cut(A, at), F[at, :r]
    H = (kernel.compare(anchors, anchors) - known @ known.mT).cpu()
    H.diagonal().copy_(residual[at])
    chances = torch.rand(len(distinct), generator=generator, dtype=torch.float64)
    kept: list[int] = []
    L = torch.zeros_like(H)
    for i in range(len(distinct)):
        k = len(kept)
        row = torch.linalg.solve_triangular(L[:k, :k], H[kept, i : i + 1], upper=False).flatten()
        left = float(H[i, i] - row.square().sum())
        if left > float(chances[i]) * float(H[i, i]) and left > 1e-3 * float(H[i, i]):
            L[k, :k] = row
            L[k, k] = left**0.5
            kept.append(i)
    size = len(kept)
    return [distinct[i] for i in kept], L[:size, :size].to(F.device)
