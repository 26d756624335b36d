"""What figures are made of: closed forms against their definitions, and models of every kind."""

from __future__ import annotations

import numpy as np
import pandas as pd
import polars as pl
import pytest
from sklearn.compose import make_column_transformer
from sklearn.datasets import load_iris
from sklearn.linear_model import LogisticRegression
from sklearn.metrics import brier_score_loss, log_loss
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import OneHotEncoder

from torte import MCEClassifier
from torte.errors import InvalidInput
from torte.features import Fourier, Network, Nystroem, Standardize
from torte.inspection import (
    class_colors,
    combined,
    curves,
    evaluate,
    image_shape,
    inspect_model,
    leave_one_out_probabilities,
    movement,
    plan_of,
    relevance,
    reliability,
    surface,
    table,
)
from torte.kernels import Gaussian, Laplacian, Linear, Periodic

X, y = load_iris(return_X_y=True)


@pytest.fixture(scope="module")
def model() -> MCEClassifier:
    return MCEClassifier(random_state=0).fit(X, y)


def given(kernel, rows=X, labels=y, **settings) -> MCEClassifier:
    settings = {"optimizer": None, "regularization": 1e-3, "random_state": 0, **settings}
    return MCEClassifier(kernel, **settings).fit(rows, labels)


def test_reliability_is_its_definition():
    rng = np.random.default_rng(0)
    P = rng.dirichlet(np.ones(4), size=300)
    codes = rng.integers(0, 4, size=300)
    found = reliability(codes, P, n_bins=7)
    error = 0.0
    for low, high, share, stated in zip(
        found.edges[:-1], found.edges[1:], found.accuracy, found.confidence, strict=True
    ):
        inside = [i for i in range(300) if low < P[i].max() <= high]
        if not inside:
            assert np.isnan(share)
            continue
        right = np.mean([P[i].argmax() == codes[i] for i in inside])
        mean = np.mean([P[i].max() for i in inside])
        assert (share, stated) == (pytest.approx(right), pytest.approx(mean))
        error += len(inside) / 300 * abs(right - mean)
    assert found.error == pytest.approx(error)
    assert found.counts.sum() == 300


def test_scores_are_those_of_scikit_learn(model):
    found = evaluate(inspect_model(model), X, y)
    P = model.predict_proba(X)
    assert found.scores.log_loss == pytest.approx(log_loss(y, P))
    assert found.scores.accuracy == model.score(X, y)
    assert found.scores.confusion.sum() == 150
    assert np.trace(found.scores.confusion) == round(150 * model.score(X, y))
    assert found.scores.brier == pytest.approx(np.square(P - np.eye(3)[y]).sum(axis=1).mean())
    two = given(Gaussian(), X[:100], y[:100])
    found = evaluate(inspect_model(two), X[:100], y[:100])
    assert found.scores.brier == pytest.approx(
        2 * brier_score_loss(y[:100], two.predict_proba(X[:100])[:, 1])
    )
    assert evaluate(inspect_model(model), X).scores is None


@pytest.mark.parametrize(
    "kernel",
    [Gaussian(2.0) + 0.1 * Laplacian(3.0), Fourier(Gaussian(2.0), 24), Nystroem(Gaussian(2.0), 20)],
)
def test_leave_one_out_is_fitting_without_the_row(kernel):
    few, labels = X[::5], y[::5]
    whole = given(kernel, few, labels, regularization=0.01)
    inspected = inspect_model(whole)
    found = leave_one_out_probabilities(inspected, inspected.rows(few), labels)
    for i in (0, 12, 29):
        kept = np.arange(30) != i
        # The same map, and the same n lambda.
        without = given(whole.kernel_, few[kept], labels[kept], regularization=0.01 * 30 / 29)
        np.testing.assert_allclose(found[i], without.predict_proba(few[i : i + 1])[0], atol=1e-6)


def test_leave_one_out_is_only_for_the_rows_of_the_model():
    whole = inspect_model(given(Gaussian(2.0)))
    rows = whole.rows(X)
    assert leave_one_out_probabilities(whole, rows, y) is not None
    assert leave_one_out_probabilities(whole, rows, np.roll(y, 1)) is None
    assert leave_one_out_probabilities(whole, rows[:100], y[:100]) is None
    weighted = MCEClassifier(Gaussian(2.0), optimizer=None).fit(X, y, sample_weight=1.0 + y)
    assert leave_one_out_probabilities(inspect_model(weighted), rows, y) is None


