"""``torte reproduce``: the experiments of the paper."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Literal

import typer

from torte.cli.guard import INTERRUPTED

__all__ = ["EXAMPLE", "reproduce"]

EXAMPLE = "torte reproduce uci --quick --datasets wine --methods gmce,erm"

Experiment = Literal["iris", "uci", "mnist-ard", "mnist-pixels", "mnist-conv", "all"]


def _names(text: str) -> tuple[str, ...]:
    return tuple(name.strip() for name in text.split(",") if name.strip())


def reproduce(
    experiment: Annotated[Experiment, typer.Argument(help="Which experiment; or all.")],
    quick: Annotated[bool, typer.Option(help="The same path on little data, in a minute.")] = False,
    device: Annotated[str, typer.Option(help="cpu, cuda, mps or auto.")] = "cpu",
    out: Annotated[Path, typer.Option(help="Folder of the results.")] = Path("results"),
    seed: Annotated[
        int,
        typer.Option(help="Of folds, batches and weights; the paper's is 0.", min=0, max=2**32 - 1),
    ] = 0,
    folds: Annotated[int, typer.Option(help="How many of the ten folds.")] = 10,
    datasets: Annotated[str, typer.Option(help="Names with commas; all if empty.")] = "",
    methods: Annotated[str, typer.Option(help="Names with commas; all if empty.")] = "",
    optimizer: Annotated[
        Literal["adam", "lbfgs"], typer.Option(help="adam is the paper's.")
    ] = "adam",
    epochs: Annotated[int | None, typer.Option(help="Passes over the training rows.")] = None,
    jobs: Annotated[int | None, typer.Option(help="Processes at a time.")] = None,
    stage: Annotated[
        Literal["both", "measure", "present"], typer.Option(help="Numbers, pages, or both.")
    ] = "both",
) -> None:
    """Run an experiment of the paper and set its numbers beside ours; interrupted runs resume."""
    from torte.errors import InterruptedWarning
    from torte.experiments import Settings
    from torte.experiments import reproduce as run

    settings = Settings(
        quick=quick,
        device=device,
        out=out,
        seed=seed,
        folds=folds,
        datasets=_names(datasets),
        methods=_names(methods),
        optimizer=optimizer,
        epochs=epochs,
        jobs=jobs,
        stage=stage,
    )
    try:
        run(experiment, settings)
    except (KeyboardInterrupt, InterruptedWarning):
        typer.echo("Interrupted; what had ended is kept, and the same command goes on.", err=True)
        raise typer.Exit(INTERRUPTED) from None
