"""The estimator as its users meet it."""

from __future__ import annotations

import pickle
import signal
import threading
import warnings

import numpy as np
import pandas as pd
import polars as pl
import pytest
import torch
from sklearn.base import clone
from sklearn.model_selection import GridSearchCV, cross_val_score
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.utils.estimator_checks import parametrize_with_checks

import naive
import torte.embedding
from torte import MCEClassifier
from torte.errors import (
    InterruptedWarning,
    InvalidInput,
    JitterWarning,
    MissingClassWarning,
    NoSupremum,
)
from torte.features import Standardize
from torte.kernels import Gaussian, Linear, Matern32, Spectrum
from torte.objectives import CrossValidation, EmpiricalRisk, MedianHeuristic, RademacherBound
from torte.optimizers import LBFGS, Adam

AS_GIVEN = {"kernel": Gaussian(1.3), "regularization": 0.01, "optimizer": None}
PAPER = RademacherBound(tau="4e/n", risk="training", epsilon=1e-15, shrinkage=0.0)


@parametrize_with_checks(
    [
        MCEClassifier(random_state=0),
        MCEClassifier(Gaussian(), objective=PAPER, optimizer=Adam(max_iter=30), random_state=0),
    ]
)
def test_scikit_learn_contract(estimator, check):
    check(estimator)


def test_p_hat_is_the_paper_s_solve(points):
    X, y, Y = (np.asarray(part) for part in points)
    model = MCEClassifier(**AS_GIVEN).fit(X, y)
    K = naive.gram(lambda a, b: naive.gaussian(a, b, (1.3,) * 3), X, X)
    V, P, trace = naive.embedding(K, Y, 0.01)
    np.testing.assert_allclose(model.decision_probabilities(X), P, atol=1e-9)
    new = X[:4] + 0.1
    K_new = naive.gram(lambda a, b: naive.gaussian(a, b, (1.3,) * 3), new, X)
    np.testing.assert_allclose(model.decision_probabilities(new), K_new @ V, atol=1e-9)
    assert model.complexity_ == pytest.approx(np.sqrt(trace))
    assert (model.kernel_, model.regularization_) == (Gaussian(1.3), 0.01)


def test_probabilities_are_probabilities(blobs):
    X, y = blobs
    model = MCEClassifier(random_state=0).fit(X, y)
    far = np.vstack([X, X * 100, -X])
    P = model.predict_proba(far)
    np.testing.assert_allclose(P.sum(axis=1), 1.0, rtol=1e-12)
    assert (P > 0).all()
    assert np.isfinite(model.predict_log_proba(far)).all()
    assert (model.predict(far) == model.classes_[P.argmax(axis=1)]).all()
    raw = model.decision_probabilities(far)
    assert (raw.argmax(axis=1) == P.argmax(axis=1)).all()  # the paper: clipping keeps the winner
    np.testing.assert_allclose(P, naive.clip_normalize(raw, model.objective.epsilon), rtol=1e-9)


def test_blocks_do_not_change_predictions(blobs, monkeypatch):
    X, y = blobs
    model = MCEClassifier(random_state=0).fit(X, y)
    whole = model.decision_probabilities(X)
    monkeypatch.setattr(torte.embedding, "BLOCK", 700)
    np.testing.assert_allclose(model.decision_probabilities(X), whole, atol=1e-12)
    one_by_one = np.vstack([model.decision_probabilities(row[None]) for row in X])
    np.testing.assert_allclose(one_by_one, whole, atol=1e-12)


@pytest.mark.parametrize(
    "labels",
    [["b", "a", "c"], [True, False], [10, -3, 7], [2.0, 1.0], pd.Categorical(["x", "y", "z"])],
    ids=str,
)
def test_labels_of_any_type(blobs, labels):
    X, y = blobs
    wanted = np.asarray(labels)[y % len(labels)]
    model = MCEClassifier(**AS_GIVEN | {"kernel": Gaussian() @ Standardize()}).fit(X, wanted)
    assert list(model.classes_) == sorted(set(wanted.tolist()))
    assert set(model.predict(X)) <= set(wanted.tolist())
    assert model.score(X, wanted) > 0.6


