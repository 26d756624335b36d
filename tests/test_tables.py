"""Tables as they come: kinds of columns, holes, levels, columns by name, and the classifier."""

from __future__ import annotations

import datetime
import json
import pickle

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
from sklearn.base import clone
from sklearn.exceptions import NotFittedError
from sklearn.model_selection import StratifiedKFold, cross_val_score

import torte.routes
from conftest import table
from torte import MCEClassifier
from torte.errors import InvalidInput
from torte.features import Nystroem
from torte.kernels import Categories, Gaussian, Laplacian
from torte.plans import DEFAULT_KERNEL
from torte.tables import TableClassifier, TableEncoder
from torte.tables.classifier import kernel_of_columns


@pytest.fixture
def frame():
    """120 rows with a column of every kind, most with holes, and what decides the label."""
    rng = np.random.default_rng(0)
    n = 120
    color = rng.choice(["red", "green", "blue"], n)
    size = rng.normal(size=n)
    y = np.where(color == "red", size > 0, size < 0.5)
    frame = pd.DataFrame(
        {
            "size": np.where(rng.random(n) < 0.1, np.nan, size),
            "count": rng.integers(0, 5, n),
            "paid": np.where(rng.random(n) < 0.7, 0, rng.integers(1, 9, n) * 10),
            "color": pd.Series(color).where(rng.random(n) > 0.05),
            "grade": pd.Categorical(
                rng.choice(["low", "mid", "high"], n), ["low", "mid", "high"], ordered=True
            ),
            "member": rng.random(n) > 0.5,
            "since": pd.Timestamp("2020-01-01") + pd.to_timedelta(rng.integers(0, 900, n), "D"),
        }
    )
    return frame, y.astype(int)


KINDS = {
    "size": "numeric",
    "count": "numeric",
    "paid": "numeric",
    "color": "categorical",
    "grade": "ordinal",
    "member": "boolean",
    "since": "date",
}


def test_every_kind_of_column_is_found_and_named(frame):
    encoder = TableEncoder().fit(frame[0])
    assert encoder.kinds_ == KINDS
    assert encoder.numeric_names_ == [
        "size",
        "count",
        "paid",
        "grade",
        "since",
        "cos of year of since",
        "sin of year of since",
        "cos of week of since",
        "sin of week of since",
    ]
    assert encoder.code_names_ == ["size is missing", "paid exactly", "color", "member"]
    X = encoder.transform(frame[0])
    assert X.shape == (120, 13)
    assert X.dtype == np.float64
    assert np.isfinite(X).all()
    assert encoder.n_features_in_ == 7
    assert list(encoder.set_output(transform="pandas").transform(frame[0])) == [
        *encoder.numeric_names_,
        *encoder.code_names_,
    ]


def test_holes_are_medians_and_codes(frame):
    encoder = TableEncoder().fit(frame[0])
    X = pd.DataFrame(encoder.transform(frame[0]), columns=encoder.get_feature_names_out())
    holes = frame[0]["size"].isna()
    assert (X["size"][holes] == frame[0]["size"].median()).all()
    np.testing.assert_array_equal(X["size is missing"], holes)
    assert (X["color"][frame[0]["color"].isna()] == 0).all()
    assert (X["color"][frame[0]["color"].notna()] > 0).all()
    new = frame[0].assign(count=np.nan)  # missing where it never was: the median, without a code
    assert (encoder.transform(new)[:, 1] == frame[0]["count"].median()).all()


def test_values_around_an_atom_are_categories_too():
    paid = pd.DataFrame({"paid": [0.0] * 6 + [5.0, 5.0, 7.0, 9.0, None]})
    encoder = TableEncoder().fit(paid)
    names = ["paid", "paid is missing", "paid exactly"]
    assert encoder.get_feature_names_out().tolist() == names
    codes = encoder.transform(pd.DataFrame({"paid": [0.0, 5.0, 7.0, 8.0, None]}))[:, 2]
    assert codes[0] != codes[1]
    assert codes[2] == codes[3] == 1.0  # rare
    assert codes[4] == 0.0
    assert TableEncoder().fit(pd.DataFrame({"paid": [0, 0, 0, 1]})).code_names_ == []


