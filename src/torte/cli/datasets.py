"""``torte datasets``: what there is, where it is, and fetching what is not here."""

from __future__ import annotations

from typing import Annotated

import typer

__all__ = ["EXAMPLE", "datasets"]

EXAMPLE = "torte datasets iris yeast --fetch"


def datasets(
    names: Annotated[list[str] | None, typer.Argument(help="Which ones; all if none.")] = None,
    fetch: Annotated[
        bool, typer.Option("--fetch", help="Fetch and check those that are not here.")
    ] = False,
) -> None:
    """List the paper's datasets and where each would come from; fetch and check them.

    The folder in the environment variable TORTE_DATA comes first, then scikit-learn, then the
    cache, then OpenML.
    """
    from rich.console import Console
    from rich.table import Table

    from torte.datasets import CATALOG, load, source

    table = Table("name", "rows", "columns", "classes", "from")
    for name in names or list(CATALOG):
        where = load(name).source if fetch else source(name)
        facts = CATALOG[name]
        table.add_row(name, f"{facts.rows:,}", str(facts.columns), str(len(facts.sizes)), where)
    Console().print(table)
