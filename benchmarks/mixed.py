"""Mixed, incomplete tables: the kernel of columns, one-hot codes, and LightGBM, on the same folds.

    TORTE_DATA=... python benchmarks/mixed.py                                  # everything
    TORTE_DATA=... python benchmarks/mixed.py --datasets adult --folds 3
    TORTE_DATA=... python benchmarks/mixed.py --methods table --fresh

Ten stratified folds, seed 0. Every finished fold is kept in benchmarks/results/mixed.json, so
an interrupted run goes on where it stopped. `torte evaluate TABLE --target target` makes the
same comparison from the command line, with folds and rivals of its own.
"""

from __future__ import annotations

import argparse
import json
import os
import platform
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import lightgbm
import numpy as np
import pandas as pd
import torch
from sklearn.metrics import log_loss
from sklearn.model_selection import StratifiedKFold
from sklearn.preprocessing import OneHotEncoder

from torte import MCEClassifier
from torte.tables import TableClassifier, TableEncoder

RESULTS = Path(__file__).parent / "results" / "mixed.json"
Fit = Callable[[pd.DataFrame, np.ndarray, pd.DataFrame], np.ndarray]


def load(name: str) -> tuple[pd.DataFrame, np.ndarray]:
    folder = os.environ.get("TORTE_DATA")
    if not folder:
        raise SystemExit("TORTE_DATA must name the folder with more/<name>.csv.gz.")
    path = Path(folder) / "more" / f"{name}.csv.gz"
    frame = pd.read_csv(path, keep_default_na=False, na_values=[""])
    return frame, frame.pop("target").to_numpy()


def table(frame: pd.DataFrame, y: np.ndarray, new: pd.DataFrame) -> np.ndarray:
    return TableClassifier(random_state=0).fit(frame, y).predict_proba(new)


def one_hot(frame: pd.DataFrame, y: np.ndarray, new: pd.DataFrame) -> np.ndarray:
    """The default classifier on the same columns, codes as one column of zeros and ones a level."""
    encoder = TableEncoder().fit(frame)
    numbers = len(encoder.numeric_names_)
    X, X_new = encoder.transform(frame), encoder.transform(new)
    hot = OneHotEncoder(sparse_output=False, handle_unknown="ignore").fit(X[:, numbers:])
    X, X_new = (np.hstack([T[:, :numbers], hot.transform(T[:, numbers:])]) for T in (X, X_new))
    return MCEClassifier(random_state=0).fit(X, y).predict_proba(X_new)


def boosted_trees(frame: pd.DataFrame, y: np.ndarray, new: pd.DataFrame) -> np.ndarray:
    """LightGBM as it comes, with its own treatment of categories and missing cells."""
    both = pd.concat([frame, new])
    for name in both.columns:
        if not pd.api.types.is_numeric_dtype(both[name]):
            both[name] = both[name].astype("category")
    model = lightgbm.LGBMClassifier(verbose=-1, random_state=0)
    return model.fit(both[: len(frame)], y).predict_proba(both[len(frame) :])


METHODS: dict[str, Fit] = {"table": table, "one-hot": one_hot, "lightgbm": boosted_trees}
DATASETS = ("credit_approval", "adult")


def run(datasets: list[str], methods: list[str], folds: int) -> None:
    kept: dict[str, Any] = json.loads(RESULTS.read_text()) if RESULTS.exists() else {}
    kept["machine"] = f"{platform.machine()}, {os.cpu_count()} cores, torch {torch.__version__}"
    for name in datasets:
        frame, y = load(name)
        classes = np.unique(y)
        splits = list(StratifiedKFold(10, shuffle=True, random_state=0).split(frame, y))[:folds]
        for i, (train, test) in enumerate(splits):
            for method in methods:
                done = kept.setdefault(name, {}).setdefault(method, {})
                if str(i) in done:
                    continue
                began = time.perf_counter()
                P = METHODS[method](frame.iloc[train], y[train], frame.iloc[test])
                done[str(i)] = {
                    "accuracy": 100 * float((classes[P.argmax(axis=1)] == y[test]).mean()),
                    "log_loss": float(log_loss(y[test], P, labels=classes)),
                    "seconds": time.perf_counter() - began,
                }
                partial = RESULTS.with_suffix(".partial")
                partial.write_text(json.dumps(kept, indent=1))
                partial.replace(RESULTS)
        for method in methods:
            report(name, method, list(kept[name][method].values()))


def report(name: str, method: str, done: list[dict[str, float]]) -> None:
    accuracy, loss, seconds = (
        np.array([fold[key] for fold in done]) for key in ("accuracy", "log_loss", "seconds")
    )
    print(
        f"{name:16s} {method:9s} {len(done):2d} folds  {accuracy.mean():6.2f} +- {accuracy.std():4.2f} %  "
        f"{loss.mean():.4f} +- {loss.std():.4f} nats  {seconds.mean():6.2f} s a fold (longest {seconds.max():.2f})",
        flush=True,
    )


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--datasets", nargs="+", default=list(DATASETS), choices=DATASETS)
    parser.add_argument("--methods", nargs="+", default=list(METHODS), choices=list(METHODS))
    parser.add_argument("--folds", type=int, default=10)
    parser.add_argument("--fresh", action="store_true", help="forget what was measured before")
    arguments = parser.parse_args()
    RESULTS.parent.mkdir(exist_ok=True)
    if arguments.fresh:
        RESULTS.unlink(missing_ok=True)
    run(arguments.datasets, arguments.methods, arguments.folds)


if __name__ == "__main__":
    main()
