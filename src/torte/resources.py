"""What this machine has: free memory, and how fast it multiplies."""

from __future__ import annotations

import ctypes
import os
import sys
import time
from collections.abc import Callable, Iterator
from functools import lru_cache
from pathlib import Path
from typing import Any

import torch

__all__ = ["arithmetic_rate", "available_memory", "seconds_of", "told_memory", "widest"]

_RESERVE = 0.9  # of what is free may be planned with


def _linux_free() -> int | None:
    """MemAvailable: what can be had without swapping, as the kernel estimates it."""
    path = Path("/proc/meminfo")
    if not path.exists():
        return None
    for line in path.read_text(encoding="ascii").splitlines():
        if line.startswith("MemAvailable:"):
            return int(line.split()[1]) * 1024
    return None


def _control_groups(root: Path, own: Path) -> Iterator[int]:
    """What the limits of this process's control groups leave, version 2 and version 1."""
    if not own.exists():
        return
    for line in own.read_text(encoding="utf-8").splitlines():
        _, controllers, group = line.split(":", 2)
        names = {
            "": ("", "memory.max", "memory.current"),
            "memory": ("memory", "memory.limit_in_bytes", "memory.usage_in_bytes"),
        }.get(controllers)
        if names is None:
            continue
        top = root / names[0]
        folder = top / group.lstrip("/")
        for place in (folder, *folder.parents):  # a limit anywhere above holds below
            limit, used = place / names[1], place / names[2]
            if limit.is_file() and used.is_file() and (told := limit.read_text().strip()) != "max":
                yield int(told) - int(used.read_text())
            if place == top:
                break


def _posix_free() -> int | None:
    known: dict[str, int] = getattr(os, "sysconf_names", {})
    if "SC_AVPHYS_PAGES" in known:
        return os.sysconf("SC_AVPHYS_PAGES") * os.sysconf("SC_PAGE_SIZE")
    if "SC_PHYS_PAGES" in known:  # macOS tells the whole alone: half of it
        return os.sysconf("SC_PHYS_PAGES") * os.sysconf("SC_PAGE_SIZE") // 2
    return None


class _WindowsMemory(ctypes.Structure):
    _fields_ = [("dwLength", ctypes.c_ulong), ("dwMemoryLoad", ctypes.c_ulong)] + [
        (name, ctypes.c_ulonglong)
        for name in (
            "ullTotalPhys",
            "ullAvailPhys",
            "ullTotalPageFile",
            "ullAvailPageFile",
            "ullTotalVirtual",
            "ullAvailVirtual",
            "ullAvailExtendedVirtual",
        )
    ]


def _windows_free() -> int | None:
    if sys.platform != "win32":
        return None
    status = _WindowsMemory()
    status.dwLength = ctypes.sizeof(status)
    ctypes.windll.kernel32.GlobalMemoryStatusEx(ctypes.byref(status))
    return int(status.ullAvailPhys)


def available_memory(device: torch.device | str = "cpu") -> int:
    """Bytes that a computation on this device may plan with: 90 % of what is free now.

    On the CPU the least of what the system and the control groups of this process leave.
    """
    device = torch.device(device)
    if device.type == "cuda":
        free, _ = torch.cuda.mem_get_info(device)
        return int(_RESERVE * free)
    told = [_windows_free() or _linux_free() or _posix_free() or 4 * 2**30]
    told += _control_groups(Path("/sys/fs/cgroup"), Path("/proc/self/cgroup"))
    return int(_RESERVE * max(0, min(told)))


def seconds_of(action: Callable[[], Any], device: torch.device, repeats: int = 2) -> float:
    """The least wall time of some runs of an action, after one that warms up."""

    def wait() -> None:
        if device.type == "cuda":
            torch.cuda.synchronize(device)

    action()
    least = float("inf")
    for _ in range(repeats):
        wait()
        began = time.perf_counter()
        action()
        wait()
        least = min(least, time.perf_counter() - began)
    return least


def widest(device: torch.device) -> torch.dtype:
    """The precision for sums and factors that must not lose any: float64, where the device has it."""
    return torch.float32 if device.type == "mps" else torch.float64


@lru_cache
def _rate(dtype: torch.dtype, device: torch.device, threads: int) -> float:
    side = 1024
    A = torch.full((side, side), 0.5, dtype=dtype, device=device)
    return 2.0 * side**3 / seconds_of(lambda: A @ A, device)


def arithmetic_rate(dtype: torch.dtype, device: torch.device) -> float:
    """Floating-point operations a second in a product of matrices, measured once a process."""
    return _rate(dtype, device, torch.get_num_threads())


def told_memory(size: float) -> str:
    """A number of bytes as a person says it.

    >>> from torte.resources import told_memory
    >>> told_memory(14.4e9), told_memory(3.2e6)
    ('14.4 GB', '3 MB')
    """
    return f"{size / 1e9:.1f} GB" if size >= 1e9 else f"{max(1, round(size / 1e6))} MB"
