"""Columns to mean zero and standard deviation one."""

from __future__ import annotations

import dataclasses
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Self

import torch
from torch import Tensor

from torte.maps import Domain, FeatureMap

__all__ = ["Standardize"]


@dataclass(frozen=True)
class Standardize(FeatureMap):
    """``z = (x - mean) / scale``, column by column, both taken from the data when not given.

    A constant column has scale 1, so it maps to zero.

    >>> import torch
    >>> from torte.features import Standardize
    >>> X = torch.tensor([[1.0, 5.0], [3.0, 5.0]])
    >>> Standardize().prepare(X, None, torch.Generator()).transform(X)
    tensor([[-1.,  0.],
            [ 1.,  0.]])
    """

    mean: tuple[float, ...] | None = None
    scale: tuple[float, ...] | None = None

    def prepare(self, X: Tensor, columns: Sequence[str] | None, generator: torch.Generator) -> Self:
        if self.mean is not None:
            return self
        wide = X.double()
        mean, scale = wide.mean(dim=0), wide.std(dim=0, unbiased=False)
        # Below this a column's spread is rounding of its mean, not information.
        noise = 10 * torch.finfo(X.dtype).eps * wide.abs().amax(dim=0)
        scale = torch.where(scale > noise, scale, torch.ones_like(scale))
        return dataclasses.replace(self, mean=tuple(mean.tolist()), scale=tuple(scale.tolist()))

    def apply(self, state: Any, X: Tensor) -> Tensor:
        if self.mean is None or self.scale is None:
            return X
        return (X - X.new_tensor(self.mean)) / X.new_tensor(self.scale)

    def image(self, domain: Domain) -> Domain:
        return None if domain is None else (self.transform(domain[0]), self.transform(domain[1]))
