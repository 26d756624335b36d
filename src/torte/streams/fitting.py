"""Fit on a stream: learn on a bounded sample, then add up sums over all rows in one pass."""

from __future__ import annotations

import os
import time
import warnings
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import torch
from sklearn.base import BaseEstimator

from torte._arrays import admit_rows, compute_device, generator_from
from torte._settings import check_settings
from torte._targets import weigh
from torte.choosing import JUDGED, choose_regularization
from torte.errors import InvalidInput, WideFeaturesWarning
from torte.incremental import demand_fixed_weights, measured, solve_again, warn_if_wide
from torte.large import Solution
from torte.maps import FeatureMap
from torte.plans import wants_lambda_again
from torte.progress import Progress, tell
from torte.routes import plan_features
from torte.statistics import Statistics
from torte.streams.rows import SAMPLE_SIZE, ArrayRows, Rows, located, named
from torte.streams.sampling import Census, Draft, Sample
from torte.widths import told_width

__all__ = ["as_rows", "begin", "checked", "finish", "fit_rows", "learn_on"]

FILES = (".parquet", ".pq", ".arrow", ".feather", ".csv")


def as_rows(X: Any, y: Any = None, *, arrays: bool = True) -> Rows | None:
    """X as a stream where it is one, or is a large array on disk; None for a table in memory.

    Without ``arrays`` an array on disk is a table like any other.
    """
    _demand_rows_not_files(X, y)
    if isinstance(X, Rows):
        if y is not None:
            raise InvalidInput(
                "`y` must be None where X is a stream of rows, which brings its labels; name their column as `target`."
            )
        return X
    large = isinstance(X, np.memmap) and X.ndim == 2 and len(X) > SAMPLE_SIZE
    return ArrayRows(X, y) if arrays and large else None


def _demand_rows_not_files(X: Any, y: Any) -> None:
    """Raise `InvalidInput` for paths or a dataset, which are no table and become a stream by name."""
    by_name = isinstance(y, str)  # a column: no table in memory is given so
    several = isinstance(X, (list, tuple)) and len(X) > 0 and by_name
    dataset = type(X).__module__.startswith("pyarrow") and hasattr(X, "get_fragments")
    paths = all(_is_path(each, by_name) for each in (X if several else [X]))
    if dataset or paths:
        source = "dataset" if dataset else repr(X if several else os.fspath(X))
        got = "a pyarrow dataset" if dataset else f"the path{'s' * several} {source}"
        target = f", target={y!r}" if by_name else ""
        raise InvalidInput(
            f"X must be a table or a stream of rows, got {got}; torte.streams.ArrowRows({source}{target}) reads it."
        )


def _is_path(X: Any, sure: bool) -> bool:
    text = isinstance(X, str) and (sure or Path(X).suffix in FILES)
    return text or isinstance(X, os.PathLike)


def begin(estimator: Any, sample_weight: Any, sample_size: int) -> int:
    """Check the settings, and that the sums will fit into memory; the seed of the sample."""
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
    dtype, device = getattr(torch, estimator.dtype), compute_device(estimator.device)
    plan_features(told_width(estimator.kernel, sample_size), None, dtype, device)
    generator = generator_from(estimator.random_state)
    return int(torch.randint(2**62, (), generator=generator))


def checked(where: str, X: Any, dtype: str) -> np.ndarray:
    """The rows of one chunk as a matrix of finite numbers."""
    with located(where):
        return admit_rows(BaseEstimator(), X, dtype, reset=True)


def learn_on(
    estimator: Any,
    fit: Callable[..., Any],
    sample: Sample,
    total: Census,
    names: Any,
    monitor: Any,
) -> None:
    """Fit the estimator on the sample alone, as on any table in memory, and plan for all rows."""
    with warnings.catch_warnings():  # the features are many for the sample, not for all rows
        warnings.simplefilter("ignore", WideFeaturesWarning)
        fit(named(sample.X, names), total.classes[sample.codes], monitor=monitor)
    # What describes the sample goes; the plan and the solution will be those of all rows.
    estimator._statistics = estimator._own_probabilities = estimator._own_weights = None
    del estimator.solution_
    weights, lift = estimator.embedding_.weights, estimator.embedding_.lift
    estimator.plan_ = plan_features(lift.width, total.rows, weights.dtype, weights.device)


