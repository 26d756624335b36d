"""From values to vectors and back, the optimizers, the factorization, and the plans."""

from __future__ import annotations

import warnings
from dataclasses import dataclass

import numpy as np
import pytest
import torch
from torch.testing import assert_close

import torte.plans
from torte import MCEClassifier
from torte.conditioning import Description
from torte.dual import Dual
from torte.errors import (
    ConvergenceWarning,
    InterruptedWarning,
    InvalidInput,
    JitterWarning,
    MissingClassWarning,
    NotPositiveDefinite,
)
from torte.features import Fourier, Network
from torte.inspection import curves, inspect_model
from torte.kernels import Gaussian, Laplacian, Linear, Periodic
from torte.learning import Plan, Problem, learn
from torte.objectives import CrossValidation, MedianHeuristic, RademacherBound
from torte.optimizers import LBFGS, Adam
from torte.parameters import Parameters, Parametric, fraction, positive, real
from torte.plans import FULL_ROWS, plan
from torte.solvers import factorize


@dataclass(frozen=True)
class Mixture(Parametric):
    share: float = fraction(0.3)
    shift: float = real(-1.5)
    widths: tuple[float, ...] = positive((1.0, 2.0))


def test_free_vector_is_logs_logits_and_numbers():
    parameters = Parameters(Mixture())
    expected = [np.log(0.3 / 0.7), -1.5, 0.0, np.log(2)]
    np.testing.assert_allclose(parameters.start, expected)
    again = parameters.freeze(parameters.start)
    assert (again.share, again.shift) == pytest.approx((0.3, -1.5))
    assert again.widths == pytest.approx((1.0, 2.0))
    moved = parameters.freeze(parameters.start + 30.0)
    assert 0 < moved.share <= 1
    assert moved.shift == 28.5


def test_chain_rule_of_every_constraint():
    parameters = Parameters(Mixture())

    def value(free):
        built, tensors = parameters.build(free, torch.float64, torch.device("cpu"))
        return built.share * built.shift**2 + (built.widths * built.share).sum(), tensors

    at = parameters.start + 0.2
    total, tensors = value(at)
    total.backward()
    gradient = parameters.gradient(at, tensors)
    for i in range(4):
        step = 1e-6 * np.eye(4)[i]
        difference = (value(at + step)[0] - value(at - step)[0]).item() / 2e-6
        assert gradient[i] == pytest.approx(difference, rel=1e-7)


def test_paths_reach_into_expressions_and_fixed_parts_stay():
    kernel = 2.0 * Gaussian((1.0, 3.0)) + Periodic(1.0, period=7.0).fix("period") + Linear().fix()
    parameters = Parameters(Description(kernel, 0.1))
    assert len(parameters.start) == 5  # constant, two length scales, one of Periodic, lambda
    learned = parameters.freeze(parameters.start + np.log(2.0))
    assert learned.regularization == pytest.approx(0.2)
    assert "period=7.0" in repr(learned.kernel)
    assert "4.0 * Gaussian(length_scale=(2.0" in repr(learned.kernel).replace(
        "4.000000000000001", "4.0"
    )


def test_floors_and_held_leaves():
    parameters = Parameters(
        Description(Gaussian(1.0), 0.1),
        floors={("regularization",): 1e-9},
        held=lambda leaf: leaf.path[-1] == "length_scale",
    )
    assert parameters.start.shape == (1,)
    assert parameters.bounds[0, 0] == pytest.approx(np.log(1e-9))


def test_spread_is_free_of_a_common_factor():
    parameters = Parameters(Gaussian((1.0, 2.0, 5.0)))
    value, slope = parameters.spread(parameters.start + 0.7)
    assert value == pytest.approx(0.0)
    np.testing.assert_allclose(slope, 0.0, atol=1e-12)
    assert parameters.spread(parameters.start + np.array([0.0, 0.0, 3.0]))[0] == pytest.approx(6.0)


def bowl(free):
    """A long valley with its lowest point at (1, -2)."""
    difference = free - np.array([1.0, -2.0])
    weights = np.array([1.0, 50.0])
    return float(weights @ difference**2), 2 * weights * difference


BOUNDS = np.array([[-5.0, 5.0], [-5.0, 5.0]])


