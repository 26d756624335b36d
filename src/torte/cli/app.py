"""All commands of ``torte``."""

from __future__ import annotations

from typing import Annotated

import typer

import torte
from torte.cli import datasets, demo, evaluate, fit, inspect, predict, report, reproduce
from torte.cli.guard import Guarded

__all__ = ["app"]

app = typer.Typer(
    name="torte",
    cls=Guarded,
    no_args_is_help=True,
    epilog=f"Example: {demo.EXAMPLE}",
    rich_markup_mode="rich",
    pretty_exceptions_enable=False,
    context_settings={"help_option_names": ["-h", "--help"]},
)
app.command("demo", epilog=f"Example: {demo.EXAMPLE}")(demo.demo)
app.command("fit", epilog=f"Example: {fit.EXAMPLE}")(fit.fit)
app.command("predict", epilog=f"Example: {predict.EXAMPLE}")(predict.predict)
app.command("evaluate", epilog=f"Example: {evaluate.EXAMPLE}")(evaluate.evaluate)
app.command("inspect", epilog=f"Example: {inspect.EXAMPLE}")(inspect.inspect)
app.command("report", epilog=f"Example: {report.EXAMPLE}")(report.report)
app.command("datasets", epilog=f"Example: {datasets.EXAMPLE}")(datasets.datasets)
app.command("reproduce", epilog=f"Example: {reproduce.EXAMPLE}")(reproduce.reproduce)


def _say_version(wanted: bool) -> None:
    if wanted:
        typer.echo(f"torte {torte.__version__}")
        raise typer.Exit


@app.callback()
def root(
    version: Annotated[
        bool, typer.Option("--version", callback=_say_version, is_eager=True, help="Say which.")
    ] = False,
) -> None:
    """Kernel classifiers with learned hyperparameters, for people with a table."""
