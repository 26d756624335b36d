"""The paper's tables and images by name: from a folder, from scikit-learn, or fetched once.

`load` looks in this order: the folder that the environment variable TORTE_DATA names, what
scikit-learn ships, the cache, OpenML. Whatever the source, the content must have the rows,
columns, class sizes and the checksum recorded here.
"""

from __future__ import annotations

import gzip
import hashlib
import os
import tempfile
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from torte.errors import BrokenDataset, InvalidInput

__all__ = ["CATALOG", "Dataset", "Facts", "cache_folder", "fingerprint", "load", "source"]

IMAGE_FILES = ("train-images-idx3", "train-labels-idx1", "t10k-images-idx3", "t10k-labels-idx1")


@dataclass(frozen=True)
class Facts:
    """What is known of a dataset; ``sizes`` are those of its classes, ``train`` its training rows."""

    rows: int
    columns: int
    sizes: tuple[int, ...]
    checksum: str
    openml: int
    shipped: bool = False  # inside scikit-learn
    train: int | None = None  # images: the rows before this one are for training


class Dataset(NamedTuple):
    """Rows (n x d), labels (n), the columns' names, and where all of it came from."""

    X: np.ndarray
    y: np.ndarray
    columns: tuple[str, ...]
    source: str


# fmt: off
CATALOG: dict[str, Facts] = {
    "banknote": Facts(1372, 4, (762, 610),
        "79ace5520dc8074537275699a0b29a19f111b42d60d1adaf0303ee464719cbc4", 1462),
    "ecoli": Facts(336, 7, (143, 77, 52, 35, 20, 5, 2, 2),
        "267ac75ac416d8c43258ec5c23c81647f01fd0c6778d3c90229ece532a15982b", 39),
    "iris": Facts(150, 4, (50, 50, 50),
        "f65a0980d36624b6c72b0e266714ad84f6fa2563b5ef3eb67cd20a6f56672707", 61, shipped=True),
    "robot": Facts(5456, 24, (2205, 2097, 826, 328),
        "033cde5e90cf1bb112244098101346988fb7accfa3956c8209cec65cc85f30d5", 1497),
    "segment": Facts(2310, 19, (330, 330, 330, 330, 330, 330, 330),
        "3cae83e394b321f4223a045dc6d1d5185dff020cf2da9234059171e810e4490d", 36),
    "wine": Facts(178, 13, (71, 59, 48),
        "17b7c098f076e5ab3411de8924e5f0a8557d0e11fecf7196524d99d2131e1687", 187, shipped=True),
    "yeast": Facts(1484, 8, (463, 429, 244, 163, 51, 44, 35, 30, 20, 5),
        "9cfafde74730a6e84af9ab678c7a02baf60fe0cfefd2829748b7fd2996cbde43", 181),
    "mnist": Facts(70000, 784, (7877, 7293, 7141, 6990, 6958, 6903, 6876, 6825, 6824, 6313),
        "5b5a6266f4c19c364e8d14a93f773a826b1a794659c5c5ce55f90153a1303bb3", 554, train=60_000),
    "fashion-mnist": Facts(70000, 784, (7000, 7000, 7000, 7000, 7000, 7000, 7000, 7000, 7000, 7000),
        "795cd467723758af0245bbdc68e3cf96f13e2b3935d7359f31491f11ffbc27cb", 40996, train=60_000),
    "covertype": Facts(581012, 54, (283301, 211840, 35754, 20510, 17367, 9493, 2747),
        "2783d27df6fa14f6f974d48e521be0e9a91dad09b47904407150ebac7c4c9550", 1596),
    "letter": Facts(20000, 16, (813, 805, 803, 796, 792, 789, 787, 786, 783, 783, 775, 773, 768, 766, 764, 761, 758, 755, 753, 752, 748, 747, 739, 736, 734, 734),
        "f1a6343dceb1ff7eff908f5f860beff5d41a0b39d179033211332a56af03d773", 6),
    "phoneme": Facts(5404, 5, (3818, 1586),
        "a53abd7acf150e35c0b56ba45b12c63a74e5965d8ebce472d715eb76524b06e5", 1489),
    "vehicle": Facts(846, 18, (218, 217, 212, 199),
        "af469b42af1f5dfbc457a31b24dd9932946041596d3d05ecbb8c1301acb95207", 54),
}
# fmt: on


