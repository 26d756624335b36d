"""Speed of the primal form and of the embedding head, as ratios within one run.

python benchmarks/features.py            # into benchmarks/results/features.json
"""

from __future__ import annotations

import json
import os
import platform
import time
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import torch
from torch import Tensor, nn

from torte.experiments.methods import paper_bound
from torte.maps import FeatureMap
from torte.nn import ConditionalEmbeddingHead, ConditionalEmbeddingLoss
from torte.objectives import Objective, RademacherBound
from torte.parameters import positive
from torte.primal import Primal

RESULTS = Path(__file__).parent / "results" / "features.json"
P, M = 512, 10
REQUIRED_AT = 20_000  # rows
JUDGED = 500  # rows left out in a step, as the plan has it on many rows
PAPER = paper_bound(alpha=1.0)


def best(actions: dict[str, Callable[[], Any]], repeats: int) -> dict[str, float]:
    """The least seconds of each action, all taken in turn."""
    least = dict.fromkeys(actions, float("inf"))
    for _ in range(repeats):
        for name, action in actions.items():
            began = time.perf_counter()
            action()
            least[name] = min(least[name], time.perf_counter() - began)
    return least


class _Passed(torch.autograd.Function):
    """Hands the features on, and takes their sensitivity: a map that costs nothing."""

    @staticmethod
    def forward(ctx: Any, scale: Tensor, Z: Tensor) -> Tensor:
        return Z.view_as(Z)

    @staticmethod
    def backward(ctx: Any, dZ: Tensor) -> tuple[Tensor, None]:
        return dZ[0, 0], None


@dataclass(frozen=True)
class Given(FeatureMap):
    """Features that are there already."""

    scale: float = positive(1.0)

    def settle(self, like: Tensor) -> None:
        return None

    def apply(self, state: None, X: Tensor) -> Tensor:
        return _Passed.apply(self.scale, X)


def primal(n: int) -> dict[str, float]:
    """One step of learning outside the map, of either risk, against Z'Z and a Cholesky of p."""
    generator = torch.Generator().manual_seed(0)
    Z = torch.randn(n, P, dtype=torch.float64, generator=generator)
    Y = torch.eye(M, dtype=torch.float64)[torch.randint(0, M, (n,), generator=generator)]
    eye, form = torch.eye(P, dtype=torch.float64), Primal()
    few = torch.randperm(n, generator=generator)[:JUDGED]

    def step(objective: Objective, judged: Tensor | None) -> None:
        scale, regularization = (
            torch.tensor(value, dtype=torch.float64, requires_grad=True) for value in (1.0, 1.0 / n)
        )
        form.evaluate(Given(scale), regularization, Z, Y, objective, judged)

    actions = {
        "floor": lambda: torch.linalg.cholesky(Z.mT @ Z + eye),
        "step": lambda: step(PAPER, None),
        f"step, {JUDGED} rows left out": lambda: step(RademacherBound(), few),
    }
    if n == REQUIRED_AT:
        actions["step, all rows left out"] = lambda: step(RademacherBound(), None)
    return best(actions, 7)


def heads() -> dict[str, float]:
    """A training step of the paper's convolutional network with either head, batches of 1000."""
    torch.manual_seed(0)
    body = nn.Sequential(
        nn.Conv2d(1, 32, 5, padding=2),
        nn.ReLU(),
        nn.MaxPool2d(2),
        nn.Conv2d(32, 64, 5, padding=2),
        nn.ReLU(),
        nn.MaxPool2d(2),
        nn.Flatten(),
        nn.Linear(3136, 1024),
        nn.ReLU(),
        nn.Dropout(0.5),
    )
    x, y = torch.rand(1000, 1, 28, 28), torch.randint(0, 10, (1000,))
    softmax, cross_entropy = nn.Linear(1024, 10), nn.CrossEntropyLoss()
    criterion = ConditionalEmbeddingLoss(ConditionalEmbeddingHead(1024, 10))
    adams = {
        "softmax": torch.optim.Adam([*body.parameters(), *softmax.parameters()]),
        "embedding": torch.optim.Adam([*body.parameters(), *criterion.parameters()]),
    }

    def step(name: str) -> None:
        adams[name].zero_grad()
        loss = cross_entropy(softmax(body(x)), y) if name == "softmax" else criterion(body(x), y)
        loss.backward()
        adams[name].step()

    return best({name: lambda name=name: step(name) for name in adams}, 5)


def main() -> None:
    figures: dict[str, Any] = {
        "machine": f"{platform.machine()}, {os.cpu_count()} cores, torch {torch.__version__}"
    }
    for n in (5_000, 10_000, REQUIRED_AT, 40_000):
        seconds = primal(n)
        ratios = {name: each / seconds["floor"] for name, each in seconds.items()}
        figures[f"primal step, n = {n}"] = {**seconds, "ratio": ratios["step"], "ratios": ratios}
        required = "  required <= 1.6" if n == REQUIRED_AT else ""
        print(f"n = {n}, p = {P}, m = {M}, floor {1e3 * seconds['floor']:.0f} ms", flush=True)
        for name, ratio in ratios.items():
            if name != "floor":
                print(f"  {name}: {ratio:.2f} x floor{required if name == 'step' else ''}")
    seconds = heads()
    ratio = seconds["embedding"] / seconds["softmax"]
    figures["head"] = {**seconds, "ratio": ratio}
    print(
        f"embedding head: {seconds['embedding']:.2f} s a step, {ratio:.3f} x softmax  required <= 1.15"
    )
    RESULTS.write_text(json.dumps(figures, indent=1))


if __name__ == "__main__":
    main()
