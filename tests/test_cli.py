"""The command line: the examples of its help, what it prints, and what it says of bad input."""

from __future__ import annotations

import errno
import json
import os
import re
import signal
import subprocess
import sys
import time
from contextlib import contextmanager

import numpy as np
import pandas as pd
import pytest
import torch
from typer.testing import CliRunner

import torte
from torte.cli.app import app

COMMANDS = (
    "demo", "fit", "predict", "evaluate", "inspect", "report", "datasets",
    pytest.param("reproduce", marks=pytest.mark.slow),
)  # fmt: skip


def run(*arguments, **settings):
    return CliRunner().invoke(app, [str(part) for part in arguments], **settings)


def flowers(n, seed):
    """A small mixed table: two numbers with gaps, a category, a key and a species."""
    rng = np.random.default_rng(seed)
    species = rng.choice(["iris", "poppy", "rose"], n)
    color = np.where(rng.random(n) < 0.8, np.char.add("c", species), "none")
    return pd.DataFrame(
        {
            "length": np.round(rng.normal(size=n) + (species == "iris"), 3),
            "width": np.where(rng.random(n) < 0.1, np.nan, np.round(rng.normal(size=n), 3)),
            "color": color,
            "key": np.arange(n),
            "species": species,
        }
    )


@pytest.fixture(scope="module")
def meadow(tmp_path_factory):
    """A folder with a table, a table of new rows, and a model."""
    folder = tmp_path_factory.mktemp("meadow")
    flowers(90, 0).to_csv(folder / "flowers.csv", index=False)
    flowers(20, 1).drop(columns="species").to_csv(folder / "new.csv", index=False)
    result = run("fit", folder / "flowers.csv", "-t", "species", "-o", folder / "flowers.torte")
    assert result.exit_code == 0, result.output
    return folder


@pytest.fixture
def here(meadow, tmp_path, monkeypatch):
    """A copy of that folder to work in."""
    for name in ("flowers.csv", "new.csv", "flowers.torte"):
        (tmp_path / name).write_bytes((meadow / name).read_bytes())
    monkeypatch.chdir(tmp_path)
    return tmp_path


def example(*command):
    """The example at the end of a command's help, lines joined."""
    result = run(*command, "--help", env={"COLUMNS": "80", "TERM": "dumb"})
    assert result.exit_code == 0
    found = re.search(r"Example: (torte .*)\Z", result.output, re.DOTALL)
    assert found is not None, f"the help of {command} has no example"
    return found[1].split()[1:]


@pytest.mark.parametrize("command", COMMANDS)
def test_the_example_of_every_help_runs(command, here):
    arguments = example(command)
    assert arguments[0] == command
    result = run(*arguments)
    assert result.exit_code == 0, result.output
    if command == "reproduce":  # it speaks on standard error, and writes pages
        assert "gmce" in (here / "results" / "quick" / "uci" / "README.md").read_text().lower()
    else:
        assert result.stdout


def test_the_example_of_torte_itself_runs(here):
    result = run(*example())
    assert result.exit_code == 0, result.output
    assert "Accuracy" in result.stdout


def test_every_command_is_tested_here():
    from torte.cli import app as module

    ours = [command.name for command in module.app.registered_commands]
    assert sorted(getattr(each, "values", (each,))[0] for each in COMMANDS) == sorted(ours)


def test_datasets_are_listed_for_programs():
    found = json.loads(run("datasets", "iris", "mnist", "--json").stdout)["datasets"]
    assert list(found) == ["iris", "mnist"]
    assert (found["iris"]["rows"], found["mnist"]["columns"], found["iris"]["classes"]) == (
        150,
        784,
        3,
    )


