"""The estimator's arguments, checked when fit begins: expected, got, what to do."""

from __future__ import annotations

from typing import Any

from torte._numbers import is_number, is_whole
from torte.errors import InvalidInput
from torte.kernels import Kernel
from torte.maps import FeatureMap
from torte.objectives import Objective
from torte.optimizers import Optimizer

__all__ = ["check_batch", "check_settings"]

SOLVERS = ("auto", "cholesky", "conjugate-gradients", "features")
DTYPES = ("float64", "float32")


def check_settings(estimator: Any) -> None:
    """Raise `InvalidInput` at the first argument that is not what it should be."""
    kernel, objective, optimizer = estimator.kernel, estimator.objective, estimator.optimizer
    if kernel is not None and not isinstance(kernel, (Kernel, FeatureMap)):
        hint = "; call the class, as in Gaussian()" if isinstance(kernel, type) else ""
        raise InvalidInput(
            f"`kernel` must be a kernel expression such as Gaussian(ard=True), a feature map, or None, got {kernel!r}{hint}."
        )
    regularization = estimator.regularization
    if not is_number(regularization) or not regularization > 0:
        raise InvalidInput(f"`regularization` must be a positive number, got {regularization!r}.")
    if not isinstance(objective, Objective):
        raise InvalidInput(
            f"`objective` must be one of torte.objectives, such as RademacherBound(), got {objective!r}."
        )
    automatic = isinstance(optimizer, str) and optimizer == "auto"
    if optimizer is not None and not automatic and not isinstance(optimizer, Optimizer):
        raise InvalidInput(
            f"`optimizer` must be LBFGS(), Adam(), 'auto', or None to keep every hyperparameter, got {optimizer!r}."
        )
    fraction = estimator.validation_fraction
    if not is_number(fraction) or not 0 <= fraction < 1:
        raise InvalidInput(
            f"`validation_fraction` must be a number from 0 to below 1, got {fraction!r}."
        )
    for name, allowed in (("solver", SOLVERS), ("dtype", DTYPES)):
        value = getattr(estimator, name)
        if not isinstance(value, str) or value not in allowed:
            options = " or ".join(map(repr, allowed))
            raise InvalidInput(f"`{name}` must be {options}, got {value!r}.")
    check_batch(estimator.batch_size)
    if isinstance(kernel, FeatureMap) and estimator.solver == "conjugate-gradients":
        raise InvalidInput(
            "`solver` must be 'auto' where `kernel` is a feature map, got 'conjugate-gradients': its p x p system is "
            "factorized; conjugate gradients solve the n x n system of a kernel."
        )


def check_batch(size: Any, n: int | None = None) -> None:
    """Raise `InvalidInput` unless ``size`` is None or a whole number from 2 to n, once n is known."""
    if size is None:
        return
    if not is_whole(size) or size < 2:
        raise InvalidInput(
            f"`batch_size` must be a whole number of at least 2, or None, got {size!r}."
        )
    if n is not None and size > n:
        raise InvalidInput(
            f"`batch_size` must be at most the {n} rows of X, got {size}; use None for all rows."
        )
