"""Model files: the same model from the file, and one clear sentence for every other file."""

from __future__ import annotations

import json
import os
import pickle
import sys
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import NamedTuple

import numpy as np
import pandas as pd
import pytest
import torch
from safetensors.torch import save as save_tensors
from sklearn.exceptions import NotFittedError
from torch import nn

import things
import torte
from torte import MCEClassifier, _container, persistence
from torte.errors import InvalidInput, ModelFileError
from torte.features import Fourier, Module, Network, Nystroem, Polynomials, Standardize
from torte.kernels import (
    Gaussian,
    Kernel,
    Laplacian,
    Linear,
    Matern12,
    Matern32,
    Periodic,
    Polynomial,
    RationalQuadratic,
    positive,
)
from torte.maps import FeatureMap
from torte.objectives import RademacherBound
from torte.optimizers import Adam
from torte.parameters import Parametric

FIXTURES = Path(__file__).parent / "fixtures"
MODELS = [
    None,
    Gaussian(ard=True) * Matern32().fix("length_scale") + 0.1 * Linear(),
    (Laplacian().on(0, 2) + RationalQuadratic()) ** 2 + Periodic(1.0, period=50.0),
    Polynomial(2) @ Standardize(),
    Gaussian() @ Network((5, 3)),
    Gaussian() @ Nystroem(Linear(), n_components=3),
    Fourier(Gaussian() * Matern12() + 0.5 * Laplacian().on(1), n_components=24),
    Nystroem(0.5 * Gaussian(ard=True) + 0.1, n_components=9, learned=True),
    Nystroem(Gaussian(), landmarks=np.eye(4)),
    Polynomials(2),
    Network((6, 3)),
    Standardize(),
]


def fitted(kernel, X, y, **settings):
    settings = {"optimizer": Adam(max_iter=3), "random_state": 0} | settings
    return MCEClassifier(kernel, **settings).fit(X, y)


def through_a_file(model, folder, **how):
    model.save(folder / "model.torte")
    return torte.load(folder / "model.torte", **how)


@pytest.mark.parametrize("dtype", ["float64", "float32"])
@pytest.mark.parametrize("kernel", MODELS, ids=repr)
def test_a_loaded_model_is_the_same_to_the_bit(kernel, dtype, blobs, tmp_path):
    X, y = blobs
    X = (X - X.mean(axis=0)) / X.std(axis=0)
    y = np.array(["low", "middle", "high"])[y]
    model = fitted(kernel, X, y, dtype=dtype)
    same = through_a_file(model, tmp_path)
    assert repr(same) == repr(model)
    assert same.kernel_ == model.kernel_
    assert same.history_ == model.history_
    assert vars(same).keys() == vars(model).keys()
    assert same.embedding_.weights.dtype == model.embedding_.weights.dtype
    for ask in (
        lambda m: m.predict(X),
        lambda m: m.predict_proba(X),
        lambda m: m.decision_probabilities(X),
        lambda m: m.predict_entropy(X, "embedding"),
        lambda m: m.expectation([1.0, 2.0, 3.0], X),
    ):
        np.testing.assert_array_equal(ask(same), ask(model), strict=True)
    box = (X.min(axis=0), X.max(axis=0))
    if kernel is None or not isinstance(kernel, FeatureMap):
        assert _bound(same, box) == _bound(model, box)
    # The same model gives the same bytes, from the file or not.
    first = (tmp_path / "model.torte").read_bytes()
    same.save(tmp_path / "again.torte")
    assert (tmp_path / "again.torte").read_bytes() == first


@pytest.mark.parametrize(("kernel", "X"), things.KERNELS, ids=[repr(k) for k, _ in things.KERNELS])
def test_models_of_objects_are_stored_with_their_pieces(kernel, X, tmp_path):
    model = fitted(kernel, X, things.LABELS, optimizer=None)
    same = through_a_file(model, tmp_path)
    np.testing.assert_array_equal(same.predict_proba(X), model.predict_proba(X))
    same.save(tmp_path / "again.torte")
    assert (tmp_path / "again.torte").read_bytes() == (tmp_path / "model.torte").read_bytes()


