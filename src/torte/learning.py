"""From a start to learned hyperparameters: batches, steps, history, a clean stop."""

from __future__ import annotations

import time
import warnings
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
import torch
from torch import Tensor

from torte._weights import part, total
from torte.conditioning import Description
from torte.dual import Dual
from torte.errors import ConvergenceWarning, InterruptedWarning
from torte.maps import FeatureMap
from torte.objectives import Objective, Terms
from torte.optimizers import Optimizer
from torte.parameters import Parameters
from torte.primal import Primal

__all__ = ["Learned", "Plan", "Problem", "learn"]


@dataclass(frozen=True)
class Plan:
    """How one run of learning goes: who steps, on how many rows, judged how."""

    optimizer: Optimizer
    batch_size: int | None = None  # None: all rows
    left_out: int | None = None  # rows judged by leave-one-out in a step; None: all of the batch
    validation_fraction: float = 0.0
    to_the_end: bool = True  # False: a few steps are all that is wanted
    rows: int | None = None  # at most so many rows, drawn once; None: all
    weights: bool = True  # False: arrays (network weights, landmarks) stay as they are


@dataclass(frozen=True)
class Learned:
    """What learning returns: a new description, its history, and how it ended."""

    description: Description
    history: list[dict[str, float]]
    objective_value: float
    interrupted: bool = False


class Split(NamedTuple):
    """One embedding and what judges it: its own rows, some of them, or others."""

    X: Any
    Y: Tensor
    weights: Tensor | None
    judged: Tensor | None = None
    held_out: tuple[Any, Tensor, Tensor | None] | None = None


def _split(X: Any, Y: Tensor, weights: Tensor | None, aside: Tensor) -> Split:
    kept = torch.ones(len(Y), dtype=torch.bool)
    kept[aside] = False
    rest = kept.nonzero().squeeze(1)
    held_out = (X[aside], Y[aside], part(weights, aside))
    return Split(X[rest], Y[rest], part(weights, rest), held_out=held_out)


class Sampler:
    """Rows for one step after another, without repetition until all were seen."""

    def __init__(self, n: int, size: int | None, generator: torch.Generator):
        self.n, self.size, self.generator = n, size, generator
        self._waiting: Tensor = torch.empty(0, dtype=torch.long)

    def next(self) -> Tensor | None:
        if self.size is None or self.size >= self.n:
            return None
        if len(self._waiting) < self.size:
            self._waiting = torch.randperm(self.n, generator=self.generator)
        batch, self._waiting = self._waiting[: self.size], self._waiting[self.size :]
        return batch


