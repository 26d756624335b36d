"""Tables in files: every format gives the same frame, and a wrong file a clear sentence."""

from __future__ import annotations

import errno
import gzip
import io
import os
import subprocess
import sys
import threading

import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.feather
import pyarrow.parquet
import pytest

from torte.errors import InvalidInput
from torte.tabular import (
    TableWriter,
    as_frame,
    atomic,
    batches,
    check_writable,
    open_source,
    read_table,
)
from torte.tabular.feeds import Feed

FRAME = pd.DataFrame(
    {
        "size": [1.5, np.nan, -2.0, 1e-3],
        "count": [1, 2, 3, 40],
        "color": ["None", "red", None, 'a "b", c'],
        "day": pd.to_datetime(["2024-01-31", "2024-02-01", None, "1969-12-31"]).astype(
            "datetime64[us]"
        ),
    }
)


def written(folder, name):
    path = folder / name
    if "parquet" in name:
        FRAME.to_parquet(path)
    elif "arrow" in name or "feather" in name:
        pa.feather.write_feather(pa.Table.from_pandas(FRAME), str(path), compression="lz4")
    else:
        separator = "\t" if "tsv" in name else ";" if "semicolon" in name else ","
        FRAME.to_csv(path, index=False, sep=separator)
    return path


NAMES = ["t.csv", "t.csv.gz", "t.tsv", "t.tsv.gz", "semicolon.csv", "t.parquet", "t.feather"]


@pytest.mark.parametrize("name", [*NAMES, "t.arrow", "noname", "t.txt"])
def test_every_format_gives_the_same_frame(name, tmp_path):
    pd.testing.assert_frame_equal(read_table(written(tmp_path, name)), FRAME)


@pytest.mark.parametrize("name", NAMES)
def test_standard_input_gives_the_same_frame(name, tmp_path, monkeypatch):
    data = written(tmp_path, name).read_bytes()

    class Pipe(io.BytesIO):
        def seekable(self):
            return False

    monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(Pipe(data)))
    pd.testing.assert_frame_equal(read_table("-"), FRAME)


def test_pieces_are_the_whole(tmp_path):
    rows = 400_000
    frame = pd.DataFrame({"a": np.arange(rows), "b": np.arange(rows) % 7, "unused": "x" * 20})
    for name in ("t.csv", "t.parquet"):
        frame.to_csv(tmp_path / name, index=False) if name == "t.csv" else frame.to_parquet(
            tmp_path / name
        )
        shares = []
        with open_source(tmp_path / name) as source:
            parts = []
            for piece in batches(source, columns=["b", "a"]):
                parts.append(as_frame(piece, typed=source.is_text))
                shares.append(source.share_read)
        assert len(parts) > 1
        assert shares == sorted(shares)
        assert 0 < shares[0] <= shares[-1] <= 1
        pd.testing.assert_frame_equal(pd.concat(parts, ignore_index=True), frame[["b", "a"]])


def test_cells_that_look_like_something(tmp_path):
    path = tmp_path / "t.csv"
    path.write_text(
        "zip,padded,na,mixed,hex,empty,\n01, 1 ,NA,1,0x1,,1\n2, 2.5,3,b,0x2,,2\n", encoding="utf-8"
    )
    frame = read_table(path)
    assert frame["zip"].tolist() == [1, 2]
    assert frame["padded"].tolist() == [1.0, 2.5]
    assert np.isnan(frame["na"][0])
    assert frame["na"][1] == 3.0
    assert frame["mixed"].tolist() == ["1", "b"]
    assert frame["hex"].tolist() == ["0x1", "0x2"]
    assert frame["empty"].isna().all()
    assert list(frame.columns)[-1] == "Unnamed: 6"
    frame = read_table(path, missing=["b"], text=["zip", "na"])
    assert frame["zip"].tolist() == ["01", "2"]
    assert frame["na"].tolist() == ["NA", "3"]
    assert frame["mixed"].iloc[0] == 1.0
    assert np.isnan(frame["mixed"].iloc[1])


