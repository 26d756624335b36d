"""Large n: accuracy, time and peak memory, every row in a process of its own.

    TORTE_DATA=... python benchmarks/scale.py                    # what is not in the results yet
    TORTE_DATA=... python benchmarks/scale.py --only letter      # one row, anew
    TORTE_DATA=... python benchmarks/scale.py --list

Results go to benchmarks/results/scale.json as each row ends, so an interrupted run goes on where
it stopped; required figures stand beside the measured ones. The growth plot is drawn from them.
"""

from __future__ import annotations

import argparse
import json
import os
import platform
import resource
import subprocess
import sys
import time
from pathlib import Path

import numpy as np
import torch

from scale_rows import REQUIRED, ROWS, SIZES, Row

RESULTS = Path(__file__).parent / "results" / "scale.json"
PLOT = Path(__file__).parent / "results" / "growth.png"


def peak_memory() -> float:
    """The most memory this process held, in GB."""
    status = Path("/proc/self/status")
    if status.exists():
        lines = status.read_text().splitlines()
        return next(int(line.split()[1]) for line in lines if line.startswith("VmHWM")) / 1e6
    used = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    return used / (1e9 if sys.platform == "darwin" else 1e6)


def stored() -> dict[str, Row]:
    return json.loads(RESULTS.read_text()) if RESULTS.exists() else {}


def machine() -> str:
    lines = Path("/proc/cpuinfo").read_text().splitlines()
    cpu = next((line.split(": ")[1] for line in lines if line.startswith("model name")), "")
    memory = os.sysconf("SC_PHYS_PAGES") * os.sysconf("SC_PAGE_SIZE") / 1e9
    return (
        f"{platform.machine()} {cpu}, {os.cpu_count()} cores, {torch.get_num_threads()} threads, "
        f"{memory:.0f} GB, torch {torch.__version__}"
    )


def draw(rows: dict[str, Row]) -> dict[str, dict[str, float]]:
    """The growth plot, and the slope of each route: over its sizes, and between the two largest."""
    import matplotlib

    matplotlib.use("Agg")
    from matplotlib import pyplot as plt

    figure, axes = plt.subplots(figsize=(6, 4.5))
    slopes = {}
    for solver, sizes in SIZES.items():
        done = [
            (n, rows[f"growth, {solver}, {n}"]) for n in sizes if f"growth, {solver}, {n}" in rows
        ]
        if len(done) < 2:
            continue
        n, seconds = np.array([(size, row["seconds"]) for size, row in done]).T
        steps = np.diff(np.log(seconds)) / np.diff(np.log(n))
        fit = float(np.polyfit(np.log(n), np.log(seconds), 1)[0])
        slopes[solver] = {"all sizes": fit, "largest two": float(steps[-1])}
        axes.loglog(n, seconds, "o-", label=f"{solver}: n^{fit:.2f}, at the end n^{steps[-1]:.2f}")
    if not slopes:
        return slopes
    axes.set(xlabel="rows", ylabel="seconds to condition", title="Time against rows, kernel given")
    axes.legend()
    figure.tight_layout()
    figure.savefig(PLOT, dpi=130)
    return slopes


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--only", action="append", help="names of rows, measured anew")
    parser.add_argument("--here", help=argparse.SUPPRESS)  # one row, in this process
    parser.add_argument("--list", action="store_true")
    options = parser.parse_args()
    if options.here:
        row = ROWS[options.here]() | {"peak GB": peak_memory(), "machine": machine()}
        RESULTS.write_text(json.dumps(stored() | {options.here: row}, indent=1))
        return
    if options.list:
        print("\n".join(ROWS))
        return
    for name in options.only or [name for name in ROWS if name not in stored()]:
        began = time.perf_counter()
        run = subprocess.run([sys.executable, __file__, "--here", name], check=False)
        if run.returncode != 0:
            print(f"{name}: failed with {run.returncode}", flush=True)
            continue
        row = stored()[name]
        told = ", ".join(f"{k} {v:.4g}" for k, v in row.items() if isinstance(v, float))
        needed = f"; required {REQUIRED[name]}" if name in REQUIRED else ""
        print(f"{name}: {told} ({time.perf_counter() - began:.0f} s in all){needed}", flush=True)
    slopes = draw(stored())
    if slopes:
        RESULTS.write_text(json.dumps(stored() | {"growth, slopes": slopes}, indent=1))
        print("slopes:", slopes)


if __name__ == "__main__":
    main()
