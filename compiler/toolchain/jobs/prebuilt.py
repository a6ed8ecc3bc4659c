"""Keep library modules that many jobs import in Slang's binary form, which is read in a tenth of the time.

A build takes as long as two uses of the text. So a module is built only if it is certain to be used again: by several
jobs of a call, or in a later call. Code made from the binary form is the same, byte for byte.
"""

from __future__ import annotations

import hashlib
import re
from pathlib import Path
from typing import TYPE_CHECKING

from slangad.compiler.slang_text.files import text_of
from slangad.compiler.slang_text.search import search
from slangad.compiler.toolchain.identity import fingerprint
from slangad.compiler.toolchain.jobs.arguments import module_arguments
from slangad.compiler.toolchain.jobs.request import module_of

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable

    from slangad.compiler.toolchain.cache import Cache
    from slangad.compiler.toolchain.jobs.request import CompileJob, Macros, ModuleKey

    Build = Callable[[str, str, CompileJob], bytes | None]

_MANY_JOBS = 3
_WORTHWHILE = 4000
"""Characters; a smaller module parses in no time."""

_DEPENDS = re.compile(r"^\s*(?:import|__include|implementing|#\s*include)\b", re.MULTILINE)


class ModuleStore:
    """Binary modules of one compiler."""

    def __init__(self, compiler: Path, cache: Cache | None) -> None:
        self._compiler = fingerprint(compiler)
        self._cache = cache
        self._memory: dict[str, bytes] = {}
        self._seen: set[str] = set()
        self._refused: set[str] = set()

    def ready(self, jobs: Iterable[CompileJob], build: Build) -> dict[ModuleKey, bytes]:
        """Return the modules of these jobs that are to be used in binary form: name, text and macros, and the bytes.

        Args:
            jobs: The jobs that are compiled next.
            build: Makes a binary module of a name and text, with the options of a job; ``None`` when it can't.
        """
        users: dict[ModuleKey, list[CompileJob]] = {}
        for job in jobs:
            for name, text in job.modules if not job.extra_arguments else ():
                if "/" not in name and f'#include "{name}"' not in job.source:  # an import of a path reads text
                    users.setdefault(module_of(name, text, job), []).append(job)
        result: dict[ModuleKey, bytes] = {}
        for module, using in users.items():
            name, text, defines = module
            if len(text) >= _WORTHWHILE and not _DEPENDS.search(text) and "SLANGAD_" not in text:
                binary = self._get((name, text), self._key(name, text, defines), using, build)
                if binary:
                    result[module] = binary
        for module, using in _installed(jobs).items():
            path, _, defines = module
            binary = self._get((path, ""), self._key_of_installed(path, defines), using, build)
            if binary:
                result[module] = binary
        return result

    def _get(self, module: tuple[str, str], key: str, using: list[CompileJob], build: Build) -> bytes | None:
        binary = self._memory.get(key) or self._read(key)
        wanted = key not in self._refused and (len(using) >= _MANY_JOBS or self._used_before(key))
        if binary is None and wanted:
            binary = build(*module, using[0])
            self._refused |= set() if binary else {key}
            if binary and self._cache:
                self._cache.put(key, binary)
        if binary is not None:
            self._memory[key] = binary
        return binary

    def _read(self, key: str) -> bytes | None:
        return self._cache.get(key) if self._cache else None

    def _used_before(self, key: str) -> bool:
        """Return True if this module was asked for already, by this process or one before it; from now on it was."""
        mark = hashlib.sha256(f"{key} was used".encode()).hexdigest()
        before = key in self._seen or self._read(mark) is not None
        self._seen.add(key)
        if not before and self._cache:
            self._cache.put(mark, b"used")
        return before

    def _key_of_installed(self, path: str, defines: Macros) -> str:
        """Return a key that covers the texts of a module file and of the files that it reaches."""
        files = (path, *search(Path(path), ()).files)
        return self._key(path, "|".join(f"{file}|{text_of(file)}" for file in files), defines)

    def _key(self, name: str, text: str, defines: Macros) -> str:
        facts = "|".join((self._compiler, *module_arguments(name, "", defines), text))
        return hashlib.sha256(facts.encode()).hexdigest()


def _installed(jobs: Iterable[CompileJob]) -> dict[ModuleKey, list[CompileJob]]:
    """Return the jobs that use each installed module."""
    users: dict[ModuleKey, list[CompileJob]] = {}
    for job in jobs:
        for path in job.installed:
            users.setdefault(module_of(path, "", job), []).append(job)
    return users