def test_words_for_missing_cells_among_numbers_and_dates(tmp_path):
    path = tmp_path / "t.csv"
    path.write_text(
        "n,i,day,word,only,mixed\n1.5,1,2024-01-31,a,NA,NA\n NA ,?,null,NA,NA,1\n,.,,NULL,?,x\n",
        encoding="utf-8",
    )
    frame = read_table(path)
    assert [str(kind) for kind in frame.dtypes[:3]] == ["float64", "float64", "datetime64[us]"]
    assert frame[["n", "i", "day"]].isna().to_numpy().tolist() == [[False] * 3, *[[True] * 3] * 2]
    assert frame["word"].tolist() == ["a", "NA", "NULL"]
    assert frame["only"].tolist() == ["NA", "NA", "?"]
    assert frame["mixed"].tolist() == ["NA", "1", "x"]
    known = read_table(path, measured=["only", "mixed"])  # as a model says
    assert known["only"].isna().all()
    assert known["only"].dtype.kind in "if"
    assert known["mixed"].tolist()[1:] == ["1", "x"]
    assert known["mixed"].isna()[0]


def test_a_byte_order_mark_and_a_quoted_line_break(tmp_path):
    path = tmp_path / "t.csv"
    path.write_bytes('\ufeffa,b\n"x\ny",1\n'.encode())
    assert read_table(path).to_dict("list") == {"a": ["x\ny"], "b": [1]}


def test_types_of_parquet(tmp_path):
    from datetime import date
    from decimal import Decimal

    path = tmp_path / "t.parquet"
    table = {
        "money": [Decimal("1.50"), None],
        "day": [date(2024, 1, 31), None],
        "yes": [True, False],
        "level": pa.array(["a", "b"]).dictionary_encode(),
        "nothing": pa.nulls(2),
    }
    pa.parquet.write_table(pa.table(table), path)
    frame = read_table(path)
    kinds = [str(kind) for kind in frame.dtypes]
    assert kinds == ["float64", "datetime64[us]", "bool", "category", "float64"]
    pa.parquet.write_table(pa.table({"a": [[1, 2], [3]]}), path)
    with pytest.raises(InvalidInput, match=r"column 'a' holds values of type list.*--drop a"):
        read_table(path)


PARQUET = io.BytesIO()
pa.parquet.write_table(pa.table({"a": [1, 2]}), PARQUET)
WRONG = {
    "missing.csv": (None, "cannot be read: No such file or directory"),
    "empty.csv": (b"", "is empty; give a table"),
    "header.csv": (b"a,b\n", "holds column names, but no rows"),
    "text.parquet": (
        b"a,b\n1,2\n",
        "should be Parquet by its name .* first bytes are those of text",
    ),
    "text.feather": (b"a,b\n1,2\n", "should be Arrow by its name .* those of text"),
    "parquet.csv": (PARQUET.getvalue(), "should be CSV by its name .* those of Parquet"),
    "cut.parquet": (PARQUET.getvalue()[:60], "cannot be read as Parquet"),
    "cut.arrow": (b"ARROW1\x00\x00" + b"\x00" * 50, "cannot be read as Arrow"),
    "plain.csv.gz": (b"a,b\n1,2\n", "is not compressed with gzip, which its name denies"),
    "packed.csv": (gzip.compress(b"a,b\n1,2\n"), "is compressed with gzip, .* with .gz at the end"),
    "cut.csv.gz": (
        gzip.compress(bytes(range(99)).hex().encode() + b"\n1\n" * 99)[:-20],
        "Truncated",
    ),
    "broken.csv.gz": (b"\x1f\x8b\x08\x00" + b"x" * 40, "cannot be unpacked|Truncated|inflate"),
    "book.csv": (b"PK\x03\x04" + b"x" * 40, "is a zip archive or an Excel workbook"),
    "page.csv": (b"<!DOCTYPE html>", "is a web page"),
    "binary.csv": (b"a,b\n\x00\x01,\x02\n", "bytes that are not text"),
    "utf16.csv": ("a,b\n1,2\n".encode("utf-16"), "is text in UTF-16"),
    "latin.csv": (b"a,b\n\xe9,2\n" + b"1,2\n" * 9, "is not text in UTF-8 .byte 4.; convert it"),
    "late.csv": (b"a,b\n" + b"1,2\n" * 300_000 + b"\xe9,2\n", "not UTF-8; convert it first"),
    "wide.csv": (b"a,b\n1,2\n1,2,3\n", "cannot be read as CSV: .*Expected 2 columns, got 3"),
    "short.csv": (b"a,b\n1,2\n1\n", "cannot be read as CSV: .*Expected 2 columns, got 1"),
    "twice.csv": (b"a,b,a\n1,2,3\n", "more than one column named 'a'"),
}


