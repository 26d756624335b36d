"""L-BFGS and Adam on the unconstrained image of the hyperparameters."""

from __future__ import annotations

from abc import abstractmethod
from collections import deque
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
import scipy.optimize
import torch
from torch import Tensor

from torte._numbers import is_number, is_whole
from torte.errors import InvalidInput
from torte.parameters import Parametric

__all__ = ["LBFGS", "Adam", "Optimizer", "Outcome"]

Evaluate = Callable[[np.ndarray], tuple[float, np.ndarray]]

# What a setting is expected to be, and whether a value is that.
_STEPS = ("a whole number of steps of at least 1", lambda v: is_whole(v) and v >= 1)
_TOLERANCE = ("a number of at least 0", lambda v: is_number(v) and v >= 0)


class Outcome(NamedTuple):
    """Where an optimizer ended, and whether its stopping rule was met."""

    free: np.ndarray
    converged: bool
    message: str


@dataclass(frozen=True)
class Optimizer(Parametric):
    """Minimizes ``evaluate(free) -> (value, gradient)`` within bounds; settings only."""

    def _demand(self, name: str, expected: str, holds: Callable[[Any], bool]) -> None:
        """Raise `InvalidInput` unless the setting of this name holds."""
        if not holds(value := getattr(self, name)):
            raise InvalidInput(
                f"`{name}` of {type(self).__name__} must be {expected}, got {value!r}."
            )

    @property
    @abstractmethod
    def steps(self) -> int:
        """The most steps it takes."""

    @abstractmethod
    def minimize(self, evaluate: Evaluate, start: np.ndarray, bounds: np.ndarray) -> Outcome:
        """From ``start`` (N) to a minimum within ``bounds`` (N x 2)."""


@dataclass(frozen=True)
class LBFGS(Optimizer):
    """Limited-memory BFGS within bounds (SciPy's), for objectives without randomness.

    Stops after ``max_iter`` iterations, or when one improves the objective by less than
    ``tol``, relatively, or when no component of the projected gradient exceeds ``tol``.

    >>> from torte.optimizers import LBFGS
    >>> LBFGS(max_iter=50)
    LBFGS(max_iter=50, tol=1e-06)
    """

    max_iter: int = 200
    tol: float = 1e-6

    def __post_init__(self) -> None:
        super().__post_init__()
        self._demand("max_iter", *_STEPS)
        self._demand("tol", *_TOLERANCE)

    @property
    def steps(self) -> int:
        return self.max_iter

    def minimize(self, evaluate: Evaluate, start: np.ndarray, bounds: np.ndarray) -> Outcome:
        options = {"maxiter": self.max_iter, "ftol": self.tol, "gtol": self.tol, "maxcor": 20}
        result = scipy.optimize.minimize(
            evaluate, start, jac=True, method="L-BFGS-B", bounds=bounds, options=options
        )
        return Outcome(result.x, result.status == 0, str(result.message))


@dataclass(frozen=True)
class Adam(Optimizer):
    """Adam (torch's), for objectives on random batches and for the paper's own learning.

    Stops after ``max_iter`` steps or, with ``tol > 0``, when the mean objective of the last
    tenth of ``max_iter`` steps is not lower than that of the tenth before by ``tol``, relatively.
    ``average`` is the share of the last steps whose mean is the result: on random batches
    single steps are noisy, and their mean is not.

    >>> from torte.optimizers import Adam
    >>> Adam(0.01, max_iter=500)
    Adam(learning_rate=0.01, max_iter=500, tol=0.0, average=0.0)
    """

    learning_rate: float = 0.1
    max_iter: int = 1000
    tol: float = 0.0
    average: float = 0.0

    def __post_init__(self) -> None:
        super().__post_init__()
        self._demand("learning_rate", "a positive number", lambda v: is_number(v) and v > 0)
        self._demand("max_iter", *_STEPS)
        self._demand("tol", *_TOLERANCE)
        self._demand("average", "a number from 0 to 1", lambda v: is_number(v) and 0 <= v <= 1)

    @property
    def steps(self) -> int:
        return self.max_iter

    def minimize(self, evaluate: Evaluate, start: np.ndarray, bounds: np.ndarray) -> Outcome:
        free = torch.tensor(start, dtype=torch.float64)
        low, high = torch.as_tensor(bounds, dtype=torch.float64).unbind(dim=1)
        adam = torch.optim.Adam([free], lr=self.learning_rate)
        window = max(5, self.max_iter // 10)
        values: list[float] = []
        # Where the end is known the last steps are only added up; else each step may be the end.
        most = max(1, round(self.average * self.max_iter))
        total, path = torch.zeros_like(free), deque[Tensor](maxlen=most)
        converged = False
        for step in range(self.max_iter):
            value, gradient = evaluate(free.numpy().copy())
            values.append(value)
            free.grad = torch.as_tensor(gradient)
            adam.step()
            free.copy_(torch.clamp(free, low, high))
            if self.tol == 0:
                if step >= self.max_iter - most:
                    total += free
                continue
            path.append(free.clone())
            if len(values) >= 2 * window:
                before = float(np.mean(values[-2 * window : -window]))
                last = float(np.mean(values[-window:]))
                converged = before - last < self.tol * max(abs(before), 1.0)
                if converged:
                    break
        if self.tol > 0:
            most = max(1, round(self.average * len(values)))
            total = sum(list(path)[-most:], start=total)
        outcome = (total / most).numpy()
        return Outcome(outcome, converged or self.tol == 0, f"{len(values)} steps")
