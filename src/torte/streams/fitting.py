"""Fit on a stream: learn on a bounded sample, then add up sums over all rows in one pass."""

from __future__ import annotations

import warnings
from collections.abc import Callable
from typing import Any

import numpy as np
import torch
from sklearn.base import BaseEstimator

from torte._arrays import admit_rows, generator_from
from torte._settings import check_settings
from torte._targets import weigh
from torte.choosing import JUDGED, choose_regularization
from torte.errors import InvalidInput, WideFeaturesWarning
from torte.incremental import demand_fixed_weights, measured, solve_again, warn_if_wide
from torte.maps import FeatureMap
from torte.progress import Progress
from torte.statistics import Statistics
from torte.streams.rows import SAMPLE_SIZE, ArrayRows, Rows, located, named
from torte.streams.sampling import Census, Sample, census, count, draw, merge, quotas

__all__ = ["as_rows", "begin", "finish", "fit_rows", "learn_on", "sample_rows"]


def as_rows(X: Any, y: Any = None, *, arrays: bool = True) -> Rows | None:
    """X as a stream where it is one, or is a large array on disk; None for a table in memory.

    Without ``arrays`` an array on disk is a table like any other.
    """
    if isinstance(X, Rows):
        if y is not None:
            raise InvalidInput(
                "`y` must be None where X is a stream of rows, which brings its labels; name their column as `target`."
            )
        return X
    large = isinstance(X, np.memmap) and X.ndim == 2 and len(X) > SAMPLE_SIZE
    return ArrayRows(X, y) if arrays and large else None


def begin(estimator: Any, sample_weight: Any) -> int:
    """Check the settings; the seed of the sample."""
    check_settings(estimator)
    demand_fixed_weights(estimator)
    if sample_weight is not None:
        raise InvalidInput(
            "`sample_weight` must be None where rows come in parts, whose weights no argument can bring; use "
            "`class_weight`, or partial_fit with the weights of each part."
        )
    if not isinstance(estimator.kernel, FeatureMap):
        raise InvalidInput(
            f"`kernel` must be a feature map to learn from rows that are not all in memory, such as "
            f"Fourier(Gaussian()), got {estimator.kernel!r}; a kernel's embedding keeps every row."
        )
    generator = generator_from(estimator.random_state)
    return int(torch.randint(2**62, (), generator=generator))


def sample_rows(
    where: str, X: Any, y: Any, start: int, classes: np.ndarray, seed: int, dtype: str
) -> Sample:
    """The rows of one chunk, checked, with the keys by which the sample is drawn."""
    with located(where):
        return draw(admit_rows(BaseEstimator(), X, dtype, reset=True), y, start, classes, seed)


def learn_on(
    fit: Callable[..., Any], sample: Sample, total: Census, names: Any, monitor: Any
) -> None:
    """Fit the estimator on the sample alone, as on any table in memory."""
    with warnings.catch_warnings():  # the features are many for the sample, not for all rows
        warnings.simplefilter("ignore", WideFeaturesWarning)
        fit(named(sample.X, names), total.classes[sample.codes], monitor=monitor)


def finish(estimator: Any, statistics: Statistics, sample: Sample) -> None:
    """The embedding of all rows, from their sums; lambda, where it was learned, is chosen again."""
    warn_if_wide(estimator.embedding_.lift.width, statistics.count, stacklevel=5)
    if estimator.optimizer == "auto":
        estimator.regularization_ = _for_all_rows(estimator, statistics, sample)
    estimator._statistics = statistics
    solve_again(estimator)


def _for_all_rows(estimator: Any, statistics: Statistics, sample: Sample) -> float:
    """Lambda for all rows: leave-one-out on some rows of the sample chooses it."""
    # From what the sample has learned on: ``n lambda`` is what acts.
    start = float(estimator.regularization_ * len(sample.X) / statistics.count)
    if not estimator.objective.learns or statistics.count <= len(sample.X):
        return start
    judged = np.linspace(0, len(sample.X) - 1, min(JUDGED, len(sample.X))).astype(int)
    like = estimator.embedding_.weights
    rows, codes = torch.as_tensor(sample.X[judged]).to(like), sample.codes[judged]
    hot = np.eye(len(estimator.classes_))[codes]
    Y, weights = weigh(hot, estimator.classes_, None, estimator.class_weight)
    return choose_regularization(
        statistics,
        estimator.embedding_.lift(rows),
        torch.as_tensor(Y).to(like),
        estimator.objective.epsilon,
        start,
        None if weights is None else torch.as_tensor(weights).to(like),
    ).regularization


def fit_rows(estimator: Any, rows: Rows, sample_weight: Any = None, monitor: Any = None) -> None:
    """Learn on a stratified random sample of the stream, then condition on all its rows.

    Three readings: the labels alone, for the classes and their counts; the sample; and the
    sums ``Z'Z`` and ``Z'Y``, chunk by chunk, with no more than one chunk in memory.
    """
    seed = begin(estimator, sample_weight)
    names = rows.features()
    total = census(count(chunk.where, chunk.y) for chunk in rows.labels())
    wanted = quotas(total.counts, rows.sample_size)
    sample, start = None, 0
    for chunk in filter(_filled, rows.chunks(names)):
        part = sample_rows(
            chunk.where, named(chunk.X, names), chunk.y, start, total.classes, seed, estimator.dtype
        ).lowest(wanted)
        start += len(chunk.X)
        sample = part if sample is None else merge([sample, part], wanted)
    assert sample is not None  # the census found rows
    learn_on(estimator.fit, sample, total, names, monitor)
    finish(estimator, _sums(estimator, rows, names, total.rows), sample)


def _filled(chunk: Any) -> bool:
    return len(chunk.X) > 0


def _sums(estimator: Any, rows: Rows, names: Any, n: int) -> Statistics:
    statistics = None
    with Progress("sums over rows", n, estimator.verbose) as progress:
        for chunk in filter(_filled, rows.chunks(names)):
            with located(chunk.where):
                part = measured(estimator, named(chunk.X, names), chunk.y)
            statistics = part if statistics is None else statistics + part
            progress.step(chunk.where, len(chunk.X))
    assert statistics is not None
    if statistics.count != n:
        raise InvalidInput(
            f"`X` must give the same rows each time it is read, got {n} rows at first and {statistics.count:.0f} later; "
            f"fit on files that nobody writes to."
        )
    return statistics
