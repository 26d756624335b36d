"""The border: tables of any kind in, arrays out, and every complaint about them."""

from __future__ import annotations

from typing import Any

import numpy as np
import torch
from sklearn.base import BaseEstimator
from sklearn.utils.validation import validate_data
from torch import Tensor

from torte._cells import column_name, demand_table, explained
from torte._numbers import is_whole
from torte.errors import InvalidInput
from torte.objects import Objects, Pairs, Records, items_of

__all__ = [
    "admit_any",
    "admit_rows",
    "compute_device",
    "generator_from",
]


def compute_device(device: str) -> torch.device:
    """A torch device that is there; "auto" is the first of CUDA, MPS and the CPU that is."""
    there = {
        "cuda": torch.cuda.is_available(),
        "mps": torch.backends.mps.is_available(),
        "cpu": True,
    }
    if isinstance(device, str) and device == "auto":
        return torch.device(next(name for name, found in there.items() if found))
    try:
        wanted = torch.device(device)
    except (RuntimeError, TypeError):
        raise InvalidInput(
            f"`device` must be 'cpu', 'cuda', 'mps' or 'auto', got {device!r}."
        ) from None
    if not there.get(wanted.type, False):
        raise InvalidInput(
            f"`device` is {device!r}, but there is none on this machine; use device='cpu' or 'auto'."
        )
    return wanted


def generator_from(random_state: Any) -> torch.Generator:
    """A generator of our own: from a seed, from a RandomState, or fresh; never a global one."""
    generator = torch.Generator()
    if random_state is None:
        generator.seed()
    elif isinstance(random_state, (np.random.RandomState, np.random.Generator)):
        draw = (
            random_state.randint
            if isinstance(random_state, np.random.RandomState)
            else random_state.integers
        )
        generator.manual_seed(int(draw(2**31)))
    elif is_whole(random_state):
        seed = int(random_state)
        if not -(2**63) <= seed < 2**64:
            raise InvalidInput(
                f"`random_state` must be a whole number from -2**63 to 2**64 - 1, got {seed}; take it modulo 2**32."
            )
        generator.manual_seed(seed)
    else:
        raise InvalidInput(
            f"`random_state` must be a whole number, a numpy RandomState or Generator, or None, got {random_state!r}."
        )
    return generator


def admit_any(
    estimator: Any, X: Any, takes: str, device: torch.device, *, reset: bool
) -> Tensor | Objects | Pairs | Records:
    """X as what a kernel on vectors, objects, similarities or records takes, checked."""
    if takes in ("vectors", "columns"):
        table = admit_rows(estimator, X, estimator.dtype, reset=reset)
        # A copy where the embedding keeps the rows: they are the caller's.
        return (torch.tensor if reset else torch.as_tensor)(table, device=device)
    dtype = getattr(torch, estimator.dtype)
    if reset:
        for name in ("n_features_in_", "feature_names_in_"):
            vars(estimator).pop(name, None)
    if takes == "objects":
        return Objects(items_of(X), dtype, device)
    if takes == "pairs":
        return _admit_pairs(estimator, X, device, reset)
    records = Records.of(X).admitted(dtype, device, at_fit=reset)
    names = np.asarray(records.names, dtype=object)
    if reset:
        estimator.n_features_in_ = len(names)
        if all(isinstance(name, str) for name in names):
            estimator.feature_names_in_ = names
        return records
    expected = getattr(estimator, "feature_names_in_", np.arange(estimator.n_features_in_))
    if list(names) != list(expected):
        raise InvalidInput(
            f"X must have the columns of fit, {list(expected)}, in their order, got {list(names)}."
        )
    return records


def _admit_pairs(estimator: Any, X: Any, device: torch.device, reset: bool) -> Pairs:
    values = np.asarray(X, dtype=estimator.dtype)
    wanted = "n x n, or n x n x k for k matrices" if reset else "one column for each training row"
    right = values.ndim in (2, 3) and values.shape[1] == (
        len(values) if reset else estimator.n_features_in_
    )
    if not right:
        raise InvalidInput(
            f"X must hold the values of a precomputed kernel, {wanted}, got shape {values.shape}"
            + ("." if reset else f" for {estimator.n_features_in_} training rows.")
        )
    if not np.isfinite(values).all():
        raise InvalidInput(
            f"X must hold finite values of a precomputed kernel, got {(~np.isfinite(values)).sum()} that are NaN or infinite."
        )
    if reset:
        estimator.n_features_in_ = values.shape[1]
        return Pairs(torch.tensor(values, device=device))
    return Pairs(torch.as_tensor(values, device=device), torch.full((len(values),), -1))


def admit_rows(estimator: BaseEstimator, X: Any, dtype: str, *, reset: bool) -> np.ndarray:
    """X as a finite two-dimensional array of floats, checked against what fit saw."""
    demand_table(X)
    settings = {"dtype": np.dtype(dtype), "ensure_all_finite": False, "allow_nd": True}
    try:
        with np.errstate(over="ignore"):  # what float32 cannot hold is told below
            rows = validate_data(estimator, X, reset=reset, **settings)
    except (TypeError, ValueError, OverflowError) as error:
        told = explained(X, error)
        if told is error:
            raise
        raise told from error
    if rows.ndim > 2:
        raise InvalidInput(
            f"X must be a table of rows and columns, got an array of dim {rows.ndim} with shape {rows.shape}; flatten "
            f"every example to one row with X.reshape(len(X), -1)."
        )
    _demand_finite(getattr(estimator, "feature_names_in_", None), rows, X)
    return np.require(rows, requirements="W")  # torch shares memory, and warns of read-only one


def _demand_finite(names: Any, X: np.ndarray, given: Any) -> None:
    """Raise `InvalidInput` at a cell of X that is not finite, or too large to be squared."""
    finite = np.isfinite(X)
    if not finite.all():
        row, column = np.argwhere(~finite)[0]
        what = "NaN" if np.isnan(X[row, column]) else "infinity (inf)"
        if X.dtype == np.float32 and np.isfinite(
            wide := np.asarray(given, np.float64)[row, column]
        ):
            raise InvalidInput(
                f"X must hold values that fit in float32 (below 3e+38), got {wide:.0e} in row {row}, "
                f"{column_name(names, column)}; rescale that column, or use dtype='float64'."
            )
        raise InvalidInput(
            f"X must hold finite numbers, got {what} in row {row}, {column_name(names, column)}, "
            f"and {(~finite).sum() - 1} more such cells; drop or fill them, for instance with "
            f"sklearn.impute.SimpleImputer."
        )
    limit = np.sqrt(np.finfo(X.dtype).max) / max(1, X.shape[1])
    largest = np.abs(X).max(axis=0)
    if (largest > limit).any():
        column = int(np.argmax(largest))
        raise InvalidInput(
            f"X must hold values whose squares fit in {X.dtype} (below {limit:.0e}), got {largest[column]:.0e} in "
            f"{column_name(names, column)}; rescale that column, for instance by its largest value."
        )
