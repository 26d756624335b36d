"""Kernels of the distance between rows, each with a length scale for all columns or one each."""

from __future__ import annotations

import math
from abc import abstractmethod
from collections.abc import Callable, Sequence
from dataclasses import dataclass, fields
from typing import Any, Self

import numpy as np
import torch
from torch import Tensor

from torte.errors import InvalidInput
from torte.kernels.base import Domain, Kernel
from torte.kernels.distances import (
    minus_half_squared_distance,
    minus_half_squared_distance_to,
)
from torte.parameters import positive

__all__ = [
    "Gaussian",
    "Laplacian",
    "Matern12",
    "Matern32",
    "Matern52",
    "Periodic",
    "RationalQuadratic",
    "Stationary",
]

_PAIRS_FROM = 1000  # rows whose pairs estimate a median distance


@dataclass(frozen=True)
class Stationary(Kernel):
    """A kernel ``f(x / l - y / l)`` with ``k(x, x) = 1``; write `profile` or `compare`.

    ``length_scale`` is one positive number, or one for each column (``ard=True``, or a
    sequence). ``None``, the default, lets the estimator start it from the data: the median
    distance between rows, for ``ard`` in units of each column's standard deviation.
    Evaluated before it has seen data, ``None`` counts as 1.
    """

    length_scale: float | tuple[float, ...] | None = positive(None, from_data=True)
    ard: bool = False

    @abstractmethod
    def profile(self, H: Tensor) -> Tensor:
        """The kernel's value where ``H = -|x - y|^2 / 2`` in units of the length scale."""

    def distances(self, X: Tensor) -> Tensor:
        """Distances between the rows of X for which this kernel wants a typical value."""
        return torch.nn.functional.pdist(X)

    def frequencies(self, G: Tensor, generator: torch.Generator) -> Tensor:
        """Draws from the spectral density at unit length scale, made of normal draws G (k x d).

        With ``w`` such a draw, ``k(x, y) = E cos(w . (x - y))`` in units of the length scale.
        """
        raise InvalidInput(
            f"`kernel` of Fourier must be a kernel with a known spectral density (Gaussian, Laplacian, "
            f"Matern, RationalQuadratic or Periodic, their sums and products), got {type(self).__name__}; "
            f"use Nystroem, which works with any kernel."
        )

    def prepare(self, X: Any, columns: Sequence[str] | None, generator: torch.Generator) -> Self:
        d = X.shape[1]
        scale = self.length_scale
        if isinstance(scale, tuple):
            if len(scale) != d:
                raise InvalidInput(
                    f"`length_scale` of {type(self).__name__} has {len(scale)} entries, but its input has "
                    f"{d} columns; give one number, or one for each column."
                )
            return self
        if scale is None:
            few = X[torch.randperm(len(X), generator=generator)[:_PAIRS_FROM].to(X.device)].double()
            spread = few.std(dim=0, unbiased=False)
            spread = torch.where(
                spread > 1e-12 * few.abs().amax(dim=0), spread, torch.ones_like(spread)
            )
            apart = self.distances(few / spread if self.ard else few)
            apart = apart[apart > 0]
            typical = float(apart.median()) if len(apart) else 1.0
            each = (typical * spread).tolist()
            return self.substitute({("length_scale",): tuple(each) if self.ard else typical})
        return self.substitute({("length_scale",): (scale,) * d}) if self.ard else self

    def represent(self, X: Any) -> Any:
        if self.length_scale is None:
            return X
        return X / torch.as_tensor(self.length_scale, dtype=X.dtype, device=X.device)

    def compare(self, A: Any, B: Any) -> Tensor:
        return self.profile(minus_half_squared_distance(A, B))

    def against(self, B: Any) -> Callable[[Any], Tensor]:
        distances = minus_half_squared_distance_to(B)
        return lambda A: self.profile(distances(A))

    def norms(self, A: Any) -> Tensor:
        return torch.ones(len(A), dtype=A.dtype, device=A.device)

    def supremum(self, domain: Domain = None) -> Any:
        return 1.0

    def __repr__(self) -> str:
        # What is at its default goes without saying.
        said = [
            f"{field.name}={value!r}"
            for field in fields(self)
            if (value := getattr(self, field.name)) is not None
            and not (field.name == "ard" and not value)
        ]
        return f"{type(self).__name__}({', '.join(said)})"


