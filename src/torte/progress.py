"""One line on standard error that says where learning is."""

from __future__ import annotations

import sys
import time
from types import TracebackType
from typing import Self

__all__ = ["Progress"]


class Progress:
    """A bar that is drawn over itself on a terminal, and a line in ten steps elsewhere.

    Used as a context manager; silent unless ``verbose``.
    """

    def __init__(self, label: str, total: int, verbose: int):
        self.label, self.total, self.verbose = label, total, verbose
        self.done = 0
        self._drawn = 0.0

    def __enter__(self) -> Self:
        return self

    def step(self, state: str, count: int = 1) -> None:
        """So many more steps done; ``state`` is what a reader wants to know of them."""
        tenth = 10 * self.done // max(10, self.total)
        self.done += count
        if not self.verbose:
            return
        now = time.perf_counter()
        if sys.stderr.isatty():
            if now - self._drawn > 0.05 or self.done == self.total:
                filled = 24 * self.done // max(1, self.total)
                bar = "#" * filled + "." * (24 - filled)
                print(
                    f"\r{self.label} [{bar}] {self.done}/{self.total}  {state}",
                    end="",
                    file=sys.stderr,
                    flush=True,
                )
                self._drawn = now
        elif 10 * self.done // max(10, self.total) > tenth:
            print(f"{self.label} {self.done}/{self.total}  {state}", file=sys.stderr, flush=True)

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        if self.verbose and self._drawn:
            print(file=sys.stderr, flush=True)
