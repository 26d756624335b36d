"""What ends a command: an error is one sentence on standard error, and a code says which kind."""

from __future__ import annotations

import os
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import typer
from typer.core import TyperGroup

__all__ = ["FAILED", "INTERRUPTED", "USAGE", "Guarded"]

FAILED, USAGE, INTERRUPTED = 1, 2, 130
NO_MEMORY = (
    "there is not enough memory for this table; give fewer rows or columns, --dtype float32, or a feature map "
    "such as --kernel 'Fourier(Gaussian(), 512)'."
)


class Guarded(TyperGroup):
    """The group of all commands; what they raise for the user's eyes never shows a traceback."""

    def invoke(self, ctx: Any) -> Any:
        with _explained():
            return super().invoke(ctx)


@contextmanager
def _explained() -> Iterator[None]:
    try:
        yield
    except KeyboardInterrupt:
        _leave("Interrupted; nothing was written.", INTERRUPTED)
    except BrokenPipeError:  # `torte ... | head` has seen enough
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        raise typer.Exit(FAILED) from None
    except ImportError as error:
        if error.name and error.name.partition(".")[0] == "torte":
            raise
        _leave(f"Error: {error}", FAILED)
    except Exception as error:
        # Not imported here: `torte --help` does not wait for what errors.py needs.
        errors = sys.modules.get("torte.errors")
        if errors is not None and isinstance(error, errors.InterruptedWarning):
            _leave("Interrupted; nothing was written.", INTERRUPTED)
        if errors is not None and isinstance(error, errors.TorteError):
            _leave(f"Error: {error}", FAILED)
        if isinstance(error, OSError):
            _leave(f"Error: {_of_system(error)}", FAILED)
        if isinstance(error, MemoryError) or _of_allocator(error):
            _leave(f"Error: {NO_MEMORY}", FAILED)
        raise


def _of_system(error: OSError) -> str:
    """What the operating system refused, as a sentence."""
    if error.strerror is None:  # a sentence of torte's own, or of a library
        return str(error) or f"the operating system refused something ({type(error).__name__})."
    about = "" if error.filename is None else f"`{error.filename}`: "
    return f"{about}{error.strerror}."


def _of_allocator(error: Exception) -> bool:
    """Whether torch says in its own words that there is no memory."""
    text = str(error)
    return isinstance(error, RuntimeError) and (
        "DefaultCPUAllocator" in text or "out of memory" in text
    )


def _leave(sentence: str, code: int) -> None:
    typer.echo(" ".join(sentence.split()), err=True)
    raise typer.Exit(code) from None
