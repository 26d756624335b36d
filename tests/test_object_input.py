"""Objects, similarities and records through the whole estimator, and every mistake by its text."""

from __future__ import annotations

import networkx as nx
import numpy as np
import pandas as pd
import polars as pl
import pytest
from sklearn.model_selection import GridSearchCV, cross_val_predict, cross_val_score
from sklearn.svm import SVC

from things import BAGS, FRAME, GRAPHS, LABELS, MATRICES, MATRIX, RECORDS, STRINGS, N
from torte import MCEClassifier
from torte.errors import InvalidInput
from torte.kernels import (
    Gaussian,
    GaussianOf,
    Linear,
    MeanEmbedding,
    Precomputed,
    Spectrum,
    Subsequence,
    WeisfeilerLehman,
)
from torte.objects import Objects, Records

AS_GIVEN = {"optimizer": None, "regularization": 0.01}


def test_cross_validation_over_lists_and_arrays_of_objects():
    model = MCEClassifier(Spectrum(2), random_state=0)
    scores = cross_val_score(model, STRINGS, LABELS, cv=3)
    assert scores.mean() > 0.7
    as_array = np.array(STRINGS, dtype=object)
    np.testing.assert_array_equal(cross_val_score(model, as_array, LABELS, cv=3), scores)
    grid = GridSearchCV(
        MCEClassifier(**AS_GIVEN), {"kernel": [Spectrum(1), Spectrum(2), Subsequence()]}, cv=3
    )
    assert grid.fit(STRINGS, LABELS).best_score_ > 0.7
    assert not hasattr(grid.best_estimator_, "n_features_in_")
    assert not hasattr(model.fit(STRINGS, LABELS), "feature_names_in_")


@pytest.mark.parametrize("data", [BAGS, GRAPHS], ids=["bags", "graphs"])
def test_cross_validation_over_bags_and_graphs(data):
    kernel = WeisfeilerLehman(2) if data is GRAPHS else GaussianOf(MeanEmbedding(Gaussian()))
    scores = cross_val_score(MCEClassifier(kernel, random_state=0), data, LABELS, cv=3)
    assert scores.mean() > (0.9 if data is GRAPHS else 0.6)


def test_cross_validation_cuts_both_sides_of_matrices():
    X = np.random.default_rng(0).normal(size=(N, 2)) + LABELS[:, None]
    direct = MCEClassifier(Gaussian(1.0), **AS_GIVEN)
    model = MCEClassifier(Precomputed(), **AS_GIVEN)
    K = Gaussian(1.0)(X)
    for method in ("predict", "decision_function"):
        np.testing.assert_allclose(
            cross_val_predict(model, K, LABELS, cv=4, method=method),
            cross_val_predict(direct, X, LABELS, cv=4, method=method),
            atol=1e-10,
        )
    grid = GridSearchCV(model, {"regularization": [0.001, 0.01, 0.1]}, cv=3).fit(MATRICES, LABELS)
    assert grid.score(MATRICES, LABELS) > 0.5
    assert model.__sklearn_tags__().input_tags.pairwise
    assert SVC(kernel="precomputed").__sklearn_tags__().input_tags.pairwise  # what it does itself
    assert not MCEClassifier(Gaussian()).__sklearn_tags__().input_tags.pairwise


def test_scores_over_matrices_are_those_over_vectors():
    X = np.random.default_rng(0).normal(size=(N, 2)) + LABELS[:, None]
    direct = cross_val_score(MCEClassifier(Gaussian(1.0), **AS_GIVEN), X, LABELS, cv=4)
    model = MCEClassifier(Precomputed(), **AS_GIVEN)
    np.testing.assert_array_equal(cross_val_score(model, Gaussian(1.0)(X), LABELS, cv=4), direct)
    learned = [
        MCEClassifier(kernel, random_state=0).fit(table, LABELS)
        for kernel, table in ((Gaussian(1.0).fix(), X), (Precomputed(), Gaussian(1.0)(X)))
    ]
    new = X[:5] + 0.1
    np.testing.assert_allclose(
        learned[1].predict_proba(Gaussian(1.0)(new, X)), learned[0].predict_proba(new), atol=1e-10
    )


