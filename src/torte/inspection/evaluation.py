"""What a model says of a table, and how it did where the labels are known."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from sklearn.metrics import confusion_matrix

from torte._labels import encode_labels
from torte.entropy import clip_normalized_entropy
from torte.inspection.calibration import Reliability, reliability
from torte.inspection.models import Inspected

__all__ = ["Evaluation", "Scores", "evaluate", "judge"]


@dataclass(frozen=True, eq=False)
class Scores:
    """How the predictions of a table did: ``codes`` are the positions of the true classes.

    ``log_loss`` in nats, ``brier`` the mean of ``|p - e_y|^2`` (0 to 2), ``confusion`` counts true
    classes by row and predicted ones by column.
    """

    codes: np.ndarray
    accuracy: float
    log_loss: float
    brier: float
    confusion: np.ndarray
    reliability: Reliability


@dataclass(frozen=True, eq=False)
class Evaluation:
    """Probabilities (n x m), entropies in nats, predicted positions; scores where y was given."""

    probabilities: np.ndarray
    entropy: np.ndarray
    predicted: np.ndarray
    scores: Scores | None


def evaluate(inspected: Inspected, X: Any, y: Any = None) -> Evaluation:
    """Predict a table, and score the predictions where ``y`` is given.

    >>> from sklearn.datasets import load_iris
    >>> from torte import MCEClassifier
    >>> from torte.inspection import evaluate, inspect_model
    >>> X, y = load_iris(return_X_y=True)
    >>> evaluate(inspect_model(MCEClassifier(random_state=0).fit(X, y)), X, y).scores.accuracy > 0.9
    True
    """
    P = inspected.model.predict_proba(X)
    codes = None if y is None else encode_labels(y, len(P), inspected.model.classes_)
    return judge(P, codes)


def judge(P: np.ndarray, codes: np.ndarray | None) -> Evaluation:
    """Probabilities (n x m), scored where the position of each row's class is known.

    >>> import numpy as np
    >>> from torte.inspection import judge
    >>> judge(np.array([[0.75, 0.25], [0.5, 0.5]]), np.array([0, 1])).scores.brier
    0.3125
    """
    predicted, scores = P.argmax(axis=1), None
    if codes is not None:
        own = P[np.arange(len(P)), codes]
        scores = Scores(
            codes,
            float((predicted == codes).mean()),
            float(-np.log(own).mean()),
            float((np.square(P).sum(axis=1) - 2 * own + 1).mean()),
            confusion_matrix(codes, predicted, labels=np.arange(P.shape[1])),
            reliability(codes, P),
        )
    return Evaluation(P, clip_normalized_entropy(P), predicted, scores)