def finish(estimator: Any, statistics: Statistics, sample: Sample, rows: int, began: float) -> None:
    """The embedding of all rows, from their sums; lambda, where it was learned, is chosen again."""
    warn_if_wide(estimator.embedding_.lift.width, rows, stacklevel=5)
    again = wants_lambda_again(estimator, estimator.kernel, "features", rows, len(sample.X))
    if again:
        estimator.regularization_ = _for_all_rows(estimator, statistics, sample)
    estimator._statistics = statistics
    solve_again(estimator)
    width = estimator.embedding_.lift.width
    estimator.solution_ = Solution("features", time.perf_counter() - began, n_components=width)


def _for_all_rows(estimator: Any, statistics: Statistics, sample: Sample) -> float:
    """Lambda for all rows: leave-one-out on some rows of the sample chooses it."""
    like = estimator.embedding_.weights
    hot = np.eye(len(estimator.classes_))[sample.codes]
    Y, weights = weigh(hot, estimator.classes_, None, estimator.class_weight)
    # From what the sample has learned on: ``n lambda`` is what acts.
    learned_on = len(Y) if weights is None else float(weights.sum())
    judged = np.linspace(0, len(Y) - 1, min(JUDGED, len(Y))).astype(int)
    return choose_regularization(
        statistics,
        estimator.embedding_.lift(torch.as_tensor(sample.X[judged]).to(like)),
        torch.as_tensor(Y[judged]).to(like),
        estimator.objective.epsilon,
        float(estimator.regularization_ * learned_on / statistics.count),
        None if weights is None else torch.as_tensor(weights[judged]).to(like),
    ).regularization


def fit_rows(estimator: Any, rows: Rows, sample_weight: Any = None, monitor: Any = None) -> None:
    """Learn on a stratified random sample of the stream, then condition on all its rows.

    Two readings, with no more than one chunk and the sample in memory: the first learns what to
    learn on, the classes, their counts and the sample; the second adds up the sums ``Z'Z`` and
    ``Z'Y``.
    """
    seed = begin(estimator, sample_weight, rows.sample_size)
    if (missing := rows.unlabeled()) is not None:
        raise InvalidInput(missing)
    tell("reading the columns and their categories", estimator.verbose)
    names, draft = rows.features(), Draft(rows.sample_size, seed)
    length = rows.length() if estimator.verbose else None
    with Progress("rows to learn on", length, estimator.verbose) as progress:
        for chunk in filter(_filled, rows.chunks(names)):
            X = checked(chunk.where, named(chunk.X, names), estimator.dtype)
            draft.add(chunk.where, X, chunk.y)
            progress.step(chunk.where, len(X))
    sample, total = draft.finish()
    learn_on(estimator, estimator.fit, sample, total, names, monitor)
    began = time.perf_counter()
    finish(estimator, _sums(estimator, rows, names, total.rows), sample, total.rows, began)


def _filled(chunk: Any) -> bool:
    return len(chunk.X) > 0


def _sums(estimator: Any, rows: Rows, names: Any, n: int) -> Statistics:
    statistics, read = None, 0
    with Progress("sums over rows", n, estimator.verbose) as progress:
        for chunk in filter(_filled, rows.chunks(names)):
            with located(chunk.where):
                part = measured(estimator, named(chunk.X, names), chunk.y)
            statistics = part if statistics is None else statistics + part
            read += len(chunk.X)
            progress.step(chunk.where, len(chunk.X))
    if statistics is None or read != n:
        raise InvalidInput(
            f"`X` must give the same rows each time it is read, got {n} rows at first and {read} later; "
            f"fit on files that nobody writes to."
        )
    return statistics
