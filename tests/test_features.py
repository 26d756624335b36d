"""Feature maps: primal against dual, gradients, approximations that improve, rows in and out."""

from __future__ import annotations

import json
import pickle
import warnings
from dataclasses import dataclass
from functools import partial

import numpy as np
import pytest
import torch
from sklearn.base import clone
from sklearn.exceptions import NotFittedError
from sklearn.model_selection import GridSearchCV
from sklearn.utils.estimator_checks import parametrize_with_checks
from torch import nn
from torch.testing import assert_close

import naive
import torte
from torte import MCEClassifier
from torte.conditioning import Description
from torte.dual import Dual
from torte.errors import (
    InvalidInput,
    JitterWarning,
    NoSupremum,
    NotPositiveDefinite,
    PrecisionWarning,
    WideFeaturesWarning,
)
from torte.features import FeatureMap, Fourier, Module, Network, Nystroem, Polynomials, Standardize
from torte.kernels import (
    Gaussian,
    Kernel,
    Laplacian,
    Linear,
    Matern12,
    Matern32,
    Matern52,
    Periodic,
    Polynomial,
    RationalQuadratic,
)
from torte.learning import Plan, Problem
from torte.objectives import CrossValidation, EmpiricalRisk, RademacherBound
from torte.optimizers import LBFGS, Adam
from torte.primal import Primal
from torte.statistics import Statistics, factorize_gram, measure

AS_GIVEN = {"regularization": 0.01, "optimizer": None}
LANDMARKS = np.random.default_rng(1).normal(size=(6, 3))
MAPS = [
    Fourier(Gaussian(0.9, ard=True), n_components=16),
    Fourier(0.7 * Gaussian(0.9) * Laplacian(2.0) + 0.3 * Matern32(1.0).on(0) + 0.2, 24),
    Fourier(RationalQuadratic(1.0, alpha=0.8), 12, orthogonal=True),
    Fourier(Periodic(1.0, period=3.0), 12),
    Nystroem(Gaussian(0.9, ard=True), 7),
    Nystroem(2.0 * Gaussian(1.5) + 0.5 * Linear(), landmarks=LANDMARKS, learned=True),
    Nystroem(Matern52(1.0), 6, landmarks="pivoted"),
    Polynomials(2, gamma=0.4),
    Polynomials(3, gamma=0.4, coef0=0.0),
    Network((5, 4), activation="tanh", dropout=0.0),
    Network(
        (5, 4), activation="silu", initialization="truncated-normal", standardize=False, dropout=0.0
    ),
    Module(partial(nn.Linear, 3, 4)),
    Standardize(),
]
ON_MAPS = [
    Gaussian(0.8) @ Network((5, 4), activation="tanh", dropout=0.0),
    Matern32(1.2) @ Nystroem(Gaussian(1.5), 6, learned=True) + 0.3,
    (Linear() + 0.5) @ Fourier(Gaussian(1.0, ard=True), 8),
]
everyone = pytest.mark.parametrize("features", MAPS, ids=lambda m: repr(m)[:60])


def prepared(features, X, seed=0):
    return features.prepare(X, None, torch.Generator().manual_seed(seed))


@pytest.mark.parametrize(
    ("features", "kernel"),
    [
        (Polynomials(1, gamma=1.0, coef0=0.0), Linear()),
        (Polynomials(2, gamma=0.3, coef0=1.5), Polynomial(2, gamma=0.3, coef0=1.5)),
        (Polynomials(3, gamma=0.3, coef0=0.0), Polynomial(3, gamma=0.3, coef0=0.0)),
        (Nystroem(Gaussian(1.0), landmarks="uniform"), Gaussian(1.0)),
        (
            Nystroem(Gaussian(1.0) + 0.5 * Linear(), landmarks="uniform"),
            Gaussian(1.0) + 0.5 * Linear(),
        ),
    ],
    ids=repr,
)
def test_primal_is_dual(features, kernel, points):
    X, y = points[0].numpy(), points[1].numpy()
    if isinstance(features, Nystroem):
        features = Nystroem(features.kernel, landmarks=X)
    dual = MCEClassifier(kernel, **AS_GIVEN).fit(X, y)
    primal = MCEClassifier(features, **AS_GIVEN).fit(X, y)
    new = X + 0.1
    np.testing.assert_allclose(primal.predict_proba(X), dual.predict_proba(X), atol=1e-8)
    if not isinstance(features, Nystroem):  # whose span is that of the training rows
        np.testing.assert_allclose(primal.predict_proba(new), dual.predict_proba(new), atol=1e-8)
    assert primal.complexity_ == pytest.approx(dual.complexity_, rel=1e-6)


