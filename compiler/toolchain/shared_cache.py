"""Read and write entries of a cache that several machines share: a folder, or a server that takes GET and PUT.

The local cache asks here for results that it lacks (``SLANGAD_SHARED_CACHE``). It verifies the checksum of each entry
that arrives. A server that does not answer is not asked again in this process: a cache only saves time.
"""

from __future__ import annotations

import os
import weakref
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING, Protocol

from slangad.compiler.toolchain.atomic import write_atomically

if TYPE_CHECKING:
    from http.client import HTTPConnection

VARIABLE = "SLANGAD_SHARED_CACHE"
READ_ONLY_VARIABLE = "SLANGAD_SHARED_CACHE_READ_ONLY"
AUTHORIZATION_VARIABLE = "SLANGAD_SHARED_CACHE_AUTHORIZATION"
_SECONDS = 10.0
"""Seconds to wait for the server. A larger value delays compiles when it hangs."""
_FOUND = 200
_MISSING = (403, 404)
"""Answers for an entry that does not exist. S3 answers 403 if the reader may not list."""
_STORED = range(200, 300)


class SharedCache(Protocol):
    """Entries by key, as bytes with their checksum."""

    def get(self, key: str) -> bytes | None:
        """Return an entry, or None."""

    def put(self, key: str, content: bytes) -> None:
        """Store an entry if possible."""


class SharedFolder:
    """A folder, for example on a file server."""

    def __init__(self, folder: Path, *, writes: bool) -> None:
        self._folder = folder
        self._writes = writes

    def get(self, key: str) -> bytes | None:
        """Return an entry, or None."""
        try:
            return (self._folder / key[:2] / key[2:]).read_bytes()
        except OSError:
            return None

    def put(self, key: str, content: bytes) -> None:
        """Store an entry, unless it is there or the folder can't be written."""
        path = self._folder / key[:2] / key[2:]
        if self._writes and not path.exists():
            with suppress(OSError):
                write_atomically(path, content)


class SharedServer:
    """A server: ``GET URL/ab/cdef…`` gives an entry, ``PUT`` stores one."""

    def __init__(self, url: str, *, writes: bool, authorization: str = "") -> None:
        from urllib.parse import urlsplit

        parts = urlsplit(url)
        self._is_secure = parts.scheme == "https"
        self._place = parts.netloc.rpartition("@")[2]
        self._path = parts.path.rstrip("/")
        self._query = f"?{parts.query}" if parts.query else ""
        self._writes = writes
        self._headers = {"Authorization": authorization} if authorization else {}
        self._connection: HTTPConnection | None = None
        self._is_silent = False

    def get(self, key: str) -> bytes | None:
        """Return an entry, or None."""
        status, content = self._ask("GET", key)
        return content if status == _FOUND else None

    def put(self, key: str, content: bytes) -> None:
        """Store an entry; a server that refuses one gets no more of them."""
        if self._writes:
            status, _ = self._ask("PUT", key, content)
            self._writes = status in _STORED

    def _ask(self, method: str, key: str, body: bytes | None = None) -> tuple[int, bytes]:
        """Return status and content of the answer; ask twice, since a kept connection may have been closed."""
        from http.client import HTTPConnection, HTTPException, HTTPSConnection

        for fresh in (self._connection is None, True):
            if self._is_silent:
                break
            try:
                if self._connection is None:
                    kind = HTTPSConnection if self._is_secure else HTTPConnection
                    self._connection = kind(self._place, timeout=_SECONDS)
                    weakref.finalize(self, self._connection.close)
                target = f"{self._path}/{key[:2]}/{key[2:]}{self._query}"
                self._connection.request(method, target, body, self._headers)
                answer = self._connection.getresponse()
                content = answer.read()
            except (OSError, HTTPException):
                if self._connection is not None:
                    self._connection.close()
                self._connection = None
                self._is_silent = fresh
                continue
            self._is_silent = method == "GET" and answer.status not in (_FOUND, *_MISSING)
            return answer.status, content
        return 0, b""


def shared_cache() -> SharedCache | None:
    """Return the cache that ``$SLANGAD_SHARED_CACHE`` names: a folder, or a URL of http or https."""
    where = os.environ.get(VARIABLE, "")
    if not where:
        return None
    writes = not os.environ.get(READ_ONLY_VARIABLE)
    if where.startswith(("http://", "https://")):
        return SharedServer(where, writes=writes, authorization=os.environ.get(AUTHORIZATION_VARIABLE, ""))
    return SharedFolder(Path(where), writes=writes)