def test_frames_go_in_and_columns_have_names(blobs):
    X, y = blobs
    pandas = pd.DataFrame(X, columns=["age", "fare", "size", "depth"])
    kernel = Gaussian(ard=True).on("fare", "age") * Matern32().on("depth")
    arrays = MCEClassifier(kernel=Gaussian(ard=True).on(1, 0) * Matern32().on(3), random_state=0)
    expected = arrays.fit(X, y).predict_proba(X)
    for frame in (pandas, pl.from_pandas(pandas)):
        model = MCEClassifier(kernel, random_state=0).fit(frame, y)
        np.testing.assert_array_equal(model.feature_names_in_, pandas.columns)
        np.testing.assert_allclose(model.predict_proba(frame), expected)
    with pytest.raises(ValueError, match="feature names should match"):
        model.predict(pandas[["fare", "age", "size", "depth"]])


def test_raw_columns_of_any_scale(blobs):
    X, y = blobs
    scaled = StandardScaler().fit_transform(X)
    raw, standard = (MCEClassifier(random_state=0).fit(T, y) for T in (X, scaled))
    np.testing.assert_allclose(raw.predict_proba(X), standard.predict_proba(scaled), atol=1e-4)


def test_a_seed_gives_the_same_model_twice_and_touches_nothing(blobs):
    X, y = blobs
    np.random.seed(11)
    torch.manual_seed(11)
    before, torch_before = np.random.get_state()[1].copy(), torch.get_rng_state()
    fits = [
        MCEClassifier(Gaussian(), optimizer=Adam(max_iter=20), batch_size=40, random_state=5).fit(
            X, y
        )
        for _ in range(2)
    ]
    assert fits[0].kernel_ == fits[1].kernel_
    np.testing.assert_array_equal(fits[0].predict_proba(X), fits[1].predict_proba(X))
    np.testing.assert_array_equal(np.random.get_state()[1], before)
    assert torch.equal(torch.get_rng_state(), torch_before)


def test_two_rows_are_enough():
    model = MCEClassifier(random_state=0).fit([[0.0], [1.0]], ["a", "b"])
    assert list(model.predict([[0.0], [1.0]])) == ["a", "b"]


def test_constant_columns_and_contradicting_rows_are_borne():
    X = np.c_[np.repeat([0.0, 1.0, 2.0], 8), np.full(24, 7.0)]
    y = np.tile([0, 1, 1, 1], 6)
    model = MCEClassifier(random_state=0).fit(X, y)
    np.testing.assert_allclose(model.predict_proba(X)[:, 1], 0.75, atol=0.1)


def test_learning_lowers_the_objective_and_tells_every_term(blobs):
    X, y = blobs
    model = MCEClassifier(random_state=0).fit(X, y)
    first = model.history_[0]
    assert set(first) == {"risk", "complexity", "objective", "seconds"}
    assert model.objective_value_ < first["objective"]
    assert model.n_iter_ == len(model.history_)
    assert model.kernel_ != model.kernel
    assert model.kernel is None


def test_scores_by_step_on_request(blobs):
    X, y = blobs
    model = MCEClassifier(Gaussian(), optimizer=Adam(max_iter=4), random_state=0)
    model.fit(X[:60], y[:60], monitor=(X[60:], y[60:]))
    last = model.history_[-1]
    assert 0 <= last["test_accuracy"] <= 1
    assert last["test_log_loss"] > 0
    with pytest.raises(ValueError, match=r"y must hold labels of the classes .* got 9 too"):
        model.fit(X, y, monitor=(X[:1], [9]))


@pytest.mark.parametrize(
    "settings",
    [
        {"objective": PAPER},
        {"objective": PAPER, "optimizer": Adam(max_iter=40)},
        {"objective": RademacherBound(tau=0.5, risk="training"), "batch_size": 30},
        {"objective": EmpiricalRisk()},
        {"objective": CrossValidation(folds=3)},
        {"objective": MedianHeuristic(), "regularization": 0.01},
        {"validation_fraction": 0.3, "optimizer": LBFGS()},
        {"batch_size": 40, "validation_fraction": 0.25, "optimizer": Adam(max_iter=40)},
        {"objective": RademacherBound(left_out=20)},
        {"dtype": "float32"},
        {"device": "auto"},
        {"solver": "cholesky"},
    ],
    ids=str,
)
def test_every_way_of_learning_learns(blobs, settings):
    X, y = blobs
    model = MCEClassifier(Gaussian(ard=True) @ Standardize(), random_state=0, **settings)
    with warnings.catch_warnings():
        # Empirical risk alone drives lambda to its floor: that it is announced is tested elsewhere.
        warnings.simplefilter("ignore", JitterWarning)
        assert model.fit(X, y).score(X, y) > 0.7


