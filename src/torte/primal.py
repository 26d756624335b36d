"""The objective of a feature map and its exact gradient, through one p x p factorization.

Algorithm 2: with ``A = Z'Z + n lambda I``, ``W = A^-1 Z'Y`` and ``P = Z W`` the complexity is
``r = alpha |W|_F``. Row i left out has ``P_loo = (P - h Y) / (1 - h)`` with ``h_i = z_i' A^-1 z_i``.
Rows with weights enter as ``sqrt(w) z`` and ``sqrt(w) y``.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import torch
from torch import Tensor

from torte._weights import one_copy, part, total
from torte.errors import NoSupremum
from torte.maps import FeatureMap, features_of
from torte.objectives import Objective, Terms, square_root
from torte.statistics import factorize_gram

__all__ = ["Primal", "features_of", "leave_one_out", "primal_solve", "supremum_of_features"]


class _PrimalSolve(torch.autograd.Function):
    """``(Z, Y, shift) -> (P, W, h)``, differentiated without the derivative of a Cholesky.

    With the sensitivities ``g`` of P and ``G = g_W + Z'g`` of W, and ``U = A^-1 G``:
    ``dZ = (g - Z U) W' + (Y - P) U'`` and ``dshift = -<U, W>``. The leverages of the rows S,
    ``T = A^-1 Z_S'``, with the sensitivities ``c`` add ``-2 Z T diag(c) T'``, ``2 diag(c) T'`` on the
    rows S, and ``-sum_i c_i |t_i|^2``.
    """

    @staticmethod
    def forward(
        ctx: Any,
        Z: Tensor,
        Y: Tensor,
        shift: Tensor,
        judged: Tensor | None,
        leverages: bool,
        memory: Tensor | None,
    ) -> tuple[Tensor, Tensor, Tensor]:
        factor = factorize_gram(Z.mT @ Z, shift.item())
        W = factor.solve((Y.mT @ Z).mT)  # twice as fast as Z'Y: one pass along the rows of Z
        P = Z @ W
        T = h = Z.new_empty(0)
        if leverages:
            chosen = Z if judged is None else Z[judged]
            T = factor.solve(chosen.mT)
            h = (chosen * T.mT).sum(dim=1)
        ctx.factor, ctx.judged, ctx.leverages, ctx.memory = factor, judged, leverages, memory
        ctx.save_for_backward(Z, Y, P, W, T)
        return P, W, h

    @staticmethod
    def backward(ctx: Any, g: Tensor, gW: Tensor, c: Tensor) -> tuple[Any, ...]:
        with torch.autocast(g.device.type, enabled=False):  # also where it was called within one
            return _PrimalSolve._backward(ctx, g, gW, c)

    @staticmethod
    def _backward(ctx: Any, g: Tensor, gW: Tensor, c: Tensor) -> tuple[Any, ...]:
        Z, Y, P, W, T = ctx.saved_tensors
        U = ctx.factor.solve(gW + (g.mT @ Z).mT)
        left, right = torch.cat([g - Z @ U, Y - P], dim=1), torch.cat([W, U], dim=1)
        dZ = torch.mm(left, right.mT, out=ctx.memory)
        dshift = -(U * W).sum()
        if ctx.leverages:
            weighted = T * c
            dZ.addmm_(Z, weighted @ T.mT, alpha=-2.0)
            where = slice(None) if ctx.judged is None else ctx.judged
            dZ[where] += 2.0 * weighted.mT
            dshift = dshift - (c * T.square().sum(dim=0)).sum()
        return dZ, None, dshift, None, None, None


def primal_solve(
    Z: Tensor,
    Y: Tensor,
    shift: Tensor,
    judged: Tensor | None = None,
    leverages: bool = False,
    memory: Tensor | None = None,
) -> tuple[Tensor, Tensor, Tensor]:
    """Fitted ``P`` (n x m), weights ``W`` (p x m) and leverages of the judged rows, on the tape.

    ``shift`` is ``n lambda``. Without ``leverages`` the third is empty; with them ``judged`` are
    their rows, all where it is None. ``memory`` (n x p) takes the sensitivity to Z: fresh pages for
    it cost a third of a step, and whoever lends it has passed the sensitivity on before the next.
    """
    return _PrimalSolve.apply(Z, Y, shift, judged, leverages, memory)  # type: ignore[no-untyped-call]


def supremum_of_features(features: FeatureMap, largest: Callable[[], Any]) -> Any:
    """``sup |phi(x)|^2``; where there is none that is known, the largest on the rows at hand."""
    try:
        return features.supremum()
    except NoSupremum:
        return largest()


def leave_one_out(P: Tensor, Y: Tensor, h: Tensor) -> Tensor:
    """``p_hat`` of rows by the embedding of all others (n x m), from their leverages h."""
    kept = (1 - h).clamp(min=torch.finfo(h.dtype).eps)[:, None]
    return (P - h[:, None] * Y) / kept


def _largest(Z: Tensor) -> Tensor:
    return Z.square().sum(dim=1).max()


class Primal:
    """Evaluates objectives of feature maps; keeps the n x p memory from one step to the next."""

    def __init__(self) -> None:
        self._memory: Tensor | None = None

    def scale(self, features: FeatureMap, X: Any, Y: Tensor) -> float:
        """The size of ``|phi(x)|^2``."""
        with torch.no_grad():
            Z = features_of(features, features.settle(Y), X)
            return max(
                float(supremum_of_features(features, lambda: _largest(Z))),
                torch.finfo(Z.dtype).tiny,
            )

    def evaluate(
        self,
        features: FeatureMap,
        regularization: Tensor,
        X: Any,
        Y: Tensor,
        objective: Objective,
        judged: Tensor | None = None,
        held_out: tuple[Any, Tensor, Tensor | None] | None = None,
        weights: Tensor | None = None,
    ) -> Terms:
        """The terms at this map; gradients are left in the leaves of map and regularization.

        ``judged`` are the rows that leave-one-out judges (None: all), ``held_out`` a second
        table, with its labels and weights, on which the risk is measured instead (eq. 10).
        """
        state = features.settle(Y)
        Z = features_of(features, state, X)
        alone = objective.leaves_out and held_out is None
        n, counted = total(Y, weights), weights
        root = None if weights is None else weights.sqrt()[:, None]
        pulled = (Z, Y) if root is None else (root * Z, root * Y)
        if self._memory is None or self._memory.shape != Z.shape:
            self._memory = torch.empty_like(Z, requires_grad=False)
        P, W, h = primal_solve(*pulled, n * regularization, judged, alone, self._memory)
        P = P if root is None else P / root
        target = Y
        if held_out is not None:
            P, target, counted = features_of(features, state, held_out[0]) @ W, *held_out[1:]
        elif alone:
            at = slice(None) if judged is None else judged
            P, target, counted = P[at], Y[at], part(weights, at)
            P = leave_one_out(P, target, h if counted is None else h * one_copy(counted))
        alpha_squared = objective.alpha_squared(
            lambda: supremum_of_features(features, lambda: _largest(Z))
        )
        complexity = square_root(alpha_squared * W.square().sum())
        terms = objective(P, target, complexity, n, counted)
        terms.objective.backward()
        return Terms(*(float(term.detach()) for term in terms))
