"""Random Fourier features, with length scales that stay learnable."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple, Self

import numpy as np
import torch
from torch import Tensor

from torte.errors import InvalidInput
from torte.kernels.algebra import Constant, Product, Sum
from torte.kernels.base import Kernel
from torte.kernels.stationary import RationalQuadratic, Stationary
from torte.kernels.views import Composed, Fixed, On
from torte.maps import Domain, FeatureMap
from torte.parameters import Leaf, drawn

__all__ = ["Fourier"]


class _Term(NamedTuple):
    """One product of the kernel's expanded sum: its constants, and its stationary factors."""

    constants: list[Constant]
    factors: list[Kernel]


def expanded(kernel: Kernel) -> list[_Term]:
    """The kernel as a sum of products of constants and stationary kernels."""
    if isinstance(kernel, Sum):
        return expanded(kernel.left) + expanded(kernel.right)
    if isinstance(kernel, Product):
        return [
            _Term(a.constants + b.constants, a.factors + b.factors)
            for a in expanded(kernel.left)
            for b in expanded(kernel.right)
        ]
    if isinstance(kernel, Constant):
        return [_Term([kernel], [])]
    _stationary(kernel)
    return [_Term([], [kernel])]


def _count(kernel: Kernel) -> int:
    """``len(expanded(kernel))``, without writing out what may be exponentially many."""
    if isinstance(kernel, Sum):
        return _count(kernel.left) + _count(kernel.right)
    if isinstance(kernel, Product):
        return _count(kernel.left) * _count(kernel.right)
    if not isinstance(kernel, Constant):
        _stationary(kernel)
    return 1


def _stationary(kernel: Kernel) -> Stationary:
    """The stationary kernel inside: itself, or seen on columns, on a map, or fixed."""
    inner = kernel
    while isinstance(inner, (On, Composed, Fixed)):
        inner = inner.kernel
    if not isinstance(inner, Stationary):
        raise InvalidInput(
            f"`kernel` of Fourier must be made of stationary kernels, their sums and products, got {inner!r}; "
            f"use Nystroem, which works with any kernel."
        )
    return inner


def _normal(rows: int, d: int, orthogonal: bool, generator: torch.Generator) -> Tensor:
    """Standard normal rows, or orthogonal ones of the same lengths, d at a time."""
    G = torch.randn(rows, d, dtype=torch.float64, generator=generator)
    if not orthogonal:
        return G
    directions = []
    for start in range(0, rows, d):
        Q, R = torch.linalg.qr(torch.randn(d, d, dtype=torch.float64, generator=generator))
        Q = Q * R.diagonal().sign()  # uniform over rotations
        directions.append(Q[: min(d, rows - start)])
    return torch.cat(directions) * G.norm(dim=1, keepdim=True)


@dataclass(frozen=True)
class Fourier(FeatureMap):
    """``phi(x) = sqrt(2/p) (cos(w_j . x / l), sin(w_j . x / l))_j``, so ``phi(x) . phi(y) ~ k(x, y)``.

    The frequencies ``w_j`` are drawn once, at unit length scale: length scales stay learnable
    and the objective has no noise. ``orthogonal=True`` draws them in orthogonal blocks, with
    less error. Works for sums and products of stationary kernels and constants.

    >>> import numpy as np, torch
    >>> from torte.features import Fourier
    >>> from torte.kernels import Gaussian
    >>> X = np.random.default_rng(0).normal(size=(40, 3))
    >>> phi = Fourier(Gaussian(1.5), n_components=4096)
    >>> Z = phi.prepare(torch.as_tensor(X), None, torch.Generator().manual_seed(0))(X)
    >>> bool(abs(Z @ Z.T - Gaussian(1.5)(X)).max() < 0.1)
    True
    """

    kernel: Kernel
    n_components: int = 1024
    orthogonal: bool = False
    omega: tuple[tuple[np.ndarray, ...], ...] | None = drawn()

    def __post_init__(self) -> None:
        super().__post_init__()
        if not isinstance(self.kernel, Kernel):
            raise InvalidInput(f"`kernel` of Fourier must be a kernel, got {self.kernel!r}.")
        terms = _count(self.kernel)
        if not isinstance(self.n_components, int) or self.n_components < 2 * terms:
            raise InvalidInput(
                f"`n_components` of Fourier must be a whole number of at least 2 for each term of the kernel "
                f"({2 * terms}), got {self.n_components!r}."
            )
        if self.omega is not None and len(self.omega) != terms:
            raise InvalidInput(
                f"`omega` of Fourier must hold the frequencies of each of {terms} terms, got {len(self.omega)}."
            )

    def prepare(self, X: Tensor, columns: Sequence[str] | None, generator: torch.Generator) -> Self:
        kernel = self.kernel.prepare(X, columns, generator)
        terms = expanded(kernel)
        pairs = [
            len(part) for part in np.array_split(np.arange(self.n_components // 2), len(terms))
        ]
        omega = self.omega
        if omega is None:
            omega = tuple(
                tuple(self._draw(factor, X, rows, generator) for factor in term.factors)
                for term, rows in zip(terms, pairs, strict=True)
            )
        return self.substitute({("kernel",): kernel, ("omega",): omega})

    def _draw(self, factor: Kernel, X: Tensor, rows: int, generator: torch.Generator) -> np.ndarray:
        d = factor.represent(X[:1]).shape[1]
        normal = _normal(rows, d, self.orthogonal, generator)
        return _stationary(factor).frequencies(normal, generator).numpy()

    def leaves(self) -> Iterator[Leaf]:
        # The draws of a rational quadratic kernel depend on alpha, so alpha stays as it was.
        mixed = any(
            isinstance(_stationary(f), RationalQuadratic)
            for t in expanded(self.kernel)
            for f in t.factors
        )
        for leaf in super().leaves():
            if not (mixed and leaf.path[-1] == "alpha"):
                yield leaf

    def settle(self, like: Tensor) -> Any:
        if self.omega is None:
            raise InvalidInput(
                "Fourier has no frequencies yet: fit an estimator with it, or call "
                "prepare(X, None, generator) first."
            )
        return tuple(
            tuple(torch.as_tensor(part, dtype=like.dtype, device=like.device) for part in term)
            for term in self.omega
        )

    def apply(self, state: Any, X: Tensor) -> Tensor:
        features = []
        for term, omega in zip(expanded(self.kernel), state, strict=True):
            variance = torch.ones((), dtype=X.dtype, device=X.device)
            for constant in term.constants:
                variance = variance * constant.value
            if not term.factors:
                features.append(variance.sqrt().expand(len(X), 1))
                continue
            # A product of kernels adds the phases of its factors.
            phase = sum(f.represent(X) @ w.mT for f, w in zip(term.factors, omega, strict=True))
            assert isinstance(phase, Tensor)
            scale = (variance / phase.shape[1]).sqrt()
            features += [phase.cos() * scale, phase.sin() * scale]
        return torch.cat(features, dim=1)

    def supremum(self, domain: Domain = None) -> Any:
        return self.kernel.supremum(domain)  # |phi(x)|^2 is the sum of the variances, as k(x, x)