class Problem:
    """The objective as a function of the free vector, on a batch of its own in every step."""

    def __init__(
        self,
        description: Description,
        X: Any,
        Y: Tensor,
        objective: Objective,
        plan: Plan,
        generator: torch.Generator,
        on_step: Callable[[str], None] = lambda state: None,
        score: Callable[[Description], dict[str, float]] | None = None,
        weights: Tensor | None = None,
        began: float | None = None,
    ):
        if plan.rows is not None and plan.rows < len(Y):
            few = torch.randperm(len(Y), generator=generator)[: plan.rows]
            X, Y, weights = X[few], Y[few], part(weights, few)
        self.X, self.Y, self.weights = X, Y, weights
        self.objective, self.plan, self.generator = objective, plan, generator
        self.form = Primal() if isinstance(description.kernel, FeatureMap) else Dual()
        # Below this ratio of lambda to k(x, x) a factorization is mostly rounding.
        ratio = 1e-9 if Y.dtype == torch.float64 else 1e-5
        floor = ratio * self.form.scale(description.kernel, X[:100], Y)  # type: ignore[arg-type]
        self.parameters = Parameters(
            description,
            floors={("regularization",): floor},
            held=lambda leaf: leaf.array and not plan.weights,
        )
        self.sampler = Sampler(len(Y), plan.batch_size, generator)
        self.stochastic = plan.batch_size is not None and plan.batch_size < len(Y)
        self._fixed: list[Split] = []
        self.history: list[dict[str, float]] = []
        self.best: tuple[float, np.ndarray] = (np.inf, self.parameters.start)
        self._began = time.perf_counter() if began is None else began
        self._on_step, self._score = on_step, score

    def _draw(self) -> list[Split]:
        """Rows to embed, and rows to judge: drawn anew in batches, once on the full table."""
        if self._fixed and not self.stochastic:
            return self._fixed
        batch = self.sampler.next()
        X, Y, weights = self.X, self.Y, self.weights
        if batch is not None:
            X, Y, weights = X[batch], Y[batch], part(weights, batch)
        n = len(Y)
        if self.objective.folds > 1:
            parts = torch.randperm(n, generator=self.generator).chunk(self.objective.folds)
            self._fixed = [_split(X, Y, weights, fold) for fold in parts]
        elif self.plan.validation_fraction > 0:
            order = torch.randperm(n, generator=self.generator)
            # At least one row on each side.
            aside = order[: min(max(1, round(self.plan.validation_fraction * n)), n - 1)]
            self._fixed = [_split(X, Y, weights, aside)]
        elif self.plan.left_out is not None and self.plan.left_out < n:
            judged = torch.randperm(n, generator=self.generator)[: self.plan.left_out]
            self._fixed = [Split(X, Y, weights, judged)]
        else:
            self._fixed = [Split(X, Y, weights)]
        return self._fixed

    def evaluate(self, free: np.ndarray) -> tuple[float, np.ndarray]:
        """The objective and its gradient at the free vector; the step goes into the history."""
        splits = self._draw()
        n = total(splits[0].Y, splits[0].weights)
        built, tensors = self.parameters.build(free, self.Y.dtype, self.Y.device)
        kernel = built.kernel.in_training(self.generator)
        parts = [
            self.form.evaluate(
                kernel,
                built.regularization,
                s.X,
                s.Y,
                self.objective,
                s.judged,
                s.held_out,
                s.weights,
            )
            for s in splits
        ]
        gradient = self.parameters.gradient(free, tensors) / len(parts)
        risk, complexity, value = np.mean(parts, axis=0)
        if (shrinkage := self.objective.effective_shrinkage) > 0:
            spread, slope = self.parameters.spread(free)
            value += shrinkage / n * spread
            gradient += shrinkage / n * slope
        self._record(free, Terms(float(risk), float(complexity), float(value)))
        return float(value), gradient

    def _record(self, free: np.ndarray, terms: Terms) -> None:
        if terms.objective < self.best[0]:
            self.best = (terms.objective, free.copy())
        step = {**terms._asdict(), "seconds": time.perf_counter() - self._began}
        if self._score is not None:
            step.update(self._score(self.parameters.freeze(free)))
        self.history.append(step)
        self._on_step(
            f"objective {terms.objective:.4f} = risk {terms.risk:.4f}, complexity {terms.complexity:.3g}"
        )


def learn(
    description: Description,
    X: Any,
    Y: Tensor,
    objective: Objective,
    plan: Plan,
    generator: torch.Generator,
    on_step: Callable[[str], None] = lambda state: None,
    score: Callable[[Description], dict[str, float]] | None = None,
    weights: Tensor | None = None,
    began: float | None = None,
) -> Learned:
    """Minimize the objective from this description on; Ctrl-C keeps the best so far.

    The seconds of the history count from ``began`` (`time.perf_counter`), or from now.
    """
    problem = Problem(description, X, Y, objective, plan, generator, on_step, score, weights, began)
    try:
        outcome = plan.optimizer.minimize(
            problem.evaluate, problem.parameters.start, problem.parameters.bounds
        )
    except KeyboardInterrupt:
        steps = len(problem.history)
        if not steps:
            problem.evaluate(problem.parameters.start)  # the start is the best so far
        value, free = problem.best
        warnings.warn(
            f"Learning was interrupted after {steps} steps; the best hyperparameters so far are kept.",
            InterruptedWarning,
            stacklevel=2,
        )
        return Learned(problem.parameters.freeze(free), problem.history, value, interrupted=True)
    if plan.to_the_end and not outcome.converged:
        warnings.warn(
            f"Learning ended before its tolerance was met: {outcome.message}. A larger `max_iter` lets it go on; a "
            f"failed line search means that it is as far as rounding allows.",
            ConvergenceWarning,
            stacklevel=2,
        )
    tail = (
        problem.history[-max(1, len(problem.history) // 3) :]
        if problem.stochastic
        else problem.history[-1:]
    )
    value = sum(step["objective"] for step in tail) / len(tail)
    return Learned(problem.parameters.freeze(outcome.free), problem.history, value)
