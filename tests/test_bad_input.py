"""Every mistake gets one clear sentence: what was expected, what came, what to do."""

from __future__ import annotations

import numpy as np
import pandas as pd
import polars as pl
import pytest
from sklearn.exceptions import NotFittedError

from torte import MCEClassifier
from torte.errors import InvalidInput, WrongType
from torte.kernels import Gaussian
from torte.optimizers import Adam

X = np.random.default_rng(0).normal(size=(20, 3))
Y = np.arange(20) % 2


def spoiled(value):
    table = X.copy()
    table[4, 1] = value
    return table


TABLES = {
    "nan": (
        spoiled(np.nan),
        Y,
        "X must hold finite numbers, got NaN in row 4, column 1.*SimpleImputer",
    ),
    "infinity": (
        spoiled(np.inf),
        Y,
        "X must hold finite numbers, got infinity .* in row 4, column 1",
    ),
    "named column": (
        pd.DataFrame(spoiled(np.nan), columns=["a", "b", "c"]),
        Y,
        "got NaN in row 4, column 'b'",
    ),
    "huge": (spoiled(1e300), Y, "squares fit in float64 .* got 1e.300 in column 1; rescale"),
    "text": (
        pd.DataFrame({"a": ["1", "red"] * 10, "b": 1.0}),
        Y,
        "X must hold numbers, got text .* column 'a', value 'red'.*OneHotEncoder",
    ),
    "dates": (
        pd.DataFrame({"a": X[:, 0], "day": pd.Timestamp("2020-01-01")}),
        Y,
        "X must hold numbers, got text or another type in column 'day', value Timestamp",
    ),
    "a list of text": (["a", "b", "c"], Y[:3], r"table .* got shape \(3,\) with 'a' in it; text"),
    "ragged": ([[1, 2], [3]], Y[:2], "one length, got 2 cells in row 0 and 1 in row 1; fill or"),
    "nested": ([[[1, 2], 3]] * 20, Y, r"one number in a cell, got \[1, 2\] in row 0, column 0"),
    "no table": (None, Y, "X must be a table of rows and columns, got None"),
    "not even float64": ([[10**400, 1]] * 20, Y, "fit in float64 .* a larger one in column 0"),
    "one class": (X, np.zeros(20), "y must hold at least 2 classes, got 1 class, .*another one"),
    "one row": (X[:1], Y[:1], "X must hold at least 2 rows.* got 1 sample; give more rows"),
    "empty": (X[:0], Y[:0], r"at least one row, got 0 sample\(s\) \(shape=\(0, 3\)\); see whether"),
    "empty frame": (pd.DataFrame(), [], r"at least one row, got 0 sample\(s\) \(shape=\(0, 0\)\)"),
    "no columns": (X[:, :0], Y, r"at least one column, got 0 feature\(s\) \(shape=\(20, 0\)\)"),
    "three-dimensional": (X[:, :, None], Y, r"array of dim 3 with shape \(20, 3, 1\); flatten"),
    "no y": (X, None, "requires y to be passed, but the target y is None"),
    "lengths": (X, Y[:5], "same number of rows .* got 20 and 5"),
    "nan labels": (X, np.where(Y, 1.0, np.nan), "y must hold a label in every row, got NaN"),
    "regression": (X, X[:, 0], "continuous"),
}


@pytest.mark.parametrize("case", TABLES)
def test_bad_tables(case):
    table, labels, message = TABLES[case]
    with pytest.raises(ValueError, match=message):
        MCEClassifier().fit(table, labels)


def test_what_float32_cannot_hold():
    model = MCEClassifier(dtype="float32")
    message = r"X must hold values that fit in float32 .*, got 1e.300 in row 4, column 1; rescale"
    with pytest.raises(InvalidInput, match=message):
        model.fit(spoiled(1e300), Y)
    with pytest.raises(InvalidInput, match=r"got 1e.300 in row 4, column 'b'.*dtype='float64'"):
        model.fit(pd.DataFrame(spoiled(1e300), columns=["a", "b", "c"]), Y)
    with pytest.raises(InvalidInput, match="X must hold finite numbers, got infinity"):
        model.fit(spoiled(np.inf), Y)