@pytest.mark.parametrize(
    "objective",
    [
        RademacherBound(tau=0.3, risk="training", epsilon=1e-15),
        RademacherBound(tau=0.3, epsilon=0.01),
        EmpiricalRisk(),
        CrossValidation(folds=3),
    ],
    ids=repr,
)
def test_primal_objective_is_the_dual_one(objective, points):
    X, _, Y = points
    lam = [torch.tensor(0.03, dtype=torch.float64, requires_grad=True) for _ in range(2)]
    splits = Problem(
        Description(Linear(), 0.03),
        X,
        Y,
        objective,
        Plan(LBFGS()),
        torch.Generator().manual_seed(0),
    )._draw()
    for split in splits:
        dual = Dual().evaluate(
            Linear(), lam[0], split.X, split.Y, objective, held_out=split.held_out
        )
        features = Polynomials(1, gamma=torch.tensor(1.0, dtype=torch.float64), coef0=0.0)
        primal = Primal().evaluate(
            features, lam[1], split.X, split.Y, objective, held_out=split.held_out
        )
        np.testing.assert_allclose(primal, dual, rtol=1e-9)
    assert_close(lam[0].grad, lam[1].grad)


RISKS = {
    "training": (RademacherBound(tau="4e/n", risk="training", epsilon=1e-15), {}),
    "leave-one-out": (RademacherBound(tau=0.3, epsilon=0.02, shrinkage=0.5), {}),
    "leave-some-out": (RademacherBound(tau=0.3, epsilon=0.02), {"left_out": 7}),
    "validation": (RademacherBound(tau=0.1, risk="training"), {"validation_fraction": 0.3}),
    "alpha": (RademacherBound(tau=0.1, risk="training", alpha=1.0), {}),
}


@pytest.mark.parametrize("risk", RISKS)
@pytest.mark.parametrize("features", MAPS + ON_MAPS, ids=lambda m: repr(m)[:60])
def test_gradient_agrees_with_central_differences(features, risk, points):
    X, _, Y = points
    objective, settings = RISKS[risk]
    description = Description(prepared(features, X), 0.05)
    plan = Plan(LBFGS(), **settings)
    problem = Problem(description, X, Y, objective, plan, torch.Generator().manual_seed(1))
    at = problem.parameters.start + 0.05
    _, gradient = problem.evaluate(at)
    expected = naive.central_differences(lambda free: problem.evaluate(free)[0], at, 1e-5)
    assert np.abs(gradient - expected).max() <= 1e-6 * np.abs(expected).max()


@pytest.mark.parametrize(
    "kernel",
    [
        Gaussian(1.2),
        Gaussian((0.8, 1.5, 2.0)),
        Laplacian(2.0),
        Matern12(1.5),
        Matern32(1.2),
        Matern52(1.2),
        RationalQuadratic(1.2, alpha=0.7),
        Periodic(1.0, period=4.0),
        0.5 * Gaussian(1.0) + 0.3 * Laplacian(2.0) + 0.2,
        Gaussian(2.0) * Matern32(1.5).on(0, 1),
    ],
    ids=repr,
)
@pytest.mark.parametrize("orthogonal", [False, True])
def test_fourier_error_falls_as_features_grow(kernel, orthogonal, points):
    X = points[0]
    K = kernel.gram(X)
    errors = []
    for p in (16, 256, 4096):
        maps = [prepared(Fourier(kernel, p, orthogonal), X, seed) for seed in range(4)]
        errors.append(
            np.mean([float((Z @ Z.mT - K).abs().mean()) for Z in (m.transform(X) for m in maps)])
        )
    assert errors[0] > 2 * errors[1] > 4 * errors[2]
    assert float(maps[0].supremum()) == pytest.approx(float(kernel.supremum()))


def probability_error(features, exact, X, y, seeds=range(6)):
    models = (MCEClassifier(features, **AS_GIVEN, random_state=s).fit(X, y) for s in seeds)
    return np.mean([np.abs(m.predict_proba(X) - exact).mean() for m in models])


def test_orthogonal_frequencies_beat_plain_ones():
    rng = np.random.default_rng(0)
    y = np.arange(90) % 3
    X = rng.normal(size=(90, 16)) + 2 * np.eye(3, 16)[y]
    exact = MCEClassifier(Gaussian(4.0), **AS_GIVEN).fit(X, y).predict_proba(X)
    plain, orthogonal = (
        probability_error(Fourier(Gaussian(4.0), 64, how), exact, X, y, range(12))
        for how in (False, True)
    )
    assert orthogonal < 0.95 * plain


@pytest.mark.filterwarnings("ignore::torte.errors.WideFeaturesWarning")
def test_probabilities_of_approximations_improve(blobs):
    X, y = blobs
    X = (X - X.mean(axis=0)) / X.std(axis=0)
    exact = MCEClassifier(Gaussian(2.0), **AS_GIVEN).fit(X, y).predict_proba(X)

    def error(features):
        return probability_error(features, exact, X, y)

    assert error(Fourier(Gaussian(2.0), 32)) > error(Fourier(Gaussian(2.0), 256))
    assert error(Fourier(Gaussian(2.0), 256)) > error(Fourier(Gaussian(2.0), 2048))
    assert error(Nystroem(Gaussian(2.0), 8)) > error(Nystroem(Gaussian(2.0), 32))
    assert error(Nystroem(Gaussian(2.0), 32)) > error(Nystroem(Gaussian(2.0), 80))
    assert error(Nystroem(Gaussian(2.0), 16)) > error(Nystroem(Gaussian(2.0), 16, "pivoted"))


