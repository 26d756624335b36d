"""Model files as the commands see them: what is loaded, and the columns that it wants."""

from __future__ import annotations

import shutil
import sys
import tempfile
from pathlib import Path
from typing import Any

from torte.cli.outputs import STANDARD

__all__ = ["columns_of", "measured_columns", "open_model", "store_model", "text_columns"]

TEXT = ("categorical", "boolean", "ordinal")  # kinds of columns whose cells are names


def open_model(path: str) -> Any:
    """A classifier from a model file."""
    from sklearn.base import is_classifier

    import torte
    from torte.errors import InvalidInput

    model = torte.load(path)
    if not is_classifier(model):
        raise InvalidInput(
            f"`{path}` holds a {type(model).__name__} and not a classifier; give a file that `torte fit` wrote."
        )
    return model


def store_model(model: Any, path: str) -> None:
    """A model into a file, or, where the path is "-", its bytes to standard output."""
    if path != STANDARD:
        model.save(path)
        return
    with tempfile.TemporaryDirectory() as folder:
        whole = Path(folder, "model.torte")
        model.save(whole)
        with whole.open("rb") as file:
            shutil.copyfileobj(file, sys.stdout.buffer)
    sys.stdout.buffer.flush()


def columns_of(model: Any) -> list[str] | None:
    """The columns of a table that a model wants, by name; None where it was fitted without names."""
    names = getattr(model, "feature_names_in_", None)
    return None if names is None else [str(name) for name in names]


def text_columns(model: Any) -> list[str]:
    """Those that stay text however their cells look: levels are compared as they are written."""
    encoder = getattr(model, "encoder_", None)
    kinds = {} if encoder is None else encoder.kinds_
    return [name for name, kind in kinds.items() if kind in TEXT]


def measured_columns(model: Any) -> list[str]:
    """Those of numbers and dates, in which a cell such as NA is missing."""
    text = text_columns(model)
    return [name for name in columns_of(model) or [] if name not in text]
