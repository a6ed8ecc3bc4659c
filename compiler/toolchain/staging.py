"""Sources that exist only in memory are written where Slang can read them, and its file names are mapped back.

Goes in: a job. Comes out: a private folder with the job's text and modules, removed at the end. Nothing of the folder's
name may reach users: messages get the job's own file names, dependencies inside the folder are dropped.
"""

from __future__ import annotations

import os
import shutil
import tempfile
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterable

    from slangad.compiler.toolchain.messages import SlangMessage
    from slangad.compiler.toolchain.request import CompileJob


class Staging:
    """One temporary folder for the jobs of one call; each job gets a folder of its own in it."""

    def __init__(self) -> None:
        self._root = Path(tempfile.mkdtemp(prefix="slangad-"))

    def __enter__(self) -> Staging:
        return self

    def __exit__(self, *_: object) -> None:
        shutil.rmtree(self._root, ignore_errors=True)

    def write(self, index: int, job: CompileJob) -> Path:
        """Write a job's text and modules; return where the text lies."""
        folder = self._root / str(index)
        folder.mkdir()
        for name, text in ((Path(job.name).name, job.source), *job.modules):
            (folder / name).write_text(text, encoding="utf-8")
        return folder / Path(job.name).name


def real_dependencies(paths: Iterable[str], staged: Path) -> tuple[str, ...]:
    """The files that lie on the user's disk, absolute and sorted."""
    folder = os.path.realpath(staged.parent)
    full = {os.path.realpath(path) for path in paths}
    return tuple(sorted(path for path in full if os.path.dirname(path) != folder and os.path.isfile(path)))  # noqa: PTH113, PTH120 (plain strings, many)


def unstage(message: SlangMessage, staged: Path, job: CompileJob) -> SlangMessage:
    """Give a message, and its notes, the names the user knows for staged files."""
    file = message.file
    if file and Path(file).parent == staged.parent:
        file = job.name if Path(file).name == staged.name else Path(file).name
    return replace(message, file=file, notes=tuple(unstage(note, staged, job) for note in message.notes))
