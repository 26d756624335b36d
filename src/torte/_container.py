"""The bytes of a model file: arrays and one JSON text in a safetensors container, checked, atomic.

    8 bytes              length of the header
    header (JSON)        {"__metadata__": {"torte": TEXT}, name: {dtype, shape, offsets}, ...}
    arrays               one after another

TEXT is JSON too and begins with ``{"format":1,"sha256":"..."``: the digest of the whole file with
zeros in the digest's place, so that no altered byte goes unnoticed. A reader trusts nothing:
sizes are compared with the file's own before anything is allocated.
"""

from __future__ import annotations

import hashlib
import json
import os
import re
import stat
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from torch import Tensor

from torte._files import atomic
from torte.errors import InvalidInput, ModelFileError

__all__ = ["FORMAT", "read", "safetensors", "write", "write_atomically"]

FORMAT = 1
HEADER_LIMIT = 2**25  # bytes of header; parsed JSON takes some twenty times as many
_NO_DIGEST = "0" * 64
# What every model file of torte begins with, behind the eight bytes of a length.
_BEGIN = re.compile(
    rb'\{"__metadata__":\{"torte":"\{\\"format\\":(\d{1,9}),\\"sha256\\":\\"([0-9a-f]{64})\\"'
)


def safetensors() -> Any:
    """The library that lays out the arrays, imported when a file is read or written."""
    try:
        import safetensors.torch
    except ImportError as error:
        raise ImportError(
            "model files need the library safetensors; install it with: pip install 'torte[files]'"
        ) from error
    return safetensors.torch


def write_atomically(path: str | os.PathLike[str], data: bytes | bytearray) -> None:
    """Put ``data`` at ``path`` as a whole or not at all."""
    target = Path(os.path.realpath(path))
    if target.is_dir():
        raise IsADirectoryError(f"{path} is a folder; give the path of a file in it.")
    if not target.parent.is_dir():
        raise FileNotFoundError(f"the folder of {path} does not exist; make {target.parent} first.")
    with atomic(path) as there:
        there.write_bytes(data)


def write(
    path: str | os.PathLike[str], arrays: Mapping[str, Tensor], contents: Mapping[str, Any]
) -> None:
    """Arrays and JSON into one file; the same contents give the same bytes."""
    form = {"format": FORMAT, "sha256": _NO_DIGEST, **contents}
    text = json.dumps(form, separators=(",", ":"), allow_nan=False)
    data = bytearray(safetensors().save(dict(arrays), {"torte": text}))
    length = int.from_bytes(data[:8], "little")
    if length > HEADER_LIMIT:
        raise InvalidInput(
            f"the model's description takes {length} bytes, more than the {HEADER_LIMIT} that a model file may have; "
            f"shorten `history_`, or the names of the columns."
        )
    place = _BEGIN.match(data, 8)
    assert place is not None
    data[place.start(2) : place.end(2)] = hashlib.sha256(data).hexdigest().encode()
    write_atomically(path, data)


def read(path: str | os.PathLike[str]) -> tuple[dict[str, Tensor], dict[str, Any]]:
    """The arrays and the JSON of a file that `write` made; `ModelFileError` for any other."""
    library = safetensors()
    data = _verified(path)
    length = int.from_bytes(data[:8], "little")
    try:
        text = json.loads(data[8 : 8 + length])["__metadata__"]["torte"]
        contents = json.loads(text)
        arrays = library.load(data)
    except Exception as error:  # whatever parsers say of foreign bytes
        raise ModelFileError(
            f"{path} is damaged: its header cannot be read ({type(error).__name__})."
        ) from error
    del data
    for name in arrays:  # one after another, into memory of its own, aligned as torch likes it
        arrays[name] = arrays[name].clone()
    return arrays, contents


def _verified(path: str | os.PathLike[str]) -> bytes:
    """The bytes of a model file of this format whose digest is right."""
    status = os.stat(path)
    if stat.S_ISDIR(status.st_mode):
        raise IsADirectoryError(f"{path} is a folder; give the path of a model file.")
    if not stat.S_ISREG(status.st_mode):
        raise ModelFileError(f"{path} is not a regular file; give the path of a model file.")
    with open(path, "rb") as file:
        size = os.fstat(file.fileno()).st_size
        begin = file.read(256)
        place = _BEGIN.match(begin, 8)
        if place is None:
            short = f"it has {size} bytes only" if size < 256 else f"it begins with {begin[:16]!r}"
            raise ModelFileError(
                f"{path} is not a model file of torte, or its beginning was altered: {short}. Give a file that "
                f"MCEClassifier.save wrote."
            )
        if int(place[1]) != FORMAT:
            raise ModelFileError(
                f"{path} has format {int(place[1])}, and this version of torte reads format {FORMAT}; install a newer torte "
                f"(pip install --upgrade torte)."
            )
        length = int.from_bytes(begin[:8], "little")
        if length > min(size - 8, HEADER_LIMIT):
            raise ModelFileError(
                f"{path} is cut off or damaged: its header should take {length} bytes, and the file has {size}."
            )
        file.seek(0)
        data = file.read()
    view = memoryview(data)
    digest = hashlib.sha256(view[: place.start(2)])
    digest.update(_NO_DIGEST.encode())
    digest.update(view[place.end(2) :])
    if digest.hexdigest() != place[2].decode():
        raise ModelFileError(
            f"{path} was altered or cut off: its {len(data)} bytes do not match the checksum in it. Take another copy "
            f"of the file, or save the model again."
        )
    return data
