"""``python -m torte.experiments uci --device cuda``: as ``torte reproduce``, with nothing installed for it."""

from __future__ import annotations

import argparse
from dataclasses import fields
from pathlib import Path

from torte.experiments import EXPERIMENTS, Settings, reproduce


def main() -> None:
    """One option for each setting; several names with commas between them."""
    parser = argparse.ArgumentParser(prog="python -m torte.experiments")
    parser.add_argument("experiment", choices=[*EXPERIMENTS, "all"])
    kinds = {"out": Path, "datasets": str, "methods": str, "device": str, "optimizer": str}
    for field in fields(Settings):
        if field.name == "quick":
            parser.add_argument("--quick", action="store_true")
        else:
            kind = kinds.get(field.name, str if field.name == "stage" else int)
            parser.add_argument(f"--{field.name}", type=kind, default=field.default)
    options = vars(parser.parse_args())
    name = options.pop("experiment")
    for names in ("datasets", "methods"):
        options[names] = tuple(options[names].split(",")) if options[names] else ()
    reproduce(name, Settings(**options))


if __name__ == "__main__":
    main()
