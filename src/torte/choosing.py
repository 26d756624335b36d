"""Lambda chosen again on all rows, once everything else is known: what batches learn does not fit them."""

from __future__ import annotations

from typing import NamedTuple

import torch
from torch import Tensor

from torte._weights import weighted_mean
from torte.embedding import clip_normalize
from torte.errors import NotPositiveDefinite
from torte.primal import leave_one_out
from torte.solvers import Factor
from torte.statistics import Statistics, factorize_gram

__all__ = ["JUDGED", "Choice", "choose_regularization"]

JUDGED = 2000  # rows that leave-one-out judges
_DECADES = 7  # at most so far from where it starts, either way
# Of lambda to |z|^2. Rounding of float32 features, measured against float64: of rough kernels it moves
# no probability by 1e-4 at any lambda; of whitened smooth ones by 0.005 on average at 1e-8 and 0.02 at
# 1e-9, but the rows that leave-one-out judges are rounded, too, so it turns back there by itself.
_FLOOR = {torch.float64: 1e-12, torch.float32: 1e-10}


class Choice(NamedTuple):
    """The chosen lambda, the weights it gives, its loss, and every lambda that was tried."""

    regularization: float
    W: Tensor
    loss: float
    tried: dict[float, float]


def _judge(
    factor: Factor, W: Tensor, Z: Tensor, Y: Tensor, epsilon: float, weights: Tensor | None
) -> float:
    """Mean log loss of clip-normalized probabilities of rows left out, from their leverages.

    Of a row that weighs more than one, one copy is left out.
    """
    L = factor.L.to(Z.dtype)
    h = torch.linalg.solve_triangular(L, Z.mT, upper=False).square().sum(dim=0)
    h = h if weights is None else h * weights.clamp(max=1.0)
    P = leave_one_out(Z @ W, Y, h)
    losses = -(Y * clip_normalize(P, epsilon).log()).sum(dim=1)
    return float(weighted_mean(losses, weights))


def choose_regularization(
    statistics: Statistics,
    Z: Tensor,
    Y: Tensor,
    epsilon: float,
    start: float,
    weights: Tensor | None = None,
) -> Choice:
    """The lambda with the least leave-one-out loss of some rows (features Z, labels Y, weights).

    The sums over all rows are at hand, so a lambda costs one p x p factorization. The search
    goes downhill in steps of ten from ``start``, then half a decade to either side. A lambda
    that rounded sums are not positive definite with is as bad as can be.
    One eigendecomposition would give every lambda, at the price of some thirty factorizations.
    """
    tried: dict[float, float] = {}
    least = Choice(start, statistics.cross, float("inf"), tried)
    floor = _FLOOR[Z.dtype] * statistics.largest

    def loss(power: float) -> float:
        nonlocal least
        regularization = max(start * 10.0**power, floor)
        if regularization not in tried:
            try:
                factor = factorize_gram(statistics.gram, statistics.count * regularization)
            except NotPositiveDefinite:
                tried[regularization] = float("inf")
                return float("inf")
            W = factor.solve(statistics.cross).to(Z.dtype)
            tried[regularization] = _judge(factor, W, Z, Y, epsilon, weights)
            if tried[regularization] < least.loss:
                least = Choice(regularization, W, tried[regularization], tried)
        return tried[regularization]

    with torch.no_grad():
        best = 0.0
        for way in (-1.0, 1.0):
            while abs(best) < _DECADES and (
                loss(best + way) < loss(best) or (way > 0 and loss(best) == float("inf"))
            ):
                best += way
            if best != 0.0:
                break
        min((best - 0.5, best + 0.5), key=loss)
    if least.loss == float("inf"):  # no lambda would do: the error of the first says so
        factorize_gram(statistics.gram, statistics.count * start)
    return least
