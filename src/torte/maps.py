"""What a feature map is: rows of any table to rows of p numbers."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Self

import numpy as np
import torch
from torch import Tensor

from torte.errors import InvalidInput, NoSupremum
from torte.parameters import Parametric

__all__ = ["Domain", "FeatureMap", "features_of"]

Domain = tuple[Tensor, Tensor] | None


@dataclass(frozen=True)
class FeatureMap(Parametric):
    """A map ``phi`` from rows to ``R^p``, frozen like a kernel; write `apply`.

    Like a kernel it works in two acts: `settle` does once what does not depend on the rows
    (factors a matrix of landmarks, say), `apply` maps rows with what it returned.
    """

    takes = "vectors"
    pairwise = False

    @abstractmethod
    def apply(self, state: Any, X: Tensor) -> Tensor:
        """Features of the rows of X (n x p), on torch's tape; ``state`` is what `settle` gave."""

    def settle(self, like: Tensor) -> Any:
        """What `apply` needs beside the rows, in the precision and on the device of ``like``."""
        return None

    def prepare(self, X: Tensor, columns: Sequence[str] | None, generator: torch.Generator) -> Self:
        """The same map with everything drawn or taken from the data; the identity here."""
        return self

    def supremum(self, domain: Domain = None) -> Any:
        """``sup |phi(x)|^2``; raises `NoSupremum` where there is none."""
        raise NoSupremum(
            f"{self!r} has no finite supremum of |phi(x)|^2 that is known, and the bound needs one; "
            f"use Fourier or Nystroem features of a bounded kernel."
        )

    def image(self, domain: Domain) -> Domain:
        """The image of a box ``(low, high)``, where it is a box again; None where unknown."""
        return None

    def fold(self, state: Any, weights: Tensor) -> tuple[Any, Any, Tensor] | None:
        """``W' phi(x)`` as ``V' k(x)``: a kernel, its anchors and V; None where it is not one."""
        return None

    def transform(self, X: Tensor) -> Tensor:
        """Features of the rows of a table (n x p)."""
        return self.apply(self.settle(X), X)

    def __call__(self, X: Any) -> Any:
        """Features: of a NumPy array as a NumPy array, of a tensor as a tensor."""
        if not isinstance(X, np.ndarray):
            return self.transform(X)
        with torch.no_grad():
            return self.transform(torch.as_tensor(np.asarray(X, dtype=np.float64))).numpy()


def features_of(features: FeatureMap, state: Any, X: Any) -> Tensor:
    """The features of a table, checked: n rows of finite numbers."""
    Z = features.apply(state, X)
    if not isinstance(Z, Tensor) or Z.ndim != 2 or len(Z) != len(X):
        got = tuple(Z.shape) if isinstance(Z, Tensor) else type(Z).__name__
        raise InvalidInput(
            f"the feature map {features!r} must give one row of p numbers for each of {len(X)} rows, got {got}; "
            f"flatten its result with Z.reshape(len(X), -1)."
        )
    if not bool(torch.isfinite(Z.detach().sum())):
        raise InvalidInput(
            f"the feature map {features!r} must give finite numbers, got NaN or infinity; scale its input, "
            f"or learn with a smaller `learning_rate`."
        )
    return Z
