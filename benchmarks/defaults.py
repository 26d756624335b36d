"""What stands behind the default estimator: one change at a time, on the paper's folds.

    TORTE_DATA=... python benchmarks/defaults.py                    # everything, two processes
    TORTE_DATA=... python benchmarks/defaults.py --groups tau       # one group of variants
    TORTE_DATA=... python benchmarks/defaults.py --report           # the tables of docs/defaults.md

Every variant differs from the default estimator in one thing and is judged beside it on the
same test rows. Every finished fold is kept in benchmarks/results/defaults.json, so an
interrupted run goes on where it stopped. One thread a fit, and seconds are the processor's:
they compare with each other whatever else the machine does.
"""

from __future__ import annotations

import argparse
import json
import os
import time
import warnings
from collections.abc import Iterator
from concurrent.futures import ProcessPoolExecutor, as_completed
from multiprocessing import get_context
from pathlib import Path
from typing import Any
from unittest.mock import patch

import numpy as np
import torch

from torte import MCEClassifier, datasets
from torte.experiments import folds
from torte.features import Standardize
from torte.kernels import Gaussian, Laplacian, Linear, Matern32, RationalQuadratic
from torte.objectives import RademacherBound
from torte.optimizers import LBFGS

RESULTS = Path(__file__).parent / "results" / "defaults.json"
FOLDS = {"wine": 10, "ecoli": 10, "vehicle": 10, "yeast": 4, "segment": 2, "robot": 1}
ROWS = {"wine": 178, "ecoli": 336, "vehicle": 846, "yeast": 1484, "segment": 2310, "robot": 5456}
SMALL = ("wine", "ecoli", "vehicle", "yeast")
GAUSSIAN, LAPLACIAN = Gaussian(ard=True), Laplacian(ard=True)
BOTH = 0.5 * GAUSSIAN + 0.5 * LAPLACIAN


def bound(**changes: Any) -> dict[str, Any]:
    return {"objective": RademacherBound(**changes)}


def inside(**changes: Any) -> dict[str, Any]:
    """A change to something that is no argument: a name in a module of torte."""
    return {"inside": changes}


def hard_floor(P: torch.Tensor, epsilon: float) -> torch.Tensor:
    clipped = P.clamp(min=epsilon)
    return clipped / clipped.sum(dim=1, keepdim=True)


# group: the tables it is measured on, and its variants, each as what it changes
GROUPS: dict[str, tuple[tuple[str, ...], dict[str, dict[str, Any]]]] = {
    "kernel": (
        tuple(FOLDS),
        {
            "Gaussian": {"kernel": GAUSSIAN},
            "Laplacian": {"kernel": LAPLACIAN},
            "Matern 3/2": {"kernel": Matern32(ard=True)},
            "rational quadratic": {"kernel": RationalQuadratic(ard=True)},
            "Gaussian + linear": {"kernel": (GAUSSIAN + 0.1 * Linear() + 0.1) @ Standardize()},
            "default + linear": {"kernel": (BOTH + 0.1 * Linear() + 0.1) @ Standardize()},
            "one length scale": {"kernel": Gaussian() @ Standardize()},
        },
    ),
    "tau": (
        SMALL,
        {tau: bound(tau=tau) for tau in (0.0, "0.1e/n", "1.2e/n", "4e/n")},
    ),
    "epsilon": (SMALL, {f"{e:g}": bound(epsilon=e) for e in (1e-2, 3e-3, 1e-4)}),
    "floor": (
        SMALL,
        {
            "hard": inside(smooth_clip=lambda P, epsilon: P.clamp(min=epsilon)),
            "hard in predictions only": inside(clip_normalize=hard_floor),
        },
    ),
    "shrinkage": (SMALL, {f"{s:g}": bound(shrinkage=s) for s in (0.0, 3.0)}),
    "risk": (
        SMALL,
        {"training": bound(risk="training", tau="4e/n", epsilon=1e-15)},
    ),
    "start": (
        SMALL,
        {
            f"lambda = {start:g}": {"optimizer": LBFGS(tol=1e-5), "regularization": start}
            for start in (1.0, 0.01)
        },
    ),
    "left out": (
        ("wine", "ecoli", "yeast"),
        {str(rows): bound(left_out=rows) for rows in (50, 100, 200, 300)},
    ),
    "batches": (
        ("yeast", "segment", "robot"),
        {str(rows): {"batch_size": rows} for rows in (200, 400, 700)}
        | {"all rows": inside(FULL_ROWS=10**9)},
    ),
    "seed": ((*SMALL, "segment"), {"another": {"random_state": 1}}),
}
MODULE = {
    "smooth_clip": "torte.embedding",
    "clip_normalize": "torte.embedding",  # as predictions see it; the risk has its own name for it
    "FULL_ROWS": "torte.plans",
}


