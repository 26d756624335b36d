"""Kernels as nodes: each the formula of its class, with the anchors as constants."""

from __future__ import annotations

import functools
import math
from collections.abc import Callable
from typing import Any

import numpy as np
from torch import Tensor

from torte.kernels import (
    Categories,
    Composed,
    Constant,
    Fixed,
    Gaussian,
    Laplacian,
    Linear,
    Matern12,
    Matern32,
    Matern52,
    On,
    Periodic,
    Polynomial,
    Power,
    Product,
    RationalQuadratic,
    Stationary,
    Sum,
)
from torte.onnx.graph import Graph, compares, represents

__all__: list[str] = []


# -- of distances -------------------------------------------------------------------------


def divided(graph: Graph, X: str, by: Any) -> str:
    """Each column divided by its number, or by one for all."""
    numbers = np.broadcast_to(np.asarray(by, dtype=np.float64), graph.width(X))
    # A runtime would fuse a factor of one number into the next product, and round it to float32.
    if len(numbers) == 1:
        return graph.op("MatMul", X, 1.0 / numbers[:, None])
    return graph.op("Div", X, numbers)


@represents(Gaussian, Laplacian, Matern12, Matern32, Matern52, RationalQuadratic)
def scaled(graph: Graph, kernel: Stationary, X: str) -> str:
    return X if kernel.length_scale is None else divided(graph, X, kernel.length_scale)


@represents(Periodic)
def wound(graph: Graph, kernel: Periodic, X: str) -> str:
    angle = divided(graph, X, np.asarray(kernel.period, dtype=np.float64) / (2 * math.pi))
    circle = graph.op("Concat", graph.op("Cos", angle), graph.op("Sin", angle), axis=1)
    if kernel.length_scale is None:
        return circle
    scale = np.broadcast_to(np.asarray(kernel.length_scale, dtype=np.float64), graph.width(X))
    return graph.op("Div", circle, np.tile(scale, 2))


def squared_distances(graph: Graph, A: str, anchors: Tensor) -> str:
    """``|x|^2 + |a|^2 - 2 x . a``, both shifted to the anchors' mean: less is lost to rounding."""
    points = anchors.cpu().double()
    origin = points.mean(dim=0)
    around = points - origin
    X = graph.op("Sub", A, origin)
    inner = graph.op("MatMul", X, -2.0 * around.mT)
    norms = graph.op("Add", graph.row_sums(graph.op("Mul", X, X)), around.square().sum(dim=1))
    return graph.op("Max", graph.op("Add", inner, norms), 0.0)


def column_sums(graph: Graph, A: str, anchors: Tensor, of: Callable[[str], str]) -> str:
    """``sum_d of(x_d - a_d)``, column by column: n x N numbers at a time, and exact at zero."""
    parts = [
        of(graph.op("Sub", graph.columns(A, [c]), anchors[:, c])) for c in range(anchors.shape[1])
    ]
    return functools.reduce(lambda total, part: graph.op("Add", total, part), parts)


@compares(Gaussian, Periodic)
def gaussian(graph: Graph, kernel: Stationary, A: str, anchors: Tensor) -> str:
    return graph.op("Exp", graph.op("Mul", squared_distances(graph, A, anchors), -0.5))


@compares(Matern12)
def matern12(graph: Graph, kernel: Matern12, A: str, anchors: Tensor) -> str:
    # Here, and here only, the root of a rounded zero would tell.
    squares = column_sums(graph, A, anchors, lambda apart: graph.op("Mul", apart, apart))
    return graph.op("Exp", graph.op("Neg", graph.op("Sqrt", squares)))


@compares(Matern32, Matern52)
def matern(graph: Graph, kernel: Stationary, A: str, anchors: Tensor) -> str:
    order = 3.0 if type(kernel) is Matern32 else 5.0
    s = graph.op("Sqrt", graph.op("Mul", squared_distances(graph, A, anchors), order))
    factor = graph.op("Add", s, 1.0)
    if order == 5.0:
        factor = graph.op("Add", factor, graph.op("Mul", graph.op("Mul", s, s), 1 / 3))
    return graph.op("Mul", factor, graph.op("Exp", graph.op("Neg", s)))


