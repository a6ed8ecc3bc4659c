"""Limit the time of processes: one thread watches all of them and kills those whose time is up.

A limit adds almost nothing to a call of a few microseconds.
"""

from __future__ import annotations

import os
import signal
import sys
import threading
import time
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    import subprocess
    from collections.abc import Callable, Iterator

    Process = subprocess.Popen[bytes] | subprocess.Popen[str]

_ABOUT = 0.02
"""Seconds. A smaller rest of a time limit counts as none. Larger: processes end earlier."""


@contextmanager
def deadline(process: Process, limit: float, patience: float = 1.0) -> Iterator[Callable[[], bool]]:
    """Kill a process after ``limit`` seconds, and report if it happened.

    One that had the processor for less, since others want it too, has up to ``patience`` times as long for that.
    """
    timed = _Timed(process, limit, patience)
    _watchdog.add(timed)
    try:
        yield lambda: timed.expired
    finally:
        _watchdog.remove(timed)


def kill(process: Process) -> None:
    """Kill a process and whatever it started (Slang may run a C++ compiler)."""
    with suppress(OSError):
        if sys.platform == "win32":
            process.kill()
        elif process.poll() is None:
            os.killpg(process.pid, signal.SIGKILL)


@dataclass(eq=False)
class _Timed:
    """A process that has a limit of its own from now on; ``due`` is when to look at it."""

    process: Process
    limit: float
    patience: float
    expired: bool = False
    due: float = field(init=False)
    _begun: float = field(init=False)
    _before: float | None = field(init=False)

    def __post_init__(self) -> None:
        self._begun = time.monotonic()
        self._before = _worked(self.process) if self.patience > 1 else None
        self.due = self._begun + self.limit

    def look(self) -> None:
        """Kill the process if its time is up; or else say when to look again."""
        now = time.monotonic()
        passed = now - self._begun
        worked = None if self._before is None else _worked(self.process)
        spent = passed if worked is None or self._before is None else min(passed, worked - self._before)
        left = min(self.limit - spent, self.patience * self.limit - passed)
        self.due = now + left
        if left <= _ABOUT * self.limit:
            self.expired = True
            self.due = float("inf")
            kill(self.process)


class _Watchdog:
    """The thread that looks, and what it looks at."""

    def __init__(self) -> None:
        self._changed = threading.Condition()
        self._all: set[_Timed] = set()
        self._wakes = float("inf")
        self._thread: threading.Thread | None = None

    def add(self, timed: _Timed) -> None:
        """Look at a process when it is due; wake up for that only if nothing comes first."""
        with self._changed:
            self._all.add(timed)
            if self._thread is None:
                thread = threading.Thread(target=self._watch, name="slangad deadlines", daemon=True)
                thread.start()
                self._thread = thread
            if timed.due < self._wakes:
                self._changed.notify()

    def remove(self, timed: _Timed) -> None:
        """Forget a process: from here on it is not killed."""
        with self._changed:
            self._all.discard(timed)

    def _watch(self) -> None:
        with self._changed:
            while True:
                now = time.monotonic()
                for timed in [one for one in self._all if one.due <= now]:
                    timed.look()
                self._wakes = min((one.due for one in self._all), default=float("inf"))
                longest = threading.TIMEOUT_MAX
                self._changed.wait(min(longest, max(0.0, self._wakes - time.monotonic())))


def _worked(process: Process) -> float | None:
    """Return the processor time of a process in seconds; None if it has ended, or the system does not report it."""
    try:
        stat = Path(f"/proc/{process.pid}/stat").read_text(encoding="utf-8", errors="replace")
        user, system = stat.rpartition(")")[2].split()[11:13]
        return (int(user) + int(system)) / os.sysconf("SC_CLK_TCK")
    except (OSError, ValueError, AttributeError):
        return None


_watchdog = _Watchdog()


def _started_anew() -> None:
    """Forget the thread and the processes in a fork: the parent keeps both."""
    global _watchdog  # noqa: PLW0603  (the one of this process)
    _watchdog = _Watchdog()


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_started_anew)
