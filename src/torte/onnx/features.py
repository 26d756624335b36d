"""Feature maps as nodes."""

from __future__ import annotations

import math

import numpy as np
import torch

from torte.features import Fourier, Network, Nystroem, Polynomials, Standardize
from torte.features.fourier import expanded
from torte.features.polynomials import monomials
from torte.onnx.graph import Graph, maps

__all__: list[str] = []


@maps(Standardize)
def standardize(graph: Graph, features: Standardize, X: str) -> str:
    if features.mean is None or features.scale is None:
        return X
    return graph.op("Div", graph.op("Sub", X, np.array(features.mean)), np.array(features.scale))


@maps(Fourier)
def fourier(graph: Graph, features: Fourier, X: str) -> str:
    parts = []
    settled = features.settle(graph.like)
    for term, omega in zip(expanded(features.kernel), settled, strict=True):
        variance = math.prod(float(constant.value) for constant in term.constants)
        if not term.factors:
            ones = graph.op("Add", graph.op("Mul", graph.columns(X, [0]), 0.0), variance**0.5)
            parts.append(ones)
            continue
        phases = [
            graph.op("MatMul", graph.represent(factor, X), w.mT)
            for factor, w in zip(term.factors, omega, strict=True)
        ]
        phase = phases[0] if len(phases) == 1 else graph.op("Sum", *phases)
        scale = math.sqrt(variance / len(omega[0]))
        parts += [graph.op("Mul", graph.op(wave, phase), scale) for wave in ("Cos", "Sin")]
    return graph.op("Concat", *parts, axis=1)


@maps(Nystroem)
def nystroem(graph: Graph, features: Nystroem, X: str) -> str:
    landmarks = features.settle(graph.like)
    eye = torch.eye(len(landmarks.factor), dtype=torch.float64)
    whitening = torch.linalg.solve_triangular(landmarks.factor.cpu().double(), eye, upper=False)
    represented = graph.represent(features.kernel, X)
    compared = graph.compare(features.kernel, represented, landmarks.anchors)
    return graph.op("MatMul", compared, whitening.mT)


@maps(Polynomials)
def polynomials(graph: Graph, features: Polynomials, X: str) -> str:
    # Every monomial is a product of `degree` columns of X with a column of ones beside it.
    d, degree = graph.width(X), features.degree
    gamma = 1.0 / d if features.gamma is None else float(features.gamma)
    indices, weights = [], []
    for columns, ways in monomials(d, degree):
        rest = degree - len(columns)
        if rest and features.coef0 == 0:
            continue
        indices.append([*columns, *[d] * rest])
        weights.append(math.sqrt(ways * gamma ** len(columns) * features.coef0**rest))
    ones = graph.op("Add", graph.op("Mul", graph.columns(X, [0]), 0.0), 1.0)
    Z, wide = graph.constant(np.array(weights)), graph.op("Concat", X, ones, axis=1)
    for positions in np.array(indices).T:
        Z = graph.op("Mul", graph.columns(wide, positions), Z)
    return Z


@maps(Network)
def network(graph: Graph, features: Network, X: str) -> str:
    center, scale, layers = features.settle(graph.like)
    Z = graph.op("Div", graph.op("Sub", X, center), scale)
    for weight, bias in layers:
        Z = ACTIVATIONS[features.activation](graph, graph.op("Gemm", Z, weight, bias))
    return Z


def gelu(graph: Graph, Z: str) -> str:
    """``z/2 (1 + erf(z / sqrt(2)))``."""
    # Runtimes have the error function in float32 only.
    single = graph.cast(graph.op("Mul", Z, 0.5**0.5), np.float32)
    tail = graph.op("Add", graph.cast(graph.op("Erf", single), graph.dtype), 1.0)
    return graph.op("Mul", graph.op("Mul", Z, 0.5), tail)


ACTIVATIONS = {
    "relu": lambda graph, Z: graph.op("Relu", Z),
    "tanh": lambda graph, Z: graph.op("Tanh", Z),
    "silu": lambda graph, Z: graph.op("Mul", Z, graph.op("Sigmoid", Z)),
    "gelu": gelu,
}
