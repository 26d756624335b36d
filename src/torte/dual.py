"""The objective of a kernel and its exact gradient, at the cost of one Cholesky.

With ``A = K + n lambda I`` and ``V = A^-1 Y`` every objective here is a function of V, of
``n lambda``, of alpha and, for leave-one-out, of ``c = diag(A^-1)`` on some rows S. Let
``G = dq/dV`` and ``g = dq/dc``. Then, with ``U = A^-1 G`` and ``C = A^-1[:, S]``,

    dq/dA = -sym(U V') - C diag(g) C',

of rank m + |S|. It is formed block by block and handed to the kernel's own backward pass:
no derivative of a factorization, and no second n x n matrix.

Rows with weights: the shift is ``s_i = n lambda / w_i`` with n the sum of weights. All copies
of row i together have the leverage ``1 - s_i c_i``; one of them is left out.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import torch
from torch import Tensor

from torte._weights import diagonal_shift, one_copy, part, total
from torte.embedding import BLOCK, blocks
from torte.errors import NoSupremum
from torte.kernels.base import Kernel, count, rows
from torte.kernels.tiles import fill_upper
from torte.objectives import Objective, Terms, square_root
from torte.solvers import Factor, factorize

__all__ = ["Dual", "assemble_gram", "solve_dual", "supremum_or_largest"]


class DualSolution(NamedTuple):
    """One solve: the factor of ``A = K + n lambda I``, ``V = A^-1 Y``, and the memory they are in."""

    factor: Factor
    V: Tensor
    memory: Tensor


_STRIPS = 32  # at least, of a gram matrix: what a kernel keeps of one is small beside the matrix
_LEAST = 2**16  # numbers of a strip: smaller ones cost more in calls than they save
_TILED_FROM = 4000  # rows; above, rows of one block are too few to pay for what a kernel does once


def _strips(n: int) -> list[tuple[int, int]]:
    return blocks(n, n, min(BLOCK, max(_LEAST, n * n // _STRIPS)))


def assemble_gram(
    kernel: Kernel, A: Any, shift: float | Tensor, out: Tensor | None = None
) -> Tensor:
    """``K + diag(shift)`` for the rows of one representation; only its upper triangle is filled."""
    n = count(A)
    with torch.no_grad():
        if n > _TILED_FROM:
            out = kernel.norms(A).new_empty(n, n) if out is None else out
            fill_upper(kernel, A, out)
        for start, stop in _strips(n) if n <= _TILED_FROM else ():
            block = kernel.compare(rows(A, start, stop), rows(A, start, n))
            if out is None:
                out = torch.empty(n, n, dtype=block.dtype, device=block.device)
            out[start:stop, start:] = block
        assert out is not None
        out.diagonal().copy_(kernel.norms(A)).add_(shift)
    return out


def solve_dual(
    kernel: Kernel,
    regularization: float,
    A: Any,
    Y: Tensor,
    *,
    weights: Tensor | None = None,
    K: Tensor | None = None,
    memory: Tensor | None = None,
) -> DualSolution:
    """``V = (K + n lambda I)^-1 Y`` (n x m) for the rows of a representation A.

    With ``weights`` the identity becomes ``diag(1 / w)``, and n their sum. ``K`` saves the gram matrix where it is at hand already, ``memory`` an n x n allocation.
    """
    n = len(Y)
    shift = diagonal_shift(regularization, Y, weights)

    def assemble(jitter: float) -> Tensor:
        nonlocal memory
        if K is None:
            memory = assemble_gram(kernel, A, shift + jitter, memory)
        else:
            memory = torch.empty(n, n, dtype=Y.dtype, device=Y.device) if memory is None else memory
            memory.copy_(K).diagonal().copy_(kernel.norms(A)).add_(shift + jitter)
        return memory

    with torch.no_grad():
        factor = factorize(assemble, unit=float(kernel.norms(A).max()))
        assert memory is not None
        return DualSolution(factor, factor.solve(Y), memory)


# Numbers of a gram matrix that an accelerator takes in one piece: starting many small kernels
# costs more there than memory that is written twice.
_WHOLE = 2**26
_ROWS = 256  # of a sensitivity formed at a time, where only one half of it is needed


def supremum_or_largest(kernel: Kernel, A: Any) -> Any:
    """The paper's alpha squared, ``sup k(x, x)``; where there is none, its largest value on the rows at hand.

    For a convex ``k(x, x)``, as of linear and polynomial kernels, that is the supremum over
    the convex hull of the rows.
    """
    try:
        return kernel.supremum()
    except NoSupremum:
        return kernel.norms(A).max()


def _number(value: Any) -> float:
    return float(value.detach()) if isinstance(value, Tensor) else float(value)


def _leaf(representation: Any) -> Any:
    """The representation cut from the tape: parts with a gradient become leaves of their own."""
    if isinstance(representation, tuple):
        return tuple(_leaf(part) for part in representation)
    if isinstance(representation, Tensor) and representation.requires_grad:
        return representation.detach().requires_grad_()
    return representation


def _hand_on(leaf: Any, representation: Any) -> None:
    """Pass the gradients that reached the leaves on to what the representation was made of."""
    if isinstance(leaf, tuple):
        for part, origin in zip(leaf, representation, strict=True):
            _hand_on(part, origin)
    elif isinstance(leaf, Tensor) and leaf.grad is not None:
        representation.backward(leaf.grad)


class Sensitivity(NamedTuple):
    """``dq/dA = -(U V' + V U') / 2 - C diag(g) C'``; without rows left out C and g are None."""

    U: Tensor
    V: Tensor
    C: Tensor | None
    g: Tensor | None

    def upper(self, start: int, stop: int) -> Tensor:
        """Rows start:stop from column start on; what is below the diagonal counts here, twice."""
        left = torch.cat([self.U[start:stop], self.V[start:stop]], dim=1)
        right = torch.cat([self.V[start:], self.U[start:]], dim=1)
        S = torch.mm(left, right.mT).mul_(-0.5)
        if self.C is not None and self.g is not None:
            S.addmm_(self.C[start:stop] * self.g, self.C[start:].mT, alpha=-1.0)
        S[:, stop - start :] *= 2.0
        return S


