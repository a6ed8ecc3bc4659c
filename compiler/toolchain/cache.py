"""Store bytes on disk by key, with a checksum that is verified at each read.

Any number of processes may use it at a time: entries appear by renaming, are never changed, and may vanish at any
moment. An entry with a wrong checksum is deleted and counts as missing. If the folder is not writable, nothing is
stored and no error is reported, because the cache only saves time.
"""

from __future__ import annotations

import hashlib
import os
import sys
import tempfile
import time
from contextlib import suppress
from pathlib import Path

DIRECTORY_VARIABLE = "SLANGAD_CACHE_DIR"
SIZE_VARIABLE = "SLANGAD_CACHE_SIZE"
DEFAULT_SIZE = 512 * 1024 * 1024
_MAGIC = b"slangad1"
_HEADER = len(_MAGIC) + hashlib.sha256().digest_size
_EVICT_EVERY = 64 * 1024 * 1024
_KEEP = 0.8
_RECENT = 3600.0
"""Seconds after its last use in which an entry stays: a build whose entries exceed the limit must not evict its own."""
_MOST = 4
"""Times the limit that recent entries may take. A larger build compiles some kernels again in each run."""


class Cache:
    """Keys are hexadecimal digests; values are bytes.

    Args:
        directory: Where entries lie; made when first needed.
        limit: Bytes to stay under; the entries used longest ago go first. Those of the last hour may take more.
    """

    def __init__(self, directory: Path, limit: int = DEFAULT_SIZE) -> None:
        self.directory = directory
        self.limit = limit
        self._written = 0
        self._swept = False

    def get(self, key: str) -> bytes | None:
        """Return the value stored under a key; marks it as used."""
        path = self._path(key)
        try:
            content = path.read_bytes()
        except OSError:
            return None
        payload = content[_HEADER:]
        if content[:_HEADER] != _MAGIC + hashlib.sha256(payload).digest():
            with suppress(OSError):
                path.unlink()
            return None
        with suppress(OSError):
            os.utime(path)
        return payload

    def put(self, key: str, payload: bytes) -> None:
        """Store a value; an entry that is there already is replaced by this one."""
        path = self._path(key)
        try:
            path.parent.mkdir(parents=True, exist_ok=True)
            _write_atomically(path, _MAGIC + hashlib.sha256(payload).digest() + payload)
        except OSError:
            return
        self._written += len(payload)
        if not self._swept or self._written > min(_EVICT_EVERY, self.limit // 8):
            self._swept, self._written = True, 0
            self.evict()

    def evict(self) -> None:
        """Delete the entries used longest ago until the store is well under its limit, or only recent ones are left."""
        entries = sorted(_entries(self.directory))
        total = sum(size for _, size, _ in entries)
        if total <= self.limit:
            return
        recent = time.time() - _RECENT
        most = self.limit * _MOST
        for used, size, path in entries:
            if used >= recent and total <= most:
                return
            with suppress(OSError):
                path.unlink()
            total -= size
            if total <= self.limit * _KEEP:
                return

    def _path(self, key: str) -> Path:
        return self.directory / key[:2] / key[2:]


def default_cache() -> Cache | None:
    """Return the user's cache: ``$SLANGAD_CACHE_DIR`` or the platform's place, at most ``$SLANGAD_CACHE_SIZE`` bytes.

    A size of 0 disables it.
    """
    text = os.environ.get(SIZE_VARIABLE, "")
    limit = int(text) if text.isdigit() else DEFAULT_SIZE
    return Cache(cache_directory(), limit) if limit else None


def cache_directory() -> Path:
    """Return the folder of the user's cache."""
    named = os.environ.get(DIRECTORY_VARIABLE)
    if named:
        return Path(named)
    if sys.platform == "win32":
        return Path(os.environ.get("LOCALAPPDATA") or tempfile.gettempdir()) / "slangad" / "cache"
    if sys.platform == "darwin":
        return _home() / "Library" / "Caches" / "slangad"
    xdg = os.environ.get("XDG_CACHE_HOME", "")
    return (Path(xdg) if xdg.startswith("/") else _home() / ".cache") / "slangad"


def _home() -> Path:
    try:
        return Path.home()
    except RuntimeError:
        return Path(tempfile.gettempdir())


def _write_atomically(path: Path, content: bytes) -> None:
    handle, temporary = tempfile.mkstemp(dir=path.parent, prefix=".")
    try:
        with os.fdopen(handle, "wb") as file:
            file.write(content)
        Path(temporary).replace(path)
    except BaseException:
        with suppress(OSError):
            Path(temporary).unlink()
        raise


def _entries(directory: Path) -> list[tuple[float, int, Path]]:
    """Yield the time of last use, size and path of each entry, abandoned temporary files included."""
    found = []
    for path in directory.glob("??/*"):
        with suppress(OSError):
            status = path.stat()
            found.append((status.st_mtime, status.st_size, path))
    return found