def test_predictions_are_those_of_the_model(here):
    result = run("predict", "flowers.torte", "new.csv", "-o", "out.csv", "--keep", "key")
    assert result.exit_code == 0, result.output
    model = torte.load("flowers.torte")
    X = pd.read_csv("new.csv", keep_default_na=False, na_values=[""])
    out = pd.read_csv("out.csv")
    names = [f"probability_{label}" for label in model.classes_]
    assert list(out.columns) == ["key", "prediction", *names, "entropy"]
    assert out["key"].tolist() == X["key"].tolist()
    X = X[list(model.feature_names_in_)]
    assert out["prediction"].tolist() == model.predict(X).tolist()
    np.testing.assert_allclose(out[names], model.predict_proba(X), rtol=1e-12)
    np.testing.assert_allclose(out["entropy"], model.predict_entropy(X), rtol=1e-12)


def test_a_seed_gives_the_same_model(here):
    for name in ("a.torte", "b.torte"):
        result = run("fit", "flowers.csv", "-t", "species", "-o", name, "--seed", 3, "-q")
        assert (result.exit_code, result.stdout, result.stderr) == (0, "", "")
    for name in ("a", "b"):
        assert run("predict", f"{name}.torte", "new.csv", "-o", f"{name}.csv").exit_code == 0
    assert (here / "a.csv").read_text() == (here / "b.csv").read_text()
    kernels = [torte.load(f"{name}.torte").classifier_.kernel_ for name in ("a", "b")]
    assert kernels[0] == kernels[1]


@pytest.mark.parametrize("name", ["new.tsv", "new.csv.gz", "new.parquet", "new.feather"])
def test_every_format_in_and_out(name, here):
    frame = pd.read_csv("new.csv", keep_default_na=False, na_values=[""])
    if "csv" in name or "tsv" in name:
        frame.to_csv(name, index=False, sep="\t" if "tsv" in name else ",")
    else:
        frame.to_parquet(name) if "parquet" in name else frame.to_feather(name)
    assert run("predict", "flowers.torte", "new.csv", "-o", "a.csv").exit_code == 0
    result = run("predict", "flowers.torte", name, "-o", f"out-{name}")
    assert result.exit_code == 0, result.output
    from torte.tabular import read_table

    pd.testing.assert_frame_equal(read_table(f"out-{name}"), read_table("a.csv"))


def test_standard_input_and_output(here):
    assert run("predict", "flowers.torte", "new.csv", "-o", "a.csv").exit_code == 0
    result = run("predict", "flowers.torte", "-", input=(here / "new.csv").read_bytes())
    assert result.exit_code == 0
    assert result.stdout == (here / "a.csv").read_text()
    assert "20 rows" in result.stderr


def test_columns_in_another_order_and_extra_ones(here):
    frame = pd.read_csv("new.csv", keep_default_na=False, na_values=[""])
    frame[["color", "key", "width", "length"]].assign(more="x").to_csv("mixed.csv", index=False)
    for name in ("new", "mixed"):
        assert run("predict", "flowers.torte", f"{name}.csv", "-o", f"{name}.out").exit_code == 0
    assert (here / "new.out").read_text() == (here / "mixed.out").read_text()


def test_unseen_categories_predict_and_are_counted(here):
    frame = pd.read_csv("new.csv", keep_default_na=False, na_values=[""])
    frame.loc[:6, "color"] = "ultraviolet"
    frame.to_csv("odd.csv", index=False)
    result = run("predict", "flowers.torte", "odd.csv", "-o", "out.csv")
    assert result.exit_code == 0
    assert re.search(r"not seen in fit.*\n.*color +7", result.stdout)
    assert len(pd.read_csv("out.csv")) == 20
    summary = run("predict", "flowers.torte", "odd.csv", "-o", "out.csv", "--json")
    assert json.loads(summary.stdout)["unseen"] == {"color": 7}
    piped = run("predict", "flowers.torte", "odd.csv")
    assert "7 cells of 'color' hold a category that the model has not seen" in piped.stderr


def test_levels_that_look_like_numbers_in_new_rows(here):
    frame = flowers(60, 2).assign(code=np.where(np.arange(60) % 2, "x", "01"))
    frame.to_csv("coded.csv", index=False)
    assert run("fit", "coded.csv", "-t", "species", "-o", "coded.torte").exit_code == 0
    frame.assign(code="01").to_csv("digits.csv", index=False)
    result = run("predict", "coded.torte", "digits.csv", "-o", "out.csv", "--json")
    assert result.exit_code == 0, result.output
    assert json.loads(result.stdout)["unseen"] == {}
    model = torte.load("coded.torte")
    X = frame.assign(code="01")[list(model.feature_names_in_)]
    assert pd.read_csv("out.csv")["prediction"].tolist() == model.predict(X).tolist()


