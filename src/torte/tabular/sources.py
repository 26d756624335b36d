"""What a table's file is: its format by name and by first bytes, compression, delimiter, columns."""

from __future__ import annotations

import csv
import io
import os
import shutil
import sys
import tempfile
import zlib
from collections import Counter
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from torte.errors import InvalidInput
from torte.tabular.feeds import Feed, first_bytes

__all__ = ["FORMATS", "Source", "format_of_name", "open_source"]

FORMATS = ("csv", "tsv", "parquet", "arrow")
SUFFIXES = {
    ".csv": "csv",
    ".tsv": "tsv",
    ".tab": "tsv",
    ".parquet": "parquet",
    ".pq": "parquet",
    ".arrow": "arrow",
    ".feather": "arrow",
    ".ipc": "arrow",
}
TITLES = {"csv": "CSV", "tsv": "TSV", "parquet": "Parquet", "arrow": "Arrow", "gzip": "gzip"}
# The first bytes of a file; an Arrow stream begins with the mark of its first message.
MAGIC = {
    b"\x1f\x8b": "gzip",
    b"PAR1": "parquet",
    b"ARROW1": "arrow",
    b"\xff\xff\xff\xff": "arrow",
}
FOREIGN = {
    b"PK\x03\x04": "a zip archive or an Excel workbook",
    b"BZh": "a bzip2 archive",
    b"\xfd7zXZ": "an xz archive",
    b"\x28\xb5\x2f\xfd": "a zstandard archive",
    b"\x89HDF": "an HDF5 file",
    b"SQLite": "an SQLite database",
    b"FEA1": "a Feather file of version 1",
    b"\xff\xfe": "text in UTF-16",
    b"\xfe\xff": "text in UTF-16",
    b"%PDF": "a PDF document",
    b"<!DOCTYPE": "a web page",
    b"<html": "a web page",
}
HEAD = 2**20  # bytes that are looked at before reading begins
DELIMITERS = ",;\t|"
SNIFFED_RECORDS = 50


@dataclass(frozen=True)
class Source:
    """An opened table: its bytes from the start, and what is known before reading them."""

    name: str
    stream: Any
    format: str
    compressed: bool
    delimiter: str
    columns: tuple[str, ...]
    size: int | None  # in bytes, of the file as it lies there

    @property
    def is_text(self) -> bool:
        """Whether cells are characters, without types of their own."""
        return self.format in ("csv", "tsv")

    @property
    def share_read(self) -> float | None:
        """How much of the file has been read, from 0 to 1; None where its size is unknown."""
        return self.stream.tell() / self.size if self.size else None


def format_of_name(name: str) -> tuple[str | None, bool]:
    """The format that a name promises, None for no promise, and whether it promises gzip.

    >>> format_of_name("a.csv.gz"), format_of_name("b.feather"), format_of_name("c")
    (('csv', True), ('arrow', False), (None, False))
    """
    path = Path(name)
    compressed = path.suffix.lower() == ".gz"
    if compressed:
        path = path.with_suffix("")
    return SUFFIXES.get(path.suffix.lower()), compressed


def _unpacked(head: bytes, name: str) -> bytes:
    try:
        return zlib.decompressobj(wbits=31).decompress(head, HEAD)
    except zlib.error as error:
        raise InvalidInput(
            f"`{name}` begins like a gzip file, but cannot be unpacked ({error}); it is damaged."
        ) from error


def _found(head: bytes) -> str | None:
    return next((kind for magic, kind in MAGIC.items() if head.startswith(magic)), None)


def _settle_format(name: str, head: bytes, promised: str | None, packed: bool) -> tuple[str, bool]:
    """The format and the compression that the bytes have, which must be those promised."""
    for magic, what in FOREIGN.items():
        if head.lstrip(b" \r\n").startswith(magic):
            raise InvalidInput(
                f"`{name}` is {what}, which is not read here; give a CSV, TSV, Parquet or Arrow file."
            )
    found = _found(head)
    if packed != (found == "gzip") and (packed or promised is not None) and name != "-":
        state = "is not" if packed else "is"
        raise InvalidInput(
            f"`{name}` {state} compressed with gzip, which its name denies; name it "
            f"{'without' if packed else 'with'} .gz at the end."
        )
    compressed = found == "gzip"
    content = _unpacked(head, name) if compressed else head
    inner = _found(content)
    expected = promised if promised in ("parquet", "arrow") else None
    if promised is not None and inner != expected:
        actual = TITLES[inner] if inner else "text"
        raise InvalidInput(
            f"`{name}` should be {TITLES[promised]} by its name or --format, but its first bytes are those of "
            f"{actual}; rename it, or say what it is with --format."
        )
    if b"\x00" in content[:HEAD] and inner is None:
        raise InvalidInput(
            f"`{name}` holds bytes that are not text, and it is neither Parquet nor Arrow; give one of these, or CSV."
        )
    return inner or promised or "csv", compressed