@pytest.mark.parametrize("how", ["uniform", "k-means", "herding", "pivoted"])
def test_landmarks(how, points):
    X = points[0]
    map = prepared(Nystroem(Gaussian(1.0), 5, landmarks=how), X)
    assert map.points.shape == (5, 3)
    assert prepared(Nystroem(Gaussian(1.0), 50, landmarks=how), X).points.shape == (23, 3)
    if how != "k-means":  # centers need not be rows
        assert all((X.numpy() == point).all(axis=1).any() for point in map.points)


def test_centers_are_those_of_the_kernels_own_geometry():
    rng = np.random.default_rng(0)
    X = np.column_stack([np.repeat([0.0, 10.0, 20.0], 30), 1e3 * rng.normal(size=90)])
    kernel = Gaussian((1.0, 1e6))  # the second column is far wider, and does not matter
    map = prepared(Nystroem(kernel, 3, landmarks="k-means"), torch.as_tensor(X))
    np.testing.assert_allclose(np.sort(map.points[:, 0]), [0.0, 10.0, 20.0])
    swapped = prepared(Nystroem(Gaussian((1e6, 1.0)), 3, landmarks="k-means"), torch.as_tensor(X))
    assert np.ptp(swapped.points[:, 1]) > 1e3


def test_whitened_landmarks_reproduce_their_kernel(points):
    X = points[0]
    map = prepared(Nystroem(Gaussian(1.0), 9), X)
    at = torch.as_tensor(map.points)
    Z = map.transform(at)
    assert_close(Z @ Z.mT, Gaussian(1.0).gram(at), atol=1e-6, rtol=0)


@dataclass(frozen=True)
class Indefinite(Kernel):
    """Gaussian, less a share of what makes it positive definite."""

    less: float = 0.0

    def compare(self, A, B):
        return Gaussian(1.0).compare(A, B) - self.less * (A[:, None] == B).all(dim=2)


def test_what_landmarks_need_on_their_diagonal_is_told(points):
    X = points[0].numpy()
    twice = np.concatenate([X, X])  # of rank 23: rounding alone is never told
    assert np.isfinite(Nystroem(Gaussian(1.0), landmarks=twice)(X)).all()
    close = 1e-3 * X
    for less in (1e-11, 1e-9):
        assert np.isfinite(Nystroem(Indefinite(less), landmarks=close)(close)).all()
    with pytest.warns(JitterWarning, match="of 23 landmarks of Nystroem was not positive definite"):
        Z = Nystroem(Indefinite(1.5e-8), landmarks=close)(close)
    assert np.isfinite(Z).all()
    for kernel in (Indefinite(0.5), Indefinite(float("nan"))):
        with pytest.raises(
            NotPositiveDefinite,
            match=r"of 23 landmarks of Nystroem with the kernel Indefinite\(less=.*\) is not positive",
        ):
            Nystroem(kernel, landmarks=close)(close)


@everyone
def test_recipes_are_values(features, points):
    X = points[0]
    if not isinstance(features, Module):  # two partials of the same function are not equal
        assert pickle.loads(pickle.dumps(features)) == features
        assert clone(MCEClassifier(features)).kernel == features
    finished = prepared(features, X)
    assert_close(pickle.loads(pickle.dumps(finished)).transform(X), finished.transform(X))
    if not isinstance(features, Module):
        again = FeatureMap.from_dict(json.loads(json.dumps(finished.to_dict())))
        assert_close(again.transform(X), finished.transform(X))


def test_dropout_is_for_training_only(points):
    X = points[0]
    map = prepared(Network((50,), dropout=0.5), X)
    training = map.in_training(torch.Generator().manual_seed(0))
    assert (training.transform(X) == 0).sum() > (map.transform(X) == 0).sum()
    assert_close(map.transform(X), map.transform(X))
    before = torch.get_rng_state()
    module = prepared(Module(partial(nn.Dropout, 0.5)), X)
    noisy = module.in_training(torch.Generator().manual_seed(0))
    assert not torch.equal(noisy.transform(X), module.transform(X))
    assert torch.equal(torch.get_rng_state(), before)


def normalized():
    return nn.Sequential(nn.BatchNorm1d(3), nn.Linear(3, 8), nn.Tanh())


def normalized_of_four():
    return nn.Sequential(nn.BatchNorm1d(4), nn.Linear(4, 8), nn.Tanh())


