"""Several classifiers on the same folds: scores of each, and paired differences to the first."""

from __future__ import annotations

import math
import time
import warnings
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from sklearn.base import clone
from sklearn.model_selection import StratifiedKFold

from torte.errors import InvalidInput
from torte.inspection import reliability

__all__ = ["SCORES", "Comparison", "Record", "compare", "scores"]

FLOOR = 1e-15  # of a probability in a log loss, where a classifier says zero
SCORES = ("accuracy", "log_loss", "brier")


def scores(P: np.ndarray, codes: np.ndarray) -> dict[str, float]:
    """Accuracy, log loss in nats and Brier score ``mean sum_c (p_c - y_c)^2`` of P (n x m).

    >>> import numpy as np
    >>> from torte.comparison import scores
    >>> scores(np.array([[0.5, 0.5], [0.0, 1.0]]), np.array([0, 1]))["brier"]
    0.25
    """
    own = P[np.arange(len(codes)), codes]
    return {
        "accuracy": float((P.argmax(axis=1) == codes).mean()),
        "log_loss": float(-np.log(np.clip(own, FLOOR, 1.0)).mean()),
        "brier": float(((P**2).sum(axis=1) - 2 * own + 1).mean()),
    }


@dataclass
class Record:
    """What one classifier did on every fold; ``out_of_fold`` (n x m) is its word on each row."""

    folds: dict[str, list[float]] = field(default_factory=lambda: {s: [] for s in SCORES})
    seconds: list[float] = field(default_factory=list)
    out_of_fold: np.ndarray = field(default_factory=lambda: np.zeros(0))
    calibration_error: float = math.nan

    def mean(self, score: str) -> float:
        """The mean of a score over the folds."""
        return float(np.mean(self.folds[score]))

    def error(self, score: str) -> float:
        """Its standard error, ``s / sqrt(folds)``."""
        return _standard_error(np.asarray(self.folds[score]))

    def against(self, other: Record, score: str) -> tuple[float, float]:
        """Mean and standard error of ``self - other``, fold by fold: the same rows on both sides."""
        gaps = np.asarray(self.folds[score]) - np.asarray(other.folds[score])
        return float(gaps.mean()), _standard_error(gaps)


Comparison = dict[str, Record]


def _standard_error(values: np.ndarray) -> float:
    return float(values.std(ddof=1) / math.sqrt(len(values)))


def _check(codes: np.ndarray, classes: np.ndarray, folds: int) -> None:
    counts = np.bincount(codes)
    if counts.min() < 2:
        raise InvalidInput(
            f"y must hold at least 2 rows of every class, so that one is left to learn from, got 1 of "
            f"{classes.tolist()[counts.argmin()]!r}; drop it, or join it to another class."
        )
    if not 2 <= folds <= counts.max():
        raise InvalidInput(
            f"`folds` must be from 2 to {counts.max()}, the rows of the largest class, got {folds}."
        )


def compare(
    models: Mapping[str, Any],
    X: Any,
    y: np.ndarray,
    *,
    folds: int = 10,
    seed: int = 0,
    weights: np.ndarray | None = None,
    on_fold: Callable[[str, int], None] = lambda name, fold: None,
) -> Comparison:
    """Fit and score every model on the same stratified, shuffled folds of a data frame.

    ``weights`` (n numbers) are given to every fit as ``sample_weight``; scores are of rows.
    Calibration is measured on all rows' out-of-fold probabilities at once: on single folds it
    would say more about their size.
    """
    classes, codes = np.unique(y, return_inverse=True)
    _check(codes, classes, folds)
    split = StratifiedKFold(folds, shuffle=True, random_state=seed)
    records = {name: Record(out_of_fold=np.zeros((len(y), len(classes)))) for name in models}
    for fold, (train, test) in enumerate(_without_warning(split, codes)):
        for name, model in models.items():
            record, fresh = records[name], clone(model)
            began = time.perf_counter()
            extra = {} if weights is None else _weighted(fresh, weights[train])
            fresh.fit(X.iloc[train], y[train], **extra)
            record.seconds.append(time.perf_counter() - began)
            P = fresh.predict_proba(X.iloc[test])
            record.out_of_fold[test] = P
            for score, value in scores(P, codes[test]).items():
                record.folds[score].append(value)
            on_fold(name, fold)
    for record in records.values():
        record.calibration_error = reliability(codes, record.out_of_fold).error
    return records


def _weighted(model: Any, weights: np.ndarray) -> dict[str, Any]:
    last = model.steps[-1][0] + "__" if hasattr(model, "steps") else ""
    return {f"{last}sample_weight": weights}


def _without_warning(split: StratifiedKFold, codes: np.ndarray) -> Any:
    """The folds; a class rarer than they are many is missing from some, which is no harm here."""
    with warnings.catch_warnings():
        warnings.filterwarnings("ignore", "The least populated class", UserWarning)
        return list(split.split(codes, codes))
