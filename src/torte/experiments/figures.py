"""How figures are made here: matplotlib when it is needed, one style, into a file."""

from __future__ import annotations

from pathlib import Path
from typing import Any

__all__ = ["COLORS", "figure", "save"]

COLORS = ("#1b6ca8", "#c8553d", "#4f8a3d", "#8a5aa8", "#8c6d1f", "#2f8f8f")


def figure(width: float, height: float) -> Any:
    """An empty figure, drawn without a display."""
    try:
        from matplotlib.figure import Figure
    except ImportError as error:
        raise ImportError(
            "Figures need matplotlib; install it with: pip install 'torte[plots]', or ask for the "
            "numbers alone with --stage measure"
        ) from error
    return Figure(figsize=(width, height), layout="constrained")


def save(drawing: Any, path: Path) -> None:
    """Into a file, without the time it was made at: the same numbers make the same bytes."""
    path.parent.mkdir(parents=True, exist_ok=True)
    drawing.savefig(path, dpi=110, metadata={"Software": None})
