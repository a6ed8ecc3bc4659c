"""Start child processes, send them requests over a pipe, and end them. A child may crash or hang.

A child runs ``main`` of a module. It reads requests from stdin and answers through ``frames``.
"""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import tempfile
import time
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import IO, TYPE_CHECKING, Any, BinaryIO, Final, cast
from weakref import WeakSet

import slangad
from slangad.compiler.toolchain.messages.failures import temporary_files
from slangad.compiler.toolchain.workers.deadlines import deadline, kill
from slangad.compiler.toolchain.workers.frames import receive, send

if TYPE_CHECKING:
    from collections.abc import Callable, Generator, Iterator

_BOOTSTRAP = (
    "import os, sys; sys.path += sys.argv.pop(1).split(os.pathsep); "
    "from importlib import import_module; import_module(sys.argv.pop(1)).main()"
)
_ONE_THREAD = dict.fromkeys(
    ("OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS", "BLIS_NUM_THREADS", "VECLIB_MAXIMUM_THREADS", "OMP_NUM_THREADS"), "1"
)
"""Settings for one thread in numpy's linear algebra. Its threads wait by spinning, which slows other children."""
_TAIL = 2000
_DYING = 5.0
_CHILDREN: Final[WeakSet[Child]] = WeakSet()
_PROGRAMS: Final[set[subprocess.Popen[str]]] = set()
"""Programs of ``run_program`` that run."""
_INTERVAL = 0.02
_ending = 0
"""The number of calls of ``end_processes_until`` in progress."""
_LEFT: Final[list[Child]] = []
"""The parent's children, in a fork. They stay open: closing a pipe waits for the thread that reads from it."""


class ProcessDiedError(Exception):
    """A child ended in the middle of its work.

    Attributes:
        how: ``SIGSEGV``, ``exit status 3``, or empty when the time limit struck.
        tail: The end of its output.
    """

    def __init__(self, how: str, tail: str = "") -> None:
        super().__init__(how)
        self.how = how
        self.tail = tail


class EndingError(BaseException):
    """A process was to start while an interrupt ends all processes."""


def run_program(command: list[str], limit: float, **options: Any) -> subprocess.CompletedProcess[str]:  # noqa: ANN401  (of Popen)
    """Run a program to its end, with its output as text. Kill it with all that it started if this is left early.

    Raises:
        OSError: It can't be started.
        TimeoutExpired: ``limit`` seconds passed.
    """
    with running_program(command, stderr=subprocess.PIPE, **options) as process:
        output, errors = process.communicate(timeout=limit)
    return subprocess.CompletedProcess(command, process.returncode, output, errors)


@contextmanager
def running_program(command: list[str], **options: Any) -> Iterator[subprocess.Popen[str]]:  # noqa: ANN401  (of Popen)
    """Start a program with its output as text. Kill it with all that it started if this is left early.

    Raises:
        OSError: It can't be started.
    """
    _refuse_while_ending()
    with subprocess.Popen(  # noqa: S603  (the callers' commands)
        command,
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        encoding="utf-8",
        errors="replace",
        start_new_session=True,
        **options,
    ) as process:
        _PROGRAMS.add(process)
        try:
            yield process
        except BaseException:
            kill(process)
            raise
        finally:
            _PROGRAMS.discard(process)


def end_processes_until(done: Callable[[], bool]) -> None:
    """Kill all processes at work, and let none start, until the threads that wait for them are done.

    An interrupt in the main thread needs it: a thread that waits for Slang would wait until Slang is finished.
    """
    global _ending  # noqa: PLW0603  (of this process)
    _ending += 1
    try:
        while not done():
            for child in tuple(_CHILDREN):
                child.kill_if_busy()
            for process in tuple(_PROGRAMS):
                kill(process)
            time.sleep(_INTERVAL)
    finally:
        _ending -= 1


def _refuse_while_ending() -> None:
    if _ending:
        raise EndingError


