"""Rows added and taken out one chunk after another, exactly: the sums over rows are all there is."""

from __future__ import annotations

import math
import time
import warnings
from collections.abc import Iterator
from dataclasses import fields, replace
from typing import Any

import numpy as np
import torch
from sklearn.base import BaseEstimator, clone
from torch import Tensor

from torte._arrays import admit_rows, compute_device, generator_from
from torte._settings import check_settings
from torte._targets import encode_targets, weigh
from torte._weights import admit_weights, resampled
from torte.conditioning import condition_on_statistics
from torte.embedding import ConditionalEmbedding, FeatureLift
from torte.errors import InvalidInput, WideFeaturesWarning
from torte.features import Network, Nystroem, Standardize
from torte.large import Solution
from torte.maps import FeatureMap, features_of
from torte.parameters import Parametric
from torte.primal import supremum_of_features
from torte.routes import plan_features
from torte.statistics import Statistics, measure

__all__ = [
    "add_rows",
    "demand_fixed_weights",
    "measured",
    "remove_rows",
    "solve_again",
    "warn_if_wide",
]


def _begin(estimator: Any, X: Any, y: Any, classes: Any, sample_weight: Any) -> None:
    """Fix the map, lambda and the classes on the first rows: from here on only sums change.

    What can fail comes first: the estimator is one that was fitted when all of it went well.
    """
    if classes is None:
        raise InvalidInput(
            "`classes` must be given in the first call of partial_fit: all labels that will ever come."
        )
    check_settings(estimator)
    demand_fixed_weights(estimator)
    known = np.unique(np.asarray(classes))
    if len(known) < 2:
        raise InvalidInput(f"`classes` must hold at least 2 labels, got {list(known)}.")
    twin = clone(estimator)  # learns what the columns are
    rows = _rows(twin, X, reset=True, device=compute_device(estimator.device))
    rows, Y, weights = _targets(estimator, rows, y, known, sample_weight)
    names = getattr(twin, "feature_names_in_", None)
    generator = generator_from(estimator.random_state)
    _demand_rows(estimator.kernel, len(rows))
    features = estimator.kernel.prepare(
        resampled(rows, weights), None if names is None else list(names), generator
    )
    with torch.no_grad():
        state = features.settle(rows)
        few = features_of(features, state, rows[:100])
    lift = FeatureLift(features, state, few.shape[1])
    nothing = rows.new_zeros(lift.width, len(known))
    blank = ConditionalEmbedding(lift, nothing, estimator.objective.epsilon)
    regularization = float(estimator.regularization)
    statistics = measure(lift, rows, Y, weights)
    solved = _solved(blank, statistics, regularization)
    estimator.kernel_, estimator.regularization_ = features, regularization
    estimator.classes_, estimator.n_features_in_ = known, twin.n_features_in_
    if names is not None:
        estimator.feature_names_in_ = names
    # Nothing was learned.
    estimator.history_, estimator.n_iter_, estimator.objective_value_ = [], 0, math.nan
    _keep(estimator, statistics, solved)


def _inside(value: Parametric) -> Iterator[Parametric]:
    """A map, and all that it is made of."""
    yield value
    for field in fields(value):
        part = getattr(value, field.name)
        if isinstance(part, Parametric):
            yield from _inside(part)


def _starts_from_rows(part: Parametric) -> bool:
    if isinstance(part, Standardize):
        return part.mean is None
    if isinstance(part, Network):
        return part.standardize and part.center is None
    return getattr(part, "length_scale", 1.0) is None


def _demand_rows(features: FeatureMap, rows: int) -> None:
    """Raise `InvalidInput` where a map would be fixed by a single row; tell of landmarks missing."""
    parts = list(_inside(features))
    wanted = [
        part.n_components for part in parts if isinstance(part, Nystroem) and part.points is None
    ]
    if rows < 2 and (wanted or any(map(_starts_from_rows, parts))):
        raise InvalidInput(
            f"X of the first partial_fit must hold at least 2 rows, since they fix the landmarks, length scales and "
            f"spreads of {features!r} for all that come, got {rows}; begin with a larger chunk, or give the map what it "
            f"is to have, such as `landmarks` and `length_scale`."
        )
    if wanted and rows < max(wanted):
        warnings.warn(
            f"`kernel` wants {max(wanted)} landmarks, and the first chunk has {rows} rows to choose them from; later chunks "
            f"add none. Begin with a larger chunk, or give `landmarks` as rows.",
            WideFeaturesWarning,
            stacklevel=5,
        )


def _rows(estimator: BaseEstimator, X: Any, *, reset: bool, device: torch.device) -> Tensor:
    return torch.tensor(admit_rows(estimator, X, estimator.dtype, reset=reset), device=device)


def demand_fixed_weights(estimator: Any) -> None:
    """Raise `InvalidInput` where the weights of classes depend on rows still to come."""
    if estimator.class_weight == "balanced":
        raise InvalidInput(
            "`class_weight` must be a dictionary or None in partial_fit and where rows come in parts, got 'balanced': how "
            "often a class will come is not known; compute the weights with sklearn.utils.class_weight.compute_class_weight."
        )


