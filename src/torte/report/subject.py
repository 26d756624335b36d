"""What a report is about: the model, and the table it was given, predicted once."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from torte.inspection import (
    Evaluation,
    Inspected,
    Table,
    evaluate,
    image_shape,
    inspect_model,
    movement,
    table,
)

__all__ = ["Rows", "Subject", "subject"]


@dataclass(frozen=True, eq=False)
class Rows:
    """A table as its user knows it and as the kernel sees it, and what the model says of it."""

    X: Any
    table: Table
    encoded: np.ndarray
    evaluation: Evaluation
    moved: np.ndarray | None  # by column; None for pixels
    seen: bool  # whether the model was fitted on these very rows


@dataclass(frozen=True, eq=False)
class Subject:
    """The model, its classes as text, the shape of its images, and rows where some were given."""

    inspected: Inspected
    labels: tuple[str, ...]
    shape: tuple[int, int] | None
    rows: Rows | None


def _were_trained_on(inspected: Inspected, X: Any, codes: np.ndarray | None) -> bool:
    """Whether ``p_hat`` of each row's own class is what it was on the training rows."""
    own = inspected.engine._own_probabilities
    if own is None or codes is None or len(own) != len(codes):
        return False
    P = inspected.engine.decision_probabilities(inspected.encode(X))
    return bool(np.allclose(P[np.arange(len(codes)), codes], own, atol=1e-4))


def subject(model: Any, X: Any, y: Any, shape: Any) -> Subject:
    """Everything that the sections of a report share."""
    inspected = inspect_model(model)
    rows, pixels = None, image_shape(inspected, shape)
    if X is not None:
        encoded, evaluation = inspected.rows(X), evaluate(inspected, X, y)
        codes = None if evaluation.scores is None else evaluation.scores.codes
        seen = _were_trained_on(inspected, X, codes)
        moved = None if pixels else movement(inspected, X)
        rows = Rows(X, table(X), encoded, evaluation, moved, seen)
    labels = tuple(map(str, inspected.engine.classes_.tolist()))
    return Subject(inspected, labels, pixels, rows)
