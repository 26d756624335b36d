"""What a partition is asked in prediction, and the form of the answer."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
import pandas as pd

from torte.classifier import MCEClassifier
from torte.streams.rows import located

__all__ = ["Question", "of_frame"]


class Question(NamedTuple):
    """A method of the model, its options, and what it gives for no rows."""

    method: str
    options: dict[str, Any]
    empty: np.ndarray

    def of(self, model: MCEClassifier, where: str, X: Any) -> np.ndarray:
        """The answer for the rows of one partition."""
        if not len(X):
            return self.empty
        with located(where):
            return getattr(model, self.method)(X=X, **self.options)

    def framed(self, values: np.ndarray, classes: np.ndarray, index: Any) -> Any:
        """One number or label a row as a series, probabilities as a frame with a column for each class."""
        if values.ndim == 1:
            names = {"predict": "prediction", "predict_entropy": "entropy"}
            return pd.Series(values, index=index, name=names.get(self.method, self.method))
        return pd.DataFrame(values, index=index, columns=classes)


def _of_block(X: Any, model: MCEClassifier, ask: Question, block_id: tuple[int, ...]) -> np.ndarray:
    return ask.of(model, f"partition {block_id[0]}", X)


def of_frame(where: str, X: Any, model: MCEClassifier, ask: Question) -> Any:
    return ask.framed(ask.of(model, where, X), model.classes_, X.index)