def test_nothing_is_learned_where_nothing_shall_be(blobs):
    X, y = blobs
    heuristic = MCEClassifier(Gaussian(), objective=MedianHeuristic(), regularization=0.5).fit(X, y)
    distances = np.linalg.norm(X[:, None] - X[None], axis=2)[np.triu_indices(90, 1)]
    assert heuristic.kernel_.length_scale == pytest.approx(np.median(distances), rel=1e-3)
    assert heuristic.regularization_ == 0.5
    as_given = MCEClassifier(2.0 * Gaussian(3.0), optimizer=None).fit(X, y)
    assert as_given.kernel_ == 2.0 * Gaussian(3.0)
    assert len(as_given.history_) == 1


def test_both_entropies_are_their_definitions(blobs):
    X, y = blobs
    model = MCEClassifier(random_state=0).fit(X, y)
    P, raw = model.predict_proba(X), model.decision_probabilities(X)
    np.testing.assert_allclose(model.predict_entropy(X), -(P * np.log(P)).sum(axis=1))
    information = np.where(raw > 0, -np.log(np.where(raw > 0, raw, 1.0)), 0.0)
    got = model.predict_entropy(X, estimator="embedding")
    np.testing.assert_allclose(got, (raw * information).sum(axis=1))
    with pytest.raises(ValueError, match="`estimator` must be 'clip-normalized' or 'embedding'"):
        model.predict_entropy(X, estimator="exact")


def test_expectations_are_inner_products(blobs):
    X, y = blobs
    model = MCEClassifier(random_state=0).fit(X, y * 10)
    raw = model.decision_probabilities(X)
    np.testing.assert_allclose(model.expectation([0.0, 1.0, 0.0], X), raw[:, 1])
    np.testing.assert_allclose(model.expectation(lambda label: label**2, X), raw @ [0, 100, 400])
    with pytest.raises(ValueError, match="`g` must be a function of a label, or hold one number"):
        model.expectation([1.0, 2.0], X)


def test_risk_bound_is_theorem_4(blobs):
    X, y = blobs
    settings = {"regularization": 5.0, "optimizer": None}
    model = MCEClassifier(2.0 * Gaussian() @ Standardize(), **settings).fit(X, y)
    bound = model.risk_bound(confidence=0.9)
    own = model.decision_probabilities(X)[np.arange(90), y]
    assert bound.empirical_risk == pytest.approx(-np.log(np.clip(own, 1e-3, 1)).mean())
    assert bound.complexity == pytest.approx(model.complexity_)
    assert bound.complexity_term == pytest.approx(4 * np.e * bound.complexity)
    assert bound.confidence_term == pytest.approx(np.sqrt(8 / 90 * np.log(2 / 0.1)))
    parts = bound.empirical_risk + bound.complexity_term + bound.confidence_term
    assert bound.total == pytest.approx(parts)
    assert bound.vacuous
    assert "vacuous: the loss it bounds never exceeds 1" in str(bound)
    with pytest.raises(ValueError, match="`confidence` must be a number between 0 and 1, got 95"):
        model.risk_bound(95)


def test_a_bound_needs_a_supremum(blobs):
    X, y = blobs
    model = MCEClassifier(Linear() @ Standardize(), random_state=0).fit(X, y)
    with pytest.raises(NoSupremum, match=r"give `domain=\(low, high\)`"):
        model.risk_bound()
    assert model.risk_bound(domain=(X.min(axis=0), X.max(axis=0))).total > 0


@pytest.mark.parametrize(
    ("domain", "message"),
    [
        (5, r"`domain` must be \(low, high\), each 4 finite numbers, .* got 5"),
        (("a", "b"), r"`domain` must be \(low, high\), .* got \('a', 'b'\)"),
        ((0.0, 1.0), r"`domain` must be \(low, high\), .* got \(0.0, 1.0\)"),
        ((np.zeros(3), np.ones(3)), r"`domain` must be .* each 4 finite numbers, one for each"),
        ((np.zeros(4), [1, 1, np.nan, 1]), r"`domain` must be .* each 4 finite numbers"),
        ((np.zeros(4), np.ones(4), np.ones(4)), r"`domain` must be \(low, high\)"),
        (([0, 0, 3, 0], np.ones(4)), r"low <= high .* got low 3 and high 1 in column 2"),
    ],
)
def test_a_box_has_two_ends(blobs, domain, message):
    X, y = blobs
    model = MCEClassifier(Linear(), optimizer=None).fit(X, y)
    with pytest.raises(InvalidInput, match=message):
        model.risk_bound(domain=domain)