def _bound(model, box):
    try:
        return model.risk_bound(domain=box)
    except ValueError as error:
        return str(error)


def test_chunks_are_added_and_forgotten_after_loading(blobs, tmp_path):
    X, y = blobs
    model = MCEClassifier(Fourier(Gaussian(), n_components=20), random_state=0)
    model.partial_fit(X[:30], y[:30], classes=[0, 1, 2])
    same = through_a_file(model, tmp_path)
    for m in (model, same):
        m.partial_fit(X[30:60], y[30:60]).forget(X[:10], y[:10])
    np.testing.assert_array_equal(same.predict_proba(X), model.predict_proba(X))


def test_names_of_columns_and_sources_of_randomness_are_kept(blobs, tmp_path):
    X, y = blobs
    frame = pd.DataFrame(X, columns=["a", "b", "c", "d"])
    source = np.random.RandomState(5)
    model = fitted(Gaussian().on("a", "c"), frame, pd.Series(y > 0), random_state=source)
    same = through_a_file(model, tmp_path)
    assert list(same.feature_names_in_) == ["a", "b", "c", "d"]
    assert same.classes_.dtype == bool
    np.testing.assert_array_equal(same.predict_proba(frame), model.predict_proba(frame))
    assert same.random_state.randint(10**9) == source.randint(10**9)
    for kind in (np.random.PCG64, np.random.MT19937):
        model.random_state = np.random.Generator(kind(3))
        again = through_a_file(model, tmp_path).random_state
        assert (
            again.integers(10**9, size=3).tolist()
            == model.random_state.integers(10**9, size=3).tolist()
        )
    with pytest.raises(ValueError, match="feature names should match"):
        same.predict(frame.rename(columns={"a": "z"}))


@pytest.mark.parametrize("name", ["kernel", "features"])
def test_files_of_format_1_are_still_read(name):
    sys.path.insert(0, str(FIXTURES))
    try:
        from make_model_files import MODELS as recipes
        from make_model_files import table
    finally:
        sys.path.remove(str(FIXTURES))
    path = FIXTURES / f"{name}-1.torte"
    assert path.stat().st_size < 30_000
    model = torte.load(path)
    expected = json.loads(path.with_suffix(".json").read_text())
    X, y = table()
    single = model.dtype == "float32"
    np.testing.assert_allclose(
        model.decision_probabilities(X[::7]), expected["p_hat"], atol=1e-4 if single else 1e-9
    )
    assert model.classes_.tolist() == expected["classes"]
    assert model.regularization_ == expected["regularization"]
    assert model.complexity_ == expected["complexity"]
    assert len(model.history_) == model.n_iter_ == expected["steps"]
    assert model.kernel == recipes[name].kernel
    assert model.score(X, y) > 0.9


# -- what else may be stored --------------------------------------------------------------


@persistence.savable
class Levels(NamedTuple):
    levels: tuple[str, ...]
    counts: np.ndarray


def test_values_come_back_as_they_were(tmp_path):
    value = {
        "scalars": (None, True, 3, -0.0, 1e-320, float("inf"), "ü\n", np.float32(0.5)),
        "mixed": [{1: "one", "1": 1}, [], ()],
        "codes": Levels(("a", "b"), np.arange(6, dtype=np.int32).reshape(2, 3)),
        "turned": np.asfortranarray(np.arange(6.0).reshape(2, 3)),
        "labels": np.array(["a", "bcd"]),
        "objects": np.array(["a", None, 2], dtype=object),
        "tensor": torch.arange(6.0).view(2, 3).mT,
        "a.b": torch.zeros(1),
        "a": {"b": torch.ones(1), 1: torch.ones(2), "1": torch.ones(3)},
    }
    persistence.save(value, tmp_path / "value.torte")
    back = torte.load(tmp_path / "value.torte")
    assert repr(back) == repr(value).replace("np.float32(0.5)", "0.5")
    assert back["turned"].flags.f_contiguous
    assert back["tensor"].stride() == value["tensor"].stride()
    assert [len(t) for t in (back["a.b"], *back["a"].values())] == [1, 1, 2, 3]


