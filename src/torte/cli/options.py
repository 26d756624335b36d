"""Arguments and options that several commands share, each with its help."""

from __future__ import annotations

from typing import Annotated

import typer

__all__ = [
    "Categorical",
    "ClassWeight",
    "Delimiter",
    "Drop",
    "Format",
    "Json",
    "Kernel",
    "Missing",
    "Model",
    "Quiet",
    "Seed",
    "Solver",
    "Table",
    "Target",
    "Verbose",
    "Weight",
]

Table = Annotated[
    str,
    typer.Argument(
        help="A table: .csv, .tsv, .parquet, .arrow or .feather, also with .gz; - is standard input.",
        metavar="TABLE",
        show_default=False,
    ),
]
Model = Annotated[str, typer.Argument(help="A model file that `torte fit` wrote.", metavar="MODEL")]
Target = Annotated[
    str, typer.Option("--target", "-t", help="The column to predict.", metavar="COLUMN")
]
Drop = Annotated[
    list[str] | None,
    typer.Option(
        "--drop", help="A column to leave out, for instance a key; repeatable.", metavar="COLUMN"
    ),
]
Categorical = Annotated[
    list[str] | None,
    typer.Option(
        "--categorical",
        help="A column of numbers that are names, for instance codes; repeatable.",
        metavar="COLUMN",
    ),
]
Weight = Annotated[
    str | None,
    typer.Option(
        "--weight", help="A column of row weights; 2 counts as two rows.", metavar="COLUMN"
    ),
]
ClassWeight = Annotated[
    str | None,
    typer.Option("--class-weight", help="`balanced`: every class counts the same.", metavar="HOW"),
]
Kernel = Annotated[
    str | None,
    typer.Option(
        "--kernel",
        help="A kernel expression, for instance 'Matern32(ard=True) + 0.1 * Linear()'.",
        metavar="EXPRESSION",
    ),
]
Solver = Annotated[
    str,
    typer.Option(
        "--solver",
        help="auto, cholesky, conjugate-gradients or features: how the embedding is computed.",
        metavar="HOW",
    ),
]
Seed = Annotated[
    int,
    typer.Option("--seed", help="The same seed gives the same result.", min=0, max=2**32 - 1),
]
Format = Annotated[
    str | None,
    typer.Option(
        "--format",
        help="csv, tsv, parquet or arrow, where the name does not say.",
        metavar="FORMAT",
    ),
]
Delimiter = Annotated[
    str | None,
    typer.Option(
        "--delimiter", help="Between cells of text; found by itself otherwise.", metavar="CHAR"
    ),
]
Missing = Annotated[
    list[str] | None,
    typer.Option(
        "--missing",
        help="A text that stands for a missing cell, beside the empty one; repeatable.",
        metavar="TEXT",
    ),
]
Json = Annotated[bool, typer.Option("--json", help="Print one JSON object instead of text.")]
Quiet = Annotated[bool, typer.Option("--quiet", "-q", help="Say nothing but errors.")]
Verbose = Annotated[
    bool, typer.Option("--verbose", "-v", help="Also print how learning went, in ten steps.")
]