def test_a_table_without_rows_gives_one_without_rows(here):
    (here / "none.csv").write_text("length,width,color,key\n")
    assert run("predict", "flowers.torte", "none.csv", "-o", "out.csv").exit_code == 0
    assert (here / "out.csv").read_text().count("\n") == 1


def test_labels_stay_as_they_are_written(here):
    for labels, expected in ((["0", "1"], "i"), (["01", "2"], "U"), (["yes", "None"], "U")):
        flowers(40, 3).assign(species=labels * 20).to_csv("t.csv", index=False)
        result = run("fit", "t.csv", "-t", "species", "-o", "t.torte", "--drop", "key")
        assert result.exit_code == 0, result.output
        classes = torte.load("t.torte").classes_
        assert classes.dtype.kind == expected
        assert sorted(map(str, classes)) == sorted(labels)


def test_fit_options_reach_the_model(here):
    result = run(
        "fit", "flowers.csv", "-t", "species", "-o", "m.torte", "--drop", "color", "--weight", "key",
        "--kernel", "2.0 * Matern32(ard=True) + 0.5", "--class-weight", "balanced", "--dtype",
        "float32", "--json",
    )  # fmt: skip
    assert result.exit_code == 0, result.output
    found = json.loads(result.stdout)
    assert list(found["columns"]) == ["length", "width"]
    assert "Matern32" in found["kernel"]
    engine = torte.load("m.torte").classifier_
    assert engine.class_weight == "balanced"
    assert engine.dtype == "float32"


def test_numbers_that_are_names(here):
    flowers(60, 4).assign(zip=["0123", "77"] * 30).to_csv("t.csv", index=False)
    arguments = ("fit", "t.csv", "-t", "species", "-o", "t.torte", "--categorical", "zip", "--json")
    kinds = json.loads(run(*arguments).stdout)["columns"]
    assert kinds["zip"] == "categorical"
    assert kinds["key"] == "numeric"
    result = run("predict", "t.torte", "t.csv", "-o", "out.csv", "--json")
    assert json.loads(result.stdout)["unseen"] == {}


def test_inspect_says_what_was_learned(here):
    result = run("inspect", "flowers.torte", "--verbose")
    assert result.exit_code == 0
    for word in (
        "90 rows",
        "iris, poppy, rose",
        "Laplacian length_scale",
        "width",
        "evaluation",
        "species",
    ):
        assert word in result.stdout, word
    found = json.loads(run("inspect", "flowers.torte", "--json").stdout)
    model = torte.load("flowers.torte")
    assert found["classes"] == ["iris", "poppy", "rose"]
    assert found["rows"] == 90
    assert found["target"] == "species"
    assert found["kernel"] == repr(model.classifier_.kernel_)
    assert found["risk_bound"]["n"] == 90


def test_a_pipe_gets_the_model(here, pipe):
    path, received = pipe
    assert run("fit", "flowers.csv", "-t", "species", "-o", path).exit_code == 0
    whole = received()
    (here / "from-pipe.torte").write_bytes(whole)
    assert torte.load("from-pipe.torte").target_name_ == "species"


def test_evaluate_compares_on_the_same_folds(here):
    arguments = ("evaluate", "flowers.csv", "-t", "species", "-k", 3, "--drop", "key")
    result = run(*arguments, "--baseline", "logistic-regression", "--json")
    assert result.exit_code == 0, result.output
    models = json.loads(result.stdout)["models"]
    assert list(models) == ["torte", "logistic-regression"]
    assert models["torte"]["accuracy"]["minus_first"] == {"mean": 0.0, "standard_error": 0.0}
    gap = np.subtract(*(models[name]["log_loss"]["folds"] for name in reversed(models)))
    told = models["logistic-regression"]["log_loss"]["minus_first"]
    assert told["mean"] == pytest.approx(gap.mean())
    assert told["standard_error"] == pytest.approx(gap.std(ddof=1) / 3**0.5)
    shown = run(*arguments, "--baseline", "none")
    assert "logistic" not in shown.stdout
    assert "±" in shown.stdout
    assert "evaluating 100 % fold 3 of 3, torte" in shown.stderr