def fingerprint(X: np.ndarray, y: np.ndarray, train: int | None = None) -> str:
    """A checksum of rows and of how labels group them, whatever their order and the labels' names.

    A class has the sum of the sha256 of its rows, each row written with six significant
    digits a number (bytes as they are); the checksum is the sha256 of the sorted sums, or
    with ``train`` that of the checksums of training and test rows.

    >>> import numpy as np
    >>> from torte.datasets import fingerprint
    >>> X, y = np.array([[1.0, 2.0], [3.0, 4.0]]), np.array(["a", "b"])
    >>> fingerprint(X, y) == fingerprint(X[::-1], np.array([1, 0]))
    True
    """
    if train is not None:
        both = fingerprint(X[:train], y[:train]) + fingerprint(X[train:], y[train:])
        return hashlib.sha256(both.encode()).hexdigest()
    _, codes = np.unique(y, return_inverse=True)
    if X.dtype == np.uint8:
        rows = [row.tobytes() for row in X]
    else:
        texts = []
        for column in X.T:
            values, where = np.unique(column + 0.0, return_inverse=True)  # -0.0 + 0.0 is 0.0
            texts.append([f"{value:.6g}" for value in values.tolist()])
            texts[-1] = [texts[-1][position] for position in where.tolist()]
        rows = [",".join(row).encode() for row in zip(*texts, strict=True)]
    sums: dict[int, int] = {}
    for code, row in zip(codes.tolist(), rows, strict=True):
        number = int.from_bytes(hashlib.sha256(row).digest(), "big")
        sums[code] = (sums.get(code, 0) + number) % 2**256
    together = b"".join(total.to_bytes(32, "big") for total in sorted(sums.values()))
    return hashlib.sha256(together).hexdigest()


def cache_folder() -> Path:
    """Where fetched datasets are kept: ``torte`` in scikit-learn's own folder of data."""
    from sklearn.datasets import get_data_home

    return Path(get_data_home()) / "torte"


def _facts(name: str) -> Facts:
    if name not in CATALOG:
        raise InvalidInput(f"`name` must be one of {', '.join(CATALOG)}, got {name!r}.")
    return CATALOG[name]


def _in_folder(name: str) -> Path | None:
    folder = os.environ.get("TORTE_DATA")
    if not folder:
        return None
    if CATALOG[name].train is not None:
        there = Path(folder) / name
        return there if there.is_dir() else None
    places = (Path(folder) / f"{name}.csv.gz", Path(folder) / "more" / f"{name}.csv.gz")
    return next((path for path in places if path.exists()), None)


def source(name: str) -> str:
    """Where `load` would take a dataset from now; begins with "OpenML" where it would be fetched."""
    facts = _facts(name)
    if (path := _in_folder(name)) is not None:
        return str(path)
    if facts.shipped:
        return "scikit-learn"
    kept = cache_folder() / f"{name}.npz"
    return str(kept) if kept.exists() else f"OpenML {facts.openml}"


def load(name: str) -> Dataset:
    """A dataset by name; raises `BrokenDataset` where what was found is not what is recorded.

    Tables have rows of float64, images rows of 784 bytes, the training images first. Labels
    are whole numbers where all of them are, else text.

    >>> from torte.datasets import load
    >>> wine = load("wine")
    >>> wine.X.shape, len(set(wine.y.tolist()))
    ((178, 13), 3)
    """
    facts = _facts(name)
    if (path := _in_folder(name)) is not None:
        read = _read_images if facts.train is not None else _read_table
        return _verified(name, _guarded(read, path), str(path))
    if facts.shipped:
        return _verified(name, _from_scikit_learn(name), "scikit-learn")
    kept = cache_folder() / f"{name}.npz"
    if kept.exists():
        return _verified(name, _guarded(_read_cache, kept), str(kept))
    fetched = _verified(name, _fetch(name, facts), f"OpenML {facts.openml}")
    _keep(kept, fetched)
    return fetched


Parts = tuple[np.ndarray, np.ndarray, tuple[str, ...]]


