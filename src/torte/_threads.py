"""One thread for small work: below a size, waking a second one costs more than it brings."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

import torch

__all__ = ["suited_threads"]

SINGLE_THREAD_ROWS = 400


@contextmanager
def suited_threads(n: int) -> Iterator[None]:
    """Let torch use one thread within, where an n x n problem is too small for more."""
    before = torch.get_num_threads()
    if n > SINGLE_THREAD_ROWS or before == 1:
        yield
        return
    torch.set_num_threads(1)
    try:
        yield
    finally:
        torch.set_num_threads(before)
