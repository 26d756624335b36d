"""All commands of ``torte``."""

from __future__ import annotations

import typer

from torte.cli import datasets, reproduce

__all__ = ["app"]

app = typer.Typer(
    name="torte",
    help="Kernel classifiers with learned hyperparameters, for people with a table.",
    no_args_is_help=True,
    rich_markup_mode="rich",
)
app.command("datasets", epilog=f"Example: {datasets.EXAMPLE}")(datasets.datasets)
app.command("reproduce", epilog=f"Example: {reproduce.EXAMPLE}")(reproduce.reproduce)


@app.callback()
def root() -> None:
    """Kernel classifiers with learned hyperparameters, for people with a table."""
