"""Accuracy on the 10 000 test images of MNIST by the number of training images."""

from __future__ import annotations

import time
from collections import Counter
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from sklearn.gaussian_process import GaussianProcessClassifier
from sklearn.gaussian_process.kernels import RBF, ConstantKernel
from sklearn.multiclass import OneVsRestClassifier
from sklearn.svm import SVC

from torte.classifier import MCEClassifier
from torte.experiments.images import mnist
from torte.experiments.methods import paper_bound
from torte.experiments.processes import completed
from torte.experiments.records import Record, environment, heard
from torte.experiments.settings import Settings
from torte.kernels import Gaussian
from torte.objectives import EmpiricalRisk
from torte.optimizers import LBFGS, Adam

__all__ = ["METHODS", "PUBLISHED", "measure", "results"]

METHODS = ("mce", "erm", "isotropic", "ours", "svc", "gpc")
SIZES = (50, 100, 250, 500, 750, 1000, 2500, 5000)
GPC_SIZES = (50, 100, 250, 500, 750, 1000)  # ten classes, n^3 each a step: minutes at 1000
STEPS = 300
PUBLISHED = {"mce": {500: 86.69, 5000: 96.05}, "erm": {500: 86.96, 5000: 95.3}}


@dataclass(frozen=True)
class Fit:
    """One method on the first n training images."""

    method: str
    n: int
    steps: int
    optimizer: str
    seed: int
    device: str
    tests: int

    def __str__(self) -> str:
        return f"{self.method}, n = {self.n}"


def estimator(fit: Fit, d: int) -> Any:
    """An ARD Gaussian, every hyperparameter 1; rivals one against all, the GP's isotropic.

    "ours" is the same kernel under the default objective and optimizer, "isotropic" one with a
    single length scale.
    """
    if fit.method in ("ours", "isotropic"):
        own = Gaussian(ard=fit.method == "ours")
        return MCEClassifier(own, device=fit.device, random_state=fit.seed)
    if fit.method == "svc":
        return OneVsRestClassifier(SVC())
    if fit.method == "gpc":
        kernel = ConstantKernel(1.0) * RBF(1.0)
        return GaussianProcessClassifier(kernel, random_state=fit.seed)
    learner = (
        Adam(0.1, max_iter=fit.steps) if fit.optimizer == "adam" else LBFGS(max_iter=fit.steps)
    )
    objective = paper_bound() if fit.method == "mce" else EmpiricalRisk()
    kernel = 1.0 * Gaussian((1.0,) * d)
    return MCEClassifier(
        kernel, objective=objective, optimizer=learner, device=fit.device, random_state=fit.seed
    )


def run_fit(fit: Fit) -> dict[str, Any]:
    """Fit and predict the test images."""
    X, y, X_test, y_test = mnist()
    model = estimator(fit, X.shape[1])
    began = time.perf_counter()
    with heard() as said:
        model.fit(X[: fit.n], y[: fit.n])
    seconds = time.perf_counter() - began
    hits = model.predict(X_test[: fit.tests]) == y_test[: fit.tests]
    entry = {"accuracy": 100 * float(hits.mean()), "seconds": seconds, "device": fit.device}
    if hasattr(model, "history_"):
        entry |= {"steps": model.n_iter_, "complexity": model.complexity_}
    return entry | ({"warnings": dict(Counter(w.category.__name__ for w in said))} if said else {})


def path_of(settings: Settings, method: str) -> Path:
    """The file of one method."""
    other = settings.optimizer != "adam" and method in ("mce", "erm")
    return settings.folder / "mnist-ard" / f"{method}{'-lbfgs' if other else ''}.json"


def measure(settings: Settings) -> None:
    """Run every method on every number of images that is not yet in the results."""
    records, tasks = {}, []
    steps = settings.epochs or (20 if settings.quick else STEPS)
    tests = 1000 if settings.quick else 10_000
    for method in settings.chosen("methods", METHODS):
        protocol = {"method": method, "seed": settings.seed, "test images": tests}
        if method in ("mce", "erm"):
            protocol["steps"] = steps
        records[method] = Record(path_of(settings, method), protocol)
        sizes = SIZES[:2] if settings.quick else GPC_SIZES if method == "gpc" else SIZES
        tasks += [
            Fit(method, n, steps, settings.optimizer, settings.seed, settings.device, tests)
            for n in sizes
            if str(n) not in records[method]
        ]
    tasks.sort(key=lambda fit: -fit.n)
    where, command = environment(settings.device), settings.command("mnist-ard")
    for fit, entry in completed(run_fit, tasks, settings.processes, "mnist-ard"):
        records[fit.method].add(str(fit.n), entry, command, where)


def results(settings: Settings) -> dict[str, dict[int, dict[str, Any]]]:
    """What is in the files: method -> number of images -> entry."""
    found = {}
    for path in sorted((settings.folder / "mnist-ard").glob("*.json")):
        entries = Record.read(path)["results"]
        found[path.stem] = {int(n): entries[n] for n in sorted(entries, key=int)}
    return found
