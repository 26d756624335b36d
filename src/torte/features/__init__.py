"""Feature maps: rows of a table to rows of p numbers."""

from torte.features.base import FeatureMap
from torte.features.standardize import Standardize

__all__ = ["FeatureMap", "Standardize"]