@pytest.mark.parametrize("dtype", ["float64", "float32"])
@pytest.mark.parametrize(
    "kernel", [Module(normalized), Gaussian() @ Module(normalized)], ids=["explicit", "implicit"]
)
def test_running_statistics_are_what_training_left(kernel, dtype, tmp_path):
    X = np.random.default_rng(0).normal((5.0, 50.0, 500.0), (1.0, 10.0, 100.0), size=(240, 3))
    y = X[:, 0] > 5
    settings = {"optimizer": Adam(0.01, max_iter=40), "dtype": dtype, "random_state": 0}
    model = MCEClassifier(kernel, **settings).fit(X, y)
    assert model.score(X, y) > 0.95
    map = model.kernel_ if isinstance(kernel, Module) else model.kernel_.features
    mean = map.module[0].running_mean
    np.testing.assert_allclose(mean, X.mean(axis=0), rtol=0.02)
    assert mean.dtype == torch.float64
    P = model.predict_proba(X)
    again = clone(model).fit(X, y)
    np.testing.assert_array_equal(again.predict_proba(X), P)
    np.testing.assert_array_equal(pickle.loads(pickle.dumps(model)).predict_proba(X), P)
    model.save(tmp_path / "model.torte")
    same = torte.load(tmp_path / "model.torte", recipe=normalized)
    np.testing.assert_array_equal(same.predict_proba(X), P)
    # Learning that goes on from this map leaves this map as it is.
    before = mean.clone()
    MCEClassifier(model.kernel_, **settings).fit(X + 100, y)
    assert_close(mean, before, rtol=0, atol=0)
    np.testing.assert_array_equal(model.predict_proba(X), P)


def test_running_statistics_meet_rows_before_anything_starts_from_them(points):
    X = 10 * points[0] + 500
    map = prepared(Module(normalized), X)
    assert_close(map.module[0].running_mean, X.mean(dim=0), rtol=0.02, atol=0)
    lazy = prepared(Module(lambda: nn.Sequential(nn.LazyBatchNorm1d(affine=False))), X)
    assert_close(lazy.transform(X).mean(dim=0), torch.zeros(3).double(), rtol=0, atol=1.0)


@pytest.mark.parametrize(
    "kernel",
    [
        Fourier(Gaussian(ard=True), 64),
        Fourier(Gaussian(ard=True) @ Standardize(), 64, orthogonal=True),
        Nystroem(Gaussian(ard=True), 30, "pivoted"),
        Nystroem(Gaussian(ard=True), 20, "k-means", learned=True),
        Polynomials(2),
        Network((32, 16)),
        Gaussian() @ Network((16, 8)),
        Linear() @ Network((16, 8), dropout=0.2),
        Matern32() @ Nystroem(Gaussian(ard=True), 10),
        Module(partial(nn.Linear, 4, 8)),
    ],
    ids=lambda k: repr(k)[:50],
)
def test_every_map_learns(kernel, blobs):
    X, y = blobs
    if isinstance(kernel, (Polynomials, Module)):
        X = (X - X.mean(axis=0)) / X.std(axis=0)
    model = MCEClassifier(kernel, random_state=0).fit(X, y)
    assert model.score(X, y) > 0.8
    assert model.kernel == kernel
    assert model.objective_value_ < model.history_[0]["objective"]
    P = model.predict_proba(X)
    np.testing.assert_allclose(P.sum(axis=1), 1.0)
    again = clone(model).fit(X, y)
    np.testing.assert_array_equal(again.predict_proba(X), P)
    np.testing.assert_array_equal(pickle.loads(pickle.dumps(model)).predict_proba(X), P)


def test_batches_and_precisions(blobs):
    X, y = blobs
    map = Fourier(Gaussian(ard=True), 64)
    settings = {"optimizer": Adam(max_iter=40), "batch_size": 45, "random_state": 0}
    assert MCEClassifier(map, validation_fraction=0.3, **settings).fit(X, y).score(X, y) > 0.8
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", PrecisionWarning)
        single = MCEClassifier(map, dtype="float32", **settings).fit(X, y)
    assert single.score(X, y) > 0.8
    assert single.embedding_.weights.dtype == torch.float32


def test_more_features_than_rows_is_told(blobs):
    X, y = blobs
    with pytest.warns(
        WideFeaturesWarning, match="gives 100 features for 90 rows; .* Linear.. @ map"
    ):
        wide = MCEClassifier(Fourier(Gaussian(2.0), 100), **AS_GIVEN, random_state=0).fit(X, y)
    dual = MCEClassifier(Linear() @ wide.kernel_, **AS_GIVEN).fit(X, y)
    np.testing.assert_allclose(dual.predict_proba(X), wide.predict_proba(X), atol=1e-8)


def test_float32_falls_back_and_says_so():
    # The last number is the least in float32 that keeps [[a, b], [b, c]] positive definite: half
    # of these are not so any more once b / sqrt(a) is rounded, whoever rounds it.
    rng = np.random.default_rng(0)
    told = 0
    for a, b in rng.uniform(1.0, 2.0, size=(40, 2)).astype(np.float32):
        c = np.float32(np.float64(b) ** 2 / np.float64(a))
        while np.float64(a) * np.float64(c) - np.float64(b) ** 2 < 1e-9:
            c = np.nextafter(c, np.float32(np.inf))
        K = torch.tensor([[a, b], [b, c]])
        B = torch.tensor([[1.0], [0.0]])
        with warnings.catch_warnings(record=True) as caught:
            warnings.simplefilter("always")
            x = factorize_gram(K, 0.0).solve(B)
        if any(w.category is PrecisionWarning for w in caught):
            told += 1
            assert "could not be factorized in float32, so this solve was done in float64" in str(
                caught[0].message
            )
            assert x.dtype == torch.float32
            exact = torch.linalg.solve(K.double(), B.double())
            torch.testing.assert_close(x.double(), exact, rtol=1e-6, atol=0)
    assert told > 0


