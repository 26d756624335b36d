"""Many rows: every route to the final system against the plain one, and the plan that picks it."""

from __future__ import annotations

import json
import pickle
from dataclasses import dataclass, replace

import numpy as np
import pytest
import torch

import naive
import torte.blocked
import torte.choosing
import torte.features.nystroem
import torte.kernels.tiles
import torte.large
import torte.plans
import torte.routes
from laws import KERNELS
from torte import MCEClassifier
from torte._weights import diagonal_shift
from torte.choosing import choose_regularization
from torte.conditioning import Description, condition
from torte.dual import solve_dual
from torte.embedding import FeatureLift
from torte.errors import (
    DoesNotFit,
    FallbackWarning,
    InvalidInput,
    NotConverged,
    NotPositiveDefinite,
)
from torte.features import Fourier, Nystroem, Polynomials
from torte.iterative import Woodbury, conjugate_gradients
from torte.kernels import Gaussian, Laplacian, Linear, Matern12
from torte.kernels.pivoting import partial_cholesky
from torte.kernels.tiles import ShiftedKernel, fill_upper
from torte.large import solve_by_iteration, solve_by_refinement
from torte.maps import FeatureMap
from torte.objectives import RademacherBound
from torte.optimizers import Adam
from torte.resources import available_memory
from torte.routes import Route, SolvePlan, plan_solution
from torte.statistics import measure


@pytest.fixture
def many(generator):
    """300 rows of 3 columns, labels of 4 classes, one-hot."""
    X = torch.randn(300, 3, dtype=torch.float64, generator=generator)
    y = (X[:, 0] > 0).long() + 2 * (X[:, 1] * X[:, 2] > 0).long()
    return X, y.numpy(), torch.eye(4, dtype=torch.float64)[y]


@pytest.fixture
def small_tiles(monkeypatch):
    monkeypatch.setattr(torte.kernels.tiles, "SIDE", 128)


@pytest.fixture
def weighs_everything(monkeypatch):
    """Plans as for many rows, on few."""
    monkeypatch.setattr(torte.routes, "FEW_ROWS", 10)


# -- matrices that are never formed ---------------------------------------------------


@pytest.mark.parametrize("kernel", KERNELS, ids=repr)
def test_a_product_in_tiles_is_the_product(kernel, many, small_tiles, generator):
    X = many[0][:150]
    kernel = kernel.prepare(X, None, generator)
    V = torch.randn(150, 2, dtype=torch.float64, generator=generator)
    shift = torch.rand(150, 1, dtype=torch.float64, generator=generator)
    expected = kernel.gram(X) @ V + shift * V
    A = kernel.represent(X)
    torch.testing.assert_close(ShiftedKernel(kernel, A, shift)(V), expected)
    others = kernel.represent(X[:20] + 0.1)
    torch.testing.assert_close(kernel.against(A)(others), kernel.compare(others, A))
    K = torch.full((150, 150), torch.nan, dtype=torch.float64)
    fill_upper(kernel, A, K)
    torch.testing.assert_close(K.triu(), kernel.gram(X).triu())


@pytest.mark.parametrize("kernel", [Gaussian(1.5), Laplacian(3.0), Linear() + 0.1], ids=repr)
def test_a_partial_factor_explains_its_pivots_and_no_more_than_there_is(kernel, many, generator):
    X = many[0]
    K = kernel.gram(X)
    F, pivots, residual = partial_cholesky(kernel, kernel.represent(X), 80, generator)
    left = K - F @ F.mT
    assert len(set(pivots.tolist())) == len(pivots) == F.shape[1]
    torch.testing.assert_close(left[pivots], torch.zeros_like(left[pivots]), atol=1e-8, rtol=0)
    torch.testing.assert_close(left.diagonal().clamp(min=0), residual, atol=1e-9, rtol=0)
    assert torch.linalg.eigvalsh(left).min() > -1e-8
    best = torch.linalg.eigvalsh(K)[: -F.shape[1]].sum()
    assert residual.sum() < 10 * best + 1e-7  # not far from the best of this rank


def test_a_factor_ends_where_the_rank_does(many, generator):
    F = partial_cholesky(Linear(), many[0], 80, generator).F
    assert F.shape == (300, 3)


