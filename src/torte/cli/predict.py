"""`torte predict`: labels, probabilities and entropies of a table's rows, in bounded memory."""

from __future__ import annotations

import time
from contextlib import ExitStack
from typing import TYPE_CHECKING, Annotated

import typer

from torte.cli import options
from torte.cli.console import Voice, warnings_shown

if TYPE_CHECKING:
    from torte.cli.predictor import Predictor

__all__ = ["EXAMPLE", "predict"]

EXAMPLE = "torte predict flowers.torte new.csv --out predicted.csv"
ROWS = 2**14  # predicted at once
MOST_CLASSES = 20  # of a printed summary


def predict(
    model: options.Model,
    table: options.Table,
    out: Annotated[
        str,
        typer.Option(
            "--out", "-o", help="Where to: named like TABLE; - is standard output.", metavar="FILE"
        ),
    ] = "-",
    keep: Annotated[
        list[str] | None,
        typer.Option(
            "--keep",
            help="A column of TABLE to copy, for instance a key; repeatable.",
            metavar="COLUMN",
        ),
    ] = None,
    missing: options.Missing = None,
    format: options.Format = None,
    delimiter: options.Delimiter = None,
    as_json: options.Json = False,
    quiet: options.Quiet = False,
) -> None:
    """Predict a table: the label of every row, a probability for each class, and the entropy.

    Columns are found by name, in whatever order; others are left alone. The table is read and
    written in pieces, so it may be larger than memory, and the file appears when it is complete.
    The entropy is in nats: 0 is certain.
    """
    from torte.cli.models import open_model
    from torte.cli.outputs import check_output
    from torte.cli.predictor import Predictor
    from torte.tabular import TableWriter, batches, open_source

    voice = Voice(quiet=quiet, as_json=as_json, stderr=out == "-")
    check_output(out, "predictions")
    predictor = Predictor(open_model(model), keep or ())
    began = time.perf_counter()
    with ExitStack() as stack:
        stack.enter_context(warnings_shown(quiet))
        source = stack.enter_context(open_source(table, format, delimiter))
        advance = stack.enter_context(voice.progress("predicting", 1.0 if source.size else None))
        writer = stack.enter_context(TableWriter(out))
        for batch in batches(source, predictor.columns, missing or ()):
            for start in range(0, batch.num_rows, ROWS):
                writer.write(predictor(batch.slice(start, ROWS), typed=source.is_text))
            # Reading is ahead of predicting.
            advance(min(source.share_read or 0.0, 0.99), f"{predictor.rows:,} rows")
        if not predictor.rows:
            writer.write(predictor.nothing())
        advance(1.0, f"{predictor.rows:,} rows")
    seconds = time.perf_counter() - began
    _summarize(voice, predictor)
    to = "standard output" if out == "-" else out
    voice.say(f"\n{predictor.rows:,} rows in {seconds:.1f} s; the predictions are in {to}")
    voice.result(
        {
            "predictions": out,
            "rows": predictor.rows,
            "seconds": round(seconds, 3),
            "labels": predictor.labels,
            "unseen": predictor.unseen,
        }
    )


def _summarize(voice: Voice, predictor: Predictor) -> None:
    """How often each label was predicted, and how many cells hold a level that fit did not see."""
    if voice.stderr:  # a table goes to standard output: a line or two are enough
        for column, cells in predictor.unseen.items():
            voice.say(f"{cells:,} cells of {column!r} hold a category that the model has not seen.")
        return
    rows = [
        (label, f"{n:,}", f"{100 * n / max(1, predictor.rows):.1f} %")
        for label, n in predictor.labels.most_common(MOST_CLASSES)
    ]
    voice.table(["predicted", "rows", "share"], rows)
    if predictor.unseen:
        voice.say()
        voice.table(
            ["categories not seen in fit, in", "cells"],
            [(column, f"{cells:,}") for column, cells in predictor.unseen.most_common()],
        )
