"""Rows that are no vectors, and one list of kernels on them; every law runs over all of it."""

from __future__ import annotations

import networkx as nx
import numpy as np
import pandas as pd

from torte.kernels import (
    Gaussian,
    GaussianOf,
    Laplacian,
    Linear,
    MeanEmbedding,
    Precomputed,
    Spectrum,
    Subsequence,
    WeisfeilerLehman,
)
from torte.objects import Records

_rng = np.random.default_rng(5)
N = 23
LABELS = np.arange(N) % 3


def _word(label: int) -> str:
    return "".join(_rng.choice(list(["abc", "bcd", "cde"][label]), size=_rng.integers(3, 9)))


def _graph(label: int) -> nx.Graph:
    size = int(_rng.integers(4, 9))
    graph = [nx.path_graph, nx.cycle_graph, nx.star_graph][label](size)
    nx.set_node_attributes(graph, {v: "xyz"[v % (label + 1)] for v in graph}, "kind")
    nx.set_edge_attributes(graph, {e: sum(e) % 2 for e in graph.edges}, "bond")
    return graph


def _psd() -> np.ndarray:
    Z = _rng.normal(size=(N, 5)) + LABELS[:, None]
    return Z @ Z.T


STRINGS = [_word(label) for label in LABELS]
SENTENCES = [list(map(int, _rng.integers(label, label + 4, size=6))) for label in LABELS]
BAGS = [_rng.normal(label, 1.0, size=(_rng.integers(1, 6), 2)) for label in LABELS]
GRAPHS = [_graph(label) for label in LABELS]
MATRIX = _psd()
MATRICES = np.stack([MATRIX, _psd(), np.eye(N)], axis=2)
FRAME = pd.DataFrame({"age": _rng.normal(LABELS), "fare": _rng.normal(size=N), "name": STRINGS})
RECORDS = Records({"age": FRAME["age"], "name": STRINGS}, {"likeness": MATRIX, "both": np.eye(N)})

KERNELS = [
    (Spectrum(), STRINGS),
    (Spectrum((2, 3), weights=(0.3, 2.0), ends=True), STRINGS),
    (Spectrum(2), SENTENCES),
    (Subsequence(2, decay=0.4), STRINGS),
    (Subsequence(3, decay=0.7), SENTENCES),
    (2.0 * Spectrum(2) + Subsequence() * Spectrum(1) + 0.5, STRINGS),
    (GaussianOf(Spectrum(3), length_scale=0.8), STRINGS),
    (GaussianOf(Subsequence(2), length_scale=0.8), STRINGS),
    (MeanEmbedding(Gaussian(0.9)), BAGS),
    (MeanEmbedding(Laplacian((0.9, 1.4))), BAGS),
    (GaussianOf(MeanEmbedding(Gaussian(1.1)), length_scale=0.5), BAGS),
    (WeisfeilerLehman(2), GRAPHS),
    (WeisfeilerLehman(2, weights=(1.0, 0.5, 0.2), label="kind", edge_label="bond"), GRAPHS),
    (Precomputed(), MATRIX),
    (Precomputed(weights=(0.3, 1.0, 0.1)), MATRICES),
    (0.7 * Precomputed() + 0.1, MATRIX),
    (Gaussian(1.2).on("age", "fare") * Spectrum(2).on("name"), FRAME),
    (Linear().on("age") + Gaussian(0.5).on("fare") + Subsequence().on("name"), FRAME),
    (Precomputed().on("likeness") * Gaussian(1.0).on("age") + Spectrum().on("name"), RECORDS),
    (Precomputed().on("likeness") + 0.5 * Precomputed().on("both"), RECORDS),
]