@pytest.mark.parametrize(
    ("kernels", "data"),
    [
        ([MeanEmbedding(Gaussian(1.0)), GaussianOf(MeanEmbedding(Gaussian(1.0)))], BAGS),
        ([WeisfeilerLehman(0), WeisfeilerLehman(2)], GRAPHS),
        ([Spectrum().on("name"), Gaussian().on("age") * Spectrum().on("name")], FRAME),
        ([Precomputed().on("both"), Precomputed().on("likeness")], RECORDS),
        ([Precomputed(weights=(1.0, 1.0, 1e-9)), Precomputed(weights=(1e-9, 1e-9, 1.0))], MATRICES),
    ],
    ids=["bags", "graphs", "frame", "records", "matrices"],
)
def test_grids_of_kernels_search_over_anything(kernels, data):
    grid = GridSearchCV(MCEClassifier(**AS_GIVEN), {"kernel": kernels}, cv=3, error_score="raise")
    grid.fit(data, LABELS)
    assert np.isfinite(grid.cv_results_["mean_test_score"]).all()
    assert len(grid.predict(data)) == N


def test_cross_validation_over_records_with_matrices():
    kernel = Precomputed().on("likeness") * Gaussian().on("age") + Spectrum().on("name")
    model = MCEClassifier(kernel, random_state=0)
    assert cross_val_score(model, RECORDS, LABELS, cv=3).mean() > 0.5
    model.fit(RECORDS, LABELS)
    assert model.n_features_in_ == 4
    assert list(model.feature_names_in_) == ["age", "name", "likeness", "both"]


def test_records_of_any_frame_learn_alike():
    kernel = Gaussian().on("age", "fare") * Spectrum().on("name")
    expected = MCEClassifier(kernel, random_state=0).fit(FRAME, LABELS)
    P = expected.predict_proba(FRAME)
    for frame in (pl.from_pandas(FRAME), Records(dict(FRAME.items()))):
        model = MCEClassifier(kernel, random_state=0).fit(frame, LABELS)
        np.testing.assert_allclose(model.predict_proba(frame), P, atol=1e-10)
        np.testing.assert_array_equal(model.feature_names_in_, ["age", "fare", "name"])
    assert cross_val_score(expected, FRAME, LABELS, cv=3).mean() > 0.7
    with pytest.raises(InvalidInput, match=r"columns of fit, \['age', 'fare', 'name'\]"):
        expected.predict(FRAME[["fare", "age", "name"]])


def test_batches_of_objects_are_batches():
    model = MCEClassifier(Spectrum(2) + 0.1, batch_size=15, random_state=0)
    twice = [model.fit(STRINGS, LABELS).predict_proba(STRINGS) for _ in range(2)]
    np.testing.assert_array_equal(*twice)
    assert model.score(STRINGS, LABELS) > 0.9
    X = LABELS[:, None] + np.random.default_rng(0).normal(size=(N, 1), scale=0.2)
    K = np.stack([Gaussian(1.0)(X), Gaussian(0.3)(X)], axis=2)
    matrices = MCEClassifier(Precomputed(), batch_size=15, random_state=0)
    assert matrices.fit(K, LABELS).score(K, LABELS) > 0.9


def test_single_precision_and_a_monitor():
    model = MCEClassifier(Spectrum(2), dtype="float32", random_state=0)
    model.fit(STRINGS, LABELS, monitor=(STRINGS[:5], LABELS[:5]))
    assert model.history_[-1]["test_accuracy"] == 1.0
    assert model.embedding_.weights.dtype.itemsize == 4
    double = MCEClassifier(Spectrum(2), random_state=0).fit(STRINGS, LABELS)
    np.testing.assert_allclose(
        model.predict_proba(STRINGS), double.predict_proba(STRINGS), atol=0.02
    )


