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


def _same(X: Any) -> Any:
    return X


def _names(encoder: Any, engine: MCEClassifier) -> Any:
    if engine.kernel_.takes in ("objects", "pairs"):
        return ()  # rows without columns
    numbered = [f"column {i}" for i in range(engine.n_features_in_)]
    if encoder is None:
        return getattr(engine, "feature_names_in_", numbered)
    try:
        return encoder.get_feature_names_out()
    except AttributeError:  # scikit-learn's word for a transformer that has no names to give
        return numbered


def inspect_model(model: Any) -> Inspected:
    """An `MCEClassifier`, a `TableClassifier`, or a pipeline that ends in an `MCEClassifier`.

    >>> from sklearn.datasets import load_iris
    >>> from torte import MCEClassifier
    >>> from torte.inspection import inspect_model
    >>> inspect_model(MCEClassifier(random_state=0).fit(*load_iris(return_X_y=True))).columns
    ('column 0', 'column 1', 'column 2', 'column 3')
    """
    if isinstance(model, TableClassifier):
        check_is_fitted(model)
        columns = tuple(map(str, model.encoder_.get_feature_names_out()))
        return Inspected(model, model.classifier_, columns, model.encoded)
    piped = isinstance(model, Pipeline)
    engine = model[-1] if piped else model
    if not isinstance(engine, MCEClassifier):
        raise InvalidInput(
            f"`estimator` must be a fitted MCEClassifier, TableClassifier or a pipeline that ends in an MCEClassifier, got "
            f"{type(model).__name__}; of a search give its `best_estimator_`."
        )
    check_is_fitted(engine)
    encoder = model[:-1] if piped and len(model) > 1 else None
    encode = _same if encoder is None else encoder.transform
    return Inspected(model, engine, tuple(map(str, _names(encoder, engine))), encode)
