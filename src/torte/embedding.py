"""The conditional embedding: a lift of rows, weights behind it, and probabilities from it."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, NamedTuple

import torch
from torch import Tensor

from torte.kernels.base import Kernel, count, rows
from torte.solvers import Factor, factorize

__all__ = [
    "BLOCK",
    "ConditionalEmbedding",
    "Conditioned",
    "clip_normalize",
    "condition",
    "gram_blocks",
    "smooth_clip",
]

BLOCK = 2**20  # numbers in one block of a gram matrix: it stays in the cache while it is worked on


def smooth_clip(P: Tensor, epsilon: float) -> Tensor:
    """``p`` where ``p >= epsilon``, else ``epsilon^2 / (2 epsilon - p)``.

    Positive, strictly increasing, with a continuous slope: nothing becomes exactly zero,
    the order of the classes is that of ``p``, and a gradient passes everywhere.
    """
    tail = epsilon * epsilon / (2 * epsilon - P.clamp(max=epsilon))
    return torch.where(epsilon <= P, P, tail)


def clip_normalize(P: Tensor, epsilon: float) -> Tensor:
    """Probabilities (n x m) from the raw ``p_hat``: the paper's clip-normalization with a floor."""
    clipped = smooth_clip(P, epsilon)
    return clipped / clipped.sum(dim=1, keepdim=True)


def gram_blocks(n: int, width: int | None = None) -> list[tuple[int, int]]:
    """Row ranges that cut an ``n x width`` gram matrix into blocks of about `BLOCK` numbers."""
    height = max(1, BLOCK // max(1, n if width is None else width))
    return [(start, min(start + height, n)) for start in range(0, n, height)]


@dataclass(frozen=True)
class ConditionalEmbedding:
    """``p_hat(x) = weights' lift(x)``, where lift(x) compares x to the anchors.

    For a kernel the anchors are the training rows and ``weights = (K + n lambda I)^-1 Y``.
    ``epsilon`` is the floor of its probabilities.
    """

    kernel: Kernel
    anchors: Any
    weights: Tensor
    epsilon: float

    def decision_probabilities(self, X: Any) -> Tensor:
        """The raw ``p_hat`` (n x m), block by block in bounded memory."""
        n = len(X)
        with torch.no_grad():
            P = torch.empty(
                n, self.weights.shape[1], dtype=self.weights.dtype, device=self.weights.device
            )
            for start, stop in gram_blocks(n, count(self.anchors)):
                lifted = self.kernel.compare(self.kernel.represent(X[start:stop]), self.anchors)
                torch.mm(lifted, self.weights, out=P[start:stop])
        return P

    def probabilities(self, X: Any) -> Tensor:
        """Clip-normalized probabilities (n x m)."""
        return clip_normalize(self.decision_probabilities(X), self.epsilon)


class Conditioned(NamedTuple):
    """One solve: the factor of ``A = K + n lambda I``, ``V = A^-1 Y``, and the memory they are in."""

    factor: Factor
    V: Tensor
    memory: Tensor


def assemble_gram(kernel: Kernel, A: Any, shift: float, out: Tensor | None = None) -> Tensor:
    """``K + shift I`` for the rows of one representation; only its upper triangle is filled."""
    n = count(A)
    with torch.no_grad():
        for start, stop in gram_blocks(n):
            block = kernel.compare(rows(A, start, stop), rows(A, start, n))
            if out is None:
                out = torch.empty(n, n, dtype=block.dtype, device=block.device)
            out[start:stop, start:] = block
        assert out is not None
        out.diagonal().copy_(kernel.norms(A)).add_(shift)
    return out


def condition(
    kernel: Kernel,
    regularization: float,
    A: Any,
    Y: Tensor,
    *,
    K: Tensor | None = None,
    memory: Tensor | None = None,
) -> Conditioned:
    """``V = (K + n lambda I)^-1 Y`` (n x m) for the rows of a representation A.

    ``K`` saves the gram matrix where it is at hand already, ``memory`` an n x n allocation.
    """
    n = len(Y)
    shift = n * regularization

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
        return Conditioned(factor, factor.solve(Y), memory)
