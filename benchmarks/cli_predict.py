"""Peak memory of `torte predict` on a CSV far larger than it, and on one of a tenth of its size.

python benchmarks/cli_predict.py                        # 2 GB; writes results/cli-predict.json
python benchmarks/cli_predict.py --gigabytes 0.2 --folder /tmp --out /dev/null
"""

from __future__ import annotations

import argparse
import json
import os
import subprocess
import sys
import tempfile
import time
from pathlib import Path

import numpy as np
import pandas as pd

TORTE = [sys.executable, "-c", "from torte.cli import main; main()"]
BLOCK = 20_000  # rows made at once
LIMIT = 1e9  # bytes that a prediction may take


def rows(n: int, rng: np.random.Generator) -> pd.DataFrame:
    """Mixed rows: eight numbers, a whole number, two categories, a date, and gaps."""
    label = rng.integers(0, 3, n)
    frame = pd.DataFrame(
        {f"x{i}": (rng.normal(size=n) + 0.5 * (label == i % 3)).round(6) for i in range(8)}
    )
    frame["count"] = rng.poisson(3 + 2 * label)
    frame["city"] = np.array([f"city-{i}" for i in range(30)])[
        (label * 7 + rng.integers(0, 15, n)) % 30
    ]
    frame["color"] = np.where(rng.random(n) < 0.05, None, rng.choice(["red", "green", "blue"], n))
    frame["day"] = pd.Timestamp("2020-01-01") + pd.to_timedelta(rng.integers(0, 1500, n), "D")
    frame.loc[rng.random(n) < 0.05, "x3"] = np.nan
    return frame.assign(label=label)


def grow(path: Path, size: float) -> int:
    """A CSV of at least so many bytes; returns its rows."""
    rng, n = np.random.default_rng(1), 0
    with path.open("w", encoding="utf-8") as file:
        while file.tell() < size:
            rows(BLOCK, rng).drop(columns="label").to_csv(file, index=False, header=n == 0)
            n += BLOCK
    return n


def measured(*arguments: str) -> tuple[float, int]:
    """Seconds and peak memory in bytes of one run of the command line."""
    began = time.perf_counter()
    process = subprocess.Popen([*TORTE, *arguments], stdout=subprocess.DEVNULL)
    _, status, usage = os.wait4(process.pid, 0)
    if status != 0:
        sys.exit(f"torte {' '.join(arguments)} ended with {os.waitstatus_to_exitcode(status)}")
    unit = 1 if sys.platform == "darwin" else 1024
    return time.perf_counter() - began, usage.ru_maxrss * unit


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--gigabytes", type=float, default=2.0)
    parser.add_argument("--train", type=int, default=1000, help="rows of the model")
    parser.add_argument("--folder", type=Path, help="where there is room for three times as much")
    parser.add_argument(
        "--out", type=Path, default=Path(__file__).parent / "results" / "cli-predict.json"
    )
    options = parser.parse_args()
    runs = []
    with tempfile.TemporaryDirectory(dir=options.folder) as place:
        folder = Path(place)
        rows(options.train, np.random.default_rng(0)).to_csv(folder / "train.csv", index=False)
        model, table, out = (str(folder / name) for name in ("m.torte", "t.csv", "out.csv"))
        measured("fit", str(folder / "train.csv"), "--target", "label", "--out", model, "--quiet")
        for size in (0.1 * options.gigabytes, options.gigabytes):
            n = grow(Path(table), size * 1e9)
            seconds, peak = measured("predict", model, table, "--out", out)
            with open(out, "rb") as file:
                written = (
                    sum(block.count(b"\n") for block in iter(lambda: file.read(2**20), b"")) - 1
                )
            if written != n:
                sys.exit(f"{written} rows were written, not {n}")
            runs.append(
                {
                    "bytes": Path(table).stat().st_size,
                    "rows": n,
                    "training_rows": options.train,
                    "seconds": round(seconds, 1),
                    "peak_bytes": peak,
                }
            )
            print(json.dumps(runs[-1]), flush=True)
    options.out.write_text(json.dumps(runs, indent=2) + "\n")
    if runs[-1]["peak_bytes"] > LIMIT:
        sys.exit(f"the peak is above {LIMIT:.0e} bytes")


if __name__ == "__main__":
    main()
