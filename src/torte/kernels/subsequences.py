"""The gap-weighted subsequence kernel: symbols in the same order, however far apart."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Self

import numpy as np
import torch
from torch import Tensor

from torte.errors import InvalidInput
from torte.kernels.base import Domain, Kernel
from torte.kernels.strings import encode
from torte.objects import Objects, Part
from torte.parameters import fraction

__all__ = ["Alphabet", "Subsequence"]

_WIDEST = 2**15  # features of a string
_BLOCK = 2**20  # numbers at a time on the way to features
_ROWS = 512


@dataclass(frozen=True, eq=False)
class Alphabet(Part):
    """The symbols that features stand for, the same for all of n rows."""

    symbols: tuple[Any, ...]
    n: int

    def __len__(self) -> int:
        return self.n

    def __getitem__(self, at: Any) -> Self:
        return type(self)(self.symbols, len(range(self.n)[at] if isinstance(at, slice) else at))

    def places(self, other: Alphabet, length: int) -> tuple[Tensor, Tensor]:
        """Features of common symbols only: their columns here, and the same ones there."""
        theirs = {symbol: place for place, symbol in enumerate(other.symbols)}
        both = [(i, theirs[symbol]) for i, symbol in enumerate(self.symbols) if symbol in theirs]
        here, there = torch.tensor(both, dtype=torch.long).reshape(-1, 2).unbind(dim=1)
        mine, known = here, there
        for _ in range(length - 1):
            mine = (mine[:, None] * len(self.symbols) + here[None, :]).flatten()
            known = (known[:, None] * len(other.symbols) + there[None, :]).flatten()
        return mine, known


@dataclass(frozen=True, eq=False)
class Codes(Part):
    """Strings as rows of numbers of symbols (n x longest), -1 after their end."""

    table: Tensor
    alphabet: Alphabet

    def __len__(self) -> int:
        return len(self.table)

    def __getitem__(self, at: Any) -> Self:
        return type(self)(self.table[at], self.alphabet[at])


def _encoded(items: Sequence[Any]) -> Codes:
    codes, begins, symbols = encode(items)
    lengths = np.diff(begins)
    table = np.full((len(items), int(lengths.max(initial=0))), -1)
    table[np.arange(table.shape[1]) < lengths[:, None]] = codes
    return Codes(torch.as_tensor(table), Alphabet(tuple(symbols), len(items)))


def _features(
    decay: float, table: Tensor, size: int, length: int, slopes: bool
) -> tuple[Tensor, Tensor]:
    """``phi_u = sum_{i_1 < ... < i_p, s_i = u} decay^(i_p - i_1 + 1)`` (n x size^p), and its slope.

    Let O (L x a) say which symbol stands where, and ``D_ts = decay^(t - s)`` for s < t. Subsequences
    of q symbols that end before t, decayed until t, are ``G_q = D (O * G_{q-1})`` with
    ``G_0 = decay`` and * the products of all columns, place by place; so ``phi = (D' O)' (O * G_{p-2})``.
    The slope in the decay is the same with D and G replaced by theirs, one after the other.
    """
    n, longest = table.shape
    O = torch.nn.functional.one_hot(table + 1, size + 1)[:, :, 1:].double()
    apart = (torch.arange(longest)[:, None] - torch.arange(longest)[None, :]).double().tril()
    D = torch.where(apart > 0, decay**apart, 0.0)
    dD = apart * D / decay
    G, dG = torch.full((n, longest, 1), decay, dtype=O.dtype), torch.ones(n, longest, 1).to(O)
    for _ in range(length - 2):
        F = _by_place(O, G)
        if slopes:
            dG = dD @ F + D @ _by_place(O, dG)
        G = D @ F
    F, S = _by_place(O, G), (D.mT @ O).mT
    phi = (S @ F).reshape(n, -1)
    if not slopes:
        return phi, phi
    return phi, ((dD.mT @ O).mT @ F + S @ _by_place(O, dG)).reshape(n, -1)


def _by_place(O: Tensor, G: Tensor) -> Tensor:
    return (O[:, :, :, None] * G[:, :, None, :]).flatten(start_dim=2)


class _Normalized(torch.autograd.Function):
    """``z = phi / |phi|`` and ``dz = (dphi - z <z, dphi>) / |phi|`` for the one parameter there is."""

    @staticmethod
    def forward(ctx: Any, decay: Tensor, table: Tensor, size: int, length: int) -> Tensor:
        Z = torch.empty(len(table), size**length, dtype=torch.float64)
        dZ = torch.empty_like(Z) if ctx.needs_input_grad[0] else None
        height = max(1, _BLOCK // (table.shape[1] * size ** max(1, length - 1)))
        for start in range(0, len(table), height):
            block = slice(start, start + height)
            part = table[block]
            part = part[:, : int((part >= 0).sum(dim=1).max())]

            phi, slope = _features(decay.item(), part, size, length, dZ is not None)
            norm = phi.square().sum(dim=1, keepdim=True).sqrt()
            norm = torch.where(norm > 0, norm, 1.0)  # too short for a single subsequence
            torch.div(phi, norm, out=Z[block])
            if dZ is not None:
                along = (Z[block] * slope).sum(dim=1, keepdim=True)
                dZ[block] = (slope - Z[block] * along) / norm
        ctx.dZ, ctx.like = dZ, decay
        return Z.to(decay)

    @staticmethod
    def backward(ctx: Any, G: Tensor) -> tuple[Tensor, None, None, None]:
        slope = torch.vdot(G.to(ctx.dZ).flatten(), ctx.dZ.flatten())
        return slope.to(ctx.like), None, None, None


def _own_gram(Z: Tensor) -> Tensor:
    """``Z Z'``: one half by products, the other by symmetry."""
    K = Z.new_empty(len(Z), len(Z))
    for start in range(0, len(Z), _ROWS):
        stop = min(start + _ROWS, len(Z))
        K[start:stop, start:] = Z[start:stop] @ Z[start:].mT
        K[stop:, start:stop] = K[start:stop, stop:].mT
    return K


@dataclass(frozen=True)
class Subsequence(Kernel):
    """Common subsequences, gaps allowed: ``k(x, y) ~ sum_u phi_u(x) phi_u(y)``, ``k(x, x) = 1``.

    ``phi_u(x) = sum decay^(i_p - i_1 + 1)`` over all places ``i_1 < ... < i_p`` in x where the
    symbols u stand (Lodhi et al., 2002); the decay is learned. Rows are strings or lists of
    symbols; one too short for a single subsequence has ``k(x, .) = 0``.

    All ``a^length`` features of an alphabet of a symbols are formed, in time proportional to
    the length of a string, so a must be small where ``length`` is not: 181 symbols for a
    length of 2, 32 for 3, 13 for 4.

    >>> from torte.kernels import Subsequence
    >>> Subsequence(2, decay=0.5)(["cat", "car", "cart"]).round(3)
    array([[1.   , 0.444, 0.574],
           [0.444, 1.   , 0.795],
           [0.574, 0.795, 1.   ]])
    """

    length: int = 2
    decay: float = fraction(0.5)

    takes = "objects"

    def __post_init__(self) -> None:
        super().__post_init__()
        if not isinstance(self.length, (int, np.integer)) or self.length < 2:
            raise InvalidInput(
                f"`length` of Subsequence must be a whole number of at least 2, got {self.length!r}."
            )

    def represent(self, X: Objects) -> Any:
        codes = X.once("codes of symbols", lambda whole: _encoded(whole.items))
        size = len(codes.alphabet.symbols)
        if size**self.length > _WIDEST:
            raise InvalidInput(
                f"`length` of Subsequence is {self.length}, which on the {size} different symbols of X gives {size**self.length} "
                f"features, more than {_WIDEST}; give a smaller length, fewer symbols (lower case, no accents), or use Spectrum."
            )
        decay = torch.as_tensor(self.decay, dtype=X.dtype, device=X.device)
        Z = _Normalized.apply(decay, codes.table, size, self.length)  # type: ignore[no-untyped-call]
        return Z, codes.alphabet

    def compare(self, A: Any, B: Any) -> Tensor:
        Z = A[0]
        if A[1].symbols != B[1].symbols:
            mine, known = A[1].places(B[1], self.length)
            Z = torch.zeros(len(Z), B[0].shape[1], dtype=Z.dtype, device=Z.device)
            Z[:, known] = A[0][:, mine]
        same = A[0] is B[0] and not Z.requires_grad
        return _own_gram(Z) if same else Z @ B[0].mT

    def norms(self, A: Any) -> Tensor:
        return A[0].square().sum(dim=1)

    def supremum(self, domain: Domain = None) -> Any:
        return 1.0
