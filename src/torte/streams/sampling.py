"""A stratified random sample that does not depend on how the rows are cut into chunks.

Row i of the whole table has the key ``u_i``, the i-th number of one seeded stream. The sample
holds the ``q_c`` rows of class c with the smallest keys, in the order of their keys. Samples of
parts merge to the sample of the whole, in any order: they are a monoid like the sums.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any

import numpy as np

from torte._labels import encode_labels
from torte.errors import InvalidInput

__all__ = ["Census", "Count", "Sample", "census", "count", "draw", "merge", "quotas"]

RAREST = 20  # rows of a class that are taken at least, where there are so many
MOST_CLASSES = 10_000


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
    return Count(where, len(y), labels, counts)


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
        raise InvalidInput(
            f"y must hold class labels, got {len(classes)} distinct values, such as {classes.tolist()[0]!r}; for continuous "
            f"targets use a regressor."
        )
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
        order = np.argsort(self.keys, kind="stable")
        by_class = order[np.argsort(self.codes[order], kind="stable")]
        counts = np.bincount(self.codes, minlength=len(quotas))
        place = np.arange(len(order)) - np.repeat(np.cumsum(counts) - counts, counts)
        kept = by_class[place < np.repeat(quotas, counts)]
        kept = kept[np.argsort(self.keys[kept], kind="stable")]
        return Sample(self.X[kept], self.codes[kept], self.keys[kept])


def draw(X: np.ndarray, y: Any, start: int, classes: np.ndarray, seed: int) -> Sample:
    """The rows of a chunk with their keys; ``start`` is the number of its first row in the table."""
    bits = np.random.PCG64(seed)
    keys = np.random.Generator(bits.advance(start)).random(len(X))
    return Sample(X, encode_labels(y, len(X), classes), keys)


def merge(samples: Iterable[Sample], quotas: np.ndarray) -> Sample:
    """The sample of the rows of all samples together."""
    X, codes, keys = zip(*((s.X, s.codes, s.keys) for s in samples), strict=True)
    return Sample(np.concatenate(X), np.concatenate(codes), np.concatenate(keys)).lowest(quotas)
