"""Rows that are not in memory: the same model as in memory, and every bad row has an address."""

from __future__ import annotations

import tracemalloc
from itertools import pairwise

import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.dataset as ds
import pyarrow.parquet as pq
import pytest

import torte.plans
import torte.routes
from torte import MCEClassifier
from torte.errors import DoesNotFit, InvalidInput, WideFeaturesWarning
from torte.features import Fourier, Network, Nystroem, Polynomials
from torte.kernels import Gaussian
from torte.optimizers import Adam
from torte.streams import (
    ArrayRows,
    ArrowRows,
    Chunk,
    Rows,
    predictions,
    write_predictions,
)
from torte.streams.sampling import RAREST, Draft, census, count, draw, merge, quotas

N = 1300
MAP = Fourier(Gaussian(1.0, ard=True), 32)


@pytest.fixture(scope="module")
def frame() -> pd.DataFrame:
    rng = np.random.default_rng(0)
    frame = pd.DataFrame(rng.normal(size=(N, 3)), columns=["a", "b", "c"])
    frame["color"] = rng.choice(["red", "green", "dark=blue"], N)
    frame["whole"] = rng.integers(0, 5, N)
    shift = frame["a"] + (frame["color"] == "red") + 0.3 * rng.normal(size=N)
    frame["class"] = np.where(shift > 0.8, "high", np.where(shift > -0.5, "middle", "low"))
    return frame


@pytest.fixture(scope="module")
def folder(frame, tmp_path_factory):
    """Three files, each of row groups of 200 rows."""
    folder = tmp_path_factory.mktemp("rows")
    for i, start in enumerate(range(0, N, 500)):
        part = pa.Table.from_pandas(frame.iloc[start : start + 500], preserve_index=False)
        pq.write_table(part, folder / f"part-{i}.parquet", row_group_size=200)
    return folder


def matrix(frame: pd.DataFrame) -> pd.DataFrame:
    """The table that a stream of the folder means."""
    X = frame[["a", "b", "c"]].copy()
    for level in sorted(frame["color"].unique()):
        X[f"color={level}"] = (frame["color"] == level).astype(float)
    return X.assign(whole=frame["whole"].astype(float))


def given(model: MCEClassifier) -> MCEClassifier:
    """An estimator that keeps what another one has learned."""
    return MCEClassifier(
        model.kernel_, regularization=model.regularization_, optimizer=None, dtype=model.dtype
    )


@pytest.mark.parametrize(
    "features",
    [
        MAP,
        Nystroem(Gaussian(1.0), 20),
        Polynomials(2),
        Network((6,), dropout=0.0),
    ],
    ids=lambda features: type(features).__name__,
)
def test_the_model_of_a_stream_is_the_model_of_its_rows(features, frame, folder):
    rows = ArrowRows(folder, target="class", categorical=["color"], sample_size=300, chunk_rows=70)
    model = MCEClassifier(features, random_state=0, optimizer=None, regularization=1e-3).fit(rows)
    X, y = matrix(frame), frame["class"].to_numpy()
    whole = given(model).fit(X, y)
    assert list(model.feature_names_in_) == list(X.columns)
    np.testing.assert_allclose(model.predict_proba(X), whole.predict_proba(X), atol=1e-9)
    np.testing.assert_allclose(model.complexity_, whole.complexity_, rtol=1e-9)
    assert model._statistics.count == N


def test_it_learns_on_the_sample_and_knows_all_rows(frame, folder):
    rows = ArrowRows(folder, target="class", categorical=["color"], sample_size=400)
    model = MCEClassifier(MAP, random_state=0).fit(rows)
    assert model.kernel_.kernel.length_scale != (1.0,) * 7
    assert (model.predict(rows) == frame["class"]).mean() > 0.85
    again = MCEClassifier(MAP, random_state=0).fit(rows)
    assert (model.predict_proba(rows) == again.predict_proba(rows)).all()


def test_the_cut_into_chunks_does_not_matter(folder):
    def fitted(chunk_rows):
        rows = ArrowRows(
            folder, target="class", columns=["a", "b"], sample_size=200, chunk_rows=chunk_rows
        )
        return MCEClassifier(MAP, random_state=3).fit(rows)

    one, other = fitted(37), fitted(1000)
    X = np.random.default_rng(1).normal(size=(50, 2))
    X = pd.DataFrame(X, columns=["a", "b"])
    np.testing.assert_allclose(one.predict_proba(X), other.predict_proba(X), atol=1e-10)