def test_sums_of_few_features_are_not_rounded_to_float32(points):
    # |z|^2 of a network may be a million times n lambda: float32 sums would not be definite.
    class AsTheyAre:
        width = 3

        def __call__(self, X):
            return X

    X = points[0].float()[:, :1] * 1e3
    Z = torch.cat([X, X + 1e-3, torch.ones_like(X)], dim=1)
    gram = measure(AsTheyAre(), Z, torch.ones_like(X)).gram
    assert_close(gram, Z.double().mT @ Z.double(), rtol=1e-12, atol=0)


def test_grid_search_over_recipes(blobs):
    X, y = blobs
    grid = {"kernel": [Network((4,)), Network((32,), dropout=0.0)]}
    search = GridSearchCV(MCEClassifier(random_state=0), grid, cv=2, n_jobs=2).fit(X, y)
    assert search.best_params_["kernel"] in grid["kernel"]


INCREMENTAL = [
    Fourier(Gaussian(2.0), 48),
    Polynomials(2, gamma=0.5),
    Nystroem(Gaussian(2.0), landmarks=np.random.default_rng(0).normal(size=(20, 4))),
]


@pytest.mark.parametrize("features", INCREMENTAL, ids=lambda m: type(m).__name__)
def test_chunks_are_the_whole(features, blobs):
    X, y = blobs
    X = (X - X.mean(axis=0)) / X.std(axis=0)
    settings = {"regularization": 0.01, "optimizer": None, "random_state": 0}
    whole = MCEClassifier(features, **settings).fit(X, y)
    for size in (1, 7, 90):
        parts = MCEClassifier(features, **settings)
        for start in range(0, 90, size):
            parts.partial_fit(X[start : start + size], y[start : start + size], classes=[0, 1, 2])
        np.testing.assert_allclose(parts.predict_proba(X), whole.predict_proba(X), atol=1e-10)
        assert parts.complexity_ == pytest.approx(whole.complexity_)


@pytest.mark.parametrize("features", INCREMENTAL, ids=lambda m: type(m).__name__)
def test_rows_are_taken_out_again(features, blobs):
    X, y = blobs
    X = (X - X.mean(axis=0)) / X.std(axis=0)
    settings = {"regularization": 0.01, "optimizer": None, "random_state": 0}
    few = MCEClassifier(features, **settings).fit(X[:60], y[:60])
    more = clone(few).fit(X[:60], y[:60]).partial_fit(X[60:], y[60:]).forget(X[60:], y[60:])
    np.testing.assert_allclose(more.predict_proba(X), few.predict_proba(X), atol=1e-10)


def test_learned_models_go_on(blobs):
    X, y = blobs
    model = MCEClassifier(Fourier(Gaussian(ard=True), 48), random_state=0).fit(X[:60], y[:60])
    kernel = model.kernel_
    model.partial_fit(X[60:], y[60:])
    assert model.kernel_ is kernel
    assert model._statistics.count == 90
    with pytest.raises(InvalidInput, match="which partial_fit, forget and streams do not keep"):
        model.risk_bound()


def test_chunks_describe_what_they_made(blobs):
    X, y = blobs
    model = MCEClassifier(Fourier(Gaussian(2.0), 48), regularization=0.01, random_state=0)
    model.partial_fit(X[:30], y[:30], classes=[0, 1, 2])
    assert (model.history_, model.n_iter_) == ([], 0)
    assert np.isnan(model.objective_value_)
    assert (model.plan_.solver, model.plan_.n_components) == ("features", 48)
    first = model.solution_
    assert (first.solver, first.n_components) == ("features", 48)
    model.partial_fit(X[30:], y[30:])
    assert model.solution_ is not first
    learned = MCEClassifier(Fourier(Gaussian(2.0), 48), random_state=0).fit(X[:60], y[:60])
    steps, solution = learned.n_iter_, learned.solution_
    learned.partial_fit(X[60:], y[60:])
    assert len(learned.history_) == learned.n_iter_ == steps  # of what was learned
    assert learned.solution_ is not solution
    solution = learned.solution_
    assert learned.forget(X[60:], y[60:]).solution_ is not solution


