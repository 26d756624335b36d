"""Large n: accuracy, time and peak memory, every row in a process of its own.

    TORTE_DATA=... python benchmarks/scale.py                    # what is not in the results yet
    TORTE_DATA=... python benchmarks/scale.py --only letter      # one row, anew
    TORTE_DATA=... python benchmarks/scale.py --list

Results go to benchmarks/results/scale.json as each row ends, so an interrupted run goes on where
it stopped; required figures stand beside the measured ones. The growth plot is drawn from them.
"""

from __future__ import annotations

import argparse
import gzip
import json
import os
import platform
import resource
import subprocess
import sys
import time
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import torch

from torte import MCEClassifier
from torte.features import Nystroem
from torte.kernels import Gaussian, Laplacian
from torte.optimizers import Adam

RESULTS = Path(__file__).parent / "results" / "scale.json"
PLOT = Path(__file__).parent / "results" / "growth.png"
P = 4096
Row = dict[str, Any]


# -- data -----------------------------------------------------------------------------


def folder() -> Path:
    where = os.environ.get("TORTE_DATA")
    if not where:
        raise SystemExit("TORTE_DATA must name the folder with mnist/ and more/.")
    return Path(where)


def mnist(rows: int | None = None) -> tuple[np.ndarray, ...]:
    """Training and test images as rows of unit length, and their digits."""

    def read(name: str, skip: int) -> np.ndarray:
        with gzip.open(folder() / "mnist" / name) as file:
            return np.frombuffer(file.read(), np.uint8)[skip:]

    found = []
    for part, count in (("train", 60_000), ("t10k", 10_000)):
        X = read(f"{part}-images-idx3-ubyte.gz", 16).reshape(count, 784).astype(np.float32)
        found += [X / np.linalg.norm(X, axis=1, keepdims=True)]
        found += [read(f"{part}-labels-idx1-ubyte.gz", 8)]
    return found[0][:rows], found[1][:rows], found[2], found[3]


def split(name: str, share: float, dtype: Any, rows: int | None = None) -> tuple[np.ndarray, ...]:
    """A table of TORTE_DATA/more in random order: a share to learn from, the rest to test on."""
    frame = pd.read_csv(folder() / "more" / f"{name}.csv.gz")
    order = np.random.default_rng(0).permutation(len(frame))
    X, y = frame.drop(columns="target").to_numpy(dtype)[order], frame["target"].to_numpy()[order]
    cut = round(share * len(X))
    return X[:cut][:rows], y[:cut][:rows], X[cut:], y[cut:]


def generated(n: int) -> tuple[np.ndarray, np.ndarray]:
    """Rows of ten normal columns; four classes by the signs of a ring and of a product, with noise."""
    rng = np.random.default_rng(0)
    X = rng.normal(size=(n, 10))
    ring = X[:, 0] ** 2 + X[:, 1] ** 2 + 0.3 * rng.normal(size=n) > 1.4
    return X, 2 * ring + (X[:, 2] * X[:, 3] + 0.3 * rng.normal(size=n) > 0)


# -- rows -----------------------------------------------------------------------------


def fitted(model: Any, X: Any, y: Any, Xt: Any, yt: Any) -> Row:
    began = time.perf_counter()
    model.fit(X, y)
    seconds = time.perf_counter() - began
    row: Row = {"rows": len(X), "seconds": seconds, "accuracy": 100 * model.score(Xt, yt)}
    row["seconds with prediction"] = time.perf_counter() - began
    if isinstance(model, MCEClassifier):
        own = model.predict_proba(Xt)[np.arange(len(yt)), np.searchsorted(model.classes_, yt)]
        row |= {
            "log loss": float(-np.log(own).mean()),
            "regularization": model.regularization_,
            "learning": model.history_[-1]["seconds"],
            "plan": str(model.plan_),
            "solution": model.solution_.to_dict(),
        }
    return row


def mnist_exact(rows: int | None = None) -> Row:
    model = MCEClassifier(Gaussian(), solver="cholesky", random_state=0, verbose=1)
    return fitted(model, *mnist(rows))


def mnist_features() -> Row:
    model = MCEClassifier(
        Nystroem(Gaussian(), 4000, landmarks="k-means"),
        optimizer=Adam(max_iter=60, average=1 / 3),
        batch_size=1000,
        regularization=1e-4,
        dtype="float32",
        random_state=0,
        verbose=1,
    )
    return fitted(model, *mnist())