def test_partial_fit_goes_on_where_the_stream_ended(frame, folder):
    rows = ArrowRows(folder, target="class", columns=["a", "b"], sample_size=200)
    model = MCEClassifier(MAP, random_state=0, dtype="float32").fit(rows)
    X, y = frame[["a", "b"]], frame["class"].to_numpy()
    before = model.predict_proba(X)
    model.partial_fit(X[:100], y[:100])
    assert (model.predict_proba(X) != before).any()
    model.forget(X[:100], y[:100])
    np.testing.assert_allclose(model.predict_proba(X), before, atol=1e-4)
    assert model.embedding_.weights.element_size() == 4


@pytest.mark.parametrize("dtype", ["float64", "float32"])
def test_lambda_is_chosen_again_by_the_rule_of_tables_in_memory(dtype, monkeypatch):
    monkeypatch.setattr(torte.plans, "FINISH_ROWS", 300)
    rng = np.random.default_rng(0)
    X = rng.normal(size=(2000, 2))
    y = X[:, 0] * X[:, 1] + 0.5 * rng.normal(size=2000) > 0
    # One map for both: lambda alone is learned.
    features = Nystroem(Gaussian(1.0).fix(), 40, landmarks=X[:40])
    steps = {"optimizer": Adam(max_iter=10), "batch_size": 200, "regularization": 0.3}
    estimator = MCEClassifier(features, random_state=0, dtype=dtype, **steps)
    memory = estimator.fit(X, y)
    streamed = MCEClassifier(features, random_state=0, dtype=dtype, **steps)
    streamed.fit(ArrayRows(X, y, sample_size=250))
    np.testing.assert_array_equal(streamed.kernel_.points, memory.kernel_.points)
    ratio = streamed.regularization_ / memory.regularization_
    assert 0.1 < ratio < 10  # the grids of both start elsewhere
    np.testing.assert_allclose(streamed.predict_proba(X), memory.predict_proba(X), atol=0.05)
    kept = MCEClassifier(Network((6,)), random_state=0, **steps)
    sample = kept.fit(ArrayRows(X, y, sample_size=250)).regularization_
    assert sample > 0.05  # a given optimizer's lambda of a map that is no kernel's stays


def test_what_a_stream_leaves_describes_all_rows(folder):
    rows = ArrowRows(folder, target="class", columns=["a", "b"], sample_size=200)
    model = MCEClassifier(Fourier(Gaussian(1.0), 1100), random_state=0, optimizer=None).fit(rows)
    assert model.solution_.solver == model.plan_.solver == "features"
    assert model.solution_.n_components == model.plan_.n_components == 1100
    (route,) = model.plan_.routes
    assert route.memory > 8 * 1100**2
    assert model._own_weights is None
    with pytest.raises(InvalidInput, match="risk_bound needs the probabilities of all training"):
        model.risk_bound()


def test_classes_weigh_in_streams_what_they_weigh_in_memory(frame, folder):
    settings = {"optimizer": None, "regularization": 1e-2, "class_weight": {"low": 5.0}}
    rows = ArrowRows(folder, target="class", columns=["a", "b"], sample_size=300)
    model = MCEClassifier(MAP, random_state=0, **settings).fit(rows)
    whole = MCEClassifier(model.kernel_, **settings).fit(frame[["a", "b"]], frame["class"])
    np.testing.assert_allclose(
        model.predict_proba(frame[["a", "b"]]), whole.predict_proba(frame[["a", "b"]]), atol=1e-9
    )
    learned = MCEClassifier(MAP, random_state=0, class_weight={"low": 5.0}).fit(rows)
    assert (learned.predict(frame[["a", "b"]]) == "low").mean() > (frame["class"] == "low").mean()


class Read(ArrayRows):
    """Rows that count how often they were read, and do not tell how many they are."""

    readings = 0

    def chunks(self, features=None):
        self.readings += 1
        return super().chunks(features)

    def length(self):
        return None


