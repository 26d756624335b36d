"""The language of a word: learned weights of substrings against scikit-learn's n-grams.

    python examples/words.py --install      # the word lists of Debian, once; needs root
    python examples/words.py                # ten languages, 400 words of each to learn from

Hyperparameters are learned on some training rows, and kernels compared by the leave-one-out risk
of all of them; the settings of the n-grams by cross-validation on all of them. Both then predict
the same words, which neither has seen.
"""

from __future__ import annotations

import argparse
import json
import os
import platform
import subprocess
import time
from pathlib import Path
from typing import Any

import numpy as np
import sklearn
import torch
from matplotlib.figure import Figure
from sklearn.base import clone
from sklearn.feature_extraction.text import TfidfVectorizer
from sklearn.linear_model import LogisticRegression
from sklearn.model_selection import GridSearchCV, StratifiedKFold, train_test_split
from sklearn.pipeline import Pipeline, make_pipeline

from torte import MCEClassifier
from torte.kernels import GaussianOf, Kernel, Spectrum, Subsequence

ROOT = Path(__file__).parents[1]
LISTS = Path("/usr/share/dict")
PACKAGES = {  # of Debian, by the name of the list
    "danish": "wdanish",
    "dutch": "wdutch",
    "american-english": "wamerican",
    "french": "wfrench",
    "ngerman": "wngerman",
    "italian": "witalian",
    "polish": "wpolish",
    "portuguese": "wportuguese",
    "spanish": "wspanish",
    "swedish": "wswedish",
}
NAMES = {"american-english": "english", "ngerman": "german"}
FEW = 1000  # training rows that learning sees
LONGEST = 6
SPECTRUM = Spectrum(LONGEST, ends=True)
KERNELS: dict[str, Kernel] = {
    "lengths": SPECTRUM,
    "lengths and subsequences": 0.5 * SPECTRUM + 0.5 * Subsequence(2),
    "square of lengths": (SPECTRUM + 1.0) ** 2,
    "Gaussian of lengths": GaussianOf(SPECTRUM),
}
GRID = {  # of the n-grams
    "tfidfvectorizer__analyzer": ["char", "char_wb"],
    "tfidfvectorizer__ngram_range": [(1, 3), (1, 4), (1, 5)],
    "logisticregression__C": [10.0, 30.0, 100.0, 300.0, 1000.0],
}


def install() -> None:
    command = ["apt-get", "install", "--yes", "--no-install-recommends", *PACKAGES.values()]
    as_root = [] if os.geteuid() == 0 else ["sudo"]
    subprocess.run([*as_root, "apt-get", "update"], check=True)
    subprocess.run([*as_root, *command], check=True)


def read(name: str) -> set[str]:
    """The words of a list in lower case, without names, abbreviations and apostrophes.

    German writes all nouns with a capital, so there names stay in.
    """
    data = (LISTS / name).read_bytes()
    try:
        text = data.decode("utf-8")
    except UnicodeDecodeError:
        text = data.decode("latin-1")
    words = (word for word in text.split() if word.isalpha() and word[1:].islower())
    return {word.lower() for word in words if word[0].islower() or name == "ngerman"}


def sample(each: int, seed: int) -> tuple[np.ndarray, np.ndarray]:
    """So many words of each language that are in no other list, and the languages."""
    missing = [name for name in PACKAGES if not (LISTS / name).exists()]
    if missing:
        packages = " ".join(PACKAGES[name] for name in missing)
        raise SystemExit(
            f"{LISTS} lacks {', '.join(missing)}: python examples/words.py --install, which is "
            f"apt-get install {packages}"
        )
    lists = {NAMES.get(name, name): read(name) for name in PACKAGES}
    rng = np.random.default_rng(seed)
    words, languages = [], []
    for language in sorted(lists):
        others = set().union(*(lists[name] for name in lists if name != language))
        words += rng.choice(sorted(lists[language] - others), each, replace=False).tolist()
        languages += [language] * each
    return np.array(words, dtype=object), np.array(languages)


def conditioned(model: MCEClassifier, X: np.ndarray, y: np.ndarray, few: int) -> MCEClassifier:
    """What few rows have taught, with all rows: n lambda is what acts."""
    regularization = model.regularization_ * few / len(X)
    return MCEClassifier(model.kernel_, regularization=regularization, optimizer=None).fit(X, y)


