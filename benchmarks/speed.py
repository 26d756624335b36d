"""Speed and memory as ratios within one run: what `make bench` prints.

Every time is the best of several, taken in turn with what it is compared to; every peak of
memory is that of a process of its own. All of it is kept in benchmarks/results/speed.json.
"""

from __future__ import annotations

import json
import math
import os
import platform
import subprocess
import sys
import time
import warnings
from collections.abc import Callable, Iterator
from functools import partial
from pathlib import Path
from typing import Any

import sklearn
import torch
from sklearn.datasets import load_iris
from sklearn.gaussian_process import GaussianProcessClassifier
from sklearn.gaussian_process.kernels import RBF
from torch import Tensor

from torte import MCEClassifier
from torte.dual import Dual
from torte.kernels import Gaussian
from torte.learning import Description
from torte.objectives import Objective, RademacherBound
from torte.optimizers import LBFGS
from torte.parameters import Parameters

RESULTS = Path(__file__).parent / "results" / "speed.json"
PAPER = RademacherBound(tau="4e/n", risk="training", epsilon=1e-15, shrinkage=0.0)
N, D, M = 4000, 24, 5
LAMBDA = 1e-3
JUDGED = 500  # rows left out, where not all are
MEMORY = {  # what is fitted, on how many rows
    "paper's risk, 4000 rows": (
        MCEClassifier(Gaussian(ard=True), objective=PAPER, optimizer=LBFGS(max_iter=3)),
        N,
    ),
    "default, 1500 rows": (MCEClassifier(random_state=0), 1500),
    "default, 4000 rows": (MCEClassifier(random_state=0), N),
}


def table(n: int) -> tuple[Tensor, Tensor]:
    """Rows of n x D normal numbers, and one of M classes that five of the columns decide."""
    generator = torch.Generator().manual_seed(0)
    X = torch.randn(n, D, dtype=torch.float64, generator=generator)
    noise = 0.5 * torch.randn(n, M, dtype=torch.float64, generator=generator)
    y = (X[:, :M] + noise).argmax(dim=1)
    return X, torch.nn.functional.one_hot(y, M).double()


def best(actions: dict[str, Callable[[], Any]], repeats: int) -> dict[str, float]:
    """The shortest time of each action, all of them in turn, after one round to warm up."""
    times: dict[str, list[float]] = {name: [] for name in actions}
    for _ in range(repeats + 1):
        for name, act in actions.items():
            began = time.perf_counter()
            act()
            times[name].append(time.perf_counter() - began)
    return {name: min(several[1:]) for name, several in times.items()}


def step(
    X: Tensor, Y: Tensor, objective: Objective, judged: Tensor | None = None
) -> Callable[[], list[Tensor]]:
    """One step of learning, objective and gradient, in the memory of the step before."""
    start = Description(Gaussian((math.sqrt(2 * D),) * D), LAMBDA)
    parameters, dual = Parameters(start), Dual()

    def act() -> list[Tensor]:
        built, tensors = parameters.build(parameters.start, X.dtype, X.device)
        dual.evaluate(built.kernel, built.regularization, X, Y, objective, judged)
        return [tensor.grad for tensor in tensors]

    return act


def taped(X: Tensor, Y: Tensor) -> list[Tensor]:
    """The same step as one would write it in plain torch, differentiated through the Cholesky."""
    scale = torch.full((D,), math.sqrt(2 * D), dtype=X.dtype, requires_grad=True)
    regularization = torch.tensor(LAMBDA, dtype=X.dtype, requires_grad=True)
    Z = X / scale
    norms = (Z * Z).sum(dim=1)
    K = torch.exp(Z @ Z.mT - norms[:, None] / 2 - norms[None, :] / 2)
    L = torch.linalg.cholesky(K + len(X) * regularization * torch.eye(len(X), dtype=X.dtype))
    V = torch.cholesky_solve(Y, L)
    P = K @ V
    risk = -(Y * P.clamp(PAPER.epsilon, 1.0).log()).sum(dim=1).mean()
    (risk + 4 * math.e / len(X) * (V * P).sum().sqrt()).backward()
    return [scale.grad, regularization.grad]


def steps() -> dict[str, float]:
    """Seconds of a gram matrix, of a Cholesky, and of learning steps of three kinds."""
    X, Y = table(N)
    kernel = Gaussian((math.sqrt(2 * D),) * D)
    A = kernel.gram(X)
    A.diagonal().add_(N * LAMBDA)
    some = torch.randperm(N, generator=torch.Generator().manual_seed(0))[:JUDGED]
    actions = {
        "gram": lambda: kernel.gram(X),
        "cholesky": lambda: torch.linalg.cholesky(A),
        "training": step(X, Y, PAPER),
        f"{JUDGED} rows": step(X, Y, RademacherBound(), some),
    }
    seconds = best(actions, repeats=7)
    return seconds | best({"all rows": step(X, Y, RademacherBound())}, repeats=3)


