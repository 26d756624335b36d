"""The page of the UCI table: the paper's accuracies beside ours, then other estimators."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np

from torte.experiments import methods, uci
from torte.experiments.figures import COLORS, figure, save
from torte.experiments.pages import Comparison, made, table, write
from torte.experiments.records import Record
from torte.experiments.settings import Settings

__all__ = ["present"]

NAMES = {
    "gmce": "GMCE", "gmce-sgd": "GMCE-SGD", "cen-1": "CEN-1", "cen-2": "CEN-2", "erm": "ERM",
    "cv": "CV", "med": "MED", "default": "`MCEClassifier()`",
    "network": "`MCEClassifier(Network())`", "svc": "SVC, grid search",
    "gpc": "Gaussian process", "forest": "random forest", "boosting": "histogram boosting",
}  # fmt: skip
Results = dict[str, dict[str, dict[str, np.ndarray]]]


def _cell(values: np.ndarray, unit: str = "") -> str:
    few = f" ({len(values)} folds)" if len(values) < 10 else ""
    return f"{values.mean():.1f} ± {values.std():.1f}{unit}{few}"


def _name(run: str) -> str:
    return f"{NAMES[run.removesuffix('-lbfgs')]}{', L-BFGS' if run.endswith('-lbfgs') else ''}"


def _of_paper(runs: Results) -> list[str]:
    """The runs of the paper's rows in its order, those with L-BFGS behind theirs."""
    order = [run for row in methods.PAPER for run in (row, f"{row}-lbfgs")]
    return [run for run in order if run in runs]


def _paper_rows(runs: Results) -> list[list[str]]:
    rows = []
    for run in _of_paper(runs):
        published = methods.PUBLISHED[run.removesuffix("-lbfgs")]
        if not run.endswith("-lbfgs"):
            cells = [f"{published[name][0]} ± {published[name][1]}" for name in uci.DATASETS]
            rows.append([f"{_name(run)}, paper", *cells])
        own = runs[run]
        cells = [_cell(own[name]["accuracy"]) if name in own else "–" for name in uci.DATASETS]
        rows.append([f"**{_name(run)}, ours**", *cells])
    return rows


def _other_rows(runs: Results, key: str, form: str) -> list[list[str]]:
    order = [run for run in (*_of_paper(runs), *methods.OURS) if run in runs]

    def cell(values: np.ndarray | None) -> str:
        return "–" if values is None or np.isnan(values).all() else form.format(np.nanmean(values))

    return [
        [_name(run), *(cell(runs[run].get(name, {}).get(key)) for name in uci.DATASETS)]
        for run in order
    ]


def _draw(runs: Results, path: Path) -> None:
    """A panel a dataset: the paper's mean and deviation hollow, ours filled."""
    rows = [row for row in methods.PAPER if row in runs]
    drawing = figure(12, 6.5)
    for axes, name in zip(drawing.subplots(2, 3).flat, uci.DATASETS, strict=True):
        for height, row in enumerate(reversed(rows)):
            mean, deviation = methods.PUBLISHED[row][name]
            line: dict[str, Any] = {"fmt": "o", "capsize": 2, "markersize": 5}
            axes.errorbar(mean, height + 0.14, xerr=deviation, color=COLORS[1], mfc="white", **line)
            if name in runs[row]:
                own = runs[row][name]["accuracy"]
                axes.errorbar(own.mean(), height - 0.14, xerr=own.std(), color=COLORS[0], **line)
        axes.set_yticks(range(len(rows)), [NAMES[row] for row in reversed(rows)])
        axes.set_xlim(right=101)
        axes.set_title(name, fontsize=10)
        axes.grid(axis="x", alpha=0.3)
    drawing.supxlabel("accuracy %, mean ± deviation over folds; hollow: paper, filled: ours")
    save(drawing, path)


def _means(runs: Results) -> str:
    """Each row's mean over the datasets that it and GMCE both have, against GMCE's on the same folds."""
    lines = []
    for run in ("erm", "cv", "cv-lbfgs", "med"):
        if run not in runs or "gmce" not in runs:
            continue
        row = run.removesuffix("-lbfgs")
        shared = [n for n in uci.DATASETS if n in runs[run] and n in runs["gmce"]]
        pairs = [_same_folds(runs[run][name], runs["gmce"][name]) for name in shared]
        mine, gmce = (
            float(np.mean([values.mean() for values in side])) for side in zip(*pairs, strict=True)
        )
        theirs = {
            r: float(np.mean([methods.PUBLISHED[r][n][0] for n in shared])) for r in (row, "gmce")
        }
        above = mine >= gmce
        why = f" {NOT_BELOW[row]}" if above and row == run else ""
        side = "not below" if above else "below"
        folds = sum(len(values) for values, _ in pairs)
        lines.append(
            f"- {_name(run)}: {mine:.2f} % in the mean of {len(shared)} datasets, {side} GMCE's "
            f"{gmce:.2f} % on the same {folds} folds; in the paper {theirs[row]:.1f} % and "
            f"{theirs['gmce']:.1f} %.{why}"
        )
    return "\n".join(lines)


