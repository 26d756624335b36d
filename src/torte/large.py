"""``V = (K + n lambda I)^-1 Y`` for many rows: a narrow factor refined, or no factor at all.

``shift`` is ``n lambda`` or, for rows with weights, one number a row: ``n lambda / w_i``.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import torch
from torch import Tensor

from torte.iterative import Woodbury, conjugate_gradients
from torte.kernels.base import Kernel, count
from torte.kernels.pivoting import partial_cholesky
from torte.kernels.tiles import ShiftedKernel, fill_upper
from torte.solvers import factorize_roughly

__all__ = ["MAX_ITER", "Solution", "solve_by_iteration", "solve_by_refinement", "solve_rank"]

TOLERANCE = {torch.float64: 5e-7, torch.float32: 1e-3}  # of any probability
MAX_ITER = 500
REFINEMENTS = 20
RANK = 4000


@dataclass(frozen=True)
class Solution:
    """How the final system was solved: by what, in how many iterations, how exactly, how long.

    ``residual`` is the largest ``|B - A V| / |B|`` of a column, ``error`` a bound on how far any
    probability is from the exact solution's; None where a factorization left nothing to measure.
    """

    solver: str
    seconds: float
    iterations: int = 0
    residual: float | None = None
    error: float | None = None
    n_components: int | None = None

    def to_dict(self) -> dict[str, Any]:
        """Its fields, ready for JSON."""
        return dict(vars(self))


def _quiet(state: str) -> None:
    pass


def _iterate(
    kernel: Kernel,
    A: Any,
    shift: Tensor,
    Y: Tensor,
    precondition: Callable[[Tensor], Tensor],
    max_iter: int,
    on_step: Callable[[str], None],
) -> tuple[Tensor, int, float, float]:
    """``V``, iterations, relative residual, and the bound on the error of a probability.

    ``|k(x)' A^-1 r| <= |k(x)|_{A^-1} |r|_{A^-1}``, and ``A >= K`` makes the first at most
    ``sqrt(k(x, x))``: so a residual small in ``A^-1``'s norm is an accurate ``p_hat``.
    """
    size = float(kernel.norms(A).max()) ** 0.5
    found = conjugate_gradients(
        ShiftedKernel(kernel, A, shift[..., None]),
        Y,
        precondition,
        TOLERANCE[Y.dtype] / size,
        max_iter,
        on_step,
    )
    return found.X, found.iterations, found.residual, found.error * size


def solve_by_refinement(
    kernel: Kernel,
    shift: Tensor,
    A: Any,
    Y: Tensor,
    on_step: Callable[[str], None] = _quiet,
) -> tuple[Tensor, Solution]:
    """A Cholesky factor in float32, and its solution refined to float64 accuracy.

    The factor takes ``4 n^2`` bytes; what it cannot know is recovered by conjugate gradients
    that it preconditions, with residuals from kernel values computed again in float64.
    """
    began, n = time.perf_counter(), count(A)
    memory = torch.empty(n, n, dtype=torch.float32, device=Y.device)
    narrow = _narrowed(A)
    norms = kernel.norms(A)

    def assemble(jitter: float) -> Tensor:
        fill_upper(kernel, narrow, memory)
        memory.diagonal().copy_(norms).add_(shift + jitter)
        return memory

    with torch.no_grad():
        factor = factorize_roughly(assemble, float(norms.max()))
        V, iterations, residual, error = _iterate(
            kernel, A, shift, Y, factor.solve, REFINEMENTS, on_step
        )
    seconds = time.perf_counter() - began
    return V, Solution("cholesky, float32 refined", seconds, iterations, residual, error)


def _narrowed(A: Any) -> Any:
    """A representation in float32, where it holds float64 numbers."""
    if isinstance(A, tuple):
        return tuple(_narrowed(part) for part in A)
    return A.float() if isinstance(A, Tensor) and A.dtype == torch.float64 else A


def solve_rank(n: int, itemsize: int, memory: float) -> int:
    """Columns of the preconditioner: at most `RANK`, a quarter of the rows, half the memory."""
    return max(1, min(RANK, n // 4, int(memory / 2 / (3 * itemsize * n))))


def solve_by_iteration(
    kernel: Kernel,
    shift: Tensor,
    A: Any,
    Y: Tensor,
    rank: int,
    generator: torch.Generator,
    on_step: Callable[[str], None] = _quiet,
) -> tuple[Tensor, Solution]:
    """Conjugate gradients over tiles of K, preconditioned by ``F F' + n lambda I``.

    F is a partial Cholesky factor of ``rank`` columns with random pivots. Memory: F and a few
    n x m matrices; K is never formed.
    """
    began = time.perf_counter()
    with torch.no_grad():
        F = partial_cholesky(kernel, A, rank, generator, stop=0.1 * float(shift.min())).F
        V, iterations, residual, error = _iterate(
            kernel, A, shift, Y, Woodbury(F, shift[..., None]), MAX_ITER, on_step
        )
    seconds = time.perf_counter() - began
    return V, Solution("conjugate-gradients", seconds, iterations, residual, error, F.shape[1])
