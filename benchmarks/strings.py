"""Seconds for the gram matrix of 5000 random strings of 100 characters, each from the start.

python benchmarks/strings.py             # into benchmarks/results/strings.json
"""

from __future__ import annotations

import argparse
import json
import os
import platform
import time
from pathlib import Path

import numpy as np
import scipy
import torch

from torte.kernels import Kernel, Spectrum, Subsequence
from torte.objects import Objects

RESULTS = Path(__file__).parent / "results" / "strings.json"
N, LONG = 5000, 100
REQUIRED = 10.0
SYMBOLS = {4: "acgt", 26: "abcdefghijklmnopqrstuvwxyz"}
KERNELS: list[tuple[Kernel, int]] = [
    (Spectrum(5), 4),
    (Spectrum(5), 26),
    (Spectrum(10), 4),
    (Subsequence(2), 4),
    (Subsequence(2), 26),
    (Subsequence(3), 4),
    (Subsequence(3), 26),
    (Subsequence(5), 4),
]


def strings(size: int) -> list[str]:
    """N strings of LONG characters, each of which is one of size with equal probability."""
    table = np.random.default_rng(0).choice(list(SYMBOLS[size]), size=(N, LONG))
    return ["".join(row) for row in table]


def measured(kernel: Kernel, size: int, repeats: int) -> dict[str, float]:
    """From strings to their gram matrix, the best of several, with nothing kept between them.

    Processor seconds are those of all threads together: what one free core would take at most.
    """
    best = {"seconds": float("inf"), "processor seconds": float("inf")}
    for _ in range(repeats):
        rows = Objects(strings(size))
        began, spent = time.perf_counter(), time.process_time()
        with torch.no_grad():
            K = kernel.gram(rows)
        now = {
            "seconds": time.perf_counter() - began,
            "processor seconds": time.process_time() - spent,
        }
        assert K.shape == (N, N)
        best = {name: min(best[name], now[name]) for name in best}
    return best


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--repeats", type=int, default=3)
    repeats = parser.parse_args().repeats
    before = round(os.getloadavg()[0], 1)
    figures: dict[str, object] = {
        "machine": f"{platform.machine()}, {os.cpu_count()} cores, torch {torch.__version__}, "
        f"scipy {scipy.__version__}",
        "threads": torch.get_num_threads(),
        "seed": 0,
    }
    for kernel, size in KERNELS:
        figures[f"{kernel!r}, {size} symbols"] = found = measured(kernel, size, repeats)
        short = (
            f"{type(kernel).__name__} {getattr(kernel, 'lengths', getattr(kernel, 'length', 0))}"
        )
        verdict = "" if found["seconds"] < REQUIRED else ": MISSED"
        print(
            f"{short}, {size} symbols: {found['seconds']:.2f} s, {found['processor seconds']:.2f} s "
            f"of processors  required < {REQUIRED:.0f}{verdict}",
            flush=True,
        )
    figures["load average before and after"] = [before, round(os.getloadavg()[0], 1)]
    RESULTS.write_text(json.dumps(figures, indent=1) + "\n")


if __name__ == "__main__":
    main()