def _verified(name: str, parts: Parts, where: str) -> Dataset:
    """The dataset, if it is the one that is recorded."""
    facts, (X, y, columns) = CATALOG[name], parts
    sizes = tuple(sorted(np.unique(y, return_counts=True)[1].tolist(), reverse=True))
    found = {"rows": len(X), "columns": X.shape[1], "class sizes": sizes}
    known = {"rows": facts.rows, "columns": facts.columns, "class sizes": facts.sizes}
    for what in found:
        if found[what] != known[what]:
            raise BrokenDataset(
                f"{name} from {where} must have {what} {known[what]}, got {found[what]}; "
                f"delete that copy, or unset TORTE_DATA, to fetch another one."
            )
    checksum = fingerprint(X, y, facts.train)
    if checksum != facts.checksum:
        raise BrokenDataset(
            f"{name} from {where} must have the checksum {facts.checksum}, got {checksum}: "
            f"some values or labels differ; delete that copy, or unset TORTE_DATA, to fetch another one."
        )
    return Dataset(X, y, columns, where)


def _guarded(read: Callable[[Path], Parts], path: Path) -> Parts:
    """What ``read`` finds at a path; any complaint of a decoder names the file."""
    try:
        return read(path)
    except Exception as error:
        raise BrokenDataset(
            f"{path} cannot be read ({type(error).__name__}: {error}); delete it, and it will be "
            f"fetched again where it came from."
        ) from error


def _labels(text: np.ndarray) -> np.ndarray:
    """Whole numbers where every label is one."""
    whole = all(label.lstrip("-").isdigit() for label in np.unique(text).tolist())
    return text.astype(np.int64) if whole else text


def _read_table(path: Path) -> Parts:
    """A gzipped CSV file: a header, numbers, and the label in the last column."""
    with gzip.open(path, "rt", encoding="utf-8") as file:
        header = tuple(file.readline().rstrip("\n").split(","))
        lines = [line.rstrip("\n").rsplit(",", 1) for line in file]
    X = np.loadtxt((line[0] for line in lines), delimiter=",", ndmin=2)
    return X, _labels(np.array([line[1] for line in lines])), header[:-1]


def _read_images(folder: Path) -> Parts:
    """The four original idx files: a header, then bytes."""
    arrays = []
    for stem in IMAGE_FILES:
        raw = gzip.decompress((folder / f"{stem}-ubyte.gz").read_bytes())
        shape = [int.from_bytes(raw[4 + 4 * i : 8 + 4 * i], "big") for i in range(raw[3])]
        arrays.append(np.frombuffer(raw, np.uint8, offset=4 + 4 * raw[3]).reshape(shape))
    X = np.concatenate([arrays[0], arrays[2]])
    return _as_images(X.reshape(len(X), -1), np.concatenate([arrays[1], arrays[3]]))


def _as_images(X: np.ndarray, y: np.ndarray) -> Parts:
    columns = tuple(f"pixel{i}" for i in range(X.shape[1]))
    return X.astype(np.uint8), y.astype(np.int64), columns


def _from_scikit_learn(name: str) -> Parts:
    from sklearn import datasets

    bunch = getattr(datasets, f"load_{name}")()
    return bunch.data, bunch.target_names[bunch.target], tuple(bunch.feature_names)


def _read_cache(path: Path) -> Parts:
    with path.open("rb") as file, np.load(file, allow_pickle=False) as kept:
        return kept["X"], kept["y"], tuple(kept["columns"].tolist())


def _fetch(name: str, facts: Facts) -> Parts:
    """From OpenML, by scikit-learn's own fetcher, which keeps nothing itself."""
    from sklearn.datasets import fetch_openml

    try:
        bunch: Any = fetch_openml(data_id=facts.openml, as_frame=False, cache=False)
        X, y = np.asarray(bunch.data, dtype=np.float64), np.asarray(bunch.target).astype(str)
    except ImportError as error:
        raise ImportError(
            f"Fetching {name} needs pandas; install it with: pip install 'torte[frames]'"
        ) from error
    except Exception as error:
        raise BrokenDataset(
            f"{name} could not be fetched from OpenML, data_id {facts.openml} ({type(error).__name__}: {error}); try "
            f"again, or let TORTE_DATA name a folder that holds {name}. Nothing was kept."
        ) from error
    columns = tuple(map(str, bunch.feature_names))
    return _as_images(X, y) if facts.train is not None else (X, _labels(y), columns)


def _keep(path: Path, dataset: Dataset) -> None:
    """Into the cache in one move: a file that is there is whole."""
    path.parent.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory(dir=path.parent) as folder:
        whole = Path(folder) / path.name
        columns = np.array(dataset.columns)
        np.savez_compressed(whole, X=dataset.X, y=dataset.y, columns=columns)
        whole.replace(path)
