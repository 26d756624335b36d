"""The command line: parse, call, print. Every command lives in a file of its own."""

from __future__ import annotations

import sys
from importlib.util import find_spec

__all__ = ["main"]


def main() -> None:
    """The entry point ``torte``; says what to install where the command line's parts are missing."""
    try:
        if find_spec("typer") is None or find_spec("rich") is None:
            sys.exit(
                "The command line needs typer and rich; install them with: pip install 'torte[cli]'"
            )
        from torte.cli.app import app

        app()
    except KeyboardInterrupt:  # before a command has begun: imports take a good part of a second
        print("Interrupted; nothing was written.", file=sys.stderr)
        sys.exit(130)
