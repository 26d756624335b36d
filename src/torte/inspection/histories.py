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
    history = inspected.history
    if not history:
        raise InvalidInput(
            "`estimator` has no history: partial_fit learns nothing but weights; call fit to learn hyperparameters."
        )
    series = {
        name: np.array([record[name] for record in history])
        for name in history[0]
        if name not in ("seconds", "run")
    }
    clock = np.array([record["seconds"] for record in history])
    runs = np.array([record.get("run", 1) for record in history])
    back = np.diff(clock) < 0  # in files of before, every run had a clock of its own
    ends = [*np.flatnonzero(back), len(clock) - 1]
    starts = np.flatnonzero(back | (np.diff(runs) > 0)) + 1
    return Curves(series, (0, *map(int, starts)), float(clock[ends].sum()))


def _told(name: str, value: Any) -> str:
    if name == "memory":
        return f"{value / 2**30:.3g} GiB"
    return f"{value:.3g}" if isinstance(value, float) else str(value)


def plan_of(inspected: Inspected) -> list[tuple[str, str]]:
    """The plan that was chosen, how it went and what it cost, as (name, value) lines.

    The one place that reads ``plan_`` (which solver, why, from which estimates) and
    ``solution_`` (how the system was solved), by their ``to_dict``; a model without them has
    its rows, evaluations and seconds.

    >>> from sklearn.datasets import load_iris
    >>> from torte import MCEClassifier
    >>> from torte.inspection import inspect_model, plan_of
    >>> model = MCEClassifier(random_state=0).fit(*load_iris(return_X_y=True))
    >>> dict(plan_of(inspect_model(model)))["training rows"]
    '150'
    """
    engine = inspected.engine
    lines = []
    for attribute, prefix in (("plan_", ""), ("solution_", "solution: ")):
        stated = getattr(engine, attribute, None)
        fields = {} if stated is None else dict(stated.to_dict())
        routes = fields.pop("routes", ())
        lines += [
            (prefix + name.replace("_", " "), _told(name, value))
            for name, value in fields.items()
            if value is not None
        ]
        lines += [
            (
                f"estimate: {route['solver']} ({route['precision']})",
                f"{_told('memory', route['memory'])}, {_told('seconds', route['seconds'])} s",
            )
            for route in routes
        ]
    if inspected.n_rows is not None:
        lines.append(("training rows", f"{inspected.n_rows:,}"))
    if inspected.history:
        found = curves(inspected)
        lines += [
            ("evaluations of the objective", f"{engine.n_iter_:,}"),
            ("runs of learning", str(len(found.starts))),
            ("seconds of learning", f"{found.seconds:.2f}"),
        ]
    return lines
