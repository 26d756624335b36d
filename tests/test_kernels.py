"""Laws of kernels: values against loops, positive definiteness, arithmetic, text, JSON."""

from __future__ import annotations

import itertools
import json
import pickle

import numpy as np
import pytest
import torch
from torch.testing import assert_close

import naive
import torte.features
import torte.kernels
from laws import KERNELS, Cosine
from torte.errors import InvalidInput, NoSupremum
from torte.features import Standardize
from torte.kernels import (
    Categories,
    Constant,
    Gaussian,
    Kernel,
    Laplacian,
    Linear,
    Matern12,
    Matern32,
    Matern52,
    Periodic,
    Polynomial,
    RationalQuadratic,
)

everyone = pytest.mark.parametrize("kernel", KERNELS, ids=repr)
LENGTHS = (0.5, 1.0, 2.0)


@pytest.mark.parametrize(
    ("kernel", "twin"),
    [
        (Gaussian(LENGTHS), lambda x, y: naive.gaussian(x, y, LENGTHS)),
        (Gaussian(0.7), lambda x, y: naive.gaussian(x, y, (0.7,) * 3)),
        (Laplacian(LENGTHS), lambda x, y: naive.laplacian(x, y, LENGTHS)),
        (Matern12(LENGTHS), lambda x, y: naive.matern12(x, y, LENGTHS)),
        (Matern32(LENGTHS), lambda x, y: naive.matern32(x, y, LENGTHS)),
        (Matern52(LENGTHS), lambda x, y: naive.matern52(x, y, LENGTHS)),
        (
            RationalQuadratic(LENGTHS, alpha=0.4),
            lambda x, y: naive.rational_quadratic(x, y, LENGTHS, 0.4),
        ),
        (
            Periodic(LENGTHS, period=1.7),
            lambda x, y: naive.periodic(x, y, LENGTHS, 1.7),
        ),
        (Categories((0.3, 0.5, 0.9)), lambda x, y: naive.categories(x, y, (0.3, 0.5, 0.9))),
        (Linear(), naive.linear),
        (Polynomial(3, gamma=0.5, coef0=2.0), lambda x, y: (0.5 * naive.linear(x, y) + 2) ** 3),
        (Constant(0.4), lambda x, y: 0.4),
    ],
    ids=lambda value: type(value).__name__,
)
def test_values_are_the_definition(kernel, twin, points):
    X = points[0].numpy()
    np.testing.assert_allclose(kernel(X, X[:5]), naive.gram(twin, X, X[:5]), atol=1e-7)
    np.testing.assert_allclose(kernel(X), naive.gram(twin, X, X), atol=1e-12, rtol=1e-7)


def test_categories_are_equal_or_not(generator):
    codes = torch.randint(4, (40, 3), generator=generator).double()
    similarity = (0.3, 0.5, 0.9)
    K = naive.gram(lambda x, y: naive.categories(x, y, similarity), codes.numpy(), codes.numpy())
    kernel = Categories(similarity)
    np.testing.assert_allclose(kernel(codes.numpy()), K, atol=1e-12)
    renamed = torch.tensor([7.0, -1.0, 0.5, 1e9], dtype=torch.float64)[codes.long()]
    assert_close(kernel.gram(renamed), kernel.gram(codes))
    new = torch.tensor([[9.0, 1.0, 9.0]], dtype=torch.float64)
    expected = 0.3 * 0.9 * torch.where(codes[:, 1] == 1.0, 1.0, 0.5).double()
    assert_close(kernel.gram(new, codes)[0], expected)
    assert float(kernel.gram(new)) == pytest.approx(1.0)


def test_similarities_start_from_the_data(generator):
    codes = torch.tensor([[0.0, 5.0, 1.0], [1.0, 5.0, 2.0]] * 10, dtype=torch.float64)
    prepared = Categories().prepare(codes, None, generator)
    assert prepared.similarity == pytest.approx((np.exp(-1.0),) * 3)
    four = codes[:, [0, 2, 0, 2]]
    assert Categories().prepare(four, None, generator).similarity[0] == pytest.approx(np.exp(-0.5))
    assert Categories(0.4).prepare(codes, None, generator) == Categories(0.4)
    with pytest.raises(InvalidInput, match="2 entries, but its input has 3 columns"):
        Categories((0.2, 0.3)).prepare(codes, None, generator)


@everyone
def test_gram_is_symmetric_and_positive(kernel, points):
    K = kernel.gram(points[0])
    assert_close(K, K.mT)
    assert torch.linalg.eigvalsh(K).min() > -1e-10 * K.diagonal().max()


