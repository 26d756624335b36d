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
        if isinstance(error, OSError) and error.filename is not None:
            _leave(f"Error: `{error.filename}`: {error.strerror}.", FAILED)
        raise


def _leave(sentence: str, code: int) -> None:
    typer.echo(" ".join(sentence.split()), err=True)
    raise typer.Exit(code) from None
