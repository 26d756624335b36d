"""ONNX files give in onnxruntime what the model gives in torch."""

from __future__ import annotations

import json
import sys

import numpy as np
import onnx
import onnxruntime
import pandas as pd
import pytest
from sklearn.exceptions import NotFittedError
from torch import nn

import torte.onnx
from torte import MCEClassifier, TableClassifier
from torte.errors import InvalidInput
from torte.features import Fourier, Module, Network, Nystroem, Polynomials, Standardize
from torte.kernels import (
    Categories,
    Constant,
    Gaussian,
    Laplacian,
    Linear,
    Matern12,
    Matern32,
    Matern52,
    Periodic,
    Polynomial,
    RationalQuadratic,
)
from torte.onnx.graph import _COMPARES
from torte.optimizers import Adam

MODELS = [
    None,
    Gaussian(),
    Gaussian(ard=True) + Matern12().on(0),
    Matern32(ard=True) * 2.0 + Matern12(),
    Matern52(),
    RationalQuadratic(),
    Laplacian(),
    Periodic(1.0, period=3.0, ard=True).on(3, 1) + Periodic(period=2.0).on(2),
    Linear() + 0.1,
    Polynomial(3, coef0=0.5),
    (Gaussian() + 0.2).fix() ** 2 * Linear().on(1, 3),
    Constant(1.0),
    Gaussian(1.0).fix() @ Standardize(),
    Gaussian() @ Network((5, 3), activation="gelu"),
    (Linear() @ Polynomials(2)).on(0, 2) + Gaussian() @ Nystroem(Linear(), n_components=3),
    Fourier(Gaussian(ard=True) * Matern32() + 0.5 * Laplacian().on(1) + 0.1, n_components=60),
    Fourier(Periodic(1.0, period=4.0), n_components=40),
    Nystroem(Gaussian() + Matern12(), n_components=30),
    Polynomials(2),
    Polynomials(3, coef0=0.0),
    Network((6, 3)),
    Network((6, 3), activation="relu", initialization="truncated-normal"),
    Network((6,), activation="silu", standardize=False),
    Standardize(),
]


@pytest.fixture(scope="module")
def data():
    rng = np.random.default_rng(0)
    y = np.arange(120) % 3
    X = rng.normal(size=(120, 4)) + 1.5 * np.eye(3, 4)[y]
    return X, np.array(["low", "middle", "high"])[y], rng.normal(size=(57, 4)) * 1.5


def run(path, X, dtype):
    onnx.checker.check_model(path, full_check=True)
    session = onnxruntime.InferenceSession(path, providers=["CPUExecutionProvider"])
    return session.run(["label", "probabilities"], {"X": X.astype(dtype)})


@pytest.mark.parametrize("precision", ["float64", "float32"])
@pytest.mark.parametrize("kernel", MODELS, ids=repr)
def test_onnxruntime_agrees(kernel, precision, data, tmp_path):
    X, y, unseen = data
    model = MCEClassifier(kernel, dtype=precision, optimizer=Adam(max_iter=3), random_state=0)
    model.fit(X, y)
    rows = np.concatenate([unseen, X[:5]]).astype(precision)
    for dtype in ("float64", "float32"):
        torte.onnx.export(model, tmp_path / "model.onnx", dtype=dtype)
        labels, P = run(tmp_path / "model.onnx", rows, dtype)
        expected = model.predict_proba(rows)
        assert P.dtype == dtype
        # In double precision throughout, all but the error function (gelu) agrees to rounding.
        double = precision == dtype == "float64" and "gelu" not in repr(kernel)
        np.testing.assert_allclose(P, expected, rtol=0, atol=1e-9 if double else 1e-5)
        top = np.sort(expected, axis=1)
        clear = top[:, -1] - top[:, -2] > 1e-4
        assert clear.any() or isinstance(kernel, Constant)
        assert (labels == model.predict(rows))[clear].all()


@pytest.mark.parametrize("classes", [[3, 7, 9], [False, True], ["ä", "b"], [0.0, 2.0]], ids=str)
def test_labels_of_any_kind_and_any_number_of_rows(classes, data, tmp_path):
    X, _, unseen = data
    y = np.array(classes)[np.arange(len(X)) % len(classes)]
    model = MCEClassifier(Gaussian(), optimizer=None).fit(X, y)
    torte.onnx.export(model, tmp_path / "model.onnx")
    for n in (1, 57):
        labels, P = run(tmp_path / "model.onnx", unseen[:n], "float64")
        assert labels.tolist() == model.predict(unseen[:n]).tolist()
        assert P.shape == (n, len(classes))


CODES = [
    Categories(),
    Categories((0.3, 0.6, 0.9)),
    Gaussian(ard=True).on(0, 1) * Categories().on(2, 3, 4) + 0.1 * Categories(0.5).on(3),
    Nystroem(Laplacian().on(0, 1) * Categories().on(2, 3), n_components=20),
]


