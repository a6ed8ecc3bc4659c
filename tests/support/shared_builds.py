"""C++ libraries, precompiled headers, binary library modules and Slang's results that a test makes serve the next.

They lie below the caches, which tests keep apart: a test with an empty cache still asks for a build and gets the bytes
that the compiler made of the same text. A prelude that is read once instead of each time saves a third of a build.
"""

from __future__ import annotations

import hashlib
from typing import TYPE_CHECKING

from slangad.compiler.runtime.device import cxx
from slangad.compiler.toolchain.cache import Cache
from slangad.compiler.toolchain.jobs import prebuilt
from slangad.compiler.toolchain.jobs.cached_results import ResultCache
from slangad.compiler.toolchain.locate import find_library

if TYPE_CHECKING:
    from pathlib import Path

    import pytest

    from slangad.compiler.runtime.device.cxx import CxxCompiler, Optimization

BUILD = cxx._build
"""Builds each time that it is called."""
START = prebuilt.ModuleStore.__init__
"""Makes a store that shares nothing unless it has a cache."""
_SESSION: dict[str, SharedCache] = {}
"""The session's store, under its only key."""


class SharedCache(Cache):
    """A cache that reads a precompiled header from disk once: its 13 MB cost 40 ms of processor time each time."""

    def __init__(self, folder: Path) -> None:
        super().__init__(folder)
        self._headers: dict[str, bytes] = {}

    def get(self, key: str, *, shared: bool = False) -> bytes | None:
        """Return what is stored under a key."""
        if key in self._headers:
            return self._headers[key]
        stored = super().get(key, shared=shared)
        if stored is not None and stored.startswith(cxx._OF_GCC):
            self._headers[key] = stored
        return stored


def share_builds(patch: pytest.MonkeyPatch, folder: Path) -> None:
    """Keep what this process builds in a folder, which other processes may share."""
    store = SharedCache(folder)
    patch.setitem(_SESSION, "store", store)

    def build(
        compiler: CxxCompiler,
        source: bytes,
        optimization: Optimization,
        *,
        native: bool,
        cache: Cache | None,
        more: tuple[str, ...],
    ) -> bytes:
        key = hashlib.sha256(f"built|{cxx._key(source, compiler, optimization, native=native)}".encode()).hexdigest()
        stored = store.get(key)
        if stored is not None:
            return stored
        library = BUILD(compiler, source, optimization, native=native, cache=store, more=more)
        store.put(key, library)
        return library

    def start(self: prebuilt.ModuleStore, compiler: Path, cache: Cache | None) -> None:
        START(self, compiler, cache or store)

    patch.setattr(cxx, "_build", build)
    patch.setattr(prebuilt.ModuleStore, "__init__", start)


def shared_results() -> ResultCache | None:
    """Return the session's results of Slang, for tests of what is made of them; None in a process of its own."""
    return ResultCache(_SESSION["store"], find_library()) if _SESSION else None


def build_each_time(patch: pytest.MonkeyPatch) -> None:
    """Let a test of the builds themselves have real ones."""
    patch.setattr(cxx, "_build", BUILD)
    patch.setattr(prebuilt.ModuleStore, "__init__", START)
