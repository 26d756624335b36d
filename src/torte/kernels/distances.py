"""Squared distances by one matrix product, with a backward pass that stores no matrix."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import torch
from torch import Tensor

__all__ = ["minus_half_squared_distance", "minus_half_squared_distance_to", "squared_distance"]


class _MinusHalfSquaredDistance(torch.autograd.Function):
    """``H_ij = -|x_i - y_j|^2 / 2 = x_i . y_j - |x_i|^2 / 2 - |y_j|^2 / 2``.

    Backward with the sensitivity ``M``: ``dX = M Y - rowsum(M) X``, ``dY = M' X - colsum(M) Y``;
    only ``X`` and ``Y`` are kept, so the result may be overwritten.
    """

    @staticmethod
    def forward(ctx: Any, X: Tensor, Y: Tensor) -> Tensor:
        same = X is Y
        # Rounding in the product is relative to the norms: a shift to a common origin keeps
        # it relative to the spread of the rows instead.
        origin = Y.mean(dim=0) if len(Y) else 0.0
        X, Y = X - origin, Y - origin
        ctx.save_for_backward(X, Y)
        norms_x, norms_y = (X * X).sum(dim=1), (Y * Y).sum(dim=1)
        H = torch.addmm(norms_y[None, :], X, Y.mT, beta=-0.5)
        H.sub_(norms_x[:, None], alpha=0.5).clamp_(max=0.0)
        return H.fill_diagonal_(0.0) if same else H

    @staticmethod
    def backward(ctx: Any, M: Tensor) -> tuple[Tensor | None, Tensor | None]:
        X, Y = ctx.saved_tensors
        dX = dY = None
        if ctx.needs_input_grad[0]:
            dX = M @ Y - M.sum(dim=1)[:, None] * X
        if ctx.needs_input_grad[1]:
            dY = M.mT @ X - M.sum(dim=0)[:, None] * Y
        return dX, dY


def minus_half_squared_distance(X: Tensor, Y: Tensor) -> Tensor:
    """``-|x_i - y_j|^2 / 2`` for rows of X (n x d) and Y (k x d), an n x k matrix."""
    return _MinusHalfSquaredDistance.apply(X, Y)  # type: ignore[no-untyped-call]


def minus_half_squared_distance_to(Y: Tensor) -> Callable[[Tensor], Tensor]:
    """``X -> -|x_i - y_j|^2 / 2``, off the tape: both norms are columns of the one product."""
    origin = Y.mean(dim=0) if len(Y) else torch.zeros_like(Y[:1]).sum(dim=0)
    Y = Y - origin
    ones = Y.new_ones(len(Y), 1)
    right = torch.cat([Y, ones, -0.5 * (Y * Y).sum(dim=1, keepdim=True)], dim=1)

    def distances(X: Tensor) -> Tensor:
        X = X - origin
        norms = -0.5 * (X * X).sum(dim=1, keepdim=True)
        left = torch.cat([X, norms, X.new_ones(len(X), 1)], dim=1)
        return (left @ right.mT).clamp_(max=0.0)

    return distances


def squared_distance(X: Tensor, Y: Tensor) -> Tensor:
    """``|x_i - y_j|^2`` for rows of X (n x d) and Y (k x d), an n x k matrix."""
    return minus_half_squared_distance(X, Y).mul_(-2.0)
