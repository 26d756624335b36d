"""Weights of rows and classes, and soft labels: a row of weight 2 is a row given twice."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest
import torch

import naive
import torte.embedding
from laws import KERNELS
from torte import MCEClassifier
from torte._weights import diagonal_shift, one_copy, resampled
from torte.conditioning import Description, condition
from torte.errors import InvalidInput
from torte.features import Fourier, Nystroem
from torte.kernels import Gaussian, Laplacian, Linear
from torte.learning import Plan, Problem
from torte.objectives import CrossValidation, EmpiricalRisk, RademacherBound
from torte.optimizers import LBFGS, Adam

KERNEL = 1.7 * Gaussian((0.8, 1.1, 1.6)) + 0.2
RISKS = {
    "training": (RademacherBound(tau="4e/n", risk="training", epsilon=1e-15), {}),
    "leave-one-out": (RademacherBound(tau=0.3, epsilon=0.02, shrinkage=0.5), {}),
    "leave-some-out": (RademacherBound(tau=0.3, epsilon=0.02), {"left_out": 7}),
    "validation": (RademacherBound(tau=0.1, risk="training"), {"validation_fraction": 0.3}),
    "empirical": (EmpiricalRisk(), {}),
    "cross-validation": (CrossValidation(folds=3), {}),
}


@pytest.fixture
def weighted(points):
    """Rows, one-hot labels, whole weights, and the same rows repeated."""
    X, _, Y = points
    w = 1.0 + torch.arange(23, dtype=torch.float64) % 4
    return X, Y, w, torch.repeat_interleave(torch.arange(23), w.long())


def problem(kernel, X, Y, weights, risk, regularization=0.05):
    objective, settings = RISKS[risk]
    return Problem(
        Description(kernel, regularization),
        X,
        Y,
        objective,
        Plan(LBFGS(), **settings),
        torch.Generator().manual_seed(1),
        weights=weights,
    )


@pytest.mark.parametrize("risk", ["training", "leave-one-out", "empirical"])
@pytest.mark.parametrize(
    "kernel",
    [KERNEL, Linear() + 0.3, Fourier(Gaussian(1.0), 9), Nystroem(Gaussian(1.0), 9)],
    ids=repr,
)
def test_a_weight_of_two_is_a_row_given_twice_in_learning(kernel, risk, weighted):
    X, Y, w, again = weighted
    kernel = kernel.prepare(X, None, torch.Generator().manual_seed(0))
    once = problem(kernel, X, Y, w, risk)
    repeated = problem(kernel, X[again], Y[again], None, risk)
    at = once.parameters.start + 0.1
    value, gradient = once.evaluate(at)
    expected, expected_gradient = repeated.evaluate(at)
    assert once.history[0]["complexity"] == pytest.approx(repeated.history[0]["complexity"])
    assert value == pytest.approx(expected, rel=1e-10)
    np.testing.assert_allclose(gradient, expected_gradient, rtol=1e-7, atol=1e-10)


@pytest.mark.parametrize("kernel", [KERNEL, Fourier(Gaussian(1.0), 9)], ids=repr)
def test_a_weight_of_two_is_a_row_given_twice_in_conditioning(kernel, weighted):
    X, Y, w, again = weighted
    kernel = kernel.prepare(X, None, torch.Generator().manual_seed(0))
    once = condition(Description(kernel, 0.05), X, Y, 1e-3, w)
    repeated = condition(Description(kernel, 0.05), X[again], Y[again], 1e-3)
    new = X + 0.2
    torch.testing.assert_close(
        once.embedding.decision_probabilities(new), repeated.embedding.decision_probabilities(new)
    )
    torch.testing.assert_close(once.P[again], repeated.P)
    assert once.squared_norm == pytest.approx(repeated.squared_norm)


def test_leaving_one_copy_out_is_its_definition(points):
    X, _, Y = points
    w = torch.tensor([0.4, 1.0, 2.5], dtype=torch.float64)[torch.arange(23) % 3]
    got = problem(KERNEL, X, Y, w, "leave-one-out").objective
    n, K = float(w.sum()), KERNEL.gram(X).numpy()
    P = np.zeros_like(Y.numpy())
    for i in range(23):
        left = w.numpy().copy()
        left[i] = max(left[i] - 1.0, 0.0)
        rest = left > 0
        A = K[np.ix_(rest, rest)] + np.diag(n * 0.05 / left[rest])
        P[i] = K[i, rest] @ np.linalg.solve(A, Y.numpy()[rest])
    losses = -np.log((naive.clip_normalize(P, got.epsilon) * Y.numpy()).sum(axis=1))
    once = problem(KERNEL, X, Y, w, "leave-one-out")
    once.evaluate(once.parameters.start)
    expected = np.average(losses, weights=w.numpy())
    assert once.history[0]["risk"] == pytest.approx(expected, rel=1e-9)


@pytest.mark.parametrize("block", [2**20, 60], ids=["one block", "many blocks"])
@pytest.mark.parametrize("risk", RISKS)
@pytest.mark.parametrize(
    "kernel", [*KERNELS[::7], KERNEL, Fourier(Gaussian(ard=True), 9)], ids=repr
)
def test_gradient_agrees_with_central_differences(kernel, risk, block, points, monkeypatch):
    monkeypatch.setattr(torte.embedding, "BLOCK", block)
    X, _, Y = points
    generator = torch.Generator().manual_seed(3)
    w = 3 * torch.rand(23, dtype=torch.float64, generator=generator) + 0.1
    soft = 0.8 * Y + 0.2 * torch.full_like(Y, 1 / 3)
    kernel = kernel.prepare(X, None, generator)
    weighed = problem(kernel, X, soft, w, risk)
    at = weighed.parameters.start + 0.1
    _, gradient = weighed.evaluate(at)
    expected = naive.central_differences(lambda free: weighed.evaluate(free)[0], at)
    assert np.abs(gradient - expected).max() <= 1e-6 * np.abs(expected).max()


def test_the_algebra_of_weights(points):
    _, _, Y = points
    w = torch.full((23,), 2.0, dtype=torch.float64)
    assert float(diagonal_shift(0.1, Y, None)) == pytest.approx(2.3)
    torch.testing.assert_close(diagonal_shift(0.1, Y, w), torch.full_like(w, 2.3))
    assert one_copy(torch.tensor([0.5, 1.0, 4.0])).tolist() == [1.0, 1.0, 0.25]


def test_rows_come_as_often_as_they_weigh():
    X = torch.arange(4.0)[:, None]
    assert resampled(X, None) is X
    assert resampled(X, torch.tensor([2.0, 1.0, 1.0, 3.0]))[:, 0].tolist() == [0, 0, 1, 2, 3, 3, 3]
    assert resampled(X, torch.tensor([1e6, 1e6, 1.0, 1.0]))[:, 0].tolist() == [0, 0, 1, 1]
    assert resampled(X, torch.tensor([0.5, 0.5, 0.5, 0.5]))[:, 0].tolist() == [0, 1, 2, 3]


# -- the estimator --------------------------------------------------------------------------


@pytest.mark.parametrize(
    "settings",
    [
        {},
        {"objective": RademacherBound(tau="4e/n", risk="training"), "optimizer": Adam(max_iter=30)},
        {"kernel": Gaussian(ard=True), "regularization": 0.1, "optimizer": None},
        {"kernel": Fourier(Gaussian(), 20)},
    ],
    ids=str,
)
def test_a_weighted_fit_is_the_fit_of_repeated_rows(settings, blobs):
    X, y = blobs
    w = np.arange(90) % 4
    model = MCEClassifier(random_state=0, **settings).fit(X, y, sample_weight=w)
    again = MCEClassifier(random_state=0, **settings).fit(X.repeat(w, axis=0), y.repeat(w))
    np.testing.assert_allclose(model.predict_proba(X), again.predict_proba(X), atol=1e-6)
    assert model.complexity_ == pytest.approx(again.complexity_, rel=1e-5)
    assert model.regularization_ == pytest.approx(again.regularization_, rel=1e-4)
    once, twice = model.risk_bound(), again.risk_bound()
    assert once.n == twice.n == w.sum()
    assert once.total == pytest.approx(twice.total, rel=1e-5)


def test_weights_in_batches_draw_the_model_to_what_weighs(blobs):
    X, y = blobs
    settings = {"batch_size": 40, "optimizer": Adam(max_iter=30), "random_state": 0}
    heavy = MCEClassifier(Gaussian(ard=True), **settings)
    heavy.fit(X, y, sample_weight=np.where(y == 0, 50.0, 0.5))
    plain = MCEClassifier(Gaussian(ard=True), **settings).fit(X, y)
    assert (heavy.predict(X) == 0).sum() > (plain.predict(X) == 0).sum()
    assert (heavy.predict(X)[y == 0] == 0).mean() > 0.95


def test_no_weights_and_weights_of_one_are_the_same(blobs):
    X, y = blobs
    plain = MCEClassifier(random_state=0).fit(X, y)
    ones = MCEClassifier(random_state=0).fit(X, y, np.ones(90))
    np.testing.assert_array_equal(plain.predict_proba(X), ones.predict_proba(X))


def test_rows_of_no_weight_are_not_there(blobs):
    X, y = blobs
    w = np.ones(90)
    w[::3] = 0.0  # all of class 0
    spoiled = y.astype(float)
    spoiled[0] = np.nan
    model = MCEClassifier(random_state=0).fit(X, spoiled, sample_weight=w)
    rest = MCEClassifier(random_state=0).fit(X[w > 0], y[w > 0])
    np.testing.assert_array_equal(model.classes_, [1, 2])
    np.testing.assert_array_equal(model.predict_proba(X), rest.predict_proba(X))


def test_classes_weigh_what_they_are_given(blobs):
    X, y = blobs
    few = np.r_[0:90:3, 1, 4, 7, 2, 5]
    X, y = X[few], np.array(["a", "b", "c"])[y[few]]
    settings = {"kernel": Gaussian(ard=True), "regularization": 0.01, "optimizer": None}
    weights = {"b": 10.0, "c": 15.0}
    by_class = MCEClassifier(**settings, class_weight=weights).fit(X, y)
    by_row = MCEClassifier(**settings).fit(X, y, [weights.get(label, 1.0) for label in y])
    np.testing.assert_allclose(by_class.predict_proba(X), by_row.predict_proba(X))
    balanced = MCEClassifier(**settings, class_weight="balanced").fit(X, y)
    share = {label: len(y) / (3 * (y == label).sum()) for label in "abc"}
    by_row = MCEClassifier(**settings).fit(X, y, [share[label] for label in y])
    np.testing.assert_allclose(balanced.predict_proba(X), by_row.predict_proba(X))


def test_balance_counts_weights(blobs):
    X, y = blobs
    w = 1 + np.arange(90) % 3 + (np.arange(90) > 60)
    settings = {"kernel": Gaussian((1.0, 100.0, 0.01, 5.0)), "regularization": 0.01}
    settings |= {"class_weight": "balanced", "optimizer": None}
    once = MCEClassifier(**settings).fit(X, y, w)
    again = MCEClassifier(**settings).fit(X.repeat(w, axis=0), y.repeat(w))
    np.testing.assert_allclose(once.predict_proba(X), again.predict_proba(X), atol=1e-8)


def test_soft_labels_are_rows_split_among_classes(blobs):
    X, y = blobs
    rng = np.random.default_rng(0)
    Y = 0.7 * np.eye(3)[y] + 0.3 * rng.dirichlet(np.ones(3), 90)
    split = np.repeat(np.arange(90), 3)
    for weights in (None, {0: 1.0, 1: 4.0, 2: 0.5}):
        settings = {"optimizer": None, "regularization": 0.01, "class_weight": weights}
        soft = MCEClassifier(**settings).fit(X, Y)
        hard = MCEClassifier(soft.kernel_, **settings)
        hard.fit(X[split], np.tile([0, 1, 2], 90), Y.ravel())
        np.testing.assert_allclose(
            soft.decision_probabilities(X), hard.decision_probabilities(X), atol=1e-7
        )
        assert soft.risk_bound().empirical_risk == pytest.approx(hard.risk_bound().empirical_risk)


@pytest.mark.parametrize("kernel", [None, Fourier(Gaussian(ard=True), 64)], ids=repr)
def test_learning_from_soft_labels(kernel, blobs):
    X, y = blobs
    Y = 0.8 * np.eye(3)[y] + 0.1
    Y /= Y.sum(axis=1, keepdims=True)
    model = MCEClassifier(kernel, random_state=0).fit(pd.DataFrame(X), pd.DataFrame(Y))
    np.testing.assert_array_equal(model.classes_, [0, 1, 2])
    assert model.score(X, y) > 0.7
    assert model.predict_proba(X).max() < 0.97
    one_hot = MCEClassifier(random_state=0).fit(X, np.eye(3)[y])
    labels = MCEClassifier(random_state=0).fit(X, y)
    np.testing.assert_array_equal(one_hot.predict_proba(X), labels.predict_proba(X))


def test_chunks_carry_weights_and_soft_labels(blobs):
    X, y = blobs
    w, Y = 1 + np.arange(90) % 3, 0.7 * np.eye(3)[y] + 0.1
    w[5] = 0
    features = Fourier(Gaussian(ard=True), 40).prepare(
        torch.as_tensor(X), None, torch.Generator().manual_seed(0)
    )
    settings = {"optimizer": None, "regularization": 1e-3, "class_weight": {1: 2.0}}
    whole = MCEClassifier(features, **settings).fit(X, Y, w)
    chunks = MCEClassifier(features, **settings)
    for part in np.array_split(np.arange(90), 4):
        chunks.partial_fit(X[part], Y[part], classes=[0, 1, 2], sample_weight=w[part])
    np.testing.assert_allclose(chunks.predict_proba(X), whole.predict_proba(X), atol=1e-8)
    chunks.partial_fit(X, y, sample_weight=w).forget(X, y, sample_weight=w)
    np.testing.assert_allclose(chunks.predict_proba(X), whole.predict_proba(X), atol=1e-6)
    with pytest.raises(InvalidInput, match="must be a dictionary or None in partial_fit"):
        MCEClassifier(features, class_weight="balanced").partial_fit(X, y, classes=[0, 1, 2])
    strings = MCEClassifier(features, optimizer=None).fit(X, np.array(["a", "b", "c"])[y])
    with pytest.raises(InvalidInput, match=r"probabilities of the classes 0 to 2, but the classes"):
        strings.partial_fit(X, Y)


@pytest.mark.parametrize("class_weight", [None, "balanced", {1: 5.0}], ids=str)
def test_approximations_of_rows_given_again_count_their_weights(class_weight, blobs):
    X, y = blobs
    w = np.arange(90) % 4
    model = MCEClassifier(
        Gaussian(ard=True),
        regularization=0.01,
        optimizer=None,
        random_state=0,
        class_weight=class_weight,
    ).fit(X, y, w)
    how = Nystroem(n_components=20)
    of_kept, of_given = model.approximate(how), model.approximate(how, X, y, w)
    np.testing.assert_allclose(of_kept.predict_proba(X), of_given.predict_proba(X), atol=1e-10)
    assert of_kept.risk_bound().total == pytest.approx(of_given.risk_bound().total)
    unweighted = model.approximate(how, X, y)
    assert np.abs(unweighted.predict_proba(X) - of_kept.predict_proba(X)).max() > 1e-3
    with pytest.raises(InvalidInput, match="`sample_weight` must be given with `X` and `y`"):
        model.approximate(how, sample_weight=w)


SOFT = np.full((90, 3), 1 / 3)
BAD = {
    "short": ({"sample_weight": np.ones(5)}, "for each of the 90 rows of X, got shape"),
    "negative": ({"sample_weight": -np.arange(90.0)}, "at least 0, got -1.0 in row 1"),
    "nan": ({"sample_weight": [np.nan] * 90}, "finite numbers of at least 0, got nan in row 0"),
    "text": ({"sample_weight": "uniform"}, "one number for each row of X, got 'uniform'"),
    "nothing": ({"sample_weight": np.zeros(90)}, "positive in some row, got zero in all of them"),
    "sums": ({"y": SOFT * 2}, r"with sum 1 in each row, got \[0.66.* in row 0; divide each row"),
    "signs": (
        {"y": SOFT + np.array([1, -1, 0])},
        "y with 3 columns must hold the probabilities of as many",
    ),
    "soft nan": ({"y": SOFT * np.nan}, "at least 0 and with sum 1 in each row, got"),
    "soft text": ({"y": np.full((90, 2), "a")}, r"got text in shape \(90, 2\)"),
    "soft rows": ({"y": SOFT[:4]}, "same number of rows .* got 90 and 4"),
    "one certain": (
        {"y": np.eye(3)[np.zeros(90, int)]},
        "probability to at least 2 classes, got 1",
    ),
    "unknown": (
        {"class_weight": {7: 1.0}},
        r"names the class 7, but y holds the classes \[0, 1, 2\]",
    ),
    "no factor": ({"class_weight": {0: 0.0}}, "`class_weight` must hold positive numbers"),
    "heavy": (
        {"class_weight": "heavy"},
        "one positive number a class, 'balanced' or None, got 'heavy'",
    ),
}


@pytest.mark.parametrize("case", BAD)
def test_bad_weights_and_labels(case, blobs):
    given, message = BAD[case]
    X, y = blobs
    model = MCEClassifier(Laplacian(), optimizer=None, class_weight=given.get("class_weight"))
    with pytest.raises(InvalidInput, match=message):
        model.fit(X, given.get("y", y), given.get("sample_weight"))
