"""Kernels as frozen values: ``Gaussian() * Linear() + 0.1``, learned into new values."""

from torte.kernels.algebra import Constant, Power, Product, Sum
from torte.kernels.bags import MeanEmbedding
from torte.kernels.base import Kernel
from torte.kernels.categories import Categories
from torte.kernels.dot import Linear, Polynomial
from torte.kernels.graphs import WeisfeilerLehman
from torte.kernels.induced import GaussianOf
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
from torte.kernels.subsequences import Subsequence
from torte.kernels.views import Composed, Fixed, On
from torte.parameters import fraction, positive, real

__all__ = [
    "Categories",
    "Composed",
    "Constant",
    "Fixed",
    "Gaussian",
    "GaussianOf",
    "Kernel",
    "Laplacian",
    "Linear",
    "Matern12",
    "Matern32",
    "Matern52",
    "MeanEmbedding",
    "On",
    "Periodic",
    "Polynomial",
    "Power",
    "Precomputed",
    "Product",
    "RationalQuadratic",
    "Spectrum",
    "Stationary",
    "Subsequence",
    "Sum",
    "WeisfeilerLehman",
    "fraction",
    "positive",
    "real",
]
