"""The estimator: what the client does, and what it asks of the workers."""

from __future__ import annotations

import os
import time
from typing import Any, Self

import dask
import dask.array as da
import dask.dataframe as dd
import numpy as np
import torch
from sklearn.utils.validation import check_is_fitted

from torte.classifier import MCEClassifier
from torte.dask.asking import Question, _of_block, of_frame
from torte.dask.partitions import by_name, partitions, tree, whole_rows
from torte.dask.workers import added, counted, counted_together, drawn, light, settled, summed
from torte.kernels import Kernel
from torte.maps import FeatureMap
from torte.objectives import Objective, RademacherBound
from torte.progress import Progress
from torte.statistics import Statistics
from torte.streams.fitting import begin, finish, learn_on
from torte.streams.rows import SAMPLE_SIZE, check_count, named
from torte.streams.sampling import Sample, census, merge, quotas

__all__ = ["DaskMCEClassifier"]


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
        parts, names = partitions(X, y)
        with Progress("dask", 3, self.verbose) as progress:
            counts = [dask.delayed(counted)(part.where, part.y) for part in parts]
            found, lengths = tree(counts, dask.delayed(counted_together))
            total = census([found])
            progress.step(f"{total.rows} labels in {len(parts)} partitions counted")
            wanted = quotas(total.counts, size)
            filled = [
                (part, int(start))
                for part, start, rows in zip(
                    parts, np.cumsum([0, *lengths])[:-1], lengths, strict=True
                )
                if rows
            ]
            samples = [
                dask.delayed(drawn)(*part, start, total.classes, seed, self.dtype, wanted)
                for part, start in filled
            ]
            sample: Sample = tree(samples, lambda group: dask.delayed(merge)(group, wanted))
            learn_on(self, super().fit, sample, total, names, monitor)
            progress.step(f"learned on {len(sample.X)} of them")
            began = time.perf_counter()
            ready = dask.delayed(settled)(light(self.to_local()))
            sums = [dask.delayed(summed)(ready, *part) for part, _ in filled]
            gram, cross, rows, largest = tree(sums, dask.delayed(added))
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
        ask = Question(method, options, getattr(local, method)(X=zeros, **options)[:0])
        model = dask.delayed(settled)(light(local))
        if isinstance(X, da.Array):
            X, empty = whole_rows(X), ask.empty
            columns = (
                {"drop_axis": 1} if empty.ndim == 1 else {"chunks": (X.chunks[0], empty.shape[1:])}
            )
            return X.map_blocks(_of_block, model, ask, dtype=empty.dtype, meta=empty, **columns)
        X = by_name(X, names)
        blocks = [
            dask.delayed(of_frame)(f"partition {i}", part, model, ask)
            for i, part in enumerate(X.to_delayed())
        ]
        meta = ask.framed(ask.empty, self.classes_, X._meta.index[:0])
        return dd.from_delayed(blocks, meta=meta, divisions=X.divisions, verify_meta=False)
