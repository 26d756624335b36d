"""Which pixels tell digits apart: ARD length scales learned on batches of all their images."""

from __future__ import annotations

import time
from dataclasses import dataclass
from typing import Any

import numpy as np
import torch

from torte._arrays import compute_device
from torte.classifier import MCEClassifier
from torte.conditioning import Description
from torte.experiments.images import mnist
from torte.experiments.methods import paper_bound
from torte.experiments.processes import completed
from torte.experiments.records import Record, environment, heard
from torte.experiments.settings import Settings
from torte.kernels import Gaussian
from torte.learning import Plan, learn
from torte.optimizers import Adam

__all__ = ["GROUPS", "measure", "results"]

GROUPS = ("0123456789", "0689", "358", "479", "17", "49", "01")
BATCH = 1200
STEPS = 600
CONDITIONED = 10_000  # images that the embedding stands on when it predicts the test images


@dataclass(frozen=True)
class Group:
    """Some digits, and how their pixels' length scales are learned."""

    digits: str
    batch: int
    steps: int
    conditioned: int
    seed: int
    device: str

    def __str__(self) -> str:
        return f"digits {'/'.join(self.digits)}"


def run_group(group: Group) -> dict[str, Any]:
    """Learn on batches of all images of the digits; then condition on some and predict."""
    wanted = [int(digit) for digit in group.digits]
    X, y, X_test, y_test = mnist()
    X, y = (part[np.isin(y, wanted)] for part in (X, y))
    X_test, y_test = (part[np.isin(y_test, wanted)] for part in (X_test, y_test))
    device = compute_device(group.device)
    rows = torch.as_tensor(X, dtype=torch.float64, device=device)
    codes = torch.as_tensor(np.searchsorted(wanted, y), device=device)
    Y = torch.nn.functional.one_hot(codes, len(wanted)).to(rows)
    start = Description(1.0 * Gaussian((1.0,) * X.shape[1]), 1.0)
    plan = Plan(Adam(0.1, max_iter=group.steps), batch_size=group.batch)
    generator = torch.Generator().manual_seed(group.seed)
    began = time.perf_counter()
    with heard():
        learned = learn(start, rows, Y, paper_bound(), plan, generator).description
    seconds = time.perf_counter() - began
    model = MCEClassifier(
        learned.kernel,
        regularization=learned.regularization,
        objective=paper_bound(),
        optimizer=None,
        device=group.device,
    ).fit(X[: group.conditioned], y[: group.conditioned])
    *_, scales = learned.kernel.leaves()
    return {
        "length_scales": scales.value.tolist(),
        "regularization": learned.regularization,
        "accuracy": 100 * float((model.predict(X_test) == y_test).mean()),
        "images": len(X),
        "test images": len(X_test),
        "seconds": seconds,
    }


def measure(settings: Settings) -> None:
    """Learn every group of digits that is not yet in the results; ``datasets`` names groups."""
    quick = settings.quick
    batch, conditioned = (200, 500) if quick else (BATCH, CONDITIONED)
    steps = settings.epochs or (10 if quick else STEPS)
    protocol = {
        "batch": batch,
        "steps": steps,
        "conditioned on": conditioned,
        "seed": settings.seed,
    }
    record = Record(settings.folder / "mnist-pixels" / "mnist-pixels.json", protocol)
    groups = settings.chosen("datasets", GROUPS)
    if quick and not settings.datasets:
        groups = GROUPS[1:3]
    tasks = [
        Group(digits, batch, steps, conditioned, settings.seed, settings.device)
        for digits in groups
        if digits not in record
    ]
    where, command = environment(settings.device), settings.command("mnist-pixels")
    for group, entry in completed(run_group, tasks, settings.processes, "mnist-pixels"):
        record.add(group.digits, entry, command, where)


def results(settings: Settings) -> dict[str, Any]:
    """The file of results."""
    return Record.read(settings.folder / "mnist-pixels" / "mnist-pixels.json")
