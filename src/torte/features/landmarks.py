"""Which rows stand for all: five ways to choose landmarks."""

from __future__ import annotations

from collections.abc import Callable

import torch
from sklearn.cluster import KMeans
from torch import Tensor

from torte.kernels.base import Kernel, rows
from torte.kernels.pivoting import partial_cholesky
from torte.kernels.tiles import ShiftedKernel

__all__ = ["CHOICES", "choose"]

_FROM = 20_000  # rows that are looked at, at most


def uniform(kernel: Kernel, X: Tensor, count: int, generator: torch.Generator) -> Tensor:
    """Rows at random."""
    return X[torch.randperm(len(X), generator=generator)[:count].to(X.device)]


def k_means(kernel: Kernel, X: Tensor, count: int, generator: torch.Generator) -> Tensor:
    """Centers of clusters of the columns scaled to unit deviation (scikit-learn's k-means)."""
    scale = X.std(dim=0, unbiased=False)
    scale = torch.where(scale > 0, scale, torch.ones_like(scale))
    seed = int(torch.randint(2**31, (), generator=generator))
    # k-means++ looks at every row once a center; many centers are spread well enough by chance.
    init, steps = ("k-means++", 25) if count <= 500 else ("random", 8)
    means = KMeans(count, init=init, n_init=1, max_iter=steps, random_state=seed).fit(
        (X / scale).cpu().numpy()
    )
    return torch.as_tensor(means.cluster_centers_, dtype=X.dtype, device=X.device) * scale


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
    if len(chosen) < count:  # everything is explained: any further row will do
        left = torch.ones(len(X), dtype=torch.bool)
        left[chosen] = False
        chosen = torch.cat([chosen, left.nonzero().flatten()[: count - len(chosen)]])
    return X[chosen.to(X.device)]


CHOICES: dict[str, Callable[[Kernel, Tensor, int, torch.Generator], Tensor]] = {
    "uniform": uniform,
    "k-means": k_means,
    "herding": herding,
    "pivoted": pivoted,
}


def choose(how: str, kernel: Kernel, X: Tensor, count: int, generator: torch.Generator) -> Tensor:
    """``count`` landmarks (fewer where X has fewer rows), looked for among a bounded sample."""
    few = X if len(X) <= _FROM else uniform(kernel, X, _FROM, generator)
    with torch.no_grad():
        return CHOICES[how](kernel, few, min(count, len(few)), generator)
