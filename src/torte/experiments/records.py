"""Results as JSON files: what was measured, under which protocol, by which command, where."""

from __future__ import annotations

import json
import os
import platform
import warnings
from collections.abc import Iterator
from contextlib import contextmanager
from importlib.metadata import version
from pathlib import Path
from typing import Any

import torch

import torte
from torte._arrays import compute_device
from torte.errors import InterruptedWarning, InvalidInput

__all__ = ["Record", "environment", "heard", "rounded"]


@contextmanager
def heard() -> Iterator[list[warnings.WarningMessage]]:
    """What is said of single fits (jitter, small batches, rare classes) is kept, not shown.

    A fit that was interrupted is no result: its warning is raised.
    """
    with warnings.catch_warnings(record=True) as said:
        warnings.simplefilter("always")
        warnings.simplefilter("error", InterruptedWarning)
        yield said


def environment(device: str) -> dict[str, str]:
    """Versions and hardware that a measurement depends on."""
    packages = {name: version(name) for name in ("numpy", "scipy", "scikit-learn")}
    computes = compute_device(device)
    where = {"device": computes.type}
    if computes.type == "cuda":
        where["accelerator"] = torch.cuda.get_device_name(computes)
    return {
        "torte": torte.__version__,
        "python": platform.python_version(),
        "torch": torch.__version__,
        **packages,
        "machine": f"{platform.system()} {platform.machine()}, {os.cpu_count()} cores",
        **where,
    }


def rounded(values: Any, digits: int = 6) -> Any:
    """Numbers, at any depth of lists and dictionaries, with so many significant digits."""
    if isinstance(values, dict):
        return {key: rounded(value, digits) for key, value in values.items()}
    if isinstance(values, (list, tuple)):
        return [rounded(value, digits) for value in values]
    return float(f"{values:.{digits}g}") if isinstance(values, float) else values


class Record:
    """One file of results, which grows entry by entry and is whole at any time.

    ``protocol`` is what all entries have in common: a file made under another one is not
    added to.
    """

    def __init__(self, path: Path, protocol: dict[str, Any]):
        self.path = path
        self.content: dict[str, Any] = {"protocol": protocol, "made": [], "results": {}}
        if path.exists():
            self.content = self.read(path)
            if self.content["protocol"] != json.loads(json.dumps(protocol)):
                raise InvalidInput(
                    f"{path} holds results of the protocol {self.content['protocol']}, and this run has "
                    f"{protocol}; give another folder with `out`, or delete that file."
                )

    @staticmethod
    def read(path: Path) -> dict[str, Any]:
        """The content of a file of results."""
        content: dict[str, Any] = json.loads(path.read_text(encoding="utf-8"))
        return content

    def __contains__(self, key: str) -> bool:
        return key in self.content["results"]

    @property
    def results(self) -> dict[str, Any]:
        """All entries so far."""
        return dict(self.content["results"])

    def add(self, key: str, entry: Any, command: str, where: dict[str, str]) -> None:
        """One more entry, and who made it; the file is replaced in one move."""
        made = {"command": command, "environment": where}
        if made not in self.content["made"]:
            self.content["made"].append(made)
        self.content["results"][key] = rounded(entry)
        self.path.parent.mkdir(parents=True, exist_ok=True)
        partial = self.path.with_suffix(".partial")
        partial.write_text(json.dumps(self.content, indent=1) + "\n", encoding="utf-8")
        partial.replace(self.path)
