"""Store bytes on disk by key, compressed, with a checksum that is verified at each read.

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
import zlib
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING

from slangad.compiler.toolchain.atomic import write_atomically
from slangad.compiler.toolchain.shared_cache import shared_cache

if TYPE_CHECKING:
    from slangad.compiler.toolchain.shared_cache import SharedCache

DIRECTORY_VARIABLE = "SLANGAD_CACHE_DIR"
SIZE_VARIABLE = "SLANGAD_CACHE_SIZE"
DEFAULT_SIZE = 512 * 1024 * 1024
_MAGIC = b"slangad2"
_HEADER = len(_MAGIC) + hashlib.sha256().digest_size
_LEVEL = 1
"""Of zlib. A higher level makes entries little smaller and takes several times as long."""
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
        shared: A second cache, for the entries that machines share.
    """

    def __init__(self, directory: Path, limit: int = DEFAULT_SIZE, shared: SharedCache | None = None) -> None:
        self.directory = directory
        self.limit = limit
        self._shared = shared
        self._written = 0
        self._swept = False

    def get(self, key: str, *, shared: bool = False) -> bytes | None:
        """Return the value stored under a key, also from the shared cache; mark it as used."""
        path = self._path(key)
        try:
            content = path.read_bytes()
        except OSError:
            return self._arrived(key) if shared and self._shared else None
        payload = _unpacked(content)
        if payload is None:
            with suppress(OSError):
                path.unlink()
            return self._arrived(key) if shared and self._shared else None
        with suppress(OSError):
            os.utime(path)
        return payload

    def put(self, key: str, payload: bytes, *, shared: bool = False) -> None:
        """Store a value, also in the shared cache; an entry that is there already is replaced by this one."""
        packed = zlib.compress(payload, _LEVEL)
        content = _MAGIC + hashlib.sha256(packed).digest() + packed
        self._write(key, content)
        if shared and self._shared:
            self._shared.put(key, content)

    def _arrived(self, key: str) -> bytes | None:
        """Return the value of an entry of the shared cache, if it is whole, and keep it here."""
        content = self._shared.get(key) if self._shared else None
        payload = _unpacked(content) if content else None
        if content and payload is not None:
            self._write(key, content)
        return payload

    def _write(self, key: str, content: bytes) -> None:
        path = self._path(key)
        try:
            write_atomically(path, content)
        except OSError:
            return
        self._written += len(content)
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

    def usage(self) -> tuple[int, int]:
        """Return the number of entries and their bytes."""
        entries = _entries(self.directory)
        return len(entries), sum(size for _, size, _ in entries)

    def clear(self) -> tuple[int, int]:
        """Delete all entries; return their number and bytes."""
        used = self.usage()
        for _, _, path in _entries(self.directory):
            with suppress(OSError):
                path.unlink()
        return used

    def _path(self, key: str) -> Path:
        return self.directory / key[:2] / key[2:]


def _unpacked(content: bytes) -> bytes | None:
    """Return the value in an entry; None if its checksum is wrong."""
    packed = content[_HEADER:]
    if content[:_HEADER] != _MAGIC + hashlib.sha256(packed).digest():
        return None
    return zlib.decompress(packed)


def default_cache(directory: Path | None = None) -> Cache | None:
    """Return a cache in this folder or the user's, with the shared one of ``$SLANGAD_SHARED_CACHE``.

    The user's cache is ``$SLANGAD_CACHE_DIR`` or the platform's place. It takes at most ``$SLANGAD_CACHE_SIZE`` bytes.
    A size of 0 disables it.
    """
    text = os.environ.get(SIZE_VARIABLE, "")
    limit = int(text) if text.isdigit() and not directory else DEFAULT_SIZE
    return Cache(directory or cache_directory(), limit, shared_cache()) if limit else None


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


def _entries(directory: Path) -> list[tuple[float, int, Path]]:
    """Yield the time of last use, size and path of each entry, abandoned temporary files included."""
    result = []
    for path in directory.glob("??/*"):
        with suppress(OSError):
            status = path.stat()
            result.append((status.st_mtime, status.st_size, path))
    return result
