"""The estimator's arguments, checked when fit begins: expected, got, what to do."""

from __future__ import annotations

from typing import Any

import numpy as np

from torte.errors import InvalidInput
from torte.kernels import Kernel
from torte.maps import FeatureMap
from torte.objectives import Objective
from torte.optimizers import Optimizer

__all__ = ["check_batch", "check_settings"]

SOLVERS = ("auto", "cholesky", "conjugate-gradients", "features")
DTYPES = ("float64", "float32")


def _is_number(value: Any) -> bool:
    return isinstance(value, (int, float, np.integer, np.floating)) and not isinstance(value, bool)


def check_settings(estimator: Any) -> None:
    """Raise `InvalidInput` at the first argument that is not what it should be."""
    kernel, objective, optimizer = estimator.kernel, estimator.objective, estimator.optimizer
    if kernel is not None and not isinstance(kernel, (Kernel, FeatureMap)):
        hint = "; call the class, as in Gaussian()" if isinstance(kernel, type) else ""
        raise InvalidInput(
            f"`kernel` must be a kernel expression such as Gaussian(ard=True), a feature map, or None, got {kernel!r}{hint}."
        )
    regularization = estimator.regularization
    if not _is_number(regularization) or not 0 < regularization < np.inf:
        raise InvalidInput(f"`regularization` must be a positive number, got {regularization!r}.")
    if not isinstance(objective, Objective):
        raise InvalidInput(
            f"`objective` must be one of torte.objectives, such as RademacherBound(), got {objective!r}."
        )
    if optimizer is not None and optimizer != "auto" and not isinstance(optimizer, Optimizer):
        raise InvalidInput(
            f"`optimizer` must be LBFGS(), Adam(), 'auto', or None to keep every hyperparameter, got {optimizer!r}."
        )
    fraction = estimator.validation_fraction
    if not _is_number(fraction) or not 0 <= fraction < 1:
        raise InvalidInput(
            f"`validation_fraction` must be a number from 0 to below 1, got {fraction!r}."
        )
    for name, allowed in (("solver", SOLVERS), ("dtype", DTYPES)):
        if getattr(estimator, name) not in allowed:
            options = " or ".join(map(repr, allowed))
            raise InvalidInput(f"`{name}` must be {options}, got {getattr(estimator, name)!r}.")
    if isinstance(kernel, FeatureMap) and estimator.solver == "conjugate-gradients":
        raise InvalidInput(
            "`solver` must be 'auto' where `kernel` is a feature map, got 'conjugate-gradients': its p x p system is "
            "factorized; conjugate gradients solve the n x n system of a kernel."
        )


def check_batch(size: Any, n: int) -> None:
    """Raise `InvalidInput` unless ``size`` is None or a whole number of rows from 2 to n."""
    if size is None:
        return
    if not isinstance(size, (int, np.integer)) or isinstance(size, bool) or size < 2:
        raise InvalidInput(
            f"`batch_size` must be a whole number of at least 2, or None, got {size!r}."
        )
    if size > n:
        raise InvalidInput(
            f"`batch_size` must be at most the {n} rows of X, got {size}; use None for all rows."
        )