def autograd() -> dict[str, float]:
    """Seconds of the taped step, and how far its gradient is from that of `step`, relatively."""
    X, Y = table(N)
    ours, reference = step(X, Y, PAPER)(), taped(X, Y)
    apart = max(
        float((mine - theirs).norm() / theirs.norm())
        for mine, theirs in zip(ours, reference, strict=True)
    )
    return best({"autograd": lambda: taped(X, Y)}, repeats=2) | {"apart": apart}


def resident(field: str) -> int:
    """Bytes of memory this process holds (VmRSS), or has held at most (VmHWM)."""
    for line in Path("/proc/self/status").read_text().splitlines():
        if line.startswith(field):
            return 1024 * int(line.split()[1])
    raise RuntimeError(f"/proc/self/status has no {field}")


def fit_and_weigh(name: str) -> None:
    """Print what one fit needs at most, in n^2 numbers of 8 bytes; runs in a fresh process.

    A small fit goes before it, and small products by all threads, which it does not use:
    libraries and their buffers are loaded once, whatever n is.
    """
    model, n = MEMORY[name]
    X, Y = table(n)
    rows, y = X.numpy(), Y.argmax(dim=1).numpy()
    model.fit(rows[:100], y[:100])
    little = torch.eye(400, dtype=torch.float64)
    torch.cholesky_inverse(torch.linalg.cholesky(little @ little))
    before = resident("VmRSS")
    model.fit(rows, y)
    print((resident("VmHWM") - before) / (8 * n * n))


def memory() -> dict[str, float]:
    """Peak memory of every fit of `MEMORY`, each measured in a process of its own."""
    peaks = {}
    for name in MEMORY:
        command = [sys.executable, "-W", "ignore", __file__, name]
        done = subprocess.run(command, check=True, capture_output=True, text=True)
        peaks[name] = float(done.stdout)
    return peaks


def iris() -> dict[str, float]:
    """Seconds of a fit on all of iris: ours and scikit-learn's, learning and not."""
    X, y = load_iris(return_X_y=True)
    models = {
        "default": MCEClassifier(random_state=0),
        "GaussianProcessClassifier(1.0 * RBF(1.0))": GaussianProcessClassifier(1.0 * RBF(1.0)),
        "learning nothing": MCEClassifier(Gaussian(), optimizer=None),
        "learning nothing, GaussianProcessClassifier()": GaussianProcessClassifier(),
    }
    return best({name: partial(model.fit, X, y) for name, model in models.items()}, repeats=10)


def machine() -> dict[str, Any]:
    info = Path("/proc/cpuinfo")
    lines = info.read_text().splitlines() if info.exists() else []
    models = [line.split(":")[1].strip() for line in lines if line.startswith("model name")]
    return {
        "cpu": models[0] if models else platform.processor() or platform.machine(),
        "cores": os.cpu_count(),
        "threads": torch.get_num_threads(),
        "torch": torch.__version__,
        "scikit-learn": sklearn.__version__,
    }


def figures() -> Iterator[tuple[str, float, str, str]]:
    """Name, value, unit and what is required of it, one figure after the other."""
    s = steps()
    step_seconds, floor = s["training"], s["gram"] + s["cholesky"]
    yield f"floor, gram + Cholesky, n = {N}, d = {D}, m = {M}", floor, "s", ""
    yield "learning step, training risk", step_seconds / floor, "x floor", "<= 1.35"
    reference = autograd()
    yield "the same by autograd", reference["autograd"] / step_seconds, "x step", ">= 8"
    yield "  distance of the two gradients", reference["apart"], "relative", "<= 1e-8"
    for kind in (f"{JUDGED} rows", "all rows"):
        yield f"leave-one-out step, {kind}", s[kind] / step_seconds, "x step", ""
    for name, squares in memory().items():
        yield f"peak memory of fit, {name}", squares, "n^2 numbers", "<= 4"
    for name, seconds in iris().items():
        yield f"fit on iris, {name}", seconds, "s", "<= 0.15" if name == "default" else ""


def main() -> None:
    result: dict[str, Any] = {"machine": machine(), "figures": {}}
    print(", ".join(f"{key} {value}" for key, value in result["machine"].items()))
    for name, value, unit, required in figures():
        print(f"{name:62s} {value:9.3g} {unit:12s} {required}", flush=True)
        result["figures"][name.strip()] = {"value": value, "unit": unit, "required": required}
    RESULTS.parent.mkdir(exist_ok=True)
    RESULTS.write_text(json.dumps(result, indent=1) + "\n")


if __name__ == "__main__":
    warnings.simplefilter("ignore")  # a few steps do not converge, and need not
    fit_and_weigh(sys.argv[1]) if len(sys.argv) > 1 else main()