LABELS = {"whole": [0, 1], "text": ["01", "yes"], "large": [10**12, -3]}


@pytest.mark.parametrize("kind", LABELS)
@pytest.mark.parametrize("ending", ["csv", "parquet"])
def test_a_report_knows_the_labels_whatever_they_are(kind, ending, here):
    frame = flowers(60, 7).assign(species=LABELS[kind] * 30)
    frame.to_csv("t.csv", index=False)
    assert run("fit", "t.csv", "-t", "species", "-o", "t.torte", "--drop", "key").exit_code == 0
    frame["species"] = frame["species"].where(frame.index % 10 > 0)  # six labels are missing
    if ending == "csv" and kind != "text":
        frame["species"] = frame["species"].astype("Int64")
    frame.to_csv("n.csv", index=False) if ending == "csv" else frame.to_parquet("n.parquet")
    result = run("report", "t.torte", f"n.{ending}", "-t", "species", "-o", "r.html", "--json")
    assert result.exit_code == 0, result.output
    assert json.loads(result.stdout)["unlabeled_rows"] == 6
    told = run("report", "t.torte", f"n.{ending}", "-t", "species", "-o", "r.html")
    assert "6 rows without a label were left out." in told.stdout
    model = torte.load("t.torte")
    known = frame[frame["species"].notna()]
    labels = known["species"].astype(model.classes_.dtype if kind != "text" else str)
    right = 100 * float((model.predict(known[["length", "width", "color"]]) == labels).mean())
    assert re.search(rf"{right:.1f}\s?%", (here / "r.html").read_text())


def test_one_label_written_like_a_number_is_still_text(here):
    frame = flowers(40, 8).assign(species=["01", "2"] * 20)
    frame.to_csv("t.csv", index=False)
    assert run("fit", "t.csv", "-t", "species", "-o", "t.torte").exit_code == 0
    frame[1::2].to_csv("n.csv", index=False)
    assert run("report", "t.torte", "n.csv", "-t", "species").exit_code == 0


# -- NA among numbers ---------------------------------------------------------------------


def test_na_among_numbers_is_missing_and_among_names_a_level(here):
    frame = flowers(90, 9)
    words = np.array(["NA", "N/A", "NaN", "NULL", "null", "?", "."])
    days = (pd.Timestamp("2020-01-01") + pd.to_timedelta(frame["key"], "D")).astype(str)
    plain = frame.assign(key=days)
    gaps = frame.index % 7 == 0
    for column in ("length", "key"):
        plain[column] = plain[column].where(~gaps)
    named = plain.copy()
    for column in ("length", "key"):
        named[column] = named[column].astype(object)
        named.loc[gaps, column] = np.resize(words, gaps.sum())
    plain["color"] = named["color"] = frame["color"].where(~gaps, "NA")
    plain.to_csv("plain.csv", index=False)
    named.to_csv("named.csv", index=False)
    for name in ("plain", "named"):
        fit = run("fit", f"{name}.csv", "-t", "species", "-o", f"{name}.torte", "--json")
        kinds = json.loads(fit.stdout)["columns"]
        assert kinds == {
            "length": "numeric", "width": "numeric", "color": "categorical", "key": "date",
        }  # fmt: skip
        assert run("predict", f"{name}.torte", f"{name}.csv", "-o", f"{name}.out").exit_code == 0
    assert (here / "named.out").read_text() == (here / "plain.out").read_text()
    assert "NA" in torte.load("named.torte").encoder_.columns_[2].levels
    # New rows: the model's kind of column decides, also where a piece holds nothing but NA.
    named.assign(length="NA", key="?").to_csv("named.csv", index=False)
    plain.assign(length="", key="").to_csv("plain.csv", index=False)
    for name in ("plain", "named"):
        result = run("predict", "named.torte", f"{name}.csv", "-o", f"{name}.out", "--json")
        assert json.loads(result.stdout)["unseen"] == {}
    assert (here / "named.out").read_text() == (here / "plain.out").read_text()
    result = run("report", "named.torte", "named.csv", "-t", "species")
    assert result.exit_code == 0, result.output


