"""A table's rows: whole as a typed data frame, or in pieces of bounded size."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any

from torte.errors import InvalidInput
from torte.tabular.feeds import stopped_after
from torte.tabular.sources import TITLES, Source, open_source

if TYPE_CHECKING:
    import pandas as pd
    import pyarrow as pa

__all__ = ["as_frame", "batches", "read_table"]

# Cells that say "missing" in a column of numbers or dates; in a column of text they are levels.
MISSING = ("NA", "N/A", "NaN", "nan", "NULL", "null", "?", ".")
BLOCK = 2**20  # bytes of text in one piece; Arrow reads up to 32 of them ahead
PIECE = 2**15  # rows of one piece of Parquet


@contextmanager
def _explained(source: Source) -> Iterator[None]:
    """Arrow's complaints about a file as torte's own."""
    import pyarrow as pa

    try:
        yield
    except (pa.ArrowInvalid, OSError) as error:
        text = " ".join(str(error).split()).rstrip(".")
        if "invalid UTF8" in text:
            text = "it holds bytes that are not UTF-8; convert it first, for instance with iconv -f latin1 -t utf-8"
        raise InvalidInput(
            f"`{source.name}` cannot be read as {TITLES[source.format]}: {text[:300]}."
        ) from error


def _block(source: Source) -> int:
    """Bytes in which also a row of many columns finds place, a few times over."""
    return max(BLOCK, 64 * len(source.columns) + 16 * sum(map(len, source.columns)))


def _text_batches(
    source: Source, columns: Sequence[str] | None, missing: Collection[str]
) -> Iterator[pa.RecordBatch]:
    import pyarrow as pa
    import pyarrow.csv

    stream = source.stream
    if not isinstance(stream, pa.NativeFile):
        stream = pa.PythonFile(stream, mode="r")
    if source.compressed:
        stream = pa.CompressedInputStream(stream, "gzip")
    yield from pyarrow.csv.open_csv(
        stream,
        pyarrow.csv.ReadOptions(
            column_names=list(source.columns), skip_rows=1, block_size=_block(source)
        ),
        pyarrow.csv.ParseOptions(delimiter=source.delimiter, newlines_in_values=True),
        pyarrow.csv.ConvertOptions(
            column_types=dict.fromkeys(source.columns, pa.string()),
            null_values=["", *missing],
            strings_can_be_null=True,
            include_columns=None if columns is None else list(columns),
        ),
    )


def _arrow_batches(source: Source, columns: Sequence[str] | None) -> Iterator[pa.RecordBatch]:
    import pyarrow as pa
    import pyarrow.parquet

    stream: Any = pa.PythonFile(source.stream, mode="r")
    if source.compressed:
        stream = pa.BufferReader(pa.CompressedInputStream(stream, "gzip").read())
    wanted = None if columns is None else list(columns)
    if source.format == "parquet":
        file = pyarrow.parquet.ParquetFile(stream)
        _demand(wanted, file.schema_arrow.names, source)
        yield from file.iter_batches(batch_size=PIECE, columns=wanted)
        return
    mark = stream.read(6)
    stream.seek(0)
    if mark == b"ARROW1":
        reader = pa.ipc.open_file(stream)
        pieces: Iterator[pa.RecordBatch] = (
            reader.get_batch(i) for i in range(reader.num_record_batches)
        )
    else:
        reader = pa.ipc.open_stream(stream)
        pieces = iter(reader)
    _demand(wanted, reader.schema.names, source)
    for piece in pieces:
        for start in range(0, piece.num_rows, PIECE):
            part = piece.slice(start, PIECE)
            yield part if wanted is None else part.select(wanted)


def _demand(wanted: Sequence[str] | None, there: Sequence[str], source: Source) -> None:
    absent = [column for column in wanted or [] if column not in there]
    if absent:
        raise InvalidInput(
            f"`{source.name}` lacks the column{'s' * (len(absent) > 1)} {', '.join(map(repr, absent))}; "
            f"it has {', '.join(map(repr, there[:20]))}{', ...' * (len(there) > 20)}."
        )


def batches(
    source: Source, columns: Sequence[str] | None = None, missing: Collection[str] = ()
) -> Iterator[pa.RecordBatch]:
    """The rows in pieces, cells of text formats as they are written, an empty one as null.

    ``columns`` are the ones wanted, in this order; all where None. ``missing`` are further
    texts that count as empty.
    """
    if source.is_text:
        _demand(columns, source.columns, source)
    with _explained(source), stopped_after(source.stream):
        if source.is_text:
            yield from _text_batches(source, columns, missing)
        else:
            yield from _arrow_batches(source, columns)


def _narrowest(column: pa.ChunkedArray, measured: bool) -> pa.ChunkedArray:
    """Texts as whole numbers, numbers or dates where every cell is one or missing; else as they are.

    In a ``measured`` column the cells of `MISSING` are missing whatever the others are.
    """
    import pyarrow as pa
    import pyarrow.compute as pc

    trimmed = pc.utf8_trim_whitespace(column)
    typed = _cast(trimmed)
    if typed is not None:
        return typed
    named = pc.is_in(trimmed, pa.array(MISSING))
    known = pc.if_else(named, pa.scalar(None, pa.string()), trimmed)
    if measured or known.null_count < len(known):
        typed = _cast(known)
    return typed if typed is not None else known if measured else column


def _cast(texts: pa.ChunkedArray) -> pa.ChunkedArray | None:
    """Numbers or dates, where every text is one."""
    import pyarrow as pa

    for ladder in ((pa.float64(), pa.int64()), (pa.timestamp("us"),), (pa.timestamp("us", "UTC"),)):
        best = None
        for kind in ladder:
            try:
                best = texts.cast(kind)
            except pa.ArrowInvalid:
                break
        if best is not None:
            return best
    return None


def _plain(column: pa.ChunkedArray, name: str) -> pa.ChunkedArray:
    """A column of an Arrow type as one that data frames have a type of their own for."""
    import pyarrow as pa

    kind = column.type
    if pa.types.is_decimal(kind) or pa.types.is_null(kind) or pa.types.is_float16(kind):
        return column.cast(pa.float64())
    if pa.types.is_date(kind):
        return column.cast(pa.timestamp("us"))
    if pa.types.is_nested(kind) or pa.types.is_binary(kind) or pa.types.is_duration(kind):
        raise InvalidInput(
            f"column {name!r} holds values of type {kind}, of which a table for learning cannot be made; "
            f"leave it out with --drop {name}, or turn it into numbers or text."
        )
    return column


def as_frame(
    piece: Any, *, typed: bool, text: Collection[str] = (), measured: Collection[str] = ()
) -> pd.DataFrame:
    """A piece or a whole table as a data frame; ``typed`` where types must be found in texts.

    The columns named in ``text`` stay text whatever they look like; those in ``measured`` hold
    numbers or dates, so that a cell such as NA is missing even where a piece has no other.
    """
    import pyarrow as pa

    table = pa.Table.from_batches([piece]) if isinstance(piece, pa.RecordBatch) else piece
    plain = {
        name: column
        if name in text
        else (
            _narrowest(column, name in measured)
            if typed and column.type == pa.string()
            else _plain(column, name)
        )
        for name, column in zip(table.column_names, table.columns, strict=True)
    }
    return pa.table(plain).to_pandas()


def read_table(
    where: str | Path,
    *,
    format: str | None = None,
    delimiter: str | None = None,
    missing: Collection[str] = (),
    text: Collection[str] = (),
    measured: Collection[str] = (),
) -> pd.DataFrame:
    """A whole table as a data frame: numbers, dates and text told apart column by column.

    An empty cell is missing, and what ``missing`` names; so is NA, null or ? among numbers or
    dates, while in a column of text these are levels, as "None" is. The columns named in
    ``text`` stay as they are written; ``measured`` ones are numbers or dates.

    >>> import tempfile, pathlib
    >>> from torte.tabular import read_table
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     path = pathlib.Path(folder, "table.csv")
    ...     _ = path.write_text("size,color\\n1.5,None\\n,red\\n")
    ...     read_table(path).isna().to_numpy().tolist()
    [[False, False], [True, False]]
    """
    import pyarrow as pa

    with open_source(where, format, delimiter) as source:
        pieces = list(batches(source, missing=missing))
        if not sum(piece.num_rows for piece in pieces):
            raise InvalidInput(f"`{where}` holds column names, but no rows; give at least two.")
        return as_frame(
            pa.Table.from_batches(pieces), typed=source.is_text, text=text, measured=measured
        )