def test_woodbury_is_the_inverse(many, generator):
    F = torch.randn(40, 7, dtype=torch.float64, generator=generator)
    R = torch.randn(40, 2, dtype=torch.float64, generator=generator)
    for shift in (0.3, torch.rand(40, 1, dtype=torch.float64, generator=generator) + 0.1):
        M = F @ F.mT + torch.diag((shift * torch.ones(40, 1, dtype=torch.float64)).flatten())
        torch.testing.assert_close(Woodbury(F, shift)(R), torch.linalg.solve(M, R))


def test_conjugate_gradients_end_with_a_residual_or_an_error(generator):
    Q, _ = torch.linalg.qr(torch.randn(50, 50, dtype=torch.float64, generator=generator))
    A = Q @ torch.diag(torch.logspace(0, 4, 50, dtype=torch.float64)) @ Q.mT
    B = torch.randn(50, 3, dtype=torch.float64, generator=generator)
    B[:, 1] = 0.0  # done before it begins
    found = conjugate_gradients(lambda V: A @ V, B, lambda R: R, 1e-8, 400)
    torch.testing.assert_close(found.X, torch.linalg.solve(A, B), atol=1e-8, rtol=1e-8)
    residual = (B - A @ found.X).norm(dim=0) / B.norm(dim=0).clamp(min=1e-300)
    assert found.residual == pytest.approx(float(residual.max()), rel=1e-6)
    assert 10 < found.iterations < 400
    with pytest.raises(NotConverged, match=r"5 iterations, with a relative residual.*solver"):
        conjugate_gradients(lambda V: A @ V, B, lambda R: R, 1e-8, 5)
    with pytest.raises(NotConverged, match=r"rounding errors stopped it"):
        conjugate_gradients(lambda V: A @ V, B, lambda R: R, 1e-30, 4000)


# -- the routes -----------------------------------------------------------------------


@pytest.mark.parametrize("regularization", [1e-3, 1e-7])
@pytest.mark.parametrize("kernel", [Gaussian(2.0), 0.5 * Laplacian(4.0) + Linear()], ids=repr)
def test_every_exact_route_gives_the_same_weights(kernel, regularization, many, generator):
    X, _, Y = many
    A, K = kernel.represent(X), kernel.gram(X)
    _, P, _ = naive.embedding(K.numpy(), Y.numpy(), regularization)
    plain = solve_dual(kernel, regularization, A, Y).V
    shift = diagonal_shift(regularization, Y, None)
    refined, by_factor = solve_by_refinement(kernel, shift, A, Y)
    iterated, by_iteration = solve_by_iteration(kernel, shift, A, Y, 100, generator)
    for found, tolerance in ((plain, 1e-7), (refined, 5e-7), (iterated, 5e-7)):
        np.testing.assert_allclose(K @ found, P, atol=tolerance)
    assert 0 < by_factor.iterations < 20
    assert by_factor.residual < 1e-6
    assert by_iteration.iterations > by_factor.iterations
    assert by_iteration.n_components <= 100
    # The bound on the error holds.
    assert float((K @ iterated - torch.as_tensor(P)).abs().max()) <= by_iteration.error < 5e-7


@pytest.mark.parametrize("solver", ["cholesky, refined", "conjugate-gradients", "features"])
def test_every_route_counts_weights_as_repeated_rows(solver, many, generator):
    X, _, Y = many
    X, Y = X[:300], Y[:300]
    weights = torch.arange(300, dtype=torch.float64) % 3 + 1
    again = torch.repeat_interleave(torch.arange(300), weights.long())
    name, _, precision = solver.partition(", ")
    plan = SolvePlan(name, precision, "asked for", rank=60, n_components=100)
    whole = SolvePlan("cholesky", "float64", "asked for")
    kernel = Gaussian(2.0)
    landmarks = Nystroem(kernel, landmarks=X[:100].numpy())
    start = Description(kernel if name != "features" else landmarks, 1e-3)

    def fitted(X, Y, weights, plan):
        return condition(start, X, Y, 1e-3, weights, plan=plan, generator=generator).embedding

    one = fitted(X, Y, weights, plan).decision_probabilities(X)
    two = fitted(X[again], Y[again], None, whole).decision_probabilities(X)
    torch.testing.assert_close(one, two, rtol=0, atol=1e-6)


