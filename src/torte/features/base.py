"""What a feature map is: rows of any table to rows of p numbers."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Self

import torch
from torch import Tensor

from torte.parameters import Parametric

__all__ = ["FeatureMap"]


@dataclass(frozen=True)
class FeatureMap(Parametric):
    """A map ``phi`` from rows to ``R^p``, frozen like a kernel; write `transform`."""

    @abstractmethod
    def transform(self, X: Tensor) -> Tensor:
        """Features of the rows of X, an n x p matrix."""

    def prepare(self, X: Tensor, columns: Sequence[str] | None, generator: torch.Generator) -> Self:
        """The same map with everything drawn or taken from the data; the identity here."""
        return self

    def transform_domain(self, domain: Any) -> Any:
        """The image of a box ``(low, high)``, where it is a box again; None where unknown."""
        return None
