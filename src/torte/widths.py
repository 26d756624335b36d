"""How many features a map gives, told before they are made."""

from __future__ import annotations

from typing import Any

import torch
from torch import Tensor

from torte.features import Fourier, Network, Nystroem
from torte.maps import FeatureMap

__all__ = ["told_width", "width_of"]


def told_width(features: FeatureMap, rows: int) -> int | None:
    """The number of features as a recipe tells it before it has seen rows; None where it does not."""
    if isinstance(features, Nystroem):
        given = features.points
        return min(features.n_components, rows) if given is None else len(given)
    if isinstance(features, Fourier):
        return features.n_components
    return features.layers[-1] if isinstance(features, Network) else None


def width_of(features: FeatureMap, X: Any) -> int | None:
    """The number of features: as told, or of two rows."""
    told = told_width(features, len(X))
    if told is not None:
        return told
    with torch.no_grad():
        Z = features.transform(X[:2])
    return Z.shape[1] if isinstance(Z, Tensor) and Z.ndim == 2 else None
