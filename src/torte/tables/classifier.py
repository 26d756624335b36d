"""A classifier of tables as they come: an encoder, and a kernel made for the columns it found."""

from __future__ import annotations

import os
from typing import Any, Self

import numpy as np
from sklearn.base import BaseEstimator, ClassifierMixin, clone
from sklearn.utils.validation import check_is_fitted

from torte import persistence
from torte._models import savable_estimator
from torte.classifier import MCEClassifier
from torte.errors import InvalidInput
from torte.kernels import Categories, Kernel, Laplacian
from torte.plans import DEFAULT_KERNEL
from torte.tables.encoder import TableEncoder
from torte.tables.frames import pandas

__all__ = ["TableClassifier", "kernel_of_columns"]


def kernel_of_columns(numeric: int, codes: int) -> Kernel:
    """The default kernel of a matrix whose first columns are numbers and whose others are codes.

    Numbers alone have the default of `MCEClassifier`. Beside codes they have a Laplacian: with
    the similarities of codes it is one product over all columns, each of which may differ at
    its own price (measured in docs/tables.md).

    >>> from torte.tables.classifier import kernel_of_columns
    >>> kernel_of_columns(1, 2)
    Laplacian(ard=True).on(0) * Categories(similarity=None).on(1, 2)
    """
    if not codes:
        return DEFAULT_KERNEL
    if not numeric:
        return Categories()
    measured = Laplacian(ard=True).on(*range(numeric))
    return measured * Categories().on(*range(numeric, numeric + codes))


class TableClassifier(ClassifierMixin, BaseEstimator):
    """`MCEClassifier` on data frames of mixed, incomplete columns.

    A `TableEncoder` finds the kinds of columns and makes numbers of them; the kernel is a
    product over columns, with a learned length scale for each number and a learned
    similarity for each category.

    Parameters
    ----------
    estimator : MCEClassifier or None
        Its settings are those of the classifier. A kernel given there is used as it is on the
        encoded columns, which have the names of `TableEncoder.get_feature_names_out`.
    encoder : TableEncoder or None
        How columns are encoded.
    random_state : int, RandomState, Generator or None
        Of the classifier, where ``estimator`` is None.

    Attributes
    ----------
    encoder_, classifier_
        The fitted encoder and classifier.
    kernel_, classes_
        Those of the classifier.
    feature_names_in_, n_features_in_
        The columns of the table.

    Examples
    --------
    >>> import pandas as pd
    >>> from torte.tables import TableClassifier
    >>> frame = pd.DataFrame({"size": [1.0, 2.0, 9.0, None] * 5, "color": ["red", "blue"] * 10})
    >>> target = ["small", "small", "large", "large"] * 5
    >>> model = TableClassifier(random_state=0).fit(frame, target)
    >>> model.predict(frame[["color", "size"]][:4]).tolist()
    ['small', 'small', 'large', 'large']
    """

    def __init__(
        self,
        estimator: MCEClassifier | None = None,
        *,
        encoder: TableEncoder | None = None,
        random_state: Any = None,
    ):
        self.estimator = estimator
        self.encoder = encoder
        self.random_state = random_state

    def fit(
        self,
        X: Any,
        y: Any,
        sample_weight: Any = None,
        *,
        monitor: tuple[Any, Any] | None = None,
    ) -> Self:
        """Encode the columns, learn the kernel, condition the embedding on all rows.

        Labels, weights and ``monitor`` are those of `MCEClassifier.fit`.
        """
        if self.estimator is not None and not isinstance(self.estimator, MCEClassifier):
            raise InvalidInput(
                f"`estimator` must be an MCEClassifier or None, got {self.estimator!r}."
            )
        if self.encoder is not None and not isinstance(self.encoder, TableEncoder):
            raise InvalidInput(f"`encoder` must be a TableEncoder or None, got {self.encoder!r}.")
        encoder = TableEncoder() if self.encoder is None else clone(self.encoder)
        self.encoder_ = encoder.fit(X)
        if self.estimator is None:
            classifier = MCEClassifier(random_state=self.random_state)
        else:
            classifier = clone(self.estimator)
        if classifier.kernel is None:
            numeric, codes = len(encoder.numeric_names_), len(encoder.code_names_)
            classifier.set_params(kernel=kernel_of_columns(numeric, codes))
        judged = None if monitor is None else (self.encoded(monitor[0]), monitor[1])
        self.classifier_ = classifier.fit(self.encoded(X), y, sample_weight, monitor=judged)
        self.feature_names_in_, self.n_features_in_ = (
            encoder.feature_names_in_,
            encoder.n_features_in_,
        )
        return self

    def encoded(self, X: Any) -> Any:
        """The table as the classifier takes it: a data frame of numbers and codes."""
        encoder = self.encoder_
        return pandas().DataFrame(encoder.transform(X), columns=encoder.get_feature_names_out())

    @property
    def _fitted(self) -> MCEClassifier:
        check_is_fitted(self)
        return self.classifier_

    @property
    def classes_(self) -> np.ndarray:
        """The labels, sorted."""
        return self.classifier_.classes_

    @property
    def kernel_(self) -> Any:
        """What was learned, on the encoded columns."""
        return self.classifier_.kernel_

    def unseen(self, X: Any) -> dict[str, int]:
        """How many cells of which columns hold categories that were not there in `fit`."""
        check_is_fitted(self)
        return self.encoder_.unseen(X)

    def predict(self, X: Any) -> np.ndarray:
        """The most probable class of each row."""
        return self._fitted.predict(self.encoded(X))

    def predict_proba(self, X: Any) -> np.ndarray:
        """Clip-normalized probabilities (n x m)."""
        return self._fitted.predict_proba(self.encoded(X))

    def predict_log_proba(self, X: Any) -> np.ndarray:
        """The logarithm of `predict_proba` (n x m), always finite."""
        return self._fitted.predict_log_proba(self.encoded(X))

    def decision_function(self, X: Any) -> np.ndarray:
        """Scores in scikit-learn's shapes: `MCEClassifier.decision_function`."""
        return self._fitted.decision_function(self.encoded(X))

    def decision_probabilities(self, X: Any) -> np.ndarray:
        """The raw ``p_hat`` (n x m), neither clipped nor normalized."""
        return self._fitted.decision_probabilities(self.encoded(X))

    def predict_entropy(self, X: Any, estimator: str = "clip-normalized") -> np.ndarray:
        """Entropy of the label in nats (n numbers)."""
        return self._fitted.predict_entropy(self.encoded(X), estimator)

    def save(self, path: str | os.PathLike[str]) -> None:
        """Store the fitted model, its encoder included, in one file; `torte.load` reads it."""
        check_is_fitted(self)
        persistence.save(self, path)


def _check(model: TableClassifier) -> None:
    """Raise unless what was read from a file can predict: a row of missing cells, here."""
    if not isinstance(model.encoder_, TableEncoder) or not isinstance(
        model.classifier_, MCEClassifier
    ):
        raise InvalidInput("it lacks a fitted encoder or classifier")
    names = model.encoder_.feature_names_in_.tolist()
    if model.feature_names_in_.tolist() != names or model.n_features_in_ != len(names):
        raise InvalidInput("its columns are not those of its encoder")
    target = getattr(model, "target_name_", None)  # the command line notes it
    if target is not None and not isinstance(target, str):
        raise InvalidInput(f"its target is named by a {type(target).__name__}")
    row = pandas().DataFrame([dict.fromkeys(names)])
    model.predict_proba(row)
    model.unseen(row)


savable_estimator(TableClassifier, _check)
