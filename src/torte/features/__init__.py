"""Feature maps: rows of a table to rows of p numbers."""

from torte.features.fourier import Fourier
from torte.features.modules import Module
from torte.features.networks import Network
from torte.features.nystroem import Nystroem
from torte.features.polynomials import Polynomials
from torte.features.standardize import Standardize
from torte.maps import FeatureMap

__all__ = ["FeatureMap", "Fourier", "Module", "Network", "Nystroem", "Polynomials", "Standardize"]
