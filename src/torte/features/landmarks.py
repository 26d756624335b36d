"""Which rows stand for all: five ways to choose landmarks."""

from __future__ import annotations

from collections.abc import Callable

import torch
from sklearn.cluster import KMeans
from torch import Tensor

from torte.kernels.base import Kernel

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
    means = KMeans(count, n_init=1, max_iter=25, random_state=seed).fit((X / scale).cpu().numpy())
    return torch.as_tensor(means.cluster_centers_, dtype=X.dtype, device=X.device) * scale


def herding(kernel: Kernel, X: Tensor, count: int, generator: torch.Generator) -> Tensor:
    """Kernel herding (Chen, Welling and Smola, 2010): rows whose mean embedding follows all rows'.

    Row t+1 maximizes ``mean_i k(x, x_i) - sum_{j<=t} k(x, x_j) / (t + 1)``, without repetition.
    """
    A = kernel.represent(X)
    K = kernel.compare(A, A)
    target, taken = K.mean(dim=1), torch.zeros(len(X), dtype=X.dtype, device=X.device)
    free = torch.ones(len(X), dtype=torch.bool, device=X.device)
    chosen = []
    for t in range(count):
        score = torch.where(free, target - taken / (t + 1), -torch.inf)
        best = int(score.argmax())
        free[best] = False
        chosen.append(best)
        taken += K[:, best]
    return X[chosen]


def pivoted(kernel: Kernel, X: Tensor, count: int, generator: torch.Generator) -> Tensor:
    """Randomly pivoted Cholesky (Chen, Epperly, Tropp and Webber, 2025): rows not yet explained.

    A pivot is drawn with probability proportional to the residual diagonal ``k(x, x) - |f(x)|^2``,
    where f are the columns of the partial Cholesky factor so far.
    """
    A = kernel.represent(X)
    residual = kernel.norms(A).clone()
    F = torch.zeros(len(X), count, dtype=residual.dtype, device=X.device)
    chosen: list[int] = []
    for t in range(count):
        weights = residual.clamp(min=0)
        weights[chosen] = 0
        if not bool(weights.sum() > 0):  # everything is explained: any further row will do
            left = torch.ones(len(X), dtype=torch.bool)
            left[chosen] = False
            chosen += left.nonzero().flatten()[: count - t].tolist()
            break
        pivot = int(torch.multinomial(weights.double().cpu(), 1, generator=generator))
        column = kernel.gram(X, X[pivot : pivot + 1])[:, 0] - F[:, :t] @ F[pivot, :t]
        F[:, t] = column / column[pivot].clamp(min=torch.finfo(F.dtype).tiny).sqrt()
        residual = residual - F[:, t].square()
        chosen.append(pivot)
    return X[chosen]


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