def test_the_blocked_factorization_is_the_factorization(many, monkeypatch):
    X, _, Y = many
    kernel = Gaussian(2.0)
    A = kernel.represent(X)
    whole = solve_dual(kernel, 1e-4, A, Y)
    monkeypatch.setattr(torte.blocked, "BLOCKED_FROM", 10)
    monkeypatch.setattr(torte.blocked, "BLOCK_ROWS", 70)
    monkeypatch.setattr(torte.dual, "_TILED_FROM", 10)
    parts = solve_dual(kernel, 1e-4, A, Y)
    torch.testing.assert_close(parts.V, whole.V, atol=1e-9, rtol=1e-7)
    torch.testing.assert_close(parts.factor.L.tril(), whole.factor.L.tril(), atol=1e-9, rtol=0)
    assert parts.factor.L.data_ptr() == parts.memory.data_ptr()  # in place
    assert not torte.blocked.factorize_upper(-torch.eye(100, dtype=torch.float64))


@pytest.mark.parametrize("solver", ["cholesky", "conjugate-gradients", "features"])
def test_the_estimator_solves_as_it_is_told(solver, many, weighs_everything):
    X, y, _ = many
    X = X.numpy()
    given = {"kernel": Gaussian(1.0), "regularization": 1e-3, "optimizer": None}
    plain = MCEClassifier(**given).fit(X, y)
    model = MCEClassifier(**given, solver=solver, random_state=0).fit(X, y)
    assert model.plan_.solver == solver
    assert model.solution_.solver.startswith(solver)
    assert solver in str(model.plan_)
    # With n landmarks features are exact too.
    np.testing.assert_allclose(model.predict_proba(X), plain.predict_proba(X), atol=1e-5)
    again = MCEClassifier(**given, solver=solver, random_state=0).fit(X, y)
    np.testing.assert_array_equal(model.predict_proba(X), again.predict_proba(X))
    json.dumps([model.plan_.to_dict(), model.solution_.to_dict()])
    copy = pickle.loads(pickle.dumps(model))
    np.testing.assert_array_equal(model.predict_proba(X), copy.predict_proba(X))


def test_features_of_a_learned_kernel_keep_landmarks_alone(many, weighs_everything, monkeypatch):
    monkeypatch.setattr(torte.routes, "N_COMPONENTS", 50)
    X, y, _ = many
    model = MCEClassifier(
        Gaussian(ard=True), solver="features", optimizer=Adam(max_iter=20), random_state=0
    ).fit(X.numpy(), y)
    assert len(model.embedding_.weights) == model.plan_.n_components == 50
    assert model.score(X.numpy(), y) > 0.8
    assert isinstance(model.kernel_, Gaussian)
    with pytest.raises(InvalidInput, match=r"does not keep them.*give `X` and `y`"):
        model.approximate(Fourier(n_components=20))


# -- the plan -------------------------------------------------------------------------


def test_few_rows_are_solved_exactly_and_nothing_is_weighed(many):
    plan = plan_solution("auto", Gaussian(1.0), many[0], many[2])
    assert (plan.solver, plan.precision, plan.routes) == ("cholesky", "float64", ())


def test_the_plan_goes_by_memory_and_time(many, weighs_everything, monkeypatch):
    X, _, Y = many
    X, Y = X.repeat(40, 1), Y.repeat(40, 1)  # 12 000 rows
    kernel = Gaussian(1.0)
    memory = {(r.solver, r.precision): r.memory for r in plan_solution("auto", kernel, X, Y).routes}
    wide, narrow = memory["cholesky", "float64"], memory["cholesky", "float32, refined"]
    assert memory["conjugate-gradients", "float64"] != wide > narrow > 12_000**2 * 4

    def chosen(solver, free):
        plan = plan_solution(solver, kernel, X, Y, memory=free)
        return plan.solver, plan.precision

    assert chosen("cholesky", narrow + 1) == ("cholesky", "float32, refined")
    with pytest.raises(DoesNotFit, match=r"needs .* are free. solver='conjugate-gradients' takes"):
        plan_solution("cholesky", kernel, X, Y, memory=narrow - 1)
    with pytest.raises(DoesNotFit, match=r"No other solver fits either"):
        plan_solution("auto", kernel, X, Y, memory=1e6)
    monkeypatch.setattr(torte.routes, "PATIENCE", 0.0)
    plan = plan_solution("auto", kernel, X, Y)
    assert plan.solver == "features"
    assert "no exact way" in plan.why


