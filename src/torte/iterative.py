"""Conjugate gradients with a preconditioner, for many right-hand sides at once."""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple

import torch
from torch import Tensor

from torte.errors import NotConverged

__all__ = ["Iterated", "Woodbury", "conjugate_gradients"]

Operator = Callable[[Tensor], Tensor]


class Iterated(NamedTuple):
    """A solution, the iterations it took, ``|B - A X| / |B|`` and ``|B - A X|`` in ``M^-1``'s norm.

    Both are the largest over the right-hand sides, and of the true residual, computed anew.
    """

    X: Tensor
    iterations: int
    residual: float
    error: float


class Woodbury:
    """``M = F F' + shift I`` and ``M^-1 R = (R - F (F'F + shift I)^-1 F'R) / shift``.

    ``shift`` may also be one positive number a row (n x 1): then ``M = F F' + diag(shift)``.
    """

    def __init__(self, F: Tensor, shift: Tensor | float):
        self.F, self.shift = F, shift
        S = F.mT @ (F / shift)
        S.diagonal().add_(1.0)
        self.L = torch.linalg.cholesky(S)

    def __call__(self, R: Tensor) -> Tensor:
        R = R / self.shift
        return R - self.F @ torch.cholesky_solve(self.F.mT @ R, self.L) / self.shift


def conjugate_gradients(
    product: Operator,
    B: Tensor,
    precondition: Operator,
    tolerance: float,
    max_iter: int,
    on_step: Callable[[str], None] = lambda state: None,
) -> Iterated:
    """``X`` with ``A X = B`` (n x m), by products with A and with ``M^-1 ~ A^-1`` alone.

    Ends when every column's residual has ``sqrt(r' M^-1 r) <= tolerance``. Where ``M <= A``
    (Woodbury of a partial Cholesky factor) that bounds the residual in ``A^-1``'s norm, hence
    the error of any ``k(x)' X`` by ``sqrt(k(x, x))`` times it. What has converged is checked
    on a residual computed anew, and where rounding made a difference, iterated on from there.
    Raises `NotConverged`.
    """
    X = torch.zeros_like(B)
    lengths = B.norm(dim=0).clamp(min=torch.finfo(B.dtype).tiny)
    done, reached = 0, float("inf")
    R = B.clone()
    while True:
        Z = precondition(R)
        rz = (R * Z).sum(dim=0).clamp(min=0)
        P = Z.clone()
        # A residual computed anew meets the tolerance, or another round begins.
        error, before = float(rz.max().sqrt()), reached
        reached = error
        residual = float((R.norm(dim=0) / lengths).max())
        if error <= tolerance:
            return Iterated(X, done, residual, error)
        if done >= max_iter or error > 0.5 * before:
            what = f"{done} iterations" if done >= max_iter else "rounding errors stopped it"
            raise NotConverged(
                f"Conjugate gradients ended after {what}, with a relative residual of {residual:.1e} and probabilities "
                f"known to {error:.1e} instead of {tolerance:.1e}. Give a larger `regularization`, or another `solver`: "
                f"'cholesky' if n x n numbers fit into memory, 'features' otherwise."
            )
        while done < max_iter and float(rz.max().sqrt()) > tolerance:
            AP = product(P)
            curvature = (P * AP).sum(dim=0)
            step = torch.where(curvature > 0, rz / curvature, 0.0)
            X += step * P
            R -= step * AP
            Z = precondition(R)
            ahead = (R * Z).sum(dim=0).clamp(min=0)
            P = Z + torch.where(rz > 0, ahead / rz, 0.0) * P
            rz = ahead
            done += 1
            on_step(f"error {float(rz.max().sqrt()):.1e}, wanted {tolerance:.1e}")
        R = B - product(X)
