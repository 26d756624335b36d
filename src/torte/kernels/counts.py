"""Kernels of counts: how often which pieces occur in two objects, layer by layer.

The pieces of strings are substrings, those of graphs the neighborhoods of their nodes; a
layer holds all pieces of one size. Each layer's counts have length one, so that

    k(x, y) = S(x, y) / sqrt(S(x, x) S(y, y)),   S(x, y) = sum_l w_l <c_l(x), c_l(y)>

has ``k(x, x) = 1``. Counts are sparse, and are made once for a whole table: what learning
changes is only the weights. Every set of counts carries the pieces it was made of, so that
two of them are compared exactly, whatever either has not seen.
"""

from __future__ import annotations

import weakref
from abc import ABC, abstractmethod
from collections.abc import Hashable, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field, replace
from typing import Any, Self

import numpy as np
import torch
from scipy.sparse import coo_array, csr_array
from torch import Tensor

from torte._forms import savable
from torte.errors import InvalidInput
from torte.kernels.base import Domain, Kernel
from torte.objects import Objects, Part

__all__ = ["Counting", "Counts", "Pieces", "count_pieces"]

_KEPT = 2**26  # numbers of products kept from one step of learning to the next (512 MiB)
_BLOCK = 2**21  # numbers in one block of a product
_RATIO = 100.0  # a sparse multiplication costs as much as so many in a dense product


class Pieces(ABC):
    """The pieces that columns of counts stand for, layer by layer."""

    @abstractmethod
    def places(self, other: Self) -> list[np.ndarray]:
        """For each layer the columns that these pieces have in the other's counts; -1: none."""


@dataclass(frozen=True, eq=False)
class Counts(Part):
    """One sparse matrix (n x pieces) for each layer, every row of length one or zero.

    ``home`` is the table they were made for, ``start`` their first row there: products
    within one table are kept with it while it lives.
    """

    layers: tuple[csr_array, ...]
    pieces: Pieces
    home: Any = field(default=None, repr=False)
    start: int = 0

    def __len__(self) -> int:
        return self.layers[0].shape[0]

    def __getitem__(self, at: Any) -> Self:
        if isinstance(at, slice):
            first, stop, step = at.indices(len(self))
            assert step == 1
            cut = tuple(layer[first:stop] for layer in self.layers)
            return replace(self, layers=cut, start=self.start + first)
        chosen = tuple(layer[np.asarray(at)] for layer in self.layers)
        return replace(self, layers=chosen, home=None, start=0)

    def __getstate__(self) -> dict[str, Any]:
        return {"layers": self.layers, "pieces": self.pieces, "home": None, "start": 0}

    def __setstate__(self, state: dict[str, Any]) -> None:
        for name, value in state.items():
            object.__setattr__(self, name, value)

    def nonempty(self) -> np.ndarray:
        """Whether a row has any piece in a layer (n x layers)."""
        return np.stack([np.diff(layer.indptr) > 0 for layer in self.layers], axis=1)


def _sparse(fields: dict[str, Any]) -> csr_array:
    matrix = csr_array((fields["data"], fields["indices"], fields["indptr"]), fields["shape"])
    matrix.check_format(full_check=True)  # products trust the indices
    return matrix


def _counts(fields: dict[str, Any]) -> Counts:
    layers, pieces = fields["layers"], fields["pieces"]
    if not isinstance(pieces, Pieces) or not all(isinstance(M, csr_array) for M in layers):
        raise InvalidInput(f"counts must be sparse matrices of pieces, got {type(pieces).__name__}")
    return Counts(layers, pieces)


savable(
    csr_array,
    lambda M: {"data": M.data, "indices": M.indices, "indptr": M.indptr, "shape": M.shape},
    _sparse,
)
savable(Counts, lambda counts: {"layers": counts.layers, "pieces": counts.pieces}, _counts)


def count_pieces(rows: np.ndarray, pieces: np.ndarray, shape: tuple[int, int]) -> csr_array:
    """Counts of pieces (one row number and one column number for each), rows of length one."""
    counts = coo_array((np.ones(len(rows)), (rows, pieces)), shape=shape).tocsr()
    lengths = np.sqrt(np.add.reduceat(np.append(counts.data**2, 0.0), counts.indptr[:-1]))
    each = np.diff(counts.indptr)
    counts.data /= np.repeat(np.where(each > 0, lengths, 1.0), each)
    return counts


def _aligned(layer: csr_array, places: np.ndarray, width: int) -> csr_array:
    """The same counts in another's columns; pieces unknown there go to one column beyond."""
    columns = np.where(places < 0, width, places)[layer.indices]
    return csr_array((layer.data, columns, layer.indptr), shape=(layer.shape[0], width + 1))


