"""Ten million generated rows on workers of dask.distributed: the answer of one process, and its price.

python benchmarks/dask_scale.py [--rows 10_000_000] [--components 256]

Rows are made lazily, partition by partition, so nothing is read and nothing is kept. Three
runs on the same machine: this process alone (a stream), a cluster of one worker, a cluster of
four. Adds one record for each setting to benchmarks/results/dask.json; a run that is there is
not done again.
"""

from __future__ import annotations

import argparse
import json
import logging
import os
import platform
import subprocess
import sys
import time
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import dask.array as da
import numpy as np
import torch
from distributed import Client, LocalCluster

from scale import peak_memory
from torte import MCEClassifier
from torte.dask import DaskMCEClassifier
from torte.features import Fourier
from torte.kernels import Gaussian
from torte.optimizers import Adam
from torte.streams import Chunk, Rows

RESULTS = Path(__file__).parent / "results" / "dask.json"
COLUMNS, CLASSES, PARTITION = 20, 4, 100_000


def make(partition: int, n: int) -> np.ndarray:
    """Rows of 20 normal columns, and behind them the class that products of five decide."""
    rng = np.random.default_rng([7, partition])
    X = rng.standard_normal((n, COLUMNS + 1))
    scores = X[:, :CLASSES] * X[:, 1 : CLASSES + 1] + 0.3 * rng.standard_normal((n, CLASSES))
    X[:, -1] = scores.argmax(axis=1)
    return X


def sizes(rows: int) -> list[int]:
    """Rows of each partition."""
    return [min(PARTITION, rows - start) for start in range(0, rows, PARTITION)]


class Generated(Rows):
    """The same rows as a stream."""

    def __init__(self, rows: int):
        self.rows = rows

    def features(self) -> None:
        return None

    def labels(self) -> Iterator[Chunk]:
        return self.chunks()

    def chunks(self, features: Sequence[str] | None = None) -> Iterator[Chunk]:
        for i, n in enumerate(sizes(self.rows)):
            table = make(i, n)
            yield Chunk(f"partition {i}", table[:, :-1], table[:, -1].astype(int))


def collections(rows: int) -> tuple[Any, Any]:
    """The same rows as dask arrays."""
    parts = sizes(rows)
    table = da.map_blocks(
        lambda block_info: make(
            block_info[None]["chunk-location"][0], block_info[None]["chunk-shape"][0]
        ),
        chunks=(tuple(parts), (COLUMNS + 1,)),
        dtype=float,
        meta=np.empty((0, 0)),
    )
    return table[:, :-1], table[:, -1].astype(int)


def sent(dask_worker: Any) -> int:
    """Bytes that a worker has sent to others."""
    return int(dask_worker.transfer_outgoing_bytes_total)


def one_run(workers: int, rows: int, components: int) -> dict[str, Any]:
    """Fit in this process (0 workers) or on a cluster; time, memory, and some probabilities."""
    settings = {
        "kernel": Fourier(Gaussian(3.0, ard=True), components),
        "optimizer": Adam(max_iter=30),
        "regularization": 1e-4,
        "batch_size": 1000,
        "random_state": 0,
    }
    table = make(10**6, 1000)  # of no partition
    probe, truth = table[:, :-1], table[:, -1]
    torch.set_num_threads(1)  # each worker has one
    if workers == 0:
        began = time.perf_counter()
        model = MCEClassifier(**settings).fit(Generated(rows))
        result: dict[str, Any] = {"fit_seconds": time.perf_counter() - began}
    else:
        with (
            LocalCluster(
                n_workers=workers,
                threads_per_worker=1,
                protocol="tcp",
                dashboard_address=None,
                silence_logs=logging.CRITICAL,
            ) as cluster,
            Client(cluster) as client,
        ):
            client.run(__import__, "torte.dask")  # start-up is not the price of a fit
            before = peak_memory()
            began = time.perf_counter()
            model = DaskMCEClassifier(**settings).fit(*collections(rows))
            result = {
                "fit_seconds": time.perf_counter() - began,
                "client_memory_grew_GB": round(peak_memory() - before, 3),
                "workers_peak_memory_GB": round(max(client.run(peak_memory).values()), 3),
                "sent_by_workers_GB": sum(client.run(sent).values()) / 1e9,
            }
    P = model.predict_proba(probe[:25])
    return {
        **result,
        "peak_memory_GB": round(peak_memory(), 3),
        "accuracy": float((model.predict(probe) == truth).mean()),
        "probabilities": P.ravel().tolist(),
    }


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--rows", type=int, default=10_000_000)
    parser.add_argument("--components", type=int, default=256)
    parser.add_argument("--workers", type=int, nargs="*", default=[0, 1, 4])
    parser.add_argument("--child", type=int, help=argparse.SUPPRESS)
    arguments = parser.parse_args()
    if arguments.child is not None:
        print(json.dumps(one_run(arguments.child, arguments.rows, arguments.components)))
        return
    records = json.loads(RESULTS.read_text()) if RESULTS.exists() else {}
    name = f"{arguments.rows} rows, {arguments.components} components"
    record = records.setdefault(name, {"runs": {}})
    for workers in arguments.workers:
        label = f"{workers} workers" if workers else "one process"
        if label in record["runs"]:
            continue
        child = [sys.executable, __file__, "--rows", str(arguments.rows)]
        child += ["--components", str(arguments.components), "--child", str(workers)]
        environment = os.environ | {"OMP_NUM_THREADS": "1", "MKL_NUM_THREADS": "1"}
        run = subprocess.run(child, check=True, stdout=subprocess.PIPE, text=True, env=environment)
        record["runs"][label] = json.loads(run.stdout)
        record["on"] = {"machine": platform.machine(), "cpus": os.cpu_count()}
        RESULTS.write_text(json.dumps(records, indent=1) + "\n")
    runs = record["runs"]
    if "one process" in runs:
        P = np.array(runs["one process"]["probabilities"])
        for label, run in runs.items():
            run["largest_difference"] = float(abs(np.array(run["probabilities"]) - P).max())
            run["seconds_against_one_process"] = (
                run["fit_seconds"] / runs["one process"]["fit_seconds"]
            )
            print(label, {k: v for k, v in run.items() if k != "probabilities"})
    RESULTS.write_text(json.dumps(records, indent=1) + "\n")


if __name__ == "__main__":
    main()
