"""The same classifier over dask arrays and dataframes, on any cluster of dask.distributed."""

from __future__ import annotations

import copy
import dataclasses
import os
import time
from collections.abc import Callable, Sequence
from typing import Any, NamedTuple, Self

import numpy as np
import torch
from sklearn.utils.validation import check_is_fitted

from torte.classifier import MCEClassifier
from torte.embedding import FeatureLift
from torte.errors import InvalidInput
from torte.incremental import measured
from torte.kernels import Kernel
from torte.maps import FeatureMap
from torte.objectives import Objective, RademacherBound
from torte.progress import Progress
from torte.statistics import Statistics
from torte.streams.fitting import begin, checked, finish, learn_on
from torte.streams.rows import SAMPLE_SIZE, check_count, located, named
from torte.streams.sampling import Sample, census, count, draw, merge, quotas

try:
    import dask
    import dask.array as da
    import dask.dataframe as dd
    import pandas as pd
except ImportError as error:
    raise ImportError(
        "torte.dask needs dask, distributed and pandas: pip install 'torte[dask]'"
    ) from error

__all__ = ["DaskMCEClassifier"]

ARITY = 4  # sums that one task adds up: what a worker holds of them at a time


class DaskMCEClassifier(MCEClassifier):
    """`MCEClassifier` over the partitions of dask arrays and dataframes, for feature maps.

    Hyperparameters are learned on a stratified random sample of ``sample_size`` rows, in the
    client. The sums ``Z'Z`` (p x p) and ``Z'Y`` (p x m) over all partitions are added up on the
    workers, in a tree; the client receives their total. The model is that of all rows in one
    process, whatever the partitions; the sample depends on ``random_state`` and the order of
    the rows alone. After `fit` it predicts tables in memory, too.

    Parameters
    ----------
    kernel : FeatureMap
        Such as ``Fourier(Gaussian(), 1024)``: a kernel's embedding would need every row.
    sample_size : int
        Rows that hyperparameters are learned on; a little more where classes are rare.
    regularization, objective, optimizer, batch_size, validation_fraction, solver, device,
    dtype, random_state, verbose
        As of `MCEClassifier`.

    >>> import dask.array as da
    >>> from torte.dask import DaskMCEClassifier
    >>> from torte.features import Fourier
    >>> from torte.kernels import Gaussian
    >>> X = da.random.default_rng(0).normal(size=(2000, 2), chunks=(500, 2))
    >>> y = (X[:, 0] > 0).astype(int)
    >>> model = DaskMCEClassifier(Fourier(Gaussian(), 64), sample_size=300, random_state=0)
    >>> P = model.fit(X, y).predict_proba(X)
    >>> P
    dask.array<_of_block, shape=(2000, 2), dtype=float64, chunksize=(500, 2), chunktype=numpy.ndarray>
    >>> bool((P.argmax(axis=1) == y).mean().compute() > 0.95)
    True
    """

    def __init__(
        self,
        kernel: Kernel | FeatureMap | None = None,
        *,
        sample_size: int = SAMPLE_SIZE,
        regularization: float = 1.0,
        objective: Objective = RademacherBound(),  # noqa: B008 - a frozen value
        optimizer: Any = "auto",
        batch_size: int | None = None,
        validation_fraction: float = 0.0,
        solver: str = "auto",
        device: str = "cpu",
        dtype: str = "float64",
        random_state: Any = None,
        verbose: int = 0,
        class_weight: Any = None,
    ):
        super().__init__(
            kernel,
            regularization=regularization,
            objective=objective,
            optimizer=optimizer,
            batch_size=batch_size,
            validation_fraction=validation_fraction,
            solver=solver,
            device=device,
            dtype=dtype,
            random_state=random_state,
            verbose=verbose,
            class_weight=class_weight,
        )
        self.sample_size = sample_size

    def fit(
        self,
        X: Any,
        y: Any = None,
        sample_weight: Any = None,
        *,
        monitor: tuple[Any, Any] | None = None,
    ) -> Self:
        """Learn on a sample, then add up the sums of all partitions on the workers.

        X is a dask array (n x d) or dataframe, y a dask array or series with the same
        partitions, or the name of a column of X.
        """
        size = check_count("sample_size", self.sample_size)
        seed = begin(self, sample_weight, size)
        parts, names = _partitions(X, y)
        with Progress("dask", 3, self.verbose) as progress:
            counts = dask.compute(*[dask.delayed(count)(part.where, part.y) for part in parts])
            total = census(counts)
            progress.step(f"{total.rows} labels in {len(parts)} partitions counted")
            wanted = quotas(total.counts, size)
            filled = [
                (part, int(start))
                for part, start, found in zip(parts, total.starts[:-1], counts, strict=True)
                if found.rows
            ]
            drawn = [
                dask.delayed(_drawn)(*part, start, total.classes, seed, self.dtype, wanted)
                for part, start in filled
            ]
            sample: Sample = _tree(drawn, lambda group: dask.delayed(merge)(group, wanted))
            learn_on(self, super().fit, sample, total, names, monitor)
            progress.step(f"learned on {len(sample.X)} of them")
            began = time.perf_counter()
            ready = dask.delayed(_settled)(_light(self.to_local()))
            sums = [dask.delayed(_summed)(ready, *part) for part, _ in filled]
            gram, cross, rows, largest = _tree(sums, dask.delayed(_added))
            statistics = Statistics(torch.tensor(gram), torch.tensor(cross), rows, largest)
            statistics = statistics.to(self.embedding_.weights.device)
            finish(self, statistics, sample, total.rows, began)
            progress.step("summed")
        return self

    def to_local(self) -> MCEClassifier:
        """The fitted model as an `MCEClassifier`, without dask."""
        local = MCEClassifier()
        local.__dict__.update({k: v for k, v in vars(self).items() if k != "sample_size"})
        return local

    def save(self, path: str | os.PathLike[str]) -> None:
        """Store the fitted model in one file; `torte.load` reads it as an `MCEClassifier`."""
        check_is_fitted(self)
        self.to_local().save(path)

    # -- prediction: lazily, partition by partition, where X is a dask collection -----------

    def decision_probabilities(self, X: Any) -> Any:
        """The raw ``p_hat`` (n x m), as a dask array or dataframe where X is one."""
        return self._by_partition("decision_probabilities", X)

    def predict_proba(self, X: Any) -> Any:
        """Clip-normalized probabilities (n x m), as a dask array or dataframe where X is one."""
        return self._by_partition("predict_proba", X)

    def predict_log_proba(self, X: Any) -> Any:
        """The logarithm of `predict_proba` (n x m), as a dask array or dataframe where X is one."""
        return self._by_partition("predict_log_proba", X)

    def predict(self, X: Any) -> Any:
        """The most probable class of each row (n), as a dask array or series where X is one."""
        return self._by_partition("predict", X)

    def decision_function(self, X: Any) -> Any:
        """Scores in scikit-learn's shapes, as a dask array, series or dataframe where X is one."""
        return self._by_partition("decision_function", X)

    def predict_entropy(self, X: Any, estimator: str = "clip-normalized") -> Any:
        """Entropy of the label in nats (n), as a dask array or series where X is one."""
        return self._by_partition("predict_entropy", X, estimator=estimator)

    def expectation(self, g: Any, X: Any) -> Any:
        """``E[g(Y) | X = x]`` (n), as a dask array or series where X is one."""
        return self._by_partition("expectation", X, g=g)

    def _by_partition(self, method: str, X: Any, **options: Any) -> Any:
        check_is_fitted(self)
        local = self.to_local()
        if not isinstance(X, (da.Array, dd.DataFrame)):
            return getattr(local, method)(X=X, **options)
        # What it gives for no rows, and whether the options are good, shows on a row of zeros.
        names = getattr(self, "feature_names_in_", None)
        zeros = named(np.zeros((1, self.n_features_in_)), names)
        ask = _Question(method, options, getattr(local, method)(X=zeros, **options)[:0])
        model = dask.delayed(_settled)(_light(local))
        if isinstance(X, da.Array):
            X, empty = _whole_rows(X), ask.empty
            columns = (
                {"drop_axis": 1} if empty.ndim == 1 else {"chunks": (X.chunks[0], empty.shape[1:])}
            )
            return X.map_blocks(_of_block, model, ask, dtype=empty.dtype, meta=empty, **columns)
        X = _by_name(X, names)
        blocks = [
            dask.delayed(_of_frame)(f"partition {i}", part, model, ask)
            for i, part in enumerate(X.to_delayed())
        ]
        meta = ask.framed(ask.empty, self.classes_, X._meta.index[:0])
        return dd.from_delayed(blocks, meta=meta, divisions=X.divisions, verify_meta=False)