def test_a_chunk_that_fails_leaves_no_trace(blobs):
    X, y = blobs
    model = MCEClassifier(Fourier(Gaussian(2.0), 48), random_state=0)
    for bad in ({"y": np.full(30, 7)}, {"sample_weight": np.full(30, -1.0)}):
        with pytest.raises(InvalidInput):
            model.partial_fit(X[:30], **({"y": y[:30]} | bad), classes=[0, 1, 2])
        with pytest.raises(NotFittedError):
            model.predict(X)
    model.partial_fit(X[:30], y[:30], classes=[0, 1, 2])
    P, count = model.predict_proba(X), model._statistics.count
    with pytest.raises(InvalidInput, match=r"y must hold labels of the classes .* got 7 too"):
        model.partial_fit(X[30:], np.full(60, 7))
    assert model._statistics.count == count
    np.testing.assert_array_equal(model.predict_proba(X), P)


@pytest.mark.parametrize(
    "features",
    [
        Nystroem(Gaussian(2.0), 5),
        Fourier(Gaussian(ard=True), 32),
        Fourier(Gaussian(1.0) @ Standardize(), 32),
        Network((8,)),
    ],
    ids=lambda m: repr(m)[:50],
)
def test_a_single_row_fixes_no_map(features, blobs):
    X, y = blobs
    with pytest.raises(
        InvalidInput, match=r"X of the first partial_fit must hold at least 2 rows, .* got 1; begin"
    ):
        MCEClassifier(features).partial_fit(X[:1], y[:1], classes=[0, 1, 2])


def test_a_chunk_too_small_for_its_landmarks_is_told(blobs):
    X, y = blobs
    model = MCEClassifier(Nystroem(Gaussian(2.0), 20), random_state=0)
    with pytest.warns(
        WideFeaturesWarning, match="wants 20 landmarks, and the first chunk has 12 rows to choose"
    ):
        model.partial_fit(X[:12], y[:12], classes=[0, 1, 2])
    assert model.partial_fit(X[12:], y[12:]).embedding_.lift.width == 12
    clone(model).partial_fit(X[:20], y[:20], classes=[0, 1, 2])  # enough


def test_statistics_are_a_monoid():
    parts = [Statistics(torch.eye(2) * i, torch.ones(2, 3) * i, i) for i in (1.0, 2.0, 4.0)]
    a, b, c = parts
    left, right = (a + b) + c, a + (b + c)
    assert_close(left.gram, right.gram)
    assert (left - c).count == 3.0


@parametrize_with_checks(
    [
        MCEClassifier(Fourier(Gaussian(ard=True), 32), random_state=0),
        MCEClassifier(Nystroem(Gaussian(ard=True), 20), random_state=0),
        MCEClassifier(Polynomials(2), random_state=0),
        MCEClassifier(Network((16, 32, 8), dropout=0.0), random_state=0),
        MCEClassifier(
            Gaussian() @ Network((16, 8), dropout=0.0), optimizer=Adam(0.01, 30), random_state=0
        ),
        MCEClassifier(Module(partial(nn.LazyLinear, 8)), optimizer=Adam(0.01, 30), random_state=0),
        MCEClassifier(
            Nystroem(Gaussian(ard=True), 8, "k-means", learned=True),
            optimizer=Adam(0.01, 30),
            random_state=0,
        ),
    ]
)
def test_scikit_learn_contract(estimator, check):
    with warnings.catch_warnings():
        warnings.filterwarnings("ignore", message="Lazy modules are a new feature")
        warnings.simplefilter("ignore", WideFeaturesWarning)  # the checks' tables are tiny
        check(estimator)


class Broken(FeatureMap):
    def apply(self, state, X):
        return X.log()


class Scalar(FeatureMap):
    def apply(self, state, X):
        return X.sum(dim=1)


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (
            lambda: Fourier(Linear()),
            "`kernel` of Fourier must be made of stationary kernels.*use Nystroem",
        ),
        (lambda: Fourier("rbf"), "`kernel` of Fourier must be a kernel, got 'rbf'"),
        (lambda: Fourier(Gaussian(), 1), "`n_components` of Fourier must be a whole number"),
        (lambda: Nystroem(3), "`kernel` of Nystroem must be a kernel, got 3"),
        (lambda: Nystroem(Gaussian(), 0), "`n_components` of Nystroem must be a whole number"),
        (
            lambda: Nystroem(Gaussian(), landmarks="best"),
            "`landmarks` of Nystroem must be 'uniform'",
        ),
        (lambda: Nystroem(Gaussian(), landmarks=[1.0]), "must be a table of rows"),
        (lambda: Polynomials(0), "`degree` of Polynomial must be a whole number"),
        (lambda: Network(()), "`layers` of Network must be a sequence of whole numbers"),
        (lambda: Network((8, 0)), "`layers` of Network must be a sequence"),
        (lambda: Network(activation="sine"), "`activation` of Network must be 'relu' or"),
        (lambda: Network(initialization="zero"), "`initialization` of Network must be"),
        (lambda: Network(dropout=1.0), "`dropout` of Network must be a number from 0 to below 1"),
        (lambda: Module(nn.Linear(2, 2)), "`recipe` of Module must be a function or class"),
        (lambda: Module(), "`recipe` of Module must be a function or class"),
    ],
)
def test_bad_recipes_are_named(make, message):
    with pytest.raises(InvalidInput, match=message):
        make()


