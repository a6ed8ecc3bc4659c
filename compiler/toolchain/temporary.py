"""Folders for temporary files, in TMPDIR. The next process that makes one removes the folders of killed processes.

A process locks each of its folders, and the operating system drops the locks of a process that ends, however it ends.
Where folders cannot be locked (Windows, some network drives) nothing is removed for others.
"""

from __future__ import annotations

import os
import re
import shutil
import tempfile
from contextlib import suppress
from importlib.util import find_spec
from pathlib import Path
from typing import Final

_HAS_LOCKS: Final = find_spec("fcntl") is not None
"""False on Windows."""
_PREFIX: Final = "slangad-tmp-"
_NO_LOCK: Final = -1
_swept: Final[set[tuple[str, str]]] = set()
"""Places where this process has looked for abandoned folders."""


class TemporaryFolder:
    """A folder until it is closed; a fork of its process leaves it alone.

    Attributes:
        path: The folder.
    """

    def __init__(self, prefix: str = _PREFIX) -> None:
        """Make it.

        Raises:
            OSError: It can't be made.
        """
        place = tempfile.gettempdir()
        if (place, prefix) not in _swept:
            _swept.add((place, prefix))
            remove_abandoned(Path(place), prefix)
        self._owner = os.getpid()
        self.path, self._lock = _locked_folder(prefix)

    def __enter__(self) -> Path:
        return self.path

    def __exit__(self, *_: object) -> None:
        self.close()

    def close(self) -> None:
        """Remove the folder with all that is in it."""
        if os.getpid() == self._owner:
            shutil.rmtree(self.path, ignore_errors=True)
        self.leave()

    def leave(self) -> None:
        """Unlock the folder and let it be: the next process removes it."""
        lock, self._lock = self._lock, _NO_LOCK
        if lock != _NO_LOCK:
            os.close(lock)


def remove_abandoned(place: Path, prefix: str = _PREFIX) -> None:
    """Remove the folders with this prefix whose processes have ended."""
    name = re.compile(re.escape(prefix) + r"\w{8}")
    with suppress(OSError):
        for path in place.iterdir():
            if name.fullmatch(path.name) and not path.is_symlink():
                _remove_if_abandoned(path)


def _remove_if_abandoned(path: Path) -> None:
    lock = _lock_of(path)
    if lock is None or lock == _NO_LOCK:
        return
    try:
        if os.fstat(lock).st_uid == os.getuid():
            shutil.rmtree(path, ignore_errors=True)
    finally:
        os.close(lock)


def _locked_folder(prefix: str) -> tuple[Path, int]:
    """Make a folder and lock it; make another if one that removes abandoned folders was faster."""
    while True:
        path = Path(tempfile.mkdtemp(prefix=prefix))
        lock = _lock_of(path)
        if lock == _NO_LOCK or (lock is not None and path.exists()):
            return path, lock
        if lock is not None:
            os.close(lock)


def _lock_of(path: Path) -> int | None:
    """Return the lock of a folder; None if another process has it or it is gone, -1 where there are no locks."""
    if not _HAS_LOCKS:
        return _NO_LOCK
    import fcntl

    try:
        file = os.open(path, os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW)  # a pipe of that name would block
    except OSError:
        return None
    try:
        fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except OSError as error:
        os.close(file)
        return None if isinstance(error, BlockingIOError) else _NO_LOCK
    return file
