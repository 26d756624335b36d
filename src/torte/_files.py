"""Files that appear whole or not at all."""

from __future__ import annotations

import errno
import os
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from torte.errors import UnwritableFile

__all__ = ["atomic", "check_writable"]

FULL = (errno.ENOSPC, errno.EFBIG, getattr(errno, "EDQUOT", errno.ENOSPC))


def _refused(path: Path, reason: str) -> UnwritableFile:
    return UnwritableFile(f"`{path}` cannot be written: {reason}.")


def check_writable(path: str | os.PathLike[str]) -> None:
    """Raise `UnwritableFile` where a file could not be written, before the work for it begins."""
    path = Path(path)
    folder = path.parent
    if path.is_dir():
        raise _refused(path, "it is a folder")
    if not folder.is_dir():
        raise _refused(path, f"there is no folder {str(folder)!r}")
    if not os.access(path if path.exists() and not path.is_file() else folder, os.W_OK):
        raise _refused(path, "permission denied")


@contextmanager
def atomic(path: str | os.PathLike[str]) -> Iterator[Path]:
    """A temporary path beside ``path``, renamed to it at the end; removed on any exception.

    A file that was there keeps its mode, and a link stays a link. A device or a named pipe is
    given as it is: bytes that went through cannot be taken back.

    >>> import tempfile, pathlib
    >>> from torte._files import atomic
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     target = pathlib.Path(folder, "result.txt")
    ...     with atomic(target) as there:
    ...         _ = there.write_text("whole")
    ...     target.read_text(), len(list(pathlib.Path(folder).iterdir()))
    ('whole', 1)
    """
    path = Path(path)
    check_writable(path)
    if path.exists() and not path.is_file():  # a device or a pipe: nothing to rename
        yield path
        return
    path = path.resolve()  # a link stays a link
    try:
        handle, name = tempfile.mkstemp(prefix=f".{path.name}.", suffix=".part", dir=path.parent)
    except OSError as error:
        raise _refused(path, str(error.strerror).lower()) from error
    os.close(handle)
    there, written = Path(name), False
    try:
        yield there
        written = True
        with there.open("rb+") as whole:
            os.fsync(whole.fileno())  # else a power cut leaves the new name and the old bytes
        there.chmod(path.stat().st_mode if path.exists() else 0o666 & ~_umask())
        os.replace(there, path)
    except OSError as error:
        if not written and error.errno not in FULL:
            raise  # of something else that was done while writing, such as reading
        raise _refused(path, str(error.strerror or error).lower()) from error
    finally:
        there.unlink(missing_ok=True)


def _umask() -> int:
    mask = os.umask(0)
    os.umask(mask)
    return mask
