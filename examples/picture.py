"""Draw what the default estimator says about two columns of iris: the picture in the README.

python examples/picture.py docs/images/iris.png
"""

from __future__ import annotations

import argparse
from pathlib import Path

import numpy as np
from matplotlib.figure import Figure
from sklearn.datasets import load_iris
from sklearn.preprocessing import minmax_scale

from torte import MCEClassifier

RANGE = (-0.5, 1.05)  # of both axes of the map, the paper's
PIXELS = 240  # of the map, each way


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
    parser.add_argument("file", type=Path, help="where the picture goes")
    draw(parser.parse_args().file)


if __name__ == "__main__":
    main()
