"""`torte fit`: learn a model from a table and write it to a file."""

from __future__ import annotations

import time
from typing import Annotated

import typer

from torte.cli import options
from torte.cli.console import Voice, warnings_shown

__all__ = ["EXAMPLE", "fit"]

EXAMPLE = "torte fit flowers.csv --target species --out flowers.torte"


def fit(
    table: options.Table,
    target: options.Target,
    out: Annotated[
        str,
        typer.Option(
            "--out", "-o", help="The model file to write; - is standard output.", metavar="MODEL"
        ),
    ],
    drop: options.Drop = None,
    categorical: options.Categorical = None,
    weight: options.Weight = None,
    class_weight: options.ClassWeight = None,
    kernel: options.Kernel = None,
    solver: options.Solver = "auto",
    seed: options.Seed = 0,
    device: Annotated[str, typer.Option(help="cpu, cuda, mps or auto.")] = "cpu",
    dtype: Annotated[str, typer.Option(help="float64 or float32.")] = "float64",
    missing: options.Missing = None,
    format: options.Format = None,
    delimiter: options.Delimiter = None,
    as_json: options.Json = False,
    verbose: options.Verbose = False,
    quiet: options.Quiet = False,
) -> None:
    """Learn a model from a table and write it to a file.

    Columns may hold numbers, categories, dates and missing cells. Rows without a label are left
    out, and counted.
    """
    from torte.cli.labeled import read_labeled
    from torte.cli.learner import new_classifier
    from torte.cli.models import store_model
    from torte.cli.outputs import STANDARD, check_output
    from torte.cli.summary import describe, facts, history

    voice = Voice(quiet=quiet, as_json=as_json, stderr=out == STANDARD)
    check_output(out, "model")
    model = new_classifier(
        kernel=kernel,
        solver=solver,
        class_weight=class_weight,
        seed=seed,
        verbose=0 if quiet else 1,
        device=device,
        dtype=dtype,
    )
    data = read_labeled(
        table,
        target,
        drop=drop or (),
        categorical=categorical or (),
        weight=weight,
        format=format,
        delimiter=delimiter,
        missing=missing or (),
    )
    model.target_name_ = target
    with warnings_shown(quiet):
        began = time.perf_counter()
        model.fit(data.X, data.y, sample_weight=data.weights)
        seconds = time.perf_counter() - began
        store_model(model, out)
    found = facts(model, data.X)
    describe(voice, found)
    if verbose:
        history(voice, model)
    if data.unlabeled:
        voice.say(f"{data.unlabeled} rows without a label were left out.")
    to = "standard output" if out == STANDARD else out
    voice.say(f"\nLearned in {seconds:.1f} s; the model is in {to}")
    voice.result(
        {"model": out, "seconds": round(seconds, 3), "unlabeled_rows": data.unlabeled, **found}
    )
