"""A Gaussian of the distance that another kernel induces."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Self

import torch
from torch import Tensor

from torte.errors import InvalidInput
from torte.kernels.base import Domain, Kernel
from torte.parameters import positive

__all__ = ["GaussianOf"]

_PAIRS_FROM = 300  # rows whose pairs estimate a median distance


@dataclass(frozen=True)
class GaussianOf(Kernel):
    """``k(x, y) = exp(-D^2 / (2 l^2))`` with ``D^2 = inner(x, x) + inner(y, y) - 2 inner(x, y)``.

    D is the distance of the two rows in the space of the inner kernel, so this is a Gaussian
    kernel of anything that another kernel compares: of distributions with `MeanEmbedding`,
    of strings with `Spectrum`. Both their hyperparameters are learned. ``length_scale=None``
    starts at the median distance.

    >>> from torte.kernels import GaussianOf, Spectrum
    >>> GaussianOf(Spectrum(2), length_scale=1.0)(["abab", "ab", "xyz"]).round(3)
    array([[1.   , 0.949, 0.368],
           [0.949, 1.   , 0.368],
           [0.368, 0.368, 1.   ]])
    """

    inner: Kernel
    length_scale: float | None = positive(None, from_data=True)

    def __post_init__(self) -> None:
        super().__post_init__()
        if not isinstance(self.inner, Kernel):
            raise InvalidInput(f"`inner` of GaussianOf must be a kernel, got {self.inner!r}.")

    def prepare(self, X: Any, columns: Sequence[str] | None, generator: torch.Generator) -> Self:
        inner = self.inner.prepare(X, columns, generator)
        if self.length_scale is not None:
            return self.substitute({("inner",): inner})
        few = X[torch.randperm(len(X), generator=generator)[:_PAIRS_FROM]]
        with torch.no_grad():
            A = inner.represent(few)
            squares = inner.norms(A)
            D = squares[:, None] + squares[None, :] - 2 * inner.compare(A, A)
        apart = D[torch.triu(torch.ones_like(D), diagonal=1) > 0]
        apart = apart[apart > 1e-12 * squares.max()]
        typical = float(apart.median()) ** 0.5 if len(apart) else 1.0
        return self.substitute({("inner",): inner, ("length_scale",): typical})

    def represent(self, X: Any) -> Any:
        A = self.inner.represent(X)
        return self.inner.norms(A), A

    def compare(self, A: Any, B: Any) -> Tensor:
        scale = 1.0 if self.length_scale is None else self.length_scale
        D = A[0][:, None] + B[0][None, :] - 2 * self.inner.compare(A[1], B[1])
        return torch.exp(-D.clamp(min=0) / (2 * scale**2))

    def norms(self, A: Any) -> Tensor:
        return torch.ones_like(A[0])

    def supremum(self, domain: Domain = None) -> Any:
        return 1.0
