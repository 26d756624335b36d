"""Kernels of the inner product of rows."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Self

import torch
from torch import Tensor

from torte.errors import InvalidInput
from torte.kernels.base import Domain, Kernel
from torte.parameters import Leaf, positive

__all__ = ["Linear", "Polynomial"]


def _longest(domain: tuple[Tensor, Tensor]) -> Tensor:
    """``max |x|^2`` over a box: every coordinate at its larger end."""
    low, high = domain
    return torch.maximum(low.square(), high.square()).sum()


@dataclass(frozen=True)
class Linear(Kernel):
    """``k(x, y) = x . y``; ``0.1 * Linear()`` has a learned variance.

    >>> import numpy as np
    >>> from torte.kernels import Linear
    >>> Linear()(np.array([[1.0, 2.0]]), np.array([[3.0, 1.0]]))
    array([[5.]])
    """

    def compare(self, A: Any, B: Any) -> Tensor:
        return A @ B.mT

    def norms(self, A: Any) -> Tensor:
        return A.square().sum(dim=1)

    def supremum(self, domain: Domain = None) -> Any:
        return super().supremum() if domain is None else _longest(domain)


@dataclass(frozen=True)
class Polynomial(Kernel):
    """``k(x, y) = (gamma x . y + coef0)^degree``, scikit-learn's names; ``gamma=None`` is 1 / d.

    The degree is not learned, and neither is a ``coef0`` of zero.

    >>> import numpy as np
    >>> from torte.kernels import Polynomial
    >>> Polynomial(degree=2, gamma=1.0, coef0=1.0)(np.array([[1.0, 2.0]]), np.array([[3.0, 1.0]]))
    array([[36.]])
    """

    degree: int = 3
    gamma: float | None = positive(None, from_data=True)
    coef0: float = 1.0

    def __post_init__(self) -> None:
        super().__post_init__()
        if not isinstance(self.degree, int) or self.degree < 1:
            raise InvalidInput(
                f"`degree` of Polynomial must be a whole number of at least 1, got {self.degree!r}."
            )
        if not isinstance(self.coef0, Tensor) and not self.coef0 >= 0:
            raise InvalidInput(
                f"`coef0` of Polynomial must be zero or positive (the kernel is not positive "
                f"definite otherwise), got {self.coef0!r}."
            )

    def prepare(self, X: Any, columns: Sequence[str] | None, generator: torch.Generator) -> Self:
        return self.substitute({("gamma",): 1.0 / X.shape[1]}) if self.gamma is None else self

    def leaves(self) -> Any:
        yield from super().leaves()
        if self.coef0 != 0:
            yield Leaf.of(("coef0",), "positive", self.coef0)

    def _value(self, inner: Tensor, d: int) -> Tensor:
        gamma = 1.0 / d if self.gamma is None else self.gamma
        return (gamma * inner + self.coef0) ** self.degree

    def compare(self, A: Any, B: Any) -> Tensor:
        return self._value(A @ B.mT, A.shape[1])

    def norms(self, A: Any) -> Tensor:
        return self._value(A.square().sum(dim=1), A.shape[1])

    def supremum(self, domain: Domain = None) -> Any:
        return (
            super().supremum() if domain is None else self._value(_longest(domain), len(domain[0]))
        )