def _targets(
    estimator: Any, rows: Tensor, y: Any, classes: np.ndarray, sample_weight: Any
) -> tuple[Tensor, Tensor, Tensor | None]:
    """Rows that count, their labels as distributions, and their weights."""
    Y = encode_targets(y, len(rows), classes)
    weights = admit_weights(sample_weight, len(rows))
    if weights is not None:
        rows, Y, weights = rows[weights > 0], Y[weights > 0], weights[weights > 0]
    Y, weights = weigh(Y, classes, weights, estimator.class_weight)
    counted = None if weights is None else torch.as_tensor(weights).to(rows)
    return rows, torch.as_tensor(Y).to(rows), counted


def measured(estimator: Any, X: Any, y: Any, sample_weight: Any = None) -> Statistics:
    """The sums over the rows of a table, through the map that the estimator has."""
    demand_fixed_weights(estimator)
    device = estimator.embedding_.weights.device
    rows = _rows(estimator, X, reset=False, device=device)
    return measure(
        estimator.embedding_.lift,
        *_targets(estimator, rows, y, estimator.classes_, sample_weight),
    )


def _solved(
    embedding: ConditionalEmbedding, statistics: Statistics, regularization: float
) -> ConditionalEmbedding:
    """The embedding that these sums give, in the precision of the one before."""
    assert isinstance(embedding.lift, FeatureLift)
    with torch.no_grad():
        solved = condition_on_statistics(
            embedding.lift, statistics, regularization, embedding.epsilon
        )
    return replace(embedding, weights=solved.weights.to(embedding.weights))


def _keep(estimator: Any, statistics: Statistics, embedding: ConditionalEmbedding) -> None:
    """Sums and what they give, with its norm and its complexity."""
    estimator._statistics, estimator.embedding_ = statistics, embedding
    norm = float(embedding.weights.square().sum()) ** 0.5
    own = supremum_of_features(estimator.kernel_, lambda: statistics.largest)
    alpha_squared = float(estimator.objective.alpha_squared(lambda: own))
    estimator._norm, estimator.complexity_ = norm, alpha_squared**0.5 * norm
    estimator._table = None
    # Of rows that are no longer at hand.
    estimator._own_probabilities = estimator._own_weights = None


def solve_again(estimator: Any, statistics: Statistics | None = None) -> None:
    """The embedding, its norm and its complexity from the sums: new ones, or as they are now."""
    sums = estimator._statistics if statistics is None else statistics
    _keep(estimator, sums, _solved(estimator.embedding_, sums, estimator.regularization_))


def _describe(estimator: Any, began: float) -> None:
    """The plan and the solution of the rows that are in the sums now."""
    weights, n = estimator.embedding_.weights, round(estimator._statistics.count)
    estimator.plan_ = plan_features(len(weights), n, weights.dtype, weights.device)
    seconds = time.perf_counter() - began
    estimator.solution_ = Solution("features", seconds, n_components=len(weights))


def warn_if_wide(width: int, rows: float, stacklevel: int = 2) -> None:
    """Say that a map has more features than there are rows, where it has."""
    if width > rows:
        warnings.warn(
            f"`kernel` gives {width} features for {rows:.0f} rows; with fewer features than rows it is cheap, with "
            f"more its kernel form, Linear() @ map, is the same model at less cost.",
            WideFeaturesWarning,
            stacklevel=stacklevel,
        )


def _demand_sums(estimator: Any) -> None:
    if estimator._statistics is None:
        raise InvalidInput(
            "partial_fit and forget need the sums over rows, which an approximation does not keep; fit an estimator with "
            "the feature map as `kernel` instead."
        )


def add_rows(estimator: Any, X: Any, y: Any, classes: Any, sample_weight: Any, first: bool) -> None:
    """Add a chunk to the sums and solve again."""
    began = time.perf_counter()
    if first:
        _begin(estimator, X, y, classes, sample_weight)
    else:
        if classes is not None and not np.array_equal(
            np.unique(np.asarray(classes)), estimator.classes_
        ):
            raise InvalidInput(
                f"`classes` must be those of the first call, {list(estimator.classes_)}, or None, got {list(classes)}."
            )
        _demand_sums(estimator)
        solve_again(estimator, estimator._statistics + measured(estimator, X, y, sample_weight))
    _describe(estimator, began)


def remove_rows(estimator: Any, X: Any, y: Any, sample_weight: Any) -> None:
    """Take a chunk out of the sums and solve again."""
    began = time.perf_counter()
    _demand_sums(estimator)
    statistics = measured(estimator, X, y, sample_weight)
    if statistics.count >= estimator._statistics.count:
        raise InvalidInput(
            f"X must hold fewer rows than were learned from, {estimator._statistics.count:.0f}, got {statistics.count:.0f}; "
            f"fit anew on what shall stay."
        )
    solve_again(estimator, estimator._statistics - statistics)
    _describe(estimator, began)
