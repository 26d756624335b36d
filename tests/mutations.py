"""Model files gone wrong: by accident (altered bytes), and by intent (altered, then signed again)."""

from __future__ import annotations

import hashlib
import json
import struct
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np

from torte import _container

DIGEST = b'\\"sha256\\":\\"'
NASTY = [
    None, True, 0, -1, 2, 10**9, 10**18, 10**400, 0.5, -1e308, 1e-320, "", "nan", "x" * 5000, [], [[]], {},
    {"$": "list", "items": []}, {"$": "float", "text": "inf"}, {"$": "float", "text": "1" * 10_000},
    {"$": "tensor", "name": "none", "turned": False}, {"$": "recipe"}, {"$": "Gaussian"}, {"$": "Linear"},
    {"$": "dict", "items": [[[], 1]]}, {"$": "Power", "base": {"$": "Linear"}, "exponent": 10**30},
    {"$": "Polynomials", "degree": 60, "gamma": 1.0}, {"$": "Polynomials", "degree": 10**8},
    {"$": "texts", "items": ["x"] * 50 + ["y" * 10**5], "fixed": True}, {"$": "os.system", "command": "id"},
    {"$": "MCEClassifier"}, {"$": "Module", "recipe": "os.system", "weights": None, "buffers": {}},
    {"$": "__import__", "name": "os"}, {"$": ["Gaussian"]}, {"$": 3},
]  # fmt: skip


def signed(data: bytes) -> bytes:
    """The bytes with a checksum that is right again, where they still have one."""
    at = data.find(DIGEST)
    if at < 0 or len(data) < at + len(DIGEST) + 64:
        return data
    start = at + len(DIGEST)
    blank = data[:start] + b"0" * 64 + data[start + 64 :]
    return data[:start] + hashlib.sha256(blank).hexdigest().encode() + data[start + 64 :]


# -- bytes ----------------------------------------------------------------------------


def flip(data: bytes, rng: np.random.Generator, other: bytes) -> bytes:
    spoiled = bytearray(data)
    for at in rng.integers(len(data), size=rng.integers(1, 9)):
        spoiled[at] ^= 1 << rng.integers(8)
    return bytes(spoiled)


def truncate(data: bytes, rng: np.random.Generator, other: bytes) -> bytes:
    return data[: rng.integers(len(data))]


def insert(data: bytes, rng: np.random.Generator, other: bytes) -> bytes:
    at = rng.integers(len(data))
    return data[:at] + rng.bytes(int(rng.integers(1, 40))) + data[at:]


def remove(data: bytes, rng: np.random.Generator, other: bytes) -> bytes:
    at = rng.integers(len(data))
    return data[:at] + data[at + rng.integers(1, 200) :]


def splice(data: bytes, rng: np.random.Generator, other: bytes) -> bytes:
    return data[: rng.integers(len(data))] + other[rng.integers(len(other)) :]


def length(data: bytes, rng: np.random.Generator, other: bytes) -> bytes:
    sizes = [0, 1, len(data), 2**31, 2**63, 2**64 - 1, int(rng.integers(2 * len(data)))]
    return struct.pack("<Q", sizes[rng.integers(len(sizes))]) + data[8:]


def digits(data: bytes, rng: np.random.Generator, other: bytes) -> bytes:
    """Another number in the header: shapes, offsets, hyperparameters, the format."""
    spoiled, end = bytearray(data), 8 + struct.unpack("<Q", data[:8])[0]
    numbers = [i for i in range(8, min(end, len(data))) if chr(data[i]).isdigit()]
    for at in rng.choice(numbers, size=rng.integers(1, 4)):
        spoiled[at] = ord("0") + int(rng.integers(10))
    return bytes(spoiled)


BYTES = (flip, truncate, insert, remove, splice, length, digits)


# -- structure ------------------------------------------------------------------------


def places(form: Any, path: tuple[Any, ...] = ()) -> Iterator[tuple[Any, ...]]:
    """Every place in a JSON form."""
    if not isinstance(form, (dict, list)):
        return
    for key, part in form.items() if isinstance(form, dict) else enumerate(form):
        yield (*path, key)
        yield from places(part, (*path, key))


def at(form: Any, path: tuple[Any, ...]) -> Any:
    for key in path:
        form = form[key]
    return form


def restructured(data: bytes, rng: np.random.Generator, folder: Path) -> bytes:
    """A sound container whose JSON or arrays were changed."""
    arrays = _container.safetensors().load(data)
    header = json.loads(data[8 : 8 + struct.unpack("<Q", data[:8])[0]])
    form = json.loads(header["__metadata__"]["torte"])
    for _ in range(rng.integers(1, 3)):
        paths = list(places(form["value"]))
        path = paths[rng.integers(len(paths))]
        parent, other = (
            at(form["value"], path[:-1]),
            at(form["value"], paths[rng.integers(len(paths))]),
        )
        choice = rng.integers(5)
        if choice == 0 and isinstance(parent, dict):
            del parent[path[-1]]
        elif choice == 1:
            parent[path[-1]] = json.loads(json.dumps(other))
        elif choice == 2:
            for _ in range(int(rng.integers(1, 300))):
                parent[path[-1]] = [parent[path[-1]]]
        elif choice == 3:
            names = list(arrays)
            name = names[rng.integers(len(names))]
            array = arrays[name]
            arrays[name] = [array[:0], array.flatten(), array[..., None], array.float(), array.long(), array / 0][
                rng.integers(6)
            ].contiguous()  # fmt: skip
        else:
            parent[path[-1]] = NASTY[rng.integers(len(NASTY))]
    contents = {k: v for k, v in form.items() if k not in ("format", "sha256")}
    _container.write(folder / "changed.torte", arrays, contents)
    return (folder / "changed.torte").read_bytes()


def mutations(models: list[bytes], count: int, folder: Path) -> Iterator[tuple[str, bytes]]:
    """``count`` files that differ from the models, each with the name of what was done."""
    rng = np.random.default_rng(0)
    for i in range(count):
        data, other = models[i % len(models)], models[rng.integers(len(models))]
        if i % 3 == 2:
            yield "restructured", restructured(data, rng, folder)
            continue
        change: Callable[..., bytes] = BYTES[rng.integers(len(BYTES))]
        spoiled = change(data, rng, other)
        yield (
            (change.__name__, spoiled) if i % 3 else (f"{change.__name__}, signed", signed(spoiled))
        )
