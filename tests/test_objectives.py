"""Objectives against their definitions, and every gradient against central differences."""

from __future__ import annotations

import dataclasses
import json
import math

import numpy as np
import pytest
import torch

import naive
import torte.embedding
from laws import KERNELS
from torte.conditioning import Description
from torte.dual import Dual
from torte.errors import InvalidInput
from torte.experiments.methods import paper_bound
from torte.kernels import Gaussian, Linear
from torte.learning import Plan, Problem, learn
from torte.objectives import (
    CrossValidation,
    EmpiricalRisk,
    MedianHeuristic,
    RademacherBound,
    cross_entropy,
    multiplier,
)
from torte.optimizers import LBFGS

KERNEL = 1.7 * Gaussian((0.8, 1.1, 1.6)) + 0.2


def terms_of(objective, points, regularization=0.03, kernel=KERNEL, judged=None):
    X, _, Y = points
    return Dual().evaluate(
        kernel, torch.tensor(regularization, dtype=torch.float64), X, Y, objective, judged
    )


@pytest.mark.parametrize("tau", [0.3, "4e", "4e/n"])
def test_training_objective_is_equation_8(points, tau):
    X, _, Y = points
    got = terms_of(RademacherBound(tau=tau, risk="training", epsilon=1e-15), points)
    K = KERNEL.gram(X).numpy()
    tau = {"4e": 4 * math.e, "4e/n": 4 * math.e / len(X)}.get(tau, tau)
    expected = naive.training_objective(K, Y.numpy(), 0.03, tau, 1e-15, supremum=1.9)
    np.testing.assert_allclose(got, expected, rtol=1e-10)


def test_leave_one_out_is_what_it_says(points):
    X, _, Y = points
    K, Y = KERNEL.gram(X).numpy(), Y.numpy()
    objective = RademacherBound(tau=0.0, epsilon=0.01)
    P = naive.clip_normalize(naive.leave_one_out(K, Y, 0.03), 0.01)
    losses = -np.log((P * Y).sum(axis=1))
    assert terms_of(objective, points).risk == pytest.approx(losses.mean(), rel=1e-9)
    some = torch.tensor([3, 11, 20])
    assert terms_of(objective, points, judged=some).risk == pytest.approx(
        losses[some.numpy()].mean(), rel=1e-9
    )


def test_validation_judges_other_rows(points):
    X, _, Y = points
    description = Description(Gaussian(1.0), 0.05)
    plan = Plan(LBFGS(), validation_fraction=0.4)
    objective = RademacherBound(tau=0.1, risk="training", epsilon=1e-6)
    problem = Problem(description, X, Y, objective, plan, torch.Generator().manual_seed(5))
    value, _ = problem.evaluate(problem.parameters.start)
    order = torch.randperm(23, generator=torch.Generator().manual_seed(5))
    V, T = order[:9].numpy(), order[9:].numpy()
    K = naive.gram(lambda x, y: naive.gaussian(x, y, (1.0,) * 3), X.numpy(), X.numpy())
    weights, _, trace = naive.embedding(K[np.ix_(T, T)], Y.numpy()[T], 0.05)
    own = (K[np.ix_(V, T)] @ weights * Y.numpy()[V]).sum(axis=1)
    expected = -np.log(np.clip(own, 1e-6, 1)).mean() + 0.1 * math.sqrt(trace)
    assert value == pytest.approx(expected, rel=1e-9)


def test_cross_validation_holds_every_row_out_once(points):
    X, _, Y = points
    generator = torch.Generator().manual_seed(2)
    objective = CrossValidation(folds=4, epsilon=1e-6)
    problem = Problem(Description(Gaussian(1.0), 0.05), X, Y, objective, Plan(LBFGS()), generator)
    value, _ = problem.evaluate(problem.parameters.start)
    parts = torch.randperm(23, generator=torch.Generator().manual_seed(2)).chunk(4)
    K, Y = Gaussian(1.0).gram(X).numpy(), Y.numpy()
    losses = []
    for part in parts:
        rest = np.setdiff1d(np.arange(23), part.numpy())
        V, _, _ = naive.embedding(K[np.ix_(rest, rest)], Y[rest], 0.05)
        own = (K[np.ix_(part, rest)] @ V * Y[part]).sum(axis=1)
        losses.append(-np.log(np.clip(own, 1e-6, 1)).mean())
    assert value == pytest.approx(np.mean(losses), rel=1e-9)


RISKS = {
    "training": (RademacherBound(tau="4e/n", risk="training", epsilon=1e-15), {}),
    "leave-one-out": (RademacherBound(tau=0.3, epsilon=0.02, shrinkage=0.5), {}),
    "leave-some-out": (RademacherBound(tau=0.3, epsilon=0.02), {"left_out": 7}),
    "validation": (RademacherBound(tau=0.1, risk="training"), {"validation_fraction": 0.3}),
    "empirical": (EmpiricalRisk(), {}),
    "cross-validation": (CrossValidation(folds=3), {}),
}


