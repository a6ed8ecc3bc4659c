"""Find the results of jobs in the cache before anything is compiled, although imports are known only afterwards.

There are two steps. The key of the job finds the list of files that it depended on last time. That list, with the
present contents of the files, is the key of the result. The key of the job covers text, modules, arguments, compiler,
tools, slangad, and the changes that slangad makes to Slang's output. Folders and files are named from the job's first
folder, its own, so that results serve every machine and every place.
"""

from __future__ import annotations

import hashlib
import json
import os
from dataclasses import replace
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING, Final

from slangad import __version__
from slangad.compiler.ir.targets import TARGETS
from slangad.compiler.toolchain.identity import fingerprint
from slangad.compiler.toolchain.jobs.arguments import slangc_arguments
from slangad.compiler.toolchain.jobs.records import pack_result, unpack_result
from slangad.compiler.toolchain.tools import tool_of

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from slangad.compiler.toolchain.cache import Cache
    from slangad.compiler.toolchain.jobs.request import CompileJob, CompileResult

FINISHERS: Final = (
    *(f"jobs/{name}.py" for name in ("finishing", "cpp_linkage", "cpp_prelude", "reflection", "collect")),
    "workers/declarations.py",
)
"""Files of ``toolchain`` that change Slang's output before it is stored."""


class ResultCache:
    """Compile results of one compiler in a ``Cache``."""

    def __init__(self, cache: Cache, compiler: Path) -> None:
        self._cache = cache
        self._compiler = fingerprint(compiler)

    def get(self, job: CompileJob) -> CompileResult | None:
        """Return the result of this job, if it was stored and nothing it depends on changed."""
        key, base = self._job_key(job), _base(job)
        listed = self._cache.get(key, shared=True)
        if listed is None:
            return None
        files = [os.path.normpath(os.path.join(base, name)) for name in json.loads(listed)["dependencies"]]  # noqa: PTH118
        stored = self._cache.get(key_of_files(key, files, job.include_dirs, base), shared=True)
        return replace(unpack_result(stored), dependencies=tuple(files)) if stored is not None else None

    def put(self, job: CompileJob, result: CompileResult) -> None:
        """Store a result; one that failed in any way is not worth keeping. Messages have the names of files here."""
        if result.ok:
            key, base = self._job_key(job), _base(job)
            shared = not any(os.path.isabs(message.file) for message in result.messages)  # noqa: PTH117
            names = [_from(base, path) for path in result.dependencies]
            self._cache.put(key, json.dumps({"dependencies": names}).encode(), shared=shared)
            files_key = key_of_files(key, result.dependencies, job.include_dirs, base)
            self._cache.put(files_key, pack_result(replace(result, dependencies=())), shared=shared)

    def _job_key(self, job: CompileJob) -> str:
        base = _base(job)
        arguments = slangc_arguments(replace(job, include_dirs=()), Path(job.name), job.entry_points, job.targets)
        facts = [
            [_from(base, folder) for folder in job.include_dirs],
            base if job.extra_arguments else "",
            __version__,
            self._compiler,
            arguments,
            job.source,
            job.modules,
            job.whole,
            job.declarations,
            job.without,
            _tools(job),
            _finish(),
        ]
        return hashlib.sha256(json.dumps(facts).encode()).hexdigest()


@cache
def _finish() -> list[str]:
    """Return hashes of the code that changes Slang's output. A version number would be forgotten."""
    return [_content_hash(Path(__file__).parents[1] / name) for name in FINISHERS]


def _tools(job: CompileJob) -> list[str]:
    """Return the tools besides Slang that the targets use; a change of tool is a change of output."""
    tools = [tool for name in job.targets if (tool := tool_of(TARGETS[name]))]
    return [fingerprint(path) for tool in tools if (path := tool.find())]


def _base(job: CompileJob) -> str:
    """Return the folder from which keys name files; the root folder if the job has none."""
    return os.path.realpath(job.include_dirs[0]) if job.include_dirs else ""


def _from(base: str, path: str) -> str:
    """Return a path as seen from a folder; absolute without a folder, and on another drive."""
    try:
        return os.path.relpath(os.path.realpath(path), base) if base else path
    except ValueError:
        return path


def key_of_files(key: str, dependencies: Iterable[str], include_dirs: Iterable[str], base: str = "") -> str:
    """Return a key that covers the contents of files, and files of their names where imports look first.

    With ``base``, a folder, the key names files as seen from there.
    """
    digest = hashlib.sha256(key.encode())
    folders = [Path(folder).resolve() for folder in include_dirs]
    for name in dependencies:
        path = Path(name)
        for candidate in (*_shadows(path, folders), path):
            digest.update(f"|{_from(base, str(candidate))}|{_content_hash(candidate)}".encode())
    return digest.hexdigest()


def _shadows(path: Path, folders: Sequence[Path]) -> list[Path]:
    """Return the places in earlier include folders that an import would prefer to ``path``."""
    return [
        earlier / path.relative_to(folder)
        for index, folder in enumerate(folders)
        if path.is_relative_to(folder)
        for earlier in folders[:index]
    ]


def _content_hash(path: Path) -> str:
    try:
        return hashlib.sha256(path.read_bytes()).hexdigest()
    except OSError:
        return "absent"
