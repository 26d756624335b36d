"""Learn on two tables that ship inside scikit-learn, and show what was learned.

python examples/demo.py                                # prints, and draws into torte-demo/
python examples/demo.py --picture docs/images/iris.png # draws that one picture only
"""

from __future__ import annotations

import argparse
import re
import time
from pathlib import Path

import numpy as np
from matplotlib.figure import Figure
from sklearn.base import ClassifierMixin
from sklearn.calibration import CalibratedClassifierCV
from sklearn.datasets import load_iris, load_wine
from sklearn.linear_model import LogisticRegression
from sklearn.model_selection import StratifiedKFold, cross_validate
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler, minmax_scale
from sklearn.svm import SVC

from torte import MCEClassifier
from torte.kernels import Kernel

FOLDER = Path("torte-demo")
WIDTH = 88  # of a printed line
RANGE = (-0.5, 1.05)  # of both axes of the map, the paper's
PIXELS = 240  # of the map, each way


def rounded(kernel: Kernel) -> str:
    """The expression of a kernel with three digits in every number."""
    return re.sub(r"\d+\.\d+(?:e-?\d+)?", lambda number: f"{float(number[0]):.3g}", repr(kernel))


def wrapped(text: str) -> str:
    """The text in lines of at most WIDTH, broken at spaces."""
    lines = [""]
    for word in text.split(" "):
        if len(lines[-1]) + len(word) + 1 > WIDTH:
            lines.append("   ")
        lines[-1] += " " + word
    return "\n".join(lines)


def relevance(kernel: Kernel, X: np.ndarray) -> np.ndarray:
    """How far rows move in the kernel's feature space when one column is replaced, as shares.

    The squared distance of x and x' there is ``k(x, x) + k(x', x') - 2 k(x, x')``; x' is x
    with one column taken from another row. The mean over rows, for one column after another.
    """
    other = np.random.default_rng(0).permutation(len(X))
    distances = np.zeros(X.shape[1])
    for column in range(X.shape[1]):
        changed = X.copy()
        changed[:, column] = X[other, column]
        own, new = np.diag(kernel(X)), np.diag(kernel(changed))
        distances[column] = np.mean(own + new - 2 * np.diag(kernel(X, changed)))
    return distances / distances.sum()


def rivals() -> dict[str, ClassifierMixin]:
    """The estimators that are compared, each with what it needs."""
    logistic = make_pipeline(StandardScaler(), LogisticRegression(max_iter=1000))
    support = make_pipeline(StandardScaler(), CalibratedClassifierCV(SVC(), ensemble=False))
    return {
        "torte.MCEClassifier": MCEClassifier(random_state=0),
        "logistic regression": logistic,
        "SVC, calibrated": support,
    }


def show(name: str, data: dict) -> None:
    """One table: what is learned on all rows, and how that does on rows held out."""
    X, y, columns = data["data"], data["target"], data["feature_names"]
    n, d = X.shape
    print(f"{name}: {n} rows, {d} columns, {len(np.unique(y))} classes")
    print("-" * WIDTH)

    began = time.perf_counter()
    model = MCEClassifier(random_state=0).fit(X, y)
    seconds = time.perf_counter() - began
    print(f"Learned in {seconds:.2f} s, {model.n_iter_} evaluations of the objective. Kernel:\n")
    print(wrapped(rounded(model.kernel_)))
    print(
        f"\nRegularization lambda = {model.regularization_:.3g}. Relevance by column: its share in"
    )
    print("how far a row moves in the kernel's space when the column is taken from another row.\n")
    shares = relevance(model.kernel_, X)
    for column in np.argsort(-shares):
        bar = "#" * round(40 * shares[column] / shares.max())
        print(f"  {columns[column]:30s} {100 * shares[column]:5.1f} %  {bar}")

    folds = StratifiedKFold(10, shuffle=True, random_state=0)
    print("\nTen-fold cross-validation, the same folds for all:\n")
    print(f"  {'':22s} {'accuracy':>9s} {'log loss':>13s} {'a fit':>9s}")
    for label, rival in rivals().items():
        scores = cross_validate(rival, X, y, cv=folds, scoring=["accuracy", "neg_log_loss"])
        print(
            f"  {label:22s} {100 * scores['test_accuracy'].mean():7.1f} % "
            f"{-scores['test_neg_log_loss'].mean():8.3f} nats {scores['fit_time'].mean():7.3f} s"
        )

    print("\nTheorem 4 of the paper, with probability 0.95:\n")
    print(wrapped(str(model.risk_bound())))
    print("\n")


def draw(path: Path) -> None:
    """Probabilities and entropy over two columns of iris, as in the paper's first figure."""
    data = load_iris()
    X, y = minmax_scale(data["data"][:, :2]), data["target"]
    model = MCEClassifier(random_state=0).fit(X, y)
    ticks = np.linspace(*RANGE, PIXELS)
    grid = np.stack(np.meshgrid(ticks, ticks), axis=-1)
    P = model.predict_proba(grid.reshape(-1, 2)).reshape(PIXELS, PIXELS, 3)
    H = model.predict_entropy(grid.reshape(-1, 2)).reshape(PIXELS, PIXELS)

    figure = Figure(figsize=(11, 5.2), layout="constrained")
    left, right = figure.subplots(1, 2, sharey=True)
    frame = {"origin": "lower", "extent": (*RANGE, *RANGE), "interpolation": "bilinear"}
    left.imshow(P, **frame)
    shades = right.imshow(H, vmin=0, vmax=np.log(3), cmap="magma", **frame)
    panels = ((left, "Class probabilities", "white"), (right, "Entropy of the label", "gray"))
    for axes, title, line in panels:
        axes.set_title(title, fontsize=15)
        axes.set_xlabel("sepal length (unit range)", fontsize=13)
        axes.tick_params(labelsize=12)
        axes.plot([0, 1, 1, 0, 0], [0, 0, 1, 1, 0], color=line, lw=1.2, ls=(0, (4, 4)))
        marks = zip("os^", ("#ff9d9d", "#8df08d", "#a9b4ff"), data["target_names"], strict=True)
        for code, (marker, color, label) in enumerate(marks):
            axes.scatter(
                *X[y == code].T,
                s=38,
                marker=marker,
                facecolor=color,
                edgecolor="black",
                linewidth=0.8,
                label=label,
            )
    left.set_ylabel("sepal width (unit range)", fontsize=13)
    left.text(-0.46, 0.92, "far from\nall rows:\n1/3 each", color="white", fontsize=12, va="center")
    right.text(-0.46, 0.92, "far from\nall rows:\nlog 3", color="black", fontsize=12, va="center")
    left.legend(title="training rows", fontsize=12, title_fontsize=12, loc="lower left")
    scale = figure.colorbar(shades, ax=right, ticks=[0, 0.25, 0.5, 0.75, 1, np.log(3)])
    scale.ax.set_yticklabels(["0", "0.25", "0.5", "0.75", "1", "log 3"], fontsize=12)
    scale.set_label("nats", fontsize=13)
    figure.savefig(path, dpi=150)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--picture", type=Path, help="draw the map into this file, nothing else")
    picture = parser.parse_args().picture
    if picture is not None:
        draw(picture)
        return
    show("wine", load_wine())
    show("iris", load_iris())
    FOLDER.mkdir(exist_ok=True)
    draw(FOLDER / "iris.png")
    print(f"A map of iris by two of its columns is in {(FOLDER / 'iris.png').as_posix()}")


if __name__ == "__main__":
    main()
