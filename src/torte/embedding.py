"""The conditional embedding: a lift of rows, weights behind it, and probabilities from it."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import torch
from torch import Tensor

from torte.kernels.base import Kernel, count
from torte.maps import FeatureMap
from torte.resources import widest

__all__ = [
    "BLOCK",
    "ConditionalEmbedding",
    "FeatureLift",
    "KernelLift",
    "blocks",
    "clip_normalize",
    "ordered_probabilities",
    "smooth_clip",
]

BLOCK = 2**20  # numbers in one block of rows: it stays in the cache while it is worked on


def blocks(n: int, width: int, numbers: int | None = None) -> list[tuple[int, int]]:
    """Row ranges that cut an ``n x width`` matrix into blocks of about `BLOCK` numbers, or as many."""
    height = max(1, (numbers or BLOCK) // max(1, width))
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


def ordered_probabilities(P: Tensor, epsilon: float) -> Tensor:
    """`clip_normalize` as a prediction: p_hat's winner is strictly the largest, and none is zero.

    Far from the data all of p_hat is below a rounding of epsilon, where the clipped numbers are
    one and the same.
    """
    info = torch.finfo(P.dtype)
    largest = info.max**0.5  # so that no row overflows when it is summed
    probabilities = clip_normalize(P.clamp(-largest, largest), epsilon).clamp(min=info.tiny)
    winner = P.argmax(dim=1, keepdim=True)
    others = probabilities.scatter(1, winner, 0.0).amax(dim=1, keepdim=True)
    # Numbers four roundings apart stay apart when a row is divided by its sum once more.
    ahead = torch.maximum(probabilities.gather(1, winner), others * (1 + 4 * info.eps))
    return probabilities.scatter(1, winner, ahead)


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

    def folded(self, weights: Tensor) -> tuple[KernelLift, Tensor]:
        """The lift and weights that give the same function at the least cost: these."""
        return self, weights


@dataclass(frozen=True)
class FeatureLift:
    """``lift(x) = phi(x)``, the features of a settled map."""

    features: FeatureMap
    state: Any
    width: int

    def __call__(self, X: Any) -> Tensor:
        return self.features.apply(self.state, X)

    def folded(self, weights: Tensor) -> tuple[KernelLift | FeatureLift, Tensor]:
        """The lift and weights that give the same function at the least cost.

        Features that are ``T' k(x)`` of some anchors (Nystroem) need no product with T in each
        prediction: ``W' T' k(x) = (T W)' k(x)``.
        """
        kernel_form = self.features.fold(self.state, weights)
        if kernel_form is None:
            return self, weights
        kernel, anchors, V = kernel_form
        return KernelLift(kernel, anchors), V


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

    @cached_property
    def _folded(self) -> tuple[Callable[[Any], Tensor], int, Tensor]:
        with torch.no_grad():
            lift, weights = self.lift.folded(self.weights)
            if isinstance(lift, KernelLift):
                compare, represent = lift.kernel.against(lift.anchors), lift.kernel.represent
                return lambda X: compare(represent(X)), lift.width, weights
            return lift, lift.width, weights

    def __getstate__(self) -> dict[str, Any]:
        # What is made once for prediction is made again, not stored.
        return {name: value for name, value in vars(self).items() if name != "_folded"}

    def decision_probabilities(self, X: Any) -> Tensor:
        """The raw ``p_hat`` (n x m), block by block in bounded memory."""
        n = len(X)
        lift, width, weights = self._folded
        with torch.no_grad():
            P = weights.new_empty(n, weights.shape[1])
            for start, stop in blocks(n, width):
                torch.mm(lift(X[start:stop]), weights, out=P[start:stop])
        return P

    def probabilities(self, X: Any) -> Tensor:
        """Clip-normalized probabilities (n x m), in float64 where the device has it."""
        P = self.decision_probabilities(X)
        return ordered_probabilities(P.to(widest(P.device)), self.epsilon)
