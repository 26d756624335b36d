"""``torte datasets``: what there is, where it is, and fetching what is not here."""

from __future__ import annotations

from typing import Annotated, Any

import typer

from torte.cli import options
from torte.cli.console import Voice

__all__ = ["EXAMPLE", "datasets"]

EXAMPLE = "torte datasets iris wine --fetch"


def datasets(
    names: Annotated[list[str] | None, typer.Argument(help="Which ones; all if none.")] = None,
    fetch: Annotated[
        bool, typer.Option("--fetch", help="Fetch and check those that are not here.")
    ] = False,
    as_json: options.Json = False,
) -> None:
    """List the paper's datasets and where each would come from; fetch and check them.

    The folder in the environment variable TORTE_DATA comes first, then scikit-learn, then the
    cache, then OpenML.
    """
    from torte.datasets import CATALOG, load, source
    from torte.errors import InvalidInput

    unknown = [name for name in names or () if name not in CATALOG]
    if unknown:
        raise InvalidInput(f"NAMES must be of {', '.join(CATALOG)}, got {unknown[0]!r}.")
    voice = Voice(as_json=as_json)
    found: dict[str, dict[str, Any]] = {}
    for name in names or list(CATALOG):
        facts = CATALOG[name]
        found[name] = {
            "rows": facts.rows,
            "columns": facts.columns,
            "classes": len(facts.sizes),
            "from": load(name).source if fetch else source(name),
        }
    voice.table(
        ["name", "rows", "columns", "classes", "from"],
        [
            [name, f"{about['rows']:,}", about["columns"], about["classes"], about["from"]]
            for name, about in found.items()
        ],
    )
    voice.result({"datasets": found})
