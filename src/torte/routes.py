"""Which way the final system is solved: memory and time of each, estimated before anything is allocated."""

from __future__ import annotations

import math
import warnings
from collections.abc import Sequence
from typing import Any

import torch
from torch import Tensor

from torte.errors import DoesNotFit, FallbackWarning, NotConverged
from torte.kernels.base import Kernel, rows
from torte.kernels.tiles import SIDE
from torte.large import solve_rank
from torte.maps import FeatureMap
from torte.resources import (
    arithmetic_rate,
    available_memory,
    seconds_of,
    told_memory,
    widest,
)
from torte.ways import Route, SolvePlan
from torte.widths import width_of

__all__ = [
    "FEW_ROWS",
    "N_COMPONENTS",
    "PATIENCE",
    "Route",
    "SolvePlan",
    "plan_after",
    "plan_features",
    "plan_solution",
]

FEW_FEATURES = 1024  # up to here nothing is weighed, either: their sums take some 40 MB
FEW_ROWS = 4000  # up to here the exact solution is seconds away, and nothing is weighed
PATIENCE = 60.0  # seconds that "auto" waits for an exact solution before it takes features
N_COMPONENTS = 4096  # features, where features are taken
_ITERATIONS = 100  # of conjugate gradients, as assumed before anything is known
_REFINEMENTS = 4
_SEARCH = 9  # factorizations that choose lambda again
_EFFICIENCY = 0.6  # of a factorization, against products of matrices
_SAMPLE = 512  # rows whose pairs tell what a kernel value costs


def _seconds_of_value(kernel: Kernel, X: Any, device: torch.device) -> float:
    """What one value of the kernel costs, measured on a few rows of the table."""
    with torch.no_grad():
        A = kernel.represent(rows(X, 0, min(len(X), _SAMPLE)))
        return seconds_of(lambda: kernel.compare(A, A), device) / min(len(X), _SAMPLE) ** 2


def _routes(kernel: Kernel, X: Any, Y: Tensor, p: int, rank: int) -> list[Route]:
    n, m = Y.shape
    device, item = Y.device, Y.element_size()
    name = str(Y.dtype).removeprefix("torch.")
    rate, rate32 = (arithmetic_rate(dtype, device) for dtype in (Y.dtype, torch.float32))
    value = _seconds_of_value(kernel, X, device)
    half = n * n / 2
    columns = 8 * item * n * m + 6 * item * SIDE * SIDE
    table = X.nbytes if isinstance(X, Tensor) else 0
    factor = n**3 / 3 / _EFFICIENCY
    product = half * value + 2 * n * n * m / rate
    routes = [Route("cholesky", name, item * n * n + columns + table, half * value + factor / rate)]
    if Y.dtype == torch.float64 and device.type != "mps":
        seconds = half * value + factor / rate32 + _REFINEMENTS * product
        memory = 4 * n * n + columns + 2 * table
        routes.append(Route("cholesky", "float32, refined", memory, seconds))
    seconds = 2.0 * n * rank * rank / rate + _ITERATIONS * (product + 4 * n * rank * m / rate)
    memory = 3 * item * n * rank + 2 * columns + table
    routes.append(Route("conjugate-gradients", name, memory, seconds, rank))
    if isinstance(X, Tensor):
        routes.append(_features_route(p, n, Y.dtype, device, value, table))
    return routes


def _features_route(
    p: int,
    n: int,
    dtype: torch.dtype,
    device: torch.device,
    value: float = 0.0,
    table: float = 0.0,
) -> Route:
    """Sums of p features of n rows, and their factor, for one lambda after the other.

    At one time there are five float64 matrices of p x p at most (the sums, a factor, and what
    whitens), and a block of features with what it is made from.
    """
    block = min(n * p, 2**24)
    memory = 40 * p * p + 4 * dtype.itemsize * block + table
    rate, wide = (arithmetic_rate(kind, device) for kind in (dtype, widest(device)))
    search = _SEARCH * p**3 / 3 / _EFFICIENCY / wide
    seconds = 2 * n * p * value + 3.0 * n * p * p / rate + search
    return Route("features", str(dtype).removeprefix("torch."), memory, seconds, p)


def _best(routes: Sequence[Route], free: float) -> Route | None:
    """The fastest exact way that fits and ends in time, else features, else any that fits."""
    fitting = [route for route in routes if route.memory <= free]
    exact = [route for route in fitting if route.solver != "features"]
    quick = [route for route in exact if route.seconds <= PATIENCE]
    features = [route for route in fitting if route.solver == "features"]
    return min(quick or features or exact, key=lambda route: route.seconds, default=None)


