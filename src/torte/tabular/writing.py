"""A table written piece by piece: CSV, TSV, Parquet, Arrow, gzip, or standard output."""

from __future__ import annotations

import csv
import io
import sys
from contextlib import ExitStack, closing
from pathlib import Path
from types import TracebackType
from typing import TYPE_CHECKING, Any, Self

from torte._files import atomic
from torte.errors import InvalidInput
from torte.tabular.sources import FORMATS, format_of_name

if TYPE_CHECKING:
    import pyarrow as pa

__all__ = ["TableWriter"]


class _Text:
    """Records with quotes only in pieces that need them: Arrow quotes all text or none."""

    def __init__(self, sink: Any, names: list[str], delimiter: str):
        self._sink, self._delimiter = sink, delimiter
        header = io.StringIO()
        csv.writer(header, delimiter=delimiter, lineterminator="\n").writerow(names)
        sink.write(header.getvalue().encode())

    def write_table(self, piece: pa.Table) -> None:
        import pyarrow as pa

        try:
            self._sink.write(self._formatted(piece, "none"))
        except pa.ArrowInvalid:  # a cell holds a quote, a delimiter or the end of a line
            self._sink.write(self._formatted(piece, "needed"))

    def _formatted(self, piece: pa.Table, quoting: str) -> Any:
        import pyarrow as pa
        import pyarrow.csv

        options = pyarrow.csv.WriteOptions(
            include_header=False, delimiter=self._delimiter, quoting_style=quoting
        )
        buffer = pa.BufferOutputStream()
        pyarrow.csv.write_csv(piece, buffer, options)
        return buffer.getvalue()

    def close(self) -> None:
        """The sink is closed by who opened it."""


class TableWriter:
    """Writes pieces of one schema; the file appears when all are written, or not at all.

    "-" is standard output. The format is that of the name's ending, CSV where it says nothing.
    Used as a context manager.
    """

    def __init__(self, target: str | Path, format: str | None = None):
        self.target = str(target)
        promised, packed = format_of_name(self.target)
        if format is not None and format not in FORMATS:
            raise InvalidInput(f"`format` must be one of {', '.join(FORMATS)}, got {format!r}.")
        self.format, self._compressed = format or promised or "csv", packed
        self._stack = ExitStack()
        self._writer: Any = None
        self._stream: Any = None

    def __enter__(self) -> Self:
        if self.target != "-":
            path = self._stack.enter_context(atomic(self.target))
            self._stream = self._stack.enter_context(path.open("wb"))
        else:
            self._stream = sys.stdout.buffer
        return self

    def write(self, piece: pa.Table) -> None:
        """Append the rows of a table with the columns of the first one."""
        if self._writer is None:
            self._writer = self._open(piece.schema)
        self._writer.write_table(piece)

    def _open(self, schema: pa.Schema) -> Any:
        import pyarrow as pa
        import pyarrow.parquet

        sink: Any = pa.PythonFile(self._stream, mode="w")
        if self._compressed:
            sink = self._stack.enter_context(pa.CompressedOutputStream(sink, "gzip"))
        if self.format == "parquet":
            writer: Any = pyarrow.parquet.ParquetWriter(sink, schema)
        elif self.format == "arrow":
            writer = pa.ipc.new_file(sink, schema)
        else:
            writer = _Text(sink, schema.names, "\t" if self.format == "tsv" else ",")
        return self._stack.enter_context(closing(writer))

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self._stack.__exit__(kind, error, trace)
        if self.target == "-" and kind is None:
            self._stream.flush()