@everyone
def test_diagonal_is_that_of_the_gram(kernel, points):
    assert_close(kernel.diagonal(points[0]), kernel.gram(points[0]).diagonal())


@everyone
def test_supremum_bounds_the_diagonal_on_a_box(kernel, points):
    X = points[0]
    domain = (X.amin(dim=0), X.amax(dim=0))
    try:
        bound = kernel.supremum(domain)
    except NoSupremum:
        assert "Cosine" in repr(kernel)  # the user's class did not say
        return
    assert kernel.diagonal(X).max() <= float(bound) + 1e-12


@everyone
def test_expression_is_the_kernel(kernel):
    names = {**vars(torte.kernels), **vars(torte.features), "Cosine": Cosine}
    assert eval(repr(kernel), names) == kernel


@everyone
def test_json_pickle_and_hash_round_trip(kernel):
    assert Kernel.from_dict(json.loads(json.dumps(kernel.to_dict()))) == kernel
    assert pickle.loads(pickle.dumps(kernel)) == kernel
    assert hash(kernel) == hash(pickle.loads(pickle.dumps(kernel)))


@everyone
def test_prepared_kernel_is_finished(kernel, points, generator):
    once = kernel.prepare(points[0], None, generator)
    assert once.prepare(points[0], None, generator) == once


@pytest.mark.parametrize(
    ("a", "b", "c"), list(itertools.permutations([Gaussian(0.7), Linear(), 2.0 * Matern32(0.5)]))
)
def test_arithmetic_of_kernels_is_arithmetic_of_values(a, b, c, points):
    X = points[0]
    assert_close((a * b + c).gram(X), a.gram(X) * b.gram(X) + c.gram(X))
    assert_close((a + b * c).gram(X), a.gram(X) + b.gram(X) * c.gram(X))
    assert_close(((a + b) * c).gram(X), (a.gram(X) + b.gram(X)) * c.gram(X))
    assert_close((a + b + c).gram(X), a.gram(X) + b.gram(X) + c.gram(X))
    assert_close(((a + b) ** 3).gram(X), (a.gram(X) + b.gram(X)) ** 3)


def test_scalars_on_either_side(points):
    X = points[0]
    K = Gaussian(1.0).gram(X)
    assert_close((2 * Gaussian(1.0)).gram(X), 2 * K)
    assert_close((Gaussian(1.0) * 2).gram(X), 2 * K)
    assert_close((1.5 + Gaussian(1.0)).gram(X), 1.5 + K)
    assert_close((Gaussian(1.0) + 1.5).gram(X), 1.5 + K)
    assert sum([Gaussian(1.0), Linear()]) == Gaussian(1.0) + Linear()


def test_on_and_maps_see_what_they_should(points):
    X = points[0]
    assert_close(Gaussian(0.5).on(0, 2).gram(X), Gaussian(0.5).gram(X[:, [0, 2]]))
    assert_close(Gaussian(0.5).on([1]).gram(X), Gaussian(0.5).gram(X[:, [1]]))
    scaled = Standardize().prepare(X, None, torch.Generator()).transform(X)
    prepared = (Linear() @ Standardize()).prepare(X, None, torch.Generator())
    assert_close(prepared.gram(X), scaled @ scaled.mT)


def test_names_of_columns_are_found(points, generator):
    X = points[0]
    kernel = Gaussian(1.0).on("b").prepare(X, ["a", "b", "c"], generator)
    assert_close(kernel.gram(X), Gaussian(1.0).gram(X[:, [1]]))
    with pytest.raises(InvalidInput, match=r"names 'z', but X has 'a', 'b', 'c'"):
        Gaussian(1.0).on("z").prepare(X, ["a", "b", "c"], generator)
    with pytest.raises(InvalidInput, match=r"no names \(X is an array\)"):
        Gaussian(1.0).on("z").prepare(X, None, generator)
    with pytest.raises(InvalidInput, match="use positions to evaluate"):
        Gaussian(1.0).on("b").gram(X)
    with pytest.raises(InvalidInput, match="position 5, but X has 3 columns"):
        Gaussian(1.0).on(5).prepare(X, None, generator)