INDEFINITE = MATRIX - 30.0 * np.eye(N)
ASYMMETRIC = MATRIX + np.eye(N, k=2)
EMPTY_STRING = [*STRINGS[:4], "", *STRINGS[5:]]
MISTAKES = {
    "empty string": (Spectrum(), EMPTY_STRING, "strings or sequences that are not empty, got '' in row 4; drop"),
    "empty sequence": (Subsequence(), [[1, 2]] * (N - 1) + [[]], r"not empty, got \[\] in row 22"),
    "missing string": (Spectrum(), [None, *STRINGS[1:]], "strings or sequences of symbols, got None in row 0; fill"),
    "numbers": (Spectrum(), np.arange(N), "strings or sequences of symbols, got .*0.* in row 0"),
    "one string": (Spectrum(), "abc" * N, "X must be a list or a one-dimensional array of objects.* got str"),
    "frame": (Spectrum(), FRAME, r"got a data frame of 3 columns; say with .on\('column'\)"),
    "unhashable symbols": (Spectrum(), [[["a"]]] * N, "symbols that can be told apart .*turn each into text"),
    "empty symbol": (Spectrum(ends=True), [["", "a"]] * N, "no empty text as a symbol where `ends` marks"),
    "many features": (Subsequence(4), [chr(200 + i) * 4 for i in range(N)], "`length` of Subsequence is 4, which on the 23 different symbols of X gives 279841 features, more than 32768; give a smaller length"),
    "empty bag": (MeanEmbedding(Gaussian()), [*BAGS[:-1], np.zeros((0, 2))], "bags with at least one vector each, got an empty bag in row 22; drop"),
    "bag of another width": (MeanEmbedding(Gaussian()), [*BAGS[:-1], np.zeros((2, 3))], r"arrays of k x 2 numbers, got shape \(2, 3\) in row 22"),
    "flat bag": (MeanEmbedding(Gaussian()), [np.zeros(3)] * N, r"arrays of k x d numbers, got shape \(3,\) in row 0"),
    "bag of text": (MeanEmbedding(Gaussian()), STRINGS, "arrays of k x d numbers, got str in row 0"),
    "bag with nan": (MeanEmbedding(Gaussian()), [np.full((1, 2), np.nan), *BAGS[1:]], "bags of finite numbers, got NaN or infinity in row 0"),
    "not a graph": (WeisfeilerLehman(), STRINGS, "X must hold networkx graphs, got str in row 0"),
    "empty graph": (WeisfeilerLehman(), [nx.Graph(), *GRAPHS[1:]], "at least one node each, got an empty graph in row 0"),
    "graph without labels": (WeisfeilerLehman(label="color"), GRAPHS, "a label 'color' on all nodes or edges, got none on node 0 of the graph in row 0"),
    "not square": (Precomputed(), MATRIX[:, :9], r"values of a precomputed kernel, n x n.*, got shape \(23, 9\)"),
    "not symmetric": (Precomputed(), ASYMMETRIC, "X must be symmetric, got .* in row .*, column .* and .*; give"),
    "not positive": (Precomputed(), INDEFINITE, "X must be positive semidefinite to be a kernel's matrix, got -30 as its most negative eigenvalue; set"),
    "one not positive": (Precomputed(), np.stack([MATRIX, INDEFINITE], axis=2), r"X\[:, :, 1\] must be positive semidefinite"),
    "nan in a matrix": (Precomputed(), np.full((N, N), np.nan), "finite values of a precomputed kernel, got 529 that are NaN"),
    "weights of matrices": (Precomputed(weights=(1.0, 2.0)), MATRICES, "`weights` of Precomputed has 2 entries, but X holds 3 matrices"),
    "text as numbers": (Gaussian().on("name") + Spectrum().on("name"), FRAME, r"numbers in column 'name', .*give text to a kernel on objects, as in Spectrum\(\).on\('name'\)"),
    "nan in a column": (Gaussian().on("age") + Spectrum().on("name"), FRAME.assign(age=np.nan), "finite numbers, got nan in row 0, column 'age', and 22 more"),
    "two columns of text": (Spectrum().on("name", "age"), FRAME, "one column for a kernel on objects, got 'name', 'age'; add or multiply"),
    "unknown column": (Spectrum().on("town"), FRAME, "names 'town', but X has 'age', 'fare', 'name'"),
    "matrix as text": (Spectrum().on("likeness"), RECORDS, "column 'likeness' of X is a similarity matrix, which a kernel on objects does not take"),
    "text as matrix": (Precomputed().on("name"), RECORDS, "column 'name' of X is an ordinary one, which a kernel on pairs does not take"),
    "no columns": (Spectrum().on("name"), STRINGS, "a data frame or a two-dimensional array, whose columns .on.. names, got 1"),
}  # fmt: skip


