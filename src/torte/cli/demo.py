"""`torte demo`: the main job on data that ships inside scikit-learn."""

from __future__ import annotations

import time
from enum import StrEnum
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from torte.cli import options
from torte.cli.console import Voice, warnings_shown

if TYPE_CHECKING:
    import numpy as np
    import pandas as pd

__all__ = ["EXAMPLE", "demo"]

EXAMPLE = "torte demo --data iris"
HELD_OUT = 0.3  # share of rows kept for the report
FOLDS = 5


class Data(StrEnum):
    """The tables to choose from."""

    wine = "wine"
    iris = "iris"
    breast_cancer = "breast_cancer"


def demo(
    data: Annotated[Data, typer.Option("--data", help="Which table.")] = Data.wine,
    out: Annotated[
        str,
        typer.Option(
            "--out", "-o", help="The folder for the report and the model.", metavar="FOLDER"
        ),
    ] = "torte-demo",
    seed: options.Seed = 0,
    as_json: options.Json = False,
    quiet: options.Quiet = False,
) -> None:
    """Learn on a table that ships inside scikit-learn, and show what was learned.

    Learns on seven tenths of the rows, says what it learned, compares itself with other
    classifiers, and writes a report about the rows held out.
    """
    from sklearn.model_selection import train_test_split

    from torte.baselines import baselines
    from torte.cli.evaluate import plain, scores_table
    from torte.cli.learner import new_classifier
    from torte.cli.summary import describe, facts
    from torte.comparison import compare
    from torte.report import write_report

    voice = Voice(quiet=quiet, as_json=as_json)
    folder = Path(out)
    folder.mkdir(parents=True, exist_ok=True)
    X, y = _table(data.value)
    X_train, X_test, y_train, y_test = train_test_split(
        X, y, test_size=HELD_OUT, stratify=y, random_state=seed
    )
    voice.say(
        f"[bold]{data.value}[/bold] from scikit-learn: {len(y)} rows, {X.shape[1]} columns; "
        f"learning on {len(y_train)}, {len(y_test)} held out\n"
    )
    with warnings_shown(quiet):
        began = time.perf_counter()
        model = new_classifier(seed=seed).fit(X_train, y_train)
        seconds = time.perf_counter() - began
        found = facts(model, X_train)
        describe(voice, found)
        rivals = {
            name: model
            for name, model in baselines(X, seed).items()
            if name in ("logistic-regression", "gradient-boosting")
        }
        with voice.progress("comparing", FOLDS * (1 + len(rivals))) as advance:
            steps = iter(range(1, 1000))
            records = compare(
                {"torte": new_classifier(seed=seed), **rivals},
                X,
                y,
                folds=FOLDS,
                seed=seed,
                on_fold=lambda name, fold: advance(next(steps), name),
            )
    voice.say(f"\nThe same {FOLDS} folds for all:")
    scores_table(voice, records)
    accuracy = float((model.predict(X_test) == y_test).mean())
    model_file = folder / f"{data.value}.torte"
    model.save(model_file)
    page = write_report(
        model, folder / f"{data.value}.html", X_test, y_test, f"torte on {data.value}"
    )
    voice.say(f"\nLearned in {seconds:.2f} s. Model: {model_file}")
    voice.say(f"[bold]Accuracy {100 * accuracy:.1f} %[/bold] on the {len(y_test)} rows held out")
    voice.say(f"[bold]Report[/bold] {page.resolve()}")
    voice.result(
        {
            "data": data.value,
            "accuracy": accuracy,
            "report": str(page.resolve()),
            "model": str(model_file),
            "comparison": plain(records),
            **found,
        }
    )


def _table(name: str) -> tuple[pd.DataFrame, np.ndarray]:
    import numpy as np
    from sklearn import datasets

    loaded = getattr(datasets, f"load_{name}")(as_frame=True)
    return loaded.data, np.asarray(loaded.target_names).astype(str)[loaded.target.to_numpy()]
