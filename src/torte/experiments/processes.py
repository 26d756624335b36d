"""Independent tasks in processes: each result as it comes, one failure costs no other task."""

from __future__ import annotations

import multiprocessing
import os
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ProcessPoolExecutor, as_completed
from typing import TypeVar

import torch
from threadpoolctl import threadpool_limits

from torte.progress import Progress

__all__ = ["completed"]

Task = TypeVar("Task")
Result = TypeVar("Result")


def _limit_threads(count: int) -> None:
    """So that processes side by side do not ask for more threads than there are cores."""
    torch.set_num_threads(count)
    threadpool_limits(count)


def completed(
    work: Callable[[Task], Result], tasks: Sequence[Task], jobs: int, label: str
) -> Iterator[tuple[Task, Result]]:
    """Each task with what ``work`` made of it, as they end; a bar shows how many are left.

    A task that fails does not stop the others; when all have ended, the failures are raised.
    """
    failures: list[Exception] = []
    jobs = min(jobs, len(tasks))
    with Progress(label, len(tasks), verbose=1) as progress:
        if jobs <= 1:
            for task in tasks:
                yield task, work(task)
                progress.step(str(task))
            return
        threads = max(1, (os.cpu_count() or 1) // jobs)
        context = multiprocessing.get_context("spawn")  # CUDA does not survive a fork
        pool = ProcessPoolExecutor(jobs, context, _limit_threads, (threads,))
        try:
            futures = {pool.submit(work, task): task for task in tasks}
            for future in as_completed(futures):
                task = futures[future]
                if (error := future.exception()) is None:
                    yield task, future.result()
                elif isinstance(error, Exception):
                    error.add_note(f"in {task}")
                    failures.append(error)
                progress.step(str(task))
        finally:
            pool.shutdown(cancel_futures=True)
    if failures:
        raise ExceptionGroup(f"{len(failures)} of {len(tasks)} tasks failed", failures)
