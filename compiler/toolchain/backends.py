"""Where a call of the compiler runs: in a worker process that holds the library, or in an external slangc's process.

A back end runs one call at a time, can be killed from another thread, and starts anew for the next call.
"""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import tempfile
import threading
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import IO, TYPE_CHECKING, BinaryIO, Protocol, cast

import slangad
from slangad.compiler.toolchain.events import Begin, Broken, Code, End, Event, Front, Reflection, Work
from slangad.compiler.toolchain.failures import failed
from slangad.compiler.toolchain.frames import receive, send
from slangad.compiler.toolchain.targets import TARGETS

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

_BOOTSTRAP = "import sys; sys.path.append(sys.argv.pop(1)); from slangad.compiler.toolchain.worker import main; main()"
_TAIL = 2000


class CompilerDiedError(Exception):
    """The compiler's process ended in the middle of a call.

    Attributes:
        how: ``SIGSEGV``, ``exit status 3``, or empty when the time limit struck.
        tail: The last of what it printed.
    """

    def __init__(self, how: str, tail: str = "") -> None:
        super().__init__(how)
        self.how = how
        self.tail = tail


class Backend(Protocol):
    """Runs calls of the compiler, one at a time."""

    def start(self) -> None:
        """Begin what takes time before the first call; may be left out."""

    def run(self, work: Work, limit: float) -> Iterator[Event]:
        """Run one call. Raises ``CompilerDiedError`` when the process ends early or ``limit`` seconds pass."""

    def close(self) -> None:
        """End whatever runs, from any thread; a call in progress raises ``CompilerDiedError``."""


class LibraryBackend:
    """Keeps one worker process with the Slang library; a new one after it died."""

    def __init__(self, library: Path) -> None:
        self._library = library
        self._process: subprocess.Popen[bytes] | None = None
        self._printed: IO[bytes] | None = None

    def start(self) -> None:
        """Start the worker unless it runs."""
        if self._process is None:
            root = Path(slangad.__file__).parent.parent
            command = [sys.executable, "-I", "-S", "-c", _BOOTSTRAP, os.fspath(root), os.fspath(self._library)]
            self._printed = tempfile.TemporaryFile()  # noqa: SIM115  (closed by close)
            self._process = subprocess.Popen(  # noqa: S603  (our own worker)
                command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=self._printed, start_new_session=True
            )

    def run(self, work: Work, limit: float) -> Iterator[Event]:
        """Send the call to the worker and pass on what it reports."""
        self.start()
        process = cast("subprocess.Popen[bytes]", self._process)
        with _deadline(process, limit) as expired:
            with suppress(BrokenPipeError):
                send(cast("BinaryIO", process.stdin), work)
            while not isinstance(event := receive(cast("BinaryIO", process.stdout)), End):
                if event is None:
                    raise self._bury(process, in_time=not expired())
                if isinstance(event, Broken):
                    self.close()
                    raise failed("SA244", f"the Slang library can't be used: {event.reason}", help=_REINSTALL)
                yield cast("Event", event)

    def close(self) -> None:
        """Kill the worker."""
        process, self._process = self._process, None
        if process is not None:
            _end(process)
        printed, self._printed = self._printed, None
        if printed is not None:
            printed.close()

    def _bury(self, process: subprocess.Popen[bytes], *, in_time: bool) -> CompilerDiedError:
        process.wait()
        tail = b""
        if self._printed is not None:
            self._printed.seek(0)
            tail = self._printed.read()[-_TAIL:]
        self.close()
        return CompilerDiedError(_cause(process.returncode) if in_time else "", tail.decode("utf-8", "replace"))


class SlangcBackend:
    """Runs an external slangc, one process for each call; a call must be for one unit."""

    def __init__(self, slangc: Path) -> None:
        self._slangc = slangc
        self._process: subprocess.Popen[str] | None = None

    def start(self) -> None:
        """Nothing to prepare."""

    def run(self, work: Work, limit: float) -> Iterator[Event]:
        """Run slangc and report the files it wrote as events."""
        (unit,) = work.units
        target, entry = work.names(unit)
        with tempfile.TemporaryDirectory(prefix="slangad-", ignore_cleanup_errors=True) as name:
            folder = Path(name)
            code, reflection, depfile = folder / f"code{TARGETS[target].extension}", folder / "r.json", folder / "d"
            files = ["-o", str(code), "-reflection-json", str(reflection), "-depfile", str(depfile)]
            yield Begin(target, entry)
            status, output = self._call([os.fspath(self._slangc), *work.arguments, *files], limit)
            yield Front(status == 0, output, _read_depfile(depfile))
            if reflection.is_file():
                yield Reflection(target, entry, reflection.read_text(encoding="utf-8"))
            yield Code(target, entry, code.read_bytes() if code.is_file() else None, "")

    def close(self) -> None:
        """Kill slangc."""
        process = self._process
        if process is not None:
            _kill(process)

    def _call(self, command: list[str], limit: float) -> tuple[int, str]:
        try:
            process = subprocess.Popen(  # noqa: S603  (the user named it)
                command,
                stdin=subprocess.DEVNULL,
                stdout=subprocess.PIPE,
                stderr=subprocess.STDOUT,
                encoding="utf-8",
                errors="replace",
                start_new_session=True,
            )
        except OSError as error:
            raise failed(
                "SA243", f"{self._slangc} can't be run: {error.strerror}", help="correct --slangc, or leave it out"
            ) from None
        self._process = process
        with _deadline(process, limit) as expired:
            output, _ = process.communicate()
        self._process = None
        if process.returncode < 0 or process.returncode > 255:
            raise CompilerDiedError("" if expired() else _cause(process.returncode), output[-_TAIL:])
        return process.returncode, output


_REINSTALL = "reinstall slangpy, or give an executable with --slangc"


@contextmanager
def _deadline(process: subprocess.Popen[bytes] | subprocess.Popen[str], limit: float) -> Iterator[Callable[[], bool]]:
    """Kill a process after ``limit`` seconds, and tell whether that was so."""
    expired = threading.Event()

    def strike() -> None:
        expired.set()
        _kill(process)

    timer = threading.Timer(limit, strike)
    timer.daemon = True
    timer.start()
    try:
        yield expired.is_set
    finally:
        timer.cancel()


def _kill(process: subprocess.Popen[bytes] | subprocess.Popen[str]) -> None:
    """Kill a process and whatever it started (Slang may run a C++ compiler)."""
    with suppress(OSError):
        if sys.platform == "win32":
            process.kill()
        elif process.poll() is None:
            os.killpg(process.pid, signal.SIGKILL)


def _end(process: subprocess.Popen[bytes]) -> None:
    _kill(process)
    process.wait()
    for pipe in (process.stdin, process.stdout):
        if pipe is not None:
            with suppress(OSError):
                pipe.close()


def _cause(status: int | None) -> str:
    if status is not None and status < 0:
        with suppress(ValueError):
            return signal.Signals(-status).name
    return f"exit status {status}"


def _read_depfile(path: Path) -> tuple[str, ...]:
    """The prerequisites of the one rule slangc writes."""
    if not path.is_file():
        return ()
    _, _, files = path.read_text(encoding="utf-8").partition(": ")
    names = files.replace("\\\n", " ").replace("\\ ", "\0").split()
    return tuple(name.replace("\0", " ") for name in names)