def test_dates_keep_the_periods_they_go_through():
    hours = pd.DataFrame({"at": pd.date_range("2024-03-01", periods=400, freq="h")})
    encoder = TableEncoder().fit(hours)
    assert "cos of day of at" in encoder.numeric_names_
    assert "cos of year of at" not in encoder.numeric_names_
    X = encoder.transform(hours)
    assert X[24, 0] - X[0, 0] == pytest.approx(1.0)
    at = encoder.numeric_names_.index("cos of day of at")
    np.testing.assert_allclose(X[24:, at], X[:-24, at], atol=1e-9)
    gone = encoder.transform(pd.DataFrame({"at": [pd.NaT, hours["at"][0]]}))
    assert np.isfinite(gone).all()
    zoned = hours["at"].dt.tz_localize("UTC").dt.tz_convert("Asia/Tokyo")
    np.testing.assert_allclose(encoder.transform(zoned.to_frame()), X)


@pytest.mark.parametrize(
    ("cells", "kind"),
    [
        ([1, None, 3], "numeric"),
        (pd.array([1, None, 3], dtype="Int64"), "numeric"),
        (pd.array([True, None, False], dtype="boolean"), "boolean"),
        ([True, None, False], "boolean"),
        (["1", "02", None], "categorical"),
        ([1, "a", None], "categorical"),
        (pd.Categorical([3, 1, 3]), "categorical"),
        ([None, None, None], "categorical"),
        ([datetime.date(2020, 1, 1), None, datetime.date(2021, 1, 1)], "date"),
        (pd.period_range("2020-01", periods=3, freq="M"), "date"),
        (pd.to_timedelta([1, 2, 3], unit="h"), "numeric"),
        (pd.array([0.5, None, 2], dtype="float[pyarrow]"), "numeric"),
        (pd.array(["a", None, "b"], dtype="string[pyarrow]"), "categorical"),
    ],
    ids=str,
)
def test_kinds_by_dtype_or_by_objects(cells, kind):
    one = pd.DataFrame({"c": cells})
    encoder = TableEncoder().fit(one)
    assert encoder.kinds_ == {"c": kind}
    assert np.isfinite(encoder.transform(one)).all()


def test_numbers_that_are_names_are_told(frame):
    encoder = TableEncoder(categorical=["count"]).fit(frame[0])
    assert encoder.kinds_["count"] == "categorical"
    assert encoder.unseen(frame[0].assign(count=17)) == {"count": 120}
    assert encoder.unseen(frame[0].assign(count=frame[0]["count"].astype(float))) == {}


def test_levels_are_kept_by_frequency():
    colors = pd.DataFrame({"c": ["a"] * 3 + ["b"] * 2 + ["c", "d", None]})
    encoder = TableEncoder(max_levels=2).fit(colors)
    assert encoder.transform(colors)[:, 0].tolist() == [2, 2, 2, 3, 3, 1, 1, 0]
    new = pd.DataFrame({"c": ["d", "zebra"]})
    assert encoder.transform(new)[:, 0].tolist() == [1, 1]  # both rare
    assert encoder.unseen(new) == {"c": 1}
    whole = TableEncoder().fit(colors)
    assert whole.transform(new)[:, 0].tolist() == [5, -1]  # like no other


def test_unseen_cells_are_counted(frame):
    X, _ = frame
    encoder = TableEncoder().fit(X)
    assert encoder.unseen(X) == {}
    grade = pd.Categorical(["low", "best", None] * 40, ["low", "best"], ordered=True)
    new = X.assign(color=["red", "mauve", None, "pink"] * 30, grade=grade)
    assert encoder.unseen(new) == {"color": 60, "grade": 40}
    assert np.isfinite(encoder.transform(new)).all()


def test_columns_are_found_by_name(frame):
    X, y = frame
    model = TableClassifier(MCEClassifier(optimizer=None, regularization=0.01)).fit(X, y)
    expected = model.predict_proba(X)
    np.testing.assert_array_equal(model.predict_proba(X[X.columns[::-1]].assign(extra=1)), expected)
    with pytest.raises(
        InvalidInput, match=r"lacks 2 of the 7 columns .*: 'count', 'since'; it has"
    ):
        model.predict(X.drop(columns=["count", "since"]))
    with pytest.raises(InvalidInput, match=r"column 'size' must hold numbers, as it did when"):
        model.predict(X.assign(size="large"))
    with pytest.raises(InvalidInput, match=r"column 'since' must hold dates, as it did when"):
        model.predict(X.assign(since="yesterday or so"))
    with pytest.raises(InvalidInput, match=r"column 'size' must hold finite numbers, got infinity"):
        model.predict(X.assign(size=np.inf))