@pytest.mark.parametrize(
    "optimizer", [LBFGS(), Adam(0.1, max_iter=400), Adam(0.1, max_iter=2000, tol=1e-4)], ids=repr
)
def test_optimizers_find_the_bottom(optimizer):
    outcome = optimizer.minimize(bowl, np.zeros(2), BOUNDS)
    np.testing.assert_allclose(outcome.free, [1.0, -2.0], atol=2e-2)
    assert outcome.converged


@pytest.mark.parametrize("optimizer", [LBFGS(), Adam(0.5, max_iter=200)], ids=repr)
def test_optimizers_respect_bounds(optimizer):
    tight = np.array([[-5.0, 0.5], [-1.0, 5.0]])
    visited = []

    def watched(free):
        visited.append(free.copy())
        return bowl(free)

    outcome = optimizer.minimize(watched, np.zeros(2), tight)
    np.testing.assert_allclose(outcome.free, [0.5, -1.0], atol=1e-6)
    assert (np.array(visited) >= tight[:, 0] - 1e-12).all()
    assert (np.array(visited) <= tight[:, 1] + 1e-12).all()


def test_adam_stops_by_its_rule_and_averages():
    steps = []

    def flat(free):
        steps.append(free)
        return 1.0, np.zeros(2)

    outcome = Adam(max_iter=1000, tol=1e-3).minimize(flat, np.zeros(2), BOUNDS)
    assert len(steps) == 200
    assert outcome.converged


@pytest.mark.parametrize("tol", [0.0, 1e-3])
@pytest.mark.parametrize("average", [0.0, 0.1, 1 / 3, 1.0])
def test_adam_averages_the_last_share_of_its_steps(tol, average):
    visited = []

    def watched(free):
        visited.append(free.copy())
        return bowl(free)

    Adam(0.1, max_iter=201, tol=tol).minimize(watched, np.zeros(2), BOUNDS)
    steps, path = len(visited), []
    outcome = Adam(0.1, max_iter=201, tol=tol, average=average).minimize(bowl, np.zeros(2), BOUNDS)
    for taken in range(1, steps + 1):  # where so many steps end
        path.append(Adam(0.1, max_iter=taken).minimize(bowl, np.zeros(2), BOUNDS).free)
    tail = path[-max(1, round(average * steps)) :]
    np.testing.assert_allclose(outcome.free, np.mean(tail, axis=0), rtol=1e-12)


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda: Adam(max_iter=0), "`max_iter` of Adam must be a whole number .* got 0"),
        (lambda: Adam(max_iter=2.5), "`max_iter` of Adam must be a whole number .* got 2.5"),
        (lambda: Adam("a"), "`learning_rate` of Adam must be a positive number, got 'a'"),
        (lambda: Adam(-1), "`learning_rate` of Adam must be a positive number, got -1"),
        (lambda: Adam(tol="x"), "`tol` of Adam must be a number of at least 0, got 'x'"),
        (lambda: Adam(average=2.0), "`average` of Adam must be a number from 0 to 1, got 2.0"),
        (lambda: Adam(average=-1), "`average` of Adam must be a number from 0 to 1, got -1"),
        (lambda: LBFGS(max_iter=-3), "`max_iter` of LBFGS must be a whole number .* got -3"),
        (lambda: LBFGS(max_iter="a"), "`max_iter` of LBFGS must be a whole number .* got 'a'"),
        (lambda: LBFGS(tol=-1), "`tol` of LBFGS must be a number of at least 0, got -1"),
        (lambda: LBFGS(tol=np.nan), "`tol` of LBFGS must be a number of at least 0, got nan"),
    ],
)
def test_bad_settings_of_optimizers_are_named(make, message):
    with pytest.raises(InvalidInput, match=message):
        make()
    assert LBFGS(max_iter=np.int64(5)) == LBFGS(max_iter=5)


def test_unfinished_learning_is_announced(points):
    X, _, Y = points
    description = Description(Gaussian(1.0), 1.0)
    objective = RademacherBound()
    generator = torch.Generator().manual_seed(0)
    with pytest.warns(ConvergenceWarning, match="Learning ended before its tolerance was met"):
        learn(description, X, Y, objective, Plan(LBFGS(max_iter=2)), generator)
    few = Plan(LBFGS(max_iter=2), to_the_end=False)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        learned = learn(description, X, Y, objective, few, generator)
    assert learned.objective_value == min(step["objective"] for step in learned.history)


