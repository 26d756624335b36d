"""The experiments: small runs of all of them, resumed runs, folds, processes, pages, commands."""

from __future__ import annotations

import json
import math
import os
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest
import torch
from sklearn.model_selection import KFold
from typer.testing import CliRunner

from torte.cli.app import app
from torte.errors import InterruptedWarning, InvalidInput
from torte.experiments import (
    Settings,
    figures,
    folds,
    iris,
    methods,
    mnist_conv,
    reproduce,
    run,
    uci,
)
from torte.experiments.processes import completed
from torte.experiments.records import Record, heard, rounded
from torte.learning import Problem


def data() -> None:
    if "TORTE_DATA" not in os.environ:
        pytest.skip("TORTE_DATA does not name a folder of tables")


def images() -> None:
    data()
    if not (Path(os.environ["TORTE_DATA"]) / "mnist").is_dir():
        pytest.skip("TORTE_DATA does not name a folder with mnist")


def quick(tmp_path: Path, **settings) -> Settings:
    return Settings(quick=True, out=tmp_path, jobs=1, **settings)


# -- all of them, quickly ---------------------------------------------------------------


@pytest.mark.paper
def test_iris_is_the_papers(tmp_path):
    reproduce("iris", Settings(out=tmp_path))
    for entry in Record.read(tmp_path / "iris" / "iris.json")["results"].values():
        assert (round(entry["before"], 2), round(entry["after"], 2)) == iris.PUBLISHED


def test_iris(tmp_path):
    reproduce("iris", quick(tmp_path))
    folder = tmp_path / "quick" / "iris"
    page = (folder / "README.md").read_text()
    assert "| iris, two columns, overfitted start | 56.67 → 73.33 % | 56.67 →" in page
    assert "torte reproduce iris --quick" in page
    assert {"maps.png", "curves.png"} < {path.name for path in folder.iterdir()}
    over, under = Record.read(folder / "iris.json")["results"].values()
    assert over["curves"]["complexity"][0] > over["complexity"]
    assert under["curves"]["complexity"][0] < under["complexity"]


def test_uci_goes_on_where_it_stopped(tmp_path, monkeypatch):
    data()
    settings = quick(tmp_path, datasets=("wine",), methods=("gmce", "med"), epochs=5)
    reproduce("uci", settings)
    folder = tmp_path / "quick" / "uci"
    page = (folder / "README.md").read_text()
    assert "| GMCE, paper | 99.9 ± 0.2 |" in page
    assert "| **MED, ours** |" in page
    before = (folder / "wine" / "gmce.json").read_text()
    content = Record.read(folder / "wine" / "med.json")
    kept = content["results"].pop("1")
    (folder / "wine" / "med.json").write_text(json.dumps(content))
    ran = []

    def run_fold(fold):
        ran.append(str(fold))
        return kept

    monkeypatch.setattr(uci, "run_fold", run_fold)
    reproduce("uci", settings)
    assert ran == ["wine, med, fold 1"]
    assert (folder / "wine" / "gmce.json").read_text() == before


@pytest.mark.slow
@pytest.mark.parametrize("name", ["uci", "mnist-ard", "mnist-pixels"])
def test_quick_runs(name, tmp_path):
    images()
    reproduce(name, quick(tmp_path))
    page = (tmp_path / "quick" / name / "README.md").read_text()
    assert "## How the numbers were made" in page
    assert "–" not in page.split("![")[0] or name == "uci"


@pytest.mark.slow
def test_conv_resumes_to_the_same_numbers(tmp_path):
    images()
    reproduce("mnist-conv", quick(tmp_path / "whole", epochs=2))
    mnist_conv.measure(quick(tmp_path / "parts", epochs=1))
    reproduce("mnist-conv", quick(tmp_path / "parts", epochs=2))
    whole, parts = (
        Record.read(tmp_path / run / "quick" / "mnist-conv" / "mnist-conv.json")["results"]
        for run in ("whole", "parts")
    )
    for head in mnist_conv.HEADS:
        accuracies = [[entry["accuracy"] for entry in run[head]] for run in (whole, parts)]
        assert accuracies[0] == accuracies[1]
    assert whole["embedding"][0]["accuracy"] > whole["softmax"][0]["accuracy"]
    page = (tmp_path / "whole" / "quick" / "mnist-conv" / "README.md").read_text()
    assert "The embedding is above softmax at 2 of 2 epochs." in page


