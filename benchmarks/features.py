"""Speed of the primal form and of the embedding head, as ratios within one run.

python benchmarks/features.py            # into benchmarks/results/features.json
"""

from __future__ import annotations

import json
import os
import platform
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import torch
from torch import Tensor, nn

from torte.nn import ConditionalEmbeddingHead, ConditionalEmbeddingLoss
from torte.primal import primal_solve

RESULTS = Path(__file__).parent / "results" / "features.json"
P, M = 512, 10


def best(actions: dict[str, Callable[[], Any]], repeats: int) -> dict[str, float]:
    """The least seconds of each action, all taken in turn."""
    least = dict.fromkeys(actions, float("inf"))
    for _ in range(repeats):
        for name, action in actions.items():
            began = time.perf_counter()
            action()
            least[name] = min(least[name], time.perf_counter() - began)
    return least


class Given(torch.autograd.Function):
    """A feature map that costs nothing: its features are there, and it takes their sensitivity."""

    @staticmethod
    def forward(ctx: Any, scale: Tensor, Z: Tensor) -> Tensor:
        return Z.view_as(Z)

    @staticmethod
    def backward(ctx: Any, dZ: Tensor) -> tuple[Tensor, None]:
        return dZ[0, 0], None


def primal(n: int) -> dict[str, float]:
    """One step of learning outside the map, against Z'Z and a Cholesky of p."""
    generator = torch.Generator().manual_seed(0)
    fixed = torch.randn(n, P, dtype=torch.float64, generator=generator)
    scale = torch.ones((), dtype=torch.float64, requires_grad=True)
    Y = torch.eye(M, dtype=torch.float64)[torch.randint(0, M, (n,), generator=generator)]
    shift = torch.tensor(1.0, dtype=torch.float64, requires_grad=True)
    eye, memory = torch.eye(P, dtype=torch.float64), torch.empty_like(fixed)

    def step() -> None:
        Z = Given.apply(scale, fixed)
        fitted, W, _ = primal_solve(Z, Y, shift, memory=memory)
        risk = -(Y * fitted.clamp(1e-15, 1.0).log()).sum(dim=1).mean()
        (risk + 1e-3 * W.square().sum().sqrt()).backward()

    def floor() -> Tensor:
        return torch.linalg.cholesky(fixed.mT @ fixed + eye)

    return best({"floor": floor, "step": step}, 7)


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
    for n in (5_000, 10_000, 20_000, 40_000):
        seconds = primal(n)
        ratio = seconds["step"] / seconds["floor"]
        figures[f"primal step, n = {n}"] = {**seconds, "ratio": ratio}
        required = "required <= 1.6" if n == 20_000 else ""
        print(
            f"primal step, n = {n}, p = {P}, m = {M}: {seconds['step'] * 1e3:.0f} ms, {ratio:.2f} x floor  {required}"
        )
    seconds = heads()
    ratio = seconds["embedding"] / seconds["softmax"]
    figures["head"] = {**seconds, "ratio": ratio}
    print(
        f"embedding head: {seconds['embedding']:.2f} s a step, {ratio:.3f} x softmax  required <= 1.15"
    )
    RESULTS.write_text(json.dumps(figures, indent=1))


if __name__ == "__main__":
    main()