@pytest.mark.parametrize("case", MISTAKES)
def test_mistakes_are_named(case):
    kernel, data, message = MISTAKES[case]
    with pytest.raises(InvalidInput, match=message):
        MCEClassifier(kernel, **AS_GIVEN).fit(data, LABELS)


def test_unhashable_labels_are_named():
    labels = np.empty(N, dtype=object)
    labels[:] = ["b", ["a"], *["b"] * (N - 2)]
    with pytest.raises(InvalidInput, match=r"labels that can be told apart .*got \['a'\] in row 1"):
        MCEClassifier(Spectrum(), **AS_GIVEN).fit(STRINGS, labels)
    graphs = [graph.copy() for graph in GRAPHS]
    graphs[3].nodes[1]["kind"] = ["x"]
    with pytest.raises(InvalidInput, match=r"got \['x'\] on node 1 of the graph in row 3; turn"):
        MCEClassifier(WeisfeilerLehman(label="kind"), **AS_GIVEN).fit(graphs, LABELS)


def test_mistakes_at_predict_are_named():
    model = MCEClassifier(Precomputed(), **AS_GIVEN).fit(MATRIX, LABELS)
    with pytest.raises(
        InvalidInput, match=r"one column for each training row, got shape \(2, 9\) for 23"
    ):
        model.predict(MATRIX[:2, :9])
    with pytest.raises(InvalidInput, match=r"X must hold k\(x, x\) where Precomputed\(\) is part"):
        MCEClassifier(GaussianOf(Precomputed()), **AS_GIVEN).fit(MATRIX, LABELS).predict(MATRIX[:2])
    bags = MCEClassifier(MeanEmbedding(Linear()), **AS_GIVEN).fit(BAGS, LABELS)
    with pytest.raises(InvalidInput, match="bags of vectors with 2 numbers each, got 3"):
        bags.predict([np.zeros((2, 3))])
    with pytest.raises(InvalidInput, match="not empty, got '' in row 1"):
        MCEClassifier(Spectrum(), **AS_GIVEN).fit(STRINGS, LABELS).predict(["a", ""])


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda: Spectrum(0), "`lengths` of Spectrum must be a whole number of at least 1, or diff"),
        (lambda: Spectrum((2, 2)), "`lengths` of Spectrum must be a whole number of at least 1, or"),
        (lambda: Spectrum("ab"), "`lengths` of Spectrum must be a whole number .*got 'ab'"),
        (lambda: Spectrum(2, weights=(1.0,)), "`weights` of Spectrum must be one positive number for each of its 2 layers, got 1"),
        (lambda: Spectrum(2, weights=-1.0), "`weights` of Spectrum must be a positive number"),
        (lambda: Subsequence(1), "`length` of Subsequence must be a whole number of at least 2"),
        (lambda: Subsequence(decay=1.0), "`decay` of Subsequence must be a number strictly between"),
        (lambda: WeisfeilerLehman(-1), "`depth` of WeisfeilerLehman must be a whole number of at"),
        (lambda: MeanEmbedding(Spectrum()), "`inner` of MeanEmbedding must be a kernel on vectors"),
        (lambda: GaussianOf("abc"), "`inner` of GaussianOf must be a kernel, got 'abc'"),
        (lambda: Precomputed(largest=0.0), "`largest` of Precomputed must be a positive number or"),
        (lambda: Records({"a": [1, 2], "b": [1]}), "the same number of rows, got {'a': 2, 'b': 1}"),
    ],
)  # fmt: skip
def test_bad_arguments_are_named(make, message):
    with pytest.raises(InvalidInput, match=message):
        make()


def test_objects_are_cut_like_rows():
    whole = Objects(list("abcdef"))
    calls = []

    def compute(rows):
        calls.append(len(rows))
        return np.array(rows.items)

    part = whole[2:5][np.array([2, 0])]
    assert part.items == ["e", "c"]
    assert list(part.once("key", compute)) == ["e", "c"]
    assert list(whole.once("key", compute)) == list("abcdef")
    assert calls == [6]
    assert pd.Series(whole.items).tolist() == whole.items
