"""Run tasks about files in threads, and in the main thread what they say, file after file."""

from __future__ import annotations

import queue
from collections import deque
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from functools import partial
from typing import TYPE_CHECKING, Any, Final, Generic, TypeVar

from slangad.compiler.toolchain.workers.processes import end_processes_until

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence
    from concurrent.futures import Future
    from pathlib import Path

    Say = Callable[[Path, Callable[[], Any] | None], None]
    """Have a call run in the main thread when the file has its turn; None ends the file."""

_Tool = TypeVar("_Tool")

_AHEAD: Final = 1
"""Tasks that wait while all threads are busy, so that none is idle while the main thread prepares another."""
_PATIENCE: Final = 0.5
"""Seconds. Waiting without a limit, Windows would not see Ctrl-C."""


class FileThreads(Generic[_Tool]):
    """Threads that run tasks, each about some files.

    Args:
        tools: What the threads work with. One task at a time has each.
        tasks: The tasks, made in the main thread when they can soon begin: the files, and what is to be done. The order
            of their first files is that in which files are followed.
    """

    def __init__(
        self, tools: Sequence[_Tool], tasks: Iterator[tuple[Sequence[Path], Callable[[_Tool, Say], None]]]
    ) -> None:
        self._tasks = tasks
        self._most = len(tools)
        self._free: queue.SimpleQueue[_Tool] = queue.SimpleQueue()
        for tool in tools:
            self._free.put(tool)
        self._threads = ThreadPoolExecutor(self._most, thread_name_prefix="slangad check")
        self._running: set[Future[None]] = set()
        self._said: queue.SimpleQueue[tuple[Path, Callable[[], Any] | None]] = queue.SimpleQueue()
        self._kept: dict[Path, deque[Callable[[], Any] | None]] = {}

    def __enter__(self) -> FileThreads[_Tool]:
        return self

    def __exit__(self, kind: object, *_: object) -> None:
        self._threads.shutdown(wait=False, cancel_futures=True)
        if kind is not None:  # an interrupt waits for no compiler
            end_processes_until(lambda: all(future.done() for future in self._running))
        self._threads.shutdown()

    def follow(self, file: Path) -> None:
        """Run what is said of one file until it has ended.

        Raises:
            BaseException: What its task raised.
        """
        calls = self._kept.setdefault(file, deque())
        while True:
            while calls:
                call = calls.popleft()
                if call is None:
                    return
                call()
            self._start_tasks()
            with suppress(queue.Empty):
                about, call = self._said.get(timeout=_PATIENCE)
                self._kept.setdefault(about, deque()).append(call)

    def _start_tasks(self) -> None:
        self._running = {future for future in self._running if not future.done()}
        while len(self._running) < self._most + _AHEAD and (task := next(self._tasks, None)) is not None:
            self._running.add(self._threads.submit(self._run, *task))

    def _run(self, files: Sequence[Path], work: Callable[[_Tool, Say], None]) -> None:
        tool = self._free.get()
        try:
            work(tool, self._say)
        except BaseException as error:
            for file in files:
                self._say(file, partial(_raise, error))
        finally:
            self._free.put(tool)

    def _say(self, file: Path, call: Callable[[], Any] | None) -> None:
        self._said.put((file, call))


def _raise(error: BaseException) -> None:
    raise error