def test_rows_are_read_twice(frame, capsys):
    rows = Read(frame[["a", "b"]].to_numpy(), frame["class"], chunk_rows=100, sample_size=200)
    model = MCEClassifier(MAP, random_state=0, optimizer=None, verbose=1).fit(rows)
    assert rows.readings == 2
    lines = [line for line in capsys.readouterr().err.splitlines() if "learn on" in line]
    assert lines[0].startswith("rows to learn on 100  rows 0 to 99")
    assert len(lines) == 5  # 100, 200, 300 (256 is past), 600, 1100
    model.predict(rows)
    assert "predicting 1100  rows 1000 to 1099" in capsys.readouterr().err


# -- predictions -------------------------------------------------------------------------


@pytest.fixture(scope="module")
def model(folder):
    rows = ArrowRows(folder, target="class", categorical=["color"], sample_size=300)
    return MCEClassifier(MAP, random_state=0, optimizer=None, regularization=1e-3).fit(rows)


def test_predictions_need_the_source_alone(model, frame, folder):
    P = model.predict_proba(matrix(frame))
    for rows in (ArrowRows(folder), ArrowRows(ds.dataset(folder)), ArrowRows(str(folder))):
        np.testing.assert_allclose(model.predict_proba(rows), P, atol=1e-12)
    assert (model.predict(ArrowRows(folder)) == model.predict(matrix(frame))).all()
    parts = list(predictions(model, ArrowRows(folder, chunk_rows=150)))
    assert max(len(part.labels) for part in parts) <= 150
    assert "part-1.parquet, row group 2, from its row 0 on" in [
        part.where.rpartition("/")[2] for part in parts
    ]
    np.testing.assert_allclose(model.decision_probabilities(ArrowRows(folder)).sum(), N, rtol=0.05)


def test_predictions_go_to_a_file_as_a_whole_or_not_at_all(model, frame, folder, tmp_path):
    out = tmp_path / "predicted.parquet"
    write_predictions(model, ArrowRows(folder, chunk_rows=100), out)
    found = pd.read_parquet(out)
    assert list(found.columns) == ["prediction"] + [
        f"probability of {c}" for c in ("high", "low", "middle")
    ]
    assert (found["prediction"] == model.predict(matrix(frame))).all()
    np.testing.assert_allclose(found.iloc[:, 1:], model.predict_proba(matrix(frame)), atol=1e-12)

    class Broken(ArrayRows):
        def chunks(self, features=None):
            yield from super().chunks()
            raise OSError("the disk is gone")

    before = out.read_bytes()
    with pytest.raises(OSError, match="the disk is gone"):
        write_predictions(model, Broken(matrix(frame).to_numpy()), out)
    assert out.read_bytes() == before
    assert [path.name for path in tmp_path.iterdir()] == ["predicted.parquet"]


def test_unknown_categories_are_none_of_the_known(model, frame):
    other = frame[:5].assign(color="violet")
    X = matrix(frame)[:5]
    X[[c for c in X if c.startswith("color")]] = 0.0
    rows = ArrowRows(ds.dataset(pa.Table.from_pandas(other)))
    np.testing.assert_allclose(model.predict_proba(rows), model.predict_proba(X), atol=1e-12)


# -- arrays on disk ----------------------------------------------------------------------


def test_a_mapped_array_is_never_in_memory_as_a_whole(tmp_path):
    n, d = 60_000, 40
    path = tmp_path / "rows.npy"
    rng = np.random.default_rng(0)
    X = np.lib.format.open_memmap(path, "w+", dtype="float32", shape=(n, d))
    X[:] = rng.normal(size=(n, d))
    y = X[:, 0] * X[:, 1] > 0
    X.flush()
    mapped = np.load(path, mmap_mode="r")
    estimator = MCEClassifier(
        Fourier(Gaussian(3.0), 16), random_state=0, optimizer=None, dtype="float32"
    )
    rows = ArrayRows(mapped, y, chunk_rows=3000, sample_size=2000)
    tracemalloc.start()
    model = estimator.fit(rows)
    P = model.predict_proba(ArrayRows(mapped, chunk_rows=3000))
    _, peak = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    assert peak < X.nbytes / 2
    np.testing.assert_allclose(P, model.predict_proba(np.array(mapped)), atol=1e-6)
    # Given straight to the estimator it is a stream, too, with another sample.
    straight = estimator.fit(mapped, y)
    assert straight._statistics.count == n
    assert straight._statistics.gram.element_size() == 8  # float32 chunks add up in float64
    assert straight.predict(mapped).shape == (n,)


