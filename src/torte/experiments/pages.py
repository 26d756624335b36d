"""Pages in Markdown: tables, how the numbers were made, and the paper's beside ours."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Any, NamedTuple

__all__ = ["Comparison", "made", "table", "write"]


class Comparison(NamedTuple):
    """One line of the table that opens results/README.md."""

    what: str
    paper: str
    ours: str


def table(header: Sequence[str], rows: Iterable[Sequence[str]]) -> str:
    """A Markdown table; the first column is text, the others are numbers.

    >>> from torte.experiments.pages import table
    >>> print(table(["data", "ours"], [["wine", "97.2"]]))
    | data | ours |
    | --- | ---: |
    | wine | 97.2 |
    """
    rule = ["---", *["---:"] * (len(header) - 1)]
    return "\n".join(f"| {' | '.join(row)} |" for row in [header, rule, *rows])


def made(contents: Iterable[dict[str, Any]]) -> str:
    """By which commands, under which protocol and on which machines the numbers were made."""
    commands: dict[str, None] = {}
    machines: dict[str, None] = {}
    for content in contents:
        for entry in content["made"]:
            commands[f"    {entry['command']}"] = None
            machines[_machine(entry["environment"])] = None
    return "\n".join(
        ["## How the numbers were made", "", *commands, "", *(f"- {text}" for text in machines)]
    )


def _machine(where: dict[str, str]) -> str:
    accelerator = f", {where['accelerator']}" if "accelerator" in where else ""
    return (
        f"{where['machine']}{accelerator}; computed on {where['device']}; Python {where['python']}, "
        f"PyTorch {where['torch']}, NumPy {where['numpy']}, SciPy {where['scipy']}, "
        f"scikit-learn {where['scikit-learn']}, torte {where['torte']}"
    )


QUICK = "**A quick run: the same path on little data in few steps. Its numbers say nothing.**"


def write(path: Path, title: str, parts: Iterable[str], quick: bool) -> None:
    """A page: its title and its parts, with a line between them; a quick run says that it is one."""
    path.parent.mkdir(parents=True, exist_ok=True)
    head = [f"# {title}", QUICK] if quick else [f"# {title}"]
    path.write_text("\n\n".join([*head, *parts]) + "\n", encoding="utf-8")
