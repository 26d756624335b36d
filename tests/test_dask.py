"""Partitions on real workers: the answer of one process, though a worker dies; bad rows have an address."""

from __future__ import annotations

import inspect
import logging
import os
import pickle
import signal
from pathlib import Path

import dask
import dask.array as da
import dask.dataframe as dd
import numpy as np
import pandas as pd
import pytest
from distributed import Client, LocalCluster
from sklearn.base import clone
from sklearn.exceptions import NotFittedError

import torte.routes
from torte import MCEClassifier
from torte.dask import DaskMCEClassifier
from torte.dask.workers import counted, counted_together
from torte.errors import DoesNotFit, InvalidInput
from torte.features import Fourier, Nystroem
from torte.kernels import Gaussian
from torte.optimizers import Adam
from torte.streams import ArrayRows

N, PARTS = 2400, 8
MAP = Nystroem(Gaussian(1.0, ard=True), 30)
SETTINGS = {"random_state": 0, "optimizer": None, "regularization": 1e-3}
LEARNED = {"random_state": 0, "optimizer": Adam(max_iter=5), "regularization": 1e-3}


@pytest.fixture(scope="module")
def cluster():
    """A scheduler and two worker processes that speak TCP."""
    quiet = {"distributed.worker.daemon": True, "distributed.comm.timeouts.connect": "60s"}
    with (
        dask.config.set(quiet),
        LocalCluster(
            n_workers=2,
            threads_per_worker=1,
            processes=True,
            protocol="tcp",
            dashboard_address=None,
            silence_logs=logging.CRITICAL,
        ) as cluster,
        Client(cluster) as client,
    ):
        yield client


@pytest.fixture(scope="module")
def rows():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(N, 3))
    y = np.where(X[:, 0] + 0.3 * rng.normal(size=N) > 0.5, "yes", "no").astype(object)
    y[rng.random(N) < 0.02] = "rare"
    return X, y