# -- standard output ----------------------------------------------------------------------


def test_a_dash_is_standard_output_for_every_result(here):
    fit = run("fit", "flowers.csv", "-t", "species", "-o", "-")
    assert fit.exit_code == 0
    assert "the model is in standard output" in fit.stderr
    (here / "piped.torte").write_bytes(fit.stdout_bytes)
    assert torte.load("piped.torte").target_name_ == "species"
    page = run("report", "flowers.torte", "-o", "-")
    assert page.exit_code == 0
    assert page.stdout.lower().startswith("<!doctype html>")
    assert "Report: -" in page.stderr
    assert not (here / "-").exists()


def test_the_solver_reaches_the_model(here):
    arguments = ("flowers.csv", "-t", "species", "--solver", "conjugate-gradients")
    assert run("fit", *arguments, "-o", "m.torte", "-q").exit_code == 0
    assert torte.load("m.torte").classifier_.solver == "conjugate-gradients"
    result = run("evaluate", *arguments, "-k", 2, "--baseline", "none", "--json")
    assert result.exit_code == 0, result.output


def test_demo_ends_with_an_accuracy_and_a_report(here):
    result = run("demo", "--data", "iris", "--out", "shown")
    assert result.exit_code == 0, result.output
    *_, accuracy, report = result.stdout.splitlines()
    assert re.match(r"Accuracy \d+\.\d % on the 45 rows held out", accuracy)
    assert report == f"Report {here / 'shown' / 'iris.html'}"
    page = (here / "shown" / "iris.html").read_text()
    told = re.search(r"\d+\.\d", accuracy)[0]
    assert f"{told} %" in page or f"{told}%" in page


# -- bad input: one sentence on standard error, a code, and nothing half-written ----------


def spoil(here):
    """Files that are wrong, each in one way."""
    frame = flowers(40, 5)
    frame.assign(species="rose").to_csv("one.csv", index=False)
    frame.assign(species="").to_csv("none.csv", index=False)
    frame.assign(species=frame["length"] + 0.5).to_csv("measured.csv", index=False)
    frame.assign(species=frame["key"]).to_csv("keys.csv", index=False)
    frame.drop(columns=["width", "color"]).to_csv("absent.csv", index=False)
    frame.assign(species="tulip").to_csv("strange.csv", index=False)
    frame.assign(length="long").to_csv("worded.csv", index=False)
    frame.assign(key=-1).to_csv("negative.csv", index=False)
    frame[["species"]].to_csv("bare.csv", index=False)
    (here / "text.parquet").write_text("a,b\n1,2\n")
    (here / "empty.csv").write_text("")
    (here / "cut.torte").write_bytes((here / "flowers.torte").read_bytes()[:-100])


