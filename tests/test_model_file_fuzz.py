"""Thousands of mutated model files: each is a `ModelFileError`, or a model that predicts."""

from __future__ import annotations

import faulthandler
import resource
import sys
import time
import warnings
from collections import Counter
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

import torte
from mutations import mutations
from torte import MCEClassifier, TableClassifier
from torte.errors import ModelFileError
from torte.features import Network, Nystroem, Polynomials
from torte.kernels import Gaussian, Spectrum

FIXTURES = Path(__file__).parent / "fixtures"
WORDS = ["ab", "abc", "b", "ca", "cab", "bb", "aa", "ac", "cc", "ba", "bca", "aab"]
FORBIDDEN = ("exec", "compile", "import", "os.system", "os.exec", "os.posix_spawn", "subprocess", "socket", "ctypes", "pickle")  # fmt: skip
_seen: list[str] | None = None


def _audit(event: str, arguments: object) -> None:
    if _seen is not None and event.startswith(FORBIDDEN):
        _seen.append(f"{event} {arguments!r}")


def models(folder: Path) -> list[bytes]:
    rng = np.random.default_rng(0)
    X, y = rng.normal(size=(12, 3)), np.arange(12) % 2
    kernels = (Nystroem(Gaussian(), n_components=4), Polynomials(2), Gaussian() @ Network((3, 2)))
    found = [path.read_bytes() for path in sorted(FIXTURES.glob("*.torte"))]
    for kernel in kernels:
        MCEClassifier(kernel, optimizer=None, random_state=0).fit(X, y).save(folder / "model.torte")
        found.append((folder / "model.torte").read_bytes())
    frame = pd.DataFrame({"size": X[:, 0], "color": ["red", "blue", None] * 4, "odd": y == 1})
    frame["day"] = pd.Timestamp("2020-01-01") + pd.to_timedelta(np.arange(12) * 99, "D")
    plain = TableClassifier(MCEClassifier(optimizer=None, random_state=0)).fit(frame, y)
    plain.save(folder / "model.torte")  # as small as the others, so that mutations meet its encoder
    found.append((folder / "model.torte").read_bytes())
    MCEClassifier(Spectrum(2), optimizer=None).fit(WORDS, y).save(folder / "model.torte")
    return [*found, (folder / "model.torte").read_bytes()]


def fuzz(count: int, folder: Path) -> tuple[Counter[str], float]:
    """How many files were refused, how many still are models, and the slowest one's CPU seconds."""
    global _seen
    sys.addaudithook(_audit)
    outcomes: Counter[str] = Counter()
    whole, path, slowest = models(folder), folder / "mutated.torte", 0.0
    for data in whole:  # so that everything is imported that will be
        path.write_bytes(data)
        use(torte.load(path))
    for what, data in mutations(whole, count, folder):
        path.write_bytes(data)
        faulthandler.dump_traceback_later(20, exit=True)  # a hang ends the run
        _seen, said, began = [], str(path), time.process_time()
        try:
            model = torte.load(path)
            use(model)
            outcomes["loaded"] += 1
            assert "signed" in what or what == "restructured" or data in whole, what
        except ModelFileError as refusal:
            outcomes["refused"] += 1
            said = str(refusal)
        finally:
            executed, _seen = _seen, None
            slowest = max(slowest, time.process_time() - began)
            faulthandler.cancel_dump_traceback_later()
        assert executed == [], (what, executed)
        assert said.startswith(str(path))
        assert len(said) < 600
    return outcomes, slowest


def use(model: object) -> None:
    """What may be asked of anything that was loaded."""
    if isinstance(model, TableClassifier):
        use_table(model)
        return
    if not isinstance(model, MCEClassifier):
        return
    X = WORDS[:2] if model.kernel_.takes == "objects" else np.zeros((2, model.n_features_in_))
    with warnings.catch_warnings(), np.errstate(all="ignore"):
        warnings.simplefilter("ignore")
        assert model.predict_proba(X).shape == (2, len(model.classes_))
        model.predict(X)


CELLS = {"numeric": [1.5, None], "date": [pd.Timestamp("2021-05-05"), None]}


def use_table(model: TableClassifier) -> None:
    """A row of cells as they should be, or of levels that nobody saw, and one of missing cells."""
    kinds = model.encoder_.kinds_
    frame = pd.DataFrame({name: CELLS.get(kind, ["red", None]) for name, kind in kinds.items()})
    with warnings.catch_warnings(), np.errstate(all="ignore"):
        warnings.simplefilter("ignore")
        assert model.predict_proba(frame).shape == (2, len(model.classes_))
        model.predict(frame)
        assert set(model.unseen(frame)) <= set(kinds)
        repr(model)


def check(count: int, folder: Path) -> None:
    before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    outcomes, slowest = fuzz(count, folder)
    grown = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before
    print(
        f"{count} mutated files: {dict(outcomes)}, none executed anything; the slowest took "
        f"{1000 * slowest:.0f} ms, memory grew by {grown / 1024:.0f} MiB"
    )
    assert outcomes.total() == count
    assert outcomes["refused"] > 0.8 * count
    assert slowest < 5
    assert grown < 600 * 1024


def test_mutated_files_are_refused_or_are_models(tmp_path):
    check(400, tmp_path)


@pytest.mark.slow
def test_ten_thousand_mutated_files(tmp_path):
    check(10_000, tmp_path)
