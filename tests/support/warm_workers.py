"""Worker processes that are idle when a test closes them serve the next test: each takes 0.3 to 0.6 s to start.

A worker is taken from the stock only where a new one would be the same: same module, arguments, folder, environment.
"""

from __future__ import annotations

import os
import sys
from contextlib import closing
from pathlib import Path
from threading import Lock
from typing import TYPE_CHECKING

from slangad.compiler.check.workers import worker as check_worker
from slangad.compiler.toolchain.workers import backends
from slangad.compiler.toolchain.workers.events import End
from slangad.compiler.toolchain.workers.processes import Child

if TYPE_CHECKING:
    from collections.abc import Generator

    import pytest

MOST = 4
"""Idle workers that are kept; one with the Slang library takes 250 MB."""
_STOCK: list[tuple[object, Child]] = []
_LOCK = Lock()


def use_warm_workers(patch: pytest.MonkeyPatch) -> None:
    """Let the toolchain and the check take their workers from the stock."""
    patch.setattr(backends, "Child", WarmChild)
    patch.setattr(check_worker, "Child", WarmChild)


def end_warm_workers() -> None:
    """End the idle workers."""
    while _STOCK:
        _STOCK.pop()[1].close()


class WarmChild:
    """Stands for ``Child``; ``close`` puts an idle process back into the stock and ends any other."""

    def __init__(self, module: str, *arguments: str, paths: tuple[str, ...] = ()) -> None:
        environment = {name: value for name, value in os.environ.items() if name != "PYTEST_CURRENT_TEST"}
        self._key = (os.getpid(), Path.cwd(), module, arguments, paths, environment, _limits())
        self._child: Child | None = _taken(self._key) or Child(module, *arguments, paths=paths)
        self._one_answer = module == check_worker.__name__
        self._idle = True

    def talk(self, request: object, limit: float, *, patience: float = 1.0) -> Generator[object, None, None]:
        """Pass on a request and its answers."""
        assert self._child is not None
        self._idle = False
        with closing(self._child.talk(request, limit, patience=patience)) as answers:
            for answer in answers:
                self._idle = isinstance(answer, End) or (
                    self._one_answer and not isinstance(answer, check_worker.BrokenCheck)
                )
                yield answer

    def close(self) -> None:
        """Put the process back if it waits for a request, end it otherwise."""
        child, self._child = self._child, None
        if child is None:
            return
        if not self._idle or child._process.poll() is not None:
            child.close()
            return
        with _LOCK:
            _STOCK.append((self._key, child))
            spare = _STOCK.pop(0)[1] if len(_STOCK) > MOST else None
        if spare is not None:
            spare.close()


def _taken(key: object) -> Child | None:
    """Return the idle process that was put back last under this key, if it lives."""
    with _LOCK:
        found = next((one for one in reversed(_STOCK) if one[0] == key), None)
        if found is None:
            return None
        _STOCK.remove(found)
    child = found[1]
    if child._process.poll() is None:
        return child
    child.close()
    return None


def _limits() -> tuple[object, ...]:
    """Return the limits on files and memory that a new process inherits."""
    if sys.platform == "win32":
        return ()
    import resource

    return tuple(map(resource.getrlimit, (resource.RLIMIT_FSIZE, resource.RLIMIT_AS)))