@pytest.mark.parametrize("name", WRONG)
def test_wrong_files_are_told(name, tmp_path):
    data, message = WRONG[name]
    if data is not None:
        (tmp_path / name).write_bytes(data)
    with pytest.raises(InvalidInput, match=message) as caught:
        read_table(tmp_path / name)
    assert name in str(caught.value)


RAGGED = """
import sys, torte.tabular
sys.setswitchinterval(1.0)  # the thread that reads ahead is left as late as can be
try:
    torte.tabular.read_table(sys.argv[1])
except ValueError as error:
    sys.exit(str(error))
"""


@pytest.mark.parametrize("name", ["t.csv", "t.csv.gz", "-", "- packed"])
def test_a_process_survives_a_ragged_table(name, tmp_path):
    """The thread that reads ahead does not outlive the interpreter: that would be SIGABRT."""
    data = b"a,b\n1,2\n1,2,3\n" + b"1,2\n" * 10**6
    data = gzip.compress(data, 1) if "gz" in name or "packed" in name else data
    (tmp_path / name).write_bytes(data)
    told = {"cwd": tmp_path, "stdout": subprocess.PIPE, "stderr": subprocess.PIPE}
    for _ in range(2):
        process = subprocess.run(
            [sys.executable, "-c", RAGGED, name.split()[0]], input=data, check=False, **told
        )
        assert process.returncode == 1, process.stderr
        assert process.stderr.count(b"\n") == 1
        assert b"Expected 2 columns, got 3" in process.stderr


def test_a_pipe_that_gives_little_by_little_is_read_whole(tmp_path):
    data = FRAME.to_csv(index=False).encode() + b"1.5,1,red,2024-01-31\n" * 4000
    path = tmp_path / "pipe"
    os.mkfifo(path)

    def write():
        with path.open("wb", buffering=0) as file:
            for start in range(0, len(data), 9999):
                file.write(data[start : start + 9999])

    writer = threading.Thread(target=write, daemon=True)
    writer.start()
    assert len(read_table(path)) == 4004
    writer.join(60)


def test_a_feed_that_was_stopped_ends():
    feed = Feed(b"ab", io.BytesIO(b"cd"))
    assert feed.read(3) == b"ab"
    feed._ended.set()  # its reader has gone
    feed.stop()
    assert feed.read(3) == b""


def test_wrong_options_are_told(tmp_path):
    path = written(tmp_path, "t.csv")
    with pytest.raises(InvalidInput, match="`format` must be one of csv, tsv, parquet, arrow"):
        read_table(path, format="excel")
    with pytest.raises(InvalidInput, match="`delimiter` must be one character, got ', '"):
        read_table(path, delimiter=", ")
    for name in ("t.csv", "t.parquet", "t.arrow"):
        with (
            open_source(written(tmp_path, name)) as source,
            pytest.raises(InvalidInput, match="lacks the column 'weight'; it has 'size', 'count'"),
        ):
            list(batches(source, columns=["size", "weight"]))


