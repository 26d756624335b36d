"""Slow twins of everything fast, written for reading: loops, inverses, definitions."""

from __future__ import annotations

import itertools
import math
from collections import Counter

import numpy as np


def gaussian(x, y, length):
    return math.exp(-sum(((a - b) / s) ** 2 for a, b, s in zip(x, y, length, strict=True)) / 2)


def distance(x, y, length):
    return math.sqrt(sum(((a - b) / s) ** 2 for a, b, s in zip(x, y, length, strict=True)))


def matern12(x, y, length):
    return math.exp(-distance(x, y, length))


def matern32(x, y, length):
    s = math.sqrt(3) * distance(x, y, length)
    return (1 + s) * math.exp(-s)


def matern52(x, y, length):
    s = math.sqrt(5) * distance(x, y, length)
    return (1 + s + s * s / 3) * math.exp(-s)


def laplacian(x, y, length):
    return math.exp(-sum(abs(a - b) / s for a, b, s in zip(x, y, length, strict=True)))


def rational_quadratic(x, y, length, alpha):
    return (1 + distance(x, y, length) ** 2 / (2 * alpha)) ** -alpha


def periodic(x, y, length, period):
    total = sum(
        math.sin(math.pi * (a - b) / period) ** 2 / s**2
        for a, b, s in zip(x, y, length, strict=True)
    )
    return math.exp(-2 * total)


def categories(x, y, similarity):
    return math.prod(s if a != b else 1.0 for a, b, s in zip(x, y, similarity, strict=True))


def linear(x, y):
    return sum(a * b for a, b in zip(x, y, strict=True))


def gram(k, X, Y):
    return np.array([[k(x, y) for y in Y] for x in X])


def embedding(K, Y, regularization):
    """The paper's solve, with an inverse: V, fitted P, trace(V' K V)."""
    n = len(K)
    V = np.linalg.inv(K + n * regularization * np.eye(n)) @ Y
    return V, K @ V, np.trace(V.T @ K @ V)


def leave_one_out(K, Y, regularization):
    """Every row predicted by the embedding of all others, at the same n lambda."""
    n = len(K)
    P = np.zeros_like(Y)
    for i in range(n):
        rest = np.arange(n) != i
        A = K[np.ix_(rest, rest)] + n * regularization * np.eye(n - 1)
        P[i] = K[i, rest] @ np.linalg.solve(A, Y[rest])
    return P


def clip_normalize(P, epsilon):
    clipped = np.where(epsilon <= P, P, epsilon**2 / (2 * epsilon - np.minimum(P, epsilon)))
    return clipped / clipped.sum(axis=1, keepdims=True)


def training_objective(K, Y, regularization, tau, epsilon, supremum):
    """Equation 8, term by term."""
    _, P, trace = embedding(K, Y, regularization)
    own = (P * Y).sum(axis=1)
    risk = -np.log(np.clip(own, epsilon, 1)).mean()
    complexity = math.sqrt(supremum * trace)
    return risk, complexity, risk + tau * complexity


def central_differences(function, at, step=1e-5):
    """Fourth-order central differences of a function of a vector."""
    gradient = np.zeros_like(at)
    for i in range(len(at)):
        move = np.zeros_like(at)
        move[i] = step
        near = function(at + move) - function(at - move)
        far = function(at + 2 * move) - function(at - 2 * move)
        gradient[i] = (8 * near - far) / (12 * step)
    return gradient


def _cosine(p, q):
    dot = sum(value * q.get(piece, 0.0) for piece, value in p.items())
    return (
        dot / math.sqrt(sum(v * v for v in p.values()) * sum(v * v for v in q.values()))
        if p and q
        else 0.0
    )


def spectrum(x, y, lengths, weights):
    """Weighted cosines of substring counts, normalized by the weights of lengths that fit."""

    def counts(s, length):
        return Counter(s[i : i + length] for i in range(len(s) - length + 1))

    total = sum(
        w * _cosine(counts(x, n), counts(y, n)) for n, w in zip(lengths, weights, strict=True)
    )
    own = [sum(w for n, w in zip(lengths, weights, strict=True) if len(s) >= n) for s in (x, y)]
    return total / math.sqrt(own[0] * own[1]) if own[0] and own[1] else 0.0


def subsequence(x, y, length, decay):
    """Every choice of places, one after another."""

    def features(s):
        found = {}
        for places in itertools.combinations(range(len(s)), length):
            u = tuple(s[i] for i in places)
            found[u] = found.get(u, 0.0) + decay ** (places[-1] - places[0] + 1)
        return found

    return _cosine(features(x), features(y))


def weisfeiler_lehman(G, H, weights, label=None, edge_label=None):
    """Nested tuples instead of digests."""

    def counts(graph):
        kinds = {v: graph.nodes[v][label] if label else graph.degree(v) for v in graph}
        for _ in weights:
            yield Counter(kinds.values())
            kinds = {
                v: (
                    kinds[v],
                    tuple(
                        sorted((str(graph.edges[v, u].get(edge_label)), kinds[u]) for u in graph[v])
                    ),
                )
                for v in graph
            }

    both = zip(weights, counts(G), counts(H), strict=True)
    return sum(w * _cosine(p, q) for w, p, q in both) / sum(weights)
