"""The kernel where none is given."""

from __future__ import annotations

from torte.kernels.stationary import Gaussian, Laplacian

__all__ = ["DEFAULT_KERNEL"]

# Chosen by measurement: docs/defaults.md.
DEFAULT_KERNEL = 0.5 * Gaussian(ard=True) + 0.5 * Laplacian(ard=True)
