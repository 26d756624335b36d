"""`torte evaluate`: cross-validation of the learner beside well-known classifiers."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated, Any

import typer

from torte.cli import options
from torte.cli.console import Voice, warnings_shown

if TYPE_CHECKING:
    from torte.comparison import Comparison

__all__ = ["EXAMPLE", "evaluate", "scores_table"]

EXAMPLE = "torte evaluate flowers.csv --target species --folds 5"


def evaluate(
    table: options.Table,
    target: options.Target,
    folds: Annotated[
        int, typer.Option("--folds", "-k", help="How many times to split.", min=2)
    ] = 10,
    baseline: Annotated[
        list[str] | None,
        typer.Option(
            "--baseline",
            help="Compare with this one only, or with none; repeatable. All: logistic-regression, "
            "random-forest, gradient-boosting, lightgbm.",
            metavar="NAME",
        ),
    ] = None,
    drop: options.Drop = None,
    categorical: options.Categorical = None,
    weight: options.Weight = None,
    class_weight: options.ClassWeight = None,
    kernel: options.Kernel = None,
    solver: options.Solver = "auto",
    seed: options.Seed = 0,
    missing: options.Missing = None,
    format: options.Format = None,
    delimiter: options.Delimiter = None,
    as_json: options.Json = False,
    quiet: options.Quiet = False,
) -> None:
    """Cross-validate the learner and well-known classifiers on the same folds of a table.

    Scores are means over the folds with their standard errors. A difference to torte is taken
    fold by fold, so that what all find hard does not count.
    """
    from torte.baselines import baselines
    from torte.cli.labeled import read_labeled
    from torte.cli.learner import new_classifier
    from torte.comparison import compare
    from torte.errors import InvalidInput

    voice = Voice(quiet=quiet, as_json=as_json)
    learner = new_classifier(kernel=kernel, solver=solver, class_weight=class_weight, seed=seed)
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
    rivals = baselines(data.X, seed)
    if baseline is not None:
        chosen = [] if baseline == ["none"] else baseline
        unknown = [name for name in chosen if name not in rivals]
        if unknown:
            raise InvalidInput(
                f"`--baseline` must be none or one of {', '.join(rivals)}, got {unknown[0]!r}."
            )
        rivals = {name: rivals[name] for name in chosen}
    models = {"torte": learner, **rivals}
    done = 0
    with (
        warnings_shown(quiet),
        voice.progress("evaluating", folds * len(models)) as advance,
    ):

        def on_fold(name: str, fold: int) -> None:
            nonlocal done
            done += 1
            advance(done, f"fold {fold + 1} of {folds}, {name}")

        records = compare(
            models, data.X, data.y, folds=folds, seed=seed, weights=data.weights, on_fold=on_fold
        )
    voice.say(
        f"{len(data.y):,} rows, {data.X.shape[1]} columns, {len(set(data.y.tolist()))} classes, {folds} folds"
    )
    if data.unlabeled:
        voice.say(f"{data.unlabeled} rows without a label were left out.")
    scores_table(voice, records)
    voice.result({"table": table, "rows": len(data.y), "folds": folds, "models": plain(records)})


def scores_table(voice: Voice, records: Comparison) -> None:
    """Scores with standard errors, and paired differences of each rival to the first."""
    first, *others = records
    folds = len(records[first].seconds)
    voice.say(f"\n[bold]Mean ± standard error over {folds} folds[/bold]")
    voice.table(
        ["", "accuracy %", "log loss", "Brier", "ECE", "fit, s"],
        [
            [
                name,
                _with_error(100 * r.mean("accuracy"), 100 * r.error("accuracy"), 2),
                _with_error(r.mean("log_loss"), r.error("log_loss"), 3),
                _with_error(r.mean("brier"), r.error("brier"), 3),
                f"{r.calibration_error:.3f}",
                f"{sum(r.seconds) / len(r.seconds):.2f}",
            ]
            for name, r in records.items()
        ],
    )
    if not others:
        return
    voice.say(f"\n[bold]Difference to {first}, fold by fold[/bold]")
    rows = []
    for name in others:
        gaps = {
            score: records[name].against(records[first], score) for score in records[name].folds
        }
        rows.append(
            [
                name,
                _with_error(100 * gaps["accuracy"][0], 100 * gaps["accuracy"][1], 2, "+"),
                _with_error(*gaps["log_loss"], 3, "+"),
                _with_error(*gaps["brier"], 3, "+"),
            ]
        )
    voice.table(["", "accuracy %", "log loss", "Brier"], rows)


def _with_error(mean: float, error: float, digits: int, sign: str = "") -> str:
    return f"{mean:{sign}.{digits}f} ± {error:.{digits}f}"


def plain(records: Comparison) -> dict[str, Any]:
    """The comparison for programs: every fold, means and errors, differences to the first."""
    first = next(iter(records.values()))
    found: dict[str, Any] = {}
    for name, record in records.items():
        found[name] = {
            score: {
                "mean": record.mean(score),
                "standard_error": record.error(score),
                "folds": values,
                "minus_first": dict(
                    zip(("mean", "standard_error"), record.against(first, score), strict=True)
                ),
            }
            for score, values in record.folds.items()
        }
        found[name]["calibration_error"] = record.calibration_error
        found[name]["fit_seconds"] = record.seconds
    return found
