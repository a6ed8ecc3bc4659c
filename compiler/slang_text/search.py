"""Find the files that a Slang file brings in, and the folders in which they lie, as Slang searches them.

Slang looks for ``import a.b;`` in the folder of the importing file, then in the folders of ``-I``. Projects often pass
a root folder there: ``src`` for ``src/shaders/a/b.slang``. If exactly one folder above the importing file has the file,
that folder is such a root. Conditions are not evaluated.
"""

from __future__ import annotations

import os
import re
from collections import deque
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path
from typing import TYPE_CHECKING, Final

from slangad.compiler.slang_text.endings import SLANG
from slangad.compiler.slang_text.files import state_of

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence

_REFERENCE: Final = re.compile(
    r"""
    ^[^\S\n]*
    (?: (?:(?:__exported|public)\s+)* (?P<kind>import|__include) \s+
        (?: "(?P<quoted>[^"\n]+)" | (?P<dotted>[\w.]+) ) \s* ;
      | \#[^\S\n]*include[^\S\n]*["<](?P<file>[^">\n]+)[">]
    )
    """,
    re.MULTILINE | re.VERBOSE,
)
_ROOTS: Final = (".git", ".hg", ".svn")
"""The entries that mark the root folder of a repository. The search for imports stays inside it."""


@dataclass(frozen=True, slots=True)
class Reference:
    """An ``import``, ``__include`` or ``#include`` of a Slang text, with the path that it names.

    Attributes:
        written: The reference as it is written.
        line: Its line in the file.
    """

    kind: str
    path: str
    written: str
    line: int

    @property
    def names(self) -> tuple[str, ...]:
        """The paths of files that Slang takes for it."""
        if self.kind == "#include" or self.path.endswith(SLANG):
            return (self.path,)
        return tuple(dict.fromkeys((f"{self.path.replace('_', '-')}{SLANG}", f"{self.path}{SLANG}")))


@dataclass(frozen=True, slots=True)
class FoundFolder:
    """A folder above a Slang file in which its imports lie, and the first of them with the file that has it."""

    folder: str
    file: str
    reference: Reference

    @property
    def note(self) -> str:
        """A sentence about it for the user."""
        above = shown_path(self.folder)
        return f"'{self.reference.written}' is found in the parent folder {above}, which is searched as with -I {above}"


@dataclass(frozen=True, slots=True)
class Search:
    """The files and folders that a Slang file uses.

    Attributes:
        folders: The folders that no option names, in the order of their discovery.
        textual: The files that are part of its text: by ``#include`` and ``__include``, also through each other.
        files: All files that it reaches, without itself.
        missing: The imports and inclusions without a file, as written.
    """

    folders: tuple[FoundFolder, ...]
    textual: frozenset[Path]
    files: tuple[str, ...] = ()
    missing: tuple[str, ...] = ()


def references_of(file: str) -> tuple[Reference, ...]:
    """Return everything that a file brings in; nothing if it cannot be read."""
    try:
        return _references(file, state_of(file))
    except OSError:
        return ()


def folders_of(file: Path, include_dirs: Sequence[str]) -> tuple[str, ...]:
    """Return the folders for the imports of a Slang file: its own, those of the options, its parents."""
    import_folders = (one.folder for one in search(file, include_dirs).folders)
    return (str(file.absolute().parent), *include_dirs, *import_folders)


def shown_path(path: str) -> str:
    """Return a path as reports show it: relative to the working folder if it lies below or not far above it."""
    near = os.path.relpath(path)
    return path if near.startswith(os.path.join("..", "..", "..")) else near.replace(os.sep, "/")  # noqa: PTH118


def search(file: Path, include_dirs: Sequence[str]) -> Search:
    """Follow what a Slang file brings in, also through other files."""
    start = os.path.realpath(file)
    folders: dict[str, FoundFolder] = {}
    is_text = {start: True}
    missing: dict[str, None] = {}
    waiting = deque([(str(file.absolute()), True)])
    while waiting:
        path, importer_is_text = waiting.popleft()
        for reference in references_of(path):
            target = _find(reference, path, (*include_dirs, *folders)) or _find_above(reference, path, folders)
            if target is None:
                missing[reference.written] = None
                continue
            real, part = os.path.realpath(target), importer_is_text and reference.kind != "import"
            if real not in is_text or (part and not is_text[real]):
                is_text[real] = part
                waiting.append((target, part))
    textual = frozenset(Path(one) for one, part in is_text.items() if part and one != start)
    return Search(tuple(folders.values()), textual, tuple(one for one in is_text if one != start), tuple(missing))


def files_behind(file: Path, line: int, include_dirs: Sequence[str]) -> frozenset[Path]:
    """Return the files that a line of a Slang file brings in, also through other files."""
    folders = folders_of(file, include_dirs)[1:]
    waiting = [(str(file.absolute()), one) for one in references_of(str(file)) if one.line == line]
    result: set[str] = set()
    for importer, reference in waiting:
        path = _find(reference, importer, folders)
        if path is not None and path not in result:
            result.add(path)
            waiting += [(path, one) for one in references_of(path)]
    return frozenset(Path(path).resolve() for path in result)


def textual_files(file: Path, dependencies: Iterable[str]) -> frozenset[str]:
    """Return those of a file's dependencies that are part of its text: by ``#include`` and ``__include``."""
    others = {os.path.realpath(path): path for path in dependencies}
    paths = [os.path.realpath(file)]
    for path in paths:
        for name in (name for one in references_of(path) if one.kind != "import" for name in one.names):
            ending = os.path.normpath(name).replace(os.sep, "/").lstrip("./")
            paths += [other for other in others if other not in paths and f"/{other}".endswith(f"/{ending}")]
    return frozenset(others[path] for path in paths[1:])


@lru_cache(maxsize=1024)
def _references(file: str, _: tuple[int, int]) -> tuple[Reference, ...]:
    text = Path(file).read_text(encoding="utf-8", errors="replace")
    return tuple(
        Reference(
            match["kind"] or "#include",
            match["quoted"] or match["file"] or match["dotted"].replace(".", "/"),
            match[0].strip().removesuffix(";"),
            text.count("\n", 0, match.start()) + 1,
        )
        for match in _REFERENCE.finditer(text)
    )


def _find(reference: Reference, importer: str, folders: Sequence[str]) -> str | None:
    """Return the file that Slang takes for a reference, or None if it finds none."""
    for folder in (os.path.dirname(importer), *folders):  # noqa: PTH120  (paths are strings here, for speed)
        for name in reference.names:
            path = os.path.join(folder, name)  # noqa: PTH118
            if os.path.isfile(path):  # noqa: PTH113
                return os.path.normpath(path)
    return None


def _find_above(reference: Reference, importer: str, folders: dict[str, FoundFolder]) -> str | None:
    """Return the file of a reference below a parent folder of the importer, and record that folder.

    Return None if no parent folder has it or if several have.
    """
    parent = Path(importer).parent
    hits = [(folder, path) for folder in folders_above(parent) if (path := _find(reference, str(folder / "_"), ()))]
    if len(hits) != 1:
        return None
    (folder, path) = hits[0]
    folders[str(folder)] = FoundFolder(str(folder), importer, reference)
    return path


def folders_above(folder: Path) -> Iterator[Path]:
    """Yield the parents of a folder, up to the root of its repository."""
    while folder.parent != folder and not any((folder / mark).exists() for mark in _ROOTS):
        folder = folder.parent
        yield folder
