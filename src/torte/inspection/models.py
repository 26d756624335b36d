"""A fitted model as the figures see it: who predicts, who learned, and the columns' names."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from sklearn.pipeline import Pipeline
from sklearn.utils.validation import check_is_fitted

from torte._arrays import admit_any
from torte.classifier import MCEClassifier
from torte.errors import InvalidInput
from torte.tables import TableClassifier

__all__ = ["Inspected", "inspect_model"]


@dataclass(frozen=True)
class Inspected:
    """``model`` takes the user's tables; ``engine`` is the `MCEClassifier` inside it.

    ``columns`` are the names of the columns that the kernel sees, ``encode`` makes those
    columns of a user's table.
    """

    model: Any
    engine: MCEClassifier
    columns: tuple[str, ...]
    encode: Callable[[Any], Any]

    @property
    def n_rows(self) -> int | None:
        """Rows that the model was fitted on, by their weights; None where that was not kept."""
        if self.engine._own_probabilities is not None:
            return round(float(self.engine._own_weights.sum()))
        statistics = self.engine._statistics
        return None if statistics is None else round(statistics.count)

    @property
    def history(self) -> list[dict[str, float]]:
        """One record a step of learning; empty after partial_fit alone, which learns weights only."""
        return getattr(self.engine, "history_", [])

    @property
    def takes(self) -> str:
        """What one row is: "vectors" of numbers, "records" of a frame, "objects", or "pairs"."""
        takes = self.engine.kernel_.takes
        return "vectors" if takes == "columns" else takes

    def rows(self, X: Any) -> Any:
        """A user's table as the kernel takes it; of vectors a tensor (n x d)."""
        device = self.engine.embedding_.weights.device
        return admit_any(self.engine, self.encode(X), self.takes, device, reset=False)


def _encode(encoder: Any, engine: MCEClassifier) -> Callable[[Any], Any]:
    """From a user's table to the engine's: with names where the engine was given names."""
    names = getattr(engine, "feature_names_in_", None)

    def encode(X: Any) -> Any:
        if encoder is None:
            return X
        encoded = encoder.transform(X)
        if names is None or hasattr(encoded, "columns"):
            return encoded
        import pandas as pd  # the encoder that gave names to an array has imported it

        return pd.DataFrame(encoded, columns=names)

    return encode


def inspect_model(model: Any) -> Inspected:
    """An `MCEClassifier`, a pipeline that ends in one, or a model with ``encoder_`` and ``classifier_``.

    >>> from sklearn.datasets import load_iris
    >>> from torte import MCEClassifier
    >>> from torte.inspection import inspect_model
    >>> inspect_model(MCEClassifier(random_state=0).fit(*load_iris(return_X_y=True))).columns
    ('column 0', 'column 1', 'column 2', 'column 3')
    """
    encoder = None
    if isinstance(model, TableClassifier):
        check_is_fitted(model)
        columns = tuple(map(str, model.encoder_.get_feature_names_out()))
        return Inspected(model, model.classifier_, columns, model.encoded)
    if isinstance(model, Pipeline):
        encoder, engine = (model[:-1] if len(model) > 1 else None), model[-1]
    else:
        engine = getattr(model, "classifier_", model)
        encoder = getattr(model, "encoder_", None)
    if not isinstance(engine, MCEClassifier):
        raise InvalidInput(
            f"`estimator` must be a fitted MCEClassifier, TableClassifier or a pipeline that ends in one, got "
            f"{type(model).__name__}; of a search give its `best_estimator_`."
        )
    check_is_fitted(engine)
    names = getattr(engine, "feature_names_in_", None)
    if names is None and encoder is not None and len(encoder.get_feature_names_out()):
        names = encoder.get_feature_names_out()
    if names is None:
        plain = engine.kernel_.takes in ("objects", "pairs")  # rows without columns
        names = [] if plain else [f"column {i}" for i in range(engine.n_features_in_)]
    return Inspected(model, engine, tuple(map(str, names)), _encode(encoder, engine))
