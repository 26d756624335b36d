"""The rows of benchmarks/scale.py: data, and what is measured on it, each run in a process of its own."""

from __future__ import annotations

import os
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import torch

from torte import MCEClassifier, datasets
from torte.features import Network, Nystroem
from torte.kernels import Gaussian
from torte.objectives import RademacherBound
from torte.optimizers import Adam
from torte.streams import ArrowRows, predictions

P = 4096  # features of scikit-learn's maps; a second time as many as ours has
Row = dict[str, Any]


# -- data -----------------------------------------------------------------------------


def folder() -> Path:
    where = os.environ.get("TORTE_DATA")
    if not where:
        raise SystemExit("TORTE_DATA must name the folder with mnist/ and more/.")
    return Path(where)


def mnist(rows: int | None = None) -> tuple[np.ndarray, ...]:
    """Training and test images as rows of unit length, and their digits."""
    X, y, *_ = datasets.load("mnist")
    X = X.astype(np.float32)
    X /= np.linalg.norm(X, axis=1, keepdims=True)
    return X[:60_000][:rows], y[:60_000][:rows], X[60_000:], y[60_000:]


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


def write_covertype(folder: Path) -> None:
    """The table as Parquet, shuffled: ten files to learn from, and one to judge by."""
    import pyarrow as pa
    import pyarrow.parquet as pq

    X, y, Xt, yt = split("covertype", 0.8, np.float32)
    (folder / "train").mkdir()
    parts = [(X[i::10], y[i::10], folder / "train" / f"part-{i}.parquet") for i in range(10)]
    for rows, labels, path in (*parts, (Xt, yt, folder / "test.parquet")):
        columns = {f"x{j}": column for j, column in enumerate(rows.T)} | {"target": labels}
        pq.write_table(pa.table(columns), path, row_group_size=32_768)


def covertype() -> Row:
    """From Parquet: a sample of rows to learn on, then one pass for the sums over all rows."""
    model = MCEClassifier(
        Network((512, 512, 512), dropout=0.0),  # p = 512 features
        objective=RademacherBound(risk="training"),
        optimizer=Adam(0.002, max_iter=2500, average=0.1),
        batch_size=2000,
        regularization=1e-3,
        dtype="float32",
        random_state=0,
        verbose=1,
    )
    with tempfile.TemporaryDirectory() as place:
        # Elsewhere, so that the memory of this process is that of the fit.
        writing = [sys.executable, __file__, place]
        subprocess.run(writing, check=True)
        train = ArrowRows(Path(place, "train"), target="target", sample_size=200_000)
        began = time.perf_counter()
        model.fit(train)
        row: Row = {"rows": train.length(), "seconds": time.perf_counter() - began}
        hits, losses, n = 0, 0.0, 0
        test = ArrowRows(Path(place, "test.parquet"), target="target")
        for chunk, part in zip(test.labels(), predictions(model, test), strict=True):
            where = np.searchsorted(model.classes_, chunk.y)
            hits += int((chunk.y == part.labels).sum())
            losses -= float(np.log(part.probabilities[np.arange(len(where)), where]).sum())
            n += len(where)
        row["seconds with prediction"] = time.perf_counter() - began
    return row | {
        "accuracy": 100 * hits / n,
        "log loss": losses / n,
        "regularization": model.regularization_,
        "learning": model.history_[-1]["seconds"],
    }


def covertype_sklearn(which: str, p: int) -> Row:
    """scikit-learn's features, p of them, on standardized columns, float32 like ours."""
    from sklearn import kernel_approximation, linear_model, pipeline, preprocessing

    if which == "nystroem":
        features = kernel_approximation.Nystroem(n_components=p, random_state=0)
        last = linear_model.RidgeClassifier(copy_X=False)
    else:
        features = kernel_approximation.RBFSampler(gamma="scale", n_components=p, random_state=0)
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
    "cholesky": (1000, 2000, 4000, 8000, 16_000, 32_000),
    "conjugate-gradients": (1000, 2000, 4000, 8000, 16_000, 32_000),
    "features": (1000, 4000, 16_000, 64_000, 256_000, 1_000_000),
}
ROWS: dict[str, Callable[[], Row]] = {
    "letter": letter,
    "mnist-features": mnist_features,
    "covertype": covertype,
    **{
        f"covertype, scikit-learn {name}, p = {p}": partial(covertype_sklearn, which, p)
        for p in (P, 512)
        for which, name in (
            ("nystroem", "Nystroem + RidgeClassifier"),
            ("fourier", "RBFSampler + SGDClassifier"),
        )
    },
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


if __name__ == "__main__":
    write_covertype(Path(sys.argv[1]))
