"""From a fitted classifier to a file."""

from __future__ import annotations

import json
import os
from typing import Any

import numpy as np
from sklearn.utils.validation import check_is_fitted

from torte._container import write_atomically
from torte.classifier import MCEClassifier
from torte.embedding import KernelLift
from torte.errors import InvalidInput
from torte.onnx.graph import Graph
from torte.tables import TableClassifier

__all__ = ["export"]

LARGEST = 2**31 - 2**20  # bytes of one protobuf message


def export(
    model: MCEClassifier | TableClassifier,
    path: str | os.PathLike[str],
    *,
    dtype: str | None = None,
) -> None:
    """Write a fitted classifier as one ONNX file; nothing of torte or torch is needed to run it.

    The graph takes ``X`` (n x d, any n) and gives ``label`` (n) and ``probabilities`` (n x m), as
    `predict` and `predict_proba` do; boolean labels are 0 and 1.

    Parameters
    ----------
    model : MCEClassifier or TableClassifier
        With torte's own kernels and feature maps other than `Module`. Of a table's classifier
        ``X`` is what its encoder makes of a table, numbers and then codes: `model.encoded(table)`,
        whose columns the file lists under ``columns`` in its metadata, as JSON.
    path : path of the file
    dtype : "float64", "float32" or None
        Precision of ``X``, of the graph and of its results; None is the model's own. Differences
        of rows and large weights lose digits in float32.

    >>> import tempfile, torte.onnx
    >>> from sklearn.datasets import load_iris
    >>> X, y = load_iris(return_X_y=True)
    >>> model = torte.MCEClassifier(random_state=0).fit(X, y)
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     torte.onnx.export(model, f"{folder}/iris.onnx")
    """
    if isinstance(model, TableClassifier):
        check_is_fitted(model)
        model = model.classifier_
    if not isinstance(model, MCEClassifier):
        raise InvalidInput(
            f"`model` must be a fitted MCEClassifier, got {type(model).__name__}; a TableClassifier may be given too, "
            f"and its graph takes encoded columns, `model.encoded(table)`."
        )
    check_is_fitted(model)
    dtype = model.dtype if dtype is None else dtype
    if dtype not in ("float64", "float32"):
        raise InvalidInput(f"`dtype` must be 'float64', 'float32' or None, got {dtype!r}.")
    embedding, classes = model.embedding_, model.classes_
    graph = Graph(dtype, model.n_features_in_, embedding.weights.new_empty(0).cpu())
    lift = embedding.lift
    if isinstance(lift, KernelLift):
        A = graph.represent(lift.kernel, "X")
        lifted = graph.compare(lift.kernel, A, lift.anchors)
    else:
        lifted = graph.features(lift.features, "X")
    P = graph.op("MatMul", lifted, embedding.weights)
    probabilities = _clip_normalized(graph, P, embedding.epsilon)
    winners = graph.op("ArgMax", probabilities, axis=1, keepdims=0)
    labels, kind = _labels(classes, dtype)
    graph.op("Gather", labels, winners, axis=0, name="label")
    whole = graph.model({"label": (kind, ["n"]), "probabilities": (dtype, ["n", len(classes)])})
    names = getattr(model, "feature_names_in_", None)
    if names is not None:
        listed = json.dumps([str(name) for name in names], ensure_ascii=False)
        whole.metadata_props.add(key="columns", value=listed)
    size = whole.ByteSize()
    if size > LARGEST:
        raise InvalidInput(
            f"`model` takes {size / 2**30:.1f} GiB as ONNX, and one file holds less than 2; fit it with a feature map, or "
            f"give dtype='float32'."
        )
    write_atomically(path, whole.SerializeToString())


def _labels(classes: np.ndarray, dtype: str) -> tuple[np.ndarray, Any]:
    """The classes as ONNX has them, whole numbers, numbers or texts, and their type."""
    if classes.dtype.kind in "iub":
        return classes.astype(np.int64), np.int64
    if classes.dtype.kind == "f":
        return classes.astype(dtype), dtype
    return classes.astype(str).astype(object), str


def _clip_normalized(graph: Graph, P: str, epsilon: float) -> str:
    """`torte.embedding.clip_normalize`: ``p``, or ``epsilon^2 / (2 epsilon - p)`` below epsilon."""
    below = graph.op("Sub", 2 * epsilon, graph.op("Min", P, epsilon))
    tail = graph.op("Div", epsilon**2, below)
    clipped = graph.op("Where", graph.op("GreaterOrEqual", P, epsilon), P, tail)
    return graph.op("Div", clipped, graph.row_sums(clipped), name="probabilities")
