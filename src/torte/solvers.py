"""Factor once, solve many times: the Cholesky factorization in place, with announced jitter."""

from __future__ import annotations

import warnings
from collections.abc import Callable
from dataclasses import dataclass

import torch
from torch import Tensor

from torte.errors import JitterWarning, NotPositiveDefinite

__all__ = ["Factor", "factorize"]

_RUNGS = 9  # jitter grows tenfold from one rounding error to a billion of them


@dataclass(frozen=True)
class Factor:
    """``A = L L'``; ``L`` lies column by column, as LAPACK wrote it into A's own memory."""

    L: Tensor

    def solve(self, B: Tensor) -> Tensor:
        """``A^-1 B`` (n x k), by two triangular solves."""
        half = torch.linalg.solve_triangular(self.L, B, upper=False)
        return torch.linalg.solve_triangular(self.L.mT, half, upper=True)

    def inverse_columns(self, chosen: Tensor | None) -> Tensor:
        """Columns of ``A^-1``: the chosen ones (n x s), or all of them (n x n)."""
        if chosen is None:
            return torch.cholesky_inverse(self.L)
        unit = self.L.new_zeros(len(self.L), len(chosen))
        unit[chosen, torch.arange(len(chosen), device=unit.device)] = 1.0
        return self.solve(unit)


def factorize(assemble: Callable[[float], Tensor], unit: float) -> Factor:
    """The Cholesky factor of ``assemble(0)``, or of ``assemble(jitter)`` if that one fails.

    ``assemble(jitter)`` returns a row-major symmetric matrix with ``jitter`` added to its
    diagonal, of which only the upper triangle is read; its memory is overwritten. ``unit`` is
    the size of the diagonal, which the jitter is measured in.
    """
    jitter = 0.0
    for rung in range(_RUNGS + 1):
        A = assemble(jitter)
        lower = A.mT  # row-major upper = column-major lower: LAPACK's own layout
        if A.device.type == "cpu":
            info = torch.empty((), dtype=torch.int32)
            torch.linalg.cholesky_ex(lower, out=(lower, info))
        else:
            lower, info = torch.linalg.cholesky_ex(lower)
        if int(info) == 0 and bool(torch.isfinite(lower[-1, -1])):
            if jitter:
                warnings.warn(
                    f"K + n lambda I was not positive definite in {str(A.dtype).split('.')[-1]}; {jitter:.1e} more on its "
                    f"diagonal made it so. A larger `regularization` or dtype='float64' avoids this.",
                    JitterWarning,
                    stacklevel=2,
                )
            return Factor(lower)
        jitter = torch.finfo(A.dtype).eps * unit * 10.0 ** (rung + 1)
    raise NotPositiveDefinite(
        f"K + n lambda I ({len(A)} x {len(A)}, {str(A.dtype).split('.')[-1]}) is not positive definite, even with {jitter / 10:.1e} "
        f"more on its diagonal; expected a positive semidefinite kernel with finite values. Check the "
        f"kernel and its hyperparameters, or give a larger `regularization`."
    )