FIT = ("--target", "species", "--out", "x.torte")
BAD = {
    "missing target": (
        ("fit", "flowers.csv", "--target", "specie", "--out", "x.torte"),
        r"`--target` names 'specie', but `flowers.csv` has no such column; did you mean 'species'\?",
    ),
    "missing drop": (
        ("fit", "flowers.csv", *FIT, "--drop", "zzz"),
        "`--drop` names 'zzz', but `flowers.csv` has no such column; it has 'length'",
    ),
    "one class": (("fit", "one.csv", *FIT), "holds one class, 'rose', in all 40 rows"),
    "no label": (("fit", "none.csv", *FIT), "holds no label in all 0 rows"),
    "measured": (("fit", "measured.csv", *FIT), "holds measured numbers such as .* ranges"),
    "keys": (("fit", "keys.csv", *FIT), "another label in each of its 40 rows"),
    "bare": (("fit", "bare.csv", *FIT), "no column left to learn from beside 'species'"),
    "weights": (
        ("fit", "negative.csv", *FIT, "--weight", "key"),
        "weight column 'key' must hold a number of at least 0",
    ),
    "kernel": (
        ("fit", "flowers.csv", *FIT, "--kernel", "__import__('os')"),
        "`kernel` must be an expression of kernels",
    ),
    "class weight": (
        ("fit", "flowers.csv", *FIT, "--class-weight", "heavy"),
        "`--class-weight` must be 'balanced', got 'heavy'",
    ),
    "no table": (("fit", "nowhere.csv", *FIT), "`nowhere.csv` cannot be read: No such file"),
    "wrong file": (("fit", "text.parquet", *FIT), "`text.parquet` should be Parquet by its name"),
    "empty": (("evaluate", "empty.csv", "-t", "species"), "`empty.csv` is empty"),
    "folds": (
        ("evaluate", "flowers.csv", "-t", "species", "-k", "80", "--baseline", "none"),
        "`folds` must be from 2 to",
    ),
    "baseline": (
        ("evaluate", "flowers.csv", "-t", "species", "--baseline", "oracle"),
        "`--baseline` must be none or one of logistic-regression, .* got 'oracle'",
    ),
    "solver": (
        ("fit", "flowers.csv", *FIT, "--solver", "magic"),
        "`--solver` must be auto, cholesky, conjugate-gradients, features, got 'magic'",
    ),
    "evaluate solver": (
        ("evaluate", "flowers.csv", "-t", "species", "--solver", "magic"),
        "`--solver` must be auto, ",
    ),
    "dropped target": (
        ("fit", "flowers.csv", *FIT, "--drop", "species"),
        "`--drop` names 'species', which is the target; name another",
    ),
    "target as weight": (
        ("evaluate", "flowers.csv", "-t", "species", "--weight", "species"),
        "`--weight` names 'species', which is the target",
    ),
    "workbook": (
        ("predict", "flowers.torte", "new.csv", "--out", "x.xlsx"),
        r"`x.xlsx` ends in .xlsx, but what is written is a table; .* \.csv, .tsv, .parquet or",
    ),
    "packed workbook": (
        ("predict", "flowers.torte", "new.csv", "--out", "x.json.gz"),
        r"`x.json.gz` ends in .json, but what is written is a table",
    ),
    "model into a table": (
        ("fit", "flowers.csv", "-t", "species", "--out", "flowers.csv"),
        r"`flowers.csv` ends in .csv, but what is written is a model file of torte; .* \.torte",
    ),
    "page as PDF": (
        ("report", "flowers.torte", "--out", "x.pdf"),
        r"`x.pdf` ends in .pdf, but what is written is a page of HTML; .* \.html",
    ),
    "strange label": (
        ("report", "flowers.torte", "strange.csv", "-t", "species"),
        "target column 'species' holds 'tulip', and the model knows the classes iris, poppy, rose; name",
    ),
    "report without labels": (
        ("report", "flowers.torte", "none.csv", "-t", "species"),
        "target column 'species' holds no label in all 40 rows; leave --target out",
    ),
    "unknown dataset": (("datasets", "tulips"), "NAMES must be of banknote, .* got 'tulips'"),
    "folder for a model": (("inspect", "."), "is a folder; give the path of a model file"),
    "folder for a table": (("fit", ".", *FIT), "`.` cannot be read: Is a directory"),
    "absent columns": (
        ("predict", "flowers.torte", "absent.csv", "--out", "x.csv"),
        "`absent.csv` lacks the columns 'width', 'color'",
    ),
    "absent keep": (
        ("predict", "flowers.torte", "new.csv", "--out", "x.csv", "--keep", "name"),
        "`new.csv` lacks the column 'name'",
    ),
    "worded": (("predict", "flowers.torte", "worded.csv", "--out", "x.csv"), "'length'.*'long'"),
    "unwritable model": (
        ("fit", "flowers.csv", "--target", "species", "--out", "no/x.torte"),
        "`no/x.torte` cannot be written: there is no folder 'no'",
    ),
    "unwritable predictions": (
        ("predict", "flowers.torte", "new.csv", "--out", "."),
        "`.` cannot be written: it is a folder",
    ),
    "unwritable report": (
        ("report", "flowers.torte", "--out", "no/x.html"),
        "`no/x.html` cannot be written",
    ),
    "no model": (("inspect", "nowhere.torte"), "nowhere.torte.*No such file"),
    "foreign model": (("inspect", "flowers.csv"), "is not a model file of torte"),
    "cut model": (("predict", "cut.torte", "new.csv", "--out", "x.csv"), "cut.torte"),
    "target without table": (("report", "flowers.torte", "-t", "species"), "`--target` needs TABLE"),
    "report of other columns": (
        ("report", "flowers.torte", "absent.csv"),
        "`absent.csv` lacks the columns 'width', 'color'",
    ),
}  # fmt: skip