# -- the sample --------------------------------------------------------------------------


def test_the_sample_is_the_same_however_rows_are_cut():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(5000, 2))
    y = rng.choice(["a", "b", "rare"], 5000, p=[0.7, 0.295, 0.005])
    cuts = [np.array([0, 5000]), np.array([0, 1, 7, 2000, 2000, 4999, 5000])]
    samples = []
    for cut in cuts:
        spans = list(pairwise(cut))
        total = census(count(f"{a}", y[a:b]) for a, b in spans)
        assert list(total.starts) == list(cut)
        wanted = quotas(total.counts, 1000)
        parts = [draw(X[a:b], y[a:b], int(a), total.classes, seed=5) for a, b in spans]
        samples.append(merge([part.lowest(wanted) for part in reversed(parts)], wanted))
    one, other = samples
    assert (one.X == other.X).all()
    assert (one.codes == other.codes).all()
    shares = np.bincount(one.codes)
    assert shares[2] == min(RAREST, (y == "rare").sum())
    np.testing.assert_allclose(shares[:2], [700, 295], atol=15)
    assert len({tuple(row) for row in one.X}) == len(one.X)
    different = draw(X, y, 0, total.classes, seed=6).lowest(wanted)
    assert (different.X != one.X).any()


def test_one_reading_draws_the_sample_of_two():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(9000, 2))
    y = rng.choice(["a", "b", "rare"], 9000, p=[0.7, 0.299, 0.001])
    y[:8000][y[:8000] == "b"] = "a"  # one that comes late
    for cut in ([0, 9000], [0, 1, 7, 2000, 2000, 4999, 8999, 9000]):
        draft, kept = Draft(500, seed=5), []
        for a, b in pairwise(cut):
            if a < b:
                draft.add(f"{a}", X[a:b], y[a:b])
                kept.append(len(draft._kept[0]))
        sample, total = draft.finish()
        known = draw(X, y, 0, total.classes, seed=5).lowest(quotas(total.counts, 500))
        assert list(total.classes) == ["a", "b", "rare"]
        assert total.rows == 9000
        np.testing.assert_array_equal(sample.X, known.X)
        np.testing.assert_array_equal(sample.codes, known.codes)
        assert kept[-1] < 3.3 * 500  # and not all that was read


def test_many_classes_do_not_make_the_draft_large():
    rng = np.random.default_rng(0)
    draft = Draft(400, seed=0)
    for start in range(0, 20_000, 2000):
        draft.add(f"{start}", np.zeros((2000, 1)), rng.integers(0, 50, 2000))
    assert len(draft._kept[0]) < 3 * 400 + 50 * RAREST
    sample, _ = draft.finish()
    assert (np.bincount(sample.codes) == RAREST).all()


def test_the_sample_is_spread_over_the_rows():
    X = np.arange(20_000.0)[:, None]
    total = census([count("", X[:, 0] % 2)])
    wanted = quotas(total.counts, 4000)
    sample = draw(X, X[:, 0] % 2, 0, total.classes, seed=0).lowest(wanted)
    # Uniform numbers: mean 10 000 with deviation 20 000 / sqrt(12 * 4000) = 91.
    assert abs(sample.X.mean() - 10_000) < 4 * 91
    assert abs(np.corrcoef(sample.X[:-1, 0], sample.X[1:, 0])[0, 1]) < 0.06  # no order is left


# -- what can go wrong -------------------------------------------------------------------


def written(frame, path, **options):
    pq.write_table(pa.Table.from_pandas(frame, preserve_index=False), path, **options)
    return path


def spoiled(frame, column, value):
    copy = frame.copy()
    copy[column] = copy[column].astype(object)
    copy.loc[730, column] = value
    return copy


BAD = {
    "nan": ("b", float("nan"), r"got NaN in row 10, column 'b'"),
    "null": ("whole", None, r"got NaN in row 10, column 'whole'"),
    "no category": ("color", None, r"column 'color' must hold a value in every row, got 1 missing"),
    "no label": ("class", None, r"target 'class' must hold a label in every row, got 1 missing"),
}


