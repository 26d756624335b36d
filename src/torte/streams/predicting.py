"""Predictions for a stream: chunk by chunk, to whoever asks or to a Parquet file."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from torte._files import atomic
from torte.errors import InvalidInput
from torte.progress import Progress
from torte.streams.arrow import pyarrow_module
from torte.streams.rows import Rows, located, named

__all__ = ["Predicted", "over_chunks", "predictions", "write_predictions"]


class Predicted(NamedTuple):
    """Labels (n), their probabilities (n x m) and where the rows came from."""

    where: str
    labels: np.ndarray
    probabilities: np.ndarray


def predictions(model: Any, rows: Rows) -> Iterator[Predicted]:
    """Predict a stream, one chunk after another, with no more than one in memory.

    >>> import numpy as np
    >>> from torte import MCEClassifier
    >>> from torte.features import Fourier
    >>> from torte.kernels import Gaussian
    >>> from torte.streams import ArrayRows, predictions
    >>> X = np.random.default_rng(0).normal(size=(300, 2))
    >>> model = MCEClassifier(Fourier(Gaussian(), 64), random_state=0).fit(X, X[:, 0] > 0)
    >>> [part.probabilities.shape for part in predictions(model, ArrayRows(X, chunk_rows=200))]
    [(200, 2), (100, 2)]
    """
    for where, P in over_chunks(model, rows, model.predict_proba):
        yield Predicted(where, model.classes_[P.argmax(axis=1)], P)


def over_chunks(
    model: Any, rows: Rows, method: Callable[[Any], np.ndarray]
) -> Iterator[tuple[str, np.ndarray]]:
    """What a method of the model says of each chunk, and where the chunk came from."""
    names = getattr(model, "feature_names_in_", None)
    verbose = getattr(model, "verbose", 0)
    with Progress("predicting", rows.length() if verbose else None, verbose) as progress:
        for chunk in rows.chunks(names):
            if len(chunk.X):
                with located(chunk.where):
                    values = method(named(chunk.X, names))
                progress.step(chunk.where, len(chunk.X))
                yield chunk.where, values


def write_predictions(model: Any, rows: Rows, path: str | os.PathLike[str]) -> None:
    """Write the predictions of a stream to a Parquet file, in constant memory.

    The columns are ``prediction`` and one ``probability of c`` for each class c; the rows are in
    the order of the stream. The file appears when it is whole: what breaks leaves no half of it,
    and leaves an older file as it was.
    """
    pa, parquet = pyarrow_module("pyarrow"), pyarrow_module("pyarrow.parquet")
    path = Path(path)
    if not path.parent.is_dir():
        raise InvalidInput(
            f"`path` must be a file in a folder that exists, got {str(path)!r}; make the folder {str(path.parent)!r} first."
        )
    names = ["prediction", *(f"probability of {c}" for c in model.classes_)]
    kind = pa.array(model.classes_).type
    schema = pa.schema(
        [pa.field(names[0], kind), *(pa.field(name, pa.float64()) for name in names[1:])]
    )
    with atomic(path) as unfinished, parquet.ParquetWriter(unfinished, schema) as writer:
        for part in predictions(model, rows):
            columns = [pa.array(part.labels, kind), *map(pa.array, part.probabilities.T)]
            writer.write_table(pa.table(columns, schema=schema))