@pytest.mark.parametrize("case", BAD)
def test_bad_input_is_one_sentence(case, here):
    spoil(here)
    before = {path.name for path in here.iterdir()}
    arguments, message = BAD[case]
    result = run(*arguments)
    assert result.exit_code == 1
    assert result.stdout == ""
    told = [line for line in result.stderr.splitlines() if not line.startswith("learning")]
    assert len(told) == 1, result.stderr
    assert told[0].startswith("Error: ")
    assert re.search(message, told[0]), told[0]
    assert {path.name for path in here.iterdir()} == before


USAGE = [("fit",), ("fit", "a.csv"), ("predict", "m.torte"), ("nonsense",), ("inspect", "--bad")]


SEEDS = [
    ("fit", "flowers.csv", "-t", "species", "-o", "x.torte", "--seed", "99999999999999999999"),
    ("evaluate", "flowers.csv", "-t", "species", "--seed", "-1"),
    ("demo", "--seed", 2**32),
]


@pytest.mark.parametrize("arguments", [*USAGE, *SEEDS, ("evaluate", "a.csv", "-t", "b", "-k", "1")])
def test_wrong_usage_has_its_own_code(arguments, here):
    result = run(*arguments)
    assert result.exit_code == 2
    assert "Usage: " in result.stderr


FAILURES = {
    "full disk": (
        OSError(errno.ENOSPC, "No space left on device"),
        "No space left on device.",
    ),
    "named": (PermissionError(errno.EACCES, "Permission denied", "a.b"), "`a.b`: Permission denied."),
    "sentence": (IsADirectoryError("a is a folder; give a file."), "a is a folder; give a file."),
    "nameless": (TimeoutError(), "the operating system refused something (TimeoutError)."),
    "no memory": (MemoryError(), "there is not enough memory for this table; give fewer rows"),
    "allocator": (
        RuntimeError("[enforce fail] DefaultCPUAllocator: can't allocate memory: you tried 8 TB."),
        "there is not enough memory for this table; give fewer rows",
    ),
    "accelerator": (
        torch.OutOfMemoryError("CUDA out of memory. Tried to allocate 8 TiB"),
        "there is not enough memory for this table; give fewer rows",
    ),
}  # fmt: skip


@pytest.mark.parametrize("case", FAILURES)
def test_what_the_system_refuses_is_one_sentence(case, here, monkeypatch):
    error, message = FAILURES[case]

    def fail(*arguments, **settings):
        raise error

    monkeypatch.setattr("torte.TableClassifier.fit", fail)
    result = run("fit", "flowers.csv", *FIT, "-q")
    assert (result.exit_code, result.stdout) == (1, "")
    assert result.stderr.startswith(f"Error: {message}")
    assert result.stderr.count("\n") == 1


def test_other_errors_are_not_hidden(here, monkeypatch):
    monkeypatch.setattr("torte.TableClassifier.fit", lambda *a, **s: {}["torte"])
    assert isinstance(run("fit", "flowers.csv", *FIT, "-q").exception, KeyError)


# -- real processes -----------------------------------------------------------------------


