"""Which learning a table gets: the stated plan behind ``optimizer="auto"``."""

from __future__ import annotations

import dataclasses
import time
import warnings
from collections.abc import Callable
from typing import Any, TypeGuard

import torch
from torch import Tensor

from torte._settings import check_batch
from torte._weights import part
from torte.conditioning import Description
from torte.errors import DoesNotFit, InterruptedWarning, InvalidInput, MissingClassWarning
from torte.features import Fourier, Nystroem
from torte.kernels import DEFAULT_KERNEL, Kernel
from torte.learning import Learned, Plan, Problem, learn
from torte.maps import FeatureMap
from torte.objectives import Objective
from torte.optimizers import LBFGS, Adam
from torte.progress import Progress
from torte.resources import available_memory, told_memory
from torte.routes import FEW_ROWS
from torte.widths import width_of

__all__ = ["DEFAULT_KERNEL", "FULL_ROWS", "kernel_inside", "plan", "run", "wants_lambda_again"]

# Chosen by measurement: docs/defaults.md.
FULL_ROWS = 1500  # up to here every step sees all rows
BATCH = 1000
BATCHES = Adam(max_iter=200, average=1 / 3)
WEIGHTS = Adam(0.003, max_iter=300, average=0.1)  # of networks
FINISH_STEPS = 12  # of L-BFGS on many rows, after batches
FINISH_ROWS = 6000
LEFT_OUT = 500  # rows judged in a step on more rows than FULL_ROWS
STARTS = (1.0, 0.1, 0.01)  # multiples of the given lambda that "auto" tries first
START_ROWS = 500  # on at most so many rows


def _in_batches(estimator: Any, n: int) -> bool:
    """Whether learning sees many rows a batch at a time."""
    if estimator.optimizer is None or not estimator.objective.learns or n <= FINISH_ROWS:
        return False
    return estimator.optimizer == "auto" or (estimator.batch_size or n) < n


def kernel_inside(estimator: Any, recipe: Kernel | FeatureMap, n: int) -> Kernel | None:
    """The kernel of a map that approximates it, to be learned in dual form; None: learn the map.

    On many rows a step through the map would factor p landmarks, or work on p frequencies, to
    learn what a batch of fewer rows says of the kernel itself.
    """
    if not _in_batches(estimator, n) or not _approximates(recipe):
        return None
    return recipe.kernel


def _approximates(recipe: Kernel | FeatureMap) -> TypeGuard[Fourier | Nystroem]:
    """Whether a map stands for a kernel, whose hyperparameters are all that it learns."""
    learned = isinstance(recipe, Nystroem) and recipe.learned
    return isinstance(recipe, (Fourier, Nystroem)) and not learned


def wants_lambda_again(
    estimator: Any,
    recipe: Kernel | FeatureMap,
    solver: str,
    n: int,
    learned_on: int | None = None,
) -> bool:
    """Whether lambda, learned on fewer rows, is chosen once more on all of them.

    ``learned_on`` are the rows of the sample of a stream; a table is learned on in batches or
    as a whole. A given optimizer's lambda is kept, but where a map approximates a kernel.
    """
    if estimator.optimizer is None or not estimator.objective.learns:
        return False
    if not isinstance(recipe, FeatureMap):
        return solver == "features"
    if not (_in_batches(estimator, n) if learned_on is None else learned_on < n):
        return False
    return estimator.optimizer == "auto" or _approximates(recipe)


def plan(estimator: Any, kernel: Kernel | FeatureMap, n: int, finish: bool = True) -> list[Plan]:
    """The runs of learning for n rows, one after the other; none where nothing is learned.

    Without ``finish`` the last steps on many rows are left out: lambda is chosen again.
    """
    objective, optimizer, size = estimator.objective, estimator.optimizer, estimator.batch_size
    if optimizer is None or not objective.learns:
        return []
    left_out = getattr(objective, "left_out", None)
    fraction = float(estimator.validation_fraction)
    if isinstance(optimizer, LBFGS) and size is not None and size < n:
        raise InvalidInput(
            f"`batch_size` must be None with LBFGS, which needs the same objective in every step, got {size}; use "
            f"optimizer=Adam() for random batches."
        )
    if optimizer != "auto":
        return [Plan(optimizer, size, left_out, fraction)]
    last = Plan(
        LBFGS(max_iter=FINISH_STEPS),
        None,
        left_out or LEFT_OUT,
        fraction,
        to_the_end=False,
        rows=FINISH_ROWS,
        weights=False,
    )
    if any(leaf.array for leaf in kernel.leaves()):
        return [Plan(WEIGHTS, min(size or BATCH, n), left_out, fraction), last]
    if size is None and n <= FULL_ROWS:
        return [Plan(LBFGS(tol=1e-5), None, left_out, fraction)]
    batches = Plan(BATCHES, min(size or BATCH, n), left_out, fraction)
    return [batches, last] if finish else [batches]


