"""torte: conditional kernel mean embeddings on PyTorch, behind scikit-learn's contract."""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from torte.classifier import MCEClassifier

__all__ = ["MCEClassifier"]
__version__ = "0.1.0"

# Imported when first asked for: `torte --help` need not wait for torch.
_HOMES = {"MCEClassifier": "torte.classifier"}
_ROOMS = ("errors", "features", "kernels", "objectives", "optimizers")


def __getattr__(name: str) -> Any:
    if name in _HOMES:
        return getattr(import_module(_HOMES[name]), name)
    if name in _ROOMS:
        return import_module(f"torte.{name}")
    raise AttributeError(f"module 'torte' has no attribute {name!r}")


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__, *_ROOMS})
