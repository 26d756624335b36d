"""One line on standard error that says where learning is."""

from __future__ import annotations

import sys
import time
from types import TracebackType
from typing import Self

__all__ = ["Progress", "tell"]


def tell(text: str, verbose: int) -> None:
    """Lines on standard error, where they were asked for."""
    if verbose:
        print(text, file=sys.stderr, flush=True)


class Progress:
    """A bar that is drawn over itself on a terminal, and a line in ten steps elsewhere.

    Used as a context manager; silent unless ``verbose``. Where the total is not known (None)
    it counts, and elsewhere than on a terminal gives a line whenever the count has doubled.
    """

    def __init__(self, label: str, total: int | None, verbose: int):
        self.label, self.total, self.verbose = label, total, verbose
        self.done = 0
        self._drawn = 0.0

    def __enter__(self) -> Self:
        return self

    def step(self, state: str, count: int = 1) -> None:
        """So many more steps done; ``state`` is what a reader wants to know of them."""
        before = self._part()
        self.done += count
        if not self.verbose:
            return
        now = time.perf_counter()
        if sys.stderr.isatty():
            if now - self._drawn > 0.05 or self.done == self.total:
                bar = ""
                if self.total is not None:
                    filled = 24 * self.done // max(1, self.total)
                    bar = f"[{'#' * filled}{'.' * (24 - filled)}] "
                print(
                    f"\r{self.label} {bar}{self._told()}  {state}",
                    end="",
                    file=sys.stderr,
                    flush=True,
                )
                self._drawn = now
        elif self._part() > before:
            print(f"{self.label} {self._told()}  {state}", file=sys.stderr, flush=True)

    def _part(self) -> int:
        """Tenths that are done; of an unknown total how often the count has doubled."""
        if self.total is None:
            return self.done.bit_length()
        return 10 * self.done // max(10, self.total)

    def _told(self) -> str:
        return f"{self.done}" if self.total is None else f"{self.done}/{self.total}"

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        if self.verbose and self._drawn:
            print(file=sys.stderr, flush=True)
