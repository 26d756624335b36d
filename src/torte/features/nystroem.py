"""Nystroem features: rows compared to landmarks, whitened."""

from __future__ import annotations

import math
import warnings
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple, Self

import numpy as np
import torch
from torch import Tensor

from torte.errors import InvalidInput, JitterWarning, NotPositiveDefinite
from torte.features.landmarks import CHOICES, choose
from torte.kernels.base import Kernel
from torte.kernels.default import DEFAULT_KERNEL
from torte.maps import Domain, FeatureMap
from torte.parameters import Leaf, drawn
from torte.resources import widest

__all__ = ["Nystroem"]

_BLOCK = 512  # columns whitened at a time, where no gradient is wanted
_ROUNDINGS = 100  # on the diagonal of the landmarks' gram matrix
_RUNGS = 7  # it grows tenfold from there


class Landmarks(NamedTuple):
    """Landmarks in the kernel's form, and the Cholesky factor of their gram matrix.

    ``inverses`` are those of its diagonal blocks, where there are many and no gradient is wanted.
    """

    anchors: Any
    factor: Tensor
    inverses: list[Tensor]


@dataclass(frozen=True)
class Nystroem(FeatureMap):
    """``phi(x) = L^-1 k(landmarks, x)`` with ``L L' = k(landmarks, landmarks)``.

    ``phi(x) . phi(y)`` is the kernel's projection on the span of the landmarks: exact where x
    or y is one. Any kernel; its hyperparameters are learned through the map.

    Parameters
    ----------
    kernel : Kernel
        The kernel to approximate.
    n_components : int
        Number of landmarks; all rows where there are fewer.
    landmarks : "uniform", "k-means", "herding", "pivoted" or array
        Random rows; centers of clusters, or the rows nearest them where rows are not numbers
        alone; kernel herding; randomly pivoted Cholesky; or given rows (p x d).
    learned : bool
        Whether the landmarks themselves move with the gradient.

    >>> import numpy as np, torch
    >>> from torte.features import Nystroem
    >>> from torte.kernels import Gaussian
    >>> X = np.random.default_rng(0).normal(size=(12, 2))
    >>> Z = Nystroem(Gaussian(1.0), landmarks=X)(X)
    >>> bool(np.allclose(Z @ Z.T, Gaussian(1.0)(X)))
    True
    """

    kernel: Kernel = DEFAULT_KERNEL
    n_components: int = 512
    landmarks: Any = "uniform"
    learned: bool = False
    points: np.ndarray | None = drawn()

    def __post_init__(self) -> None:
        super().__post_init__()
        if not isinstance(self.kernel, Kernel):
            raise InvalidInput(f"`kernel` of Nystroem must be a kernel, got {self.kernel!r}.")
        if not isinstance(self.n_components, int) or self.n_components < 1:
            raise InvalidInput(
                f"`n_components` of Nystroem must be a whole number of at least 1, got {self.n_components!r}."
            )
        if isinstance(self.landmarks, str):
            if self.landmarks not in CHOICES:
                raise InvalidInput(
                    f"`landmarks` of Nystroem must be {', '.join(map(repr, CHOICES))} or an array of rows, got {self.landmarks!r}."
                )
            return
        given = np.asarray(self.landmarks, dtype=np.float64)
        if given.ndim != 2 or len(given) == 0:
            raise InvalidInput(
                f"`landmarks` of Nystroem must be a table of rows (p x d), got an array of shape {given.shape}."
            )
        # A tuple of tuples: the value stays frozen, comparable and hashable.
        object.__setattr__(self, "landmarks", tuple(map(tuple, given.tolist())))
        if self.points is None:
            object.__setattr__(self, "points", given)

    def prepare(self, X: Tensor, columns: Sequence[str] | None, generator: torch.Generator) -> Self:
        kernel = self.kernel.prepare(X, columns, generator)
        points = self.points
        if points is None:
            points = (
                choose(self.landmarks, kernel, X, self.n_components, generator)
                .cpu()
                .double()
                .numpy()
            )
        elif points.shape[1] != X.shape[1]:
            raise InvalidInput(
                f"`landmarks` of Nystroem has {points.shape[1]} columns, but X has {X.shape[1]}."
            )
        return self.substitute({("kernel",): kernel, ("points",): points})

    def leaves(self) -> Iterator[Leaf]:
        yield from super().leaves()
        if self.learned and self.points is not None:
            yield Leaf.of(("points",), "real", self.points)

    def settle(self, like: Tensor) -> Landmarks:
        if self.points is None:
            raise InvalidInput(
                "Nystroem has no landmarks yet: fit an estimator with it, or call prepare(X, None, "
                "generator) first."
            )
        points = torch.as_tensor(self.points, dtype=like.dtype, device=like.device)
        anchors = self.kernel.represent(points)
        K = self._between_landmarks(anchors, like)
        L = self._factor(K, torch.finfo(like.dtype).eps)
        wide = len(L) > _BLOCK and not L.requires_grad
        diagonal = [L[at : at + _BLOCK, at : at + _BLOCK] for at in range(0, len(L), _BLOCK)]
        inverses = [torch.linalg.inv(block).to(like.dtype) for block in diagonal] if wide else []
        return Landmarks(anchors, L.to(like.dtype), inverses)

    def _factor(self, K: Tensor, eps: float) -> Tensor:
        """``L`` of the landmarks' gram matrix, with as little on its diagonal as it takes."""
        unit = float(K.detach().diagonal().mean())
        eye = torch.eye(len(K), dtype=K.dtype, device=K.device)
        # Rounding of the gram matrix alone makes it indefinite; a few dozen roundings mend it.
        for jitter in (_ROUNDINGS * eps * 10.0**rung for rung in range(_RUNGS)):
            L, info = torch.linalg.cholesky_ex(K + jitter * unit * eye)
            if int(info) == 0 and bool(torch.isfinite(L.detach()[-1, -1])):
                # Half of the digits are more than rounding; of steps of learning only the end is told.
                if jitter > math.sqrt(eps) and not K.requires_grad:
                    warnings.warn(
                        f"The gram matrix of {len(K)} landmarks of Nystroem was not positive definite; {jitter:.0e} of its "
                        f"diagonal more made it so. Fewer landmarks or dtype='float64' avoid this.",
                        JitterWarning,
                        stacklevel=2,
                    )
                return L
        raise NotPositiveDefinite(
            f"the gram matrix of {len(K)} landmarks of Nystroem with the kernel {self.kernel!r} is not positive definite, "
            f"even with {jitter:.0e} of its diagonal more; expected a positive semidefinite kernel with finite values. "
            f"Check the kernel and its hyperparameters, or give other `landmarks`."
        )

    def _between_landmarks(self, anchors: Any, like: Tensor) -> Tensor:
        """Their gram matrix: in float64 where that costs no gradient, since its inverse is wanted."""
        K = self.kernel.compare(anchors, anchors)
        wide = widest(like.device)
        if K.requires_grad or K.dtype == wide:
            return K
        return self.kernel.gram(torch.as_tensor(self.points, dtype=wide, device=like.device))

    def fold(self, state: Any, weights: Tensor) -> tuple[Any, Any, Tensor] | None:
        wide = widest(weights.device)
        V = torch.linalg.solve_triangular(state.factor.mT.to(wide), weights.to(wide), upper=True)
        return self.kernel, state.anchors, V.to(weights.dtype)

    def apply(self, state: Any, X: Tensor) -> Tensor:
        anchors, L, inverses = state
        compared = self.kernel.compare(self.kernel.represent(X), anchors)
        if not inverses or compared.requires_grad:
            return torch.linalg.solve_triangular(L, compared.mT, upper=False).mT
        # Forward substitution by blocks: products of matrices are faster than triangular solves.
        Z = torch.empty_like(compared, memory_format=torch.contiguous_format)
        for i, inverse in enumerate(inverses):
            start, stop = i * _BLOCK, i * _BLOCK + len(inverse)
            part = compared[:, start:stop] - Z[:, :start] @ L[start:stop, :start].mT
            Z[:, start:stop] = part @ inverse.mT
        return Z

    def supremum(self, domain: Domain = None) -> Any:
        return self.kernel.supremum(domain)  # a projection: |phi(x)|^2 <= k(x, x)
