"""One list of kernels, composites among them; every law runs over all of it."""

from __future__ import annotations

from dataclasses import dataclass

from torte.features import Standardize
from torte.kernels import (
    Categories,
    Constant,
    Gaussian,
    Kernel,
    Laplacian,
    Linear,
    Matern12,
    Matern32,
    Matern52,
    Periodic,
    Polynomial,
    RationalQuadratic,
    positive,
)


@dataclass(frozen=True)
class Cosine(Kernel):
    """A kernel as a user would write it: one class, one method."""

    frequency: float = positive(1.0)

    def compare(self, X, Y):
        """``cos(f (x - y))`` summed over columns, a positive definite function."""
        return (self.frequency * (X[:, None, :] - Y[None, :, :])).cos().sum(dim=2)


KERNELS = [
    Gaussian(0.9),
    Gaussian(1.2, ard=True),
    Laplacian(1.5, ard=True),
    Laplacian(0.8),
    Matern12(1.2, ard=True),
    Matern12(0.7),
    Matern32(1.0),
    Matern32((1.0, 0.7, 2.0)),
    Matern52(0.8, ard=True),
    RationalQuadratic(1.1, ard=True, alpha=0.7),
    Periodic(1.3, ard=True, period=4.0),
    Linear(),
    Polynomial(2, gamma=0.4),
    Polynomial(3, coef0=0.0),
    Constant(0.3),
    Categories(0.4),
    Cosine(0.6),
    Linear() + 0.5,
    2.0 * Gaussian(0.5),
    2.0 * Gaussian(1.0) * Linear() + 0.3 * Matern32(2.0).on(0, 2),
    Gaussian(1.0) * (Linear() + 0.5) * 0.7,
    Laplacian(1.1).on(2) * Categories((0.6, 0.3)).on(0, 1) + 0.2,
    (Gaussian(1.0) + 0.5) ** 2,
    0.5 * Cosine(0.3) + Gaussian(1.0).on(1),
    (Gaussian(1.0, ard=True) + 0.1 * Linear()) @ Standardize(),
    Periodic(1.0, period=3.0).fix("period") + Linear().fix(),
]