@compares(RationalQuadratic)
def rational_quadratic(graph: Graph, kernel: RationalQuadratic, A: str, anchors: Tensor) -> str:
    alpha = float(kernel.alpha)
    base = graph.op("Mul", squared_distances(graph, A, anchors), 0.5 / alpha)
    return graph.op("Exp", graph.op("Mul", graph.op("Log", graph.op("Add", base, 1.0)), -alpha))


@compares(Laplacian)
def laplacian(graph: Graph, kernel: Laplacian, A: str, anchors: Tensor) -> str:
    apart = column_sums(graph, A, anchors, lambda difference: graph.op("Abs", difference))
    return graph.op("Exp", graph.op("Neg", apart))


# -- of inner products --------------------------------------------------------------------


@compares(Linear)
def linear(graph: Graph, kernel: Linear, A: str, anchors: Tensor) -> str:
    return graph.op("MatMul", A, anchors.mT)


@compares(Polynomial)
def polynomial(graph: Graph, kernel: Polynomial, A: str, anchors: Tensor) -> str:
    gamma = 1.0 / anchors.shape[1] if kernel.gamma is None else kernel.gamma
    inner = graph.op("MatMul", A, gamma * anchors.cpu().double().mT)
    return graph.op("Pow", graph.op("Add", inner, float(kernel.coef0)), float(kernel.degree))


# -- of categories ------------------------------------------------------------------------


@compares(Categories)
def categories(graph: Graph, kernel: Categories, A: str, anchors: Tensor) -> str:
    """``exp(-sum_d w_d [a_d != b_d])``: one product of unit vectors, and a row of zeros for a
    code that no anchor has."""
    codes = anchors.cpu().double().numpy()
    similarity = 0.5 if kernel.similarity is None else kernel.similarity
    weights = -np.log(np.broadcast_to(np.asarray(similarity, dtype=np.float64), codes.shape[1]))
    of_rows, of_anchors = [], []
    for d, weight in enumerate(weights):
        values, position = np.unique(codes[:, d], return_inverse=True)
        met = graph.op("Equal", graph.columns(A, [d]), values[None])
        of_rows.append(graph.op("Mul", graph.cast(met, graph.dtype), np.full(len(values), weight)))
        of_anchors.append(np.eye(len(values))[position])
    rows = graph.op("Concat", *of_rows, axis=1)
    agreed = graph.op("MatMul", rows, np.hstack(of_anchors).T)
    return graph.op("Exp", graph.op("Sub", agreed, weights.sum()))


# -- arithmetic and views -----------------------------------------------------------------


@compares(Constant)
def constant(graph: Graph, kernel: Constant, A: str, anchors: Tensor) -> str:
    n = graph.op("Gather", graph.op("Shape", A), np.array([0]))
    shape = graph.op("Concat", n, np.array([len(anchors)]), axis=0)
    return graph.op("Expand", float(kernel.value), shape)


@represents(Sum, Product)
def both(graph: Graph, kernel: Any, X: str) -> Any:
    return graph.represent(kernel.left, X), graph.represent(kernel.right, X)


@compares(Sum, Product)
def combined(graph: Graph, kernel: Any, A: Any, anchors: Any) -> str:
    left, right = (
        graph.compare(part, a, b)
        for part, a, b in zip((kernel.left, kernel.right), A, anchors, strict=True)
    )
    return graph.op("Add" if type(kernel) is Sum else "Mul", left, right)


@represents(Power)
def base(graph: Graph, kernel: Power, X: str) -> Any:
    return graph.represent(kernel.base, X)


@compares(Power)
def power(graph: Graph, kernel: Power, A: Any, anchors: Any) -> str:
    return graph.op("Pow", graph.compare(kernel.base, A, anchors), float(kernel.exponent))


@represents(On)
def some_columns(graph: Graph, kernel: On, X: str) -> Any:
    return graph.represent(kernel.kernel, graph.columns(X, kernel.positions))


@represents(Fixed)
def inside(graph: Graph, kernel: Fixed, X: str) -> Any:
    return graph.represent(kernel.kernel, X)


@represents(Composed)
def on_features(graph: Graph, kernel: Composed, X: str) -> Any:
    return graph.represent(kernel.kernel, graph.features(kernel.features, X))


@compares(On, Fixed, Composed)
def of_what_is_inside(graph: Graph, kernel: Any, A: Any, anchors: Any) -> str:
    return graph.compare(kernel.kernel, A, anchors)
