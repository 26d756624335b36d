"""Laws of kernels on objects, similarities and records; values against loops and definitions."""

from __future__ import annotations

import itertools
import json
import pickle
from dataclasses import dataclass

import networkx as nx
import numpy as np
import pandas as pd
import pytest
import torch
from sklearn.base import clone
from torch.testing import assert_close

import naive
import torte.embedding
import torte.kernels
import torte.kernels.bags
import torte.kernels.counts
from things import BAGS, FRAME, GRAPHS, KERNELS, LABELS, MATRICES, MATRIX, STRINGS
from torte import MCEClassifier
from torte.conditioning import Description
from torte.errors import InvalidInput, NoSupremum
from torte.kernels import (
    Gaussian,
    GaussianOf,
    Kernel,
    Linear,
    MeanEmbedding,
    Precomputed,
    Spectrum,
    Subsequence,
    WeisfeilerLehman,
    positive,
)
from torte.kernels.base import wrap
from torte.learning import Plan, Problem
from torte.objectives import CrossValidation, RademacherBound
from torte.objects import Objects, Records, cut
from torte.optimizers import LBFGS

everyone = pytest.mark.parametrize(("kernel", "data"), KERNELS, ids=[repr(k) for k, _ in KERNELS])
ONE_HOT = torch.eye(3, dtype=torch.float64)[LABELS]


def entered(kernel, data):
    """The rows as the kernel takes them, and the kernel with names found."""
    rows = wrap(data, kernel.takes)
    names = rows.names if isinstance(rows, Records) else None
    return rows, kernel.prepare(rows, names, torch.Generator().manual_seed(0))


@everyone
def test_gram_is_symmetric_and_positive(kernel, data):
    rows, kernel = entered(kernel, data)
    K = kernel.gram(rows)
    assert_close(K, K.mT)
    assert torch.linalg.eigvalsh(K).min() > -1e-10 * K.diagonal().max()


@everyone
def test_diagonal_is_that_of_the_gram_and_below_the_supremum(kernel, data):
    rows, kernel = entered(kernel, data)
    norms = kernel.diagonal(rows)
    assert_close(norms, kernel.gram(rows).diagonal())
    if "Precomputed" in repr(kernel) or "Linear" in repr(kernel):
        with pytest.raises(NoSupremum, match=r"sup k\(x, x\)|supremum of k\(x, x\)"):
            kernel.supremum()
    else:
        assert norms.max() <= float(kernel.supremum()) + 1e-12


normalized = [
    (k, d) for k, d in KERNELS if isinstance(k, (Spectrum, Subsequence, WeisfeilerLehman))
]


@pytest.mark.parametrize(("kernel", "data"), normalized, ids=[repr(k) for k, _ in normalized])
def test_normalized_kernels_have_ones_on_the_diagonal(kernel, data):
    np.testing.assert_allclose(np.diag(kernel(data)), 1.0, rtol=1e-12)
    assert kernel.supremum() == 1.0


@everyone
def test_expression_json_pickle_hash_and_clone(kernel, data):
    assert eval(repr(kernel), dict(vars(torte.kernels))) == kernel
    assert Kernel.from_dict(json.loads(json.dumps(kernel.to_dict()))) == kernel
    assert pickle.loads(pickle.dumps(kernel)) == kernel
    assert hash(clone(MCEClassifier(kernel)).kernel) == hash(kernel)


@everyone
def test_rows_of_any_selection_are_rows_of_the_whole(kernel, data):
    rows, kernel = entered(kernel, data)
    K, A = kernel.gram(rows), kernel.represent(rows)
    some = torch.tensor([11, 2, 7, 19])
    assert_close(kernel.gram(rows[some]), K[some][:, some])
    assert_close(kernel.gram(rows[5:12]), K[5:12, 5:12])
    assert_close(kernel.gram(rows[some][1:3]), K[some[1:3]][:, some[1:3]])
    assert_close(kernel.compare(cut(A, some), cut(A, slice(3, 9))), K[some][:, 3:9])