def variants() -> Iterator[tuple[str, str, dict[str, Any]]]:
    for group, (_, changes) in GROUPS.items():
        for name, settings in changes.items():
            yield group, f"{group}: {name}", settings


def differs(variant: str, table: str) -> bool:
    """Whether a variant is measured on a table, where it would not be the default itself."""
    group, name = variant.split(": ")
    rows = 0.9 * ROWS[table]
    if name == "all rows" and not 1500 < rows < 3000:  # the default itself, or far too long
        return False
    same = group == "left out" and int(name) >= rows
    return table in GROUPS[group][0] and not same


def fit_fold(variant: str, table: str, fold: int) -> tuple[dict[str, Any], list[float], list[bool]]:
    """One fit: seconds and steps, then the log loss and the hit of every test row."""
    torch.set_num_threads(1)
    warnings.simplefilter("ignore")
    settings = {name: changes for _, name, changes in variants()}.get(variant, {})
    arguments = {"random_state": 0} | {k: v for k, v in settings.items() if k != "inside"}
    X, y, *_ = datasets.load(table)
    train, test = folds.split(len(X), fold)
    model = MCEClassifier(**arguments)
    changed = [patch(f"{MODULE[k]}.{k}", v) for k, v in settings.get("inside", {}).items()]
    for change in changed:
        change.start()
    try:
        began = time.process_time()
        model.fit(X[train], y[train])
        seconds = time.process_time() - began
        P = model.predict_proba(X[test])
    finally:
        for change in changed:
            change.stop()
    known = np.isin(y[test], model.classes_)
    own = np.full(len(test), model.objective.epsilon)  # of a label that was never seen
    own[known] = P[np.flatnonzero(known), np.searchsorted(model.classes_, y[test][known])]
    hits = model.classes_[P.argmax(axis=1)] == y[test]
    return (
        {"seconds": round(seconds, 3), "steps": model.n_iter_},
        (-np.log(own)).tolist(),
        hits.tolist(),
    )


def summary(losses: np.ndarray, hits: np.ndarray, default: dict[str, Any] | None) -> dict[str, Any]:
    """What is kept of a fold; of a variant also sums over rows of its differences to the default."""
    kept: dict[str, Any] = {
        "rows": len(losses),
        "accuracy": round(100 * float(hits.mean()), 4),
        "log_loss": round(float(losses.mean()), 6),
    }
    if default is None:  # the variants are compared with this one, row by row
        return kept | {
            "losses": losses.round(5).tolist(),
            "hits": "".join(map(str, hits.astype(int))),
        }
    apart = losses - np.array(default["losses"])
    better = hits.astype(int) - np.array([int(hit) for hit in default["hits"]])
    sums = {
        "loss": apart.sum(),
        "loss_squared": (apart**2).sum(),
        "hits": better.sum(),
        "changed": abs(better).sum(),
    }
    return kept | {"against_default": {key: round(float(value), 6) for key, value in sums.items()}}


def keep(kept: dict[str, Any]) -> None:
    partial = RESULTS.with_suffix(".partial")
    partial.write_text(json.dumps(kept, separators=(",", ":")).replace('"},', '"},\n'))
    partial.replace(RESULTS)