def _product(a: csr_array, b: csr_array) -> Tensor:
    """``a b'`` as a dense matrix: frequent pieces by a dense product, rare ones by a sparse one."""
    width = b.shape[1]
    in_a = np.bincount(a.indices, minlength=width + 1)[:width]
    in_b = np.bincount(b.indices, minlength=width)
    frequent = np.flatnonzero(_RATIO * in_a * in_b > a.shape[0] * float(b.shape[0]))
    rare = np.ones(a.shape[1], dtype=bool)
    rare[frequent] = False
    right = torch.as_tensor(b[:, frequent].toarray()).mT
    few = _only(b, rare[:width]).T.tocsr()
    product = torch.empty(a.shape[0], b.shape[0], dtype=torch.float64)
    height = max(1, _BLOCK // max(1, b.shape[0]))

    def fill(start: int) -> None:
        part = a[start : start + height]
        out = product[start : start + height]
        torch.mm(torch.as_tensor(part[:, frequent].toarray()), right, out=out)
        out += torch.as_tensor((_only(part, rare)[:, :width] @ few).toarray())

    with ThreadPoolExecutor(torch.get_num_threads()) as pool:
        list(pool.map(fill, range(0, a.shape[0], height)))
    return product


def _only(counts: csr_array, chosen: np.ndarray) -> csr_array:
    """The same counts with zeros left out everywhere but in the chosen columns."""
    keep = chosen[counts.indices]
    indptr = np.concatenate([[0], np.cumsum(keep)])[counts.indptr]
    return csr_array((counts.data[keep], counts.indices[keep], indptr), shape=counts.shape)


def products(A: Counts, B: Counts) -> Any:
    """``<c_l(a_i), c_l(b_j)>``, one dense matrix (n x k) after another, layer by layer."""
    table = A.home() if A.home is not None and A.home is B.home else None
    same = A.pieces is B.pieces
    places = None if same else A.pieces.places(B.pieces)
    for i, (a, b) in enumerate(zip(A.layers, B.layers, strict=True)):
        key: Hashable = ("product", id(A.pieces), A.start, len(A), B.start, len(B), i)
        if table is not None and key in table.products:
            yield table.products[key]
            continue
        a = a if places is None else _aligned(a, places[i], b.shape[1])
        product = _product(a, b)
        if table is not None and table.kept + product.numel() <= _KEPT:
            table.products[key] = product
            table.kept += product.numel()
        yield product


class _Weighted(torch.autograd.Function):
    """``sum_l w_l <c_l(a_i), c_l(b_j)>``; with the sensitivity M ``dw_l = <M, c_l(A) c_l(B)'>``."""

    @staticmethod
    def forward(ctx: Any, weights: Tensor, A: Counts, B: Counts) -> Tensor:
        ctx.A, ctx.B, ctx.like = A, B, weights
        S = torch.zeros(len(A), len(B), dtype=torch.float64)
        for weight, product in zip(weights.tolist(), products(A, B), strict=True):
            S.add_(product, alpha=weight)
        return S.to(weights)

    @staticmethod
    def backward(ctx: Any, M: Tensor) -> tuple[Tensor, None, None]:
        M = M.to(device="cpu", dtype=torch.float64)
        slopes = [torch.vdot(M.flatten(), P.flatten()) for P in products(ctx.A, ctx.B)]
        return torch.stack(slopes).to(ctx.like), None, None


class Counting(Kernel):
    """A kernel of weighted layers of counts with ``k(x, x) = 1``; write `tally`.

    An object that is too small to have a piece in any layer has ``k(x, .) = 0``.
    """

    weights: float | tuple[float, ...] | None  # a field of every subclass, one for each layer

    takes = "objects"

    def _spread_weights(self, layers: int) -> None:
        """One number becomes one for each layer; another number of them is refused."""
        weights: Any = 1.0 if self.weights is None else self.weights
        if np.ndim(weights) == 0:
            weights = (weights,) * layers
        if len(weights) != layers:
            raise InvalidInput(
                f"`weights` of {type(self).__name__} must be one positive number for each of its {layers} layers, got {len(weights)}."
            )
        object.__setattr__(self, "weights", weights)

    @abstractmethod
    def tally(self, items: Sequence[Any]) -> Counts:
        """The counts of some objects, one layer for each weight."""

    @abstractmethod
    def _told(self) -> Hashable:
        """All that `tally` depends on beside the objects."""

    @abstractmethod
    def _makes(self, pieces: Pieces) -> bool:
        """Whether `tally` makes such pieces: of the same kind, in the same layers."""

    def represent(self, X: Objects) -> Any:
        counts = X.once(("counts", type(self), self._told()), lambda whole: self.tally(whole.items))
        return X.tensor(counts.nonempty()), replace(counts, home=weakref.ref(X))

    def _lengths(self, A: Any) -> tuple[Tensor, Tensor]:
        """``1 / sqrt(S(a, a))`` (0 where that is 0), and the weights, on the tape."""
        weights = torch.as_tensor(self.weights, dtype=A[0].dtype, device=A[0].device)
        S = A[0] @ weights
        return torch.where(S > 0, S.clamp(min=torch.finfo(S.dtype).tiny).rsqrt(), 0.0), weights

    def compare(self, A: Any, B: Any) -> Tensor:
        if not (self._makes(A[1].pieces) and self._makes(B[1].pieces)):  # only a file has others
            raise InvalidInput(f"its counts are not those of {self!r}")
        left, weights = self._lengths(A)
        right, _ = self._lengths(B)
        S = _Weighted.apply(weights, A[1], B[1])  # type: ignore[no-untyped-call]
        return S * left[:, None] * right[None, :]

    def norms(self, A: Any) -> Tensor:
        return A[0].amax(dim=1)

    def supremum(self, domain: Domain = None) -> Any:
        return 1.0
