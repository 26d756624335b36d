"""Rows of Parquet files and Arrow datasets, read row group by row group."""

from __future__ import annotations

import os
from collections.abc import Iterator, Sequence
from functools import cached_property
from importlib import import_module
from typing import Any

import numpy as np

from torte.errors import InvalidInput
from torte.streams.rows import CHUNK_ROWS, SAMPLE_SIZE, Chunk, Rows, check_count, located

__all__ = ["ArrowRows", "pyarrow_module"]

MOST_LEVELS = 1000  # of one categorical column: each is a column of the matrix


def pyarrow_module(name: str) -> Any:
    """A module of pyarrow, imported when it is needed first."""
    try:
        return import_module(name)
    except ImportError as error:
        raise ImportError(
            "Parquet files and Arrow datasets need pyarrow: pip install 'torte[frames]'"
        ) from error


class ArrowRows(Rows):
    """Rows of a Parquet file, a folder of such, or any ``pyarrow.dataset.Dataset``.

    Parameters
    ----------
    source : path, list of paths or pyarrow.dataset.Dataset
        A file, a folder (with hive partitions, too) or files of Parquet; other formats come as
        a dataset, ``pyarrow.dataset.dataset("rows.csv", format="csv")``.
    target : str or None
        The column of labels; not needed to predict.
    columns : sequence of str or None
        The columns to learn from; None is all but the target.
    categorical : sequence of str
        Which of them hold categories: a category becomes one indicator column ``color=red`` for
        each of its values. A value that was not there in `fit` has zeros in all of them.
    chunk_rows, sample_size : int
        Rows in memory at a time; rows that hyperparameters are learned on.

    Files are read in the order of their names, row groups in theirs. A model remembers the
    names of its columns, so to predict ``ArrowRows(source)`` will do.

    >>> import pyarrow as pa, pyarrow.dataset
    >>> from torte.streams import ArrowRows
    >>> table = pa.table({"age": [1, 2], "color": ["red", "blue"], "class": ["a", "b"]})
    >>> dataset = pyarrow.dataset.dataset(table)
    >>> rows = ArrowRows(dataset, target="class", categorical=["color"])
    >>> rows.features()
    ('age', 'color=blue', 'color=red')
    >>> next(rows.chunks()).X
    array([[1., 0., 1.],
           [2., 1., 0.]])
    """

    def __init__(
        self,
        source: Any,
        *,
        target: str | None = None,
        columns: Sequence[str] | None = None,
        categorical: Sequence[str] = (),
        chunk_rows: int = CHUNK_ROWS,
        sample_size: int = SAMPLE_SIZE,
    ):
        self.dataset = _opened(source)
        self.target, self.categorical = target, tuple(categorical)
        self.chunk_rows = check_count("chunk_rows", chunk_rows)
        self.sample_size = check_count("sample_size", sample_size)
        names = self.dataset.schema.names
        self.columns = (
            tuple(columns) if columns is not None else tuple(n for n in names if n != target)
        )
        self._demand("target", [] if target is None else [target], names)
        self._demand("columns", self.columns, names)
        self._demand("categorical", self.categorical, self.columns)

    @staticmethod
    def _demand(argument: str, wanted: Sequence[str], there: Sequence[str]) -> None:
        for name in wanted:
            if name not in there:
                raise InvalidInput(
                    f"`{argument}` names the column {name!r}, but the columns are {', '.join(map(repr, there))}."
                )

    def features(self) -> tuple[str, ...]:
        names: list[str] = []
        for column in self.columns:
            levels = self._levels.get(column)
            names += [column] if levels is None else [f"{column}={level}" for level in levels]
        return tuple(names)

    @cached_property
    def _levels(self) -> dict[str, list[str]]:
        """The values of every categorical column, sorted, from a reading of these columns alone."""
        found: dict[str, set[str]] = {column: set() for column in self.categorical}
        for where, batch in self._batches(self.categorical) if found else ():
            for column, levels in found.items():
                levels.update(_text(where, column, batch[column]).unique().to_pylist())
                if len(levels) > MOST_LEVELS:
                    raise InvalidInput(
                        f"`categorical` names the column {column!r}, which has more than {MOST_LEVELS} values; group "
                        f"the rare ones, or leave it out of `columns`."
                    )
        return {column: sorted(levels) for column, levels in found.items()}

    def length(self) -> int | None:
        ds = pyarrow_module("pyarrow.dataset")
        files = isinstance(self.dataset, ds.FileSystemDataset)
        # Parquet says it beside the rows; of other files it would be a reading of its own.
        known = not files or isinstance(self.dataset.format, ds.ParquetFileFormat)
        return self.dataset.count_rows() if known else None

    def unlabeled(self) -> str | None:
        if self.target is not None:
            return None
        return (
            f"`target` of ArrowRows must name the column of labels to learn from, one of "
            f"{', '.join(map(repr, self.dataset.schema.names))}."
        )

    def labels(self) -> Iterator[Chunk]:
        if self.target is None:
            raise InvalidInput(self.unlabeled())
        for where, batch in self._batches([self.target]):
            yield Chunk(where, None, _labels(where, self.target, batch[self.target]))

    def chunks(self, features: Sequence[str] | None = None) -> Iterator[Chunk]:
        wanted = [
            self._origin(name) for name in (self.features() if features is None else features)
        ]
        read = dict.fromkeys(column for column, _ in wanted)
        if self.target is not None:
            read[self.target] = None
        for where, batch in self._batches(list(read)):
            X = np.empty((batch.num_rows, len(wanted)))
            texts = {c: _text(where, c, batch[c]) for c, level in wanted if level is not None}
            numbers = {c: _numbers(where, c, batch[c]) for c, level in wanted if level is None}
            codes = {c: text.dictionary_encode() for c, text in texts.items()}
            for position, (column, level) in enumerate(wanted):
                X[:, position] = numbers[column] if level is None else _is(codes[column], level)
            y = None if self.target is None else _labels(where, self.target, batch[self.target])
            yield Chunk(where, X, y)

    def _origin(self, feature: str) -> tuple[str, str | None]:
        """The column of a feature, and the category that it indicates if it does."""
        there = self.dataset.schema.names
        if feature in there and feature not in self.categorical:
            return feature, None
        column, _, level = feature.partition("=")
        while level and column not in there:  # either part may hold the sign itself
            more, _, level = level.partition("=")
            column = f"{column}={more}"
        if column not in there:
            raise InvalidInput(
                f"X must have the column {feature!r}, which the model was fitted with; the columns are "
                f"{', '.join(map(repr, there))}."
            )
        return column, level

    def _batches(self, columns: Sequence[str]) -> Iterator[tuple[str, Any]]:
        """Record batches of at most ``chunk_rows`` rows, and where each is from."""
        for where, piece in _pieces(self.dataset):
            first = 0
            scan = piece.to_batches(
                schema=self.dataset.schema,
                columns=list(columns),
                batch_size=self.chunk_rows,
                batch_readahead=1,
                fragment_readahead=1,
            )
            for batch in scan:
                yield f"{where}, from its row {first} on", batch
                first += batch.num_rows


