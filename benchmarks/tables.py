"""What is required of the default estimator, beside what is measured on the paper's folds.

    TORTE_DATA=... python benchmarks/tables.py                      # the default estimator
    TORTE_DATA=... python benchmarks/tables.py --method network     # the default network

`torte reproduce uci` has the paper's own rows. Folds run one at a time here, so that their
seconds are true; every finished one is kept in benchmarks/results/uci/<dataset>/<method>.json, and an
interrupted run goes on where it stopped.
"""

from __future__ import annotations

import argparse
from pathlib import Path

from torte.experiments import Settings, uci

RESULTS = Path(__file__).parent / "results"
# accuracy at least, log loss at most, seconds a fit at most
REQUIRED = {
    "wine": (97.5, 0.10, 1),
    "ecoli": (87.0, 0.48, 1),
    "yeast": (61.5, 1.08, 10),
    "banknote": (99.9, 0.01, 6),
    "segment": (98.2, 0.09, 30),
    "robot": (97.0, 0.13, 60),
}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--method", choices=["default", "network"], default="default")
    parser.add_argument("--datasets", nargs="+", default=list(REQUIRED), choices=list(REQUIRED))
    parser.add_argument("--folds", type=int, default=10)
    options = parser.parse_args()
    settings = Settings(
        out=RESULTS,
        folds=options.folds,
        datasets=tuple(options.datasets),
        methods=(options.method,),
        jobs=1,
    )
    uci.measure(settings)
    found = uci.results(settings)[options.method]
    for name in options.datasets:
        accuracy, loss, seconds = (found[name][k] for k in ("accuracy", "log_loss", "seconds"))
        print(
            f"{name:9s} {len(accuracy):2d} folds  {accuracy.mean():6.2f} +- {accuracy.std():4.2f} %  "
            f"{loss.mean():.4f} +- {loss.std():.4f} nats  {seconds.mean():6.2f} s a fit "
            f"(longest {seconds.max():.2f})   required {{}} %, {{}} nats, {{}} s".format(
                *REQUIRED[name]
            )
        )


if __name__ == "__main__":
    main()