def test_what_does_not_fit_is_told_before_it_is_allocated(many, weighs_everything, monkeypatch):
    monkeypatch.setattr(torte.routes, "available_memory", lambda device: 1_000_000)
    X, y, _ = many
    with pytest.raises(DoesNotFit, match=r"solver='cholesky' needs .* for 300 rows"):
        MCEClassifier(Gaussian(1.0), optimizer=None, solver="cholesky").fit(X.numpy(), y)
    assert issubclass(DoesNotFit, MemoryError)


def test_a_step_of_learning_that_does_not_fit_is_told(many, monkeypatch):
    monkeypatch.setattr(torte.plans, "FEW_ROWS", 10)
    monkeypatch.setattr(torte.plans, "available_memory", lambda device: 1_000_000)
    X, y, _ = many
    with pytest.raises(DoesNotFit, match=r"A step of learning on 300 rows.*`batch_size`"):
        MCEClassifier(Gaussian(1.0), optimizer=Adam(max_iter=2)).fit(X.numpy(), y)


def test_features_that_do_not_fit_are_told_before_they_are_drawn(many, monkeypatch):
    monkeypatch.setattr(torte.routes, "available_memory", lambda device: 2 * 10**9)
    X, y, _ = many
    told = r"gives 100000 features, whose sums and factor need 400\.\d GB, but 2\.0 GB are free; take fewer than 7071"
    with monkeypatch.context() as patch:
        patch.setattr(Fourier, "prepare", lambda *arguments: pytest.fail("it was drawn"))
        with pytest.raises(DoesNotFit, match=told + r".*Linear\(\) @ map.* 1 MB for 300 rows"):
            MCEClassifier(Fourier(Gaussian(), 100_000), optimizer=None).fit(X.numpy(), y)
    wide = Polynomials(20)  # how many they are is known once the columns are: 1771
    monkeypatch.setattr(torte.routes, "available_memory", lambda device: 10**8)
    with pytest.raises(DoesNotFit, match=r"gives 1771 features"):
        MCEClassifier(wide, optimizer=None).fit(X.numpy(), y)
    few = Nystroem(Gaussian(1.0), 100_000)  # no more than there are rows
    assert MCEClassifier(few, optimizer=None).fit(X.numpy(), y).plan_.n_components == 300


def test_a_step_through_features_that_does_not_fit_is_told(many, monkeypatch):
    monkeypatch.setattr(torte.plans, "FEW_ROWS", 10)
    monkeypatch.setattr(torte.plans, "available_memory", lambda device: 1_000_000)
    X, y, _ = many
    with pytest.raises(DoesNotFit, match=r"300 rows with 80 features each needs .*`batch_size`"):
        MCEClassifier(Fourier(Gaussian(1.0), 80), optimizer=Adam(max_iter=2)).fit(X.numpy(), y)


def test_auto_takes_another_way_where_an_iteration_does_not_converge(
    many, weighs_everything, monkeypatch
):
    monkeypatch.setattr(torte.large, "MAX_ITER", 3)
    monkeypatch.setattr(torte.routes, "_ITERATIONS", 0)  # so that iterations seem to be fastest
    monkeypatch.setattr(torte.routes, "solve_rank", lambda *arguments: 2)
    X, y, _ = many
    given = {"kernel": Matern12(1.0), "regularization": 1e-14, "optimizer": None, "random_state": 0}
    with pytest.warns(FallbackWarning, match=r"took conjugate-gradients .*takes cholesky \(float"):
        model = MCEClassifier(**given).fit(X.numpy(), y)
    assert model.plan_.solver == "cholesky"
    assert model.plan_.why == "conjugate-gradients did not converge"
    assert model.solution_.solver.startswith("cholesky")
    # Where no factor fits, features are next, and the plan, the solution and the rows kept agree.
    monkeypatch.setattr(torte.routes, "_best", without_cholesky(torte.routes._best))
    with pytest.warns(FallbackWarning, match=r"takes features \(float64\)"):
        model = MCEClassifier(**given).fit(X.numpy(), y)
    assert model.plan_.solver == model.solution_.solver == "features"
    assert model._table is None
    assert model.score(X.numpy(), y) > 0.9
    with pytest.raises(NotConverged):
        MCEClassifier(**given, solver="conjugate-gradients").fit(X.numpy(), y)
    monkeypatch.setattr(
        torte.routes, "_features_route", lambda *arguments: Route("features", "", 1e99, 0)
    )
    with pytest.raises(NotConverged):
        MCEClassifier(**given).fit(X.numpy(), y)


