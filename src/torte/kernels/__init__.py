"""Kernels as frozen values: ``Gaussian() * Linear() + 0.1``, learned into new values."""

from torte.kernels.algebra import Constant, Power, Product, Sum
from torte.kernels.base import Kernel
from torte.kernels.dot import Linear, Polynomial
from torte.kernels.precomputed import Precomputed
from torte.kernels.stationary import (
    Gaussian,
    Laplacian,
    Matern12,
    Matern32,
    Matern52,
    Periodic,
    RationalQuadratic,
    Stationary,
)
from torte.kernels.strings import Spectrum
from torte.kernels.views import Composed, Fixed, On
from torte.parameters import fraction, positive, real

__all__ = [
    "Composed",
    "Constant",
    "Fixed",
    "Gaussian",
    "Kernel",
    "Laplacian",
    "Linear",
    "Matern12",
    "Matern32",
    "Matern52",
    "On",
    "Periodic",
    "Polynomial",
    "Power",
    "Precomputed",
    "Product",
    "RationalQuadratic",
    "Spectrum",
    "Stationary",
    "Sum",
    "fraction",
    "positive",
    "real",
]
