"""Keep the generated files of a check for the user: Slang, its copies in both precisions, C++."""

from __future__ import annotations

from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from slangad.compiler.toolchain.jobs.request import CompileJob


@dataclass(frozen=True, slots=True)
class KeptFiles:
    """A folder for generated files."""

    folder: Path

    def of_file(self, path: Path) -> KeptFiles:
        """Return the folder for what is generated from a file."""
        near = path.is_relative_to(Path.cwd()) or not path.is_absolute()
        inside = path.relative_to(Path.cwd()) if near and path.is_absolute() else path
        return self.below(*(inside.parts if near and ".." not in inside.parts else (path.name,)))

    def below(self, *names: str) -> KeptFiles:
        """Return a folder in this one."""
        return replace(self, folder=self.folder.joinpath(*names))

    def write(self, name: str, content: str | bytes) -> Path:
        """Write a file. Return its path."""
        path = self.folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(content if isinstance(content, bytes) else content.encode())
        return path

    def add(self, job: CompileJob) -> None:
        """Write the texts of a compile."""
        for name, text in ((job.name, job.source), *job.modules):
            self.write(name, text)