def without_cholesky(best):
    return lambda routes, free: best([r for r in routes if r.solver != "cholesky"], free)


def test_solvers_are_checked(many):
    X, y, _ = many
    with pytest.raises(InvalidInput, match=r"`solver` must be 'auto' or 'cholesky' or .* 'lu'"):
        MCEClassifier(solver="lu").fit(X.numpy(), y)
    with pytest.raises(InvalidInput, match=r"feature map, got 'conjugate-gradients'"):
        MCEClassifier(Fourier(Gaussian()), solver="conjugate-gradients").fit(X.numpy(), y)


def test_memory_of_this_machine_is_known():
    assert 2**20 < available_memory() < 2**50


def test_limits_of_control_groups_hold(tmp_path):
    own = tmp_path / "own"
    own.write_text("0::/jobs/one\n5:memory:/box\n2:cpu:/\n")
    group, outer, old = tmp_path / "jobs" / "one", tmp_path / "jobs", tmp_path / "memory" / "box"
    for folder in (group, old):
        folder.mkdir(parents=True)
    (group / "memory.max").write_text("max\n")
    (group / "memory.current").write_text("10\n")
    (outer / "memory.max").write_text("1000\n")
    (outer / "memory.current").write_text("400\n")
    (old / "memory.limit_in_bytes").write_text("90\n")
    (old / "memory.usage_in_bytes").write_text("20\n")
    from torte.resources import _control_groups

    assert list(_control_groups(tmp_path, own)) == [600, 70]
    assert list(_control_groups(tmp_path, tmp_path / "none")) == []


# -- lambda chosen again --------------------------------------------------------------


def test_lambda_is_the_best_by_leave_one_out(many, generator):
    X, _, Y = (part[:90] for part in many)
    features = Fourier(Gaussian(1.0), n_components=60).prepare(X, None, generator)
    lift = FeatureLift(features, features.settle(X), 60)
    Z, statistics = lift(X), measure(lift, X, Y)

    def loss(regularization):
        # n lambda is what acts, and the twin's rows are one fewer than lambda was meant for.
        P = naive.leave_one_out((Z @ Z.mT).numpy(), Y.numpy(), regularization)
        return -np.log((naive.clip_normalize(P, 1e-3) * Y.numpy()).sum(axis=1)).mean()

    for start in (1e-6, 1e-2, 10.0):
        choice = choose_regularization(statistics, Z, Y, 1e-3, start)
        assert choice.loss == min(choice.tried.values()) == choice.tried[choice.regularization]
        assert choice.loss == pytest.approx(loss(choice.regularization), abs=1e-6)
        for factor in (0.1, 10.0):
            assert choice.loss <= loss(choice.regularization * factor)
        torch.testing.assert_close(choice.W, statistics.solve(choice.regularization))
        assert len(choice.tried) < 20


def test_leave_one_out_turns_back_where_rounding_begins(generator):
    X = torch.randn(4000, 3, dtype=torch.float64, generator=generator)
    noise = torch.randn(4000, dtype=torch.float64, generator=generator)
    Y = torch.eye(2, dtype=torch.float64)[(X[:, 0] * X[:, 1] + 0.5 * noise > 0).long()]
    features = Nystroem(Gaussian(1.5), 300).prepare(X, None, generator)
    state = features.settle(X.float())  # one map, of which only the arithmetic differs
    state = type(state)(*(part.double() for part in state[:2]), [])
    narrow = FeatureLift(features, features.settle(X.float()), 300)
    wide = FeatureLift(features, state, 300)
    rounded, exact = measure(narrow, X.float(), Y.float()), measure(wide, X, Y)
    choice = choose_regularization(rounded, narrow(X.float()), Y.float(), 1e-3, 1e-9)
    assert choice.regularization > 1e-9
    assert min(choice.tried) >= 1e-10 * rounded.largest
    P = narrow(X.float()) @ choice.W
    change = (P.double() - wide(X) @ exact.solve(choice.regularization)).abs()
    assert change.mean() < 5e-3