def test_cells_of_another_type_are_type_errors_too():
    table = X.astype(object)
    table[4, 1] = {"red": 1}
    with pytest.raises(WrongType, match=r"in column 1, value \{'red': 1\} .*not 'dict'") as told:
        MCEClassifier().fit(table, Y)
    assert isinstance(told.value, TypeError)
    assert isinstance(told.value, InvalidInput)


def alternating(*labels):
    return list(labels) * (len(X) // len(labels))


LABELS = {
    "nan beside text": (alternating("a", np.nan), "a label in every row, got NaN in row 1; drop"),
    "none beside text": (alternating(None, "a"), "a label in every row, got None in row 0"),
    "series": (pd.Series(alternating("a", None)), "a label in every row, got (NaN|None) in row 1"),
    "nullable text": (
        pd.Series(alternating("a", None), dtype="string"),
        "a label in every row, got <NA> in row 1",
    ),
    "nullable numbers": (
        pd.Series(alternating(0, 1, None, 2), dtype="Int64"),
        "a label in every row, got (NaN|<NA>) in row 2",
    ),
    "categories": (
        pd.Categorical(alternating("a", None)),
        "a label in every row, got NaN in row 1",
    ),
    "polars": (pl.Series(alternating("a", None)), "a label in every row, got None in row 1"),
    "polars numbers": (pl.Series(alternating(1, None)), "a label in every row, got NaN in row 1"),
    "infinity": (alternating(1.0, np.inf), "a label in every row, got inf in row 1"),
    "dates": (
        pd.Series(pd.to_datetime(alternating("2020-01-01", None))),
        "a label in every row, got .*NaT.* in row 1",
    ),
    "two kinds": (alternating(1, "a"), "labels of one kind, .* got 1 in row 0 and 'a' in row 1"),
    "two kinds in an array": (
        np.array(alternating("a", 1), dtype=object),
        "labels of one kind, .* got 'a' in row 0 and 1 in row 1; write all of them as text",
    ),
    "another kind": (
        alternating(b"a", b"b"),
        r"labels that are text or numbers, got b'a' \(bytes\) in row",
    ),
    "sets": (alternating({1}, {2}), r"labels that can be told apart .* got \{1\} in row 0"),
    "ragged": (alternating([0], [0, 1]), "one label a row, .* got rows of different lengths"),
}


@pytest.mark.parametrize("case", LABELS)
def test_bad_labels(case):
    labels, message = LABELS[case]
    with pytest.raises(InvalidInput, match=f"y must (hold|be) {message}"):
        MCEClassifier().fit(X, labels)
    with pytest.raises(InvalidInput, match=f"y must (hold|be) {message}"):
        MCEClassifier(Gaussian(), optimizer=None).fit(X, Y, monitor=(X, labels))


def test_a_row_that_is_not_there_needs_no_label():
    labels = np.array(alternating("a", "b"), dtype=object)
    labels[3] = None
    there = np.arange(20) != 3
    model = MCEClassifier(Gaussian(), optimizer=None).fit(X, labels, sample_weight=there)
    assert list(model.classes_) == ["a", "b"]
    labels[5] = np.nan
    with pytest.raises(InvalidInput, match="y must hold a label in every row, got NaN in row 5"):
        model.fit(X, labels, sample_weight=there)


def test_numbers_held_as_objects_are_labels():
    model = MCEClassifier(Gaussian(), optimizer=None).fit(X, Y.astype(object))
    assert model.classes_.dtype == Y.dtype


@pytest.mark.parametrize(
    ("g", "got"),
    [
        (["a", "b"], r"\['a', 'b'\]"),
        ({0: 1.0, 1: 2.0}, r"\{0: 1.0, 1: 2.0\}"),
        (lambda label: "a", r"\['a', 'a'\]"),
        ({0: 1.0}.get, r"\[1.0, None\]"),
        ([[1], [2, 3]], r"\[\[1\], \[2, 3\]\]"),
        (5.0, r"shape \(\)"),
    ],
)
def test_what_has_no_expectation(g, got):
    model = MCEClassifier(Gaussian(), optimizer=None).fit(X, Y)
    message = (
        "`g` must be a function of a label, or hold one number for each of the 2 classes, got "
    )
    with pytest.raises(InvalidInput, match=message + got):
        model.expectation(g, X)


SETTINGS = {
    "kernel": (
        Gaussian,
        "`kernel` must be a kernel expression .*; call the class, as in Gaussian()",
    ),
    "regularization": (-1.0, "`regularization` must be a positive number, got -1.0"),
    "objective": ("loo", "`objective` must be one of torte.objectives, .* got 'loo'"),
    "optimizer": ("adam", "`optimizer` must be LBFGS.*, got 'adam'"),
    "batch_size": (21, "`batch_size` must be at most the 20 rows of X, got 21; use None"),
    "validation_fraction": (1.0, "`validation_fraction` must be a number from 0 to below 1"),
    "solver": ("qr", "`solver` must be 'auto' or 'cholesky' or .* got 'qr'"),
    "device": ("tpu", "`device` must be 'cpu', 'cuda', 'mps' or 'auto', got 'tpu'"),
    "dtype": ("float16", "`dtype` must be 'float64' or 'float32', got 'float16'"),
    "random_state": ("seed", "`random_state` must be a whole number, .* got 'seed'"),
}


@pytest.mark.parametrize("name", SETTINGS)
def test_bad_settings(name):
    value, message = SETTINGS[name]
    with pytest.raises(ValueError, match=message):
        MCEClassifier(**{name: value}).fit(X, Y)


@pytest.mark.parametrize(
    ("name", "value", "message"),
    [
        ("regularization", np.inf, "`regularization` must be a positive number, got inf"),
        ("optimizer", np.ones(2), r"`optimizer` must be LBFGS.* got array\(\[1., 1.\]\)"),
        ("solver", np.ones(2), "`solver` must be 'auto' or .* got array"),
        ("device", np.ones(2), "`device` must be 'cpu', .* got array"),
        ("random_state", 2**70, r"`random_state` must be a whole number from -2\*\*63 .*modulo"),
        ("random_state", True, "`random_state` must be a whole number, .* got True"),
    ],
)
def test_bad_settings_of_any_type(name, value, message):
    with pytest.raises(ValueError, match=message):
        MCEClassifier(**{name: value}).fit(X, Y)


@pytest.mark.parametrize(("fraction", "size"), [(0.99, None), (0.8, 2)])
def test_validation_leaves_a_row_on_each_side(fraction, size):
    settings = {"optimizer": Adam(max_iter=2), "batch_size": size, "random_state": 0}
    model = MCEClassifier(Gaussian(), validation_fraction=fraction, **settings).fit(X, Y)
    assert np.isfinite(model.objective_value_)


@pytest.mark.parametrize("size", [1, 2.5, True, "a"])
def test_batch_sizes_that_are_none(size):
    with pytest.raises(ValueError, match="`batch_size` must be a whole number of at least 2"):
        MCEClassifier(batch_size=size, optimizer=Adam()).fit(X, Y)


def test_unfitted_use_and_wrong_columns():
    with pytest.raises(NotFittedError, match="not fitted yet"):
        MCEClassifier().predict(X)
    with pytest.raises(NotFittedError, match="not fitted yet"):
        MCEClassifier().risk_bound()
    model = MCEClassifier(Gaussian(), optimizer=None).fit(X, Y)
    with pytest.raises(ValueError, match="X has 2 features, but MCEClassifier is expecting 3"):
        model.predict(X[:, :2])
    with pytest.raises(ValueError, match="X must hold finite numbers"):
        model.predict(spoiled(np.nan))
