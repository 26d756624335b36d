"""A convolutional network on MNIST from one start: a conditional embedding against softmax."""

from __future__ import annotations

import copy
import time
from pathlib import Path
from typing import Any

import torch
from torch import Tensor, nn

from torte._arrays import compute_device
from torte.experiments.images import mnist
from torte.experiments.methods import paper_bound
from torte.experiments.records import Record, environment
from torte.experiments.settings import Settings
from torte.nn import ConditionalEmbeddingHead, ConditionalEmbeddingLoss
from torte.progress import Progress

__all__ = ["EPOCHS", "HEADS", "PUBLISHED", "measure", "results"]

HEADS = ("embedding", "softmax")
EPOCHS = 20
PAPER_EPOCHS = 800
PUBLISHED = {"embedding": 99.48, "softmax": 99.26}  # after 800 epochs
FEATURES = 1024
Images = tuple[Tensor, Tensor, Tensor, Tensor]


def network(seed: int) -> tuple[nn.Sequential, nn.Linear]:
    """Body and softmax layer as the paper starts them: deviation 0.1 cut at two, biases 0.1."""
    body = nn.Sequential(
        nn.Conv2d(1, 32, 5, padding=2),
        nn.ReLU(),
        nn.MaxPool2d(2),
        nn.Conv2d(32, 64, 5, padding=2),
        nn.ReLU(),
        nn.MaxPool2d(2),
        nn.Flatten(),
        nn.Linear(49 * 64, FEATURES),
        nn.ReLU(),
        nn.Dropout(0.5),
    )
    last = nn.Linear(FEATURES, 10)
    generator = torch.Generator().manual_seed(seed)
    for name, parameter in [*body.named_parameters(), *last.named_parameters()]:
        if name.endswith("bias"):
            nn.init.constant_(parameter, 0.1)
        else:
            nn.init.trunc_normal_(parameter, std=0.1, a=-0.2, b=0.2, generator=generator)
    return body, last


class Run:
    """One head on a copy of the body, trained epoch by epoch, with a checkpoint after each."""

    def __init__(self, head: str, seed: int, device: torch.device, checkpoint: Path):
        body, last = network(seed)
        self.head, self.seed, self.device, self.checkpoint = head, seed, device, checkpoint
        self.body = copy.deepcopy(body).to(device)
        self.last: nn.Module = last
        self.criterion: nn.Module = nn.CrossEntropyLoss()
        if head == "embedding":
            self.last = ConditionalEmbeddingHead(FEATURES, 10, regularization=10.0)
            self.criterion = ConditionalEmbeddingLoss(self.last, paper_bound("4e", alpha=1.0))
        self.last.to(device)
        parameters = [*self.body.parameters(), *self.last.parameters()]
        self.adam = torch.optim.Adam(parameters, lr=0.01)
        self.entries: list[dict[str, float]] = []
        if checkpoint.exists():
            kept = torch.load(checkpoint, map_location="cpu", weights_only=True)
            self.body.load_state_dict(kept["body"])
            self.last.load_state_dict(kept["last"])
            self.adam.load_state_dict(kept["adam"])
            self.entries = kept["entries"]

    def keep(self) -> None:
        """All that the next epoch needs, in one move."""
        states: dict[str, Any] = {
            "body": self.body.state_dict(),
            "last": self.last.state_dict(),
            "adam": self.adam.state_dict(),
            "entries": self.entries,
        }
        self.checkpoint.parent.mkdir(parents=True, exist_ok=True)
        partial = self.checkpoint.with_suffix(".partial")
        torch.save(states, partial)
        partial.replace(self.checkpoint)

    def epoch(self, images: Images, batch: int) -> dict[str, float]:
        """One pass over the training images, then the test images."""
        X, y, X_test, y_test = images
        began, number = time.perf_counter(), len(self.entries)
        # Order and dropout depend on seed and epoch alone: a resumed run is the same run.
        order = torch.randperm(len(X), generator=torch.Generator().manual_seed(1000 + number))
        cards = [self.device] if self.device.type == "cuda" else []
        with torch.random.fork_rng(devices=cards):
            torch.manual_seed(1000 * (self.seed + 1) + number)
            for part in torch.split(order.to(self.device), batch):
                self.adam.zero_grad()
                Z = self.body(X[part])
                # In float64: from this start |z|^2 is a million times lambda, and in float32
                # rounding alone makes Z'Z + n lambda I indefinite.
                Z = Z.double() if self.head == "embedding" else self.last(Z)
                loss = self.criterion(Z, y[part])
                loss.backward()
                self.adam.step()
        if isinstance(self.last, ConditionalEmbeddingHead):
            self.last.condition(
                zip(torch.split(X, 2000), torch.split(y, 2000), strict=True), self.body
            )
        self.body.eval()
        with torch.no_grad():
            labels = torch.cat(
                [self.last(self.body(x)).argmax(dim=1) for x in torch.split(X_test, 2000)]
            )
        self.body.train()
        entry = {
            "accuracy": 100 * float((labels == y_test).double().mean()),
            "loss": float(loss.detach()),
            "seconds": time.perf_counter() - began,
        }
        self.entries.append(entry)
        return entry


def measure(settings: Settings) -> None:
    """Train both heads to the number of epochs asked for, from their checkpoints on."""
    device = compute_device(settings.device)
    epochs = settings.epochs or (2 if settings.quick else EPOCHS)
    count, tests, batch = (600, 500, 200) if settings.quick else (60_000, 10_000, 6000)
    X, y, X_test, y_test = (torch.as_tensor(part, device=device) for part in mnist())
    shape = (-1, 1, 28, 28)
    images = (
        X[:count].view(shape),
        y[:count],
        X_test[:tests].view(shape),
        y_test[:tests],
    )
    folder = settings.folder / "mnist-conv"
    protocol = {"images": count, "test images": tests, "batch": batch, "learning_rate": 0.01}
    record = Record(folder / "mnist-conv.json", protocol | {"seed": settings.seed})
    where, command = environment(settings.device), settings.command("mnist-conv")
    heads = settings.chosen("methods", HEADS)
    with Progress("mnist-conv", epochs * len(heads), verbose=1) as progress:
        for head in heads:
            run = Run(head, settings.seed, device, folder / f"{head}.pt")
            for _ in run.entries[:epochs]:
                progress.step("from the checkpoint")
            while len(run.entries) < epochs:
                entry = run.epoch(images, batch)
                run.keep()
                record.add(head, run.entries, command, where)
                progress.step(f"{head}: {entry['accuracy']:.2f} %")


def results(settings: Settings) -> dict[str, Any]:
    """The file of results."""
    return Record.read(settings.folder / "mnist-conv" / "mnist-conv.json")