def test_factor_solves_and_inverts(points):
    A = points[0] @ points[0].mT + torch.eye(23, dtype=torch.float64)
    factor = factorize(lambda jitter: A.clone(), unit=1.0)
    B = torch.randn(23, 4, dtype=torch.float64, generator=torch.Generator().manual_seed(0))
    assert_close(A @ factor.solve(B), B)
    assert_close(A @ factor.inverse_columns(None), torch.eye(23, dtype=torch.float64))
    memory = torch.full((23, 23), torch.nan, dtype=torch.float64).mT
    assert factor.inverse_columns(None, memory).data_ptr() == memory.data_ptr()
    assert_close(A @ memory, torch.eye(23, dtype=torch.float64))
    assert_close(factor.inverse_columns(None, memory.float()), memory)
    some = torch.tensor([2, 5])
    assert_close(factor.inverse_columns(some), torch.linalg.inv(A)[:, some])


@pytest.mark.parametrize("judged", [None, torch.tensor([1, 4])])
def test_memory_kept_between_steps_changes_nothing(points, judged):
    X, Y = points[0], torch.eye(2, dtype=torch.float64)[torch.arange(23) % 2]
    regularization = torch.tensor(0.1, dtype=torch.float64)

    def step(form, scale, n):
        at = (regularization, X[:n], Y[:n], RademacherBound(), judged)
        return form.evaluate(Gaussian(scale), *at)

    form = Dual()
    for scale, n in ((1.0, 23), (2.0, 23), (2.0, 11), (1.0, 23)):
        np.testing.assert_array_equal(step(form, scale, n), step(Dual(), scale, n))


def test_only_the_upper_triangle_is_read(points):
    A = points[0] @ points[0].mT + torch.eye(23, dtype=torch.float64)
    factor = factorize(lambda jitter: A.triu() + torch.full_like(A, torch.nan).tril(-1), unit=1.0)
    assert_close(factor.L.tril() @ factor.L.tril().mT, A)


def test_jitter_grows_until_it_works_and_is_told():
    singular = torch.ones(5, 5, dtype=torch.float64)
    singular[0, 0] -= 1e-12

    def assemble(jitter):
        return singular + jitter * torch.eye(5, dtype=torch.float64)

    with pytest.warns(JitterWarning, match="more on its diagonal made it so"):
        factorize(assemble, unit=1.0)


@pytest.mark.parametrize("entry", [-5.0, float("nan")])
def test_hopeless_matrices_are_an_error_of_their_own(entry):
    hopeless = torch.eye(3, dtype=torch.float64) * entry
    with pytest.raises(
        NotPositiveDefinite, match=r"A \+ n lambda I \(3 x 3, float64\) is not positive"
    ):
        factorize(lambda jitter: hopeless + jitter * torch.eye(3), unit=1.0)


def kinds(estimator, kernel, n):
    return [type(step.optimizer).__name__ for step in plan(estimator, kernel, n)]


def test_the_plan_behind_auto():
    default, kernel = MCEClassifier(), Gaussian((1.0,))
    assert kinds(default, kernel, FULL_ROWS) == ["LBFGS"]
    assert kinds(default, kernel, FULL_ROWS + 1) == ["Adam", "LBFGS"]
    assert kinds(MCEClassifier(batch_size=50), kernel, 200) == ["Adam", "LBFGS"]
    assert kinds(MCEClassifier(optimizer=None), kernel, 200) == []
    assert kinds(MCEClassifier(objective=MedianHeuristic()), kernel, 200) == []
    assert kinds(MCEClassifier(optimizer=Adam()), kernel, 10_000) == ["Adam"]
    X = torch.randn(20, 2, dtype=torch.float64, generator=torch.Generator().manual_seed(0))
    network = Network((4,)).prepare(X, None, torch.Generator())
    fourier = Fourier(Gaussian(1.0), 8).prepare(X, None, torch.Generator())
    assert kinds(default, network, 20) == ["Adam", "LBFGS"]
    assert kinds(default, fourier, 20) == ["LBFGS"]