def test_all_writes_one_table_and_names_what_is_missing(tmp_path):
    iris.measure(quick(tmp_path))
    reproduce("all", quick(tmp_path, stage="present"))
    page = (tmp_path / "quick" / "README.md").read_text()
    assert page.startswith("# The paper's numbers and ours\n\n**A quick run")
    assert "\n\n| experiment | paper | ours |\n" in page
    assert "[iris](iris/README.md)" in page
    assert "Not run yet: uci, mnist-ard, mnist-pixels, mnist-conv." in page


# -- folds, scores, estimators ----------------------------------------------------------


def test_folds_are_those_of_the_original_code():
    state = np.random.get_state()
    try:
        np.random.seed(0)
        order = np.random.permutation(np.arange(25))
    finally:
        np.random.set_state(state)
    for fold, (train, test) in enumerate(KFold(10).split(order)):
        ours = folds.split(25, fold)
        np.testing.assert_array_equal(ours[0], order[train])
        np.testing.assert_array_equal(ours[1], order[test])


def test_log_loss_of_a_label_never_seen_is_the_floor():
    P = np.array([[0.25, 0.75], [1.0, 0.0], [0.5, 0.5]])
    loss = folds.log_loss(P, np.array(["a", "c"]), np.array(["c", "c", "b"]))
    assert loss == pytest.approx(-(math.log(0.75) + 2 * math.log(1e-15)) / 3)


def test_the_networks_start_is_the_papers_and_both_heads_have_it():
    body, last = mnist_conv.network(0)
    again, _ = mnist_conv.network(0)
    for (name, p), q in zip(body.state_dict().items(), again.parameters(), strict=True):
        assert torch.equal(p, q)
        if name.endswith("bias"):
            assert bool((p == 0.1).all())
        else:
            assert float(p.abs().max()) <= 0.2
            assert float(p.std()) == pytest.approx(0.088, abs=0.01)  # 0.1 cut at two of them
    assert float(last.weight.detach().abs().max()) <= 0.2


@pytest.mark.parametrize("method", methods.PAPER + methods.OURS)
def test_every_row_of_the_table_learns(method, blobs):
    X, y = blobs
    X = folds.unit_range(X)
    model = methods.estimator(
        method, y, X.shape[1], optimizer="adam", epochs=3, seed=0, device="cpu"
    )
    with heard():
        P = model.fit(X, y).predict_proba(X)
    assert P.shape == (90, 3)
    np.testing.assert_allclose(P.sum(axis=1), 1.0, atol=1e-9)


def test_a_class_too_rare_to_calibrate_leaves_an_svc_without_probabilities(blobs):
    X, y = blobs
    few = np.r_[np.flatnonzero(y != y[0]), np.flatnonzero(y == y[0])[:4]]
    model = methods.estimator(
        "svc", y[few], X.shape[1], optimizer="adam", epochs=3, seed=0, device="cpu"
    )
    assert model.fit(X[few], y[few]).score(X[few], y[few]) > 0.5
    assert not hasattr(model, "predict_proba")


# -- settings, records, processes -------------------------------------------------------


@pytest.mark.parametrize(
    ("wrong", "text"),
    [
        ({"folds": 11}, "`folds` must be a whole number from 1 to 10, got 11"),
        ({"optimizer": "sgd"}, "`optimizer` must be adam or lbfgs, got 'sgd'"),
        ({"stage": "none"}, "`stage` must be both or measure or present"),
        ({"epochs": 0}, "`epochs` must be at least 1, got 0"),
    ],
)
def test_settings_say_what_is_wrong(wrong, text):
    with pytest.raises(InvalidInput, match=text):
        Settings(**wrong)


def test_unknown_names_are_told_the_known_ones(tmp_path):
    with pytest.raises(InvalidInput, match=r"`datasets` must be among banknote, .* got 'glass'"):
        reproduce("uci", quick(tmp_path, datasets=("glass",)))
    with pytest.raises(InvalidInput, match="`datasets` and `methods` have other names in every"):
        reproduce("all", quick(tmp_path, methods=("gmce",)))


def test_pages_without_results_say_so(tmp_path):
    with pytest.raises(InvalidInput, match="`out` must hold results of mnist-ard"):
        reproduce("mnist-ard", quick(tmp_path, stage="present"))


