"""What runs on a worker while a model is fitted: labels counted, a sample drawn, sums added up."""

from __future__ import annotations

import copy
import dataclasses
import itertools
from typing import Any

import numpy as np
import torch

from torte.classifier import MCEClassifier
from torte.embedding import FeatureLift
from torte.incremental import measured
from torte.streams.fitting import checked
from torte.streams.rows import located
from torte.streams.sampling import Count, Sample, census, count, draw

__all__ = ["added", "counted", "counted_together", "drawn", "light", "settled", "summed"]

# The labels of some partitions, and how many rows each has.
Counted = tuple[Count, tuple[int, ...]]


def counted(where: str, y: Any) -> Counted:
    """The labels of one partition."""
    found = count(where, y)
    return found, (found.rows,)


def counted_together(parts: list[Counted]) -> Counted:
    """The labels of several, which stay as few as there may be classes."""
    rows = tuple(itertools.chain.from_iterable(own for _, own in parts))
    filled = [found for found, _ in parts if found.rows]
    if not filled:
        return parts[0][0], rows
    total = census(filled)
    return Count(filled[0].where, total.rows, total.classes, total.counts), rows


def drawn(
    where: str, X: Any, y: Any, start: int, classes: Any, seed: int, dtype: str, wanted: Any
) -> Sample:
    matrix = checked(where, X, dtype)
    with located(where):
        return draw(matrix, y, start, classes, seed).lowest(wanted)


def light(model: MCEClassifier) -> MCEClassifier:
    """A copy without its sums and without the factors of its map, which can be large."""
    bare = _with_state(model, None)
    bare._statistics, bare.history_ = None, []
    return bare


def settled(bare: MCEClassifier) -> MCEClassifier:
    """A model that has travelled light, ready to work."""
    lift = bare.embedding_.lift
    assert isinstance(lift, FeatureLift)
    with torch.no_grad():
        return _with_state(bare, lift.features.settle(bare.embedding_.weights))


def _with_state(model: MCEClassifier, state: Any) -> MCEClassifier:
    embedding, other = model.embedding_, copy.copy(model)
    assert isinstance(embedding.lift, FeatureLift)
    lift = dataclasses.replace(embedding.lift, state=state)
    other.embedding_ = dataclasses.replace(embedding, lift=lift)
    return other


# Arrays travel between processes without a copy, tensors do not.
Sums = tuple[np.ndarray, np.ndarray, float, float]


def summed(model: MCEClassifier, where: str, X: Any, y: Any) -> Sums:
    with located(where):
        part = measured(model, X, y)
    return part.gram.cpu().numpy(), part.cross.cpu().numpy(), part.count, part.largest


def added(parts: list[Sums]) -> Sums:
    gram, cross, rows, largest = parts[0]
    if len(parts) > 1:
        gram, cross = gram.copy(), cross.copy()
    for other in parts[1:]:
        gram += other[0]
        cross += other[1]
        rows, largest = rows + other[2], max(largest, other[3])
    return gram, cross, rows, largest
