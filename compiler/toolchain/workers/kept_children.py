"""Keep children that wait for a request, for the next caller in this process: each takes 0.3 to 0.6 s to start.

A child is taken only where a new one would be the same: same module, arguments, search path, environment and limits.
It moves to the caller's working folder. A child that died, was interrupted or still works is never kept.
"""

from __future__ import annotations

import os
import sys
from contextlib import closing, contextmanager
from threading import Lock
from typing import TYPE_CHECKING, Final, NamedTuple

from slangad.compiler.toolchain.workers.frames import Move
from slangad.compiler.toolchain.workers.processes import Child

if TYPE_CHECKING:
    from collections.abc import Callable, Generator, Iterator

_MOST: Final = 6
"""The largest number of children that are kept. One with the Slang library takes 250 MB."""
_MOST_USES: Final = 200
"""The number of callers that a child serves. Slang keeps memory of what it compiled."""
_UNREAD: Final = frozenset(
    {"PYTEST_CURRENT_TEST", "SLANGAD_CACHE_DIR", "SLANGAD_CACHE_SIZE", "NO_COLOR", "GITHUB_STEP_SUMMARY"}
)
"""Variables that change often and that no child reads: children use no cache and print no report."""
_LOCK: Final = Lock()
_KEPT: Final[list[_Kept]] = []
_keepers = 0
"""The number of ``kept_children`` blocks in progress."""


class _Kept(NamedTuple):
    key: object
    child: Child
    uses: int


@contextmanager
def kept_children() -> Iterator[None]:
    """Keep idle children in this block; end them after the outermost one."""
    global _keepers  # noqa: PLW0603  (of this process)
    _keepers += 1
    try:
        yield
    finally:
        _keepers -= 1
        while not _keepers and _KEPT:
            _KEPT.pop().child.close()


class BorrowedChild:
    """A child that goes back to the kept ones if it is idle at its ``close``. Outside ``kept_children`` it ends then.

    Args:
        module: The module whose ``main`` the child runs, as of ``Child``.
        arguments: Arguments of that.
        paths: Where else the child looks for modules.
        is_last: Returns True if an answer is the last one to a request.
    """

    def __init__(
        self, module: str, *arguments: str, paths: tuple[str, ...] = (), is_last: Callable[[object], bool]
    ) -> None:
        self._key, self._uses = _key(module, arguments, paths), 1
        self._is_last = is_last
        self._idle = True
        kept = _taken(self._key)
        self._child: Child | None = kept.child if kept else Child(module, *arguments, paths=paths)
        if kept:
            self._uses += kept.uses

    def talk(self, request: object, limit: float, *, patience: float = 1.0) -> Generator[object, None, None]:
        """Send a request and pass on the answers, as ``Child.talk`` does."""
        assert self._child is not None  # noqa: S101  (nobody talks to a closed child)
        self._idle = False
        with closing(self._child.talk(request, limit, patience=patience)) as answers:
            for answer in answers:
                self._idle = self._is_last(answer)
                yield answer

    @property
    def is_expired(self) -> bool:
        """True if the child was killed at a time limit."""
        return self._child is not None and self._child.is_expired

    def close(self) -> None:
        """Keep the child for the next caller if it waits for a request; end it otherwise. Any thread may."""
        child, self._child = self._child, None
        if child is None:
            return
        if not (_keepers and self._idle and self._key and self._uses < _MOST_USES and child.is_running):
            child.close()
            return
        with _LOCK:
            _KEPT.append(_Kept(self._key, child, self._uses))
            spare = _KEPT.pop(0) if len(_KEPT) > _MOST else None
        if spare is not None:
            spare.child.close()


def _taken(key: object) -> _Kept | None:
    """Return the child that was kept last under a key, moved to the working folder; None if there is none."""
    while True:
        with _LOCK:
            found = next((one for one in reversed(_KEPT) if one.key == key), None) if key else None
            if found is None:
                return None
            _KEPT.remove(found)
        try:
            if found.child.is_running:
                found.child.tell(Move(os.getcwd()))  # noqa: PTH109  (text is enough)
                return found
        except OSError:  # it just ended, or the working folder is gone
            pass
        found.child.close()


def _key(module: str, arguments: tuple[str, ...], paths: tuple[str, ...]) -> object:
    """Return what children must have in common to stand for each other; None if nothing is kept."""
    if not _keepers:
        return None
    environment = {name: value for name, value in os.environ.items() if name not in _UNREAD}
    return os.getpid(), module, arguments, paths, environment, _limits()


def _limits() -> tuple[object, ...]:
    """Return the limits on files and memory that a new process inherits."""
    if sys.platform == "win32":
        return ()
    import resource

    return tuple(map(resource.getrlimit, (resource.RLIMIT_FSIZE, resource.RLIMIT_AS)))
