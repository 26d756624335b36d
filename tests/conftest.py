"""What every test shares: seeded points, and the tables where they are."""

from __future__ import annotations

import os
import threading
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
import torch


@pytest.fixture
def generator() -> torch.Generator:
    return torch.Generator().manual_seed(7)


@pytest.fixture
def points(generator):
    """23 rows of 3 columns, labels of 3 classes, and their one-hot form."""
    X = torch.randn(23, 3, dtype=torch.float64, generator=generator)
    y = torch.arange(23) % 3
    X[:, 0] += 0.5 * y
    return X, y, torch.eye(3, dtype=torch.float64)[y]


@pytest.fixture
def blobs():
    """Three overlapping clusters as NumPy arrays: 90 rows, 4 columns of unlike scales."""
    rng = np.random.default_rng(3)
    y = np.arange(90) % 3
    X = rng.normal(size=(90, 4)) + 2.0 * np.eye(3, 4)[y]
    return X * np.array([1.0, 100.0, 0.01, 5.0]) + np.array([0.0, 1e3, 0.0, -50.0]), y


@pytest.fixture
def pipe(tmp_path):
    """A named pipe, and a function that waits for what was written into it."""
    path, read = tmp_path / "pipe", []
    os.mkfifo(path)
    reader = threading.Thread(target=lambda: read.append(path.read_bytes()), daemon=True)
    reader.start()

    def received() -> bytes:
        reader.join(60)
        assert path.is_fifo(), "the pipe was replaced"
        return read[0]

    return path, received


def table(name: str, mixed: bool = False) -> tuple[np.ndarray | pd.DataFrame, np.ndarray]:
    """One of the tables in TORTE_DATA; skips where the folder is missing."""
    folder = os.environ.get("TORTE_DATA")
    path = Path(folder or ".") / f"{name}.csv.gz"
    if not folder or not path.exists():
        pytest.skip(f"TORTE_DATA does not name a folder with {name}.csv.gz")
    frame = pd.read_csv(path, keep_default_na=False, na_values=[""])
    X, y = frame.drop(columns="target"), frame["target"].to_numpy()
    return X if mixed else X.to_numpy(float), y
