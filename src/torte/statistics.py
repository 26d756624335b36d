"""What a feature map needs of the data: sums over rows, which add and subtract exactly."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

import torch
from torch import Tensor

from torte._weights import total
from torte.embedding import FeatureLift, blocks
from torte.resources import widest
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
    dtype: torch.dtype | None = None  # of the weights, where the sums are wider

    def __add__(self, other: Statistics) -> Statistics:
        gram, cross = self.gram + other.gram, self.cross + other.cross
        largest = max(self.largest, other.largest)
        return Statistics(gram, cross, self.count + other.count, largest, self.dtype)

    def __sub__(self, other: Statistics) -> Statistics:
        # Which row was the largest is not kept, so `largest` stays: an upper bound.
        gram, cross = self.gram - other.gram, self.cross - other.cross
        return Statistics(gram, cross, self.count - other.count, self.largest, self.dtype)

    def to(self, device: torch.device) -> Statistics:
        """The same on a device."""
        return replace(self, gram=self.gram.to(device), cross=self.cross.to(device))

    def solve(self, regularization: float) -> Tensor:
        """``W = (Z'Z + n lambda I)^-1 Z'Y`` (p x m)."""
        W = factorize_gram(self.gram, self.count * regularization).solve(self.cross)
        return W.to(self.dtype or W.dtype)


def factorize_gram(gram: Tensor, shift: float) -> Factor:
    """The factor of ``Z'Z + shift I``."""

    def assemble(jitter: float) -> Tensor:
        A = gram.clone(memory_format=torch.contiguous_format)
        A.diagonal().add_(shift + jitter)
        return A

    return factorize(assemble, unit=float(gram.diagonal().mean()))


_COLUMNS = 1024  # of the gram matrix added to at a time: what is below its diagonal is mirrored
_NUMBERS = 2**24  # features at hand at a time
# Features up to which products are formed in float64 too, where they cost little. Rounded to
# float32 the sums of a network's features, which nothing bounds, are not positive definite.
_FEW = 1024


def measure(lift: FeatureLift, X: Any, Y: Tensor, weights: Tensor | None = None) -> Statistics:
    """The statistics of some rows, block by block; the sums are float64 where the device has it."""
    p = lift.width
    wide = widest(Y.device)
    gram = torch.zeros(p, p, dtype=wide, device=Y.device)
    cross = torch.zeros(p, Y.shape[1], dtype=wide, device=Y.device)
    largest = 0.0
    with torch.no_grad():
        for start, stop in blocks(len(Y), p, _NUMBERS):
            Z = lift(X[start:stop])
            largest = max(largest, float(Z.square().sum(dim=1).max()))
            if p <= _FEW:
                Z = Z.to(wide)
            weighted = Z if weights is None else Z * weights[start:stop, None]
            for at in range(0, p, _COLUMNS):
                part = gram[at : at + _COLUMNS, at:]
                left, right = weighted[:, at : at + _COLUMNS].mT, Z[:, at:]
                part.addmm_(left, right) if Z.dtype == wide else part.add_(left @ right)
            cross += weighted.mT @ Y[start:stop].to(weighted.dtype)
        for at in range(0, p, _COLUMNS):
            end = at + _COLUMNS
            gram[end:, at:end] = gram[at:end, end:].mT
    return Statistics(gram, cross, float(total(Y, weights)), largest, Y.dtype)
