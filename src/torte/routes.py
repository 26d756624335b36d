"""Which way the final system is solved: memory and time of each, estimated before anything is allocated."""

from __future__ import annotations

from dataclasses import asdict, dataclass
from typing import Any

import torch
from torch import Tensor

from torte.errors import DoesNotFit
from torte.kernels.base import Kernel, rows
from torte.kernels.tiles import SIDE
from torte.large import solve_rank
from torte.maps import FeatureMap
from torte.resources import arithmetic_rate, available_memory, seconds_of, told_memory

__all__ = ["FEW_ROWS", "N_COMPONENTS", "PATIENCE", "Route", "SolvePlan", "plan_solution"]

FEW_ROWS = 4000  # up to here the exact solution is seconds away, and nothing is weighed
PATIENCE = 600.0  # seconds that "auto" waits for an exact solution before it takes features
N_COMPONENTS = 4096  # features, where features are taken
_ITERATIONS = 100  # of conjugate gradients, as assumed before anything is known
_REFINEMENTS = 4
_SEARCH = 9  # factorizations that choose lambda again
_EFFICIENCY = 0.6  # of a factorization, against products of matrices
_SAMPLE = 512  # rows whose pairs tell what a kernel value costs


@dataclass(frozen=True)
class Route:
    """One way to the solution: bytes beside the table, and seconds."""

    solver: str
    precision: str
    memory: float
    seconds: float

    def __str__(self) -> str:
        return f"{self.solver} ({self.precision}): {told_memory(self.memory)}, about {self.seconds:.0f} s"


@dataclass(frozen=True)
class SolvePlan:
    """The route that was chosen, why, and those it was chosen from.

    ``solver`` is "cholesky", "conjugate-gradients" or "features"; ``precision`` that of the
    factor: "float32, refined" is a float32 factor refined to float64 accuracy. ``rank`` is of
    the preconditioner, ``n_components`` the features; ``memory`` what was free, in bytes.
    """

    solver: str
    precision: str
    why: str
    routes: tuple[Route, ...] = ()
    memory: float | None = None
    rank: int | None = None
    n_components: int | None = None

    def __str__(self) -> str:
        lines = [f"solver: {self.solver} ({self.precision}), because {self.why}"]
        return "\n".join(lines + [f"  {route}" for route in self.routes])

    def to_dict(self) -> dict[str, Any]:
        """The plan as plain values, ready for JSON."""
        return asdict(self)


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
    routes.append(Route("conjugate-gradients", name, memory, seconds))
    if isinstance(X, Tensor):
        search = _SEARCH * p**3 / 3 / _EFFICIENCY / arithmetic_rate(torch.float64, device)
        seconds = 2 * n * p * value + 3.0 * n * p * p / rate + search
        routes.append(Route("features", name, (24 + 2 * item) * p * p + 2**28 + table, seconds))
    return routes


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
    features where there is none. Raises `DoesNotFit` where what was asked for does not fit.
    """
    n = len(Y)
    name = str(Y.dtype).removeprefix("torch.")
    if isinstance(kernel, FeatureMap):
        return SolvePlan("features", name, "`kernel` is a feature map")
    if n <= FEW_ROWS and solver in ("auto", "cholesky"):
        return SolvePlan("cholesky", name, f"n = {n} rows are few")
    free = float(available_memory(Y.device)) if memory is None else memory
    rank = solve_rank(n, Y.element_size(), free)
    p = min(N_COMPONENTS, n)
    routes = _routes(kernel, X, Y, p, rank)
    fitting = [route for route in routes if route.memory <= free]
    if solver == "auto":
        asked = [r for r in fitting if r.solver != "features" and r.seconds <= PATIENCE]
        why = f"it is the fastest exact way that fits into {told_memory(free)} and ends within {PATIENCE:.0f} s"
        if not asked:
            asked = [r for r in fitting if r.solver == "features"]
            why = f"no exact way fits into {told_memory(free)} and ends within {PATIENCE:.0f} s"
    else:
        asked, why = [r for r in fitting if r.solver == solver], "it was asked for"
    if not asked:
        raise DoesNotFit(_does_not_fit(solver, n, routes, free))
    best = min(asked, key=lambda route: route.seconds)
    return SolvePlan(
        best.solver,
        best.precision,
        why,
        tuple(routes),
        free,
        rank if best.solver == "conjugate-gradients" else None,
        p if best.solver == "features" else None,
    )


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