def test_length_scales_start_from_the_data(points, generator):
    X = points[0] * torch.tensor([1.0, 1e3, 1e-3], dtype=torch.float64)
    ard = Gaussian(ard=True).prepare(X, None, generator)
    assert len(ard.length_scale) == 3
    ratio = np.array(ard.length_scale) / X.std(dim=0, unbiased=False).numpy()
    np.testing.assert_allclose(ratio, ratio[0])
    one = Gaussian().prepare(X, None, generator).length_scale
    assert one == pytest.approx(float(torch.nn.functional.pdist(X).median()), rel=1e-6)
    assert Gaussian(2.0, ard=True).prepare(X, None, generator).length_scale == (2.0,) * 3
    with pytest.raises(InvalidInput, match="2 entries, but its input has 3 columns"):
        Gaussian((1.0, 2.0)).prepare(X, None, generator)


def test_suprema():
    box = (torch.tensor([-1.0, 0.0]), torch.tensor([0.5, 2.0]))
    assert Gaussian().supremum() == 1.0
    assert (2.0 * Gaussian() + 0.5).supremum() == 2.5
    assert (Gaussian() * Constant(3.0)).supremum() == 3.0
    assert ((Gaussian() + 1.0) ** 2).supremum() == 4.0
    assert float(Linear().supremum(box)) == 5.0
    assert float(Linear().on(0).supremum(box)) == 1.0
    assert float(Polynomial(2, gamma=1.0, coef0=1.0).supremum(box)) == 36.0
    shifted = Standardize(mean=(0.0, 1.0), scale=(2.0, 1.0))
    assert float((Linear() @ shifted).supremum(box)) == pytest.approx(1.25)
    for kernel in (Linear(), Polynomial(), Gaussian() + Linear(), Linear() * Gaussian()):
        with pytest.raises(NoSupremum, match=r"no finite supremum of k\(x, x\) on all inputs"):
            kernel.supremum()


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (
            lambda: Gaussian(-1.0),
            r"`length_scale` of Gaussian must be a positive number .* got -1.0",
        ),
        (lambda: Gaussian("a"), "`length_scale` of Gaussian must be .* got 'a'"),
        (lambda: Gaussian((1.0, float("nan"))), "`length_scale` of Gaussian"),
        (lambda: Gaussian(()), "`length_scale` of Gaussian"),
        (lambda: Categories(1.5), "`similarity` of Categories must be a number strictly between 0"),
        (lambda: Constant(0.0), "`value` of Constant must be a positive number"),
        (lambda: Gaussian([[1.0, 2.0]]), r"`length_scale` of Gaussian .* got \[\[1.0, 2.0\]\]"),
        (lambda: Gaussian(np.ones((2, 2))), "`length_scale` of Gaussian .* sequence .* got array"),
        (lambda: Gaussian(True), "`length_scale` of Gaussian .* a positive number .* got True"),
        (lambda: Gaussian([1.0, True]), r"`length_scale` of Gaussian .* got \[1.0, True\]"),
        (lambda: Gaussian("1"), "`length_scale` of Gaussian .* a positive number .* got '1'"),
        (lambda: RationalQuadratic(alpha=0), "`alpha` of RationalQuadratic"),
        (lambda: Polynomial(0), "`degree` of Polynomial must be a whole number"),
        (lambda: Polynomial(coef0=-1.0), "`coef0` of Polynomial must be zero or positive"),
        (lambda: Gaussian() ** 0.5, "`exponent` of a power of a kernel must be a whole number"),
        (lambda: Gaussian().on(), r"`columns` of .on\(\) must be positions"),
        (lambda: Gaussian().on(-1), r"`columns` of .on\(\) must be positions"),
        (
            lambda: Gaussian().fix("width"),
            r"`names` of .fix\(\) must be hyperparameters of Gaussian",
        ),
        (lambda: Kernel.from_dict({"type": "Nope"}), "'Nope', which is not known here"),
        (lambda: Kernel.from_dict({"type": "Linear", "a": 1}), "gives Linear unknown fields: a"),
    ],
)
def test_bad_hyperparameters_are_named(make, message):
    with pytest.raises(InvalidInput, match=message):
        make()


@pytest.mark.parametrize("kind", [list, np.asarray, torch.tensor])
def test_sequences_of_any_kind_become_tuples(kind):
    kernel = Gaussian(kind([0.5, 1.0, 2.0]))
    assert kernel == Gaussian(LENGTHS)
    assert hash(kernel) == hash(Gaussian(LENGTHS))
    assert eval(repr(kernel)) == kernel
    assert not any(leaf.array for leaf in kernel.leaves())  # arrays are learned as networks are
    assert Gaussian(kind(2.0) if kind is not list else np.float32(2.0)) == Gaussian(2.0)


def test_strangers_are_refused():
    with pytest.raises(TypeError):
        Gaussian() + "a"
    with pytest.raises(TypeError):
        Gaussian() @ Linear()
    with pytest.raises(TypeError):
        True * Gaussian()