PIECE = pa.table(
    {
        "label": ["x", "y,z", None],
        "p": [0.1, 1 / 3, 1e-20],
        "n": [1, None, 3],
        "a b": ['"', "", "l\nm"],
    }
)


@pytest.mark.parametrize("name", ["o.csv", "o.csv.gz", "o.tsv", "o.parquet", "o.feather", "odd"])
def test_what_is_written_is_read_again(name, tmp_path):
    with TableWriter(tmp_path / name) as writer:
        writer.write(PIECE)
        writer.write(PIECE.slice(0, 1))
    back = read_table(tmp_path / name)
    expected = pa.concat_tables([PIECE, PIECE.slice(0, 1)]).to_pandas()
    expected["a b"] = expected["a b"].where(expected["a b"] != "", back["a b"])  # CSV has no ""
    pd.testing.assert_frame_equal(back, expected)
    assert [entry.name for entry in tmp_path.iterdir()] == [name]


def test_text_is_quoted_only_where_it_must_be(tmp_path):
    with TableWriter(tmp_path / "o.csv") as writer:
        writer.write(PIECE.slice(0, 1).drop_columns(["a b"]))
    assert (tmp_path / "o.csv").read_text() == "label,p,n\nx,0.1,1\n"


def test_nothing_is_left_of_a_failure(tmp_path):
    target = tmp_path / "o.csv"
    target.write_text("before")

    def fail():
        with TableWriter(target) as writer:
            writer.write(PIECE)
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        fail()
    assert target.read_text() == "before"
    assert [entry.name for entry in tmp_path.iterdir()] == ["o.csv"]


def test_replacing_keeps_the_mode_and_follows_links(tmp_path):
    target, link = tmp_path / "real", tmp_path / "link"
    target.write_text("before")
    target.chmod(0o640)
    link.symlink_to(target)
    with atomic(link) as there:
        there.write_text("after")
    assert link.is_symlink()
    assert target.read_text() == "after"
    assert target.stat().st_mode & 0o777 == 0o640


@pytest.mark.parametrize("ending", [None, "arrow"])
def test_a_pipe_gets_the_table_and_stays_a_pipe(ending, pipe):
    path, received = pipe
    with TableWriter(path, ending) as writer:
        writer.write(PIECE)
    whole = received()
    with TableWriter(path.parent / "o", ending) as writer:
        writer.write(PIECE)
    assert whole == (path.parent / "o").read_bytes()


def test_a_full_disk_is_told(tmp_path, monkeypatch):
    def full(*arguments):
        raise OSError(errno.ENOSPC, "No space left on device")

    with (
        pytest.raises(InvalidInput, match=r"`.*o` cannot be written: no space left on device"),
        atomic(tmp_path / "o"),
    ):
        full()
    with (
        pytest.raises(OSError, match="the disk of the rows is gone") as caught,
        atomic(tmp_path / "o"),
    ):
        raise OSError("the disk of the rows is gone")
    assert not isinstance(caught.value, InvalidInput)
    monkeypatch.setattr(os, "fsync", full)
    with (
        pytest.raises(InvalidInput, match=r"`.*o` cannot be written: no space left on device"),
        atomic(tmp_path / "o") as there,
    ):
        there.write_text("much")
    assert not list(tmp_path.iterdir())


def test_places_that_cannot_be_written(tmp_path):
    with pytest.raises(InvalidInput, match="cannot be written: it is a folder"):
        check_writable(tmp_path)
    with pytest.raises(InvalidInput, match=r"cannot be written: there is no folder '.*none'"):
        check_writable(tmp_path / "none" / "o.csv")
    if os.geteuid() == 0:
        pytest.skip("a superuser may write everywhere")
    tmp_path.chmod(0o500)
    with pytest.raises(InvalidInput, match="cannot be written: permission denied"):
        check_writable(tmp_path / "o.csv")