def _opened(source: Any) -> Any:
    ds, pa = pyarrow_module("pyarrow.dataset"), pyarrow_module("pyarrow")
    if isinstance(source, ds.Dataset):
        return source
    paths = source if isinstance(source, (list, tuple)) else [source]
    if not paths or not all(isinstance(path, (str, os.PathLike)) for path in paths):
        raise InvalidInput(
            f"`source` of ArrowRows must be a path, a list of paths or a pyarrow.dataset.Dataset, got {source!r}."
        )
    paths = [os.fspath(path) for path in paths]
    for path in paths:
        if not os.path.exists(path):
            raise InvalidInput(f"`source` of ArrowRows: there is no file or folder {path!r}.")
    try:
        found = ds.dataset(
            paths if len(paths) > 1 else paths[0], format="parquet", partitioning="hive"
        )
    except pa.ArrowInvalid as error:
        raise InvalidInput(
            f"`source` of ArrowRows must be Parquet, which {source!r} is not ({error}); open other formats with "
            f"pyarrow.dataset.dataset(path, format=...)."
        ) from error
    if not found.schema.names:
        raise InvalidInput(f"`source` of ArrowRows: {source!r} holds no Parquet file with columns.")
    return found


def _pieces(dataset: Any) -> Iterator[tuple[str, Any]]:
    """What can be read by itself, in an order that is the same each time, and its name."""
    ds = pyarrow_module("pyarrow.dataset")
    fragments = list(dataset.get_fragments())
    if isinstance(dataset, ds.FileSystemDataset):
        fragments.sort(key=lambda fragment: fragment.path)
    for number, fragment in enumerate(fragments):
        if isinstance(fragment, ds.ParquetFileFragment):
            for group in fragment.split_by_row_group():
                yield f"{fragment.path}, row group {group.row_groups[0].id}", group
        elif isinstance(fragment, ds.FileFragment):
            yield fragment.path, fragment
        else:
            yield f"fragment {number}", fragment


def _decoded(column: Any) -> Any:
    pa = pyarrow_module("pyarrow")
    return column.dictionary_decode() if pa.types.is_dictionary(column.type) else column


def _numbers(where: str, name: str, column: Any) -> np.ndarray:
    """A column as float64, missing cells as NaN."""
    pa = pyarrow_module("pyarrow")
    column, types = _decoded(column), pa.types
    if not any(
        is_kind(column.type)
        for is_kind in (types.is_integer, types.is_floating, types.is_boolean, types.is_decimal)
    ):
        raise InvalidInput(
            f"{where}: the column {name!r} must hold numbers, got {column.type}; name it in `categorical`, or "
            f"leave it out of `columns`."
        )
    return column.cast(pa.float64(), safe=False).to_numpy(zero_copy_only=False)


def _text(where: str, name: str, column: Any) -> Any:
    """A column of categories as strings; none may be missing."""
    pa = pyarrow_module("pyarrow")
    if column.null_count:
        with located(where):
            raise InvalidInput(
                f"the categorical column {name!r} must hold a value in every row, got {column.null_count} missing; "
                f"give them a category of their own, or drop these rows."
            )
    return _decoded(column).cast(pa.string())


def _is(codes: Any, level: str) -> np.ndarray:
    """Where a column of strings, encoded, holds one value."""
    there = codes.dictionary.to_pylist()
    wanted = there.index(level) if level in there else -1
    return codes.indices.to_numpy(zero_copy_only=False) == wanted


def _labels(where: str, name: str, column: Any) -> np.ndarray:
    if column.null_count:
        with located(where):
            raise InvalidInput(
                f"the target {name!r} must hold a label in every row, got {column.null_count} missing; drop the rows "
                f"without a label."
            )
    return _decoded(column).to_numpy(zero_copy_only=False)
