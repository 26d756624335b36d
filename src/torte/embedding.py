"""The conditional embedding: a lift of rows, weights behind it, and probabilities from it."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import torch
from torch import Tensor

from torte.kernels.base import Kernel, count
from torte.maps import FeatureMap

__all__ = [
    "BLOCK",
    "ConditionalEmbedding",
    "FeatureLift",
    "KernelLift",
    "blocks",
    "clip_normalize",
    "smooth_clip",
]

BLOCK = 2**20  # numbers in one block of rows: it stays in the cache while it is worked on


def blocks(n: int, width: int) -> list[tuple[int, int]]:
    """Row ranges that cut an ``n x width`` matrix into blocks of about `BLOCK` numbers."""
    height = max(1, BLOCK // max(1, width))
    return [(start, min(start + height, n)) for start in range(0, n, height)]


def smooth_clip(P: Tensor, epsilon: float) -> Tensor:
    """``p`` where ``p >= epsilon``, else ``epsilon^2 / (2 epsilon - p)``.

    Positive, strictly increasing, with a continuous slope: nothing becomes exactly zero,
    the order of the classes is that of ``p``, and a gradient passes everywhere.
    """
    tail = epsilon * epsilon / (2 * epsilon - P.clamp(max=epsilon))
    return torch.where(epsilon <= P, P, tail)


def clip_normalize(P: Tensor, epsilon: float) -> Tensor:
    """Probabilities (n x m) from the raw ``p_hat``: the paper's clip-normalization with a floor."""
    clipped = smooth_clip(P, epsilon)
    return clipped / clipped.sum(dim=1, keepdim=True)


@dataclass(frozen=True)
class KernelLift:
    """``lift(x) = (k(x, x_1), ..., k(x, x_n))``: rows compared to the anchors."""

    kernel: Kernel
    anchors: Any

    @property
    def width(self) -> int:
        return count(self.anchors)

    def __call__(self, X: Any) -> Tensor:
        return self.kernel.compare(self.kernel.represent(X), self.anchors)


@dataclass(frozen=True)
class FeatureLift:
    """``lift(x) = phi(x)``, the features of a settled map."""

    features: FeatureMap
    state: Any
    width: int

    def __call__(self, X: Any) -> Tensor:
        return self.features.apply(self.state, X)


@dataclass(frozen=True)
class ConditionalEmbedding:
    """``p_hat(x) = weights' lift(x)``, where the lift is a kernel's or a feature map's.

    With a kernel ``weights = V = (K + n lambda I)^-1 Y`` (n x m), with a feature map
    ``weights = W = (Z'Z + n lambda I)^-1 Z'Y`` (p x m). ``epsilon`` is the floor of its
    probabilities.
    """

    lift: KernelLift | FeatureLift
    weights: Tensor
    epsilon: float

    def decision_probabilities(self, X: Any) -> Tensor:
        """The raw ``p_hat`` (n x m), block by block in bounded memory."""
        n = len(X)
        with torch.no_grad():
            P = self.weights.new_empty(n, self.weights.shape[1])
            for start, stop in blocks(n, self.lift.width):
                torch.mm(self.lift(X[start:stop]), self.weights, out=P[start:stop])
        return P

    def probabilities(self, X: Any) -> Tensor:
        """Clip-normalized probabilities (n x m)."""
        return clip_normalize(self.decision_probabilities(X), self.epsilon)
