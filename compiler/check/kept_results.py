"""Keep the results of unchanged files in the cache, so that a second check of a folder runs nothing.

A result is kept for a file, or some that are checked through each other, with the options that can change it, and the
tools. It holds while every file that the check read has the same content, and no other file comes first in the search
for imports. A Python description is kept only if its files alone decide what it describes. Results that another run may
not give are not kept: crashes, time limits, functions that are not reproducible.
"""

from __future__ import annotations

import hashlib
import json
import pickle
import platform
import sys
import time
import zlib
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final, NamedTuple

import numpy as np

from slangad import __version__
from slangad.compiler.check.build.libraries import DEATHS
from slangad.compiler.check.build.repair_time import GIVEN_UP
from slangad.compiler.driver.description_cache import PurityScan
from slangad.compiler.report.model import Verdict
from slangad.compiler.runtime.device.cxx import find_cxx
from slangad.compiler.slang_text.endings import is_slang
from slangad.compiler.slang_text.search import folders_of, search
from slangad.compiler.toolchain.identity import fingerprint, own_code
from slangad.compiler.toolchain.jobs.cached_results import key_of_files
from slangad.compiler.toolchain.locate import find_library, find_slangc

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from slangad.compiler.check.options import CheckOptions
    from slangad.compiler.driver.inputs import Input
    from slangad.compiler.report.model import Result

_LEVEL: Final = 1
"""Compression: results are mostly numbers, which compress little."""
ANY_RUN: Final = (
    "strict",
    "fail_on",
    "min_checked",
    "shard",
    "costs",
    "time_limit",
    "run_limit",
    "workers",
    "cache",
    "full_command",
    "keep",
)
"""Options that change no result that is kept."""
_NEVER: Final = (
    *DEATHS.values(),
    GIVEN_UP,
    "did not finish within",
    "does not end within",
    "its samples take more than",
    "its process was killed",
    "it crashes (",
    "the check itself fails",
    "no type in its files fits",
)
"""Words of results that another run may not give."""


class FileResults(NamedTuple):
    """The results of a file.

    Attributes:
        sources: All files that they depend on; None if these are not known.
        seconds: The time for the file with everything that was compiled, not counting what was kept.
    """

    results: tuple[Result, ...]
    sources: tuple[str, ...] | None
    seconds: float = 0.0


@dataclass(frozen=True, slots=True)
class KeptResults:
    """Results of files in a cache.

    Attributes:
        options: Those of the check.
        include_dirs: The folders in which imports are searched besides that of the file.
        together: Further dependencies of the results: the other inputs, if the user names functions.
        begun: When the check began, as files have it.
    """

    options: CheckOptions
    include_dirs: tuple[str, ...]
    together: tuple[str, ...]
    begun: float = field(default_factory=time.time)

    def get(self, group: Sequence[Input]) -> dict[Path, FileResults]:
        """Return the results of unchanged files by path, marked as cached; nothing if there are none.

        Args:
            group: Files that are checked through each other (see ``planning.files.groups_of``).
        """
        cache = self.options.cache
        if cache is None or self.options.keep is not None or any(item.live for item in group):
            return {}
        key = self._key(group)
        listed = cache.get(key)
        if listed is None:
            return {}
        record = json.loads(listed)
        if any(Path(place).exists() for place in record["absent"]):
            return {}
        stored = cache.get(self._key_of_files(key, group, record["sources"]))
        if stored is None:
            return {}
        results: list[tuple[tuple[Result, ...], float]] = unpacked(stored)
        sources = tuple(record["sources"])
        marked = (
            FileResults(tuple(replace(one, cached=True) for one in of_file), sources, seconds)
            for of_file, seconds in results
        )
        return dict(zip((item.path for item in group), marked, strict=True))

    def put(self, group: Sequence[Input], fresh: Mapping[Path, FileResults]) -> None:
        """Keep the results of files if another run would give them too."""
        cache, of_group = self.options.cache, [fresh[item.path] for item in group]
        files = tuple(
            dict.fromkeys((*(str(item.path) for item in group), *(s for one in of_group for s in one.sources or ())))
        )
        known = all(one.sources is not None and all(map(is_repeatable, one.results)) for one in of_group)
        if cache is None or self.options.keep is not None or not known or any(map(self._is_newer, files)):
            return
        if any(item.live for item in group):
            return
        path = group[0].path
        scan = PurityScan(path, files) if path.suffix == ".py" else None
        if scan is not None and not scan.is_pure():
            return
        key = self._key(group)
        record = {"sources": files, "absent": [] if scan is None else scan.absent()}
        cache.put(key, json.dumps(record).encode())
        cache.put(self._key_of_files(key, group, files), packed([(one.results, one.seconds) for one in of_group]))

    def _is_newer(self, file: str) -> bool:
        """Return True if a file has changed, or may have, since the check began."""
        try:
            return Path(file).stat().st_mtime >= self.begun
        except OSError:
            return True

    def _key_of_files(self, key: str, group: Sequence[Input], files: Sequence[str]) -> str:
        of_group = (folders_of(item.path, self.include_dirs) for item in group if is_slang(item.path))
        return key_of_files(key, files, tuple(dict.fromkeys(folder for folders in of_group for folder in folders)))

    def _key(self, group: Sequence[Input]) -> str:
        """Return a hash of everything besides the contents of files."""
        options = self.options
        named = [getattr(options, name) for name in options.__slots__ if name not in ANY_RUN]
        reached = [search(item.path, self.include_dirs) for item in group if is_slang(item.path)]
        facts = [
            "check",
            [(str(item.path), item.kernels, [str(file) for file in item.files]) for item in group],
            str(Path.cwd()),
            self.together,
            named,
            [(one.files, one.missing, [searched.folder for searched in one.folders]) for one in reached],
            tools(options),
        ]
        return hashlib.sha256(repr(facts).encode()).hexdigest()


def packed(value: object) -> bytes:
    """Return a value as the cache keeps it."""
    return zlib.compress(pickle.dumps(value), _LEVEL)


def unpacked(data: bytes) -> Any:  # noqa: ANN401  (the caller knows what it kept)
    """Return a value that the cache kept."""
    return pickle.loads(zlib.decompress(data))  # noqa: S301  (the cache is the user's)


def is_repeatable(result: Result) -> bool:
    """Return True if another run with the same inputs gives the same result."""
    if result.verdict is Verdict.NONDETERMINISTIC:
        return False
    return not any(words in text for words in _NEVER for text in sentences_of(result))


def sentences_of(result: Result) -> tuple[str, ...]:
    """Return the sentences of a result."""
    return (
        result.reason,
        *(one.message for one in result.failures),
        *(note.message for note in result.notes),
        *(leg.detail for leg in result.legs),
    )


def tools(options: CheckOptions) -> list[str]:
    """Return the versions and hashes that identify slangad and the tools."""
    cxx = find_cxx()
    compiler = cxx.identity() if cxx is not None and cxx.is_there else ""
    slang = [fingerprint(find_library()), fingerprint(find_slangc(options.slangc)) if options.slangc else ""]
    return [__version__, own_code(), *slang, compiler, sys.version, np.__version__, platform.machine()]