def spectrum_of(kernel: Kernel) -> Spectrum | None:
    """The spectrum in an expression that has one."""
    if isinstance(kernel, Spectrum):
        return kernel
    parts = [part for part in vars(kernel).values() if isinstance(part, Kernel)]
    return next((found for part in parts if (found := spectrum_of(part))), None)


def shares(kernel: Kernel) -> list[float]:
    """The learned weights of the lengths, of a sum of one."""
    spectrum = spectrum_of(kernel)
    assert spectrum is not None
    weights = np.array(spectrum.weights)
    return (weights / weights.sum()).tolist()


def risk(model: MCEClassifier) -> float:
    """The leave-one-out risk where learning ended."""
    return min(model.history_, key=lambda record: record["objective"])["risk"]


def compare_kernels(X: np.ndarray, y: np.ndarray, seed: int) -> dict[str, MCEClassifier]:
    rows, _ = train_test_split(
        np.arange(len(X)),
        train_size=min(FEW, len(X) - len(PACKAGES)),
        stratify=y,
        random_state=seed,
    )
    models = {}
    for name, kernel in KERNELS.items():
        began = time.perf_counter()
        learned = MCEClassifier(kernel, random_state=seed).fit(X[rows], y[rows])
        models[name] = conditioned(learned, X, y, len(rows))
        print(
            f"{name:25s} leave-one-out risk {risk(learned):.4f} of {len(rows)} rows, "
            f"{risk(models[name]):.4f} of {len(X)}  ({time.perf_counter() - began:.0f} s)",
            flush=True,
        )
    return models


def n_grams(X: np.ndarray, y: np.ndarray) -> GridSearchCV:
    """Settings by both accuracy and log loss of three folds."""
    pipeline = make_pipeline(TfidfVectorizer(lowercase=False), LogisticRegression(max_iter=1000))
    scoring = ["accuracy", "neg_log_loss"]
    folds = StratifiedKFold(3, shuffle=True, random_state=0)
    return GridSearchCV(pipeline, GRID, scoring=scoring, cv=folds, refit=False, n_jobs=-1).fit(X, y)


def best_n_grams(
    search: GridSearchCV, score: str, X: np.ndarray, y: np.ndarray
) -> tuple[Pipeline, dict[str, Any]]:
    """The pipeline with the settings of the best score, of all training rows."""
    found = search.cv_results_
    settings = found["params"][int(found[f"mean_test_{score}"].argmax())]
    return clone(search.estimator).set_params(**settings).fit(X, y), settings


