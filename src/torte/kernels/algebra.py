"""The arithmetic of kernels: constants, sums, products and powers, written as expressions."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import torch
from torch import Tensor

from torte.errors import InvalidInput
from torte.kernels.base import Domain, Kernel
from torte.parameters import positive

__all__ = ["Constant", "Power", "Product", "Sum", "text"]


def rank(part: Kernel) -> int:
    """How tightly the expression of a kernel binds: 1 for a sum, 4 for a call."""
    return {"Sum": 1, "Product": 2, "Composed": 2, "Power": 3}.get(type(part).__name__, 4)


def text(part: Kernel, least: int) -> str:
    """The expression of a part, in parentheses where it binds less than its surroundings."""
    return f"({part!r})" if rank(part) < least else repr(part)


def _operands(left: Kernel, right: Kernel, least: int) -> tuple[str, str]:
    """Both sides of + or *: a constant beside another kernel is written as its number."""
    texts = [text(left, least), text(right, least + 1)]
    for i, (part, other) in enumerate(((left, right), (right, left))):
        if isinstance(part, Constant) and not isinstance(other, Constant):
            texts[i] = repr(part.value)
    return texts[0], texts[1]


@dataclass(frozen=True)
class Constant(Kernel):
    """``k(x, y) = value``.

    >>> from torte.kernels import Constant, Gaussian
    >>> 0.5 * Gaussian(2.0) + Constant(0.1)
    0.5 * Gaussian(length_scale=2.0) + 0.1
    """

    value: float = positive(1.0)

    takes = "anything"

    def represent(self, X: Any) -> Any:
        return torch.empty(len(X), 0, dtype=X.dtype, device=X.device)

    def compare(self, A: Any, B: Any) -> Tensor:
        return torch.as_tensor(self.value, dtype=A.dtype, device=A.device).expand(len(A), len(B))

    def norms(self, A: Any) -> Tensor:
        return torch.as_tensor(self.value, dtype=A.dtype, device=A.device).expand(len(A))

    def supremum(self, domain: Domain = None) -> Any:
        return self.value


@dataclass(frozen=True)
class Sum(Kernel):
    """``k(x, y) = left(x, y) + right(x, y)``."""

    left: Kernel
    right: Kernel

    def represent(self, X: Any) -> Any:
        return self.left.represent(X), self.right.represent(X)

    def compare(self, A: Any, B: Any) -> Tensor:
        return self.left.compare(A[0], B[0]) + self.right.compare(A[1], B[1])

    def against(self, B: Any) -> Callable[[Any], Tensor]:
        left, right = self.left.against(B[0]), self.right.against(B[1])
        return lambda A: left(A[0]) + right(A[1])

    def norms(self, A: Any) -> Tensor:
        return self.left.norms(A[0]) + self.right.norms(A[1])

    def supremum(self, domain: Domain = None) -> Any:
        return self.left.supremum(domain) + self.right.supremum(domain)

    def __repr__(self) -> str:
        return "{} + {}".format(*_operands(self.left, self.right, least=1))


@dataclass(frozen=True)
class Product(Kernel):
    """``k(x, y) = left(x, y) * right(x, y)``."""

    left: Kernel
    right: Kernel

    def represent(self, X: Any) -> Any:
        return self.left.represent(X), self.right.represent(X)

    def compare(self, A: Any, B: Any) -> Tensor:
        return self.left.compare(A[0], B[0]) * self.right.compare(A[1], B[1])

    def against(self, B: Any) -> Callable[[Any], Tensor]:
        left, right = self.left.against(B[0]), self.right.against(B[1])
        return lambda A: left(A[0]) * right(A[1])

    def norms(self, A: Any) -> Tensor:
        return self.left.norms(A[0]) * self.right.norms(A[1])

    def supremum(self, domain: Domain = None) -> Any:
        return self.left.supremum(domain) * self.right.supremum(domain)

    def __repr__(self) -> str:
        return "{} * {}".format(*_operands(self.left, self.right, least=2))


@dataclass(frozen=True)
class Power(Kernel):
    """``k(x, y) = base(x, y) ** exponent`` with a whole exponent of at least 1."""

    base: Kernel
    exponent: int

    def __post_init__(self) -> None:
        if (
            not isinstance(self.exponent, int)
            or isinstance(self.exponent, bool)
            or self.exponent < 1
        ):
            raise InvalidInput(
                f"`exponent` of a power of a kernel must be a whole number of at least 1 (other "
                f"powers need not be positive definite), got {self.exponent!r}."
            )

    def represent(self, X: Any) -> Any:
        return self.base.represent(X)

    def compare(self, A: Any, B: Any) -> Tensor:
        return self.base.compare(A, B) ** self.exponent

    def norms(self, A: Any) -> Tensor:
        return self.base.norms(A) ** self.exponent

    def supremum(self, domain: Domain = None) -> Any:
        return self.base.supremum(domain) ** self.exponent

    def __repr__(self) -> str:
        return f"{text(self.base, 4)} ** {self.exponent}"