def test_bad_maps_are_named(blobs):
    X, y = blobs
    for features, message in (
        (Module(dict), "`recipe` of Module must return a torch.nn.Module, got dict"),
        (
            Module(nn.Linear),
            "`recipe` of Module must make a module when it is called without arguments, got "
            "TypeError: .* missing 2 required positional arguments.*; give its arguments beforehand",
        ),
        (
            Module(partial(nn.Linear, 5, 2)),
            "`recipe` of Module must make a module that takes rows of 4 numbers, got RuntimeError",
        ),
        (
            Gaussian() @ Module(partial(nn.BatchNorm1d, 5)),
            "`recipe` of Module must make a module that takes rows of 4 numbers, got RuntimeError",
        ),
        (Broken(), "must give finite numbers, got NaN or infinity"),
        (Scalar(), r"must give one row of p numbers for each of .* rows, got \(\d+,\)"),
        (Nystroem(Gaussian(), landmarks=[[1.0, 2.0]]), "has 2 columns, but X has 4"),
    ):
        with pytest.raises(InvalidInput, match=message):
            MCEClassifier(features, random_state=0).fit(X, y)
    wide = np.random.default_rng(0).normal(size=(10, 300))
    with pytest.raises(
        InvalidInput, match=r"too many features of 300 columns.* Use the kernel Polynomial"
    ):
        MCEClassifier(Polynomials(3)).fit(wide, np.arange(10) % 2)
    for map in (Fourier(Gaussian()), Nystroem(Gaussian()), Network()):
        with pytest.raises(InvalidInput, match="fit an estimator with it, or call prepare"):
            map(X)
    spoiled = X.copy()
    spoiled[0, 0] = np.nan
    with pytest.raises(InvalidInput, match="X must hold finite numbers, got NaN in row 0"):
        MCEClassifier(Network((4,))).fit(spoiled, y)


class Deep(FeatureMap):
    def apply(self, state, X):
        return X[:, :, None]


class Foreign(FeatureMap):
    def apply(self, state, X):
        return X.detach().numpy()


class Few(FeatureMap):
    def apply(self, state, X):
        return X[:3]


@pytest.mark.parametrize(
    ("features", "message"),
    [
        (Deep(), r"must give one row of p numbers for each of 90 rows, got \(90, 4, 1\); flatten"),
        (Foreign(), "must give one row of p numbers for each of 90 rows, got ndarray"),
        (Few(), r"must give one row of p numbers for each of 90 rows, got \(3, 4\)"),
        (Broken(), "must give finite numbers, got NaN or infinity; scale its input"),
    ],
    ids=lambda part: type(part).__name__,
)
def test_maps_inside_a_kernel_are_checked_too(features, message, blobs):
    X, y = blobs
    with pytest.raises(InvalidInput, match=message):
        MCEClassifier(Gaussian() @ features, random_state=0).fit(X, y)
    with pytest.raises(InvalidInput, match=message):
        (Gaussian(1.0) @ features)(X)


def test_bad_chunks_are_named(blobs):
    X, y = blobs
    model = MCEClassifier(Fourier(Gaussian(), 16), random_state=0)
    with pytest.raises(
        InvalidInput, match="`classes` must be given in the first call of partial_fit"
    ):
        model.partial_fit(X, y)
    with pytest.raises(InvalidInput, match="`classes` must hold at least 2 labels"):
        model.partial_fit(X, y, classes=[0])
    model.partial_fit(X[:30], y[:30], classes=[0, 1, 2])
    with pytest.raises(InvalidInput, match=r"y must hold labels of the classes .* got 7 too"):
        model.partial_fit(X[:1], [7])
    with pytest.raises(InvalidInput, match="`classes` must be those of the first call"):
        model.partial_fit(X, y, classes=[0, 1])
    with pytest.raises(
        InvalidInput, match="X must hold fewer rows than were learned from, 30, got 90"
    ):
        model.forget(X, y)
    assert not hasattr(MCEClassifier(Gaussian()), "partial_fit")
    assert not hasattr(MCEClassifier(), "forget")


@pytest.mark.parametrize("dtype", ["float64", "float32"])
@pytest.mark.parametrize(
    "objective", [RademacherBound(), EmpiricalRisk()], ids=lambda o: type(o).__name__
)
def test_far_from_the_data_the_winner_is_that_of_p_hat(objective, dtype, blobs):
    X, y = blobs
    X = (X - X.mean(axis=0)) / X.std(axis=0)
    model = MCEClassifier(
        Gaussian(0.5), objective=objective, regularization=0.01, optimizer=None, dtype=dtype
    ).fit(X, y)
    far = np.concatenate([X + step for step in (0.5, 2.0, 3.0, 4.0, 1e3)])
    P, raw = model.predict_proba(far), model.decision_probabilities(far)
    assert (np.abs(raw).max(axis=1) < 1e-18).sum() > 90  # where all probabilities are 1/3
    np.testing.assert_array_equal(P.argmax(axis=1), raw.argmax(axis=1))
    np.testing.assert_array_equal(model.predict(far), raw.argmax(axis=1))
    np.testing.assert_array_equal(model.predict(far), model.decision_function(far).argmax(axis=1))
    np.testing.assert_allclose(P.sum(axis=1), 1.0, rtol=0, atol=1e-14)
    two = clone(model).fit(X[y < 2], y[y < 2])
    np.testing.assert_array_equal(two.decision_function(far) > 0, two.predict(far) == 1)
    np.testing.assert_array_equal(two.decision_probabilities(far).argmax(axis=1), two.predict(far))