@pytest.mark.parametrize("block", [2**20, 60], ids=["one block", "many blocks"])
@pytest.mark.parametrize("risk", RISKS)
@pytest.mark.parametrize("kernel", KERNELS, ids=repr)
def test_gradient_agrees_with_central_differences(kernel, risk, block, points, monkeypatch):
    monkeypatch.setattr(torte.embedding, "BLOCK", block)
    X, _, Y = points
    objective, settings = RISKS[risk]
    kernel = kernel.prepare(X, None, torch.Generator().manual_seed(0))
    plan = Plan(LBFGS(), **settings)
    description = Description(kernel, 0.05)
    problem = Problem(description, X, Y, objective, plan, torch.Generator().manual_seed(1))
    at = problem.parameters.start + 0.1
    _, gradient = problem.evaluate(at)
    expected = naive.central_differences(lambda free: problem.evaluate(free)[0], at)
    assert np.abs(gradient - expected).max() <= 1e-6 * np.abs(expected).max()


def test_only_the_ratio_of_variance_and_lambda_matters(points):
    # Findings: for a stationary kernel q is unchanged when both are scaled together.
    objective = RademacherBound(tau=0.5, risk="training")
    once = terms_of(objective, points, 0.02, 1.0 * Gaussian(1.0))
    thrice = terms_of(objective, points, 0.06, 3.0 * Gaussian(1.0))
    np.testing.assert_allclose(once, thrice, rtol=1e-10)


def test_unbounded_kernels_use_the_rows_at_hand(points):
    X, _, Y = points
    got = terms_of(RademacherBound(tau=1.0, risk="training"), points, kernel=Linear())
    _, _, trace = naive.embedding((X @ X.mT).numpy(), Y.numpy(), 0.03)
    assert got.complexity == pytest.approx(math.sqrt(trace * float((X * X).sum(dim=1).max())))


def test_loss_is_clipped_on_both_sides():
    P = torch.tensor([[0.5, 0.5], [2.0, -1.0], [-1.0, 2.0]], dtype=torch.float64)
    Y = torch.tensor([[1.0, 0.0], [1.0, 0.0], [1.0, 0.0]], dtype=torch.float64)
    assert float(cross_entropy(P, Y, 1e-3)) == pytest.approx((math.log(2) + math.log(1e3)) / 3)


def test_multipliers_by_name():
    assert multiplier("4e", 10) == pytest.approx(4 * math.e)
    assert multiplier("4e/n", 10) == pytest.approx(0.4 * math.e)
    assert multiplier(0.7, 10) == 0.7


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda: RademacherBound(tau=-1), "`tau` must be a number of at least 0, '4e' or '4e/n'"),
        (lambda: RademacherBound(tau="five"), "`tau` must be a number of at least 0.*got 'five'"),
        (lambda: RademacherBound(risk="loo"), "`risk` must be 'leave-one-out' or 'training'"),
        (lambda: RademacherBound(left_out=0), "`left_out` must be a whole number"),
        (lambda: RademacherBound(shrinkage=-1.0), "`shrinkage` must be a number of at least 0"),
        (lambda: EmpiricalRisk(epsilon=0.5), "`epsilon` of EmpiricalRisk must be a number between"),
        (lambda: MedianHeuristic(epsilon=0), "`epsilon` of MedianHeuristic"),
        (lambda: CrossValidation(folds=1), "`folds` of CrossValidation must be a whole number"),
        (lambda: CrossValidation(folds=True), "`folds` .* must be a whole number .*, got True"),
        (lambda: RademacherBound(tau=math.inf), "`tau` must be a number of at least 0, .*got inf"),
        (lambda: RademacherBound(alpha=math.inf), "`alpha` must be a positive number, .*got inf"),
        (lambda: RademacherBound(shrinkage=math.inf), "`shrinkage` must be a number .*, got inf"),
        (lambda: RademacherBound(left_out=True), "`left_out` must be a whole number .* got True"),
        (lambda: RademacherBound(risk=np.ones(2)), "`risk` must be 'leave-one-out' or 'training'"),
    ],
)
def test_bad_settings_are_named(make, message):
    with pytest.raises(InvalidInput, match=message):
        make()


def test_numbers_of_numpy_are_numbers():
    bound = RademacherBound(tau=np.int64(1), left_out=np.arange(4)[3], alpha=np.float32(0.5))
    assert repr(bound) == repr(RademacherBound(tau=1, left_out=3, alpha=0.5))
    assert json.loads(json.dumps(bound.to_dict())) == bound.to_dict()
    assert CrossValidation(folds=np.int64(3)) == CrossValidation(folds=3)


def history_of(objective, points):
    X, _, Y = points
    description = Description(Gaussian((0.8, 1.1, 1.6)), 0.05)
    plan = Plan(LBFGS(max_iter=8), to_the_end=False)
    return learn(description, X, Y, objective, plan, torch.Generator()).history


def test_shrinkage_is_that_of_the_risk_unless_it_is_given(points):
    def values(objective):
        return [step["objective"] for step in history_of(objective, points)]

    said = RademacherBound(tau="4e/n", risk="training", epsilon=1e-15)
    assert values(said) == values(paper_bound())
    assert values(said) != values(dataclasses.replace(said, shrinkage=1.0))
    assert values(RademacherBound()) == values(RademacherBound(shrinkage=1.0))
    assert values(RademacherBound()) != values(RademacherBound(shrinkage=0.0))


def test_objectives_are_values():
    assert dataclasses.replace(RademacherBound(), tau=0.1) == RademacherBound(tau=0.1)
    assert RademacherBound.from_dict(RademacherBound(tau=0.1).to_dict()) == RademacherBound(tau=0.1)
