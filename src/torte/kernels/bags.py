"""Kernels between bags of vectors: sets, samples of distributions, instances of one object."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Self

import numpy as np
import torch
from torch import Tensor
from torch.utils.checkpoint import checkpoint

from torte.errors import InvalidInput
from torte.kernels.base import Domain, Kernel
from torte.objects import Objects, Part

__all__ = ["Bags", "MeanEmbedding"]

_BLOCK = 2**22  # values of the inner kernel at a time


@dataclass(frozen=True, eq=False)
class Bags(Part):
    """All points of n bags one after another (N x d), and where each bag begins (n + 1)."""

    points: Tensor
    begins: Tensor

    def __len__(self) -> int:
        return len(self.begins) - 1

    def __getitem__(self, at: Any) -> Self:
        if isinstance(at, slice):
            first, stop, _ = at.indices(len(self))
            begins = self.begins[first : max(first, stop) + 1]
            return type(self)(self.points[begins[0] : begins[-1]], begins - begins[0])
        at = torch.as_tensor(at)
        sizes = self.sizes[at]
        begins = torch.cat([torch.zeros_like(sizes[:1]), sizes.cumsum(0)])
        within = torch.arange(int(begins[-1])) - begins[:-1].repeat_interleave(sizes)
        return type(self)(self.points[self.begins[at].repeat_interleave(sizes) + within], begins)

    @property
    def sizes(self) -> Tensor:
        """Points of each bag."""
        return self.begins.diff()

    def average(self, values: Tensor) -> Tensor:
        """Means over each bag of rows that belong to its points (N x k to n x k)."""
        sizes = self.sizes
        member = torch.arange(len(self)).repeat_interleave(sizes).to(values.device)
        sums = values.new_zeros(len(self), values.shape[1]).index_add(0, member, values)
        return sums / sizes.to(values)[:, None]

    def parts(self, most: float) -> list[Self]:
        """The bags in groups of at most so many points, or of one bag."""
        groups, start = [], 0
        begins = self.begins.tolist()
        for stop in range(1, len(self) + 1):
            if stop == len(self) or begins[stop + 1] - begins[start] > most:
                groups.append(self[start:stop])
                start = stop
        return groups


def _gathered(items: Sequence[Any], like: Objects) -> Bags:
    bags: list[np.ndarray] = []
    for row, item in enumerate(items):
        try:
            bag = np.asarray(item, dtype=np.float64)
        except (TypeError, ValueError) as error:
            raise InvalidInput(
                f"X must hold bags of vectors, arrays of k x d numbers, got {type(item).__name__} in row {row} ({error})."
            ) from error
        if bag.ndim != 2 or (bags and bag.shape[1] != bags[0].shape[1]):
            wanted = f"k x {bags[0].shape[1]}" if bags else "k x d"
            raise InvalidInput(
                f"X must hold bags of vectors, arrays of {wanted} numbers, got shape {bag.shape} in row {row}."
            )
        if len(bag) == 0:
            raise InvalidInput(
                f"X must hold bags with at least one vector each, got an empty bag in row {row}; drop such rows."
            )
        if not np.isfinite(bag).all():
            raise InvalidInput(
                f"X must hold bags of finite numbers, got NaN or infinity in row {row}; drop such vectors."
            )
        bags.append(bag)
    begins = np.concatenate([[0], np.cumsum([len(bag) for bag in bags])])
    return Bags(like.tensor(np.concatenate(bags)), torch.as_tensor(begins))


@dataclass(frozen=True)
class MeanEmbedding(Kernel):
    """``k(P, Q) = mean over x in P, y in Q of inner(x, y)``, the inner product of mean embeddings.

    A row of X is a bag: an array of k x d numbers, where k may differ from row to row. The
    hyperparameters of the inner kernel are learned. ``GaussianOf(MeanEmbedding(inner))`` is a
    Gaussian of the distance of embeddings, the maximum mean discrepancy of two samples.

    >>> import numpy as np
    >>> from torte.kernels import Linear, MeanEmbedding
    >>> MeanEmbedding(Linear())([np.array([[1.0], [3.0]]), np.array([[5.0]])])
    array([[ 4., 10.],
           [10., 25.]])
    """

    inner: Kernel

    takes = "objects"

    def __post_init__(self) -> None:
        if not isinstance(self.inner, Kernel) or self.inner.takes not in (
            "vectors",
            "columns",
            "anything",
        ):
            raise InvalidInput(
                f"`inner` of MeanEmbedding must be a kernel on vectors, such as Gaussian(), got {self.inner!r}."
            )

    def represent(self, X: Objects) -> Any:
        return X.once("bags", lambda whole: _gathered(whole.items, whole))

    def prepare(self, X: Any, columns: Sequence[str] | None, generator: torch.Generator) -> Self:
        return self.substitute(
            {("inner",): self.inner.prepare(self.represent(X).points, None, generator)}
        )

    def _means(self, A: Bags, B: Bags) -> Tensor:
        inner = self.inner
        K = inner.compare(inner.represent(A.points), inner.represent(B.points))
        return B.average(A.average(K).mT).mT

    def compare(self, A: Bags, B: Bags) -> Tensor:
        if A.points.shape[1] != B.points.shape[1]:
            raise InvalidInput(
                f"X must hold bags of vectors with {B.points.shape[1]} numbers each, got {A.points.shape[1]}."
            )
        groups = A.parts(_BLOCK / max(1, len(B.points)))
        if len(groups) == 1 or not torch.is_grad_enabled():
            return torch.cat([self._means(group, B) for group in groups])
        # The tape keeps the small result and forms the inner kernel's values a second time.
        return torch.cat(
            [
                checkpoint(self._means, group, B, use_reentrant=False, preserve_rng_state=False)
                for group in groups
            ]
        )

    def norms(self, A: Bags) -> Tensor:
        return torch.cat([self._means(group, group).diagonal() for group in A.parts(256)])

    def supremum(self, domain: Domain = None) -> Any:
        return self.inner.supremum(domain)
