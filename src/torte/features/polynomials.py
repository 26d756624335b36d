"""All monomials up to a degree, weighted so that their inner product is the polynomial kernel."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cache
from itertools import combinations_with_replacement
from typing import Any, Self

import torch
from torch import Tensor

from torte.errors import InvalidInput
from torte.kernels.dot import Polynomial
from torte.maps import Domain, FeatureMap
from torte.parameters import Leaf, positive

__all__ = ["Polynomials"]


_MOST, _DEGREE = 50_000, 100


@cache
def monomials(d: int, degree: int) -> tuple[tuple[tuple[int, ...], float], ...]:
    """Every product of at most ``degree`` columns, with its multinomial coefficient."""
    if max(degree, d) > _MOST or degree > _DEGREE or math.comb(d + degree, degree) > _MOST:
        raise InvalidInput(
            f"`degree` {degree} of Polynomials makes too many features of {d} columns; at most {_MOST} and "
            f"degree {_DEGREE} are possible. Use the kernel Polynomial({degree}), which needs none of them."
        )
    found = []
    for k in range(degree + 1):
        for columns in combinations_with_replacement(range(d), k):
            powers = [columns.count(c) for c in set(columns)]
            ways = math.factorial(degree) / (
                math.factorial(degree - k) * math.prod(map(math.factorial, powers))
            )
            found.append((columns, ways))
    return tuple(found)


@dataclass(frozen=True)
class Polynomials(FeatureMap):
    """``phi(x) . phi(y) = (gamma x . y + coef0)^degree``, the `Polynomial` kernel made explicit.

    ``p = (d + degree choose degree)`` features; with ``coef0 = 0`` those of the full degree
    only, so ``Polynomials(1, gamma=1.0, coef0=0.0)`` is the linear kernel.

    >>> import numpy as np
    >>> from torte.features import Polynomials
    >>> Polynomials(2, gamma=1.0, coef0=1.0)(np.array([[3.0]])).round(3)
    array([[1.   , 4.243, 9.   ]])
    """

    degree: int = 2
    gamma: float | None = positive(None, from_data=True)
    coef0: float = 1.0

    def __post_init__(self) -> None:
        super().__post_init__()
        self._kernel()  # the kernel's own checks

    def _kernel(self) -> Polynomial:
        return Polynomial(self.degree, self.gamma, self.coef0)

    def prepare(self, X: Tensor, columns: Sequence[str] | None, generator: torch.Generator) -> Self:
        monomials(X.shape[1], self.degree)  # raises where they are too many
        return self.substitute({("gamma",): 1.0 / X.shape[1]}) if self.gamma is None else self

    def leaves(self) -> Iterator[Leaf]:
        return iter(self._kernel().leaves())

    def apply(self, state: Any, X: Tensor) -> Tensor:
        slope = 1.0 / X.shape[1] if self.gamma is None else self.gamma
        gamma, coef0 = (
            torch.as_tensor(v, dtype=X.dtype, device=X.device) for v in (slope, self.coef0)
        )
        full = not bool(coef0.detach() > 0)
        features = []
        for columns, ways in monomials(X.shape[1], self.degree):
            if full and len(columns) < self.degree:
                continue
            value = (ways * gamma ** len(columns) * coef0 ** (self.degree - len(columns))).sqrt()
            features.append(
                value * X[:, list(columns)].prod(dim=1) if columns else value.expand(len(X))
            )
        return torch.stack(features, dim=1)

    def supremum(self, domain: Domain = None) -> Any:
        return self._kernel().supremum(domain)
