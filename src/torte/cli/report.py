"""`torte report`: one HTML page about a model."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from torte.cli import options
from torte.cli.console import Voice

__all__ = ["EXAMPLE", "report"]

EXAMPLE = "torte report flowers.torte flowers.csv --target species"


def report(
    model: options.Model,
    table: Annotated[
        str | None,
        typer.Argument(
            help="Rows to show predictions of, best ones it has not seen.", metavar="TABLE"
        ),
    ] = None,
    out: Annotated[
        str | None,
        typer.Option(
            "--out", "-o", help="The page; MODEL with .html where not given.", metavar="FILE"
        ),
    ] = None,
    target: Annotated[
        str | None,
        typer.Option(
            "--target", "-t", help="The column of true labels in TABLE.", metavar="COLUMN"
        ),
    ] = None,
    title: Annotated[str | None, typer.Option(help="The heading of the page.")] = None,
    missing: options.Missing = None,
    format: options.Format = None,
    delimiter: options.Delimiter = None,
    as_json: options.Json = False,
    quiet: options.Quiet = False,
) -> None:
    """Write one self-contained HTML page about a model: its kernel, learning, and predictions.

    With TABLE it shows how the model does there; with --target also whether it is right.
    """
    from torte.cli.labeled import read_columns
    from torte.cli.models import columns_of, open_model, text_columns
    from torte.errors import InvalidInput
    from torte.report import write_report
    from torte.tabular import check_writable

    voice = Voice(quiet=quiet, as_json=as_json)
    page = out or str(Path(model).with_suffix(".html"))
    check_writable(page)
    if target is not None and table is None:
        raise InvalidInput("`--target` needs TABLE, whose column it names; give both, or neither.")
    loaded = open_model(model)
    X = y = None
    if table is not None:
        X, y = read_columns(
            table,
            columns_of(loaded),
            target,
            text=text_columns(loaded),
            format=format,
            delimiter=delimiter,
            missing=missing or (),
        )
    write_report(loaded, page, X, y, title or Path(model).stem)
    where = str(Path(page).resolve())
    voice.say(f"Report: {where}")
    voice.result({"report": where})
