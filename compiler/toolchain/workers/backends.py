"""Run a call of the compiler in a worker process that holds the library, or in a process of an external slangc.

A back end runs one call at a time, can be closed from another thread, and restarts for the next call.
"""

from __future__ import annotations

import os
import subprocess
import time
from contextlib import closing
from typing import TYPE_CHECKING, Protocol, cast

from slangad.compiler.ir.targets import TARGETS
from slangad.compiler.toolchain.messages.failures import failed, temporary_files
from slangad.compiler.toolchain.temporary import TemporaryFolder
from slangad.compiler.toolchain.workers.deadlines import deadline, kill
from slangad.compiler.toolchain.workers.events import (
    Begin,
    CompilerCall,
    CompilerUnusable,
    End,
    Event,
    Front,
    UnitCode,
    UnitReflection,
)
from slangad.compiler.toolchain.workers.kept_children import BorrowedChild
from slangad.compiler.toolchain.workers.processes import ProcessDiedError, cause, running_program

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

_TAIL = 2000
_MODULE = "slangad.compiler.toolchain.workers.worker"
_REINSTALL = "reinstall slangpy, or give an executable with --slangc"


class Backend(Protocol):
    """Runs calls of the compiler, one at a time.

    Attributes:
        seconds: The processor time of all calls, or the time that passed where the processor time is not known.
    """

    seconds: float

    def start(self) -> None:
        """Begin what takes time before the first call; may be left out."""

    def run(self, work: CompilerCall, limit: float) -> Iterator[Event]:
        """Run one call. Raises ``ProcessDiedError`` when the process ends early or ``limit`` seconds pass."""

    def close(self) -> None:
        """End the running call, from any thread. It raises ``ProcessDiedError``."""


class LibraryBackend:
    """Keeps one worker process with the Slang library; a new one after it died."""

    def __init__(self, library: Path) -> None:
        self.seconds = 0.0
        self._library = library
        self._worker: BorrowedChild | None = None

    def start(self) -> None:
        """Start the worker unless it runs."""
        self._started()

    def run(self, work: CompilerCall, limit: float) -> Iterator[Event]:
        """Send the call to the worker and pass on what it reports."""
        ended, start = False, time.monotonic()
        try:
            with closing(self._started().talk(work, limit)) as events:
                for event in events:
                    if isinstance(event, End):
                        ended = True
                        self.seconds += event.seconds
                        return
                    if isinstance(event, CompilerUnusable):
                        raise failed("SA244", f"the Slang library can't be used: {event.reason}", help=_REINSTALL)
                    yield cast("Event", event)
        finally:
            if not ended:  # dead, or with answers left that nobody will read
                self.seconds += time.monotonic() - start
                self.close()

    def close(self) -> None:
        """End the worker, or keep it if it is idle; see ``kept_children``."""
        worker, self._worker = self._worker, None
        if worker is not None:
            worker.close()

    def _started(self) -> BorrowedChild:
        if self._worker is not None and self._worker.is_expired:  # its time was up just as its last answer came
            self.close()
        if self._worker is None:
            self._worker = BorrowedChild(_MODULE, os.fspath(self._library), is_last=_is_end)
        return self._worker


def _is_end(event: object) -> bool:
    return isinstance(event, End)


class SlangcBackend:
    """Runs an external slangc, one process for each call; a call must be for one unit."""

    def __init__(self, slangc: Path) -> None:
        self.seconds = 0.0
        self._slangc = slangc
        self._process: subprocess.Popen[str] | None = None

    def start(self) -> None:
        """Do nothing: an executable needs no preparation."""

    def run(self, work: CompilerCall, limit: float) -> Iterator[Event]:
        """Run slangc and report the files it wrote as events."""
        (unit,) = work.units
        target, entry = work.names(unit)
        with temporary_files():
            made = TemporaryFolder()
        with made as folder:
            code, reflection, depfile = folder / f"code{TARGETS[target].extension}", folder / "r.json", folder / "d"
            files = ["-o", str(code), "-reflection-json", str(reflection), "-depfile", str(depfile)]
            yield Begin(target, entry)
            status, output = self._call([os.fspath(self._slangc), *work.arguments, *files], limit)
            yield Front(status == 0 and code.is_file(), output, _read_depfile(depfile))
            if reflection.is_file():
                yield UnitReflection(target, entry, reflection.read_text(encoding="utf-8"))
            yield UnitCode(target, entry, code.read_bytes() if code.is_file() else None, "")

    def close(self) -> None:
        """Kill slangc."""
        process = self._process
        if process is not None:
            kill(process)

    def _call(self, command: list[str], limit: float) -> tuple[int, str]:
        start = time.monotonic()
        try:
            with running_program(command, stderr=subprocess.STDOUT) as process:
                self._process = process
                with deadline(process, limit) as expired:
                    output, _ = process.communicate()
        except OSError as error:
            raise failed(
                "SA243", f"{self._slangc} can't be run: {error.strerror}", help="correct --slangc, or omit it"
            ) from None
        finally:
            self._process = None
            self.seconds += time.monotonic() - start
        if not 0 <= process.returncode <= 255:
            raise ProcessDiedError("" if expired() else cause(process.returncode), output[-_TAIL:])
        return process.returncode, output


def _read_depfile(path: Path) -> tuple[str, ...]:
    """Return the prerequisites of the one rule slangc writes."""
    if not path.is_file():
        return ()
    _, _, files = path.read_text(encoding="utf-8").partition(": ")
    names = files.replace("\\\n", " ").replace("\\ ", "\0").split()
    return tuple(name.replace("\0", " ") for name in names)
