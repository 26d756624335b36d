"""A convolutional network on MNIST: a softmax head against a conditional embedding head.

    python examples/mnist.py                # small network, 2 epochs, minutes
    python examples/mnist.py --paper        # the paper's network and settings

Both networks start from the same weights and see the same batches in the same order; after
every epoch both predict the 10 000 test images. The images come
from a folder named by TORTE_DATA, or are fetched once. `torte reproduce mnist-conv` is the
paper's whole run, with checkpoints.
"""

from __future__ import annotations

import argparse
import copy
import json
import time
from collections.abc import Iterator
from pathlib import Path

import torch
from torch import Tensor, nn

from torte import datasets
from torte.nn import ConditionalEmbeddingHead, ConditionalEmbeddingLoss
from torte.objectives import RademacherBound

PAPER = RademacherBound(tau="4e", risk="training", epsilon=1e-15, shrinkage=0.0, alpha=1.0)


def load(rows: int | None = None) -> tuple[Tensor, Tensor, Tensor, Tensor]:
    """Training images and digits, test images and digits."""
    X, y, *_ = datasets.load("mnist")
    images = torch.as_tensor(X).view(-1, 1, 28, 28).float() / 255
    digits = torch.as_tensor(y)
    return images[:60_000][:rows], digits[:60_000][:rows], images[60_000:], digits[60_000:]


def network(channels: tuple[int, int], features: int, paper: bool) -> nn.Sequential:
    """Two convolutions of 5 x 5 with pooling, and a dense layer of features."""
    first, second = channels
    body = nn.Sequential(
        nn.Conv2d(1, first, 5, padding=2),
        nn.ReLU(),
        nn.MaxPool2d(2),
        nn.Conv2d(first, second, 5, padding=2),
        nn.ReLU(),
        nn.MaxPool2d(2),
        nn.Flatten(),
        nn.Linear(49 * second, features),
        nn.ReLU(),
        nn.Dropout(0.5),
    )
    if paper:
        for name, parameter in body.named_parameters():
            if name.endswith("bias"):
                nn.init.constant_(parameter, 0.1)
            else:
                nn.init.trunc_normal_(parameter, std=0.1, a=-0.2, b=0.2)
    return body


def batches(X: Tensor, y: Tensor, size: int, seed: int) -> Iterator[tuple[Tensor, Tensor]]:
    order = torch.randperm(len(X), generator=torch.Generator().manual_seed(seed))
    for part in order.split(size):
        yield X[part], y[part]


def predict(model: nn.Module, X: Tensor) -> Tensor:
    model.eval()
    with torch.no_grad():
        labels = torch.cat([model(part).argmax(dim=1) for part in X.split(1000)])
    model.train()
    return labels


def train(
    head: str, start: nn.Sequential, data: tuple[Tensor, ...], settings: argparse.Namespace
) -> list[float]:
    X, y, X_test, y_test = data
    features = start[7].out_features
    torch.manual_seed(settings.seed)
    body = copy.deepcopy(start)
    if head == "softmax":
        last: nn.Module = nn.Linear(features, 10)
        criterion: nn.Module = nn.CrossEntropyLoss()
    else:
        last = ConditionalEmbeddingHead(
            features, 10, regularization=10.0 if settings.paper else 1e-2
        )
        criterion = ConditionalEmbeddingLoss(last, PAPER if settings.paper else None)
    parameters = [*body.parameters(), *last.parameters()]
    adam = torch.optim.Adam(parameters, lr=settings.rate)
    accuracies, began = [], time.perf_counter()
    for epoch in range(settings.epochs):
        for x, t in batches(X, y, settings.batch, seed=epoch):
            adam.zero_grad()
            loss = criterion(last(body(x)), t) if head == "softmax" else criterion(body(x), t)
            loss.backward()
            adam.step()
        if head == "embedding":
            last.condition(
                ((x, t) for x, t in zip(X.split(1000), y.split(1000), strict=True)), body
            )
        accuracy = 100 * float(
            (predict(nn.Sequential(body, last), X_test) == y_test).double().mean()
        )
        accuracies.append(accuracy)
        print(
            f"{head:9s} epoch {epoch + 1}: {accuracy:.2f} %  ({time.perf_counter() - began:.0f} s)",
            flush=True,
        )
    return accuracies


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument(
        "--paper", action="store_true", help="its network, batches of 6000, rate 0.01, 4e"
    )
    parser.add_argument("--epochs", type=int, default=2)
    parser.add_argument("--batch", type=int)
    parser.add_argument("--rate", type=float)
    parser.add_argument("--rows", type=int, help="fewer training images, for a quick look")
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--out", type=Path, help="a JSON file for the accuracies")
    settings = parser.parse_args()
    settings.batch = settings.batch or (6000 if settings.paper else 500)
    settings.rate = settings.rate or (0.01 if settings.paper else 1e-3)
    torch.manual_seed(settings.seed)
    start = network((32, 64), 1024, True) if settings.paper else network((8, 16), 128, False)
    data = load(settings.rows)
    result = {head: train(head, start, data, settings) for head in ("softmax", "embedding")}
    if settings.out:
        kept = {k: v for k, v in vars(settings).items() if k != "out"}
        settings.out.write_text(
            json.dumps({"settings": kept, "test accuracy by epoch": result}, indent=1)
        )


if __name__ == "__main__":
    main()
