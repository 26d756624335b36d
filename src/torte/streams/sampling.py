"""A stratified random sample that does not depend on how the rows are cut into chunks.

Row i of the whole table has the key ``u_i``, the i-th number of one seeded stream. The sample
holds the ``q_c`` rows of class c with the smallest keys, in the order of their keys. Samples of
parts merge to the sample of the whole, in any order: they are a monoid like the sums.

Where the counts are not known before, `Draft` keeps every row that may be in the sample while it
reads. Class c has ``n_c`` of n rows and a quota of about ``n_c size / n``, so the largest key in
the sample is near ``size / n``; kept are keys up to `MARGIN` times that (n of what has been
read), and the `RAREST` smallest of each class. What is kept in the end depends on neither the
order nor the cut: it holds the whole quota of a class but for one case in 10^9, and that falls short.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any

import numpy as np

from torte._labels import demand_rows, encode_labels
from torte.errors import InvalidInput
from torte.streams.rows import located

__all__ = ["Census", "Count", "Draft", "Sample", "census", "count", "draw", "merge", "quotas"]

RAREST = 20  # rows of a class that are taken at least, where there are so many
MOST_CLASSES = 10_000
MARGIN = 3.0  # Poisson(3 * 21) < 21, for the smallest quota above RAREST, has probability 1e-10


@dataclass(frozen=True)
class Count:
    """The labels of one chunk: how many rows, which labels, how often each."""

    where: str
    rows: int
    labels: np.ndarray
    counts: np.ndarray

    @property
    def text(self) -> bool:
        return isinstance(self.labels.tolist()[0], str)


@dataclass(frozen=True)
class Census:
    """The labels of all chunks: the classes, their counts, and the first row of each chunk."""

    classes: np.ndarray
    counts: np.ndarray
    starts: np.ndarray

    @property
    def rows(self) -> int:
        return int(self.counts.sum())


def count(where: str, y: Any) -> Count:
    """Count the labels of a chunk; every row must have one."""
    if y is None:
        raise InvalidInput(
            f"{where}: there are no labels; name the column of labels as `target`, or give `y`."
        )
    y = np.asarray(y)
    bad = ~np.isfinite(y) if y.dtype.kind == "f" else np.zeros(len(y), bool)
    if y.dtype.kind == "O":
        bad = np.array([label is None or label != label for label in y], bool)
    if bad.any():
        raise InvalidInput(
            f"{where}: y must hold a label in every row, got {y[bad][0]} in row {int(np.argmax(bad))} of it; drop the "
            f"rows without a label."
        )
    try:
        labels, counts = np.unique(y, return_counts=True)
    except TypeError as error:
        raise InvalidInput(
            f"{where}: y must hold labels of one type, got several ({error}); write all of them as text."
        ) from error
    fraction = y.dtype.kind == "f" and bool((y != np.round(y)).any())
    if fraction or len(labels) > MOST_CLASSES:
        _too_many(where, labels)
    return Count(where, len(y), labels, counts)


def _too_many(where: str, labels: np.ndarray) -> None:
    raise InvalidInput(
        f"{where}: y must hold class labels, got {len(labels)} distinct values, such as {labels.tolist()[-1]!r}; for continuous "
        f"targets use a regressor."
    )


def census(parts: Iterable[Count]) -> Census:
    """The classes of all chunks, sorted, with their counts."""
    parts = list(parts)
    filled = [part for part in parts if part.rows]
    if not filled:
        raise InvalidInput("X must hold at least 2 rows, one for each class, got none at all.")
    for part in filled:
        if part.text != filled[0].text:
            raise InvalidInput(
                f"{part.where}: y must hold labels of one type, got {part.labels.tolist()[0]!r} here and "
                f"{filled[0].labels.tolist()[0]!r} in {filled[0].where}."
            )
    labels = np.concatenate([part.labels for part in filled])
    counts = np.concatenate([part.counts for part in filled])
    classes, positions = np.unique(labels, return_inverse=True)
    if len(classes) > MOST_CLASSES:
        _too_many("in all", classes)
    starts = np.cumsum([0, *(part.rows for part in parts)])
    return Census(classes, np.bincount(positions, counts).astype(int), starts)


def quotas(counts: np.ndarray, size: int) -> np.ndarray:
    """Rows of each class in a sample of about ``size``: its share, but `RAREST` rows if it has them."""
    share = (counts * (size / counts.sum())).astype(int)
    return np.minimum(counts, np.maximum(share, RAREST))


@dataclass(frozen=True)
class Sample:
    """Rows X (n x d), the positions of their classes, and their keys."""

    X: np.ndarray
    codes: np.ndarray
    keys: np.ndarray

    def lowest(self, quotas: np.ndarray) -> Sample:
        """The ``q_c`` rows of each class with the smallest keys, in the order of their keys."""
        kept = np.flatnonzero(_places(self.codes, self.keys) < quotas[self.codes])
        kept = kept[np.argsort(self.keys[kept], kind="stable")]
        return Sample(self.X[kept], self.codes[kept], self.keys[kept])


def _places(codes: np.ndarray, keys: np.ndarray) -> np.ndarray:
    """How many rows of its class have a smaller key, for each row."""
    order = np.lexsort((keys, codes))
    counts = np.bincount(codes)
    places = np.empty(len(order), dtype=int)
    places[order] = np.arange(len(order)) - np.repeat(np.cumsum(counts) - counts, counts)
    return places


def _keys(seed: int, start: int, rows: int) -> np.ndarray:
    return np.random.Generator(np.random.PCG64(seed).advance(start)).random(rows)


def draw(X: np.ndarray, y: Any, start: int, classes: np.ndarray, seed: int) -> Sample:
    """The rows of a chunk with their keys; ``start`` is the number of its first row in the table."""
    return Sample(X, encode_labels(y, len(X), classes), _keys(seed, start, len(X)))


def merge(samples: Iterable[Sample], quotas: np.ndarray) -> Sample:
    """The sample of the rows of all samples together."""
    X, codes, keys = zip(*((s.X, s.codes, s.keys) for s in samples), strict=True)
    return Sample(np.concatenate(X), np.concatenate(codes), np.concatenate(keys)).lowest(quotas)


class Draft:
    """The census and the sample of rows that come one chunk after another, from one reading."""

    def __init__(self, size: int, seed: int):
        self.size, self.seed, self.rows = size, seed, 0
        self._found: Count | None = None
        self._kept: tuple[np.ndarray, ...] = ()  # rows, labels, keys

    def add(self, where: str, X: np.ndarray, y: Any) -> None:
        """The next rows, checked, with their labels."""
        found = [count(where, y)] if self._found is None else [self._found, count(where, y)]
        total = census(found)
        self._found = Count(found[0].where, total.rows, total.classes, total.counts)
        with located(where):
            demand_rows(np.asarray(y), len(X))
        keys = _keys(self.seed, self.rows, len(X))
        self.rows += len(X)
        new = self._likely(X, np.asarray(y), keys)
        if self._kept:
            new = self._likely(*map(np.concatenate, zip(self._kept, new, strict=True)))
        self._kept = new

    def _likely(self, X: np.ndarray, y: np.ndarray, keys: np.ndarray) -> tuple[np.ndarray, ...]:
        """What may be in the sample of all rows."""
        places = _places(np.unique(y, return_inverse=True)[1], keys)
        kept = (keys <= MARGIN * self.size / self.rows) | (places < RAREST)
        return X[kept], y[kept], keys[kept]

    def finish(self) -> tuple[Sample, Census]:
        """The sample of all that was added, and the counts of its classes."""
        total = census([] if self._found is None else [self._found])
        X, y, keys = self._kept
        sample = Sample(X, encode_labels(y, len(X), total.classes), keys)
        return sample.lowest(quotas(total.counts, self.size)), total