def test_sums_of_many_kernels_are_stored(tmp_path):
    kernel = sum(Gaussian(1.0).on(i) for i in range(240))
    persistence.save(kernel, tmp_path / "kernel.torte")
    assert torte.load(tmp_path / "kernel.torte") == kernel
    for i in range(20):
        kernel = kernel + Linear().on(i)
    with pytest.raises(InvalidInput, match="at most 250 levels of nesting"):
        persistence.save(kernel, tmp_path / "kernel.torte")
    value = ()
    for _ in range(83):
        value = {"deeper": value}
    persistence.save(value, tmp_path / "value.torte")
    assert torte.load(tmp_path / "value.torte") == value


def test_arrays_that_are_shared_are_stored_once(tmp_path):
    shared = torch.zeros(1000, dtype=torch.float64)
    persistence.save((shared, shared), tmp_path / "value.torte")
    assert (tmp_path / "value.torte").stat().st_size < 9000
    first, second = torte.load(tmp_path / "value.torte")
    assert first is second


@dataclass(frozen=True)
class Tent(Kernel):
    width: float = positive(1.0)

    def compare(self, X, Y):
        return (1 - (X[:, :1] - Y[:, :1].mT).abs() / self.width).clamp(min=0)


def test_a_kernel_of_your_own_must_be_imported_first(blobs, tmp_path, monkeypatch):
    X, y = blobs
    model = fitted(Tent(3.0), X, y)
    same = through_a_file(model, tmp_path)
    np.testing.assert_array_equal(same.predict_proba(X), model.predict_proba(X))
    monkeypatch.delitem(Parametric.registry, "Tent")
    message = f"needs the class 'Tent' of {__name__}, which is not known here; import the module"
    with pytest.raises(ModelFileError, match=message):
        torte.load(tmp_path / "model.torte")


@dataclass(frozen=True)
class Signs(Kernel):
    """How many columns have the same sign."""

    def represent(self, X):
        return [frozenset((row > 0).nonzero().flatten().tolist()) for row in X]

    def compare(self, A, B):
        return torch.tensor([[4.0 - len(a ^ b) for b in B] for a in A], dtype=torch.float64)


def test_what_cannot_be_stored_is_named(blobs, tmp_path):
    X, y = blobs
    message = (
        r"`fitted.embedding_.lift.anchors.0` of the model is a frozenset, .* Register the class"
    )
    with pytest.raises(InvalidInput, match=message):
        fitted(Signs(), X, y, optimizer=None).save(tmp_path / "model.torte")
    model = fitted(Gaussian(), X, y)
    with pytest.raises(NotFittedError):
        MCEClassifier().save(tmp_path / "model.torte")
    model.note_ = {"when": np.datetime64("2020-01-01")}
    with pytest.raises(InvalidInput, match=r"`fitted.note_.when` of the model is a date, which"):
        model.save(tmp_path / "model.torte")
    model.note_ = np.array(["2020-01-01"], dtype="datetime64[D]")
    with pytest.raises(
        InvalidInput, match=r"is a ndarray of datetime64\[D\], .* Register the class"
    ):
        model.save(tmp_path / "model.torte")
    model.note_ = torch.eye(2).to_sparse()
    with pytest.raises(InvalidInput, match=r"is a Tensor of torch.float32, which model files do"):
        model.save(tmp_path / "model.torte")
    model.note_ = lambda: None
    with pytest.raises(InvalidInput, match=r"is a function, .* or pickle the model"):
        model.save(tmp_path / "model.torte")
    model.note_ = []
    for _ in range(300):
        model.note_ = [model.note_]
    with pytest.raises(InvalidInput, match="at most 250 levels of nesting"):
        model.save(tmp_path / "model.torte")
    model.note_ = ("x" * 2**25,)
    with pytest.raises(InvalidInput, match=r"the model's description takes .* shorten `history_`"):
        model.save(tmp_path / "model.torte")
    assert list(tmp_path.iterdir()) == []