def arrays(X, y, parts=PARTS):
    step = -(-len(X) // parts)
    return da.from_array(X, chunks=(step, X.shape[1])), da.from_array(y, chunks=step)


def frames(X, y, parts=PARTS):
    frame = pd.DataFrame(X, columns=["a", "b", "c"]).assign(label=y)
    return dd.from_pandas(frame, npartitions=parts)


def of_one_process(X, y, size=500, **settings):
    return MCEClassifier(MAP, **SETTINGS | settings).fit(ArrayRows(X, y, sample_size=size))


# -- the answer --------------------------------------------------------------------------


def test_a_cluster_gives_the_answer_of_one_process(cluster, rows):
    assert cluster.scheduler.address.startswith("tcp://")
    pids = cluster.run(os.getpid)
    assert len(set(pids.values()) | {os.getpid()}) == 3
    X, y = rows
    model = DaskMCEClassifier(MAP, sample_size=500, **SETTINGS).fit(*arrays(X, y))
    one = of_one_process(X, y)
    np.testing.assert_allclose(model.predict_proba(X), one.predict_proba(X), atol=1e-8)
    np.testing.assert_allclose(model.complexity_, one.complexity_, rtol=1e-8)
    assert model._statistics.count == N
    # Lazily, by partition, with shape and type declared.
    P = model.predict_proba(arrays(X, y)[0])
    assert isinstance(P, da.Array)
    assert P.shape == (N, 3)
    assert P.chunks[0] == (300,) * 8
    np.testing.assert_allclose(P.compute(), one.predict_proba(X), atol=1e-8)
    labels = model.predict(arrays(X, y)[0])
    assert labels.dtype == one.classes_.dtype
    assert (labels.compute() == one.predict(X)).all()


def _block(path: str, number: int, X: np.ndarray) -> np.ndarray:
    """A block of rows; the worker that makes block 5 for the second time is killed, once.

    The first time is for the sample, the second for the sums.
    """
    if number == 5:
        seen = Path(path) / "seen"
        if seen.exists() and not (Path(path) / "killed").exists():
            (Path(path) / "killed").write_text(str(os.getpid()))
            os.kill(os.getpid(), signal.SIGKILL)
        seen.touch()
    return X


def test_a_worker_dies_in_the_middle_of_a_fit(cluster, rows, tmp_path):
    X, y = rows
    blocks = [
        da.from_delayed(
            dask.delayed(_block)(str(tmp_path), i, X[300 * i : 300 * (i + 1)]), (300, 3), float
        )
        for i in range(PARTS)
    ]
    before = set(cluster.run(os.getpid).values())
    model = DaskMCEClassifier(MAP, sample_size=500, **SETTINGS)
    model.fit(da.concatenate(blocks), arrays(X, y)[1])
    killed = int((tmp_path / "killed").read_text())
    assert killed in before
    assert killed not in set(cluster.run(os.getpid).values())
    np.testing.assert_allclose(
        model.predict_proba(X), of_one_process(X, y).predict_proba(X), atol=1e-8
    )


def test_nothing_large_comes_to_the_client(cluster, rows, monkeypatch):
    X, y = rows
    received, gather = [], cluster.gather

    def weighed(futures, **options):
        found = gather(futures, **options)
        received.append(len(pickle.dumps(found)))
        return found

    monkeypatch.setattr(cluster, "gather", weighed)
    p = 200
    DaskMCEClassifier(Fourier(Gaussian(1.0), p), sample_size=300, **SETTINGS).fit(*arrays(X, y))
    total = 8 * p * (p + 3)  # of eight such sums, one comes here
    assert total < max(received) < total + 5_000
    assert sum(received) < total + 8 * 400 * (3 + 2) + 10_000


def test_a_bad_row_names_its_partition(cluster, rows):
    X, y = rows
    bad = X.copy()
    bad[5 * 300 + 7, 1] = np.nan
    model = DaskMCEClassifier(MAP, sample_size=500, **SETTINGS)
    with pytest.raises(InvalidInput, match=r"partition 5: X must hold .* NaN in row 7, column 1"):
        model.fit(*arrays(bad, y))
    model.fit(*arrays(X, y))
    with pytest.raises(InvalidInput, match=r"partition 5: .*NaN in row 7"):
        model.predict(arrays(bad, y)[0]).compute()
    frame = frames(X, y).assign(c="red")
    with pytest.raises(InvalidInput, match=r"partition \d: X must hold numbers.*column 'c'"):
        model.fit(frame, "label")


# -- without workers: dask's own threads are enough --------------------------------------


def test_frames_series_and_names(rows):
    X, y = rows
    frame = frames(X, y)
    model = DaskMCEClassifier(MAP, sample_size=500, **SETTINGS).fit(frame, "label")
    assert list(model.feature_names_in_) == ["a", "b", "c"]
    of_series = DaskMCEClassifier(MAP, sample_size=500, **SETTINGS)
    of_series.fit(frame[["a", "b", "c"]], frame["label"])
    local = frame.compute()[["a", "b", "c"]]
    P = of_one_process(X, y).predict_proba(X)
    np.testing.assert_allclose(model.predict_proba(local), P, atol=1e-8)
    np.testing.assert_allclose(of_series.predict_proba(local), P, atol=1e-8)
    lazy = model.predict_proba(frame[["a", "b", "c"]])
    assert isinstance(lazy, dd.DataFrame)
    assert list(lazy.columns) == ["no", "rare", "yes"]
    assert lazy.divisions == frame.divisions
    np.testing.assert_allclose(lazy.compute(), P, atol=1e-8)
    labels = model.predict(frame[["a", "b", "c"]])
    assert labels.dtype == labels.compute().dtype
    assert labels.name == labels.compute().name == "prediction"
    assert (labels.compute() == model.predict(local)).all()


def test_partitions_do_not_matter(rows):
    X, y = rows
    few, many = (
        DaskMCEClassifier(MAP, sample_size=300, **LEARNED).fit(*arrays(X, y, parts))
        for parts in (2, 11)
    )
    np.testing.assert_allclose(few.predict_proba(X), many.predict_proba(X), atol=1e-8)
    assert few.kernel_.kernel.length_scale != (1.0, 1.0, 1.0)
    assert few.kernel_.kernel.length_scale == many.kernel_.kernel.length_scale
    # Columns cut into chunks, and empty partitions, are borne.
    X_cut, y_whole = arrays(X, y)[0].rechunk((500, 2)), arrays(X, y, 3)[1]
    cut = DaskMCEClassifier(MAP, sample_size=300, **LEARNED).fit(X_cut, y_whole)
    np.testing.assert_allclose(cut.predict_proba(X), few.predict_proba(X), atol=1e-8)
    frame = frames(X, y)
    holes = frame[(frame["a"] > np.sort(X[:300, 0])[-1]) | (frame.index > 1500)]
    assert 0 in holes.map_partitions(len).compute().tolist()
    lazy = few.predict(holes[["a", "b", "c"]].to_dask_array())
    assert lazy.compute().shape == (len(holes),)
    DaskMCEClassifier(MAP, sample_size=300, **SETTINGS).fit(holes, "label")


def test_a_model_of_one_machine_comes_out(rows):
    X, y = rows
    model = DaskMCEClassifier(MAP, sample_size=300, **SETTINGS).fit(*arrays(X, y))
    local = model.to_local()
    assert type(local) is MCEClassifier
    assert (local.predict(X) == model.predict(X)).all()
    again = pickle.loads(pickle.dumps(local))
    assert (again.predict_proba(X) == local.predict_proba(X)).all()
    local.partial_fit(X[:50], y[:50])
    assert local._statistics.count == N + 50
    assert model._statistics.count == N


def test_a_file_holds_the_model_of_one_machine(rows, tmp_path):
    X, y = rows
    model = DaskMCEClassifier(MAP, sample_size=300, **SETTINGS).fit(*arrays(X, y))
    model.save(tmp_path / "model.torte")
    again = torte.load(tmp_path / "model.torte")
    assert type(again) is MCEClassifier
    np.testing.assert_array_equal(again.predict_proba(X), model.predict_proba(X))
    with pytest.raises(NotFittedError):
        DaskMCEClassifier(MAP).save(tmp_path / "none.torte")


def test_columns_are_found_by_name(rows):
    X, y = rows
    frame = frames(X, y)
    model = DaskMCEClassifier(MAP, sample_size=300, **SETTINGS).fit(frame, "label")
    P = model.predict_proba(frame[["a", "b", "c"]]).compute()
    for other in (frame, frame[["c", "label", "a", "b"]]):
        pd.testing.assert_frame_equal(model.predict_proba(other).compute(), P)
    with pytest.raises(InvalidInput, match="the column 'b', which the model was fitted with; the"):
        model.predict(frame[["a", "c"]])


def forbidden(*arguments, **options):
    pytest.fail("it was computed")


def test_labels_are_counted_in_a_tree():
    leaves = [counted("a", np.array(["a", "b"])), counted("b", np.array([], "<U1"))]
    leaves += [counted("c", np.array(["b", "c", "c"]))]
    found, rows = counted_together([counted_together(leaves[:2]), leaves[2]])
    assert (found.where, found.rows, rows) == ("a", 5, (2, 0, 3))
    assert dict(zip(found.labels, found.counts, strict=True)) == {"a": 1, "b": 2, "c": 2}
    many = [counted(f"{i}", np.arange(i * 6000, (i + 1) * 6000)) for i in range(2)]
    with pytest.raises(InvalidInput, match="y must hold class labels, got 12000 distinct values"):
        counted_together(many)


def test_every_answer_is_lazy(rows, monkeypatch):
    X, y = rows
    frame, (array, labels) = frames(X, y), arrays(X, y)
    model = DaskMCEClassifier(MAP, sample_size=300, **SETTINGS)
    for given in ((array, labels), (frame, "label")):
        local = model.fit(*given).to_local()
        whole = X if given[0] is array else frame.compute()[["a", "b", "c"]]
        answers = (
            lambda m, X: m.predict_entropy(X, "embedding"),
            lambda m, X: m.expectation([0.0, 1.0, 2.0], X),
            lambda m, X: m.decision_function(X),
            lambda m, X: m.predict_log_proba(X),
        )
        for ask in answers:
            with monkeypatch.context() as patch:
                patch.setattr(type(array), "compute", forbidden)
                patch.setattr(type(frame), "compute", forbidden)
                lazy = ask(model, given[0])
            assert isinstance(lazy, (da.Array, dd.Series, dd.DataFrame))
            found = lazy.compute()
            assert len(lazy.shape) == found.ndim
            np.testing.assert_allclose(found, ask(local, whole), atol=1e-9)
    assert model.predict_entropy(frame).name == model.predict_entropy(frame).compute().name
    with pytest.raises(InvalidInput, match="`estimator` must be 'clip-normalized' or"):
        model.predict_entropy(array, "other")
    with pytest.raises(InvalidInput, match="`g` must"):
        model.expectation([1.0], array)


def test_the_sums_weigh_and_describe_all_rows(rows):
    X, y = rows
    settings = SETTINGS | {"class_weight": {"rare": 20.0}}
    model = DaskMCEClassifier(MAP, sample_size=500, **settings).fit(*arrays(X, y))
    one = of_one_process(X, y, class_weight={"rare": 20.0})
    np.testing.assert_allclose(model.predict_proba(X), one.predict_proba(X), atol=1e-8)
    assert model.solution_.n_components == model.plan_.n_components == 30
    assert model._own_weights is None


def test_features_that_do_not_fit_the_client_are_told(rows, monkeypatch):
    monkeypatch.setattr(torte.routes, "available_memory", lambda device: 10**9)
    model = DaskMCEClassifier(Fourier(Gaussian(), 60_000), **SETTINGS)
    with pytest.raises(DoesNotFit, match=r"gives 60000 features, .* 1\.0 GB are free"):
        model.fit(*arrays(*rows))


def test_the_arguments_are_those_of_the_classifier():
    own, plain = (
        inspect.signature(kind.__init__).parameters for kind in (DaskMCEClassifier, MCEClassifier)
    )
    assert own.keys() - {"sample_size"} == plain.keys()
    assert all(own[name].default == plain[name].default for name in plain)
    values = clone(DaskMCEClassifier(MAP, sample_size=7, verbose=1)).get_params(deep=False)
    assert (values["kernel"], values["sample_size"], values["verbose"]) == (MAP, 7, 1)


MISTAKES = {
    "in memory": (lambda X, y: (X, y), "dask dataframe, or a dask array .*use MCEClassifier"),
    "labels in memory": (lambda X, y: (arrays(X, y)[0], y), "y must be a dask array or series"),
    "no column": (lambda X, y: (frames(X, y), "lable"), "name of a column of X, got 'lable'"),
    "partitions": (
        lambda X, y: (frames(X, y, 3)[["a"]], frames(X, y, 2)["label"]),
        "same partitions, got 3 and 2",
    ),
    "lengths": (
        lambda X, y: (frames(X, y, 2)[["a"]], frames(X[:-50], y[:-50], 2)["label"]),
        "partition [01]: X and y must have the same number of rows .*, got 1200 and 1175",
    ),
    "no label": (
        lambda X, y: arrays(X, np.where(np.arange(N) == 700, None, y.astype(object))),
        "partition 2: y must hold a label in every row, got None in row 100",
    ),
    "numbers": (
        lambda X, y: (arrays(X, y)[0], da.from_array(X[:, 0], chunks=300)),
        r"partition \d: y must hold class labels, got 300 distinct values.*use a regressor",
    ),
    "two types": (
        lambda X, y: (arrays(X, y)[0], da.concatenate([da.zeros(300), arrays(X, y)[1][300:]])),
        r"partition 1: y must hold labels of one type, got 'no' here and 0.0 in partition 0",
    ),
}


@pytest.mark.parametrize("case", MISTAKES)
def test_mistakes_are_told(case, rows):
    spoil, message = MISTAKES[case]
    with pytest.raises(InvalidInput, match=message):
        DaskMCEClassifier(MAP, sample_size=300, **SETTINGS).fit(*spoil(*rows))


def test_settings_are_checked(rows, capsys):
    with pytest.raises(NotFittedError):
        DaskMCEClassifier(MAP).predict(arrays(*rows)[0])
    with pytest.raises(InvalidInput, match="`sample_size` must be a whole number of at least 2"):
        DaskMCEClassifier(MAP, sample_size=0).fit(*arrays(*rows))
    with pytest.raises(InvalidInput, match="`kernel` must be a feature map"):
        DaskMCEClassifier(Gaussian()).fit(*arrays(*rows))
    DaskMCEClassifier(MAP, sample_size=300, verbose=1, **SETTINGS).fit(*arrays(*rows))
    assert "dask 3/3  summed" in capsys.readouterr().err
