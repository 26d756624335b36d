"""What a feature map needs of the data: sums over rows, which add and subtract exactly."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import torch
from torch import Tensor

from torte._weights import total
from torte.embedding import FeatureLift, blocks
from torte.solvers import Factor, factorize

__all__ = ["Statistics", "factorize_gram", "measure"]


@dataclass(frozen=True)
class Statistics:
    """``gram = Z'Z`` (p x p), ``cross = Z'Y`` (p x m), the number of rows and the largest ``|z|^2``.

    A monoid: the statistics of two tables together are the sum of theirs, in any order and
    any number of parts; rows are forgotten by subtraction. Of rows with weights they are
    ``Z' diag(w) Z``, ``Z' diag(w) Y`` and the sum of weights.
    """

    gram: Tensor
    cross: Tensor
    count: float
    largest: float = 0.0

    def __add__(self, other: Statistics) -> Statistics:
        gram, cross = self.gram + other.gram, self.cross + other.cross
        largest = max(self.largest, other.largest)
        return Statistics(gram, cross, self.count + other.count, largest)

    def __sub__(self, other: Statistics) -> Statistics:
        # Which row was the largest is not kept, so `largest` stays: an upper bound.
        gram, cross = self.gram - other.gram, self.cross - other.cross
        return Statistics(gram, cross, self.count - other.count, self.largest)

    def widened(self) -> Statistics:
        """The same in float64, where the device has it: many float32 parts add up without loss."""
        dtype = torch.float32 if self.gram.device.type == "mps" else torch.float64
        return Statistics(self.gram.to(dtype), self.cross.to(dtype), self.count, self.largest)

    def to(self, device: torch.device) -> Statistics:
        """The same on a device."""
        return Statistics(self.gram.to(device), self.cross.to(device), self.count, self.largest)

    def solve(self, regularization: float) -> Tensor:
        """``W = (Z'Z + n lambda I)^-1 Z'Y`` (p x m)."""
        return factorize_gram(self.gram, self.count * regularization).solve(self.cross)


def factorize_gram(gram: Tensor, shift: float) -> Factor:
    """The factor of ``Z'Z + shift I``."""

    def assemble(jitter: float) -> Tensor:
        A = gram.clone(memory_format=torch.contiguous_format)
        A.diagonal().add_(shift + jitter)
        return A

    return factorize(assemble, unit=float(gram.diagonal().mean()))


def measure(lift: FeatureLift, X: Any, Y: Tensor, weights: Tensor | None = None) -> Statistics:
    """The statistics of some rows, block by block."""
    gram = Y.new_zeros(lift.width, lift.width)
    cross = Y.new_zeros(lift.width, Y.shape[1])
    largest = 0.0
    with torch.no_grad():
        for start, stop in blocks(len(Y), lift.width):
            Z = lift(X[start:stop])
            weighted = Z if weights is None else Z * weights[start:stop, None]
            gram.addmm_(weighted.mT, Z)
            cross.addmm_(weighted.mT, Y[start:stop])
            largest = max(largest, float(Z.square().sum(dim=1).max()))
    return Statistics(gram, cross, float(total(Y, weights)), largest)
