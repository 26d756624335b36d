"""A kernel of categories: a similarity for each column, all columns in one matrix product."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Self

import torch
from torch import Tensor

from torte.errors import InvalidInput
from torte.kernels.base import Domain, Kernel
from torte.parameters import fraction

__all__ = ["Categories"]


def _units(A: Tensor, B: Tensor) -> tuple[list[Tensor], list[Tensor]]:
    """Of each column the unit vectors of its values in A and in B; zero where B has no such value."""
    of_A, of_B = [], []
    for a, b in zip(A.T.contiguous(), B.T.contiguous(), strict=True):
        values, position = torch.unique(b, return_inverse=True)
        eye = torch.eye(len(values), dtype=B.dtype, device=B.device)
        of_B.append(eye[position])
        found = torch.searchsorted(values, a).clamp_(max=len(values) - 1)
        of_A.append(eye[found] * (values[found] == a)[:, None])
    return of_A, of_B


class _MinusMismatches(torch.autograd.Function):
    """``H_ij = -sum_d w_d [a_id != b_jd] = sum_d w_d (<e_d(a_i), e_d(b_j)> - 1)``.

    Backward with the sensitivity ``M``: ``dw_d = <M E_d(B), E_d(A)> - sum(M)``, one product for
    all columns. The codes have no gradient.
    """

    @staticmethod
    def forward(ctx: Any, A: Tensor, B: Tensor, w: Tensor) -> Tensor:
        of_A, of_B = _units(A, B)
        E = torch.cat(of_B, dim=1)
        ctx.of_A = of_A
        ctx.save_for_backward(E)
        weighted = torch.cat([e * each for e, each in zip(of_A, w, strict=True)], dim=1)
        return torch.addmm(-w.sum().expand(1), weighted, E.mT)

    @staticmethod
    def backward(ctx: Any, M: Tensor) -> tuple[None, None, Tensor]:
        (E,) = ctx.saved_tensors
        widths = [e.shape[1] for e in ctx.of_A]
        met = (M @ E).split(widths, dim=1)
        total = M.sum()
        return (
            None,
            None,
            torch.stack([(R * e).sum() for R, e in zip(met, ctx.of_A, strict=True)]).sub_(total),
        )


@dataclass(frozen=True)
class Categories(Kernel):
    """``k(a, b) = prod_d rho_d^[a_d != b_d]``: columns that agree count 1, others ``rho_d``.

    Columns hold codes of categories, any numbers: equal or not is all that counts, so a
    missing cell may have a code of its own, and a code never seen before is like no other.
    ``similarity`` is one ``rho`` in (0, 1) for all columns, or one for each; ``None``, the
    default, is one for each, started from the data: ``exp(-1 / m)``, where two rows differ in
    m columns on average. Evaluated before it has seen data, ``None`` counts as 1/2.

    It is the product over columns of ``(1 - rho_d) [a_d = b_d] + rho_d``, so positive definite.

    >>> import numpy as np
    >>> from torte.kernels import Categories
    >>> Categories((0.5, 0.2))(np.array([[0.0, 0.0], [0.0, 1.0], [1.0, 1.0]]))
    array([[1. , 0.2, 0.1],
           [0.2, 1. , 0.5],
           [0.1, 0.5, 1. ]])
    """

    similarity: float | tuple[float, ...] | None = fraction(None, from_data=True)

    def prepare(self, X: Any, columns: Sequence[str] | None, generator: torch.Generator) -> Self:
        d, similarity = X.shape[1], self.similarity
        if isinstance(similarity, tuple) and len(similarity) != d:
            raise InvalidInput(
                f"`similarity` of Categories has {len(similarity)} entries, but its input has {d} columns; give one "
                f"number, or one for each column."
            )
        if similarity is not None:
            return self
        mismatches = 0.0
        for column in X.T:
            shares = torch.unique(column, return_counts=True)[1].double() / len(X)
            mismatches += 1.0 - float(shares.square().sum())
        start = math.exp(-1.0 / max(mismatches, 1.0))
        return self.substitute({("similarity",): (start,) * d})

    def compare(self, A: Any, B: Any) -> Tensor:
        similarity = 0.5 if self.similarity is None else self.similarity
        rho = torch.as_tensor(similarity, dtype=A.dtype, device=A.device)
        w = -rho.log().expand(A.shape[1])
        return _MinusMismatches.apply(A, B, w).exp_()  # type: ignore[no-untyped-call]

    def norms(self, A: Any) -> Tensor:
        return torch.ones(len(A), dtype=A.dtype, device=A.device)

    def supremum(self, domain: Domain = None) -> Any:
        return 1.0