def _same_folds(
    a: dict[str, np.ndarray], b: dict[str, np.ndarray]
) -> tuple[np.ndarray, np.ndarray]:
    """Accuracies on the folds that both have."""
    return a["accuracy"][np.isin(a["fold"], b["fold"])], b["accuracy"][np.isin(b["fold"], a["fold"])]  # fmt: skip


def _distances(runs: Results) -> str:
    """How far our GMCE is from the paper's, dataset by dataset."""
    own = runs.get("gmce", {})
    apart = {
        name: own[name]["accuracy"].mean() - methods.PUBLISHED["gmce"][name][0]
        for name in uci.DATASETS
        if name in own
    }
    return "GMCE, ours minus the paper's, in points: " + ", ".join(
        f"{name} {points:+.1f}" for name, points in apart.items()
    )


# Said where a rival is not below GMCE in the mean, as it is in the paper.
NOT_BELOW = {
    "erm": "Why is not known: without the complexity term nothing but the number of steps keeps "
    "the model simple.",
    "cv": "Why: it is not the paper's CV, which is not described. Here every hyperparameter "
    "follows the exact gradient of the held-out cross entropy, at five solves a step, and this "
    "measures on yeast what the risk of the training rows cannot.",
    "med": "Why is not known.",
}
NOTES = """## What the paper leaves open, and what was done

- The objective. The paper prints `mean loss + 4e r`; the authors' code minimizes the sum of the
  losses plus `4e r`, which is `mean loss + (4e/n) r`. The printed form ends at the largest class;
  the other one makes the paper's numbers, and is used here.
- The protocol of the code, followed here: seed 0, one permutation of the rows, ten folds of it in
  order; every column to the unit range over the whole table; Adam at 0.1 for 1000 epochs;
  `lambda`, sensitivity and length scales start at 1 and are learned as logarithms; losses clipped
  at 1e-15. GMCE-SGD steps on tenths of the training rows, then stands on all of them. The
  networks have alpha = 1 and float32, as there; everything else is in float64 here.
- ERM is the same with the complexity term left out.
- How CV and MED were done is neither in the text nor in the code. CV here: the held-out
  cross entropy of five inner folds, minimized by exact gradients in the same 1000 steps of Adam.
  MED here: the median distance as the one length scale, `lambda` and sensitivity as they start.
  The paper's CV and MED vary far more from fold to fold than ours (MED on ecoli: ± 47.7), so
  theirs were not the same procedures, or not on the same folds.
- Yeast. Minimized further, the objective with the risk of the training rows overfits yeast, in
  the paper as here: batches, a tenth of the rows a step, do better there (GMCE-SGD 60.3 % in the
  paper), and so does a risk of rows left out, which the default estimator has."""


def present(settings: Settings) -> list[Comparison]:
    """Figure and page from the results; the lines for the first table of all."""
    runs, folder = uci.results(settings), settings.folder / "uci"
    _draw(runs, folder / "accuracy.png")
    header = ["", *uci.DATASETS]
    contents = [Record.read(path) for path in sorted(folder.glob("*/*.json"))]
    write(
        folder / "README.md",
        "Accuracy on UCI datasets",
        [
            "Accuracy in per cent on the fold left out, mean ± deviation over ten folds where "
            "nothing else is said.",
            table(header, _paper_rows(runs)),
            _distances(runs),
            _means(runs),
            "![Accuracies, paper and ours](accuracy.png)",
            "## Other estimators on the same folds",
            "They get the columns as they are, and scale them where they need it. Accuracy in per cent:",
            table(header, _other_rows(runs, "accuracy", "{:.1f}")),
            "Mean log loss in nats; no probability counts as less than 1e-15, and a zero given to "
            "the true label costs 34.5 nats. The SVC is calibrated by five folds, and has no "
            "probabilities where a class has fewer training rows than that:",
            table(header, _other_rows(runs, "log_loss", "{:.3f}")),
            "Mean seconds of one fit. Fits ran side by side and on different devices, so these are "
            "of the right size and not a benchmark:",
            table(header, _other_rows(runs, "seconds", "{:.1f}")),
            NOTES,
            made(contents),
        ],
        settings.quick,
    )
    return [
        Comparison(
            f"{name}, {NAMES[row]}",
            "{} ± {} %".format(*methods.PUBLISHED[row][name]),
            _cell(runs[row][name]["accuracy"], " %"),
        )
        for row in methods.PAPER
        if row in runs
        for name in uci.DATASETS
        if name in runs[row]
    ]