def test_a_lambda_too_small_for_rounded_sums_is_passed_over(many):
    X, _, Y = (part[:90] for part in many)
    statistics = measure(FeatureLift(Linear3(), None, 3), X, Y)
    # As rounding does: one eigenvalue a little below zero.
    spoiled = replace(statistics, gram=statistics.gram - 1e-2 * torch.ones(3, 3).double() / 3)
    low = float(torch.linalg.eigvalsh(spoiled.gram)[0])
    spoiled = replace(spoiled, gram=spoiled.gram - (low + 0.1) * torch.eye(3).double())
    choice = choose_regularization(spoiled, X, Y, 1e-3, 1e-5)
    assert choice.tried[1e-5] == float("inf") > choice.loss
    assert choice.regularization * 90 > 0.1
    hopeless = replace(statistics, gram=statistics.gram - 1e9 * torch.eye(3).double())
    with pytest.raises(NotPositiveDefinite):
        choose_regularization(hopeless, X, Y, 1e-3, 1e-5)


@dataclass(frozen=True)
class Linear3(FeatureMap):
    """The columns themselves."""

    def apply(self, state, X):
        return X


def test_a_map_of_many_rows_learns_its_kernel_and_chooses_lambda_again(many, monkeypatch):
    monkeypatch.setattr(torte.plans, "FINISH_ROWS", 100)
    monkeypatch.setattr(torte.plans, "BATCHES", Adam(max_iter=15))
    monkeypatch.setattr(torte.plans, "FULL_ROWS", 100)
    monkeypatch.setattr(torte.plans, "BATCH", 80)
    X, y, _ = many
    X = np.hstack([X.numpy(), np.random.default_rng(0).normal(size=(300, 1))])
    for recipe in (
        Nystroem(Gaussian(ard=True), 60, landmarks="pivoted"),
        Fourier(Gaussian(ard=True), 80),
    ):
        model = MCEClassifier(recipe, random_state=0).fit(X, y)
        learned = model.kernel_.kernel.length_scale
        assert learned[3] > max(learned[:3])  # the column of noise counts least
        assert model.score(X, y) > 0.85
        assert model.n_iter_ == 15
        twin = MCEClassifier(
            model.kernel_, regularization=model.regularization_, optimizer=None
        ).fit(X, y)
        np.testing.assert_allclose(twin.predict_proba(X), model.predict_proba(X), atol=1e-9)


def test_narrow_features_sum_in_float64(many):
    X, y, _ = many
    given = {"regularization": 1e-4, "optimizer": None, "random_state": 0}
    recipe = Nystroem(Gaussian(2.0), 100)
    P = {
        dtype: MCEClassifier(recipe, dtype=dtype, **given)
        .fit(X.numpy(), y)
        .predict_proba(X.numpy())
        for dtype in ("float32", "float64")
    }
    np.testing.assert_allclose(P["float32"], P["float64"], atol=0.05)


# -- approximations -------------------------------------------------------------------


def test_approximations_cost_less_and_say_what_they_changed(many):
    from torte.approximations import Herding

    X, y, _ = many
    X = X.numpy()
    model = MCEClassifier(Gaussian(1.5), regularization=1e-3, optimizer=None, random_state=0).fit(
        X, y
    )
    before = model.predict_proba(X)
    changes = {}
    for how in (
        Nystroem(n_components=30),
        Nystroem(n_components=150),
        Fourier(n_components=50),
        Fourier(n_components=2000),
        Herding(40),
        Herding(160),
    ):
        small = model.approximate(how)
        told = small.approximation_
        change = np.abs(small.predict_proba(X) - before)
        assert told.rows == 300
        assert told.mean_change == pytest.approx(change.mean(), rel=1e-6)
        assert told.largest_change == pytest.approx(change.max(), rel=1e-6)
        assert told.agreement == (small.predict(X) == model.predict(X)).mean()
        assert told.n_components == len(small.embedding_.weights)
        changes[repr(how)] = told.mean_change
        given = MCEClassifier(
            Gaussian(1.5), regularization=1e-3, optimizer=None, random_state=0
        ).fit(X, y)
        np.testing.assert_allclose(
            given.approximate(how, X, y).predict_proba(X), small.predict_proba(X), atol=1e-8
        )
        assert len(pickle.dumps(small.embedding_)) < 12 * small.embedding_.weights.nbytes + 200_000
    values = list(changes.values())
    assert values[1] < values[0]
    assert values[3] < values[2]
    assert values[5] < values[4]
    np.testing.assert_array_equal(model.predict_proba(X), before)  # the model is untouched


