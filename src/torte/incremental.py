"""Rows added and taken out one chunk after another, exactly: the sums over rows are all there is."""

from __future__ import annotations

import warnings
from dataclasses import replace
from typing import Any

import numpy as np
import torch
from sklearn.base import BaseEstimator
from torch import Tensor

from torte._arrays import admit_rows, compute_device, generator_from
from torte._settings import check_settings
from torte._targets import encode_targets, weigh
from torte._weights import admit_weights
from torte.conditioning import condition_on_statistics
from torte.embedding import ConditionalEmbedding, FeatureLift
from torte.errors import InvalidInput, WideFeaturesWarning
from torte.primal import features_of, supremum_of_features
from torte.statistics import Statistics, measure

__all__ = [
    "add_rows",
    "demand_fixed_weights",
    "measured",
    "remove_rows",
    "solve_again",
    "warn_if_wide",
]


def _begin(estimator: Any, X: Any, classes: Any) -> None:
    """Fix the map, lambda and the classes: from here on only sums change."""
    if classes is None:
        raise InvalidInput(
            "`classes` must be given in the first call of partial_fit: all labels that will ever come."
        )
    check_settings(estimator)
    known = np.unique(np.asarray(classes))
    if len(known) < 2:
        raise InvalidInput(f"`classes` must hold at least 2 labels, got {list(known)}.")
    rows = _rows(estimator, X, reset=True, device=compute_device(estimator.device))
    names = getattr(estimator, "feature_names_in_", None)
    generator = generator_from(estimator.random_state)
    features = estimator.kernel.prepare(rows, None if names is None else list(names), generator)
    with torch.no_grad():
        state = features.settle(rows)
        few = features_of(features, state, rows[:100])
    lift = FeatureLift(features, state, few.shape[1])
    estimator.kernel_, estimator.regularization_ = features, float(estimator.regularization)
    estimator.classes_ = known
    estimator._statistics = measure(lift, rows[:0], rows.new_zeros(0, len(known)))
    nothing = rows.new_zeros(lift.width, len(known))
    estimator.embedding_ = ConditionalEmbedding(lift, nothing, estimator.objective.epsilon)


def _rows(estimator: BaseEstimator, X: Any, *, reset: bool, device: torch.device) -> Tensor:
    return torch.tensor(admit_rows(estimator, X, estimator.dtype, reset=reset), device=device)


def demand_fixed_weights(estimator: Any) -> None:
    """Raise `InvalidInput` where the weights of classes depend on rows still to come."""
    if estimator.class_weight == "balanced":
        raise InvalidInput(
            "`class_weight` must be a dictionary or None in partial_fit and where rows come in parts, got 'balanced': how "
            "often a class will come is not known; compute the weights with sklearn.utils.class_weight.compute_class_weight."
        )


def measured(estimator: Any, X: Any, y: Any, sample_weight: Any = None) -> Statistics:
    """The sums over the rows of a table, through the map that the estimator has."""
    demand_fixed_weights(estimator)
    device = estimator.embedding_.weights.device
    rows = _rows(estimator, X, reset=False, device=device)
    Y = encode_targets(y, len(rows), estimator.classes_)
    weights = admit_weights(sample_weight, len(rows))
    if weights is not None:
        rows, Y, weights = rows[weights > 0], Y[weights > 0], weights[weights > 0]
    Y, weights = weigh(Y, estimator.classes_, weights, estimator.class_weight)
    counted = None if weights is None else torch.as_tensor(weights).to(rows)
    return measure(estimator.embedding_.lift, rows, torch.as_tensor(Y).to(rows), counted)


def solve_again(estimator: Any) -> None:
    """The embedding, its norm and its complexity from the sums as they are now."""
    lift, statistics = estimator.embedding_.lift, estimator._statistics
    epsilon = estimator.objective.epsilon
    dtype = estimator.embedding_.weights.dtype  # the sums may be wider
    with torch.no_grad():
        embedding = condition_on_statistics(lift, statistics, estimator.regularization_, epsilon)
    estimator.embedding_ = replace(embedding, weights=embedding.weights.to(dtype))
    norm = float(estimator.embedding_.weights.square().sum()) ** 0.5
    own = supremum_of_features(estimator.kernel_, lambda: statistics.largest)
    alpha_squared = float(estimator.objective.alpha_squared(lambda: own))
    estimator._norm, estimator.complexity_ = norm, alpha_squared**0.5 * norm
    estimator._own_probabilities = None  # of rows that are no longer at hand


def warn_if_wide(width: int, rows: float, stacklevel: int = 2) -> None:
    """Say that a map has more features than there are rows, where it has."""
    if width > rows:
        warnings.warn(
            f"`kernel` gives {width} features for {rows:.0f} rows; with fewer features than rows it is cheap, with "
            f"more its kernel form, Linear() @ map, is the same model at less cost.",
            WideFeaturesWarning,
            stacklevel=stacklevel,
        )


def add_rows(estimator: Any, X: Any, y: Any, classes: Any, sample_weight: Any, first: bool) -> None:
    """Add a chunk to the sums and solve again."""
    if first:
        _begin(estimator, X, classes)
    elif classes is not None and not np.array_equal(
        np.unique(np.asarray(classes)), estimator.classes_
    ):
        raise InvalidInput(
            f"`classes` must be those of the first call, {list(estimator.classes_)}, or None, got {list(classes)}."
        )
    statistics = measured(estimator, X, y, sample_weight)
    estimator._statistics = estimator._statistics + statistics
    solve_again(estimator)


def remove_rows(estimator: Any, X: Any, y: Any, sample_weight: Any) -> None:
    """Take a chunk out of the sums and solve again."""
    statistics = measured(estimator, X, y, sample_weight)
    if statistics.count >= estimator._statistics.count:
        raise InvalidInput(
            f"X must hold fewer rows than were learned from, {estimator._statistics.count:.0f}, got {statistics.count:.0f}; "
            f"fit anew on what shall stay."
        )
    estimator._statistics = estimator._statistics - statistics
    solve_again(estimator)
