"""The rates that docs/scaling.md computes with: per core, per task, per byte.

python benchmarks/rates.py            # into benchmarks/results/rates.json, a minute

Rates of arithmetic are per second of one thread's own processor time, so that other work on
the machine does not enter; those of Dask are per second of the clock.
"""

from __future__ import annotations

import json
import logging
import os
import platform
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import dask
import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import torch
from distributed import Client, LocalCluster

from torte.dask import _added, _tree
from torte.embedding import FeatureLift
from torte.features import Fourier, Nystroem
from torte.kernels import Gaussian
from torte.statistics import factorize_gram, measure
from torte.streams import ArrowRows

RESULTS = Path(__file__).parent / "results" / "rates.json"
P, D, M, ROWS = 4096, 100, 10, 2048


def seconds(action: Callable[[], Any], clock: Callable[[], float] = time.process_time) -> float:
    """The least of two."""
    least = float("inf")
    for _ in range(2):
        began = clock()
        action()
        least = min(least, clock() - began)
    return least


def arithmetic() -> dict[str, float]:
    """Rows a second of one core, through the map and into the sums, and the final solve."""
    found = {}
    for dtype in (torch.float64, torch.float32):
        name = str(dtype).removeprefix("torch.")
        generator = torch.Generator().manual_seed(0)
        X = torch.randn(P, D, dtype=dtype, generator=generator)
        Y = torch.eye(M, dtype=dtype)[torch.arange(ROWS) % M]
        for features in (Fourier(Gaussian(10.0), P), Nystroem(Gaussian(10.0), P)):
            ready = features.prepare(X, None, generator)
            lift, few = FeatureLift(ready, ready.settle(X), P), X[:ROWS]
            kind = type(features).__name__.lower()
            with torch.no_grad():
                found[f"rows/s, {kind}, {name}"] = ROWS / seconds(
                    lambda lift=lift, few=few: lift(few)
                )
                sums = seconds(lambda lift=lift, few=few, Y=Y: measure(lift, few, Y))
            found[f"rows/s, {kind} and sums, {name}"] = ROWS / sums
    gram = measure(lift, few, Y).gram.double()
    found["seconds, a p x p factorization"] = seconds(lambda: factorize_gram(gram, 1.0))
    half = gram.numpy()
    found["seconds, a p x p addition"] = seconds(lambda: half + half)
    return found


def reading() -> dict[str, float]:
    """Rows a second of one core from Parquet to a matrix."""
    n = 50_000
    X = np.random.default_rng(0).normal(size=(n, D))
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder, "rows.parquet")
        table = pa.table({f"x{i}": column for i, column in enumerate(X.T)})
        pq.write_table(table, path, row_group_size=25_000)
        took = seconds(lambda: [len(chunk.X) for chunk in ArrowRows(path).chunks()])
        return {"rows/s, parquet": n / took, "bytes a row, parquet": path.stat().st_size / n}


def nothing(number: int) -> int:
    return number


def one_sum(number: int, p: int) -> Any:
    return np.ones((p, p)), np.ones((p, M)), 1.0, float(number)


def cluster() -> dict[str, float]:
    """What a task costs, and what the tree costs for sums that are free to make."""
    tasks, parts = 500, 8
    with (
        LocalCluster(
            n_workers=2,
            threads_per_worker=1,
            protocol="tcp",
            dashboard_address=None,
            silence_logs=logging.CRITICAL,
        ) as workers,
        Client(workers) as client,
    ):
        client.run(__import__, "torte.dask")
        numbers = [dask.delayed(nothing)(i) for i in range(tasks)]
        each = seconds(lambda: dask.compute(*numbers), time.perf_counter) / tasks

        def summed() -> None:
            sums = [dask.delayed(one_sum)(i, P) for i in range(parts)]
            _tree(sums, dask.delayed(_added))

        tree = seconds(summed, time.perf_counter)
    return {"seconds, a task": each, f"seconds, the sum of {parts} sums on 2 workers": tree}


def main() -> None:
    torch.set_num_threads(1)
    found = arithmetic() | reading() | cluster()
    machine = {"machine": platform.machine(), "cpus": os.cpu_count()}
    setting = {"p": P, "d": D, "m": M}
    RESULTS.write_text(
        json.dumps({"rates": found, "setting": setting, "on": machine}, indent=2) + "\n"
    )
    for name, value in found.items():
        print(f"{name}: {value:.4g}")


if __name__ == "__main__":
    main()