@pytest.mark.parametrize("case", BAD)
def test_a_bad_row_has_an_address(case, frame, tmp_path):
    column, value, message = BAD[case]
    path = written(spoiled(frame, column, value), tmp_path / "bad.parquet", row_group_size=300)
    rows = ArrowRows(path, target="class", categorical=["color"], chunk_rows=120)
    where = r"bad\.parquet, row group 2, from its row 120 on: "
    with pytest.raises(InvalidInput, match=where + ".*" + message):
        MCEClassifier(MAP, random_state=0).fit(rows)


def test_a_bad_row_has_an_address_in_prediction_too(model, frame, tmp_path):
    path = written(spoiled(frame, "a", np.inf), tmp_path / "bad.parquet", row_group_size=300)
    with pytest.raises(InvalidInput, match=r"bad\.parquet, row group 2, .*inf.*column 'a'"):
        model.predict(ArrowRows(path))


MISTAKES = {
    "target": ({"target": "klass"}, "`target` names the column 'klass', but the columns are 'a'"),
    "columns": ({"columns": ["a", "z"]}, "`columns` names the column 'z'"),
    "categorical": ({"columns": ["a"], "categorical": ["b"]}, "`categorical` names the column 'b'"),
    "chunk_rows": ({"chunk_rows": 0}, "`chunk_rows` must be a whole number of at least 2, got 0"),
    "text": (
        {"target": "class"},
        "column 'color' must hold numbers, got .*name it in `categorical`",
    ),
    "no target": ({"columns": ["a"]}, "`target` of ArrowRows must name the column of labels"),
}


@pytest.mark.parametrize("case", MISTAKES)
def test_mistakes_are_told(case, folder):
    arguments, message = MISTAKES[case]
    with pytest.raises(InvalidInput, match=message):
        MCEClassifier(MAP, random_state=0).fit(ArrowRows(folder, **arguments))


def test_sources_that_are_none(tmp_path, folder, frame):
    with pytest.raises(InvalidInput, match="there is no file or folder"):
        ArrowRows(tmp_path / "nothing.parquet")
    (tmp_path / "rows.csv").write_text("a,b\n1,2\n")
    with pytest.raises(InvalidInput, match=r"must be Parquet, which .*dataset\(path, format="):
        ArrowRows(tmp_path / "rows.csv")
    with pytest.raises(InvalidInput, match=r"must be a path, a list of paths or a pyarrow"):
        ArrowRows(frame)
    (tmp_path / "empty").mkdir()
    with pytest.raises(InvalidInput, match="holds no Parquet file"):
        ArrowRows(tmp_path / "empty")
    with pytest.raises(InvalidInput, match=r"`kernel` must be a feature map .* keeps every row"):
        MCEClassifier(Gaussian()).fit(ArrowRows(folder, target="class"))
    with pytest.raises(InvalidInput, match="`y` must be None where X is a stream"):
        MCEClassifier(MAP).fit(ArrowRows(folder, target="class"), frame["class"])
    fitted = MCEClassifier(MAP, optimizer=None).fit(frame[["a", "b"]], frame["class"])
    with pytest.raises(InvalidInput, match="'b', which the model was fitted with"):
        fitted.predict(ArrowRows(ds.dataset(pa.table({"a": [1.0]}))))
    with pytest.raises(InvalidInput, match=r"there are no labels; name the column"):
        MCEClassifier(MAP).fit(ArrayRows(np.zeros((5, 2))))
    with pytest.raises(InvalidInput, match="one label for each of 5 rows"):
        ArrayRows(np.zeros((5, 2)), np.zeros(4))
    with pytest.raises(InvalidInput, match=r"labels of one type, got 1 here and 'a' in rows 0"):
        MCEClassifier(MAP).fit(Mixed())
    with pytest.raises(InvalidInput, match=r"got none at all"):
        MCEClassifier(MAP).fit(ArrayRows(np.zeros((0, 2)), np.zeros(0)))