def _warn_of_missing_classes(given: int | None, runs: list[Plan], Y: Tensor) -> None:
    """Warn where a batch of some run expects less than one row of the rarest class."""
    n, rarest = len(Y), float(Y.sum(dim=0).min())
    size = min((run.batch_size or n for run in runs), default=n)
    if size < n and rarest * size < n:
        said = f"`batch_size` {given}" + (f", here {size} rows," if given is None else "")
        many = "most" if (1 - size / n) ** rarest > 0.5 else "some"
        warnings.warn(
            f"{said} leaves {many} batches without a row of the rarest of the {Y.shape[1]} classes, which has "
            f"{rarest:.0f} of {n} rows; a larger batch_size lets every step see every class.",
            MissingClassWarning,
            stacklevel=4,
        )


def _best_start(
    start: Description,
    X: Any,
    Y: Tensor,
    objective: Objective,
    generator: torch.Generator,
    weights: Tensor | None,
) -> Description:
    """Of some multiples of lambda the one that the objective prefers on a sample of rows.

    From a lambda far too large the objective is nearly flat, and a step can end anywhere.
    """
    few = torch.randperm(len(Y), generator=generator)[:START_ROWS]
    values = {}
    for multiple in STARTS:
        there = dataclasses.replace(start, regularization=start.regularization * multiple)
        problem = Problem(
            there,
            X[few],
            Y[few],
            objective,
            Plan(LBFGS()),
            generator,
            weights=part(weights, few),
        )
        values[multiple], _ = problem.evaluate(problem.parameters.start)
    best = min(values, key=values.__getitem__)
    return dataclasses.replace(start, regularization=start.regularization * best)


def demand_memory(runs: list[Plan], kernel: Kernel | FeatureMap, X: Any, Y: Tensor) -> None:
    """Raise `DoesNotFit` where a step of learning would need more than there is."""
    item, free = Y.element_size(), available_memory(Y.device)
    for run in runs:
        rows = run.batch_size or min(len(Y), run.rows or len(Y))
        needed, large, of = 4 * item * rows**2, rows > FEW_ROWS, ""
        if isinstance(kernel, FeatureMap):
            # The features, what they are made from, their sensitivities; three matrices p x p.
            p = width_of(kernel, X) or 0
            needed, large = item * (6 * rows * p + 3 * p * p), rows * p > FEW_ROWS**2
            of = f" with {p} features each"
        if large and needed > free:
            raise DoesNotFit(
                f"A step of learning on {rows} rows{of} needs {told_memory(needed)}, but {told_memory(free)} are free; "
                f"give a smaller `batch_size` with Adam(), or optimizer='auto', which draws batches itself."
            )


def _for_rows(description: Description, learned_on: int, rows: int) -> Description:
    """The description for another number of rows: ``n lambda`` is what acts."""
    regularization = description.regularization * learned_on / rows
    return dataclasses.replace(description, regularization=regularization)


def run(
    estimator: Any,
    start: Description,
    X: Any,
    Y: Tensor,
    generator: torch.Generator,
    score: Callable[[Description], dict[str, float]] | None,
    weights: Tensor | None = None,
    finish: bool = True,
) -> Learned:
    """Carry out the plan: each run starts where the one before it ended.

    Ctrl-C ends it with the best that was found; records of a second run say so in ``run``.
    """
    n, objective, began = len(Y), estimator.objective, time.perf_counter()
    check_batch(estimator.batch_size, n)
    runs = plan(estimator, start.kernel, n, finish)
    _warn_of_missing_classes(estimator.batch_size, runs, Y)
    demand_memory(runs, start.kernel, X, Y)
    description, value, size = start, float("nan"), n
    try:
        if runs and estimator.optimizer == "auto":
            description = _best_start(start, X, Y, objective, generator, weights)
    except KeyboardInterrupt:
        warnings.warn(
            "Learning was interrupted before its first step; every hyperparameter stays at its start.",
            InterruptedWarning,
            stacklevel=3,
        )
        runs = []
    if not runs:
        rows = START_ROWS if n > FEW_ROWS else None  # nothing is learned: the value is a report
        there = Plan(LBFGS(), rows=rows)
        problem = Problem(start, X, Y, objective, there, generator, score=score, weights=weights)
        value, _ = problem.evaluate(problem.parameters.start)
        return Learned(start, problem.history, value)
    history: list[dict[str, float]] = []
    for number, step in enumerate(runs, start=1):
        rows = step.batch_size or min(n, step.rows or n)
        if history:
            description = _for_rows(description, size, rows)
        size = rows
        with Progress("learning", step.optimizer.steps, estimator.verbose) as progress:
            learned = learn(
                description, X, Y, objective, step, generator, progress.step, score, weights, began
            )
        description, value = learned.description, learned.objective_value
        history += [r | {"run": number} if number > 1 else r for r in learned.history]
        if learned.interrupted:
            break
    if estimator.optimizer == "auto":  # a given optimizer's lambda is kept as it was learned
        description = _for_rows(description, size, n)
    return Learned(description, history, value)