def body(units=4):
    return nn.Sequential(nn.Linear(4, units), nn.BatchNorm1d(units), nn.Tanh())


def test_a_network_of_your_own_needs_its_recipe_again(blobs, tmp_path):
    X, y = blobs
    X = (X - X.mean(axis=0)) / X.std(axis=0)
    for kernel in (Module(body), Gaussian() @ Module(body)):
        model = fitted(kernel, X, y)
        same = through_a_file(model, tmp_path, recipe=body)
        np.testing.assert_array_equal(same.predict_proba(X), model.predict_proba(X))
    with pytest.raises(ModelFileError, match=r"whose network is code, .* torte.load\(path, recipe"):
        torte.load(tmp_path / "model.torte")
    with pytest.raises(
        ModelFileError, match=r"makes a module of 35 weights .* give the recipe that"
    ):
        torte.load(tmp_path / "model.torte", recipe=partial(body, 5))
    model = fitted(Gaussian() @ Module(body) + Linear() @ Module(partial(body, 5)), X, y)
    with pytest.raises(InvalidInput, match="modules of two recipes"):
        model.save(tmp_path / "model.torte")


# -- files that are not whole models ---------------------------------------------------------


@pytest.fixture
def stored(blobs, tmp_path):
    model = fitted(Gaussian(), *blobs)
    model.save(tmp_path / "model.torte")
    return tmp_path / "model.torte"


def altered(data, at):
    return data[:at] + bytes([data[at] ^ 1]) + data[at + 1 :]


SPOILED = {
    "empty": (lambda data: b"", "is not a model file of torte, or its beginning was altered: it has 0"),
    "pickle": (lambda data: pickle.dumps(print) * 30, "is not a model file of torte"),
    "text": (lambda data: b"a,b,c\n" * 100, "it begins with b'a,b,c.*Give a file that MCEClassifier.save wrote"),
    "safetensors": (lambda data: save_tensors({"a": torch.zeros(99)}), "is not a model file of torte"),
    "cut in the header": (lambda data: data[:600], "is cut off or damaged: its header should take"),
    "cut in the arrays": (lambda data: data[:-1], "was altered or cut off: its .* Take another copy"),
    "longer": (lambda data: data + b"\0", "was altered or cut off"),
    "altered number": (lambda data: altered(data, len(data) - 9), "was altered or cut off"),
    "altered name": (lambda data: data.replace(b"Gaussian", b"Gaussien"), "was altered or cut off"),
    "newer": (
        lambda data: data.replace(b'format\\":1', b'format\\":7'),
        "has format 7, and this version of torte reads format 1; install a newer torte",
    ),
    "long header": (lambda data: b"\xff" * 8 + data[8:], "its header should take 18446744073709551615 bytes"),
}  # fmt: skip


@pytest.mark.parametrize("case", SPOILED)
def test_other_files_are_refused_in_one_sentence(case, stored):
    spoil, message = SPOILED[case]
    stored.write_bytes(spoil(stored.read_bytes()))
    with pytest.raises(ModelFileError, match=message) as caught:
        torte.load(stored)
    assert str(caught.value).startswith(str(stored))


def test_other_paths(tmp_path):
    with pytest.raises(FileNotFoundError, match="absent"):
        torte.load(tmp_path / "absent.torte")
    with pytest.raises(IsADirectoryError, match="is a folder; give the path of a model file"):
        torte.load(tmp_path)
    os.mkfifo(tmp_path / "pipe")
    with pytest.raises(ModelFileError, match="is not a regular file"):
        torte.load(tmp_path / "pipe")
    with pytest.raises(
        FileNotFoundError, match=r"the folder of .*absent.model.torte does not exist"
    ):
        persistence.save(1, tmp_path / "absent" / "model.torte")
    with pytest.raises(IsADirectoryError, match="is a folder; give the path of a file in it"):
        persistence.save(1, tmp_path)
    with pytest.raises(InvalidInput, match="`device` must be"):
        torte.load(tmp_path / "absent.torte", device="abacus")


