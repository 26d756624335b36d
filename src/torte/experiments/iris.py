"""The paper's first figure: a balanced model of two columns of iris, from either wrong start."""

from __future__ import annotations

from typing import Any

import numpy as np
from sklearn.model_selection import train_test_split

from torte import datasets
from torte.classifier import MCEClassifier
from torte.experiments.folds import unit_range
from torte.experiments.methods import paper_bound
from torte.experiments.records import Record, environment, heard
from torte.experiments.settings import Settings
from torte.kernels import Gaussian
from torte.optimizers import Adam
from torte.parameters import Parametric

__all__ = ["PUBLISHED", "data", "measure", "model_at", "results"]

STARTS = {"overfitted": (0.1, 1e-4), "underfitted": (1.0, 1.0)}  # length scale, lambda
STEPS = 500
PUBLISHED = (56.67, 73.33)  # accuracy on the test rows before and after, from either start
CURVES = ("risk", "complexity", "objective", "test_accuracy")


def data(seed: int) -> tuple[np.ndarray, ...]:
    """Training rows, test rows, and their labels; 30 of the 150 rows are held out."""
    X, y, *_ = datasets.load("iris")
    split: list[np.ndarray] = train_test_split(
        unit_range(X[:, :2]), y, test_size=0.2, random_state=seed
    )
    return tuple(split)


def measure(settings: Settings) -> None:
    """Learn from both starts, with the scores on the test rows at every step."""
    X, X_test, y, y_test = data(settings.seed)
    steps = settings.epochs or (50 if settings.quick else STEPS)
    protocol = {"seed": settings.seed, "steps": steps, "learning_rate": 0.01}
    record = Record(settings.folder / "iris" / "iris.json", protocol)
    for start, (scale, regularization) in STARTS.items():
        if start in record:
            continue
        kernel = 1.0 * Gaussian(scale)
        model = MCEClassifier(
            kernel,
            regularization=regularization,
            objective=paper_bound(),
            optimizer=Adam(0.01, max_iter=steps),
            device=settings.device,
        )
        with heard():
            model.fit(X, y, monitor=(X_test, y_test))
        entry = {
            "before": 100 * model.history_[0]["test_accuracy"],
            "after": 100 * float((model.predict(X_test) == y_test).mean()),
            "initial": {"kernel": kernel.to_dict(), "regularization": regularization},
            "learned": {
                "kernel": model.kernel_.to_dict(),
                "regularization": model.regularization_,
            },
            "complexity": model.complexity_,
            "curves": {key: [step[key] for step in model.history_] for key in CURVES},
        }
        record.add(start, entry, settings.command("iris"), environment(settings.device))


def model_at(description: dict[str, Any], X: np.ndarray, y: np.ndarray) -> MCEClassifier:
    """The model with the hyperparameters of a record, nothing learned."""
    return MCEClassifier(
        Parametric.from_dict(description["kernel"]),
        regularization=description["regularization"],
        objective=paper_bound(),
        optimizer=None,
    ).fit(X, y)


def results(settings: Settings) -> dict[str, Any]:
    """The file of results."""
    return Record.read(settings.folder / "iris" / "iris.json")
