"""Datasets by name: what is recorded of them, every source, and every way one can be broken."""

from __future__ import annotations

import dataclasses
import gzip
import os
from pathlib import Path
from types import SimpleNamespace

import numpy as np
import pytest
import sklearn.datasets

from torte import datasets
from torte.datasets import CATALOG, cache_folder, fingerprint, load, source
from torte.errors import BrokenDataset, InvalidInput


@pytest.fixture
def no_folder(monkeypatch, tmp_path):
    """Neither a folder of tables nor anything fetched before."""
    monkeypatch.delenv("TORTE_DATA", raising=False)
    monkeypatch.setenv("SCIKIT_LEARN_DATA", str(tmp_path / "scikit_learn_data"))
    return tmp_path


@pytest.fixture
def openml_wine(monkeypatch, no_folder):
    """The wine table as if it were fetched: other labels, another order of rows."""
    wine = load("wine")
    facts = dataclasses.replace(CATALOG["wine"], shipped=False)
    monkeypatch.setitem(datasets.CATALOG, "wine", facts)
    bunch = SimpleNamespace(
        data=wine.X[::-1].copy(),
        target=np.array([str(1 + int(label[-1])) for label in wine.y[::-1]], dtype=object),
        feature_names=list(wine.columns),
    )
    calls = []

    def fetch(*, data_id, as_frame, cache):
        assert (as_frame, cache) == (False, False)
        calls.append(data_id)
        return bunch

    monkeypatch.setattr(sklearn.datasets, "fetch_openml", fetch)
    return bunch, calls


def files_in(folder: Path) -> list[str]:
    return sorted(path.name for path in folder.rglob("*") if path.is_file())


@pytest.mark.parametrize("name", [n for n in CATALOG if n not in ("covertype", "fashion-mnist")])
def test_the_folder_holds_what_is_recorded(name):
    if "TORTE_DATA" not in os.environ:
        pytest.skip("TORTE_DATA does not name a folder of tables")
    if not Path(source(name)).exists():
        pytest.skip(f"{name} is not in TORTE_DATA")
    data, facts = load(name), CATALOG[name]
    assert data.X.shape == (facts.rows, facts.columns) == (len(data.y), len(data.columns))
    assert data.source.startswith(os.environ["TORTE_DATA"])
    assert data.X.dtype == (np.uint8 if facts.train else np.float64)


@pytest.mark.parametrize("name", ["iris", "wine"])
def test_scikit_learn_ships_some(name, no_folder):
    assert source(name) == load(name).source == "scikit-learn"


def test_a_table_is_fetched_once(openml_wine):
    _, calls = openml_wine
    assert source("wine") == "OpenML 187"
    first, second = load("wine"), load("wine")
    assert calls == [187]
    assert first.source == "OpenML 187"
    assert second.source == source("wine") == str(cache_folder() / "wine.npz")
    np.testing.assert_array_equal(first.X, second.X)
    np.testing.assert_array_equal(first.y, second.y)
    assert first.columns == second.columns
    assert files_in(cache_folder()) == ["wine.npz"]


def break_values(bunch):
    bunch.data[3, 4] += 0.01


def break_labels(bunch):
    bunch.target[[0, -1]] = bunch.target[[-1, 0]]


def break_rows(bunch):
    bunch.data, bunch.target = bunch.data[:-1], bunch.target[:-1]


def break_classes(bunch):
    bunch.target[0] = "4"


def break_columns(bunch):
    bunch.data = bunch.data[:, :-1]


@pytest.mark.parametrize(
    ("damage", "text"),
    [
        (break_values, "must have the checksum 17b7c098.*some values or labels differ"),
        (break_labels, "must have the checksum 17b7c098"),
        (break_rows, "from OpenML 187 must have rows 178, got 177"),
        (break_classes, r"must have class sizes \(71, 59, 48\), got \(71, 59, 47, 1\)"),
        (break_columns, "must have columns 13, got 12"),
    ],
)
def test_a_table_that_is_not_the_recorded_one_is_not_kept(openml_wine, damage, text):
    damage(openml_wine[0])
    with pytest.raises(BrokenDataset, match=text):
        load("wine")
    assert files_in(cache_folder().parent) == []


def test_a_broken_download_says_so_and_leaves_nothing(monkeypatch, no_folder):
    def fetch(**_):
        raise ConnectionError("the line went dead")

    monkeypatch.setattr(sklearn.datasets, "fetch_openml", fetch)
    with pytest.raises(
        BrokenDataset, match=r"yeast could not be fetched .* data_id 181.*line went"
    ):
        load("yeast")
    assert files_in(no_folder) == []


def test_a_write_that_fails_leaves_nothing(monkeypatch, openml_wine):
    def full(path, **arrays):
        Path(path).write_bytes(b"PK half a file")
        raise OSError("No space left on device")

    monkeypatch.setattr(np, "savez_compressed", full)
    with pytest.raises(OSError, match="No space left"):
        load("wine")
    assert files_in(cache_folder()) == []


def test_a_damaged_cache_names_its_file(openml_wine):
    load("wine")
    kept = cache_folder() / "wine.npz"
    kept.write_bytes(kept.read_bytes()[:1000])
    with pytest.raises(BrokenDataset, match=r"wine\.npz cannot be read .* delete it"):
        load("wine")


@pytest.mark.parametrize("content", [b"not gzip", gzip.compress(b"a,target\nx,1\n")])
def test_a_damaged_table_names_its_file(monkeypatch, tmp_path, content):
    (tmp_path / "yeast.csv.gz").write_bytes(content)
    monkeypatch.setenv("TORTE_DATA", str(tmp_path))
    with pytest.raises(BrokenDataset, match=r"yeast\.csv\.gz cannot be read"):
        load("yeast")


def test_an_unknown_name_lists_the_known_ones():
    with pytest.raises(InvalidInput, match=r"`name` must be one of banknote, .*, got 'irs'"):
        load("irs")


def test_the_checksum_of_test_rows_is_not_that_of_training_rows():
    X, y = np.arange(12, dtype=np.uint8).reshape(4, 3), np.array([0, 1, 0, 1])
    assert fingerprint(X, y, 2) == fingerprint(X[[1, 0, 3, 2]], y[[1, 0, 3, 2]], 2)
    assert fingerprint(X, y, 2) != fingerprint(X[[2, 1, 0, 3]], y, 2)


def test_the_checksum_survives_six_digits_and_a_negative_zero():
    X, y = np.array([[0.27777779, -0.0], [1.5, 2.0]]), np.array(["a", "b"])
    assert fingerprint(X, y) == fingerprint(np.array([[0.277778, 0.0], [1.5, 2.0]]), y)
