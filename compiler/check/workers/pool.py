"""Distribute subjects to idle workers. If a subject kills its worker, that becomes its result."""

from __future__ import annotations

import time
from concurrent.futures import ThreadPoolExecutor
from queue import SimpleQueue
from typing import TYPE_CHECKING, TypeVar

from slangad.compiler.check import tolerances as tol
from slangad.compiler.check.verdict.not_run import broken, crashed, endless
from slangad.compiler.check.workers.worker import BrokenCheck, CrashedWorker, Worker

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable

    from slangad.compiler.check.model.task import PipelineTask, SubjectTask
    from slangad.compiler.check.run.libraries import LibraryFiles
    from slangad.compiler.report.model import Result

_Subject = TypeVar("_Subject")


class Workers:
    """Workers that last for all files.

    Args:
        most: The largest number of processes.
        limit: Seconds that one subject may take.
    """

    def __init__(self, most: int, limit: float) -> None:
        self._most = most
        self._limit = limit
        self._workers: list[Worker] = []
        self._idle: SimpleQueue[Worker] = SimpleQueue()

    def start(self, count: int) -> None:
        """Start as many workers as some number of subjects can use."""
        while len(self._workers) < min(self._most, count):
            self._workers.append(Worker(self._limit))
        for worker in self._workers:
            worker.start()

    def load(self, files: LibraryFiles) -> None:
        """Set the libraries that hold the kernels of the next tasks."""
        self._idle = SimpleQueue()
        for worker in self._workers:
            worker.load(files)
            self._idle.put(worker)

    def check(self, task: SubjectTask | PipelineTask) -> Result:
        """Return the result of a task, from the next worker that is idle."""
        worker = self._idle.get()
        try:
            answer = worker.check(task)
        finally:
            self._idle.put(worker)
        if isinstance(answer, BrokenCheck):
            return broken(task, answer.error)
        if isinstance(answer, CrashedWorker):
            return crashed(task, answer.how) if answer.how else endless(task, self._limit)
        return answer

    def for_all(
        self, subjects: Iterable[_Subject], check: Callable[[_Subject], Result], decided: Callable[[Result], None]
    ) -> None:
        """Call ``decided`` with the results of subjects in their order; each worker checks one at a time."""
        with ThreadPoolExecutor(max(1, len(self._workers))) as pool:
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
        for worker in self._workers:
            worker.close()