@everyone
@pytest.mark.parametrize(
    ("block", "held_out"),
    [(2**20, 0.0), (60, 0.0), (2**20, 0.3)],
    ids=["one block", "many blocks", "held out"],
)
def test_gradients_agree_with_central_differences(kernel, data, block, held_out, monkeypatch):
    monkeypatch.setattr(torte.embedding, "BLOCK", block)
    monkeypatch.setattr(torte.kernels.bags, "_BLOCK", 300)
    rows, kernel = entered(kernel, data)
    objective = RademacherBound(tau=0.3, epsilon=0.02, shrinkage=0.5)
    plan = Plan(LBFGS(), validation_fraction=held_out)
    generator = torch.Generator().manual_seed(1)
    problem = Problem(Description(kernel, 0.05), rows, ONE_HOT, objective, plan, generator)
    at = problem.parameters.start + 0.1 * np.cos(np.arange(len(problem.parameters.start)))
    _, gradient = problem.evaluate(at)
    expected = naive.central_differences(lambda free: problem.evaluate(free)[0], at)
    assert np.abs(gradient - expected).max() <= 1e-6 * np.abs(expected).max()


@everyone
def test_learns_predicts_in_blocks_and_survives_pickling(kernel, data, monkeypatch):
    model = MCEClassifier(kernel, optimizer=LBFGS(max_iter=3), regularization=0.01, random_state=0)
    with pytest.warns(torte.errors.ConvergenceWarning):
        model.fit(data, LABELS)
    P = model.decision_probabilities(data)
    np.testing.assert_allclose(
        pickle.loads(pickle.dumps(model)).decision_probabilities(data), P, atol=1e-12
    )
    monkeypatch.setattr(torte.embedding, "BLOCK", 60)
    np.testing.assert_allclose(model.decision_probabilities(data), P, atol=1e-12)


# -- values -------------------------------------------------------------------------------


def test_spectrum_is_its_definition():
    for ends, others in itertools.product((False, True), (None, ["abcdef", "ccc", "q"])):
        kernel = Spectrum((1, 3), weights=(0.3, 2.0), ends=ends)
        padded = [
            [f"^{s}^" if ends else s for s in words] for words in (STRINGS, others or STRINGS)
        ]
        expected = naive.gram(lambda x, y: naive.spectrum(x, y, (1, 3), (0.3, 2.0)), *padded)
        np.testing.assert_allclose(kernel(STRINGS, others), expected, atol=1e-12)


def test_sequences_of_anything_are_compared_like_strings():
    words = [list(s) for s in STRINGS]
    for kernel in (Spectrum(3, ends=True), Subsequence(3, decay=0.3)):
        np.testing.assert_allclose(kernel(words), kernel(STRINGS), atol=1e-12)
        np.testing.assert_allclose(kernel(words, [["a", 7]]), kernel(STRINGS, ["aq"]), atol=1e-12)


def test_counts_are_exact_for_frequent_and_rare_pieces(monkeypatch):
    K = Spectrum(3)(STRINGS)
    for ratio in (0.0, 1e9):  # all by sparse, all by dense products
        monkeypatch.setattr(torte.kernels.counts, "_RATIO", ratio)
        monkeypatch.setattr(torte.kernels.counts, "_BLOCK", 100)
        np.testing.assert_allclose(Spectrum(3)(STRINGS), K, atol=1e-12)


def test_counts_are_of_the_pieces_that_occur():
    table = np.random.default_rng(0).choice(list("acgt"), size=(20, 60))
    rows = Objects(["".join(row) for row in table])
    counts = Spectrum(30).represent(rows)[1]  # 4^30 substrings of the last length are possible
    for length, layer in enumerate(counts.layers, start=1):
        assert layer.nnz <= 20 * (61 - length)
        assert layer.shape[1] <= min(4**length, 20 * (61 - length))
    assert_close(Spectrum(30).gram(rows).diagonal(), torch.ones(20).double())


def test_products_are_kept_with_the_table_and_only_so_many(monkeypatch):
    rows = Objects(STRINGS)
    kernel = Spectrum(2)
    K = kernel.gram(rows)
    assert rows.kept == 2 * len(STRINGS) ** 2
    assert_close(kernel.gram(rows), K)
    monkeypatch.setattr(torte.kernels.counts, "_KEPT", len(STRINGS) ** 2)
    few = Objects(STRINGS)
    assert_close(kernel.gram(few), K)
    assert few.kept == len(STRINGS) ** 2


