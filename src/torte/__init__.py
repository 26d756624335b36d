"""torte: conditional kernel mean embeddings on PyTorch, behind scikit-learn's contract."""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from torte.classifier import MCEClassifier
    from torte.persistence import load
    from torte.tables import TableClassifier

__all__ = ["MCEClassifier", "TableClassifier", "load"]
__version__ = "0.1.0"

# Imported when one is first asked for: `torte --help` need not wait for torch. All at once,
# for `load` knows the classes that have been imported.
_HOMES = {
    "MCEClassifier": "torte.classifier",
    "TableClassifier": "torte.tables",
    "load": "torte.persistence",
}
_ROOMS = ("errors", "features", "kernels", "objectives", "optimizers", "persistence")


def __getattr__(name: str) -> Any:
    if name in _HOMES:
        for home in _HOMES.values():
            module = import_module(home)
            globals().update({n: getattr(module, n) for n, at in _HOMES.items() if at == home})
        return globals()[name]
    if name in _ROOMS:
        return import_module(f"torte.{name}")
    raise AttributeError(f"module 'torte' has no attribute {name!r}")


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__, *_ROOMS})