def covertype() -> Row:
    model = MCEClassifier(
        Nystroem(Laplacian(ard=True), P, landmarks="k-means"),
        optimizer=Adam(max_iter=100, average=1 / 3),
        batch_size=1000,
        regularization=1e-3,
        dtype="float32",
        random_state=0,
        verbose=1,
    )
    return fitted(model, *split("covertype", 0.8, np.float32))


def covertype_sklearn(which: str) -> Row:
    """scikit-learn's features of the same number, on standardized columns, float32 like ours."""
    from sklearn import kernel_approximation, linear_model, pipeline, preprocessing

    if which == "nystroem":
        features = kernel_approximation.Nystroem(n_components=P, random_state=0)
        last = linear_model.RidgeClassifier(copy_X=False)
    else:
        features = kernel_approximation.RBFSampler(gamma="scale", n_components=P, random_state=0)
        last = linear_model.SGDClassifier(random_state=0)
    model = pipeline.make_pipeline(preprocessing.StandardScaler(), features, last)
    X, y, Xt, yt = split("covertype", 0.8, np.float32)
    return fitted(_InParts(model), X, y, Xt, yt)


class _InParts:
    """Predicts some rows at a time: all features of all test rows do not fit beside the rest."""

    def __init__(self, model: Any):
        self.model = model

    def fit(self, X: Any, y: Any) -> None:
        self.model.fit(X, y)

    def score(self, X: Any, y: Any) -> float:
        parts = range(0, len(X), 20_000)
        hits = sum(
            (self.model.predict(X[i : i + 20_000]) == y[i : i + 20_000]).sum() for i in parts
        )
        return hits / len(X)


def letter(rows: int | None = None) -> Row:
    X, y, Xt, yt = split("letter", 0.8, float, rows)
    began = time.perf_counter()
    learned = MCEClassifier(Gaussian(ard=True), solver="cholesky", random_state=0).fit(X, y)
    row: Row = {"rows": len(X), "learning and solving": time.perf_counter() - began}
    row |= {"accuracy": 100 * learned.score(Xt, yt), "regularization": learned.regularization_}
    P0 = learned.predict_proba(Xt)
    for solver in ("cholesky", "conjugate-gradients"):
        given = {"regularization": learned.regularization_, "optimizer": None, "random_state": 0}
        began = time.perf_counter()
        model = MCEClassifier(learned.kernel_, solver=solver, verbose=1, **given).fit(X, y)
        change = float(np.abs(model.predict_proba(Xt) - P0).max())
        row[solver] = {"seconds": time.perf_counter() - began, "largest change": change}
        row[solver] |= model.solution_.to_dict() | {"plan": str(model.plan_)}
    return row


def growth(solver: str, n: int) -> Row:
    """Conditioning alone: the kernel is given."""
    X, y = generated(n)
    kernel: Any = Gaussian(2.0)
    if solver == "features":
        kernel, solver = Nystroem(kernel, 1024), "auto"
    given = {"regularization": 0.1 / n, "optimizer": None, "random_state": 0}
    model = MCEClassifier(kernel, solver=solver, **given)
    began = time.perf_counter()
    model.fit(X, y)
    row: Row = {"rows": n, "seconds": time.perf_counter() - began}
    return row | {"solution": model.solution_.to_dict()}


def predict(d: int) -> Row:
    """n = 5000 anchors, ten classes: one row, and 100 000 against the bare matrix products."""
    rng = np.random.default_rng(0)
    X, y = rng.normal(size=(5000, d)), rng.integers(0, 10, size=5000)
    given = {"regularization": 1e-3, "optimizer": None}
    model = MCEClassifier(Gaussian(float(d) ** 0.5), **given).fit(X, y)
    new = rng.normal(size=(100_000, d))
    alone = []
    for i in range(200):
        began = time.perf_counter()
        model.predict_proba(new[i : i + 1])
        alone.append(time.perf_counter() - began)
    A, V, T = torch.as_tensor(X), model.embedding_.weights, torch.as_tensor(new)

    def bare() -> None:
        for part in T.split(2000):
            (part @ A.mT) @ V

    least = {"all rows": float("inf"), "bare products": float("inf")}
    for _ in range(3):
        for name, action in (
            ("all rows", lambda: model.predict_proba(new)),
            ("bare products", bare),
        ):
            began = time.perf_counter()
            action()
            least[name] = min(least[name], time.perf_counter() - began)
    share = least["bare products"] / least["all rows"]
    return {"one row, ms": 1e3 * float(np.median(alone)), **least, "share of bare speed": share}


