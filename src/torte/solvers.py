"""Factor once, solve many times: the Cholesky factorization in place, with announced jitter."""

from __future__ import annotations

import math
import warnings
from collections.abc import Callable
from dataclasses import dataclass

import torch
from torch import Tensor

from torte import blocked
from torte.errors import JitterWarning, NotPositiveDefinite, PrecisionWarning
from torte.resources import available_memory

__all__ = ["Factor", "factorize", "factorize_roughly"]

_RUNGS = 9  # jitter grows tenfold from one rounding error to a billion of them


@dataclass(frozen=True)
class Factor:
    """``A = L L'``; ``L`` lies column by column, as LAPACK wrote it into A's own memory."""

    L: Tensor
    dtype: torch.dtype  # of right-hand sides and solutions; L may be wider

    def solve(self, B: Tensor) -> Tensor:
        """``A^-1 B`` (n x k), by two triangular solves."""
        if len(self.L) > blocked.BLOCKED_FROM:
            return blocked.solve_upper(self.L.mT, B.to(self.L.dtype)).to(B.dtype)
        half = torch.linalg.solve_triangular(self.L, B.to(self.L.dtype), upper=False)
        return torch.linalg.solve_triangular(self.L.mT, half, upper=True).to(B.dtype)

    def inverse_columns(self, chosen: Tensor | None, memory: Tensor | None = None) -> Tensor:
        """Columns of ``A^-1``: the chosen ones (n x s), or all of them (n x n; into ``memory``)."""
        if chosen is None:
            if memory is not None and memory.dtype != self.L.dtype:
                memory = None
            return torch.cholesky_inverse(self.L, out=memory).to(self.dtype)
        unit = torch.zeros(len(self.L), len(chosen), dtype=self.dtype, device=self.L.device)
        unit[chosen, torch.arange(len(chosen), device=unit.device)] = 1.0
        return self.solve(unit)


def _cholesky(A: Tensor) -> Tensor | None:
    """The lower factor, in A's own memory on the CPU; None where A is not positive definite."""
    lower = A.mT  # row-major upper = column-major lower: LAPACK's own layout
    if len(A) > blocked.BLOCKED_FROM:
        return lower if blocked.factorize_upper(A) else None
    if A.device.type == "cpu":
        info = torch.empty((), dtype=torch.int32)
        torch.linalg.cholesky_ex(lower, out=(lower, info))
    else:
        lower, info = torch.linalg.cholesky_ex(A.triu().mT)
    good = int(info) == 0 and bool(torch.isfinite(lower[-1, -1]))
    return lower if good else None


def factorize(assemble: Callable[[float], Tensor], unit: float) -> Factor:
    """The Cholesky factor of ``assemble(0)``, or of ``assemble(jitter)`` if that one fails.

    ``assemble(jitter)`` returns a row-major symmetric matrix with ``jitter`` added to its
    diagonal, of which only the upper triangle is read; its memory is overwritten. ``unit`` is
    the size of the diagonal, which the jitter is measured in. In float32 a failure is first
    met with float64, where the device has it and the memory for it is free.
    """
    A = assemble(0.0)
    dtype, name, n = A.dtype, str(A.dtype).removeprefix("torch."), len(A)
    if (lower := _cholesky(A)) is not None:
        return Factor(lower, dtype)
    wider = dtype == torch.float32 and A.device.type != "mps"
    wider = wider and 2 * A.nbytes < available_memory(A.device)
    if wider and (lower := _cholesky(assemble(0.0).double())) is not None:
        warnings.warn(
            "A + n lambda I could not be factorized in float32, so this solve was done in float64; a "
            "larger `regularization` or dtype='float64' avoids this.",
            PrecisionWarning,
            stacklevel=2,
        )
        return Factor(lower, dtype)
    jitter = torch.finfo(dtype).eps * unit
    for _ in range(_RUNGS):
        jitter *= 10.0
        if (lower := _cholesky(assemble(jitter))) is not None:
            warnings.warn(
                f"A + n lambda I was not positive definite in {name}; about {10.0 ** round(math.log10(jitter)):.0e} more on its diagonal "
                f"made it so. A larger `regularization` or dtype='float64' avoids this.",
                JitterWarning,
                stacklevel=2,
            )
            return Factor(lower, dtype)
    raise NotPositiveDefinite(
        f"A + n lambda I ({n} x {n}, {name}) is not positive definite, even with {jitter:.1e} more on its "
        f"diagonal; expected a positive semidefinite kernel with finite values. Check the kernel and "
        f"its hyperparameters, or give a larger `regularization`."
    )


def factorize_roughly(assemble: Callable[[float], Tensor], unit: float) -> Factor:
    """The factor of A, or of a little more than A: good enough to precondition an iteration.

    The iteration corrects what jitter and a narrow precision have changed, so neither needs
    to be told, and nothing beside A's own memory is used.
    """
    jitter = 0.0
    for _ in range(_RUNGS):
        A = assemble(jitter)
        dtype = A.dtype
        if (lower := _cholesky(A)) is not None:
            return Factor(lower, dtype)
        jitter = max(10.0 * jitter, torch.finfo(dtype).eps * unit)
    raise NotPositiveDefinite(
        f"A + n lambda I ({len(A)} x {len(A)}) is not positive definite, even with {jitter:.1e} more on its diagonal; "
        f"check the kernel and its hyperparameters, or give a larger `regularization`."
    )