def test_files_and_datasets_become_streams_by_name(folder, model, tmp_path):
    path = folder / "part-0.parquet"
    said = r"X must be a table or a stream of rows, got the path '.*part-0\.parquet'; torte\.streams\.ArrowRows\('.*'"
    for source in (path, str(path)):
        with pytest.raises(InvalidInput, match=said + r", target='class'\) reads it"):
            MCEClassifier(MAP).fit(source, "class")
        with pytest.raises(InvalidInput, match=said + r"\) reads it"):
            model.predict(source)
    with pytest.raises(InvalidInput, match=r"got a pyarrow dataset; torte\.streams\.ArrowRows\(da"):
        MCEClassifier(MAP).fit(ds.dataset(path), "class")
    with pytest.raises(
        InvalidInput, match=r"the paths \['.*', '.*'\]; .*\], target='class'\) reads it"
    ):
        MCEClassifier(MAP).fit([str(path), str(path)], "class")
    nowhere = tmp_path / "none" / "predicted.parquet"
    with pytest.raises(InvalidInput, match=r"`path` .*got '.*predicted\.parquet'; make the folder"):
        write_predictions(model, ArrowRows(folder), nowhere)
    small = MCEClassifier(MAP, optimizer=None, random_state=0)
    small.fit(np.random.default_rng(0).normal(size=(90, 3)), np.arange(90) % 2)
    with pytest.raises(InvalidInput, match="X must hold at least 1 row, got a stream of none"):
        small.predict_proba(ArrayRows(np.zeros((0, 3))))
    assert list(predictions(small, ArrayRows(np.zeros((0, 3))))) == []


def test_numbers_that_are_no_classes_are_told_at_once():
    y = np.random.default_rng(0).normal(size=100)
    with pytest.raises(InvalidInput, match=r"rows 0 to 9 .*: y must hold class labels, got 10 dis"):
        MCEClassifier(MAP).fit(ArrayRows(np.zeros((100, 2)), y, chunk_rows=10))
    with pytest.raises(InvalidInput, match=r"part: y must hold class labels, got 10001 distinct"):
        count("part", np.arange(10_001))


def test_features_that_do_not_fit_are_told_before_a_row_is_read(monkeypatch):
    monkeypatch.setattr(torte.routes, "available_memory", lambda device: 10**9)
    rows = Read(np.zeros((100, 2)), np.arange(100) % 2)
    with pytest.raises(DoesNotFit, match=r"gives 60000 features, .*take fewer than 5000"):
        MCEClassifier(Fourier(Gaussian(), 60_000), optimizer=None).fit(rows)
    assert rows.readings == 0


class Mixed(Rows):
    def features(self):
        return None

    def labels(self):
        return self.chunks()

    def chunks(self, features=None):
        yield Chunk("rows 0 to 3", np.zeros((4, 1)), np.array(["a", "b", "a", "b"]))
        yield Chunk("rows 4 to 7", np.zeros((4, 1)), np.arange(1, 5))


def test_other_formats_and_hive_partitions(frame, tmp_path):
    kept = frame[["a", "b", "whole", "class"]]
    kept.to_csv(tmp_path / "rows.csv", index=False)
    dataset = ds.dataset(tmp_path / "rows.csv", format="csv")
    settings = {"random_state": 0, "optimizer": None, "regularization": 1e-3}
    of_csv = MCEClassifier(MAP, **settings).fit(ArrowRows(dataset, target="class"))
    assert of_csv._statistics.count == N
    table = pa.Table.from_pandas(kept, preserve_index=False)
    pq.write_to_dataset(table, tmp_path / "hive", partition_cols=["whole"])
    rows = ArrowRows(tmp_path / "hive", target="class", columns=["a", "b", "whole"])
    of_hive = MCEClassifier(MAP, **settings).fit(rows)
    X = kept[["a", "b", "whole"]]
    whole = given(of_hive).fit(X, kept["class"])
    np.testing.assert_allclose(of_hive.predict_proba(X), whole.predict_proba(X), atol=1e-9)


def test_progress_and_warnings(folder, capsys):
    rows = ArrowRows(folder, target="class", columns=["a"], chunk_rows=100, sample_size=200)
    wide = Fourier(Gaussian(1.0), 1400)
    with pytest.warns(WideFeaturesWarning, match="1400 features for 1300 rows"):
        MCEClassifier(wide, optimizer=None, random_state=0).fit(rows)
    assert capsys.readouterr().err == ""
    many = Fourier(Gaussian(1.0), 400)  # more than rows of the sample, fewer than all rows
    MCEClassifier(many, optimizer=None, random_state=0, verbose=1).fit(rows)
    told = capsys.readouterr().err
    assert told.startswith("reading the columns and their categories")
    assert f"rows to learn on {N}/{N}" in told
    assert f"sums over rows {N}/{N}" in told
