"""All experiments by name, and the page that opens the results."""

from __future__ import annotations

import sys
from collections.abc import Callable
from typing import NamedTuple

from torte.errors import InvalidInput
from torte.experiments import (
    iris,
    iris_page,
    mnist_ard,
    mnist_conv,
    mnist_pages,
    mnist_pixels,
    uci,
    uci_page,
)
from torte.experiments.pages import Comparison, table, write
from torte.experiments.settings import Settings

__all__ = ["EXPERIMENTS", "reproduce"]


class Experiment(NamedTuple):
    """Its two stages."""

    measure: Callable[[Settings], None]
    present: Callable[[Settings], list[Comparison]]


EXPERIMENTS = {
    "iris": Experiment(iris.measure, iris_page.present),
    "uci": Experiment(uci.measure, uci_page.present),
    "mnist-ard": Experiment(mnist_ard.measure, mnist_pages.present_ard),
    "mnist-pixels": Experiment(mnist_pixels.measure, mnist_pages.present_pixels),
    "mnist-conv": Experiment(mnist_conv.measure, mnist_pages.present_conv),
}


def reproduce(name: str, settings: Settings) -> None:
    """Run an experiment by name, or "all" of them and write the table of everything.

    >>> from torte.experiments import Settings, reproduce
    >>> reproduce("rats", Settings())
    Traceback (most recent call last):
    ...
    torte.errors.InvalidInput: `name` must be one of iris, uci, mnist-ard, mnist-pixels, mnist-conv, all, got 'rats'.
    """
    if name not in (*EXPERIMENTS, "all"):
        raise InvalidInput(f"`name` must be one of {', '.join(EXPERIMENTS)}, all, got {name!r}.")
    if name == "all" and (settings.datasets or settings.methods):
        raise InvalidInput(
            "`datasets` and `methods` have other names in every experiment; give them with one of "
            f"{', '.join(EXPERIMENTS)} rather than with all."
        )
    names = list(EXPERIMENTS) if name == "all" else [name]
    if settings.stage != "present":
        for each in names:
            EXPERIMENTS[each].measure(settings)
    if settings.stage == "measure":
        return
    lines: dict[str, list[Comparison]] = {}
    for each in names:
        if any((settings.folder / each).rglob("*.json")):
            lines[each] = EXPERIMENTS[each].present(settings)
            print(settings.folder / each / "README.md", file=sys.stderr)
        elif name != "all":
            raise InvalidInput(
                f"`out` must hold results of {each}, and {settings.folder / each} has none; measure first."
            )
    if name == "all":
        _write_overview(settings, lines)


def _write_overview(settings: Settings, lines: dict[str, list[Comparison]]) -> None:
    together = [line for each in lines.values() for line in each]
    missing = [name for name in EXPERIMENTS if name not in lines]
    parts = [
        table(["experiment", "paper", "ours"], together),
        "Each experiment has a page with its figures, how it was done, and by which command and on "
        "which machine; the JSON beside it has every number.",
        "\n".join(f"- [{name}]({name}/README.md)" for name in lines),
        "`torte reproduce all` makes everything here; interrupted runs go on where they stopped, and "
        "`--stage present` writes these pages again from the numbers that are there.",
    ]
    if missing:
        parts.append(f"Not run yet: {', '.join(missing)}.")
    write(settings.folder / "README.md", "The paper's numbers and ours", parts, settings.quick)
    print(settings.folder / "README.md", file=sys.stderr)
