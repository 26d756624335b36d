"""A table as a stream: chunks of rows, each of which knows where it came from."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any

import numpy as np

from torte.errors import InvalidInput

__all__ = [
    "CHUNK_ROWS",
    "SAMPLE_SIZE",
    "ArrayRows",
    "Chunk",
    "Rows",
    "check_count",
    "located",
    "named",
]

CHUNK_ROWS = 65_536  # rows in memory at a time
SAMPLE_SIZE = 10_000  # rows that hyperparameters are learned on


@dataclass(frozen=True)
class Chunk:
    """Some consecutive rows: a matrix X (n x d), labels y (n) or None, and where they are from."""

    where: str
    X: Any
    y: np.ndarray | None


class Rows(ABC):
    """Rows in chunks, readable again and again; write `features` and `chunks`.

    ``sample_size`` is the number of rows that hyperparameters are learned on. Whatever gives
    its rows in the same order each time can be a stream.

    >>> import numpy as np
    >>> from torte import MCEClassifier
    >>> from torte.features import Fourier
    >>> from torte.kernels import Gaussian
    >>> from torte.streams import Chunk, Rows
    >>> class Rings(Rows):
    ...     def features(self):
    ...         return None
    ...     def chunks(self, features=None):
    ...         for seed in range(4):
    ...             X = np.random.default_rng(seed).normal(size=(500, 2))
    ...             yield Chunk(f"seed {seed}", X, np.hypot(*X.T) > 1.2)
    >>> model = MCEClassifier(Fourier(Gaussian(), 64), regularization=0.01, optimizer=None)
    >>> model = model.fit(Rings())
    >>> bool((model.predict([[0.1, 0.2], [2.0, 0.5]]) == [False, True]).all())
    True
    """

    sample_size: int = SAMPLE_SIZE

    @abstractmethod
    def features(self) -> Sequence[str] | None:
        """Names of the columns of every chunk's X; None where they have none."""

    @abstractmethod
    def chunks(self, features: Sequence[str] | None = None) -> Iterator[Chunk]:
        """The rows, with the columns in the order of ``features`` where that is given."""

    def labels(self) -> Iterator[Chunk]:
        """The chunks once more for their labels alone: ``X`` is not looked at."""
        return self.chunks()

    def unlabeled(self) -> str | None:
        """What to tell where it is known before reading that there are no labels."""
        return None

    def length(self) -> int | None:
        """The number of rows, where it is known without reading them: for progress bars."""
        return None


class ArrayRows(Rows):
    """Rows of an array on disk, ``numpy.load(path, mmap_mode="r")``, a chunk at a time.

    An array mapped to memory that is given to `fit` with a feature map becomes this by itself.

    >>> import numpy as np
    >>> from torte.streams import ArrayRows
    >>> [len(chunk.X) for chunk in ArrayRows(np.zeros((5, 2)), chunk_rows=2).chunks()]
    [2, 2, 1]
    """

    def __init__(
        self,
        X: np.ndarray,
        y: Any = None,
        *,
        chunk_rows: int = CHUNK_ROWS,
        sample_size: int = SAMPLE_SIZE,
    ):
        if X.ndim != 2:
            raise InvalidInput(
                f"`X` of ArrayRows must be a table of rows and columns, got shape {X.shape}."
            )
        self.y = None if y is None else np.asarray(y)
        if self.y is not None and self.y.shape != X.shape[:1]:
            raise InvalidInput(
                f"`y` of ArrayRows must hold one label for each of {len(X)} rows, got shape {self.y.shape}."
            )
        self.X = X
        self.chunk_rows = check_count("chunk_rows", chunk_rows)
        self.sample_size = check_count("sample_size", sample_size)

    def features(self) -> None:
        return None

    def length(self) -> int:
        return len(self.X)

    def chunks(self, features: Sequence[str] | None = None) -> Iterator[Chunk]:
        for start in range(0, len(self.X), self.chunk_rows):
            stop = min(start + self.chunk_rows, len(self.X))
            y = None if self.y is None else self.y[start:stop]
            X = np.asarray(self.X[start:stop])  # in memory from here on
            yield Chunk(f"rows {start} to {stop - 1} (counted from 0)", X, y)


def check_count(name: str, value: Any) -> int:
    """The value, a whole number of at least 2, or `InvalidInput`."""
    if not isinstance(value, (int, np.integer)) or isinstance(value, bool) or value < 2:
        raise InvalidInput(f"`{name}` must be a whole number of at least 2, got {value!r}.")
    return int(value)


def named(X: np.ndarray, names: Sequence[str] | None) -> Any:
    """The matrix as a table with column names, where there are names; nothing is copied."""
    if names is None:
        return X
    import pandas as pd

    return pd.DataFrame(X, columns=list(names), copy=False)


@contextmanager
def located(where: str) -> Iterator[None]:
    """Say of every bad row within where it is."""
    try:
        yield
    except ValueError as error:
        raise InvalidInput(f"{where}: {error}") from error
