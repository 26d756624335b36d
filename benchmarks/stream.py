"""Covertype from Parquet in one pass: time, accuracy and peak memory of a fit on a stream.

TORTE_DATA=../shared/data python benchmarks/stream.py [--components 4096] [--rows 464809]

Adds one record for each setting to benchmarks/results/stream.json; a setting that is there is
not measured again. The files are written, and every model is fitted, in a process of its own,
so that the peak of memory is that of the fit alone.
"""

from __future__ import annotations

import argparse
import json
import os
import platform
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from typing import Any

import numpy as np

from torte import MCEClassifier
from torte.features import Fourier, Nystroem
from torte.kernels import Gaussian, Laplacian, Matern12, Matern32
from torte.streams import ArrowRows, predictions

RESULTS = Path(__file__).parent / "results" / "stream.json"
ROWS = 464_809  # 80 % of covertype
KERNELS = {
    "gaussian": Gaussian(ard=True),
    "gaussian+laplacian": 0.5 * Gaussian(ard=True) + 0.5 * Laplacian(ard=True),
    "laplacian": Laplacian(ard=True),
    "matern12": Matern12(ard=True),
    "matern32": Matern32(ard=True),
}


def write(folder: Path, rows: int) -> None:
    """The table as Parquet, shuffled: ten files to learn from, and one to judge by."""
    import pandas as pd
    import pyarrow as pa
    import pyarrow.parquet as pq

    source = Path(os.environ["TORTE_DATA"], "more", "covertype.csv.gz")
    frame = pd.read_csv(source)
    order = np.random.default_rng(0).permutation(len(frame))
    (folder / "train").mkdir()
    for i, part in enumerate(np.array_split(order[:rows], 10)):
        table = pa.Table.from_pandas(frame.iloc[part], preserve_index=False)
        pq.write_table(table, folder / "train" / f"part-{i}.parquet", row_group_size=32_768)
    test = pa.Table.from_pandas(frame.iloc[order[ROWS:]], preserve_index=False)
    pq.write_table(test, folder / "test.parquet", row_group_size=32_768)


def peak_memory() -> float:
    """The most memory that this process has held so far, in GB."""
    for line in Path("/proc/self/status").read_text().splitlines():
        if line.startswith("VmHWM"):
            return int(line.split()[1]) * 1024 / 1e9
    raise OSError("/proc/self/status names no VmHWM")


def fit(folder: Path, setting: dict[str, Any]) -> dict[str, Any]:
    """One fit and its predictions, measured in this process."""
    kind = {"nystroem": Nystroem, "fourier": Fourier}[setting["map"]]
    features = kind(KERNELS[setting["kernel"]], setting["components"])
    model = MCEClassifier(features, dtype=setting["dtype"], random_state=0, verbose=1)
    rows = ArrowRows(folder / "train", target="target", sample_size=setting["sample"])
    began = time.perf_counter()
    model.fit(rows)
    fitted = time.perf_counter() - began
    learning = model.history_[-1]["seconds"]
    began, hits, losses, n = time.perf_counter(), 0, 0.0, 0
    test = ArrowRows(folder / "test.parquet", target="target")
    for chunk, part in zip(test.labels(), predictions(model, test), strict=True):
        assert chunk.y is not None
        hits += int((chunk.y == part.labels).sum())
        own = part.probabilities[np.arange(len(chunk.y)), np.searchsorted(model.classes_, chunk.y)]
        losses -= float(np.log(own).sum())
        n += len(chunk.y)
    return {
        "accuracy": hits / n,
        "log_loss": losses / n,
        "fit_seconds": round(fitted, 1),
        "last_run_of_learning_seconds": round(learning, 1),
        "predict_seconds": round(time.perf_counter() - began, 1),
        "peak_memory_GB": round(peak_memory(), 2),
        "regularization": model.regularization_,
    }


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--map", default="nystroem", choices=["nystroem", "fourier"])
    parser.add_argument("--kernel", default="gaussian+laplacian", choices=list(KERNELS))
    parser.add_argument("--components", type=int, default=4096)
    parser.add_argument("--rows", type=int, default=ROWS, help="to learn from")
    parser.add_argument("--sample", type=int, default=10_000, help="rows of the sample")
    parser.add_argument("--dtype", default="float32", choices=["float32", "float64"])
    parser.add_argument("--folder", help=argparse.SUPPRESS)  # of the child: where the files are
    parser.add_argument("--write", action="store_true", help=argparse.SUPPRESS)
    arguments = parser.parse_args()
    setting = {
        name: getattr(arguments, name)
        for name in ("map", "kernel", "components", "rows", "sample", "dtype")
    }
    if arguments.folder:
        folder = Path(arguments.folder)
        if arguments.write:
            write(folder, arguments.rows)
        else:
            print(json.dumps(fit(folder, setting)))
        return
    records = json.loads(RESULTS.read_text()) if RESULTS.exists() else []
    if any(record["setting"] == setting for record in records):
        print(f"{setting} is in {RESULTS.name} already")
        return
    with tempfile.TemporaryDirectory() as folder:
        again = [sys.executable, __file__, *sys.argv[1:], "--folder", folder]
        subprocess.run([*again, "--write"], check=True)
        run = subprocess.run(again, check=True, stdout=subprocess.PIPE, text=True)
    machine = {
        "machine": platform.machine(),
        "cpus": os.cpu_count(),
        "python": platform.python_version(),
        "load_average": os.getloadavg()[0],
    }
    record = {"setting": setting, "measured": json.loads(run.stdout), "on": machine}
    print(json.dumps(record, indent=2))
    RESULTS.write_text(json.dumps([*records, record], indent=2) + "\n")


if __name__ == "__main__":
    main()
