"""What a run of an experiment can be told; the same for all of them."""

from __future__ import annotations

import os
from dataclasses import dataclass, fields
from pathlib import Path
from typing import Any

from torte.errors import InvalidInput

__all__ = ["Settings"]

STAGES = ("both", "measure", "present")
OPTIMIZERS = ("adam", "lbfgs")


@dataclass(frozen=True)
class Settings:
    """How an experiment is run.

    ``quick`` is the same path on little data in few steps, ``out`` the folder of results,
    ``folds`` how many of the ten folds are run, ``epochs`` how many passes over the training
    rows (None: as many as the paper's). Empty ``datasets`` and ``methods`` are all of them.
    ``jobs`` processes run at a time (None: as many as suit). ``stage`` "measure" ends with the
    numbers, "present" only draws and writes what was measured before.

    >>> from torte.experiments.settings import Settings
    >>> Settings(device="cuda", datasets=("wine", "yeast")).command("uci")
    'torte reproduce uci --device cuda --datasets wine,yeast'
    """

    quick: bool = False
    device: str = "cpu"
    out: Path = Path("results")
    seed: int = 0
    folds: int = 10
    datasets: tuple[str, ...] = ()
    methods: tuple[str, ...] = ()
    optimizer: str = "adam"
    epochs: int | None = None
    jobs: int | None = None
    stage: str = "both"

    def __post_init__(self) -> None:
        for name, allowed in (("stage", STAGES), ("optimizer", OPTIMIZERS)):
            if getattr(self, name) not in allowed:
                raise InvalidInput(
                    f"`{name}` must be {' or '.join(allowed)}, got {getattr(self, name)!r}."
                )
        if not 1 <= self.folds <= 10:
            raise InvalidInput(f"`folds` must be a whole number from 1 to 10, got {self.folds!r}.")
        for name in ("epochs", "jobs"):
            value = getattr(self, name)
            if value is not None and value < 1:
                raise InvalidInput(f"`{name}` must be at least 1, got {value!r}.")

    @property
    def folder(self) -> Path:
        """Where results go: those of quick runs into a folder of their own."""
        return self.out / "quick" if self.quick else self.out

    @property
    def processes(self) -> int:
        """How many run at a time: one a core, or four that share an accelerator."""
        cores = os.cpu_count() or 1
        return self.jobs or (cores if self.device == "cpu" else 4)

    def chosen(self, what: str, known: tuple[str, ...]) -> tuple[str, ...]:
        """The names asked for in ``datasets`` or ``methods``, in the order known here."""
        asked = getattr(self, what)
        unknown = [name for name in asked if name not in known]
        if unknown:
            raise InvalidInput(f"`{what}` must be among {', '.join(known)}, got {unknown[0]!r}.")
        return tuple(name for name in known if name in asked) if asked else known

    def command(self, experiment: str) -> str:
        """The command line that asks for this."""
        words = ["torte", "reproduce", experiment]
        for field in fields(self):
            value: Any = getattr(self, field.name)
            if value == field.default or field.name in ("out", "jobs", "stage"):
                continue
            words.append(f"--{field.name}")
            if value is not True:
                words.append(",".join(value) if isinstance(value, tuple) else str(value))
        return " ".join(words)
