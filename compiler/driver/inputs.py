"""Split the words of the command line into files and kernel names, before any front end runs.

A folder means its description files, detected by content.
"""

from __future__ import annotations

import os
import re
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Final

from slangad.compiler.driver.manifest_text import FILE_NAME, REFLECTION
from slangad.compiler.emit.model import GENERATED
from slangad.compiler.slang_text.endings import SLANG, SLANG_ENDINGS, is_slang

if TYPE_CHECKING:
    from collections.abc import Collection, Iterable, Iterator, Sequence

    from slangad.compiler.errors.spans import Span
    from slangad.compiler.frontends.python.live import LiveDescription

_NAMED = re.compile(r"(?P<path>.+):(?P<kernel>[^\W\d]\w*)")
_DRIVE = re.compile(r"[A-Za-z]:\w*")
SIGNS: Final = {
    ".py": re.compile(rb"^\s*(?:import|from)\s+slangad\b", re.MULTILINE),
    ".yaml": re.compile(rb"^slangad\s*:", re.MULTILINE),
    ".yml": re.compile(rb"^slangad\s*:", re.MULTILINE),
    **dict.fromkeys(SLANG_ENDINGS, re.compile(rb"Differentiable")),
}
"""Texts by kind of file. A file without them has no gradients to check."""
_TESTS: Final = re.compile(r"conftest\.py|test_.*\.py|.*_test\.py")


@dataclass(frozen=True, slots=True)
class Input:
    """One describing file.

    Attributes:
        kernels: The kernels of it that are wanted; all if empty.
        files: The real paths of the files whose functions are wanted, if not all that are part of its text.
        live: The decorated object of the running program that is wanted in place of the file.
    """

    path: Path
    kernels: tuple[str, ...] = ()
    files: tuple[Path, ...] = ()
    live: LiveDescription | None = None

    @property
    def source(self) -> Path | LiveDescription:
        """The source that a front end loads."""
        return self.live or self.path

    def includes(self, span: Span) -> bool:
        """Return True if functions at a location are wanted."""
        return not self.files or not span.file or Path(span.file).resolve() in self.files


def parse_inputs(words: Iterable[str], *, included: bool = True) -> tuple[Input, ...]:
    """Read ``brdf.py`` or ``brdf.py:fit``; each file once, in order. A file includes its kernels.

    Without ``included``, the files of a folder are without headers and parts of modules that another of them includes.

    A file that is named in two ways, such as ``brdf.py`` and ``other/../brdf.py``, goes by the first. A folder without
    such files stands for itself, to be complained about.
    """
    wanted: dict[Path, tuple[str, ...]] = {}
    named: dict[str, Path] = {}
    folders: dict[str, str] = {}
    for word, kernel in (pair for each in words for pair in _unfolded(*_parse(each), included)):
        path = named.setdefault(_real_path(str(word), folders), word)
        known = wanted.get(path)
        whole = kernel is None or known == ()
        wanted[path] = () if whole or kernel is None else tuple(dict.fromkeys((*(known or ()), kernel)))
    return tuple(Input(path, kernels) for path, kernels in wanted.items())


def _real_path(path: str, folders: dict[str, str]) -> str:
    """Return a path without links. The folders of earlier paths are known: a thousand files lie in few of them."""
    folder, name = os.path.split(path)
    if name in ("", os.curdir, os.pardir) or os.path.islink(path):  # noqa: PTH114
        return os.path.realpath(path)
    if folder not in folders:
        folders[folder] = os.path.realpath(folder)
    return os.path.join(folders[folder], name)  # noqa: PTH118


def has_sign(path: Path) -> bool:
    """Return True if a file may describe something differentiable, as far as its ending and text tell."""
    sign = SIGNS.get(path.suffix)
    try:
        return sign is not None and sign.search(path.read_bytes()) is not None
    except OSError:
        return False


def _unfolded(path: Path, kernel: str | None, included: bool) -> Iterator[tuple[Path, str | None]]:  # noqa: FBT001
    """Yield a file as it is; in place of a folder its files, sorted: no tests, nothing hidden or made by slangad."""
    if not os.path.isdir(path):  # noqa: PTH112  (Path.is_dir raises for long names)
        yield path, kernel
        return
    files = [Path(file) for file in sorted(_shown_files(path), key=_parts) if _describes(file)]
    yield from ((file, None) for file in (files if included else _without_included(files)) or [path])


def _shown_files(path: Path) -> Iterator[str]:
    """Yield the files in a folder whose names are those of descriptions: no tests, nothing hidden."""
    endings = tuple(SIGNS)
    for folder, folders, names in os.walk(path):
        folders[:] = [name for name in folders if not name.startswith(".") and name != "__pycache__"]
        artefacts = _artefacts(names)
        for name in names:
            if name.endswith(endings) and name[0] != "." and name not in artefacts and not _TESTS.fullmatch(name):
                yield os.path.join(folder, name)  # noqa: PTH118  (a Path for each of thousands takes long)


def _artefacts(names: Sequence[str]) -> Collection[str]:
    """Return the files of a folder that slangad compiled, by their names: each has its reflection beside it."""
    if FILE_NAME not in names:
        return ()
    return {name.removesuffix(REFLECTION) for name in names if name.endswith(REFLECTION)}


def _parts(file: str) -> list[str]:
    """Return what paths are sorted by."""
    return os.path.normcase(file).split(os.sep)  # noqa: PTH206  (a Path for each of thousands takes long)


def _describes(file: str) -> bool:
    """Return True if the text of a file may describe something differentiable, and slangad did not emit it."""
    start = GENERATED.encode()
    try:
        with open(file, "rb") as content:  # noqa: PTH123  (thousands)
            text = content.read(len(start))
            return text != start and SIGNS[os.path.splitext(file)[1]].search(text + content.read()) is not None  # noqa: PTH122
    except OSError:
        return False


def _without_included(files: Sequence[Path]) -> Sequence[Path]:
    """Return files without the headers and parts of modules that another of them includes."""
    slang = [file for file in files if is_slang(file)]
    if not slang:
        return files
    from slangad.compiler.slang_text.files import source_of
    from slangad.compiler.slang_text.search import search

    textual = frozenset[Path]().union(*(search(file, ()).textual for file in slang))
    if not textual:
        return files
    return [
        file
        for file in files
        if file.resolve() not in textual or (file.suffix == SLANG and not source_of(str(file)).scan.is_part)
    ]


def _parse(word: str) -> tuple[Path, str | None]:
    """Return the path and the kernel of an input. Existing files and Windows drives keep their colons."""
    named = _NAMED.fullmatch(word)
    if named is None or _DRIVE.fullmatch(word) or os.path.exists(word):  # noqa: PTH110  (Path.exists raises for long names)
        return Path(word), None
    return Path(named["path"]), named["kernel"]