@dataclass(frozen=True, repr=False)
class Gaussian(Stationary):
    """``k(x, y) = exp(-|x - y|^2 / (2 l^2))``, with ``ard=True`` one ``l`` for each column.

    >>> import numpy as np
    >>> from torte.kernels import Gaussian
    >>> Gaussian(2.0)(np.array([[0.0], [2.0]])).round(3)
    array([[1.   , 0.607],
           [0.607, 1.   ]])
    """

    def profile(self, H: Tensor) -> Tensor:
        return H.exp_()

    def frequencies(self, G: Tensor, generator: torch.Generator) -> Tensor:
        return G


def _by_gamma(G: Tensor, shape: float, generator: torch.Generator) -> Tensor:
    """One draw a row from the gamma distribution of this shape, with mean one."""
    seed = int(torch.randint(2**31, (), generator=generator))
    draws = np.random.default_rng(seed).gamma(shape, 1.0 / shape, size=(len(G), 1))
    return torch.as_tensor(draws, dtype=G.dtype, device=G.device)


class _Matern(torch.autograd.Function):
    """Matern profiles in ``r = sqrt(-2 H)`` with their slopes in H, finite wherever they are.

    order 1: ``exp(-r)``, slope ``exp(-r) / r``, set to 0 at ``r = 0``, where every chain to a
    hyperparameter multiplies it by ``r^2``;  order 3, with ``s = sqrt(3) r``: ``(1 + s) exp(-s)``,
    slope ``3 exp(-s)``;  order 5, with ``s = sqrt(5) r``: ``(1 + s + s^2/3) exp(-s)``, slope ``5/3 (1 + s) exp(-s)``.
    """

    @staticmethod
    def forward(ctx: Any, H: Tensor, order: int) -> Tensor:
        s = H.mul(-2.0 * order).sqrt_()
        decay = torch.exp(-s)
        ctx.order = order
        ctx.save_for_backward(s, decay)
        if order == 1:
            return decay.clone()
        return decay * (1 + s if order == 3 else 1 + s + s.square() / 3)

    @staticmethod
    def backward(ctx: Any, grad: Tensor) -> tuple[Tensor, None]:
        s, decay = ctx.saved_tensors
        if ctx.order == 1:
            tiny = 1e3 * torch.finfo(s.dtype).eps ** 0.5  # below it s is rounding of the product
            slope = torch.where(s > tiny, decay / s, 0.0)
        elif ctx.order == 3:
            slope = 3 * decay
        else:
            slope = 5 / 3 * (1 + s) * decay
        return slope.mul_(grad), None


@dataclass(frozen=True, repr=False)
class Matern12(Stationary):
    """``k(x, y) = exp(-r)`` with ``r = |x - y| / l``: rough, once continuous functions.

    >>> from torte.kernels import Matern12
    >>> Matern12(0.5)
    Matern12(length_scale=0.5)
    """

    def profile(self, H: Tensor) -> Tensor:
        return _Matern.apply(H, 1)  # type: ignore[no-untyped-call]

    def frequencies(self, G: Tensor, generator: torch.Generator) -> Tensor:
        return G / _by_gamma(G, 0.5, generator).sqrt()  # Student's t, 1 degree of freedom


@dataclass(frozen=True, repr=False)
class Matern32(Stationary):
    """``k(x, y) = (1 + sqrt(3) r) exp(-sqrt(3) r)`` with ``r = |x - y| / l``.

    >>> from torte.kernels import Matern32
    >>> Matern32(ard=True)
    Matern32(ard=True)
    """

    def profile(self, H: Tensor) -> Tensor:
        return _Matern.apply(H, 3)  # type: ignore[no-untyped-call]

    def frequencies(self, G: Tensor, generator: torch.Generator) -> Tensor:
        return G / _by_gamma(G, 1.5, generator).sqrt()  # Student's t, 3 degrees of freedom


