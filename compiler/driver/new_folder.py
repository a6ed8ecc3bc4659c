"""Write the files of a template into a folder: what ``slangad init`` does."""

from __future__ import annotations

from dataclasses import dataclass
from functools import partial
from importlib.resources import files
from typing import IO, TYPE_CHECKING, Final

if TYPE_CHECKING:
    from collections.abc import Iterator
    from importlib.resources.abc import Traversable
    from pathlib import Path


@dataclass(frozen=True, slots=True)
class FolderTemplate:
    """A template.

    Attributes:
        doc: Its content in a few words.
        parts: Folders with the files that several templates have.
    """

    doc: str
    parts: tuple[str, ...]


TEMPLATES: Final[dict[str, FolderTemplate]] = {
    "kernel": FolderTemplate("a kernel in Python", ("common", "measured", "curve")),
    "pipeline": FolderTemplate("several kernels in Python", ("common", "measured")),
    "yaml": FolderTemplate("a kernel in YAML", ("common", "measured")),
    "slang": FolderTemplate("Slang files", ("common",)),
    "cmake": FolderTemplate("a C++ program", ("common", "curve")),
}
"""Every template by its name."""


class FilesExistError(Exception):
    """Files that a template would overwrite."""

    def __init__(self, paths: list[Path]) -> None:
        super().__init__(", ".join(map(str, paths)))
        self.paths = paths


def write_template(name: str, folder: Path) -> list[Path]:
    """Write the files of a template, and return their paths.

    Raises:
        FilesExistError: A file is there already; nothing was written.
        OSError: A file can't be written; nothing was written.
    """
    from slangad.compiler.toolchain.atomic import write_together

    root = files("slangad") / "templates" / "init"
    parts = (*TEMPLATES[name].parts, name)
    paths = {folder / path: text for part in parts for path, text in _texts(root / part)}
    existing = [path for path in paths if path.exists() or path.is_symlink()]
    if existing:
        raise FilesExistError(existing)
    write_together({path: partial(_write, text.encode()) for path, text in paths.items()})
    return sorted(paths)


def _write(content: bytes, file: IO[bytes]) -> None:
    file.write(content)


def _texts(folder: Traversable, prefix: str = "") -> Iterator[tuple[str, str]]:
    """Yield paths and texts. Names with a dot begin with ``dot_`` in the package, which leaves hidden files out."""
    for entry in folder.iterdir():
        name = prefix + ("." + entry.name.removeprefix("dot_") if entry.name.startswith("dot_") else entry.name)
        if entry.is_dir():
            if entry.name != "__pycache__":
                yield from _texts(entry, f"{name}/")
        else:
            yield name, entry.read_text(encoding="utf-8")


__all__ = ["TEMPLATES", "FilesExistError", "FolderTemplate", "write_template"]
