"""Similarities that were computed elsewhere: one matrix, or several with learned weights."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Self

import numpy as np
import torch
from torch import Tensor

from torte.errors import InvalidInput, NoSupremum
from torte.kernels.base import Domain, Kernel
from torte.objects import Pairs
from torte.parameters import positive

__all__ = ["Precomputed"]

_ROUNDING = 1e-8  # relative to the diagonal: what asymmetry and negative eigenvalues may be


@dataclass(frozen=True)
class Precomputed(Kernel):
    """``k(x_i, x_j) = K[i, j]``: X is the matrix, n x n at fit and n_test x n_train at predict.

    With X of shape (n, n, k) it is ``sum_m w_m K[:, :, m]``, and the weights are learned:
    multiple kernel learning. Cross-validation of scikit-learn cuts both sides of X.

    Parameters
    ----------
    weights : numbers or None
        One for each of several matrices; None starts them at ``1 / k``.
    largest : float or None
        What ``k(x, x)`` cannot exceed on any row, 1 for a normalized kernel; `risk_bound`
        needs it. Learning without it takes the largest of the rows at hand.

    >>> import numpy as np
    >>> from torte import MCEClassifier
    >>> from torte.kernels import Gaussian, Precomputed
    >>> X, y = np.array([[0.0], [0.3], [2.0], [2.2]]), [0, 0, 1, 1]
    >>> K = Gaussian(1.0)
    >>> model = MCEClassifier(Precomputed(), optimizer=None, regularization=0.1).fit(K(X), y)
    >>> model.predict(K(np.array([[0.1], [3.0]]), X))
    array([0, 1])
    """

    weights: tuple[float, ...] | None = positive(None, from_data=True)
    largest: float | None = None

    takes = "pairs"

    def __post_init__(self) -> None:
        super().__post_init__()
        good = isinstance(self.largest, (int, float)) and 0 < self.largest < np.inf
        if self.largest is not None and not good:
            raise InvalidInput(
                f"`largest` of Precomputed must be a positive number or None, got {self.largest!r}."
            )

    def prepare(self, X: Any, columns: Sequence[str] | None, generator: torch.Generator) -> Self:
        several = X.values.ndim == 3
        matrices = X.values.unbind(dim=2) if several else (X.values,)
        for place, K in enumerate(matrices):
            self._check(K, f"X[:, :, {place}]" if several else "X")
        if not several and self.weights is None:
            return self
        weights = (1.0 / len(matrices),) * len(matrices) if self.weights is None else self.weights
        if np.size(weights) != len(matrices):
            raise InvalidInput(
                f"`weights` of Precomputed has {np.size(weights)} entries, but X holds {len(matrices)} matrices."
            )
        return self.substitute({("weights",): weights})

    def _check(self, K: Tensor, name: str) -> None:
        """A matrix of a kernel is square, symmetric and positive semidefinite."""
        if K.shape[0] != K.shape[1]:
            raise InvalidInput(
                f"{name} must be a square matrix when a precomputed kernel is fitted, got {K.shape[0]} x {K.shape[1]}."
            )
        unit = max(float(K.diagonal().abs().max()), torch.finfo(K.dtype).tiny)
        tolerance = max(_ROUNDING, 100 * torch.finfo(K.dtype).eps) * unit
        apart = (K - K.mT).abs()
        if float(apart.max()) > tolerance:
            i, j = divmod(int(apart.argmax()), len(K))
            raise InvalidInput(
                f"{name} must be symmetric, got {float(K[i, j]):.6g} in row {i}, column {j} and {float(K[j, i]):.6g} in row {j}, "
                f"column {i}; give (K + K.T) / 2 if that is rounding."
            )
        # Rounding of every entry by the tolerance moves an eigenvalue by n times that at most.
        shifted = K + len(K) * tolerance * torch.eye(len(K), dtype=K.dtype, device=K.device)
        if self.largest is not None and unit > self.largest * (1 + _ROUNDING):
            raise InvalidInput(
                f"`largest` of Precomputed is {self.largest}, but {name} holds {unit:.6g} on its diagonal; give that or more."
            )
        if int(torch.linalg.cholesky_ex(shifted).info) == 0:
            return
        lowest = float(torch.linalg.eigvalsh(K)[0])
        raise InvalidInput(
            f"{name} must be positive semidefinite to be a kernel's matrix, got {lowest:.6g} as its most negative eigenvalue; "
            f"set negative eigenvalues to zero, or square the matrix (K @ K.T)."
        )

    def represent(self, X: Pairs) -> Any:
        return X.values, X.positions

    def _mixed(self, values: Tensor) -> Tensor:
        """``sum_m w_m K_m`` along the last axis, where there are several matrices."""
        if self.weights is None:
            return values.mean(dim=2) if values.ndim == 3 else values
        weights = torch.as_tensor(self.weights, dtype=values.dtype, device=values.device)
        return values @ weights if values.ndim == 3 else values * weights

    def compare(self, A: Any, B: Any) -> Tensor:
        self._demand_known(B[1])
        return self._mixed(A[0][:, B[1]])

    def norms(self, A: Any) -> Tensor:
        self._demand_known(A[1])
        return self._mixed(A[0][torch.arange(len(A[1]), device=A[1].device), A[1]][:, None])[:, 0]

    def _demand_known(self, positions: Tensor) -> None:
        if bool((positions < 0).any()):
            raise InvalidInput(
                "X must hold k(x, x) where Precomputed() is part of another kernel or is compared to itself, but rows "
                "that are not among those of fit have none in a matrix n_test x n_train; use the kernel itself."
            )

    def supremum(self, domain: Domain = None) -> Any:
        if self.largest is None:
            raise NoSupremum(
                "Precomputed() cannot know sup k(x, x) beyond the rows of its matrix, and the bound needs it; say "
                "so, as in Precomputed(largest=1.0) for a normalized kernel."
            )
        if self.weights is None:
            return self.largest
        weights = torch.as_tensor(self.weights, dtype=torch.float64)
        return self.largest * (
            weights.sum() if isinstance(self.weights, Tensor) else float(weights.sum())
        )
