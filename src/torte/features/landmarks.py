"""Which rows stand for all: five ways to choose landmarks."""

from __future__ import annotations

import warnings
from collections.abc import Callable
from dataclasses import fields

import torch
from sklearn.cluster import KMeans
from sklearn.exceptions import ConvergenceWarning
from torch import Tensor

from torte.kernels.algebra import Constant
from torte.kernels.base import Kernel, rows
from torte.kernels.dot import Linear, Polynomial
from torte.kernels.pivoting import partial_cholesky
from torte.kernels.stationary import Stationary
from torte.kernels.tiles import ShiftedKernel

__all__ = ["CHOICES", "choose"]

_FROM = 20_000  # rows that are looked at, at most
_CLUSTERED = 60_000  # by k-means, whose cost for each row does not grow with their number
_AT_ONCE = 512  # centers that are compared to all rows
_DIRECTIONS = 64  # of a kernel's geometry, in which its rows are clustered


def uniform(kernel: Kernel, X: Tensor, count: int, generator: torch.Generator) -> Tensor:
    """Rows at random."""
    return X[torch.randperm(len(X), generator=generator)[:count].to(X.device)]


def k_means(kernel: Kernel, X: Tensor, count: int, generator: torch.Generator) -> Tensor:
    """Centers of clusters (scikit-learn's k-means), columns scaled as the kernel scales them.

    A center is a row of averages, which means something where a kernel measures how far numbers
    are apart. Elsewhere, as for codes of categories, it is the row nearest to each center of
    clusters in the kernel's own geometry.
    """
    if not _averages(kernel):
        return _central_rows(kernel, X, count, generator)
    scale = _scale(kernel, X)
    return _centers(X / scale, count, generator) * scale


def _scale(kernel: Kernel, X: Tensor) -> Tensor:
    """By what each column is divided where the kernel measures: of several kernels, by its deviation."""
    if isinstance(kernel, Stationary):
        lengths = torch.as_tensor(kernel.length_scale or 1.0, dtype=X.dtype, device=X.device)
        return lengths.expand(X.shape[1])
    deviation = X.std(dim=0, unbiased=False)
    return torch.where(deviation > 0, deviation, torch.ones_like(deviation))


def _averages(kernel: Kernel) -> bool:
    """Whether averages of rows mean something to a kernel: of numbers alone, as far as is known."""
    parts = [getattr(kernel, field.name) for field in fields(kernel)]
    inner = [part for part in parts if isinstance(part, Kernel)]
    known = isinstance(kernel, (Stationary, Linear, Polynomial, Constant))
    return all(map(_averages, inner)) if inner else known


def _centers(Z: Tensor, count: int, generator: torch.Generator) -> Tensor:
    seed = int(torch.randint(2**31, (), generator=generator))
    # k-means++ looks at every row once a center; many centers are spread well enough by chance.
    init, steps = ("k-means++", 25) if count <= 500 else ("random", 8)
    means = KMeans(count, init=init, n_init=1, max_iter=steps, random_state=seed)
    with warnings.catch_warnings():  # fewer distinct rows than clusters: some centers are equal
        warnings.simplefilter("ignore", ConvergenceWarning)
        means.fit(Z.cpu().numpy())
    return torch.as_tensor(means.cluster_centers_, dtype=Z.dtype, device=Z.device)


def _central_rows(kernel: Kernel, X: Tensor, count: int, generator: torch.Generator) -> Tensor:
    """Rows nearest to the centers of clusters of ``f(x)``, where ``f(x) . f(y) ~ k(x, y)``."""
    F = partial_cholesky(kernel, kernel.represent(X), _DIRECTIONS, generator).F
    centers = _centers(F, count, generator)
    lengths = F.square().sum(dim=1)[:, None]
    # |f - c|^2 without |c|^2, which is the same for every row.
    nearest = [(lengths - 2 * F @ part.mT).argmin(dim=0) for part in torch.split(centers, _AT_ONCE)]
    return X[_filled(torch.unique(torch.cat(nearest)).cpu(), count, len(X)).to(X.device)]


def _filled(chosen: Tensor, count: int, n: int) -> Tensor:
    """The chosen rows, and any others up to ``count``."""
    left = torch.ones(n, dtype=torch.bool)
    left[chosen] = False
    return torch.cat([chosen, left.nonzero().flatten()[: count - len(chosen)]])


def herding(kernel: Kernel, X: Tensor, count: int, generator: torch.Generator) -> Tensor:
    """Kernel herding (Chen, Welling and Smola, 2010): rows whose mean embedding follows all rows'.

    Row t+1 maximizes ``mean_i k(x, x_i) - sum_{j<=t} k(x, x_j) / (t + 1)``, without repetition.
    The gram matrix is summed in tiles, and one column of it is needed for each row chosen.
    """
    A = kernel.represent(X)
    one = torch.ones(len(X), 1, dtype=X.dtype, device=X.device)
    target = ShiftedKernel(kernel, A, 0.0)(one)[:, 0] / len(X)
    taken = torch.zeros_like(target)
    free = torch.ones(len(X), dtype=torch.bool, device=X.device)
    chosen: list[int] = []
    for t in range(count):
        best = int(torch.where(free, target - taken / (t + 1), -torch.inf).argmax())
        free[best] = False
        chosen.append(best)
        taken += kernel.compare(A, rows(A, best, best + 1))[:, 0]
    return X[chosen]


def pivoted(kernel: Kernel, X: Tensor, count: int, generator: torch.Generator) -> Tensor:
    """The pivots of a randomly pivoted Cholesky factorization: rows not yet explained by others."""
    chosen = partial_cholesky(kernel, kernel.represent(X), count, generator).pivots
    # Where everything is explained any further row will do.
    return X[_filled(chosen.cpu(), count, len(X)).to(X.device)]


CHOICES: dict[str, Callable[[Kernel, Tensor, int, torch.Generator], Tensor]] = {
    "uniform": uniform,
    "k-means": k_means,
    "herding": herding,
    "pivoted": pivoted,
}


def choose(how: str, kernel: Kernel, X: Tensor, count: int, generator: torch.Generator) -> Tensor:
    """``count`` landmarks (fewer where X has fewer rows), looked for among a bounded sample."""
    most = _CLUSTERED if how == "k-means" else _FROM
    few = X if len(X) <= most else uniform(kernel, X, most, generator)
    with torch.no_grad():
        return CHOICES[how](kernel, few, min(count, len(few)), generator)
