"""`torte inspect`: what is in a model file."""

from __future__ import annotations

from torte.cli import options
from torte.cli.console import Voice

__all__ = ["EXAMPLE", "inspect"]

EXAMPLE = "torte inspect flowers.torte"


def inspect(
    model: options.Model, as_json: options.Json = False, verbose: options.Verbose = False
) -> None:
    """Say what is in a model file: data, classes, the learned kernel and its length scales."""
    from torte.cli.models import open_model
    from torte.cli.summary import describe, facts, history

    voice = Voice(as_json=as_json)
    loaded = open_model(model)
    found = facts(loaded)
    describe(voice, found)
    if verbose:
        history(voice, loaded)
    bound = loaded_bound(loaded)
    if bound is not None:
        voice.say("\n[bold]Bound[/bold]")
        voice.wrapped(str(bound))
        found["risk_bound"] = vars(bound)
    voice.result({"model": model, **found})


def loaded_bound(model: object) -> object:
    """Theorem 4 for a model that has what it takes: a supremum, and rows fitted at once."""
    from torte.errors import InvalidInput, NoSupremum
    from torte.inspection import inspect_model

    try:
        return inspect_model(model).engine.risk_bound()
    except (NoSupremum, InvalidInput):
        return None
