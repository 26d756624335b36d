"""A fitted model as the figures see it: who predicts, who learned, and the columns' names."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
from sklearn.pipeline import Pipeline
from sklearn.utils.validation import check_is_fitted

from torte._arrays import admit_rows
from torte.classifier import MCEClassifier
from torte.errors import InvalidInput

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
        """Rows that the model was fitted on; None where only their sums were kept."""
        own = self.engine._own_probabilities
        return None if own is None else len(own)

    def rows(self, X: Any) -> np.ndarray:
        """A user's table as the numbers that the kernel sees (n x d)."""
        return admit_rows(self.engine, self.encode(X), self.engine.dtype, reset=False)


def _same(X: Any) -> Any:
    return X


def inspect_model(model: Any) -> Inspected:
    """An `MCEClassifier`, a pipeline that ends in one, or a model with ``encoder_`` and ``classifier_``.

    >>> from sklearn.datasets import load_iris
    >>> from torte import MCEClassifier
    >>> from torte.inspection import inspect_model
    >>> inspect_model(MCEClassifier(random_state=0).fit(*load_iris(return_X_y=True))).columns
    ('column 0', 'column 1', 'column 2', 'column 3')
    """
    encoder = None
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
        names = [f"column {i}" for i in range(engine.n_features_in_)]
    encode = _same if encoder is None else encoder.transform
    return Inspected(model, engine, tuple(map(str, names)), encode)