def test_settings_of_the_bound_are_checked(blobs):
    X, y = blobs
    model = MCEClassifier(Gaussian(), optimizer=None).fit(X, y)
    assert model.risk_bound(np.float32(0.5)) == model.risk_bound(0.5)
    for epsilon in (0.5, 0, "a", np.nan):
        with pytest.raises(InvalidInput, match="`epsilon` must be a number between 0 and 1/e"):
            model.risk_bound(epsilon=epsilon)
    strings = MCEClassifier(Spectrum(2), optimizer=None).fit(["ab", "abc", "xyz"], [0, 0, 1])
    with pytest.raises(InvalidInput, match="`domain` must be None where rows of X are objects"):
        strings.risk_bound(domain=([0], [1]))


def test_it_is_at_home_in_scikit_learn(blobs):
    X, y = blobs
    model = MCEClassifier(Gaussian(), optimizer=None, regularization=0.01)
    pipeline = make_pipeline(StandardScaler(), model)
    assert cross_val_score(pipeline, X, y, cv=3).mean() > 0.6
    grid = {"kernel": [Gaussian(s) for s in (0.1, 1.0, 3.0)], "regularization": [0.01, 1.0]}
    search = GridSearchCV(model, grid, cv=3, n_jobs=2).fit(StandardScaler().fit_transform(X), y)
    assert search.best_params_["kernel"] in grid["kernel"]
    assert clone(search.best_estimator_).kernel == search.best_params_["kernel"]


def test_pickled_model_predicts_the_same(blobs):
    X, y = blobs
    model = MCEClassifier(random_state=0).fit(X, y)
    again = pickle.loads(pickle.dumps(model))
    np.testing.assert_array_equal(again.predict_proba(X), model.predict_proba(X))


def test_works_inside_no_grad_and_inference_mode(blobs):
    X, y = blobs
    model = MCEClassifier(Gaussian(), optimizer=LBFGS(max_iter=20), random_state=0)
    expected = model.fit(X, y).kernel_
    with torch.no_grad():
        assert clone(model).fit(X, y).kernel_ == expected
    with torch.inference_mode():
        assert clone(model).fit(X, y).kernel_ == expected


def test_control_c_keeps_the_best_so_far(blobs):
    X, y = blobs
    model = MCEClassifier(Gaussian(), optimizer=Adam(max_iter=100_000), random_state=0)
    threading.Timer(0.5, lambda: signal.raise_signal(signal.SIGINT)).start()
    with pytest.warns(InterruptedWarning, match="the best hyperparameters so far are kept"):
        model.fit(X, y)
    assert model.predict(X).shape == (90,)
    assert model.objective_value_ == min(step["objective"] for step in model.history_)


def test_jitter_is_announced():
    X = np.repeat(np.linspace(0, 1, 10), 8)[:, None]
    y = np.tile([0, 1], 40)
    model = MCEClassifier(Gaussian(5.0), regularization=1e-18, optimizer=None)
    with pytest.warns(JitterWarning, match="more on its diagonal made it so"):
        model.fit(X, y)


def test_classes_missing_from_batches_are_announced(blobs):
    X, y = blobs
    few = np.r_[0:90:3, 1]
    model = MCEClassifier(Gaussian(), optimizer=Adam(max_iter=3), batch_size=10, random_state=0)
    with pytest.warns(MissingClassWarning, match="leaves most batches without a row of the rarest"):
        model.fit(X[few], y[few])


def test_progress_is_shown_on_request_only(blobs, capsys):
    X, y = blobs
    settings = {"kernel": Gaussian(), "optimizer": Adam(max_iter=20), "random_state": 0}
    MCEClassifier(**settings).fit(X, y)
    assert capsys.readouterr() == ("", "")
    MCEClassifier(**settings, verbose=1).fit(X, y)
    shown = capsys.readouterr()
    assert shown.out == ""
    assert "learning 20/20  objective" in shown.err