def _plan(
    route: Route, why: str, routes: Sequence[Route], free: float, asked: bool = False
) -> SolvePlan:
    return SolvePlan(
        route.solver,
        route.precision,
        why,
        tuple(routes),
        free,
        route.size if route.solver == "conjugate-gradients" else None,
        route.size if route.solver == "features" else None,
        asked,
    )


def plan_features(
    p: int | None,
    n: int | None,
    dtype: torch.dtype,
    device: torch.device,
    *,
    memory: float | None = None,
) -> SolvePlan:
    """The plan of a feature map with p features on n rows (None: of a stream, not known yet).

    Raises `DoesNotFit` where the sums and their factor do not fit into memory.
    """
    why, name = "`kernel` is a feature map", str(dtype).removeprefix("torch.")
    if p is None or p <= FEW_FEATURES:
        return SolvePlan("features", name, why, n_components=p)
    free = float(available_memory(device)) if memory is None else memory
    route = _features_route(p, 2**24 if n is None else n, dtype, device)
    if route.memory > free:
        kernel_form = 2 * (n or 0) ** 2 * dtype.itemsize
        other = f" Its kernel form, Linear() @ map, or the kernel itself takes {told_memory(kernel_form)} for {n} rows."
        raise DoesNotFit(
            f"`kernel` gives {p} features, whose sums and factor need {told_memory(route.memory)}, but {told_memory(free)} "
            f"are free; take fewer than {max(2, math.isqrt(int(free / 40)))} features."
            + (other if n is not None and kernel_form <= free else "")
        )
    return _plan(route, why, (route,), free, asked=True)


def plan_solution(
    solver: str,
    kernel: Kernel | FeatureMap,
    X: Any,
    Y: Tensor,
    *,
    memory: float | None = None,
) -> SolvePlan:
    """The route for a kernel on these rows, decided from estimates alone.

    "auto" takes the fastest exact route that fits into memory and ends within `PATIENCE`, and
    features where there is none; where rows are objects, which have no features, any route that
    fits. Raises `DoesNotFit` where what was asked for does not fit.
    """
    n = len(Y)
    name = str(Y.dtype).removeprefix("torch.")
    if isinstance(kernel, FeatureMap):
        return plan_features(width_of(kernel, X), n, Y.dtype, Y.device, memory=memory)
    if n <= FEW_ROWS and solver in ("auto", "cholesky"):
        return SolvePlan("cholesky", name, f"n = {n} rows are few")
    free = float(available_memory(Y.device)) if memory is None else memory
    rank = solve_rank(n, Y.element_size(), free)
    p = min(N_COMPONENTS, n)
    routes = _routes(kernel, X, Y, p, rank)
    if solver == "auto":
        best = _best(routes, free)
    else:
        fitting = [r for r in routes if r.memory <= free and r.solver == solver]
        best = min(fitting, key=lambda route: route.seconds, default=None)
    if best is None:
        raise DoesNotFit(_does_not_fit(solver, n, routes, free))
    within = f"fits into {told_memory(free)} and ends within {PATIENCE:.0f} s"
    why = f"it is the fastest exact way that {within}"
    if solver != "auto":
        why = "it was asked for"
    elif best.solver == "features":
        why = f"no exact way {within}"
    elif best.seconds > PATIENCE:
        why = f"it fits into {told_memory(free)}, and rows that are objects have no features"
    return _plan(best, why, routes, free, asked=solver != "auto")


def plan_after(plan: SolvePlan, error: NotConverged) -> SolvePlan:
    """The next plan where the iteration of one did not converge; the error where there is none."""
    tried = (plan.solver, plan.precision)
    left = [r for r in plan.routes if (r.solver, r.precision) != tried]
    best = None if plan.asked else _best(left, plan.memory or 0.0)
    if best is None:
        raise error
    warnings.warn(
        f"solver='auto' took {plan.solver} ({plan.precision}), which did not converge, and takes {best.solver} "
        f"({best.precision}) instead; give a larger `regularization`, or that solver by name.",
        FallbackWarning,
        stacklevel=4,
    )
    return _plan(best, f"{plan.solver} did not converge", left, plan.memory or 0.0)


def _does_not_fit(solver: str, n: int, routes: list[Route], free: float) -> str:
    of = [r for r in routes if solver in ("auto", r.solver)]
    if not of:
        return (
            "`solver` 'features' needs rows of numbers, and these rows are objects; use "
            "'cholesky' or 'conjugate-gradients'."
        )
    least = min(of, key=lambda route: route.memory)
    others = [r for r in routes if r.memory <= free]
    said = "; ".join(f"solver={r.solver!r} takes {told_memory(r.memory)}" for r in others)
    return (
        f"solver={solver!r} needs {told_memory(least.memory)} for {n} rows, but {told_memory(free)} are free. "
        + (f"{said}. " if said else "No other solver fits either. ")
        + "Fewer rows, or a feature map with fewer n_components as `kernel`, take less."
    )