def measure(kept: dict[str, Any], names: list[str], tables: list[str], jobs: int) -> None:
    """Fit what is not yet there, long fits first, in processes of one thread each."""
    todo = [
        (variant, table, fold)
        for table in sorted(tables, key=lambda table: -ROWS[table])
        for variant in names
        if variant == "default" or differs(variant, table)
        for fold in range(FOLDS[table])
        if str(fold) not in kept.setdefault(table, {}).setdefault(variant, {})
    ]
    with ProcessPoolExecutor(jobs, mp_context=get_context("spawn")) as pool:
        waiting = {pool.submit(fit_fold, *task): task for task in todo}
        for done in as_completed(waiting):
            variant, table, fold = waiting[done]
            cost, losses, hits = done.result()
            default = None if variant == "default" else kept[table]["default"][str(fold)]
            kept[table][variant][str(fold)] = cost | summary(
                np.array(losses), np.array(hits), default
            )
            keep(kept)
            print(f"{table} {variant} fold {fold}: {cost['seconds']:.1f} s", flush=True)


# -- the tables of docs/defaults.md -------------------------------------------------------------


def absolute(done: dict[str, dict[str, Any]]) -> str:
    rows = np.array([fold["rows"] for fold in done.values()])
    mean = {
        key: float(np.average([fold[key] for fold in done.values()], weights=rows))
        for key in ("accuracy", "log_loss", "seconds", "steps")
    }
    return "{accuracy:.1f} %, {log_loss:.3f} nats, {seconds:.2g} s, {steps:.0f} steps".format(
        **mean
    )


def paired(done: dict[str, dict[str, Any]]) -> str:
    """Mean difference to the default over all test rows, and its standard error."""
    n = sum(fold["rows"] for fold in done.values())
    sums = {
        key: sum(fold["against_default"][key] for fold in done.values())
        for key in next(iter(done.values()))["against_default"]
    }
    hit, loss = sums["hits"] / n, sums["loss"] / n
    error_hit = np.sqrt(max(0.0, sums["changed"] / n - hit**2) / n)
    error_loss = np.sqrt(max(0.0, sums["loss_squared"] / n - loss**2) / n)
    seconds = np.mean([fold["seconds"] for fold in done.values()])
    return (
        f"{100 * hit:+.1f} ± {100 * error_hit:.1f}, {loss:+.3f} ± {error_loss:.3f}, {seconds:.2g} s"
    )


def report(kept: dict[str, Any]) -> None:
    print("| | " + " | ".join(FOLDS) + " |\n" + "| --- " * (len(FOLDS) + 1) + "|")
    print(
        "| default | " + " | ".join(absolute(kept[t]["default"]) for t in FOLDS if t in kept) + " |"
    )
    for group, (tables, _) in GROUPS.items():
        print(f"\n| {group} | " + " | ".join(tables) + " |\n" + "| --- " * (len(tables) + 1) + "|")
        for owner, name, _ in variants():
            if owner == group:
                done = [kept.get(table, {}).get(name) for table in tables]
                print(
                    f"| {name.split(': ')[1]} | "
                    + " | ".join(paired(d) if d else "–" for d in done)
                    + " |"
                )


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--groups", nargs="+", default=list(GROUPS), choices=list(GROUPS))
    parser.add_argument("--datasets", nargs="+", default=list(FOLDS), choices=list(FOLDS))
    parser.add_argument("--jobs", type=int, default=os.cpu_count() or 1)
    parser.add_argument("--fresh", action="store_true", help="forget what was measured before")
    parser.add_argument("--report", action="store_true", help="measure nothing, print the tables")
    arguments = parser.parse_args()
    RESULTS.parent.mkdir(exist_ok=True)
    kept = json.loads(RESULTS.read_text()) if RESULTS.exists() and not arguments.fresh else {}
    if not arguments.report:
        names = [name for group, name, _ in variants() if group in arguments.groups]
        measure(kept, ["default"], arguments.datasets, arguments.jobs)
        measure(kept, names, arguments.datasets, arguments.jobs)
    report(kept)


if __name__ == "__main__":
    main()
