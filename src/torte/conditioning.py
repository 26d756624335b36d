"""From a description and data to the embedding: the one last step of every fit."""

from __future__ import annotations

import time
from dataclasses import dataclass
from typing import Any, NamedTuple

import torch
from torch import Tensor

from torte._weights import diagonal_shift, part
from torte.choosing import JUDGED, choose_regularization
from torte.dual import solve_dual, supremum_or_largest
from torte.embedding import ConditionalEmbedding, FeatureLift, KernelLift
from torte.features.landmarks import choose
from torte.features.nystroem import Nystroem
from torte.kernels.base import Kernel
from torte.large import MAX_ITER, Solution, solve_by_iteration, solve_by_refinement
from torte.maps import FeatureMap
from torte.parameters import Parametric, positive
from torte.primal import features_of, supremum_of_features
from torte.progress import Progress
from torte.routes import SolvePlan
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
    ``regularization`` is the lambda it was conditioned with, ``solution`` how it was solved.
    """

    embedding: ConditionalEmbedding
    P: Tensor
    squared_norm: float
    alpha_squared: float
    statistics: Statistics | None
    regularization: float
    solution: Solution


def condition(
    description: Description,
    X: Any,
    Y: Tensor,
    epsilon: float,
    weights: Tensor | None = None,
    *,
    plan: SolvePlan | None = None,
    generator: torch.Generator | None = None,
    choose_lambda: bool = False,
    verbose: int = 0,
) -> Conditioned:
    """The embedding conditioned on all rows, each counted as often as it weighs.

    The plan says by which solver; without one it is Cholesky.

    Dual: ``V = (K + n lambda I)^-1 Y``, ``P = K V = Y - n lambda V``, ``trace(V' K V) = <V, P>``.
    Primal: the sums ``Z'Z`` and ``Z'Y``, block by block, then ``W = (Z'Z + n lambda I)^-1 Z'Y``;
    ``choose_lambda`` lets leave-one-out choose lambda again on these sums.
    """
    kernel, regularization = description.kernel, description.regularization
    with torch.no_grad():
        if isinstance(kernel, FeatureMap):
            return _condition_features(
                kernel, regularization, X, Y, epsilon, weights, choose_lambda
            )
        if plan is not None and plan.solver == "features":
            features = _landmarks_of(kernel, X, plan, generator)
            found = _condition_features(
                features, regularization, X, Y, epsilon, weights, choose_lambda
            )
            lift, V = found.embedding.lift.folded(found.embedding.weights)
            return found._replace(embedding=ConditionalEmbedding(lift, V, epsilon), statistics=None)
        A = kernel.represent(X)
        V, solution = _solve(kernel, regularization, A, Y, weights, plan, generator, verbose)
        P = Y - diagonal_shift(regularization, Y, weights)[..., None] * V
        squared_norm = float((V * P).sum().clamp(min=0))
        embedding = ConditionalEmbedding(KernelLift(kernel, A), V, epsilon)
        alpha_squared = float(supremum_or_largest(kernel, A))
        return Conditioned(
            embedding, P, squared_norm, alpha_squared, None, regularization, solution
        )


def _landmarks_of(
    kernel: Kernel, X: Tensor, plan: SolvePlan, generator: torch.Generator | None
) -> Nystroem:
    """Nystroem features of a kernel that has seen its data: centers of clusters of its rows."""
    assert generator is not None
    assert plan.n_components is not None
    points = choose("k-means", kernel, X, plan.n_components, generator).cpu().double().numpy()
    return Nystroem(kernel, plan.n_components, points=points)


def _solve(
    kernel: Kernel,
    regularization: float,
    A: Any,
    Y: Tensor,
    weights: Tensor | None,
    plan: SolvePlan | None,
    generator: torch.Generator | None,
    verbose: int,
) -> tuple[Tensor, Solution]:
    began = time.perf_counter()
    if plan is None or (plan.solver == "cholesky" and "refined" not in plan.precision):
        V = solve_dual(kernel, regularization, A, Y, weights=weights).V
        return V, Solution("cholesky", time.perf_counter() - began)
    shift = diagonal_shift(regularization, Y, weights)
    with Progress("solving", MAX_ITER, verbose) as progress:
        if plan.solver == "cholesky":
            return solve_by_refinement(kernel, shift, A, Y, progress.step)
        assert plan.rank is not None
        assert generator is not None
        return solve_by_iteration(kernel, shift, A, Y, plan.rank, generator, progress.step)


def _condition_features(
    features: FeatureMap,
    regularization: float,
    X: Any,
    Y: Tensor,
    epsilon: float,
    weights: Tensor | None,
    choose_lambda: bool,
) -> Conditioned:
    began = time.perf_counter()
    state = features.settle(Y)
    few = features_of(features, state, X[: min(len(Y), 100)])
    lift = FeatureLift(features, state, few.shape[1])
    statistics = measure(lift, X, Y, weights)
    if choose_lambda:
        judged = torch.linspace(0, len(Y) - 1, min(JUDGED, len(Y))).long()
        choice = choose_regularization(
            statistics, lift(X[judged]), Y[judged], epsilon, regularization, part(weights, judged)
        )
        regularization = choice.regularization
        embedding = ConditionalEmbedding(lift, choice.W, epsilon)
    else:
        embedding = condition_on_statistics(lift, statistics, regularization, epsilon)
    solution = Solution("features", time.perf_counter() - began, n_components=lift.width)
    P = embedding.decision_probabilities(X)
    squared_norm = float(embedding.weights.square().sum())
    alpha_squared = float(supremum_of_features(features, lambda: statistics.largest))
    return Conditioned(
        embedding, P, squared_norm, alpha_squared, statistics, regularization, solution
    )


def condition_on_statistics(
    lift: FeatureLift, statistics: Statistics, regularization: float, epsilon: float
) -> ConditionalEmbedding:
    """The embedding from sums over rows alone, whoever added them."""
    return ConditionalEmbedding(lift, statistics.solve(regularization), epsilon)