def test_relevance_is_spread_in_length_scales():
    kernel = 2.0 * Gaussian((1.0, 2.0, 4.0, 8.0)) + Laplacian((3.0, 1.0)).on(3, 0) * 0.5
    fitted = inspect_model(given(kernel))
    first, second = relevance(fitted)  # from the rows that the model keeps
    np.testing.assert_allclose(first.values, X.std(axis=0) / [1, 2, 4, 8])
    assert (first.name, first.variance, first.in_spreads) == ("Gaussian", 2.0, True)
    np.testing.assert_allclose(second.values, X[:, [3, 0]].std(axis=0) / [3, 1])
    assert (second.columns, second.variance) == ((3, 0), 0.5)
    of_others = relevance(fitted, fitted.rows(X[:50]))[0]
    np.testing.assert_allclose(of_others.values, X[:50].std(axis=0) / [1, 2, 4, 8])
    expected = 2.0 * first.values
    expected[[3, 0]] += 0.5 * second.values
    np.testing.assert_allclose(combined([first, second], 4), expected / 2.5)


def test_relevance_looks_through_standardization_and_no_other_map():
    standardized = relevance(inspect_model(given(Gaussian((1.0,) * 4) @ Standardize())))
    np.testing.assert_allclose(standardized[0].values, 1.0)
    assert relevance(inspect_model(given(Gaussian() @ Network((4,))))) == []
    assert relevance(inspect_model(given(0.1 * Linear()))) == []
    wound = relevance(inspect_model(given(Periodic(1.0, period=9.0))))[0]
    angle = 2 * np.pi * X / 9
    spread = np.sqrt(np.cos(angle).var(axis=0) + np.sin(angle).var(axis=0))
    np.testing.assert_allclose(wound.values, spread)


def test_relevance_of_feature_maps():
    scales = (1.0, 2.0, 4.0, 8.0)
    fourier = inspect_model(given(Fourier(Gaussian(scales), 20)))
    assert not relevance(fourier)[0].in_spreads  # it keeps no rows
    np.testing.assert_allclose(relevance(fourier)[0].values, 1 / np.array(scales))
    np.testing.assert_allclose(
        relevance(fourier, fourier.rows(X))[0].values, X.std(axis=0) / scales
    )
    assert relevance(inspect_model(given(Fourier(Gaussian(2.0), 20)))) == []
    landmarks = Nystroem(Gaussian(scales), landmarks=X[:40])
    kept = relevance(inspect_model(given(landmarks)))[0]
    np.testing.assert_allclose(kept.values, X[:40].std(axis=0) / scales)


@pytest.mark.parametrize(
    "kind", [np.asarray, pd.DataFrame, lambda rows: pl.DataFrame(rows, schema=list("abcd"))]
)
def test_movement_asks_the_model(kind):
    rows = np.random.default_rng(0).normal(size=(80, 4))
    fitted = given(Gaussian(2.0).on(1), rows, rows[:, 1] > 0)
    if kind is not np.asarray:
        frame = kind(rows).rename(columns=str) if kind is pd.DataFrame else kind(rows)
        fitted = given(Gaussian(2.0).on(1), frame, rows[:, 1] > 0)
        rows = frame
    moved = movement(inspect_model(fitted), rows)
    assert moved[1] > 0.2
    assert (moved[[0, 2, 3]] == 0).all()


def test_encoded_columns_keep_the_users_table():
    frame = pd.DataFrame(X, columns=list("abcd"))
    frame["color"] = pd.Categorical(np.where(X[:, 0] > 5.5, "red", "blue"))
    encoder = make_column_transformer((OneHotEncoder(), ["color"]), remainder="passthrough")
    pipeline = make_pipeline(encoder, MCEClassifier(optimizer=None)).fit(frame, y)
    found = inspect_model(pipeline)
    assert found.columns[:2] == ("onehotencoder__color_blue", "onehotencoder__color_red")
    assert found.rows(frame).shape == (150, 6)
    assert movement(found, frame).shape == (5,)
    mapped = surface(found, frame, ["c", "d"], resolution=5)
    assert (mapped.names, mapped.held) == (("c", "d"), 3)


