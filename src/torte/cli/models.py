"""Model files as the commands see them: what is loaded, and the columns that it wants."""

from __future__ import annotations

from typing import Any

__all__ = ["columns_of", "open_model", "text_columns"]

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


def columns_of(model: Any) -> list[str] | None:
    """The columns of a table that a model wants, by name; None where it was fitted without names."""
    names = getattr(model, "feature_names_in_", None)
    return None if names is None else [str(name) for name in names]


def text_columns(model: Any) -> list[str]:
    """Those that stay text however their cells look: levels are compared as they are written."""
    encoder = getattr(model, "encoder_", None)
    kinds = {} if encoder is None else encoder.kinds_
    return [name for name, kind in kinds.items() if kind in TEXT]