class _Question(NamedTuple):
    """A method of the model, its options, and what it gives for no rows."""

    method: str
    options: dict[str, Any]
    empty: np.ndarray

    def of(self, model: MCEClassifier, where: str, X: Any) -> np.ndarray:
        """The answer for the rows of one partition."""
        if not len(X):
            return self.empty
        with located(where):
            return getattr(model, self.method)(X=X, **self.options)

    def framed(self, values: np.ndarray, classes: np.ndarray, index: Any) -> Any:
        """One number or label a row as a series, probabilities as a frame with a column for each class."""
        if values.ndim == 1:
            names = {"predict": "prediction", "predict_entropy": "entropy"}
            return pd.Series(values, index=index, name=names.get(self.method, self.method))
        return pd.DataFrame(values, index=index, columns=classes)


def _by_name(X: Any, names: Any) -> Any:
    """The columns that the model was fitted with, in their order, whatever others there are."""
    if names is None:
        return X
    there = {str(column): column for column in X.columns}
    missing = [name for name in names if name not in there]
    if missing:
        raise InvalidInput(
            f"X must have the column {missing[0]!r}, which the model was fitted with; the columns are "
            f"{', '.join(map(repr, there))}."
        )
    return X[[there[name] for name in names]]


class _Part(NamedTuple):
    """One partition, not computed yet: where it is, its rows and its labels."""

    where: str
    X: Any
    y: Any