def test_results_of_another_protocol_are_not_added_to(tmp_path):
    path = tmp_path / "some.json"
    record = Record(path, {"seed": 0})
    record.add("0", {"accuracy": 1 / 3}, "torte reproduce uci", {"device": "cpu"})
    assert Record(path, {"seed": 0}).results == {"0": {"accuracy": 0.333333}}
    assert sorted(p.name for p in tmp_path.iterdir()) == ["some.json"]
    with pytest.raises(InvalidInput, match=r"holds results of the protocol {'seed': 0}"):
        Record(path, {"seed": 1})


def test_an_interrupted_fit_is_no_result(monkeypatch):
    data()
    evaluate, calls = Problem.evaluate, []

    def interrupted(self, free):
        calls.append(free)
        if len(calls) == 3:
            raise KeyboardInterrupt
        return evaluate(self, free)

    monkeypatch.setattr(Problem, "evaluate", interrupted)
    with pytest.raises(InterruptedWarning):
        uci.run_fold(uci.Fold("wine", "gmce", 0, "adam", 5, 0, "cpu"))


def test_rounding_reaches_every_depth():
    assert rounded({"a": [1 / 3, 2], "b": "c"}, digits=2) == {"a": [0.33, 2], "b": "c"}


def test_processes_give_every_result_and_then_the_failures():
    results = {}
    with pytest.raises(ExceptionGroup, match="1 of 3 tasks failed") as caught:
        results.update(completed(math.sqrt, [4.0, -1.0, 9.0], jobs=2, label="roots"))
    assert caught.value.exceptions[0].__notes__ == ["in -1.0"]


def test_processes_are_not_started_for_one_job():
    assert dict(completed(math.sqrt, [4.0, 9.0], jobs=1, label="roots")) == {4.0: 2.0, 9.0: 3.0}


# -- command lines ----------------------------------------------------------------------


def test_the_command_lists_datasets():
    result = CliRunner().invoke(app, ["datasets", "iris", "wine", "--fetch"])
    assert result.exit_code == 0
    assert "iris" in result.output
    assert "178" in result.output


def test_an_interrupted_command_says_what_is_kept(tmp_path, monkeypatch):
    def interrupted(settings):
        raise KeyboardInterrupt

    experiment = run.EXPERIMENTS["iris"]._replace(measure=interrupted)
    monkeypatch.setitem(run.EXPERIMENTS, "iris", experiment)
    result = CliRunner().invoke(app, ["reproduce", "iris", "--quick", "--out", str(tmp_path)])
    assert result.exit_code == 130
    assert "Interrupted; what had ended is kept, and the same command goes on." in result.output


def test_the_command_reproduces(tmp_path):
    out = ["--quick", "--epochs", "3", "--out", str(tmp_path), "--stage", "measure"]
    result = CliRunner().invoke(app, ["reproduce", "iris", *out])
    assert result.exit_code == 0, result.output
    content = Record.read(tmp_path / "quick" / "iris" / "iris.json")
    assert content["protocol"]["steps"] == 3
    assert content["made"][0]["command"] == "torte reproduce iris --quick --epochs 3"


WITHOUT_EXTRAS = """
import sys
from importlib.machinery import PathFinder

class Absent(PathFinder):
    @classmethod
    def find_spec(cls, name, path=None, target=None):
        if name.partition(".")[0] in ("matplotlib", "typer", "rich", "pandas"):
            return None
        return PathFinder.find_spec(name, path, target)

sys.meta_path[sys.meta_path.index(PathFinder)] = Absent
from torte.experiments.__main__ import main
main()
"""


def test_the_module_measures_with_numbers_alone(tmp_path):
    """A machine without matplotlib, typer and pandas can measure; pages are made elsewhere."""
    words = ["iris", "--quick", "--epochs", "3", "--out", str(tmp_path), "--stage", "measure"]
    subprocess.run([sys.executable, "-c", WITHOUT_EXTRAS, *words], capture_output=True, check=True)
    assert (tmp_path / "quick" / "iris" / "iris.json").exists()
    assert not (tmp_path / "quick" / "iris" / "README.md").exists()


def test_figures_without_matplotlib_say_what_to_do(tmp_path, monkeypatch):
    monkeypatch.setitem(sys.modules, "matplotlib.figure", None)
    with pytest.raises(ImportError, match=r"pip install 'torte\[plots\]', or .* --stage measure"):
        figures.figure(1, 1)
