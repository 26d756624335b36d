"""Ways to solve the final system, and the plan that takes one of them."""

from __future__ import annotations

from dataclasses import asdict, dataclass
from typing import Any

from torte.resources import told_memory

__all__ = ["Route", "SolvePlan"]


@dataclass(frozen=True)
class Route:
    """One way to the solution: bytes beside the table, and seconds.

    ``size`` is the rank of a preconditioner, or the number of features.
    """

    solver: str
    precision: str
    memory: float
    seconds: float
    size: int | None = None

    def __str__(self) -> str:
        return f"{self.solver} ({self.precision}): {told_memory(self.memory)}, about {self.seconds:.0f} s"


@dataclass(frozen=True)
class SolvePlan:
    """The route that was chosen, why, and those it was chosen from.

    ``solver`` is "cholesky", "conjugate-gradients" or "features"; ``precision`` that of the
    factor: "float32, refined" is a float32 factor refined to float64 accuracy. ``rank`` is of
    the preconditioner, ``n_components`` the features; ``memory`` what was free, in bytes.
    ``asked`` is False where the solver was free to choose.
    """

    solver: str
    precision: str
    why: str
    routes: tuple[Route, ...] = ()
    memory: float | None = None
    rank: int | None = None
    n_components: int | None = None
    asked: bool = True

    def __str__(self) -> str:
        lines = [f"solver: {self.solver} ({self.precision}), because {self.why}"]
        return "\n".join(lines + [f"  {route}" for route in self.routes])

    def to_dict(self) -> dict[str, Any]:
        """The plan as plain values, ready for JSON."""
        return asdict(self)