@pytest.mark.parametrize("dtype", ["float64", "float32"])
def test_no_probability_is_zero(dtype, blobs):
    X, y = blobs
    for scale in (1e3, 1e9, 1e14):
        model = MCEClassifier(
            Linear(), objective=EmpiricalRisk(), dtype=dtype, optimizer=None, regularization=1e6
        ).fit(X, y)
        P = model.predict_proba(X * scale)
        assert (P > 0).all()
        assert np.isfinite(model.predict_log_proba(X * scale)).all()
        np.testing.assert_allclose(P.sum(axis=1), 1.0, rtol=0, atol=1e-14)
        np.testing.assert_array_equal(
            P.argmax(axis=1), model.decision_probabilities(X * scale).argmax(axis=1)
        )


def test_networks_have_no_known_supremum(points):
    with pytest.raises(NoSupremum, match="no finite supremum"):
        prepared(Network((4,)), points[0]).supremum()


DEVICES = [
    pytest.param(
        device,
        marks=[
            pytest.mark.gpu,
            pytest.mark.skipif(not there(), reason=f"no {device} device on this machine"),
        ],
    )
    for device, there in (
        ("cuda", torch.cuda.is_available),
        ("mps", torch.backends.mps.is_available),
    )
]
on_accelerators = pytest.mark.parametrize("device", DEVICES)
ON_DEVICES = [
    None,
    Fourier(Gaussian(ard=True), 64),
    Network((16, 8), dropout=0.0),
    Nystroem(Gaussian(), 30),
]
LEARNED = {
    "all rows": {"optimizer": LBFGS(max_iter=20)},
    "batches": {"optimizer": Adam(max_iter=20), "batch_size": 45},
    "validation": {"optimizer": Adam(max_iter=20), "validation_fraction": 0.3},
}


def dtypes_of(device):
    return ("float32",) if device == "mps" else ("float32", "float64")


@on_accelerators
@pytest.mark.parametrize("kernel", ON_DEVICES, ids=lambda k: type(k).__name__)
def test_an_accelerator_conditions_alike(kernel, device, blobs):
    X, y = blobs
    for dtype in dtypes_of(device):
        settings = {"optimizer": None, "random_state": 0, "dtype": dtype}
        near = MCEClassifier(kernel, **settings).fit(X, y)
        far = MCEClassifier(kernel, **settings, device=device).fit(X, y)
        assert far.embedding_.weights.device.type == device
        tolerance = 1e-6 if dtype == "float64" else 1e-2
        np.testing.assert_allclose(far.predict_proba(X), near.predict_proba(X), atol=tolerance)


@on_accelerators
@pytest.mark.parametrize("how", LEARNED)
@pytest.mark.parametrize(
    "kernel",
    [*ON_DEVICES, Gaussian() @ Network((16, 8)), Module(normalized_of_four)],
    ids=lambda k: type(k).__name__,
)
@pytest.mark.filterwarnings("ignore::torte.errors.ConvergenceWarning")
@pytest.mark.filterwarnings("ignore::torte.errors.PrecisionWarning")
def test_an_accelerator_learns(kernel, how, device, blobs):
    X, y = blobs
    for dtype in dtypes_of(device):
        model = MCEClassifier(kernel, **LEARNED[how], random_state=0, device=device, dtype=dtype)
        model.fit(X, y)
        assert model.objective_value_ < model.history_[0]["objective"]
        P = model.predict_proba(X)
        np.testing.assert_allclose(P.sum(axis=1), 1.0, rtol=0, atol=1e-12)
        assert model.embedding_.weights.device.type == device


@on_accelerators
def test_an_accelerator_adds_rows_and_takes_them_out(device, blobs):
    X, y = blobs
    for dtype in dtypes_of(device):
        settings = {"regularization": 0.01, "random_state": 0, "dtype": dtype, "device": device}
        model = MCEClassifier(Fourier(Gaussian(2.0), 48), **settings)
        for rows in (slice(0, 30), slice(30, 60), slice(60, 90)):
            model.partial_fit(X[rows], y[rows], classes=[0, 1, 2])
        whole = MCEClassifier(Fourier(Gaussian(2.0), 48), **settings, optimizer=None).fit(X, y)
        tolerance = 1e-8 if dtype == "float64" else 1e-2
        np.testing.assert_allclose(model.predict_proba(X), whole.predict_proba(X), atol=tolerance)
        model.forget(X[60:], y[60:])
        assert model._statistics.count == 60