@pytest.mark.parametrize("library", ["polars", "polars lazy", "pyarrow"])
def test_tables_of_other_libraries(frame, library):
    X, y = frame
    X = X.drop(columns="grade")
    other = {
        "polars": lambda: pl.from_pandas(X),
        "polars lazy": lambda: pl.from_pandas(X).lazy(),
        "pyarrow": lambda: pa.Table.from_pandas(X),
    }[library]()
    expected = TableEncoder().fit(X)
    got = TableEncoder().fit(other)
    assert got.kinds_ == expected.kinds_
    np.testing.assert_allclose(got.transform(other), expected.transform(X))
    model = TableClassifier(MCEClassifier(optimizer=None, regularization=0.1)).fit(other, y)
    assert model.score(other, y) > 0.6


def test_the_encoder_is_json(frame):
    X, _ = frame
    encoder = TableEncoder(categorical=["count"], max_levels=3).fit(X)
    again = TableEncoder.from_dict(json.loads(json.dumps(encoder.to_dict())))
    new = X.assign(color="mauve", since=pd.NaT)
    np.testing.assert_array_equal(again.transform(new), encoder.transform(new))
    assert again.unseen(new) == encoder.unseen(new) == {"color": 120}
    assert again.to_dict() == encoder.to_dict()
    assert again.get_params() == {"categorical": ("count",), "max_levels": 3}
    np.testing.assert_array_equal(again.feature_names_in_, encoder.feature_names_in_)
    for spoiled in ({"version": 9}, {"version": 1, "columns": [{"kind": "spell"}]}):
        with pytest.raises(InvalidInput, match="`form` must"):
            TableEncoder.from_dict({**encoder.to_dict(), **spoiled})


# -- the classifier -------------------------------------------------------------------------


def test_the_kernel_is_made_for_the_columns():
    assert kernel_of_columns(3, 0) == DEFAULT_KERNEL
    assert kernel_of_columns(0, 3) == Categories()
    expected = Laplacian(ard=True).on(0, 1) * Categories().on(2, 3, 4)
    assert kernel_of_columns(2, 3) == expected


def test_mixed_columns_are_learned_from(frame):
    X, y = frame
    model = TableClassifier(random_state=0).fit(X, y)
    assert model.score(X, y) > 0.9
    np.testing.assert_array_equal(model.classes_, [0, 1])
    np.testing.assert_array_equal(model.feature_names_in_, list(KINDS))
    assert model.kernel_ == model.classifier_.kernel_
    P = model.predict_proba(X)
    np.testing.assert_allclose(P.sum(axis=1), 1.0)
    np.testing.assert_allclose(model.predict_log_proba(X), np.log(P))
    np.testing.assert_allclose(model.predict_entropy(X), -(P * np.log(P)).sum(axis=1))
    np.testing.assert_allclose(model.decision_function(X), P[:, 1] - P[:, 0])
    assert model.decision_probabilities(X).shape == (120, 2)
    assert model.unseen(X.assign(color="mauve")) == {"color": 120}
    assert (model.predict(X.assign(color="mauve")) >= 0).all()
    again = pickle.loads(pickle.dumps(model))
    np.testing.assert_array_equal(again.predict_proba(X), P)
    _, _, color, member = model.kernel_.right.kernel.similarity
    assert color < 0.7
    assert member > 0.99


def test_missing_is_informative_where_it_is():
    rng = np.random.default_rng(0)
    size = rng.normal(size=100)
    y = rng.integers(2, size=100)
    X = pd.DataFrame({"size": np.where(y == 1, np.nan, size), "noise": rng.normal(size=100)})
    assert cross_val_score(TableClassifier(random_state=0), X, y, cv=3).mean() > 0.97


def test_settings_reach_the_classifier(frame):
    X, y = frame
    w = np.arange(120) % 3
    inner = MCEClassifier(
        Gaussian(ard=True).on("size", "count") * Categories().on("color"),
        regularization=0.05,
        optimizer=None,
        class_weight="balanced",
    )
    model = TableClassifier(inner, encoder=TableEncoder(max_levels=2))
    model = clone(model).fit(X, y, sample_weight=w, monitor=(X[:10], y[:10]))
    assert model.classifier_.regularization_ == 0.05
    assert model.encoder_.max_levels == 2
    assert "test_accuracy" in model.classifier_.history_[0]
    repeated = clone(model).fit(X.loc[X.index.repeat(w)], y.repeat(w))
    assert repeated.encoder_.kinds_ == model.encoder_.kinds_
    assert repr(model.kernel_).startswith("Gaussian(length_scale=(")
    soft = TableClassifier(MCEClassifier(optimizer=None)).fit(X, 0.8 * np.eye(2)[y] + 0.1)
    assert soft.predict_proba(X).shape == (120, 2)