def test_the_file_of_an_approximation_does_not_grow_with_the_rows(tmp_path):
    from torte.approximations import Herding

    rng = np.random.default_rng(0)
    X = rng.normal(size=(3000, 3))
    y = X[:, 0] * X[:, 1] + rng.normal(size=3000) > 0
    sizes = []
    for n in (1000, 3000):
        model = MCEClassifier(Gaussian(1.0), regularization=1e-6, optimizer=None, random_state=0)
        model.fit(X[:n], y[:n], 1.0 + np.arange(n) % 3)
        for how in (Nystroem(n_components=30), Herding(30)):
            small = model.approximate(how)
            small.save(tmp_path / "small.torte")
            sizes.append((tmp_path / "small.torte").stat().st_size)
        # The bound is that of all rows, at the epsilon of the model and nearly so elsewhere.
        own = small.decision_probabilities(X[:n])[np.arange(n), y[:n].astype(int)]
        for epsilon, tolerance in ((None, 1e-9), (0.3, 1e-3), (1e-6, 1e-3)):
            bound = small.risk_bound(epsilon=epsilon)
            logs = np.log(np.clip(own, epsilon or small.objective.epsilon, 1.0))
            risk = -np.average(logs, weights=1.0 + np.arange(n) % 3)
            assert bound.empirical_risk == pytest.approx(risk, rel=tolerance)
            assert bound.n == pytest.approx((1.0 + np.arange(n) % 3).sum())
    assert max(sizes) < min(sizes) + 1000


def test_approximations_say_what_was_taken(many):
    from torte.approximations import Herding

    X, y, _ = many
    model = MCEClassifier(Gaussian(1.5), optimizer=None, random_state=0).fit(X[:90].numpy(), y[:90])
    told = [
        model.approximate(how).approximation_.how
        for how in (Fourier(n_components=31), Nystroem(), Herding(200))
    ]
    assert told[0].startswith("Fourier(kernel=Gaussian(length_scale=1.5), n_components=30")
    assert told[1].startswith("Nystroem(kernel=Gaussian(length_scale=1.5), n_components=90")
    assert told[2] == "Herding(n_samples=90)"


def test_what_cannot_be_approximated_is_told(many):
    X, y, _ = many
    X = X.numpy()
    model = MCEClassifier(Linear(), optimizer=None).fit(X, y)
    with pytest.raises(InvalidInput, match=r"`how` must be Fourier"):
        model.approximate("fourier")
    with pytest.raises(InvalidInput, match=r"made of stationary kernels"):
        model.approximate(Fourier(n_components=10))
    with pytest.raises(InvalidInput, match=r"`X` and `y` must be given together"):
        model.approximate(Nystroem(n_components=10), X)
    features = MCEClassifier(Nystroem(Gaussian(1.0), 50), optimizer=None).fit(X, y)
    smaller = features.approximate(Nystroem(n_components=20), X, y)
    with pytest.raises(InvalidInput, match=r"an approximation does not keep"):
        smaller.partial_fit(X, y)


@pytest.mark.parametrize("block", [32, 512])
def test_a_folded_embedding_predicts_the_same(many, block, monkeypatch):
    monkeypatch.setattr(torte.features.nystroem, "_BLOCK", block)
    X, y, _ = many
    X = X.numpy()
    model = MCEClassifier(Nystroem(Gaussian(1.0), 80), optimizer=None, random_state=0).fit(X, y)
    Z = model.embedding_.lift(torch.as_tensor(X))
    np.testing.assert_allclose(
        Z @ model.embedding_.weights, model.decision_probabilities(X), atol=1e-9
    )
    points = torch.as_tensor(model.kernel_.points)
    across = Gaussian(1.0).gram(torch.as_tensor(X), points)
    projected = across @ torch.linalg.solve(Gaussian(1.0).gram(points), across.mT)
    torch.testing.assert_close(Z @ Z.mT, projected, atol=1e-6, rtol=0)


def test_iterations_work_on_a_learned_model_too(many, weighs_everything):
    X, y, _ = many
    X = X.numpy()
    fits = [
        MCEClassifier(
            Gaussian(ard=True), objective=RademacherBound(), solver=solver, random_state=0
        ).fit(X, y)
        for solver in ("cholesky", "conjugate-gradients")
    ]
    np.testing.assert_allclose(*(fit.predict_proba(X) for fit in fits), atol=1e-6)