def _whole_rows(X: Any) -> Any:
    return X if X.numblocks[1] == 1 else X.rechunk({1: -1})


def _partitions(X: Any, y: Any) -> tuple[list[_Part], Sequence[str] | None]:
    """The partitions of both, and the names of the columns where there are any."""
    names = None
    if isinstance(X, dd.DataFrame):
        if isinstance(y, str) and y in X.columns:
            X, y = X.drop(columns=y), X[y]
        names = [str(column) for column in X.columns]
        rows = X.to_delayed()
    elif isinstance(X, da.Array) and X.ndim == 2:
        X = _whole_rows(X)
        if isinstance(y, da.Array) and not np.isnan(X.shape[0]) and y.shape[:1] == X.shape[:1]:
            y = y.rechunk((X.chunks[0],))
        rows = X.to_delayed().ravel().tolist()
    else:
        raise InvalidInput(
            f"X must be a dask dataframe, or a dask array of rows and columns, got {type(X).__name__}; for a table in memory "
            f"use MCEClassifier."
        )
    if not isinstance(y, (da.Array, dd.Series)) or y.ndim != 1:
        raise InvalidInput(
            f"y must be a dask array or series with one label a row, or the name of a column of X, got {y if isinstance(y, str) else type(y).__name__!r}."
        )
    labels = np.ravel(y.to_delayed()).tolist()
    if len(rows) != len(labels):
        raise InvalidInput(
            f"X and y must have the same partitions, got {len(rows)} and {len(labels)}; rechunk one like the other."
        )
    pairs = zip(rows, labels, strict=True)
    return [_Part(f"partition {i}", *pair) for i, pair in enumerate(pairs)], names


def _tree(parts: list[Any], combine: Callable[[list[Any]], Any]) -> Any:
    """Combine parts on the workers, `ARITY` at a time, until one is left; that one comes here."""
    while len(parts) > 1:
        parts = [combine(parts[i : i + ARITY]) for i in range(0, len(parts), ARITY)]
    return combine(parts).compute()


# -- what runs on a worker ------------------------------------------------------------------


def _drawn(
    where: str, X: Any, y: Any, start: int, classes: Any, seed: int, dtype: str, wanted: Any
) -> Sample:
    matrix = checked(where, X, dtype)
    with located(where):
        return draw(matrix, y, start, classes, seed).lowest(wanted)


def _light(model: MCEClassifier) -> MCEClassifier:
    """A copy without its sums and without the factors of its map, which can be large."""
    light = _with_state(model, None)
    light._statistics, light.history_ = None, []
    return light


def _settled(light: MCEClassifier) -> MCEClassifier:
    """A model that has travelled light, ready to work."""
    lift = light.embedding_.lift
    assert isinstance(lift, FeatureLift)
    with torch.no_grad():
        return _with_state(light, lift.features.settle(light.embedding_.weights))


def _with_state(model: MCEClassifier, state: Any) -> MCEClassifier:
    embedding, other = model.embedding_, copy.copy(model)
    assert isinstance(embedding.lift, FeatureLift)
    lift = dataclasses.replace(embedding.lift, state=state)
    other.embedding_ = dataclasses.replace(embedding, lift=lift)
    return other


# Arrays travel between processes without a copy, tensors do not.
_Sums = tuple[np.ndarray, np.ndarray, float, float]


def _summed(model: MCEClassifier, where: str, X: Any, y: Any) -> _Sums:
    with located(where):
        part = measured(model, X, y)
    return part.gram.cpu().numpy(), part.cross.cpu().numpy(), part.count, part.largest


def _added(parts: list[_Sums]) -> _Sums:
    gram, cross, rows, largest = parts[0]
    if len(parts) > 1:
        gram, cross = gram.copy(), cross.copy()
    for other in parts[1:]:
        gram += other[0]
        cross += other[1]
        rows, largest = rows + other[2], max(largest, other[3])
    return gram, cross, rows, largest


def _of_block(
    X: Any, model: MCEClassifier, ask: _Question, block_id: tuple[int, ...]
) -> np.ndarray:
    return ask.of(model, f"partition {block_id[0]}", X)


def _of_frame(where: str, X: Any, model: MCEClassifier, ask: _Question) -> Any:
    return ask.framed(ask.of(model, where, X), model.classes_, X.index)
