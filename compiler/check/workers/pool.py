"""Distribute subjects to idle workers. If a subject kills its worker, that becomes its result."""

from __future__ import annotations

import time
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from dataclasses import replace
from threading import Condition
from typing import TYPE_CHECKING, TypeVar

from slangad.compiler.check import tolerances as tol
from slangad.compiler.check.verdict.not_run import broken, crashed, endless
from slangad.compiler.check.workers.worker import BrokenCheck, CrashedWorker, Worker

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence

    from slangad.compiler.check.model.task import PipelineTask, SubjectTask
    from slangad.compiler.check.run.libraries import LibraryFiles
    from slangad.compiler.report.model import Result

_Subject = TypeVar("_Subject")


class Workers:
    """Workers that last for all files. Files that are checked at the same time share them.

    Args:
        most: The largest number of processes.
        limit: Seconds that one subject may take.
    """

    def __init__(self, most: int, limit: float) -> None:
        self._most = most
        self._limit = limit
        self._expected = 0
        self._files = 0
        self._workers: list[Worker] = []
        self._idle: list[Worker] = []
        self._changed = Condition()

    @contextmanager
    def expecting(self, count: int) -> Iterator[None]:
        """Start as many workers as the subjects of one more file can use, so that they are ready in time."""
        with self._changed:
            self._expected += count
            self._files += count > 0
            while len(self._workers) < min(self._most, self._expected):
                self._workers.append(Worker(self._limit))
                self._idle.append(self._workers[-1])
            for worker in self._idle[: self._expected]:
                worker.start()
        try:
            yield
        finally:
            with self._changed:
                self._expected -= count
                self._files -= count > 0
                self._changed.notify_all()

    def check(self, task: SubjectTask | PipelineTask, files: LibraryFiles) -> Result:
        """Return the result of a task from an idle worker, with the libraries that hold the kernels of the task."""
        with self._changed:
            while (worker := self._free(files)) is None:
                self._changed.wait()
            self._idle.remove(worker)
            worker.take(files)
        begun = time.monotonic()
        try:
            answer = worker.check(task)
        finally:
            with self._changed:
                self._idle.append(worker)
                self._changed.notify_all()
        if isinstance(answer, BrokenCheck):
            return broken(task, answer.error)
        if isinstance(answer, CrashedWorker):
            result = crashed(task, answer.how) if answer.how else endless(task, self._limit)
            return replace(result, seconds=time.monotonic() - begun)
        return answer

    def _free(self, files: LibraryFiles) -> Worker | None:
        """Return an idle worker for a file.

        Loading libraries takes about as long as checking a subject, so a file has no more than its share of workers.
        """
        with_them = [worker for worker in self._workers if worker.files is files]
        idle = [worker for worker in with_them if worker in self._idle]
        if not idle and len(with_them) < max(1, self._most // max(1, self._files)):
            idle = self._idle
        return idle[0] if idle else None

    def for_all(
        self, subjects: Sequence[_Subject], check: Callable[[_Subject], Result], decided: Callable[[Result], None]
    ) -> None:
        """Call ``decided`` with the results of subjects in their order; each worker checks one at a time."""
        with ThreadPoolExecutor(max(1, min(self._most, len(subjects)))) as pool:
            results = [pool.submit(check, subject) for subject in subjects]
            try:
                for result in results:
                    decided(result.result())
            except BaseException:  # an interrupt waits for no kernel
                pool.shutdown(wait=False, cancel_futures=True)
                while not all(result.done() for result in results):  # a thread may just be starting a process
                    self.close()
                    time.sleep(tol.POLL_INTERVAL)
                raise

    def close(self) -> None:
        """End all workers."""
        for worker in tuple(self._workers):
            worker.close()