def test_a_surface_is_the_models_prediction(model):
    found = surface(inspect_model(model), X, (2, 0), resolution=9)
    (left, right), (low, high) = found.limits
    assert left < X[:, 2].min() < X[:, 2].max() < right
    row = np.median(X, axis=0)
    row[2], row[0] = np.linspace(left, right, 9)[7], np.linspace(low, high, 9)[2]
    np.testing.assert_allclose(found.probabilities[2, 7], model.predict_proba([row])[0])
    np.testing.assert_allclose(found.entropy[2, 7], model.predict_entropy([row])[0])
    assert found.colors().shape == (9, 9, 3)


@pytest.mark.parametrize("columns", [None, (0,), (0, 0), (0, 9), ("a", "b")])
def test_a_surface_needs_two_columns(model, columns):
    with pytest.raises(InvalidInput, match="`columns` must"):
        surface(inspect_model(model), X, columns)


def test_colors_differ():
    for m in (2, 8, 30):
        colors = class_colors(m)
        assert len(np.unique(colors.round(3), axis=0)) == m
        assert (colors >= 0).all()
        assert (colors <= 1).all()


def test_curves_part_the_runs_of_learning():
    fitted = MCEClassifier(Gaussian(), batch_size=60, random_state=0).fit(X, y)
    found = curves(inspect_model(fitted))
    assert found.starts == (0, 200)  # batches, then all rows
    assert set(found.series) == {"risk", "complexity", "objective"}
    assert found.seconds >= max(record["seconds"] for record in fitted.history_)


def test_a_model_of_sums_has_no_history():
    stream = MCEClassifier(Fourier(Gaussian(2.0), 20), random_state=0)
    stream.partial_fit(X, y, classes=[0, 1, 2])
    found = inspect_model(stream)
    assert found.n_rows == 150
    assert ("training rows", "150") in plan_of(found)
    with pytest.raises(InvalidInput, match="has no history"):
        curves(found)


def test_images_are_recognized_or_told():
    pixels = np.random.default_rng(0).random((20, 64))
    unnamed = inspect_model(given(Gaussian(), pixels, np.arange(20) % 2))
    assert image_shape(unnamed) == (8, 8)
    assert image_shape(unnamed, None) is None
    assert image_shape(unnamed, (4, 16)) == (4, 16)
    named = pd.DataFrame(pixels, columns=[f"gene {i}" for i in range(64)])
    assert image_shape(inspect_model(given(Gaussian(), named, np.arange(20) % 2))) is None
    for wrong in ((3, 3), 8, "square"):
        with pytest.raises(InvalidInput, match="`image_shape` must be"):
            image_shape(unnamed, wrong)


def test_tables_of_any_kind():
    frame = pd.DataFrame(
        {
            "number": [1.0, np.nan, 3.0],
            "whole": pd.array([1, None, 3], dtype="Int64"),
            "text": ["a", None, "b"],
            "day": pd.to_datetime(["2020-01-01", None, "2020-01-03"]),
            "truth": [True, False, True],
        },
        index=["x", "y", "z"],
    )
    found = table(frame)
    assert [c.missing for c in found.columns] == [1, 1, 1, 1, 0]
    assert [c.numbers is not None for c in found.columns] == [True, True, False, False, True]
    assert list(found.index) == ["x", "y", "z"]
    assert [c.name for c in table(pl.DataFrame({"p": [1], "q": ["a"]})).columns] == ["p", "q"]
    assert [c.name for c in table([[1, 2], [3, 4]]).columns] == ["column 0", "column 1"]
    with pytest.raises(InvalidInput, match="distinct names"):
        table(pd.DataFrame(np.eye(2), columns=["a", "a"]))


def test_other_models_are_refused():
    with pytest.raises(InvalidInput, match="must be a fitted MCEClassifier, TableClassifier or"):
        inspect_model(LogisticRegression())


def test_plans_are_told_by_their_fields(model):
    class Stated:
        def __init__(self, **fields):
            self.fields = fields

        def to_dict(self):
            return self.fields

    planned = given(Gaussian(2.0))
    route = {"solver": "cholesky", "precision": "float64", "memory": 2.0**31, "seconds": 12.345}
    planned.plan_ = Stated(solver="cholesky", why="n is small", rank=None, routes=(route,))
    planned.solution_ = Stated(solver="cholesky", seconds=0.25)
    told = plan_of(inspect_model(planned))
    assert ("solver", "cholesky") in told
    assert ("why", "n is small") in told
    assert ("estimate: cholesky (float64)", "2 GiB, 12.3 s") in told
    assert ("solution: seconds", "0.25") in told
    assert "rank" not in dict(told)
