"""What a report is about: the model, and the table it was given, predicted once."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from torte.inspection import (
    Evaluation,
    Inspected,
    Table,
    combined,
    evaluate,
    image_shape,
    inspect_model,
    judge,
    leave_one_out_probabilities,
    movement,
    relevance,
    table,
)

__all__ = ["MOST_MOVED", "Rows", "Subject", "subject"]

MOST_MOVED = 120  # columns whose influence on predictions is measured


@dataclass(frozen=True, eq=False)
class Rows:
    """A table as its user knows it and as the kernel sees it, and what the model says of it."""

    X: Any
    table: Table
    seen: Any  # rows as the kernel takes them
    evaluation: Evaluation
    moved: np.ndarray | None  # by column; None for pixels and for rows without columns
    kind: str  # "given"; or training rows, "left out" one by one, or predicted as "training"


@dataclass(frozen=True, eq=False)
class Subject:
    """The model, its classes as text, the shape of its images, and rows where some were given."""

    inspected: Inspected
    labels: tuple[str, ...]
    shape: tuple[int, int] | None
    rows: Rows | None


def _trained_on(inspected: Inspected, X: Any, codes: np.ndarray) -> bool:
    """Whether ``p_hat`` of each row's own class is what it was on the training rows."""
    own = inspected.engine._own_probabilities
    if own is None or len(own) != len(codes):
        return False
    P = inspected.engine.decision_probabilities(inspected.encode(X))
    return bool(np.allclose(P[np.arange(len(codes)), codes], own, atol=1e-4))


def _judged(inspected: Inspected, X: Any, y: Any, seen: Any) -> tuple[Evaluation, str]:
    """Predictions, by leave-one-out where the rows trained the model, and whose rows they are."""
    found = evaluate(inspected, X, y)
    if found.scores is None or not _trained_on(inspected, X, found.scores.codes):
        return found, "given"
    P = leave_one_out_probabilities(inspected, seen, found.scores.codes)
    return (found, "training") if P is None else (judge(P, found.scores.codes), "left out")


def _moved(inspected: Inspected, X: Any, seen: Any, d: int) -> np.ndarray:
    """`movement` of every column; of many, of those with the most spread in length scales alone."""
    if d <= MOST_MOVED:
        return movement(inspected, X)
    parts = relevance(inspected, seen) if len(inspected.columns) == d else []
    ranked = np.argsort(-combined(parts, d), kind="stable") if parts else np.arange(d)
    moved = np.zeros(d)
    moved[ranked[:MOST_MOVED]] = movement(inspected, X, ranked[:MOST_MOVED].tolist())
    return moved


def subject(model: Any, X: Any, y: Any, shape: Any) -> Subject:
    """Everything that the sections of a report share."""
    inspected = inspect_model(model)
    rows, pixels = None, image_shape(inspected, shape)
    if X is not None:
        seen = inspected.rows(X)
        evaluation, kind = _judged(inspected, X, y, seen)
        plain = pixels is None and inspected.takes in ("vectors", "records")
        found = table(X, inspected.takes)
        moved = _moved(inspected, X, seen, len(found.columns)) if plain else None
        rows = Rows(X, found, seen, evaluation, moved, kind)
    labels = tuple(map(str, inspected.engine.classes_.tolist()))
    return Subject(inspected, labels, pixels, rows)
