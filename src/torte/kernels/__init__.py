"""Kernels as frozen values: ``Gaussian() * Linear() + 0.1``, learned into new values."""

from torte.kernels.algebra import Constant, Power, Product, Sum
from torte.kernels.base import Kernel
from torte.kernels.default import DEFAULT_KERNEL
from torte.kernels.dot import Linear, Polynomial
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
from torte.kernels.views import Composed, Fixed, On
from torte.parameters import fraction, positive, real

__all__ = [
    "DEFAULT_KERNEL",
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
    "Product",
    "RationalQuadratic",
    "Stationary",
    "Sum",
    "fraction",
    "positive",
    "real",
]
