"""Bytes that Arrow reads ahead, on a thread that must have left Python before Python ends."""

from __future__ import annotations

import io
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

__all__ = ["Feed", "first_bytes", "stopped_after"]

PATIENCE = 1.0  # seconds; a thread that waits for its turn to read ahead never comes back
MOMENT = 0.02  # seconds in which a thread that has its last bytes is out of Python


def first_bytes(stream: Any, count: int) -> bytes:
    """So many bytes, or all there are; a pipe gives them little by little."""
    head = b""
    while len(head) < count and (more := stream.read(count - len(head))):
        head += more
    return head


class Feed(io.RawIOBase):
    """Bytes already taken from a stream that cannot be rewound, then the rest of it.

    Files with a name are not read through Python at all. For the others there is `stop`: a
    thread that still wants to read when the interpreter ends would take the process with it.
    """

    def __init__(self, head: bytes, rest: Any):
        self._head, self._rest = io.BytesIO(head), rest
        self._stopped, self._ended = False, threading.Event()

    def readable(self) -> bool:
        return True

    def readinto(self, buffer: Any) -> int:
        data = b""
        if not self._stopped:
            data = self._head.read(len(buffer)) or self._rest.read(len(buffer)) or b""
        if self._stopped or not data:
            self._ended.set()
            return 0
        buffer[: len(data)] = data
        return len(data)

    def stop(self) -> None:
        """Let the stream end here, and wait until its reader has seen that."""
        self._stopped = True
        if self._ended.wait(PATIENCE):
            time.sleep(MOMENT)


@contextmanager
def stopped_after(stream: Any) -> Iterator[None]:
    """Whatever happens within, nobody reads the stream afterwards."""
    try:
        yield
    finally:
        if isinstance(stream, Feed):
            stream.stop()
