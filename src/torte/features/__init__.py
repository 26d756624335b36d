"""Feature maps: rows of a table to rows of p numbers."""

from torte.features.standardize import Standardize
from torte.maps import FeatureMap

__all__ = ["FeatureMap", "Standardize"]
