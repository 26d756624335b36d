"""A model at work on the pieces of a table, counting what it meets."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from torte.cli.models import columns_of, measured_columns, text_columns
from torte.entropy import clip_normalized_entropy
from torte.errors import InvalidInput
from torte.tabular import as_frame

if TYPE_CHECKING:
    import pyarrow as pa

__all__ = ["Predictor"]


class Predictor:
    """Predicts batch after batch: label, probabilities and entropy of every row.

    ``columns`` are those to read: the model's, and ``keep``, which are copied as they are.
    ``labels`` counts what was predicted, ``unseen`` by column the cells of unknown levels.
    """

    def __init__(self, model: Any, keep: Sequence[str] = ()):
        self.model, self.keep = model, list(dict.fromkeys(keep))
        self.labels: Counter[Any] = Counter()
        self.unseen: Counter[str] = Counter()
        self._wanted = columns_of(model)
        self._text, self._measured = text_columns(model), measured_columns(model)
        own = ["prediction", *self._probability_names(), "entropy"]
        clash = [name for name in self.keep if name in own]
        if clash:
            raise InvalidInput(
                f"`--keep` cannot copy the column {clash[0]!r}, for the predictions have one of that name; rename it."
            )

    @property
    def columns(self) -> list[str] | None:
        """What to read of a table; None is all of it, for a model that knows no names."""
        if self._wanted is None:
            return None
        return list(dict.fromkeys([*self._wanted, *self.keep]))

    @property
    def rows(self) -> int:
        """How many rows were predicted."""
        return self.labels.total()

    def _probability_names(self) -> list[str]:
        return [f"probability_{label}" for label in self.model.classes_.tolist()]

    def __call__(self, batch: pa.RecordBatch, *, typed: bool) -> pa.Table:
        """The predictions for a batch; ``typed`` where types must be found in texts."""
        measured = self._measured if self._wanted is not None else batch.schema.names
        frame = as_frame(batch, typed=typed, text=self._text, measured=measured)
        if self._wanted is not None:
            X = frame[self._wanted]
        else:
            X = frame.drop(columns=self.keep).to_numpy()
            if X.shape[1] != self.model.n_features_in_:
                raise InvalidInput(
                    f"the model was fitted on {self.model.n_features_in_} columns without names, and the table has "
                    f"{X.shape[1]}; give one with just those columns, in that order."
                )
        encoder = getattr(self.model, "encoder_", None)
        if encoder is not None:
            self.unseen.update(encoder.unseen(X))
        return self._table(batch, self.model.predict_proba(X))

    def nothing(self) -> pa.Table:
        """The predictions for no rows: column names and types alone."""
        import pyarrow as pa

        empty = pa.record_batch({name: pa.array([], pa.string()) for name in self.keep})
        return self._table(empty, np.zeros((0, len(self.model.classes_))))

    def _table(self, batch: pa.RecordBatch, P: np.ndarray) -> pa.Table:
        import pyarrow as pa

        winners = P.argmax(axis=1)
        classes = self.model.classes_
        times = np.bincount(winners, minlength=len(classes)).tolist()
        self.labels.update(dict(zip(classes.tolist(), times, strict=True)))
        columns = {name: batch.column(name) for name in self.keep}
        columns["prediction"] = pa.array(classes[winners].tolist(), _arrow_type(classes))
        for name, probabilities in zip(self._probability_names(), P.T, strict=True):
            columns[name] = pa.array(np.ascontiguousarray(probabilities))
        columns["entropy"] = pa.array(clip_normalized_entropy(P))
        return pa.table(columns)


def _arrow_type(classes: np.ndarray) -> Any:
    import pyarrow as pa

    kind = pa.array(classes.tolist()).type
    return pa.string() if pa.types.is_null(kind) else kind