class Dual:
    """Evaluates objectives of kernels; keeps n x n memory from one step to the next."""

    def __init__(self) -> None:
        self._memory: Tensor | None = None  # of the gram matrix and its factor
        self._inverse: Tensor | None = None

    def scale(self, kernel: Kernel, X: Any, Y: Tensor) -> float:
        """The size of ``k(x, x)``."""
        with torch.no_grad():
            return float(supremum_or_largest(kernel, kernel.represent(X)))

    def evaluate(
        self,
        kernel: Kernel,
        regularization: Tensor,
        X: Any,
        Y: Tensor,
        objective: Objective,
        judged: Tensor | None = None,
        held_out: tuple[Any, Tensor, Tensor | None] | None = None,
        weights: Tensor | None = None,
    ) -> Terms:
        """The terms at this kernel; gradients are left in the leaves of kernel and regularization.

        ``judged`` are the rows that leave-one-out judges (None: all), ``held_out`` a second
        table, with its labels and weights, on which the risk is measured instead (eq. 10).
        """
        n = len(Y)
        whole = kernel.represent(X)
        A = _leaf(whole)
        shift = diagonal_shift(regularization, Y, weights)
        room = BLOCK if Y.device.type == "cpu" else _WHOLE
        taped = kernel.compare(A, A) if n * n <= room else None
        alpha_squared = objective.alpha_squared(lambda: supremum_or_largest(kernel, A))
        if self._memory is not None and len(self._memory) != n:
            self._memory = self._inverse = None
        factor, V, self._memory = solve_dual(
            kernel, _number(regularization), A, Y, weights=weights, K=taped, memory=self._memory
        )

        V.requires_grad_()
        P = Y - shift[..., None] * V
        target, counted, C, c = Y, weights, None, None
        if held_out is not None:
            others = kernel.represent(held_out[0])
            P_judged, target, counted = kernel.compare(others, A) @ V, held_out[1], held_out[2]
        elif objective.leaves_out:
            C = factor.inverse_columns(judged, self._inverse)
            self._inverse = C if judged is None else None
            at = torch.arange(n, device=Y.device) if judged is None else judged
            c = C[at, torch.arange(len(at), device=Y.device)].clone().requires_grad_()
            target, counted = Y[at], part(weights, at)
            if counted is None:
                P_judged = target - V[at] / c[:, None]
            else:
                s, once = shift[at], one_copy(counted)
                P_judged = target - V[at] * (s / (1 - once + once * s * c))[:, None]
        else:
            P_judged = P
        complexity = square_root(alpha_squared * (V * P).sum())
        terms = objective(P_judged, target, complexity, total(Y, weights), counted)
        terms.objective.backward()

        with torch.no_grad():
            G = V.grad if V.grad is not None else torch.zeros_like(V)
            V = V.detach()
            U = factor.solve(G)
            g = None if c is None else c.grad
            if regularization.requires_grad:
                known = 0.0 if regularization.grad is None else regularization.grad
                diagonal = -(U * V).sum(dim=1)  # of dq/dA
                if C is not None and g is not None:
                    for start, stop in _strips(n):
                        diagonal[start:stop] -= C[start:stop].square() @ g
                slope = diagonal_shift(1.0, Y, weights)  # of the shift in lambda
                regularization.grad = known + (slope * diagonal).sum()
        self._pull_back(kernel, A, taped, Sensitivity(U, V, C, g))
        _hand_on(A, whole)
        return Terms(*(_number(term) for term in terms))

    @staticmethod
    def _pull_back(kernel: Kernel, A: Any, taped: Tensor | None, S: Sensitivity) -> None:
        """Contract the sensitivity to K with dK, block by block."""
        n = count(A)
        if taped is not None:
            if taped.requires_grad:
                whole = torch.zeros(n, n, dtype=taped.dtype, device=taped.device)
                for start in range(0, n, _ROWS):
                    stop = min(start + _ROWS, n)
                    whole[start:stop, start:] = S.upper(start, stop)
                torch.autograd.backward(taped, whole)
            return
        for start, stop in _strips(n):
            block = kernel.compare(rows(A, start, stop), rows(A, start, n))
            if not block.requires_grad:
                return
            torch.autograd.backward(block, S.upper(start, stop))
