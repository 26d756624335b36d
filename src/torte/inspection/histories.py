"""How learning went: its curves, the plan it followed, and what that cost."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from torte.errors import InvalidInput
from torte.inspection.models import Inspected

__all__ = ["Curves", "curves", "plan_of"]


@dataclass(frozen=True, eq=False)
class Curves:
    """One number a step by name: risk, complexity, objective, and scores of a monitored table.

    ``starts`` are the first steps of the runs of learning: batches, then all rows, say.
    ``seconds`` is what all of them took.
    """

    series: dict[str, np.ndarray]
    starts: tuple[int, ...]
    seconds: float


def curves(inspected: Inspected) -> Curves:
    """The history of a fitted model as arrays.

    >>> from sklearn.datasets import load_iris
    >>> from torte import MCEClassifier
    >>> from torte.inspection import curves, inspect_model
    >>> model = MCEClassifier(random_state=0).fit(*load_iris(return_X_y=True))
    >>> list(curves(inspect_model(model)).series)
    ['risk', 'complexity', 'objective']
    """
    history = inspected.engine.history_
    if not history:
        raise InvalidInput(
            "`estimator` has no history: partial_fit learns nothing but weights; call fit to learn hyperparameters."
        )
    series = {
        name: np.array([record[name] for record in history])
        for name in history[0]
        if name != "seconds"
    }
    clock = np.array([record["seconds"] for record in history])
    again = np.flatnonzero(np.diff(clock) < 0) + 1  # every run has a clock of its own
    ends = [*(again - 1), len(clock) - 1]
    return Curves(series, (0, *map(int, again)), float(clock[ends].sum()))


def plan_of(inspected: Inspected) -> list[tuple[str, str]]:
    """What was carried out to fit the model, as (name, value) lines.

    ``plan_`` of the model says it in full; without one the arguments and the history do.
    """
    engine = inspected.engine
    lines: list[tuple[str, Any]] = [
        ("optimizer", engine.optimizer),
        ("batch size", engine.batch_size or "chosen by the plan"),
        ("solver", engine.solver),
        ("precision", engine.dtype),
        ("device", engine.device),
    ]
    plan = getattr(engine, "plan_", None)
    if plan is not None:
        lines.append(("plan", plan))
    if inspected.n_rows is not None:
        lines.append(("training rows", f"{inspected.n_rows:,}"))
    if engine.history_:
        found = curves(inspected)
        lines += [
            ("evaluations of the objective", f"{engine.n_iter_:,}"),
            ("runs of learning", len(found.starts)),
            ("seconds of learning", f"{found.seconds:.2f}"),
        ]
    return [(name, str(value)) for name, value in lines]