@pytest.mark.parametrize("length", [2, 3, 4])
def test_subsequences_are_their_definition(length):
    kernel = Subsequence(length, decay=0.6)
    others = ["abcdeabc", "edcb", "aaaaa"]
    for others in (None, ["abcdeabc", "edcbz", "qqqqq"]):
        expected = naive.gram(
            lambda x, y: naive.subsequence(x, y, length, 0.6), STRINGS, others or STRINGS
        )
        np.testing.assert_allclose(kernel(STRINGS, others), expected, atol=1e-12)


def test_too_short_strings_are_like_nothing():
    for kernel in (Spectrum((3,)), Subsequence(3)):
        K = kernel(["ab", "abc", "ab"])
        np.testing.assert_allclose(K, np.diag([0.0, 1.0, 0.0]))
        np.testing.assert_allclose(kernel.diagonal(Objects(["ab", "abc"])), [0.0, 1.0])


@pytest.mark.parametrize("inner", [Gaussian(0.8), Linear(), Gaussian(1.0) * Linear() + 0.2])
def test_mean_embeddings_are_means(inner):
    expected = naive.gram(lambda P, Q: inner(P, Q).mean(), BAGS, BAGS[:4])
    np.testing.assert_allclose(MeanEmbedding(inner)(BAGS, BAGS[:4]), expected, atol=1e-12)
    K = MeanEmbedding(inner)(BAGS)
    D = np.diag(K)[:, None] + np.diag(K)[None, :] - 2 * K
    expected = np.exp(-D.clip(min=0) / (2 * 0.7**2))
    np.testing.assert_allclose(GaussianOf(MeanEmbedding(inner), 0.7)(BAGS), expected, atol=1e-12)


def test_length_scale_of_distributions_starts_at_the_median():
    rows = Objects(BAGS)
    kernel = GaussianOf(MeanEmbedding(Gaussian())).prepare(rows, None, torch.Generator())
    assert isinstance(kernel.inner.inner.length_scale, float)
    K = kernel.inner.gram(rows)
    D = (K.diagonal()[:, None] + K.diagonal() - 2 * K)[tuple(torch.triu_indices(23, 23, 1))]
    assert kernel.length_scale == pytest.approx(float(D.median()) ** 0.5)


@pytest.mark.parametrize("labels", [{}, {"label": "kind"}, {"label": "kind", "edge_label": "bond"}])
def test_neighborhoods_are_their_definition(labels):
    weights = (1.0, 0.5, 0.2)
    kernel = WeisfeilerLehman(2, weights=weights, **labels)
    expected = naive.gram(
        lambda G, H: naive.weisfeiler_lehman(G, H, weights, **labels), GRAPHS, GRAPHS[:6]
    )
    np.testing.assert_allclose(kernel(GRAPHS, GRAPHS[:6]), expected, atol=1e-12)


def test_graphs_with_directions_and_double_edges_differ():
    there, back = nx.DiGraph([(0, 1), (0, 2)]), nx.DiGraph([(1, 0), (2, 0)])
    one, two = nx.MultiGraph([(0, 1)]), nx.MultiGraph([(0, 1), (0, 1)])
    K = WeisfeilerLehman(1)([there, back, one, two])
    assert K[0, 1] < 1 - 1e-6
    assert K[2, 3] < 1 - 1e-6
    relabeled = nx.relabel_nodes(GRAPHS[2], lambda node: f"node {node}")
    assert WeisfeilerLehman(3)([GRAPHS[2]], [relabeled])[0, 0] == pytest.approx(1.0)


def test_precomputed_is_direct():
    rng = np.random.default_rng(1)
    X, new = rng.normal(size=(40, 3)) + np.arange(40)[:, None] % 2, rng.normal(size=(9, 3))
    y, kernel = np.arange(40) % 2, Gaussian(1.3) + 0.2 * Linear()
    settings = {"optimizer": None, "regularization": 0.01}
    direct = MCEClassifier(kernel, **settings).fit(X, y)
    model = MCEClassifier(Precomputed(), **settings).fit(kernel(X), y)
    expected = direct.decision_probabilities(new)
    np.testing.assert_allclose(model.decision_probabilities(kernel(new, X)), expected, atol=1e-10)
    assert model.n_features_in_ == 40
    parts = np.stack([Gaussian(1.3)(X), Linear()(X)], axis=2)
    both = MCEClassifier(Precomputed(weights=(1.0, 0.2)), **settings).fit(parts, y)
    others = np.stack([Gaussian(1.3)(new, X), Linear()(new, X)], axis=2)
    np.testing.assert_allclose(both.decision_probabilities(others), expected, atol=1e-10)


