"""The partitions of dask collections, and what is combined of them in a tree."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

import dask.array as da
import dask.dataframe as dd
import numpy as np

from torte.errors import InvalidInput

__all__ = ["Part", "by_name", "partitions", "tree", "whole_rows"]

ARITY = 4  # sums that one task adds up: what a worker holds of them at a time


class Part(NamedTuple):
    """One partition, not computed yet: where it is, its rows and its labels."""

    where: str
    X: Any
    y: Any


def whole_rows(X: Any) -> Any:
    return X if X.numblocks[1] == 1 else X.rechunk({1: -1})


def partitions(X: Any, y: Any) -> tuple[list[Part], Sequence[str] | None]:
    """The partitions of both, and the names of the columns where there are any."""
    names = None
    if isinstance(X, dd.DataFrame):
        if isinstance(y, str) and y in X.columns:
            X, y = X.drop(columns=y), X[y]
        names = [str(column) for column in X.columns]
        rows = X.to_delayed()
    elif isinstance(X, da.Array) and X.ndim == 2:
        X = whole_rows(X)
        if isinstance(y, da.Array) and not np.isnan(X.shape[0]) and y.shape[:1] == X.shape[:1]:
            y = y.rechunk((X.chunks[0],))
        rows = X.to_delayed().ravel().tolist()
    else:
        raise InvalidInput(
            f"X must be a dask dataframe, or a dask array of rows and columns, got {type(X).__name__}; for a table in memory "
            f"use MCEClassifier."
        )
    if not isinstance(y, (da.Array, dd.Series)) or y.ndim != 1:
        raise InvalidInput(
            f"y must be a dask array or series with one label a row, or the name of a column of X, got {y if isinstance(y, str) else type(y).__name__!r}."
        )
    labels = np.ravel(y.to_delayed()).tolist()
    if len(rows) != len(labels):
        raise InvalidInput(
            f"X and y must have the same partitions, got {len(rows)} and {len(labels)}; rechunk one like the other."
        )
    pairs = zip(rows, labels, strict=True)
    return [Part(f"partition {i}", *pair) for i, pair in enumerate(pairs)], names


def by_name(X: Any, names: Any) -> Any:
    """The columns that the model was fitted with, in their order, whatever others there are."""
    if names is None:
        return X
    there = {str(column): column for column in X.columns}
    missing = [name for name in names if name not in there]
    if missing:
        raise InvalidInput(
            f"X must have the column {missing[0]!r}, which the model was fitted with; the columns are "
            f"{', '.join(map(repr, there))}."
        )
    return X[[there[name] for name in names]]


def tree(parts: list[Any], combine: Callable[[list[Any]], Any]) -> Any:
    """Combine parts on the workers, `ARITY` at a time, until one is left; that one comes here."""
    while len(parts) > 1:
        parts = [combine(parts[i : i + ARITY]) for i in range(0, len(parts), ARITY)]
    return combine(parts).compute()