@dataclass(frozen=True, repr=False)
class Matern52(Stationary):
    """``k(x, y) = (1 + sqrt(5) r + 5 r^2 / 3) exp(-sqrt(5) r)`` with ``r = |x - y| / l``.

    >>> from torte.kernels import Matern52
    >>> Matern52((1.0, 2.0))
    Matern52(length_scale=(1.0, 2.0))
    """

    def profile(self, H: Tensor) -> Tensor:
        return _Matern.apply(H, 5)  # type: ignore[no-untyped-call]

    def frequencies(self, G: Tensor, generator: torch.Generator) -> Tensor:
        return G / _by_gamma(G, 2.5, generator).sqrt()  # Student's t, 5 degrees of freedom


@dataclass(frozen=True, repr=False)
class RationalQuadratic(Stationary):
    """``k(x, y) = (1 + |x - y|^2 / (2 alpha l^2))^-alpha``: a mixture of Gaussians of all scales.

    >>> from torte.kernels import RationalQuadratic
    >>> RationalQuadratic(1.0, alpha=0.5)
    RationalQuadratic(length_scale=1.0, alpha=0.5)
    """

    alpha: float = positive(1.0)

    def profile(self, H: Tensor) -> Tensor:
        alpha = torch.as_tensor(self.alpha, dtype=H.dtype, device=H.device)
        return torch.exp(-alpha * torch.log1p(-H / alpha))

    def frequencies(self, G: Tensor, generator: torch.Generator) -> Tensor:
        return G * _by_gamma(G, float(self.alpha), generator).sqrt()


@dataclass(frozen=True, repr=False)
class Laplacian(Stationary):
    """``k(x, y) = exp(-sum_d |x_d - y_d| / l_d)``, a product of one-dimensional kernels.

    >>> import numpy as np
    >>> from torte.kernels import Laplacian
    >>> Laplacian(2.0)(np.array([[0.0, 0.0], [1.0, 1.0]])).round(3)
    array([[1.   , 0.368],
           [0.368, 1.   ]])
    """

    def profile(self, H: Tensor) -> Tensor:
        return H.exp_()

    def distances(self, X: Tensor) -> Tensor:
        return torch.nn.functional.pdist(X, p=1.0)

    def compare(self, A: Any, B: Any) -> Tensor:
        return self.profile(-torch.cdist(A, B, p=1.0))

    def against(self, B: Any) -> Callable[[Any], Tensor]:
        return lambda A: self.compare(A, B)

    def frequencies(self, G: Tensor, generator: torch.Generator) -> Tensor:
        # One Cauchy draw a column: the normal draw's quantile, taken of a Cauchy distribution.
        return torch.tan(math.pi * (torch.special.ndtr(G) - 0.5))


@dataclass(frozen=True, repr=False)
class Periodic(Stationary):
    """``k(x, y) = exp(-2 sum_d sin^2(pi (x_d - y_d) / period) / l_d^2)``.

    Every column is wound around a circle, where ``4 sin^2(pi t / period)`` is a squared
    distance, so this is a Gaussian of the wound columns.

    >>> import numpy as np
    >>> from torte.kernels import Periodic
    >>> Periodic(1.0, period=12.0)(np.array([[0.0], [6.0], [12.0]])).round(3)
    array([[1.   , 0.135, 1.   ],
           [0.135, 1.   , 0.135],
           [1.   , 0.135, 1.   ]])
    """

    period: float = positive(1.0)

    def _wind(self, X: Tensor) -> Tensor:
        angle = X * (2 * math.pi / torch.as_tensor(self.period, dtype=X.dtype, device=X.device))
        return torch.cat([angle.cos(), angle.sin()], dim=1)

    def distances(self, X: Tensor) -> Tensor:
        return torch.nn.functional.pdist(self._wind(X))

    def represent(self, X: Any) -> Any:
        wound = self._wind(X)
        if self.length_scale is None:
            return wound
        scale = torch.as_tensor(self.length_scale, dtype=X.dtype, device=X.device)
        return wound / (scale.repeat(2) if scale.ndim else scale)

    def profile(self, H: Tensor) -> Tensor:
        return H.exp_()

    def frequencies(self, G: Tensor, generator: torch.Generator) -> Tensor:
        return G