def test_precomputed_learns_what_a_sum_learns():
    X = np.random.default_rng(2).normal(size=(40, 2)) + np.arange(40)[:, None] % 2
    y = np.arange(40) % 2
    settings = {"random_state": 0, "objective": RademacherBound(shrinkage=0.0)}
    kernel = 0.5 * Gaussian(1.0).fix() + 0.5 * Gaussian(0.2).fix()
    direct = MCEClassifier(kernel, **settings).fit(X, y)
    parts = np.stack([Gaussian(1.0)(X), Gaussian(0.2)(X)], axis=2)
    model = MCEClassifier(Precomputed(largest=1.0), **settings).fit(parts, y)
    assert model.objective_value_ == pytest.approx(direct.objective_value_, rel=1e-4)
    assert float(model.kernel_.supremum()) == pytest.approx(sum(model.kernel_.weights))


def test_suprema_of_precomputed_are_what_is_said():
    with pytest.raises(NoSupremum, match=r"say so, as in Precomputed\(largest=1.0\)"):
        Precomputed().supremum()
    assert Precomputed(largest=2.0).supremum() == 2.0
    assert float(Precomputed(weights=(1.0, 0.5), largest=2.0).supremum()) == 3.0
    with pytest.raises(InvalidInput, match=r"`largest` of Precomputed is 0\.5, but X holds"):
        entered(Precomputed(largest=0.5), np.eye(3))


def test_records_are_columns_of_a_frame():
    numbers = FRAME[["age", "fare"]].to_numpy()
    rows, kernel = entered(Gaussian(1.2).on("age", "fare") * Spectrum(2).on("name"), FRAME)
    assert_close(kernel.gram(rows), torch.as_tensor(Gaussian(1.2)(numbers) * Spectrum(2)(STRINGS)))
    array = FRAME.to_numpy(dtype=object)
    by_place = Gaussian(1.2).on(0, 1) * Spectrum(2).on(2)
    np.testing.assert_allclose(by_place(array), kernel.gram(rows).numpy())


def test_what_is_shared_and_what_a_kernel_takes():
    assert Gaussian().takes == (2.0 * Gaussian() + Gaussian().on(1)).takes == "vectors"
    assert Gaussian().on("a").takes == "columns"
    assert (0.5 * Spectrum() + 1.0).takes == "objects"
    assert (Gaussian().on("a") * Spectrum().on("b") + 0.1).takes == "records"
    assert Precomputed().pairwise
    assert (Precomputed().on("a") + Gaussian().on("b")).pairwise
    assert not (Spectrum().on("a") + Gaussian().on("b")).pairwise
    with pytest.raises(InvalidInput, match="parts on objects and on vectors, and X can be only"):
        MCEClassifier(Gaussian() + Spectrum()).fit(STRINGS, LABELS)
    with pytest.raises(InvalidInput, match="parts on records and on vectors"):
        MCEClassifier(Gaussian() + Spectrum().on("name")).fit(FRAME, LABELS)


def test_pandas_series_and_object_arrays_are_lists():
    K = Spectrum(2)(STRINGS)
    for form in (pd.Series(STRINGS), np.array(STRINGS), np.array(STRINGS, dtype=object)[:, None]):
        np.testing.assert_allclose(Spectrum(2)(form), K)


def test_objective_of_folds_cuts_objects():
    model = MCEClassifier(Spectrum(2), objective=CrossValidation(folds=3), random_state=0)
    assert model.fit(STRINGS, LABELS).score(STRINGS, LABELS) > 0.9
    assert MATRICES.shape == (23, 23, 3)


SUPREMA = [
    (0.5 * Spectrum(2) + 2.0 * Subsequence() * Spectrum(1) + 0.1, STRINGS, 2.6),
    (Spectrum(2) ** 3, STRINGS, 1.0),
    (GaussianOf(2.0 * Spectrum(2)), STRINGS, 1.0),
    (2.0 * Spectrum(2, weights=(3.0, 5.0)), STRINGS, 2.0),
    (3.0 * WeisfeilerLehman(2), GRAPHS, 3.0),
    (1.5 * MeanEmbedding(Gaussian(0.7)) + 0.5, BAGS, 2.0),
    (MeanEmbedding(Gaussian(0.7) * 2.0), BAGS, 2.0),
    (GaussianOf(MeanEmbedding(Linear())), BAGS, 1.0),
    (2.0 * Precomputed(largest=60.0), MATRIX, 120.0),
    (Precomputed(weights=(0.5, 0.1, 2.0), largest=60.0), MATRICES, 156.0),
    (Gaussian().on("age", "fare") * Spectrum().on("name") + 0.2, FRAME, 1.2),
]