def test_lbfgs_refuses_random_batches(blobs):
    X, y = blobs
    model = MCEClassifier(Gaussian(), optimizer=LBFGS(), batch_size=30)
    with pytest.raises(
        InvalidInput, match=r"`batch_size` must be None with LBFGS, .* got 30; use optimizer=Adam"
    ):
        model.fit(X, y)


def test_lambda_follows_the_rows_under_auto_only(blobs):
    X, y = blobs
    start = {
        "kernel": (Gaussian(1.0) + Laplacian(1.0)).fix(),
        "regularization": 0.3,
        "random_state": 0,
    }
    kept = MCEClassifier(**start, batch_size=30, optimizer=Adam(0.0001, max_iter=2)).fit(X, y)
    assert kept.regularization_ == pytest.approx(0.3, rel=1e-2)
    assert MCEClassifier(**start, batch_size=30).fit(X, y).regularization_ != pytest.approx(
        0.3, rel=1e-2
    )


@pytest.fixture
def short_plans(monkeypatch):
    """Batches from 60 rows on, and few steps."""
    monkeypatch.setattr(torte.plans, "FULL_ROWS", 60)
    monkeypatch.setattr(torte.plans, "BATCH", 40)
    monkeypatch.setattr(torte.plans, "BATCHES", Adam(max_iter=5))


def test_one_clock_runs_through_all_runs(blobs, short_plans):
    model = MCEClassifier(Gaussian(), random_state=0).fit(*blobs)
    seconds = [step["seconds"] for step in model.history_]
    assert seconds == sorted(seconds)
    assert [step.get("run", 1) for step in model.history_[:6]] == [1, 1, 1, 1, 1, 2]
    found = curves(inspect_model(model))
    assert found.starts == (0, 5)
    assert found.seconds == seconds[-1]


@pytest.mark.parametrize(
    ("optimizer", "call", "message"),
    [
        ("auto", 2, "before its first step; every hyperparameter stays at its start"),
        (LBFGS(), 1, "after 0 steps; the best hyperparameters so far are kept"),
    ],
)
def test_control_c_before_the_first_step_keeps_the_start(
    blobs, monkeypatch, optimizer, call, message
):
    evaluate = Problem.evaluate
    calls = []

    def interrupted(problem, free):
        calls.append(free)
        if len(calls) == call:
            raise KeyboardInterrupt
        return evaluate(problem, free)

    monkeypatch.setattr(Problem, "evaluate", interrupted)
    start = {"kernel": Gaussian(2.0), "regularization": 0.3}
    model = MCEClassifier(**start, optimizer=optimizer, random_state=0)
    with pytest.warns(InterruptedWarning, match=message):
        model.fit(*blobs)
    assert model.kernel_.length_scale == pytest.approx(2.0)
    assert model.regularization_ == pytest.approx(0.3)
    assert np.isfinite(model.objective_value_)
    assert len(model.history_) == 1


def test_classes_missing_from_automatic_batches_are_announced(blobs, short_plans):
    X, y = blobs
    few = np.r_[np.flatnonzero(y != 2), np.flatnonzero(y == 2)[:1]]
    model = MCEClassifier(Gaussian(), random_state=0)
    message = (
        "`batch_size` None, here 40 rows, leaves some batches without a row of the rarest of the 3 "
        "classes, which has 1 of 61 rows; a larger batch_size"
    )
    with pytest.warns(MissingClassWarning, match=message):
        model.fit(X[few], y[few])
    with warnings.catch_warnings():
        warnings.simplefilter("error")  # all rows in every step; nothing is learned
        MCEClassifier(Gaussian(), random_state=0).fit(X[few[1:]], y[few[1:]])
        MCEClassifier(Gaussian(), optimizer=None, batch_size=2).fit(X[few], y[few])


def test_folds_are_averaged_in_the_history(blobs):
    X, y = blobs
    model = MCEClassifier(Gaussian(), objective=CrossValidation(folds=3), optimizer=None).fit(X, y)
    assert model.history_[0]["risk"] == model.objective_value_
