"""`torte report`: one HTML page about a model."""

from __future__ import annotations

import sys
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
            "--out",
            "-o",
            help="The page; MODEL with .html where not given; - is standard output.",
            metavar="FILE",
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
    from torte.cli.labeled import Wanted, read_wanted
    from torte.cli.models import columns_of, measured_columns, open_model, text_columns
    from torte.cli.outputs import check_output
    from torte.errors import InvalidInput
    from torte.report import build_page, write_report

    voice = Voice(quiet=quiet, as_json=as_json, stderr=out == "-")
    page = out or str(Path(model).with_suffix(".html"))
    check_output(page, "page")
    if target is not None and table is None:
        raise InvalidInput("`--target` needs TABLE, whose column it names; give both, or neither.")
    loaded = open_model(model)
    rows = Wanted(None, None, 0)
    if table is not None:
        rows = read_wanted(
            table,
            columns_of(loaded),
            target,
            loaded.classes_,
            text=text_columns(loaded),
            measured=measured_columns(loaded),
            format=format,
            delimiter=delimiter,
            missing=missing or (),
        )
    title = title or Path(model).stem
    if page == "-":
        text = build_page(loaded, rows.X, rows.y, title)
        sys.stdout.buffer.write(text.encode("utf-8", "xmlcharrefreplace"))
        sys.stdout.buffer.flush()
        where = "-"
    else:
        where = str(write_report(loaded, page, rows.X, rows.y, title).resolve())
    if rows.unlabeled:
        voice.say(f"{rows.unlabeled} rows without a label were left out.")
    voice.say(f"Report: {where}")
    voice.result({"report": where, "unlabeled_rows": rows.unlabeled})