def test_arrays_are_tables_too():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(40, 2))
    model = TableClassifier(random_state=0).fit(X, X[:, 0] > 0)
    assert model.kernel_ == model.classifier_.kernel_
    assert list(model.feature_names_in_) == ["0", "1"]
    mixed = np.array([[1.5, "a"], [2.5, "b"]] * 10, dtype=object)
    assert TableEncoder().fit(mixed).kinds_ == {"0": "numeric", "1": "categorical"}


GOOD = pd.DataFrame({"a": [1.0, 2.0], "b": ["x", "y"]})
BAD = {
    "no rows": ({}, GOOD[:0], "at least one row and one column, got shape"),
    "no columns": ({}, GOOD[[]], "at least one row and one column, got shape"),
    "twice": ({}, pd.concat([GOOD, GOOD], axis=1), "name each column once, got 'a' more than once"),
    "objects": (
        {},
        pd.DataFrame({"a": [[1], [2]]}),
        "column 'a' must hold numbers, text, .* got list",
    ),
    "complex": ({}, pd.DataFrame({"a": [1j, 2]}), "column 'a' must hold real numbers, got complex"),
    "no table": ({}, 7, "X must be a table: a pandas, polars or pyarrow data frame, .* got int"),
    "names": ({"categorical": ["c"]}, GOOD, "`categorical` names 'c', but the table has 'a', 'b'"),
    "levels": ({"max_levels": 0}, GOOD, "`max_levels` must be a whole number of at least 1, got 0"),
}


@pytest.mark.parametrize("case", BAD)
def test_bad_tables_are_named(case):
    settings, bad, message = BAD[case]
    with pytest.raises(InvalidInput, match=message):
        TableEncoder(**settings).fit(bad)


def test_bad_parts_and_unfitted_use():
    with pytest.raises(InvalidInput, match="`estimator` must be an MCEClassifier or None"):
        TableClassifier(TableClassifier()).fit(GOOD, [0, 1])
    with pytest.raises(InvalidInput, match="`encoder` must be a TableEncoder or None"):
        TableClassifier(encoder="one-hot").fit(GOOD, [0, 1])
    with pytest.raises(NotFittedError, match="not fitted yet"):
        TableClassifier().predict(GOOD)
    with pytest.raises(NotFittedError, match="not fitted yet"):
        TableEncoder().transform(GOOD)
    with pytest.raises(InvalidInput, match="y must hold at least 2 classes"):
        TableClassifier().fit(GOOD, [1, 1])


@pytest.mark.slow
def test_credit_approval_is_classified():
    X, y = table("more/credit_approval", mixed=True)
    # The file is in an order: unshuffled folds are of one kind of applicants each (63 to 96 %).
    folds = StratifiedKFold(10, shuffle=True, random_state=0)
    accuracy = cross_val_score(TableClassifier(random_state=0), X, y, cv=folds).mean()
    assert accuracy > 0.855


# -- landmarks of tables with categories -----------------------------------------------------


@pytest.fixture(scope="module")
def coded():
    """1200 rows of a number and three columns of codes, which alone say the class."""
    rng = np.random.default_rng(0)
    codes = rng.integers(0, 6, size=(1200, 3))
    X = np.column_stack([rng.normal(size=1200), codes]).astype(float)
    return X, (codes[:, 0] * 2 + codes[:, 1] * 3) % 5


@pytest.mark.parametrize("kernel", [Categories().on(1, 2, 3), kernel_of_columns(1, 3)], ids=repr)
def test_clusters_of_categories_are_rows(kernel, coded):
    X, y = coded
    settings = {"optimizer": None, "regularization": 1e-4, "random_state": 0}
    recipe = Nystroem(kernel, 300, landmarks="k-means")
    model = MCEClassifier(recipe, **settings).fit(X[:800], y[:800])
    points = model.kernel_.points
    assert points.shape == (300, 4)
    assert all((X[:800] == point).all(axis=1).any() for point in points)
    exact = MCEClassifier(kernel, **settings).fit(X[:800], y[:800])
    assert model.score(X[800:], y[800:]) > 0.9 * exact.score(X[800:], y[800:]) > 0.8


def test_features_of_a_table_with_categories_are_as_good_as_the_kernel(coded, monkeypatch):
    monkeypatch.setattr(torte.routes, "FEW_ROWS", 10)
    monkeypatch.setattr(torte.routes, "N_COMPONENTS", 250)
    X, y = coded
    kernel = kernel_of_columns(1, 3)
    settings = {"optimizer": None, "regularization": 1e-4, "random_state": 0}
    model = MCEClassifier(kernel, solver="features", **settings).fit(X[:800], y[:800])
    assert model.plan_.solver == "features"
    assert model.score(X[800:], y[800:]) > 0.9
