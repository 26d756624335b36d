"""Fully connected networks as feature maps: a recipe on the estimator, weights in what was fitted."""

from __future__ import annotations

import math
from abc import abstractmethod
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any, Self

import numpy as np
import torch
from torch import Tensor, nn

from torte.errors import InvalidInput
from torte.maps import FeatureMap
from torte.parameters import Leaf, drawn

__all__ = ["Network", "WeightedMap"]

ACTIVATIONS: dict[str, Callable[[Tensor], Tensor]] = {
    "relu": torch.relu,
    "gelu": nn.functional.gelu,
    "silu": nn.functional.silu,
    "tanh": torch.tanh,
}
INITIALIZATIONS = ("kaiming", "truncated-normal")


@dataclass(frozen=True)
class WeightedMap(FeatureMap):
    """A map with weights: one flat array, learned as it is, absent from the recipe."""

    weights: np.ndarray | None = drawn()
    noise: torch.Generator | None = drawn()  # set while it is learned: dropout draws from it

    def leaves(self) -> Iterator[Leaf]:
        if self.weights is not None:
            yield Leaf.of(("weights",), "real", self.weights)

    def in_training(self, generator: torch.Generator) -> Self:
        return self.substitute({("noise",): generator})

    def settle(self, like: Tensor) -> Any:
        if self.weights is None:
            raise InvalidInput(
                f"{type(self).__name__} has no weights yet: fit an estimator with it, or call "
                f"prepare(X, None, generator) first."
            )
        return self.unfold(torch.as_tensor(self.weights, dtype=like.dtype, device=like.device))

    @abstractmethod
    def unfold(self, flat: Tensor) -> Any:
        """The flat weights as what `apply` uses."""


def _truncated_normal(
    shape: tuple[int, ...], deviation: float, generator: torch.Generator
) -> Tensor:
    """Normal numbers cut at two standard deviations, drawn again where they fall outside."""
    draws = torch.randn(shape, dtype=torch.float64, generator=generator)
    while bool((outside := draws.abs() > 2).any()):
        draws[outside] = torch.randn(int(outside.sum()), dtype=torch.float64, generator=generator)
    return deviation * draws


@dataclass(frozen=True)
class Network(WeightedMap):
    """Fully connected layers, an activation behind each of them, the last one too.

    Parameters
    ----------
    layers : tuple of int
        Units of each layer; the last is the number of features p.
    activation : "tanh", "relu", "gelu" or "silu"
    dropout : float
        Share of the last layer's features left out in a step of learning, others in every row: a
        row given twice is drawn for twice, so it is not quite one of weight two.
    initialization : "kaiming" or "truncated-normal"
        Scaled to the width of the layer before, biases zero; or the paper's: deviation 0.1,
        cut at two of them, biases 0.1.
    standardize : bool
        Whether columns are first brought to mean 0 and deviation 1, as learned from the data.

    >>> from torte import MCEClassifier
    >>> from torte.features import Network
    >>> MCEClassifier(Network((16, 32, 8))).kernel
    Network(layers=(16, 32, 8), activation='tanh', dropout=0.5, initialization='kaiming', standardize=True)
    """

    layers: tuple[int, ...] = (256, 128)
    activation: str = "tanh"
    dropout: float = 0.5
    initialization: str = "kaiming"
    standardize: bool = True
    center: np.ndarray | None = drawn()
    scale: np.ndarray | None = drawn()

    def __post_init__(self) -> None:
        super().__post_init__()
        layers = tuple(self.layers) if isinstance(self.layers, (list, tuple)) else ()
        whole = all(
            isinstance(u, (int, np.integer)) and not isinstance(u, bool) and u > 0 for u in layers
        )
        if not layers or not whole:
            raise InvalidInput(
                f"`layers` of Network must be a sequence of whole numbers of units such as (16, 32, 8), got {self.layers!r}."
            )
        object.__setattr__(self, "layers", tuple(map(int, layers)))
        for name, allowed in (
            ("activation", tuple(ACTIVATIONS)),
            ("initialization", INITIALIZATIONS),
        ):
            if getattr(self, name) not in allowed:
                options = " or ".join(map(repr, allowed))
                raise InvalidInput(
                    f"`{name}` of Network must be {options}, got {getattr(self, name)!r}."
                )
        if not isinstance(self.dropout, (int, float)) or not 0 <= self.dropout < 1:
            raise InvalidInput(
                f"`dropout` of Network must be a number from 0 to below 1, got {self.dropout!r}."
            )

    def _shapes(self, d: int) -> list[tuple[int, int]]:
        return list(zip((d, *self.layers), self.layers, strict=False))

    def prepare(self, X: Tensor, columns: Sequence[str] | None, generator: torch.Generator) -> Self:
        if self.weights is not None:
            return self
        flat = []
        for inputs, units in self._shapes(X.shape[1]):
            if self.initialization == "kaiming":
                bound = math.sqrt(2 / inputs)
                flat += [
                    bound * torch.randn(inputs * units, dtype=torch.float64, generator=generator)
                ]
                flat += [torch.zeros(units, dtype=torch.float64)]
            else:
                flat += [_truncated_normal((inputs * units,), 0.1, generator)]
                flat += [torch.full((units,), 0.1, dtype=torch.float64)]
        wide = X.double()
        center, scale = torch.zeros_like(wide[0]), torch.ones_like(wide[0])
        if self.standardize:
            center, spread = wide.mean(dim=0), wide.std(dim=0, unbiased=False)
            scale = torch.where(spread > 1e-12 * wide.abs().amax(dim=0), spread, scale)
        return self.substitute(
            {
                ("weights",): torch.cat(flat).numpy(),
                ("center",): center.cpu().numpy(),
                ("scale",): scale.cpu().numpy(),
            }
        )

    def unfold(self, flat: Tensor) -> Any:
        assert self.center is not None
        assert self.scale is not None
        parts, at = [], 0
        for inputs, units in self._shapes(len(self.center)):
            end = at + inputs * units
            parts.append((flat[at:end].view(inputs, units), flat[end : end + units]))
            at = end + units
        center, scale = (torch.as_tensor(v).to(flat) for v in (self.center, self.scale))
        return center, scale, parts

    def apply(self, state: Any, X: Tensor) -> Tensor:
        center, scale, parts = state
        Z = (X - center) / scale
        for weight, bias in parts:
            Z = ACTIVATIONS[self.activation](torch.addmm(bias, Z, weight))
        if self.noise is not None and self.dropout > 0:
            kept = torch.rand(Z.shape, generator=self.noise).to(Z.device) >= self.dropout
            Z = Z * kept / (1 - self.dropout)
        return Z