class Child:
    """A running child. ``close`` it; any thread may. ``is_expired`` is True after it was killed at a time limit."""

    def __init__(self, module: str, *arguments: str, paths: tuple[str, ...] = ()) -> None:
        """Start ``module``'s ``main`` with these arguments.

        The interpreter starts isolated and without site packages, which is faster and keeps files in the working
        directory from being imported; ``paths`` is where else the child looks for modules.
        """
        _refuse_while_ending()
        self.is_expired = False
        self._busy = False
        places = os.pathsep.join((*paths, os.fspath(Path(slangad.__file__).parent.parent)))
        command = [sys.executable, "-I", "-S", "-c", _BOOTSTRAP, places, module, *arguments]
        with temporary_files():
            self._printed: IO[bytes] = tempfile.TemporaryFile()  # noqa: SIM115  (closed by close)
        self._process = subprocess.Popen(  # noqa: S603  (our own module)
            command,
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=self._printed,
            start_new_session=True,
            env=os.environ | _ONE_THREAD,
        )
        _CHILDREN.add(self)

    def talk(self, request: object, limit: float, *, patience: float = 1.0) -> Generator[object, None, None]:
        """Send a request and pass on the answers; end by closing the iterator.

        Raises:
            ProcessDiedError: The child ended, or ``limit`` seconds passed; see ``deadline`` for ``patience``.
        """
        self._busy = True
        expired: Callable[[], bool] = bool
        try:
            with deadline(self._process, limit, patience) as expired:
                with suppress(BrokenPipeError):
                    send(cast("BinaryIO", self._process.stdin), request)
                while (answer := receive(cast("BinaryIO", self._process.stdout))) is not None:
                    yield answer
        finally:
            self._busy = False
            if expired():  # perhaps just as the answer came: the next one to talk to it must not find it running
                self.is_expired = True
                with suppress(subprocess.TimeoutExpired):
                    self._process.wait(_DYING)
        raise self._bury(in_time=not expired())

    def tell(self, message: object) -> None:
        """Send a message that has no answer.

        Raises:
            OSError: The child has ended.
        """
        send(cast("BinaryIO", self._process.stdin), message)

    @property
    def is_running(self) -> bool:
        """True until the child has ended."""
        return self._process.poll() is None

    def kill_if_busy(self) -> None:
        """Kill the child and whatever it started if somebody talks to it, who then closes it."""
        if self._busy:
            kill(self._process)

    def close(self) -> None:
        """Kill the child and whatever it started, and release what belongs to it."""
        kill(self._process)
        self._process.wait()
        for pipe in (self._process.stdin, self._process.stdout, self._printed):
            with suppress(OSError):
                cast("IO[bytes]", pipe).close()

    def leave(self) -> None:
        """Leave the process to the parent, in a fork. Messages between the two must not pass through this process."""
        self._process.returncode = 0  # not ours: never killed, never waited for
        null = os.open(os.devnull, os.O_RDWR)
        for pipe in (self._process.stdin, self._process.stdout, self._printed):
            with suppress(ValueError):  # closed
                os.dup2(null, cast("IO[bytes]", pipe).fileno(), inheritable=False)
        os.close(null)
        _LEFT.append(self)

    def _bury(self, *, in_time: bool) -> ProcessDiedError:
        with suppress(subprocess.TimeoutExpired):
            self._process.wait(_DYING)
        tail = b""
        with suppress(ValueError, OSError):  # closed by another thread
            self._printed.seek(0)
            tail = self._printed.read()[-_TAIL:]
        self.close()
        return ProcessDiedError(cause(self._process.returncode) if in_time else "", tail.decode("utf-8", "replace"))


def cause(status: int | None) -> str:
    """Return the cause of a process's end, by its exit status."""
    if status is not None and status < 0:
        with suppress(ValueError):
            return signal.Signals(-status).name
    return f"exit status {status}"


def _leave_all() -> None:
    """Close the pipes to the parent's children in a fork. Open pipes would keep the children alive after the parent."""
    for child in tuple(_CHILDREN):
        child.leave()
    _CHILDREN.clear()


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_leave_all)
