"""Write the sources of a job to a private folder for Slang, and map Slang's file names back.

The folder is removed at the end. Its name never reaches users: messages have the file names of the job, and
dependencies inside such folders are dropped. Binary modules remember the folder they were made in, so every folder of
this kind counts.
"""

from __future__ import annotations

import os
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

from slangad.compiler.toolchain.jobs.request import module_of
from slangad.compiler.toolchain.messages.failures import temporary_files
from slangad.compiler.toolchain.temporary import TemporaryFolder

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    from slangad.compiler.toolchain.jobs.request import CompileJob, ModuleKey
    from slangad.compiler.toolchain.messages.messages import SlangMessage

BINARY = ".slang-module"
"""The ending of Slang's binary modules; an import prefers them to text."""

_STAGED = "slangad-staged"


class Staging:
    """One temporary folder for the jobs of one call; each job gets a folder of its own in it."""

    def __init__(self) -> None:
        with temporary_files():
            self._root = TemporaryFolder()
        self._count = 0
        self._shared: dict[bytes, Path] = {}

    def __enter__(self) -> Staging:
        return self

    def __exit__(self, *_: object) -> None:
        self._root.close()

    def write(self, job: CompileJob, binaries: Mapping[ModuleKey, bytes] | None = None) -> Path:
        """Write a job's text and modules, in binary form where there is one; return where the text lies.

        Raises:
            ToolchainError: They can't be written.
        """
        with temporary_files():
            folder = self.folder()
            for path in job.installed:
                binary = (binaries or {}).get(module_of(path, "", job))
                if binary is not None:
                    self._share(folder / f"{Path(path).stem}{BINARY}", binary)
            for name, text in job.modules:
                binary = (binaries or {}).get(module_of(name, text, job))
                if binary is None:
                    (folder / name).parent.mkdir(parents=True, exist_ok=True)
                    (folder / name).write_text(text, encoding="utf-8")
                else:
                    self._share(folder / f"{Path(name).stem}{BINARY}", binary)
            source = folder / Path(job.name).name
            source.write_text(job.source, encoding="utf-8")
        return source

    def write_text(self, name: str, text: str) -> Path:
        """Write a text into one more folder; return where it lies.

        Raises:
            ToolchainError: It can't be written.
        """
        with temporary_files():
            path = self.folder() / name
            path.write_text(text, encoding="utf-8")
        return path

    def folder(self) -> Path:
        """Return one more folder, empty."""
        self._count += 1
        folder = self._root.path / str(self._count) / _STAGED
        folder.mkdir(parents=True)
        return folder

    def _share(self, path: Path, binary: bytes) -> None:
        """Write a file that other folders have too: large, so linked where links work."""
        first = self._shared.setdefault(binary, path)
        try:
            path.hardlink_to(first)
        except OSError:
            path.write_bytes(binary)


def real_dependencies(paths: Iterable[str]) -> tuple[str, ...]:
    """Return the files that lie on the user's disk, absolute and sorted."""
    full = {os.path.realpath(path) for path in paths if not _is_staged(Path(path))}
    return tuple(sorted(path for path in full if Path(path).is_file()))


def unstage(message: SlangMessage, staged: Path, job: CompileJob) -> SlangMessage:
    """Give a message, and its notes, the names the user knows for staged files."""
    file = message.file
    if _is_staged(Path(file)):
        parts = Path(file).parts
        name = "/".join(parts[parts.index(_STAGED) + 1 :])
        file = job.name if name == staged.name else name
    return replace(message, file=file, notes=tuple(unstage(note, staged, job) for note in message.notes))


def _is_staged(path: Path) -> bool:
    return _STAGED in path.parts[:-1]
