"""Cholesky in place, one block of rows after another: for matrices near the size of the memory.

LAPACK's own routine counts entries with 32 bits in some builds and cannot be interrupted. Here
every call works on a block, in the memory of the matrix itself.
"""

from __future__ import annotations

import torch
from torch import Tensor

__all__ = ["BLOCKED_FROM", "factorize_upper", "solve_upper"]

BLOCKED_FROM = 16_384  # rows; below, one call of LAPACK
BLOCK_ROWS = 2048


def factorize_upper(A: Tensor) -> bool:
    """``A = U' U`` in place, from and into the upper triangle; False where A is not positive definite.

    Row block s, with the rows above it done: ``U_ss' U_s = A_s - U_:s' U_:``.
    """
    n = len(A)
    for start in range(0, n, BLOCK_ROWS):
        stop = min(start + BLOCK_ROWS, n)
        if start:
            A[start:stop, start:].addmm_(A[:start, start:stop].mT, A[:start, start:], alpha=-1.0)
        L, info = torch.linalg.cholesky_ex(A[start:stop, start:stop].mT)  # reads its lower half
        if int(info) != 0:
            return False
        A[start:stop, start:stop] = L.mT
        if stop < n:
            A[start:stop, stop:] = torch.linalg.solve_triangular(
                L, A[start:stop, stop:], upper=False
            )
    return bool(torch.isfinite(A[-1, -1]))


def solve_upper(U: Tensor, B: Tensor) -> Tensor:
    """``(U' U)^-1 B`` (n x k), reading only the upper triangle of U."""
    n, X = len(U), B.clone(memory_format=torch.contiguous_format)
    cuts = [(start, min(start + BLOCK_ROWS, n)) for start in range(0, n, BLOCK_ROWS)]
    for start, stop in cuts:
        X[start:stop] -= U[:start, start:stop].mT @ X[:start]
        L = U[start:stop, start:stop].mT
        X[start:stop] = torch.linalg.solve_triangular(L, X[start:stop], upper=False)
    for start, stop in reversed(cuts):
        X[start:stop] -= U[start:stop, stop:] @ X[stop:]
        D = U[start:stop, start:stop]
        X[start:stop] = torch.linalg.solve_triangular(D, X[start:stop], upper=True)
    return X