def rewritten(path, change):
    """The file with other contents, and a checksum that is right."""
    data = path.read_bytes()
    header = json.loads(data[8 : 8 + int.from_bytes(data[:8], "little")])
    form = json.loads(header["__metadata__"]["torte"])
    arrays = _container.safetensors().load(data)
    change(form, arrays)
    contents = {k: v for k, v in form.items() if k not in ("format", "sha256")}
    _container.write(path, arrays, contents)


@pytest.mark.skipif(torch.cuda.is_available(), reason="needs a machine without CUDA")
def test_a_model_from_another_device_is_asked_for_by_name(stored, blobs):
    expected = torte.load(stored).predict_proba(blobs[0])
    rewritten(stored, lambda form, arrays: form.update(device="cuda"))
    with pytest.raises(
        ModelFileError, match=r"`device` is 'cuda', but there is none .* use device='cpu'"
    ):
        torte.load(stored)
    np.testing.assert_array_equal(
        torte.load(stored, device="cpu").predict_proba(blobs[0]), expected
    )


@pytest.mark.gpu
@pytest.mark.skipif(not torch.cuda.is_available(), reason="needs CUDA")
@pytest.mark.parametrize("kernel", [None, Nystroem(Gaussian(), n_components=9)], ids=repr)
def test_a_model_of_a_gpu_comes_back_there_or_elsewhere(kernel, blobs, tmp_path):
    X, y = blobs
    model = fitted(kernel, X, y, device="cuda")
    there, here = through_a_file(model, tmp_path), through_a_file(model, tmp_path, device="cpu")
    assert there.embedding_.weights.device.type == "cuda"
    assert here.embedding_.weights.device.type == "cpu"
    np.testing.assert_array_equal(there.predict_proba(X), model.predict_proba(X))
    np.testing.assert_allclose(here.predict_proba(X), model.predict_proba(X), atol=1e-6)


def test_files_that_were_made_up_are_refused(stored):
    original = stored.read_bytes()

    def fitted_of(form):
        return dict(form["value"]["fitted"]["items"])

    def settings(name, value):
        return lambda form, arrays: [
            pair.__setitem__(1, value)
            for pair in form["value"]["settings"]["items"]
            if pair[0] == name
        ]

    cases = {
        "needs the class 'os.system' of another version": lambda f, a: f.update(
            value={"$": "os.system", "command": "touch executed"}
        ),
        "gives 'predict', which is no result of a fit": lambda f, a: f["value"]["fitted"][
            "items"
        ].append(["predict", 1]),
        "`solver` must be 'auto' or .*, got 'none'": settings("solver", "none"),
        "its weights are": lambda f, a: a.update(
            {"fitted.embedding_.weights": a["fitted.embedding_.weights"][:-1]}
        ),
        "not all finite": lambda f, a: a["fitted.embedding_.weights"].fill_(float("nan")),
        "`kernel_` is a": lambda f, a: f["value"]["fitted"]["items"].insert(0, ["kernel_", 1])
        or f["value"]["fitted"]["items"].append(["kernel_", 1]),
        "Gaussian must be a positive number": lambda f, a: fitted_of(f)["embedding_"]["lift"][
            "kernel"
        ].update(length_scale=-1.0),
        "unexpected keyword argument 'command'": lambda f, a: fitted_of(f)["kernel_"].update(
            command="touch executed"
        ),
        "it has 10000000000 columns": lambda f, a: [
            pair.__setitem__(1, 10**10) for pair in f["value"]["fitted"]["items"] if pair[0] == "n_features_in_"
        ],
    }  # fmt: skip
    for message, change in cases.items():
        stored.write_bytes(original)
        rewritten(stored, change)
        with pytest.raises(ModelFileError, match=message):
            torte.load(stored)


