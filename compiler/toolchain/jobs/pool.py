"""Run tasks on several back ends at once, and limit a crash or hang to the unit that caused it.

Code, messages and failures are stored in the collector of each job.
"""

from __future__ import annotations

import queue
import time
from concurrent.futures import FIRST_EXCEPTION, ThreadPoolExecutor, wait
from threading import Lock
from typing import TYPE_CHECKING

from slangad.compiler.toolchain.messages.messages import is_about_one_unit, parse_messages
from slangad.compiler.toolchain.workers.events import Begin, Event, Front, UnitCode
from slangad.compiler.toolchain.workers.processes import ProcessDiedError

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence
    from concurrent.futures import Future

    from slangad.compiler.toolchain.jobs.collect import Collector
    from slangad.compiler.toolchain.jobs.request import CompileJob
    from slangad.compiler.toolchain.jobs.tasks import CompileTask, Unit
    from slangad.compiler.toolchain.workers.backends import Backend
    from slangad.compiler.toolchain.workers.events import CompilerCall

_PATIENCE = 0.5
_INTERVAL = 0.02


class Pool:
    """Back ends that stay warm between calls. ``close`` when done; a closed pool cannot be used again.

    Args:
        make: Makes one more back end.
        size: The number of tasks that may run at a time.
    """

    def __init__(self, make: Callable[[], Backend], size: int) -> None:
        self._make = make
        self._backends: list[Backend] = []
        self._idle: queue.LifoQueue[Backend] = queue.LifoQueue()
        self._threads = ThreadPoolExecutor(size, thread_name_prefix="slangad")
        self._lock = Lock()
        self._after_each = Lock()
        self._running: set[Future[None]] = set()
        self._closed = False

    @property
    def seconds(self) -> float:
        """The processor time of all calls so far."""
        return sum(backend.seconds for backend in self._backends)

    def warm_up(self, count: int) -> None:
        """Start back ends that will be needed soon, up to ``count`` in all."""
        while len(self._backends) < count:
            backend = self._new()
            backend.start()
            self._idle.put(backend)

    def run(
        self,
        tasks: Sequence[CompileTask],
        collectors: Mapping[CompileJob, Collector],
        ended: Callable[[CompileTask], None],
    ) -> None:
        """Run all tasks; returns when the last has ended.

        Args:
            tasks: The tasks, in the order of their start.
            collectors: The receivers of the events, one for each job.
            ended: Called with each task that has ended, by one thread at a time.
        """

        def step(task: CompileTask) -> None:
            collector = collectors[task.job]
            todo = [task]
            while todo and not self._closed:
                todo += self._run(todo.pop(), collector)
            with self._after_each:
                ended(task)

        try:
            running = self._running = {self._threads.submit(step, task) for task in tasks}
            while running:  # waiting without a limit, Windows would not see Ctrl-C
                done, running = wait(running, timeout=_PATIENCE, return_when=FIRST_EXCEPTION)
                for future in done:
                    future.result()
        except BaseException:
            self.close()
            raise

    def call(self, work: CompilerCall, limit: float) -> bool:
        """Run one call for its effect; return True if Slang accepted it."""
        backend = self._borrow()
        try:
            events = list(backend.run(work, limit))
            return all(event.ok for event in events if isinstance(event, Front))
        except ProcessDiedError:
            return False
        finally:
            self._idle.put(backend)

    def close(self) -> None:
        """End all back ends; tasks in progress are abandoned."""
        self._closed = True
        self._threads.shutdown(wait=False, cancel_futures=True)
        self._close_backends()
        while not all(future.done() for future in self._running):  # a thread may just be starting a process
            time.sleep(_INTERVAL)
            self._close_backends()
        self._threads.shutdown(wait=True)

    def _close_backends(self) -> None:
        for backend in tuple(self._backends):
            backend.close()

    def _run(self, task: CompileTask, collector: Collector) -> list[CompileTask]:
        """Run one task; return what has to be run instead or again."""
        backend = self._borrow()
        done: list[Unit] = []
        current: Unit | None = None
        instead: list[CompileTask] = []
        try:
            for event in backend.run(task.work(), task.job.time_limit):
                if _concerns_one_of_many(event, task):
                    instead = task.split()
                    continue
                if isinstance(event, Begin):
                    current = (event.target, event.entry)
                elif isinstance(event, UnitCode):
                    done.append((event.target, event.entry))
                with self._lock:
                    collector.add(event)
        except ProcessDiedError as death:
            return [] if self._closed else self._after(death, task, collector, done, current)
        finally:
            self._idle.put(backend)
        return instead

    def _after(
        self, death: ProcessDiedError, task: CompileTask, collector: Collector, done: list[Unit], current: Unit | None
    ) -> list[CompileTask]:
        """Record the failure of the unit in progress, and continue with the rest.

        Slang that crashed while checking would do so again, so all units fail. After the time limit, the entry
        point is skipped for the other targets too: each would take as long.
        """
        rest = [unit for unit in task.units if unit not in done]
        if current is None:
            blamed = rest
        elif death.how:
            blamed = [current]
        else:
            blamed = [unit for unit in rest if unit[1] == current[1]]
        with self._lock:
            collector.blame(death, blamed, while_checking=current is None)
        left = [unit for unit in rest if unit not in blamed]
        return [task.only(left)] if left else []

    def _borrow(self) -> Backend:
        try:
            return self._idle.get_nowait()
        except queue.Empty:
            return self._new()

    def _new(self) -> Backend:
        backend = self._make()
        self._backends.append(backend)
        return backend


def _concerns_one_of_many(event: Event, task: CompileTask) -> bool:
    """Return True if checking failed over a fault that may affect one unit only, such as a target's abilities."""
    if not isinstance(event, Front) or event.ok or len(task.units) == 1:
        return False
    return any(is_about_one_unit(message) for message in parse_messages(event.output))
