"""Rows added and taken out one chunk after another, exactly: the sums over rows are all there is."""

from __future__ import annotations

from typing import Any

import numpy as np
import torch
from sklearn.base import BaseEstimator
from torch import Tensor

from torte._arrays import admit_rows, compute_device, encode_labels, generator_from
from torte._settings import check_settings
from torte.conditioning import condition_on_statistics
from torte.embedding import ConditionalEmbedding, FeatureLift
from torte.errors import InvalidInput
from torte.primal import features_of, supremum_of_features
from torte.statistics import Statistics, measure

__all__ = ["add_rows", "remove_rows"]


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


def _measured(estimator: Any, X: Any, y: Any) -> Statistics:
    if estimator._statistics is None:
        raise InvalidInput(
            "partial_fit and forget need the sums over rows, which an approximation does not keep; fit an estimator with "
            "the feature map as `kernel` instead."
        )
    device = estimator.embedding_.weights.device
    rows = _rows(estimator, X, reset=False, device=device)
    codes = encode_labels(y, len(rows), estimator.classes_)
    Y = rows.new_zeros(len(rows), len(estimator.classes_))
    Y[torch.arange(len(rows)), torch.as_tensor(codes)] = 1.0
    return measure(estimator.embedding_.lift, rows, Y)


def _solve(estimator: Any) -> None:
    lift, statistics = estimator.embedding_.lift, estimator._statistics
    epsilon = estimator.objective.epsilon
    with torch.no_grad():
        estimator.embedding_ = condition_on_statistics(
            lift, statistics, estimator.regularization_, epsilon
        )
    norm = float(estimator.embedding_.weights.square().sum()) ** 0.5
    own = supremum_of_features(estimator.kernel_, lambda: statistics.largest)
    alpha_squared = float(estimator.objective.alpha_squared(lambda: own))
    estimator._norm, estimator.complexity_ = norm, alpha_squared**0.5 * norm
    estimator._table = None
    estimator._own_probabilities = None  # of rows that are no longer at hand


def add_rows(estimator: Any, X: Any, y: Any, classes: Any, first: bool) -> None:
    """Add a chunk to the sums and solve again."""
    if first:
        _begin(estimator, X, classes)
    elif classes is not None and not np.array_equal(
        np.unique(np.asarray(classes)), estimator.classes_
    ):
        raise InvalidInput(
            f"`classes` must be those of the first call, {list(estimator.classes_)}, or None, got {list(classes)}."
        )
    statistics = _measured(estimator, X, y)
    estimator._statistics = estimator._statistics + statistics
    _solve(estimator)


def remove_rows(estimator: Any, X: Any, y: Any) -> None:
    """Take a chunk out of the sums and solve again."""
    statistics = _measured(estimator, X, y)
    if statistics.count >= estimator._statistics.count:
        raise InvalidInput(
            f"X must hold fewer rows than were learned from, {estimator._statistics.count:.0f}, got {statistics.count:.0f}; "
            f"fit anew on what shall stay."
        )
    estimator._statistics = estimator._statistics - statistics
    _solve(estimator)
