"""Share memory between two processes: the bytes of a buffer of the cpu device, mapped here and in its worker.

A segment has a place by which another process of the same user maps the same bytes.
"""

from __future__ import annotations

import errno
import mmap
import os
import sys
import tempfile
from contextlib import suppress
from pathlib import Path


class Segment:
    """Zeroed memory. It is freed once it is closed and no array uses it, at the latest with the process.

    Attributes:
        memory: The bytes.
    """

    def __init__(self, size: int) -> None:
        """Allocate ``size`` bytes, at least one.

        Raises:
            MemoryError: There isn't that much.
            OSError: A file of that size can't be made, for another reason.
        """
        self._file = -1
        self._file, self._path = _nameless() or _named()
        self._owner = os.getpid()
        try:
            _reserve(self._file, max(1, size))
            self.memory = mmap.mmap(self._file, max(1, size))
        except (OSError, OverflowError, ValueError) as error:
            self.close()
            if isinstance(error, OSError) and (self._path or error.errno == errno.EFBIG):
                raise
            raise MemoryError from None

    @property
    def place(self) -> str:
        """Return the location for ``attach`` in another process."""
        return self._path or f"/proc/{os.getpid()}/fd/{self._file}"

    @property
    def closed(self) -> bool:
        """Return True if it was closed."""
        return self._file < 0

    def private(self) -> mmap.mmap:
        """Return the same bytes in a private mapping, of which a fork gets its own pages.

        Raises:
            OSError: There are too many mappings or open files.
        """
        return mmap.mmap(self._file, len(self.memory), access=mmap.ACCESS_COPY)

    def close(self) -> None:
        """Release the memory; arrays over it stay valid."""
        file, self._file = self._file, -1
        if file < 0:
            return
        os.close(file)
        if self._path and self._owner == os.getpid():  # a fork leaves the file to its parent
            with suppress(OSError):
                Path(self._path).unlink()

    def __del__(self) -> None:
        self.close()


def attach(place: str, size: int) -> mmap.mmap:
    """Map a segment of another process."""
    file = os.open(place, os.O_RDWR | getattr(os, "O_BINARY", 0))
    try:
        return mmap.mmap(file, max(1, size))
    finally:
        os.close(file)


def free_memory() -> int | None:
    """Return the bytes available before this machine or its container runs out; None if unknown."""
    known = [amount for amount in (_machine_free(), _group_free()) if amount is not None]
    return min(known, default=None)


def free_addresses() -> int | None:
    """Return the bytes that this process may still map under ``ulimit -v``; None without a limit, or if unknown."""
    if sys.platform == "win32":
        return None
    import resource

    limit, _ = resource.getrlimit(resource.RLIMIT_AS)
    if limit == resource.RLIM_INFINITY:
        return None
    try:
        pages = int(Path("/proc/self/statm").read_text(encoding="ascii").split()[0])
    except OSError:
        return None
    return max(0, limit - pages * resource.getpagesize())


def _reserve(file: int, size: int) -> None:
    """Set a file's size and reserve its memory if possible: it must not run out later, in a kernel."""
    os.ftruncate(file, size)
    take = getattr(os, "posix_fallocate", None)
    if take is not None:
        take(file, 0, size)


def _nameless() -> tuple[int, str] | None:
    """Return a file that is in no folder, so that nothing can be left behind."""
    make = getattr(os, "memfd_create", None)
    if make is None or not Path("/proc/self/fd").is_dir():
        return None
    file: int = make("slangad")
    return file, ""


def _named() -> tuple[int, str]:
    return tempfile.mkstemp(prefix="slangad-")


def _machine_free() -> int | None:
    try:
        lines = Path("/proc/meminfo").read_text(encoding="ascii").splitlines()
    except OSError:
        return None
    return next((1024 * int(line.split()[1]) for line in lines if line.startswith("MemAvailable:")), None)


def _group_free() -> int | None:
    """Return the bytes that the container's limit leaves. Cached files count as free, since they can be dropped."""
    group = Path("/sys/fs/cgroup")
    try:
        limit, used = ((group / name).read_text(encoding="ascii").strip() for name in ("memory.max", "memory.current"))
        statistics = (group / "memory.stat").read_text(encoding="ascii").split()
        dropped = int(statistics[statistics.index("inactive_file") + 1])
        return None if limit == "max" else int(limit) - int(used) + dropped
    except (OSError, ValueError):
        return None