@pytest.mark.parametrize(("kernel", "data", "largest"), SUPREMA, ids=[repr(k) for k, *_ in SUPREMA])
def test_the_bound_takes_the_supremum_of_the_whole_expression(kernel, data, largest):
    assert float(kernel.supremum()) == pytest.approx(largest)
    model = MCEClassifier(kernel, optimizer=None, regularization=0.01).fit(data, LABELS)
    assert model.kernel_.diagonal(entered(kernel, data)[0]).max() <= largest * (1 + 1e-12)
    bound = model.risk_bound()
    K = model.kernel_.gram(entered(kernel, data)[0])
    weights = torch.linalg.solve(K + 0.01 * len(K) * torch.eye(len(K)).double(), ONE_HOT)
    norm = float(torch.trace(weights.mT @ K @ weights)) ** 0.5
    assert bound.complexity == pytest.approx(largest**0.5 * norm)


def test_suprema_are_attained_by_normalized_kernels_and_by_a_bag_of_one_point():
    for kernel, data, largest in SUPREMA[:5]:
        rows, kernel = entered(kernel, data)
        assert float(kernel.diagonal(rows).max()) == pytest.approx(largest, rel=1e-12)
    point = [np.array([[0.3, 2.0]])] * 2
    assert MeanEmbedding(Gaussian(0.7))(point)[0, 1] == 1.0


@dataclass(frozen=True)
class Difference(Kernel):
    """A kernel on sets, as a user would write it."""

    scale: float = positive(1.0)

    takes = "objects"

    def compare(self, A, B):
        apart = [[len(a ^ b) for b in B.items] for a in A.items]
        return torch.exp(-A.tensor(apart) / self.scale)

    def supremum(self, domain=None):
        return 1.0


SETS = [set(word) for word in STRINGS]


def test_a_kernel_on_objects_of_your_own_is_one_class():
    kernel = 0.5 * Difference() + 0.5 * Difference(4.0).fix()
    rows = Objects(SETS)
    K = kernel.gram(rows)
    assert_close(K, K.mT)
    assert torch.linalg.eigvalsh(K).min() > -1e-12
    assert_close(kernel.diagonal(rows), torch.ones(len(SETS)).double())
    problem = Problem(
        Description(kernel, 0.05),
        rows,
        ONE_HOT,
        RademacherBound(tau=0.3, epsilon=0.02),
        Plan(LBFGS()),
        torch.Generator().manual_seed(1),
    )
    at = problem.parameters.start + 0.1
    _, gradient = problem.evaluate(at)
    expected = naive.central_differences(lambda free: problem.evaluate(free)[0], at)
    assert np.abs(gradient - expected).max() <= 1e-6 * np.abs(expected).max()
    model = MCEClassifier(kernel, random_state=0).fit(SETS, LABELS)
    assert model.kernel_.left.right.scale != 1.0
    assert model.score(SETS, LABELS) > 0.8
    in_array = np.empty(len(SETS), dtype=object)
    in_array[:] = SETS
    np.testing.assert_array_equal(model.predict(in_array), model.predict(SETS))
    frame = pd.DataFrame({"number": np.arange(len(SETS)) * 1.0, "set": SETS})
    mixed = MCEClassifier(Gaussian().on("number") + Difference().on("set"), random_state=0)
    assert mixed.fit(frame, LABELS).score(frame, LABELS) > 0.8


@pytest.mark.parametrize("other", [Spectrum((9, 2)), Spectrum(3), WeisfeilerLehman(1)])
def test_counts_of_another_kernel_are_refused(other):
    """They come of altered files alone: the kernel and what it counted are stored side by side."""
    counts = Spectrum((1, 2)).represent(Objects(["ab", "abc", "b"]))
    with pytest.raises(InvalidInput, match="its counts are not those of"):
        other.compare(counts, counts)
