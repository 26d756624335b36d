"""What a command says: text and tables for people, or one JSON object for programs."""

from __future__ import annotations

import json
import math
import sys
import time
import warnings
from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager
from typing import Any

import typer
from rich.console import Console
from rich.markup import escape
from rich.progress import BarColumn, Progress, TextColumn, TimeElapsedColumn, TimeRemainingColumn
from rich.table import Table
from rich.text import Text

__all__ = ["Voice", "warnings_shown"]

PLAIN_WIDTH = 100  # of a line where no terminal says how wide it is
EVERY = 5.0  # seconds between two plain lines of progress


class Voice:
    """Speaks on standard output, or on standard error where the former carries a table.

    ``quiet`` says nothing but results asked for by ``as_json``; progress is always on standard
    error, a bar on a terminal and a line now and then elsewhere.
    """

    def __init__(self, *, quiet: bool = False, as_json: bool = False, stderr: bool = False):
        self.quiet, self.as_json, self.stderr = quiet, as_json, stderr
        self._out, self._err = _console(stderr), _console(True)

    @property
    def silent(self) -> bool:
        """Whether text for people is unwanted."""
        return self.quiet or self.as_json

    def say(self, text: str = "") -> None:
        """A line of text, in rich's markup; never broken, for paths must stay whole."""
        if not self.silent:
            self._out.print(text, soft_wrap=True, highlight=False)

    def wrapped(self, text: str) -> None:
        """A paragraph without markup, broken at spaces and indented."""
        if not self.silent:
            lines = Text(text).wrap(self._out, self._out.width - 4)
            for line in lines:
                self._out.print(Text("  ") + line, highlight=False)

    def table(self, columns: Iterable[str], rows: Iterable[Iterable[Any]], title: str = "") -> None:
        """A table; the first column and those without a name are text, the others numbers."""
        if self.silent:
            return
        drawn = Table(title=title or None, title_justify="left", title_style="bold", box=None)
        for i, column in enumerate(columns):
            right = i > 0 and column != ""
            drawn.add_column(escape(column), justify="right" if right else "left", overflow="fold")
        for row in rows:
            drawn.add_row(*(escape(str(cell)) for cell in row))
        self._out.print(drawn, highlight=False)

    def result(self, contents: Mapping[str, Any]) -> None:
        """The JSON object of `--json`; nothing where it was not asked for."""
        if self.as_json:
            typer.echo(json.dumps(_plain(contents), indent=2, allow_nan=False), err=self.stderr)

    @contextmanager
    def progress(self, label: str, total: float | None) -> Iterator[Any]:
        """``advance(done, state)`` inside: how far it is, of ``total``, and a word about it."""
        if self.quiet:
            yield lambda done, state="": None
        elif self._err.is_terminal:
            parts = (
                TextColumn(label),
                BarColumn(24),
                TextColumn("{task.percentage:3.0f} %" if total else ""),
                TextColumn("{task.fields[state]}"),
                TimeElapsedColumn(),
                *((TimeRemainingColumn(),) if total else ()),
            )
            with Progress(*parts, console=self._err, transient=True) as bar:
                task = bar.add_task(label, total=total, state="")
                yield lambda done, state="": bar.update(task, completed=done, state=state)
        else:
            yield self._lines(label, total)

    def _lines(self, label: str, total: float | None) -> Any:
        last = time.monotonic()

        def advance(done: float, state: str = "") -> None:
            nonlocal last
            now = time.monotonic()
            if now - last >= EVERY or (total is not None and done >= total):
                share = f" {100 * done / total:.0f} %" if total else ""
                self._err.print(f"{label}{share} {state}".rstrip(), markup=False, highlight=False)
                last = now

        return advance


def _console(stderr: bool) -> Console:
    stream = sys.stderr if stderr else sys.stdout
    return Console(stderr=stderr, width=None if stream.isatty() else PLAIN_WIDTH)


def _plain(value: Any) -> Any:
    """Numbers and texts that JSON has: NumPy's become Python's, a NaN becomes null."""
    if isinstance(value, Mapping):
        return {str(key): _plain(part) for key, part in value.items()}
    if isinstance(value, (list, tuple)):
        return [_plain(part) for part in value]
    if hasattr(value, "tolist"):
        return _plain(value.tolist())
    if isinstance(value, float) and not math.isfinite(value):
        return None
    return value


@contextmanager
def warnings_shown(quiet: bool) -> Iterator[None]:
    """Warnings of torte as one line each on standard error; Ctrl-C during learning ends all."""
    from torte.errors import InterruptedWarning, TorteWarning

    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("ignore")
        warnings.simplefilter("always", TorteWarning)
        warnings.simplefilter("error", InterruptedWarning)
        yield
    if not quiet:
        for text in dict.fromkeys(str(warning.message) for warning in caught):
            typer.echo(f"Warning: {' '.join(text.split())}", err=True)