@contextmanager
def started(*arguments, **settings):
    code = "from torte.cli import main; main()"
    process = subprocess.Popen(
        [sys.executable, "-c", code, *map(str, arguments)],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        **settings,
    )
    with process:  # closes its pipes
        try:
            yield process
        finally:
            process.kill()


def test_a_process_ends_with_a_code_and_one_line(here):
    with started("fit", "flowers.csv", "--target", "none", "--out", "x.torte") as process:
        out, err = process.communicate()
    assert (process.returncode, out) == (1, b"")
    assert err.decode().count("\n") == 1


def test_the_shell_completes_commands():
    code = "import sys; sys.argv[0] = 'torte'; from torte.cli import main; main()"
    told = []
    for asked in (
        {"_TORTE_COMPLETE": "complete_bash", "COMP_WORDS": "torte pre", "COMP_CWORD": "1"},
        {"_TORTE_COMPLETE": "complete_bash", "COMP_WORDS": "torte fit --sol", "COMP_CWORD": "2"},
        {"_TORTE_COMPLETE": "source_bash"},
    ):
        process = subprocess.run(
            [sys.executable, "-c", code], capture_output=True, env=os.environ | asked, check=False
        )
        told.append(process.stdout.decode())
    assert told[0].split() == ["predict"]
    assert told[1].split() == ["--solver"]
    assert "complete -o default" in told[2]


def test_ctrl_c_while_modules_are_imported_is_one_line(tmp_path):
    code = (
        "import sys, signal, importlib.abc\n"
        "class Finder(importlib.abc.MetaPathFinder):\n"
        "    def find_spec(self, name, path, target=None):\n"
        "        if name == 'torte.cli.app': signal.raise_signal(signal.SIGINT)\n"
        "sys.meta_path.insert(0, Finder())\n"
        "from torte.cli import main; main()"
    )
    process = subprocess.run(
        [sys.executable, "-c", code, "demo"], capture_output=True, cwd=tmp_path, check=False
    )
    assert process.returncode == 130
    assert process.stderr == b"Interrupted; nothing was written.\n"
    assert process.stdout == b""


def test_a_closed_pipe_ends_quietly(here):
    pd.concat([flowers(20, 1)] * 2000).to_csv("long.csv", index=False)
    with started("predict", "flowers.torte", "long.csv", "--quiet") as process:
        assert process.stdout.readline().startswith(b"prediction,")
        process.stdout.close()
        assert process.stderr.read() == b""
        assert process.wait(60) == 1


def test_ctrl_c_while_predicting_leaves_nothing(here):
    rows = flowers(20, 1).to_csv(index=False).encode()
    arguments = ("predict", "flowers.torte", "-", "--out", "x.csv")
    with started(*arguments, stdin=subprocess.PIPE) as process:
        process.stdin.write(rows + rows.split(b"\n", 1)[1] * 30_000)
        process.stdin.flush()
        deadline = time.monotonic() + 60
        while not list(here.glob(".x.csv.*.part")) and time.monotonic() < deadline:
            time.sleep(0.05)
        assert list(here.glob(".x.csv.*.part"))
        process.send_signal(signal.SIGINT)
        process.stdin.close()
        assert process.wait(60) == 130
        told = process.stderr.read().decode().splitlines()
    assert told[-1] == "Interrupted; nothing was written."
    assert not list(here.glob("*x.csv*"))


def test_ctrl_c_while_learning_leaves_nothing(here):
    rng = np.random.default_rng(0)
    y = rng.integers(0, 3, 6000)
    frame = pd.DataFrame(rng.normal(size=(6000, 12)) + 0.3 * y[:, None])
    frame.assign(y=y).to_csv("large.csv", index=False)
    with started("fit", "large.csv", "--target", "y", "--out", "x.torte") as process:
        assert any(line.startswith(b"learning") for line in process.stderr)
        process.send_signal(signal.SIGINT)
        assert process.wait(60) == 130
        told = process.stderr.read().decode().splitlines()
    assert told[-1] == "Interrupted; nothing was written."
    assert not list(here.glob("*x.torte*"))