SIZES = {
    "cholesky": (1000, 2000, 4000, 8000, 16_000),
    "conjugate-gradients": (1000, 2000, 4000, 8000, 16_000, 32_000),
    "features": (1000, 4000, 16_000, 64_000, 256_000, 1_000_000),
}
ROWS: dict[str, Callable[[], Row]] = {
    "letter": letter,
    "mnist-features": mnist_features,
    "covertype": covertype,
    "covertype, scikit-learn Nystroem + RidgeClassifier": partial(covertype_sklearn, "nystroem"),
    "covertype, scikit-learn RBFSampler + SGDClassifier": partial(covertype_sklearn, "fourier"),
    "predict, 16 columns": partial(predict, 16),
    "predict, 784 columns": partial(predict, 784),
    "mnist-exact, 8000 rows": partial(mnist_exact, 8000),
    **{
        f"growth, {solver}, {n}": partial(growth, solver, n)
        for solver, sizes in SIZES.items()
        for n in sizes
    },
    "mnist-exact": mnist_exact,
}
REQUIRED = {
    "letter": "accuracy >= 97, largest change <= 1e-6",
    "mnist-features": "accuracy >= 98.0, seconds <= 60",
    "mnist-exact": "accuracy >= 98.4, seconds <= 1200, peak <= 18 GB",
    "covertype": "accuracy >= 90, seconds <= 240, peak <= 3 GB",
    "predict, 16 columns": "one row <= 2 ms, share >= 0.5",
    "predict, 784 columns": "one row <= 2 ms, share >= 0.5",
}


# -- running them ---------------------------------------------------------------------


def peak_memory() -> float:
    """The most memory this process held, in GB."""
    status = Path("/proc/self/status")
    if status.exists():
        lines = status.read_text().splitlines()
        return next(int(line.split()[1]) for line in lines if line.startswith("VmHWM")) / 1e6
    used = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    return used / (1e9 if sys.platform == "darwin" else 1e6)


def stored() -> dict[str, Row]:
    return json.loads(RESULTS.read_text()) if RESULTS.exists() else {}


def machine() -> str:
    memory = os.sysconf("SC_PHYS_PAGES") * os.sysconf("SC_PAGE_SIZE") / 1e9
    return (
        f"{platform.machine()}, {os.cpu_count()} cores, {torch.get_num_threads()} threads, "
        f"{memory:.0f} GB, torch {torch.__version__}"
    )


def draw(rows: dict[str, Row]) -> dict[str, float]:
    """The growth plot, and the slope of each route between its two largest sizes."""
    import matplotlib

    matplotlib.use("Agg")
    from matplotlib import pyplot as plt

    figure, axes = plt.subplots(figsize=(6, 4.5))
    slopes = {}
    for solver, sizes in SIZES.items():
        done = [
            (n, rows[f"growth, {solver}, {n}"]) for n in sizes if f"growth, {solver}, {n}" in rows
        ]
        if len(done) < 2:
            continue
        n, seconds = np.array([(size, row["seconds"]) for size, row in done]).T
        slopes[solver] = float(np.diff(np.log(seconds[-2:]))[0] / np.diff(np.log(n[-2:]))[0])
        axes.loglog(n, seconds, "o-", label=f"{solver}: n^{slopes[solver]:.2f}")
    axes.set(xlabel="rows", ylabel="seconds to condition", title="Time against rows, kernel given")
    axes.legend()
    figure.tight_layout()
    figure.savefig(PLOT, dpi=130)
    return slopes


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--only", action="append", help="names of rows, measured anew")
    parser.add_argument("--here", help=argparse.SUPPRESS)  # one row, in this process
    parser.add_argument("--list", action="store_true")
    options = parser.parse_args()
    if options.here:
        row = ROWS[options.here]() | {"peak GB": peak_memory(), "machine": machine()}
        RESULTS.write_text(json.dumps(stored() | {options.here: row}, indent=1))
        return
    if options.list:
        print("\n".join(ROWS))
        return
    for name in options.only or [name for name in ROWS if name not in stored()]:
        began = time.perf_counter()
        run = subprocess.run([sys.executable, __file__, "--here", name], check=False)
        if run.returncode != 0:
            print(f"{name}: failed with {run.returncode}", flush=True)
            continue
        row = stored()[name]
        told = ", ".join(f"{k} {v:.4g}" for k, v in row.items() if isinstance(v, float))
        needed = f"; required {REQUIRED[name]}" if name in REQUIRED else ""
        print(f"{name}: {told} ({time.perf_counter() - began:.0f} s in all){needed}", flush=True)
    slopes = draw(stored())
    if slopes:
        RESULTS.write_text(json.dumps(stored() | {"growth, slopes": slopes}, indent=1))
        print("slopes:", ", ".join(f"{solver} {slope:.2f}" for solver, slope in slopes.items()))


if __name__ == "__main__":
    main()