@pytest.mark.parametrize("kernel", CODES, ids=repr)
def test_categories_agree(kernel, data, tmp_path):
    rng = np.random.default_rng(0)
    codes = rng.integers(0, 4, (120, 3)).astype(float)
    X = codes if type(kernel) is Categories else np.hstack([data[0][:, :2], codes])
    model = MCEClassifier(kernel, optimizer=Adam(max_iter=3), random_state=0).fit(X, data[1])
    rows = X[:40].copy()
    rows[::3, -1] = -1.0  # a level that nobody saw
    rows[1::3, -2] = 77.0
    for dtype in ("float64", "float32"):
        torte.onnx.export(model, tmp_path / "model.onnx", dtype=dtype)
        _, P = run(tmp_path / "model.onnx", rows, dtype)
        expected = model.predict_proba(rows)
        np.testing.assert_allclose(P, expected, rtol=0, atol=1e-9 if dtype == "float64" else 1e-5)


def test_the_classifier_of_a_table_takes_its_encoded_columns(tmp_path):
    rng = np.random.default_rng(0)
    color = rng.choice(["red", "blue", "green"], 90)
    size = rng.normal(size=90) + (color == "red")
    frame = pd.DataFrame({"color": color, "size": np.where(rng.random(90) < 0.1, np.nan, size)})
    model = TableClassifier(random_state=0).fit(frame, np.where(size > 0.3, "large", "small"))
    path = tmp_path / "model.onnx"
    torte.onnx.export(model, path)
    new = frame[::-1].assign(color=np.where(np.arange(90) % 5 == 0, "mauve", color))
    labels, P = run(path, model.encoded(new).to_numpy(), "float64")
    np.testing.assert_allclose(P, model.predict_proba(new), rtol=0, atol=1e-9)
    assert labels.tolist() == model.predict(new).tolist()
    notes = {entry.key: entry.value for entry in onnx.load(path).metadata_props}
    assert json.loads(notes["columns"]) == ["size", "color", "size is missing"]
    with pytest.raises(InvalidInput, match=r"a TableClassifier may be given too, .*encoded\(table"):
        torte.onnx.export(model.encoder_, path)


def test_a_pipe_gets_the_graph_and_stays_a_pipe(data, pipe):
    X, y, _ = data
    path, received = pipe
    torte.onnx.export(MCEClassifier(Gaussian(), optimizer=None).fit(X, y), path)
    onnx.checker.check_model(onnx.load_model_from_string(received()))


class Rooted(Gaussian):
    """A kernel of one's own: not a Gaussian in every way."""


def test_a_kernel_of_your_own_joins_with_a_function(data, tmp_path, monkeypatch):
    X, y, unseen = data
    model = MCEClassifier(Rooted(2.0), optimizer=None).fit(X, y)
    with pytest.raises(InvalidInput, match=r"holds Rooted, which cannot .* torte.onnx.compares\(R"):
        torte.onnx.export(model, tmp_path / "model.onnx")
    assert not list(tmp_path.iterdir())
    monkeypatch.setitem(_COMPARES, Rooted, None)  # taken out again at the end

    @torte.onnx.compares(Rooted)
    def rooted(graph, kernel, A, anchors):
        return graph.compare(Gaussian(), graph.op("Div", A, np.full(4, 2.0)), anchors)

    torte.onnx.export(model, tmp_path / "model.onnx")
    _, P = run(tmp_path / "model.onnx", unseen, "float64")
    np.testing.assert_allclose(P, model.predict_proba(unseen), atol=1e-12)


def test_what_cannot_be_exported_is_named(data, tmp_path, monkeypatch):
    X, y, _ = data
    path = tmp_path / "model.onnx"
    with pytest.raises(NotFittedError):
        torte.onnx.export(MCEClassifier(), path)
    with pytest.raises(InvalidInput, match="`model` must be a fitted MCEClassifier, got Gaussian"):
        torte.onnx.export(Gaussian(), path)
    model = MCEClassifier(Module(lambda: nn.Linear(4, 3)), optimizer=None).fit(X, y)
    with pytest.raises(
        InvalidInput, match=r"holds Module, .* known are Fourier, Network, Nystroem"
    ):
        torte.onnx.export(model, path)
    model = MCEClassifier(Gaussian(), optimizer=None).fit(X, y)
    with pytest.raises(InvalidInput, match="`dtype` must be 'float64', 'float32' or None"):
        torte.onnx.export(model, path, dtype="float16")
    monkeypatch.setattr(sys.modules["torte.onnx.models"], "LARGEST", 1000)
    with pytest.raises(InvalidInput, match="GiB as ONNX, and one file holds less than 2"):
        torte.onnx.export(model, path)
    monkeypatch.setitem(sys.modules, "onnx", None)
    with pytest.raises(ImportError, match=r"needs the library onnx; .* 'torte\[onnx\]'"):
        torte.onnx.export(model, path)
    assert not list(tmp_path.iterdir())