def judged(P: np.ndarray, classes: np.ndarray, y: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Of each row whether it is right, and its loss."""
    own = P[np.arange(len(y)), np.searchsorted(classes, y)]
    return classes[P.argmax(axis=1)] == y, -np.log(own)


def difference(a: np.ndarray, b: np.ndarray) -> dict[str, float]:
    """The mean of a - b over the same rows, and its standard error."""
    d = a.astype(float) - b.astype(float)
    return {"mean": d.mean(), "standard error": d.std(ddof=1) / len(d) ** 0.5}


def draw(path: Path, lengths: dict[str, list[float]], recall: dict[str, Any]) -> None:
    figure = Figure(figsize=(11, 4.4), layout="constrained")
    left, right = figure.subplots(1, 2)
    colors = ("#3b6fb6", "#e08a2e")
    ticks = np.arange(1, LONGEST + 1)
    for place, (name, weights) in enumerate(lengths.items()):
        at = ticks + 0.38 * (place - (len(lengths) - 1) / 2)
        bars = left.bar(at, weights, 0.36, color=colors[place], label=name)
        left.bar_label(bars, [f"{weight:.2f}" for weight in weights], fontsize=9, padding=2)
    left.set_title("Learned weights of the lengths", fontsize=14)
    left.set_xlabel("length of substrings, with the ends of the word", fontsize=12)
    left.set_ylabel("share of the weights", fontsize=12)
    left.set_xticks(ticks)
    left.margins(y=0.12)
    left.legend(fontsize=11, frameon=False)
    languages = sorted(recall["torte"], key=recall["torte"].__getitem__)
    for name, color, marker in zip(("n-grams", "torte"), colors[::-1], "so", strict=True):
        values = [100 * recall[name][language] for language in languages]
        right.scatter(values, languages, s=60, color=color, marker=marker, label=name, zorder=2)
    right.set_title("Words recognized, by language", fontsize=14)
    right.set_xlabel("% of the test words", fontsize=12)
    right.grid(axis="x", color="#dddddd", zorder=0)
    right.legend(fontsize=11, frameon=False, loc="lower right")
    for axes in (left, right):
        axes.spines[["top", "right"]].set_visible(False)
        axes.tick_params(labelsize=11)
    path.parent.mkdir(parents=True, exist_ok=True)
    figure.savefig(path, dpi=130)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--install", action="store_true", help="install the word lists, and end")
    parser.add_argument("--train", type=int, default=400, help="words of each language to learn")
    parser.add_argument("--test", type=int, default=1000, help="words of each language to predict")
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--out", type=Path, default=ROOT / "benchmarks/results/words.json")
    parser.add_argument("--picture", type=Path, default=ROOT / "docs/images/words.png")
    settings = parser.parse_args()
    if settings.install:
        install()
        return
    X, y = sample(settings.train + settings.test, settings.seed)
    split = train_test_split(
        X, y, test_size=settings.test * len(PACKAGES), stratify=y, random_state=settings.seed
    )
    X_train, X_test, y_train, y_test = split
    seconds, began = {}, time.perf_counter()
    candidates = compare_kernels(X_train, y_train, settings.seed)
    chosen = min(candidates, key=lambda name: risk(candidates[name]))
    model = candidates[chosen]
    seconds["kernels"] = time.perf_counter() - began
    began = time.perf_counter()
    P = model.predict_proba(X_test)
    seconds["predicting"] = time.perf_counter() - began
    print(f"chosen: {chosen}; learned: {model.kernel_}, lambda = {model.regularization_:.3g}")
    began = time.perf_counter()
    search = n_grams(X_train, y_train)
    rival, by_accuracy = best_n_grams(search, "accuracy", X_train, y_train)
    other, by_loss = best_n_grams(search, "neg_log_loss", X_train, y_train)
    seconds["n-grams"] = time.perf_counter() - began
    right, loss = judged(P, model.classes_, y_test)
    their_right, _ = judged(rival.predict_proba(X_test), rival.classes_, y_test)
    _, their_loss = judged(other.predict_proba(X_test), other.classes_, y_test)
    by_language = {
        "torte": {name: float(right[y_test == name].mean()) for name in model.classes_},
        "n-grams": {name: float(their_right[y_test == name].mean()) for name in model.classes_},
    }
    figures = {
        "machine": f"{platform.machine()}, {os.cpu_count()} cores, torch {torch.__version__}, "
        f"scikit-learn {sklearn.__version__}, numpy {np.__version__}",
        "seed": settings.seed,
        "languages": model.classes_.tolist(),
        "training words": len(X_train),
        "test words": len(X_test),
        "leave-one-out risk of kernels": {name: risk(candidates[name]) for name in candidates},
        "chosen": chosen,
        "kernel": str(model.kernel_),
        "lambda": model.regularization_,
        "n-grams by accuracy": by_accuracy,
        "n-grams by log loss": by_loss,
        "accuracy": {
            "torte": right.mean(),
            "n-grams": their_right.mean(),
            "difference": difference(right, their_right),
        },
        "log loss": {
            "torte": loss.mean(),
            "n-grams": their_loss.mean(),
            "difference": difference(loss, their_loss),
        },
        "accuracy by language": by_language,
        "weights of the lengths": {
            "lengths": shares(candidates["lengths"].kernel_),
            chosen: shares(model.kernel_),
        },
        "seconds": seconds,
    }
    for score in ("accuracy", "log loss"):
        value = figures[score]
        apart = value["difference"]
        print(
            f"{score}: torte {value['torte']:.4f}, n-grams {value['n-grams']:.4f}, difference "
            f"{apart['mean']:+.4f} +- {apart['standard error']:.4f}"
        )
    settings.out.write_text(json.dumps(figures, indent=1, ensure_ascii=False) + "\n")
    draw(settings.picture, figures["weights of the lengths"], by_language)


if __name__ == "__main__":
    main()
