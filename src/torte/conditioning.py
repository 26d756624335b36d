"""From a description and data to the embedding: the one last step of every fit."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, NamedTuple

import torch
from torch import Tensor

from torte._weights import diagonal_shift
from torte.dual import solve_dual, supremum_or_largest
from torte.embedding import ConditionalEmbedding, FeatureLift, KernelLift
from torte.kernels.base import Kernel
from torte.maps import FeatureMap
from torte.parameters import Parametric, positive
from torte.primal import features_of, supremum_of_features
from torte.statistics import Statistics, measure

__all__ = ["Conditioned", "Description", "condition", "condition_on_statistics"]


@dataclass(frozen=True)
class Description(Parametric):
    """All that is learned: the kernel or feature map and the regularization ``lambda``."""

    kernel: Kernel | FeatureMap
    regularization: float = positive(1.0)


class Conditioned(NamedTuple):
    """The embedding given data, and what it says of them.

    ``P`` is its ``p_hat`` on the rows (n x m), ``squared_norm`` is ``trace(V' K V) = |W|^2``,
    ``alpha_squared`` the supremum in the complexity; ``statistics`` only for feature maps.
    """

    embedding: ConditionalEmbedding
    P: Tensor
    squared_norm: float
    alpha_squared: float
    statistics: Statistics | None


def condition(
    description: Description, X: Any, Y: Tensor, epsilon: float, weights: Tensor | None = None
) -> Conditioned:
    """The embedding conditioned on all rows, each counted as often as it weighs.

    Dual: ``V = (K + n lambda I)^-1 Y``, ``P = K V = Y - n lambda V``, ``trace(V' K V) = <V, P>``.
    Primal: the sums ``Z'Z`` and ``Z'Y``, block by block, then ``W = (Z'Z + n lambda I)^-1 Z'Y``.
    """
    kernel, regularization = description.kernel, description.regularization
    with torch.no_grad():
        if isinstance(kernel, FeatureMap):
            return _condition_features(kernel, regularization, X, Y, epsilon, weights)
        A = kernel.represent(X)
        V = solve_dual(kernel, regularization, A, Y, weights=weights).V
        P = Y - diagonal_shift(regularization, Y, weights)[..., None] * V
        squared_norm = float((V * P).sum().clamp(min=0))
        embedding = ConditionalEmbedding(KernelLift(kernel, A), V, epsilon)
        return Conditioned(embedding, P, squared_norm, float(supremum_or_largest(kernel, A)), None)


def _condition_features(
    features: FeatureMap,
    regularization: float,
    X: Any,
    Y: Tensor,
    epsilon: float,
    weights: Tensor | None,
) -> Conditioned:
    state = features.settle(Y)
    few = features_of(features, state, X[: min(len(Y), 1000)])
    lift = FeatureLift(features, state, few.shape[1])
    statistics = measure(lift, X, Y, weights)
    embedding = condition_on_statistics(lift, statistics, regularization, epsilon)
    P = embedding.decision_probabilities(X)
    squared_norm = float(embedding.weights.square().sum())
    alpha_squared = float(supremum_of_features(features, lambda: statistics.largest))
    return Conditioned(embedding, P, squared_norm, alpha_squared, statistics)


def condition_on_statistics(
    lift: FeatureLift, statistics: Statistics, regularization: float, epsilon: float
) -> ConditionalEmbedding:
    """The embedding from sums over rows alone, whoever added them."""
    return ConditionalEmbedding(lift, statistics.solve(regularization), epsilon)