def test_small_files_do_not_ask_for_much_memory_or_time(blobs, tmp_path):
    X, y = blobs
    path = tmp_path / "model.torte"
    fitted(Nystroem(Gaussian(), n_components=5), X, y, optimizer=None).save(path)
    model = path.read_bytes()

    def many_points(form, arrays):
        arrays["fitted.kernel_.points"] = torch.zeros(100_000, 4, dtype=torch.float64)

    def many_monomials(form, arrays):
        fields = dict(form["value"]["fitted"]["items"])["embedding_"]["lift"]
        fields["features"] = {"$": "Polynomials", "degree": 10**7, "gamma": 1.0, "coef0": 1.0}

    def many_terms(form, arrays):
        term = {"$": "Sum", "left": {"$": "Gaussian"}, "right": {"$": "Laplacian"}}
        product = term
        for _ in range(60):
            product = {"$": "Product", "left": product, "right": term}
        fields = dict(form["value"]["fitted"]["items"])["embedding_"]["lift"]
        fields["features"] = {"$": "Fourier", "kernel": product, "n_components": 10**30}

    def long_texts(form, arrays):
        items = ["x"] * 10_000 + ["y" * 100_000]
        form["value"] = {"$": "texts", "items": items, "fixed": True}

    for change, message in (
        (many_points, "it has 100000 landmarks"),
        (many_monomials, "makes too many features"),
        (many_terms, "Fourier has no frequencies"),
        (long_texts, "texts too long for an array"),
    ):
        path.write_bytes(model)
        rewritten(path, change)
        with pytest.raises(ModelFileError, match=message):
            torte.load(path)


# -- writing ----------------------------------------------------------------------------------


@pytest.mark.parametrize("accident", [OSError("no space left"), KeyboardInterrupt()])
def test_an_interrupted_save_leaves_the_old_file(accident, stored, monkeypatch, blobs):
    before = stored.read_bytes()

    def fail(*arguments):
        raise accident

    monkeypatch.setattr(os, "fsync", fail)
    with pytest.raises(type(accident)):
        fitted(Laplacian(), *blobs).save(stored)
    assert stored.read_bytes() == before
    assert list(stored.parent.iterdir()) == [stored]


def test_a_save_replaces_what_a_link_points_to(stored, blobs):
    link = stored.parent / "latest.torte"
    link.symlink_to(stored.name)
    fitted(Laplacian(), *blobs).save(link)
    assert link.is_symlink()
    assert isinstance(torte.load(stored).kernel_, Laplacian)


def test_a_pipe_gets_the_bytes_and_stays_a_pipe(stored, pipe):
    path, received = pipe
    torte.load(stored).save(path)
    assert received() == stored.read_bytes()
    assert {entry.name for entry in path.parent.iterdir()} == {"pipe", stored.name}


def test_a_save_keeps_the_mode_of_the_file(stored):
    stored.chmod(0o640)
    torte.load(stored).save(stored)
    assert stored.stat().st_mode & 0o777 == 0o640


def test_without_the_library_the_extra_is_named(stored, monkeypatch):
    monkeypatch.setitem(sys.modules, "safetensors.torch", None)
    with pytest.raises(ImportError, match=r"need the library safetensors; .* 'torte\[files\]'"):
        torte.load(stored)


def test_settings_are_kept(blobs, tmp_path):
    model = fitted(
        Gaussian(), *blobs, objective=RademacherBound(tau="4e/n"), batch_size=40, verbose=0
    )
    same = through_a_file(model, tmp_path, device="auto")
    assert same.get_params() == model.get_params()
    same.fit(*blobs)
    np.testing.assert_array_equal(same.embedding_.weights, model.embedding_.weights)