def _text(head: bytes, name: str) -> str:
    try:
        return head.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        if error.end >= len(head) - 3:  # a character cut by the end of the head
            return head[: error.start].decode("utf-8-sig")
        raise InvalidInput(
            f"`{name}` is not text in UTF-8 (byte {error.start}); convert it first, for instance with "
            f"iconv -f latin1 -t utf-8."
        ) from error


def sniff_delimiter(text: str) -> str:
    """The delimiter that cuts all records into the same number of cells, and into the most.

    >>> sniff_delimiter("a;b;c\\n1,5;2,0;x\\n")
    ';'
    """
    lines = text.splitlines(keepends=True)[:SNIFFED_RECORDS]
    counts: Counter[str] = Counter()
    for candidate in DELIMITERS:
        widths = [len(record) for record in csv.reader(lines, delimiter=candidate) if record]
        if widths:
            even = len(set(widths)) == 1
            counts[candidate] = widths[0] if even or max(counts.values(), default=1) == 1 else 0
    best, width = counts.most_common(1)[0] if counts else (",", 1)
    return best if width > 1 else ","


def _header(text: str, delimiter: str, name: str) -> tuple[str, ...]:
    try:
        names = next(csv.reader(io.StringIO(text, newline=""), delimiter=delimiter), [])
    except csv.Error as error:
        raise InvalidInput(
            f"`{name}` does not begin with a line of column names: {error}."
        ) from error
    return tuple(part if part else f"Unnamed: {i}" for i, part in enumerate(names))


def _check_columns(columns: tuple[str, ...], name: str) -> None:
    twice = [column for column, times in Counter(columns).items() if times > 1]
    if twice:
        raise InvalidInput(f"`{name}` has more than one column named {twice[0]!r}; rename them.")


@contextmanager
def open_source(
    where: str | Path, format: str | None = None, delimiter: str | None = None
) -> Iterator[Source]:
    """Open a table, "-" being standard input, and say what it is before it is read.

    The name's ending and the first bytes must agree; ``format`` overrules the ending.
    Delimiters of text are sniffed unless given.
    """
    name = str(where)
    promised, packed = format_of_name(name)
    if format is not None:
        if format not in FORMATS:
            raise InvalidInput(f"`format` must be one of {', '.join(FORMATS)}, got {format!r}.")
        promised = format
    if delimiter is not None and len(delimiter) != 1:
        raise InvalidInput(f"`delimiter` must be one character, got {delimiter!r}.")
    with ExitStack() as stack:
        try:
            opened = _opened(name, stack)
            size = None if name == "-" else (os.fstat(opened.fileno()).st_size or None)
            head = first_bytes(opened, HEAD)
        except OSError as error:
            raise InvalidInput(f"`{name}` cannot be read: {error.strerror}.") from error
        if not head:
            raise InvalidInput(f"`{name}` is empty; give a table with a line of column names.")
        kind, compressed = _settle_format(name, head, promised, packed)
        stream = _stream(opened, name, head, kind, stack)
        columns: tuple[str, ...] = ()
        if kind in ("csv", "tsv"):
            text = _text(_unpacked(head, name) if compressed else head, name)
            delimiter = delimiter or ("\t" if kind == "tsv" else sniff_delimiter(text))
            columns = _header(text, delimiter, name)
            _check_columns(columns, name)
        yield Source(name, stream, kind, compressed, delimiter or ",", columns, size)


def _opened(name: str, stack: ExitStack) -> Any:
    """Bytes without a buffer, whose lock a thread that waits for more would hold at Python's end."""
    if name == "-":
        return getattr(sys.stdin.buffer, "raw", sys.stdin.buffer)
    return stack.enter_context(open(name, "rb", buffering=0))


def _stream(opened: Any, name: str, head: bytes, kind: str, stack: ExitStack) -> Any:
    """What Arrow reads from the first byte; Parquet and Arrow are moved about in."""
    import pyarrow as pa

    rewinds = name != "-" and opened.seekable()
    if kind in ("csv", "tsv"):  # read ahead, best on threads that need no Python
        return pa.OSFile(name) if rewinds else Feed(head, opened)
    if rewinds:
        opened.seek(0)
        return io.BufferedReader(opened)
    whole = stack.enter_context(tempfile.TemporaryFile())  # noqa: SIM115 - the stack does
    shutil.copyfileobj(Feed(head, opened), whole)
    whole.seek(0)
    return whole
