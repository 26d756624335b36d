"""What a fitted model is, as plain values and as text."""

from __future__ import annotations

import dataclasses
import re
from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from torte.cli.console import Voice

__all__ = ["describe", "facts", "history", "rounded"]

NUMBER = re.compile(r"\d+\.\d+(?:e[-+]?\d+)?|\d+e[-+]?\d+")
VECTOR = re.compile(r"\(([^()]*?, [^()]*?), [^()]*, [^()]*\)")  # of four entries or more
MOST_COLUMNS = 40  # of a printed table of columns
MOST_CLASSES = 20
BAR = 24  # characters of the longest one


def rounded(expression: str) -> str:
    """An expression with three digits in every number, and vectors cut after two.

    >>> from torte.cli.summary import rounded
    >>> rounded("0.512345 * Gaussian(length_scale=(1e-05, 1.0, 2.0, 3.0), ard=True)")
    '0.512 * Gaussian(length_scale=(1e-05, 1, ...), ard=True)'
    """
    short = NUMBER.sub(lambda number: f"{float(number[0]):.3g}", expression)
    return VECTOR.sub(r"(\1, ...)", short)


def facts(model: Any, X: Any = None) -> dict[str, Any]:
    """What `--json` prints of a model: all that was learned, as plain values.

    A data frame at hand also shows how much each column matters: see `torte.inspection.movement`.
    """
    import torte
    from torte.inspection import curves, inspect_model, movement

    inspected = inspect_model(model)
    engine = inspected.engine
    found: dict[str, Any] = {
        "torte": torte.__version__,
        "estimator": type(model).__name__,
        "target": getattr(model, "target_name_", None),
        "classes": engine.classes_.tolist(),
        "rows": inspected.n_rows,
        "columns": column_kinds(model),
        "kernel": repr(engine.kernel_),
        "regularization": engine.regularization_,
        "complexity": engine.complexity_,
        "by_column": by_column(engine.kernel_, list(inspected.columns)),
        "objective": engine.objective_value_,
        "evaluations": engine.n_iter_,
        "learning_seconds": round(curves(inspected).seconds, 3) if engine.history_ else 0.0,
    }
    if X is not None:
        found["relevance"] = dict(
            zip(map(str, X.columns), movement(inspected, X).tolist(), strict=True)
        )
    return found


def by_column(kernel: Any, columns: list[str] | None) -> dict[str, dict[str, float]]:
    """Every hyperparameter that has one value a column: part of the kernel -> column -> value.

    >>> from torte.cli.summary import by_column
    >>> from torte.kernels import Gaussian
    >>> by_column(0.5 * Gaussian((1.0, 2.0)).on(0, 2) + Gaussian(3.0), ["a", "b", "c"])
    {'Gaussian length_scale': {'a': 1.0, 'c': 2.0}}
    """
    found: dict[str, dict[str, float]] = {}
    for name, values in _vectors(kernel, columns):
        label = name if name not in found else f"{name} {len(found) + 1}"
        found[label] = values
    return found


def _vectors(part: Any, columns: list[str] | None) -> Iterator[tuple[str, dict[str, float]]]:
    from torte.features import Standardize
    from torte.kernels import Composed, On
    from torte.parameters import Parametric

    inner = columns
    if isinstance(part, On) and columns is not None:
        inner = [columns[position] for position in part.positions or ()]
    if isinstance(part, Composed) and not isinstance(part.features, Standardize):
        inner = None  # columns of a feature map are no columns of the table
    for field in dataclasses.fields(part):
        value = getattr(part, field.name)
        if isinstance(value, Parametric):
            yield from _vectors(value, inner)
        elif "constraint" in field.metadata and _one_each(value, columns):
            assert columns is not None
            yield f"{type(part).__name__} {field.name}", dict(zip(columns, value, strict=True))


def _one_each(value: Any, columns: list[str] | None) -> bool:
    return isinstance(value, tuple) and columns is not None and len(value) == len(columns)


def column_kinds(model: Any) -> dict[str, str]:
    """The kind of every column of the user's table, by name."""
    encoder = getattr(model, "encoder_", None)
    if encoder is not None:
        return dict(encoder.kinds_)
    names = getattr(model, "feature_names_in_", None)
    if names is None:
        names = [f"column {i}" for i in range(model.n_features_in_)]
    return dict.fromkeys(map(str, names), "numeric")


def describe(voice: Voice, found: dict[str, Any]) -> None:
    """The facts as text."""
    kinds = list(found["columns"].values())
    counted = ", ".join(f"{kinds.count(kind)} {kind}" for kind in dict.fromkeys(kinds))
    classes = [str(label) for label in found["classes"]]
    shown = ", ".join(classes[:MOST_CLASSES]) + ", ..." * (len(classes) > MOST_CLASSES)
    rows = "an unknown number of" if found["rows"] is None else f"{found['rows']:,}"
    voice.say(f"[bold]Data[/bold]     {rows} rows, {len(kinds)} columns ({counted})")
    of = "" if found["target"] is None else f" of {found['target']}"
    voice.say(f"[bold]Classes[/bold]  {len(classes)}{of}: {shown}")
    voice.say("[bold]Kernel[/bold]")
    voice.wrapped(rounded(found["kernel"]))
    voice.say(
        f"[bold]Learned[/bold]  lambda {found['regularization']:.3g}, complexity {found['complexity']:.3g}, "
        f"objective {found['objective']:.4g} after {found['evaluations']} evaluations"
    )
    if "relevance" in found:
        _relevance(voice, found["relevance"])
    else:
        _by_column(voice, found["by_column"])


def _relevance(voice: Voice, shares: dict[str, float]) -> None:
    """One bar a column: how much probability moves when its cells are those of other rows."""
    ranked = sorted(shares.items(), key=lambda item: -item[1])
    most = ranked[0][1] or 1.0
    voice.say()
    voice.table(
        ["relevance of", "moves probabilities by", ""],
        [
            [name, f"{100 * share:.1f} %", f"{'█' * round(BAR * share / most):{BAR}}"]
            for name, share in ranked[:MOST_COLUMNS]
        ],
    )
    _and_more(voice, len(ranked))


def _and_more(voice: Voice, columns: int) -> None:
    if columns > MOST_COLUMNS:
        voice.say(f" and {columns - MOST_COLUMNS} more columns; --json has them all")


def _by_column(voice: Voice, parts: dict[str, dict[str, float]]) -> None:
    names = list(dict.fromkeys(column for part in parts.values() for column in part))
    if not names:
        return
    rows = [
        [name, *(f"{part[name]:.3g}" if name in part else "" for part in parts.values())]
        for name in names[:MOST_COLUMNS]
    ]
    voice.say()
    voice.table(["learned for", *parts], rows)
    _and_more(voice, len(names))


def history(voice: Voice, model: Any, lines: int = 10) -> None:
    """How learning went, in about ten lines."""
    from torte.inspection import inspect_model

    records = inspect_model(model).engine.history_
    every = max(1, len(records) // lines)
    rows = [
        [i + 1, *(f"{records[i][name]:.4g}" for name in ("risk", "complexity", "objective"))]
        for i in range(0, len(records), every)
    ]
    voice.say()
    voice.table(["evaluation", "risk", "complexity", "objective"], rows)
