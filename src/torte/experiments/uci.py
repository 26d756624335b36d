"""The paper's table: accuracy on six UCI datasets over ten folds, and what else predicts them."""

from __future__ import annotations

import time
from collections import Counter
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path
from typing import Any

import numpy as np

from torte import datasets
from torte.experiments import folds, methods
from torte.experiments.processes import completed
from torte.experiments.records import Record, environment, heard
from torte.experiments.settings import Settings

__all__ = ["DATASETS", "measure", "results"]

DATASETS = ("banknote", "ecoli", "robot", "segment", "wine", "yeast")
QUICK_DATASETS = ("ecoli", "wine")
QUICK_METHODS = ("gmce", "gmce-sgd", "cen-1", "erm", "cv", "med", "default", "forest")
# A Gaussian process classifier costs n^3 a step and class: minutes a fold on these.
GPC_DATASETS = ("banknote", "ecoli", "wine", "yeast")


@dataclass(frozen=True)
class Fold:
    """One fit: everything a process needs to know."""

    dataset: str
    method: str
    index: int
    optimizer: str
    epochs: int
    seed: int
    device: str

    @property
    def run(self) -> str:
        """The method, with its optimizer where it is not the paper's."""
        other = self.optimizer != "adam" and self.method in methods.LEARNED
        return f"{self.method}-{self.optimizer}" if other else self.method

    def __str__(self) -> str:
        return f"{self.dataset}, {self.run}, fold {self.index}"


_load = lru_cache(maxsize=None)(datasets.load)


def run_fold(fold: Fold) -> dict[str, Any]:
    """Fit on nine tenths, and what the rest says."""
    X, y, *_ = _load(fold.dataset)
    X = folds.unit_range(X) if fold.method in methods.PAPER else X
    train, test = folds.split(len(X), fold.index, fold.seed)
    model = methods.estimator(
        fold.method,
        y[train],
        X.shape[1],
        optimizer=fold.optimizer,
        epochs=fold.epochs,
        seed=fold.seed,
        device=fold.device,
    )
    began = time.perf_counter()
    with heard() as said:
        model.fit(X[train], y[train])
        seconds = time.perf_counter() - began
        entry: dict[str, Any] = {
            "accuracy": 100 * float((model.predict(X[test]) == y[test]).mean()),
            "seconds": seconds,
            "device": fold.device,
        }
        if hasattr(model, "predict_proba"):
            P = model.predict_proba(X[test])
            entry["log_loss"] = folds.log_loss(P, model.classes_, y[test])
    if hasattr(model, "history_"):
        entry |= {"steps": model.n_iter_, "complexity": model.complexity_}
    if said:
        entry["warnings"] = dict(Counter(warning.category.__name__ for warning in said))
    return entry


def path_of(settings: Settings, dataset: str, run: str) -> Path:
    """The file of one dataset and method, so that commands side by side do not meet."""
    return settings.folder / "uci" / dataset / f"{run}.json"


def planned(settings: Settings) -> list[Fold]:
    """All folds that were asked for."""
    names = settings.chosen("datasets", DATASETS)
    rows = settings.chosen("methods", methods.PAPER + methods.OURS)
    count, epochs = settings.folds, settings.epochs or methods.EPOCHS
    if settings.quick:
        names = names if settings.datasets else QUICK_DATASETS
        rows = rows if settings.methods else QUICK_METHODS
        count, epochs = min(count, 2), settings.epochs or 20
    return [
        Fold(name, row, index, settings.optimizer, epochs, settings.seed, settings.device)
        for name in names
        for row in rows
        if not (row == "gpc" and name not in GPC_DATASETS)
        for index in range(count)
    ]


def measure(settings: Settings) -> None:
    """Run every fold that is not yet in the results."""
    records: dict[Path, Record] = {}
    tasks = []
    for fold in planned(settings):
        path = path_of(settings, fold.dataset, fold.run)
        if path not in records:
            learned = fold.method in methods.PAPER and fold.method != "med"
            protocol = {"dataset": fold.dataset, "method": fold.run, "seed": fold.seed}
            records[path] = Record(path, protocol | ({"epochs": fold.epochs} if learned else {}))
        if str(fold.index) not in records[path]:
            tasks.append(fold)
    # The largest first, so that none of them is left for the end.
    tasks.sort(key=lambda fold: (-datasets.CATALOG[fold.dataset].rows, fold.index))
    where, command = environment(settings.device), settings.command("uci")
    for fold, entry in completed(run_fold, tasks, settings.processes, "uci"):
        record = records[path_of(settings, fold.dataset, fold.run)]
        record.add(str(fold.index), entry, command, where)


def results(settings: Settings) -> dict[str, dict[str, dict[str, np.ndarray]]]:
    """What is in the files: run -> dataset -> quantity -> one number a fold."""
    found: dict[str, dict[str, dict[str, np.ndarray]]] = {}
    for path in sorted((settings.folder / "uci").glob("*/*.json")):
        folds = Record.read(path)["results"]
        quantities = {
            key: np.array([entry.get(key, np.nan) for entry in folds.values()])
            for key in ("accuracy", "log_loss", "seconds")
        } | {"fold": np.array([int(fold) for fold in folds])}
        found.setdefault(path.stem, {})[path.parent.name] = quantities
    return found
