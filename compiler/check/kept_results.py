"""Keep the results of unchanged files in the cache, so that a second check of a folder runs nothing.

A result is kept for a file, the options that can change it, and the tools. It holds while every file that the check
read has the same content, and no other file comes first in the search for imports. A Python description is kept only if
its files alone decide what it describes. Results that another run may not give are not kept: crashes, time limits,
functions that are not reproducible.
"""

from __future__ import annotations

import hashlib
import json
import pickle
import platform
import sys
import zlib
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Final

import numpy as np

from slangad import __version__
from slangad.compiler.check.build.libraries import DEATHS
from slangad.compiler.driver.description_cache import PurityScan, own_code
from slangad.compiler.report.model import Verdict
from slangad.compiler.runtime.device.cxx import find_cxx
from slangad.compiler.slang_text.endings import is_slang
from slangad.compiler.slang_text.search import folders_of, search
from slangad.compiler.toolchain.jobs.cached_results import key_of_files
from slangad.compiler.toolchain.locate import find_library, find_slangc, fingerprint

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from slangad.compiler.check.options import CheckOptions
    from slangad.compiler.driver.inputs import Input
    from slangad.compiler.report.model import Result

_LEVEL: Final = 1
"""Compression: results are mostly numbers, which compress little."""
_ANY_RUN: Final = ("strict", "time_limit", "run_limit", "workers", "cache", "full_command")
"""Options that change no result that is kept."""
_NEVER: Final = (
    *DEATHS.values(),
    "did not finish within",
    "does not end within",
    "it crashes (",
    "the check itself fails",
)
"""Words of results that another run may not give."""


@dataclass(frozen=True, slots=True)
class KeptResults:
    """Results of files in a cache.

    Attributes:
        options: Those of the check.
        include_dirs: The folders in which imports are searched besides that of the file.
        together: What the results depend on besides the file: the other inputs, if names were asked for.
    """

    options: CheckOptions
    include_dirs: tuple[str, ...]
    together: tuple[str, ...]

    def get(self, item: Input) -> tuple[Result, ...] | None:
        """Return the results of an unchanged file, marked as cached; None if there are none."""
        cache = self.options.cache
        if cache is None:
            return None
        key = self._key(item)
        listed = cache.get(key)
        if listed is None:
            return None
        record = json.loads(listed)
        if any(Path(place).exists() for place in record["absent"]):
            return None
        stored = cache.get(self._key_of_files(key, item, record["sources"]))
        if stored is None:
            return None
        results: tuple[Result, ...] = pickle.loads(zlib.decompress(stored))  # noqa: S301  (the cache is the user's)
        return tuple(replace(result, cached=True) for result in results)

    def put(self, item: Input, results: Sequence[Result], sources: Iterable[str]) -> None:
        """Keep the results of a file that another run would give too.

        Args:
            item: The file.
            results: Its results.
            sources: All files that it depends on, as far as they are known.
        """
        cache, files = self.options.cache, tuple(dict.fromkeys((str(item.path), *sources)))
        if cache is None or not all(map(is_repeatable, results)):
            return
        scan = PurityScan(item.path, files)
        if item.path.suffix == ".py" and not scan.is_pure():
            return
        absent = scan.absent() if item.path.suffix == ".py" else []
        key = self._key(item)
        cache.put(key, json.dumps({"sources": files, "absent": absent}).encode())
        cache.put(self._key_of_files(key, item, files), zlib.compress(pickle.dumps(tuple(results)), _LEVEL))

    def _key_of_files(self, key: str, item: Input, files: Sequence[str]) -> str:
        folders = folders_of(item.path, self.include_dirs) if is_slang(item.path) else ()
        return key_of_files(key, files, folders)

    def _key(self, item: Input) -> str:
        """Return a hash of everything besides the contents of files."""
        options = self.options
        named = [getattr(options, name) for name in options.__slots__ if name not in _ANY_RUN]
        reached = search(item.path, self.include_dirs) if is_slang(item.path) else None
        facts = [
            "check",
            str(item.path),
            str(Path.cwd()),
            item.kernels,
            self.together,
            named,
            reached and (reached.files, reached.missing, [one.folder for one in reached.folders]),
            _tools(options),
        ]
        return hashlib.sha256(repr(facts).encode()).hexdigest()


def is_repeatable(result: Result) -> bool:
    """Return True if another run with the same inputs gives the same result."""
    if result.verdict is Verdict.NONDETERMINISTIC:
        return False
    said = (result.reason, *(one.message for one in result.failures), *(note.message for note in result.notes))
    return not any(words in text for words in _NEVER for text in said)


def _tools(options: CheckOptions) -> list[str]:
    """Return what identifies slangad and the tools."""
    cxx = find_cxx()
    compiler = cxx.identity() if cxx is not None and cxx.is_there else ""
    slang = [fingerprint(find_library()), fingerprint(find_slangc(options.slangc)) if options.slangc else ""]
    return [__version__, own_code(), *slang, compiler, sys.version, np.__version__, platform.machine()]
