"""Pickle loaded programs, so that workers of joblib, Dask, Ray and multiprocessing can call their kernels.

A program travels as its Slang, its signatures and the texts of its description, each with a hash. A worker reads no
Python of the description. Where the description is missing, its texts are written to a temporary folder; where it has
other contents, a warning says so and the sent texts are used.
"""

from __future__ import annotations

import atexit
import copyreg
import hashlib
import os
import shutil
import tempfile
import warnings
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

from slangad.compiler.api.program import RunnableProgram
from slangad.compiler.errors.diagnostics import CompileError
from slangad.compiler.toolchain.cache import default_cache

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable

_WRITTEN: Final[dict[str, Path]] = {}
"""The folders of this process that hold sent texts, by hash."""


@dataclass(frozen=True, slots=True)
class SentText:
    """One file of a description: its absolute path on the sender, and its text."""

    path: Path
    text: bytes

    @property
    def digest(self) -> str:
        """Return the hash of the text."""
        return hashlib.sha256(self.text).hexdigest()[:16]


def send(program: RunnableProgram) -> tuple[Callable[..., RunnableProgram], tuple[Any, ...]]:
    """Return what pickle keeps of a program: nothing of this process, such as its cache."""
    plain = {
        "file": program.file,
        "emitted": program.emitted,
        "plans": program.plans,
        "source": replace(program.source, cache=None),
        "pipelines": program.pipelines,
        "module": program.module,
        "item": replace(program.item, path=Path(program.item.path).absolute(), live=None),
        "options": replace(program.options, cache=None, dump=None),
        "products": program.products,
    }
    return receive, (plain, tuple(_texts(program)))


def with_products_of_object(program: RunnableProgram, second: list[RunnableProgram]) -> list[RunnableProgram]:
    """Return the program with products with Hessians of a decorated object, which only its own process can make."""
    if program.item.live is None or second:
        return second
    try:
        return [program.with_products()]
    except CompileError:
        return []


def receive(plain: dict[str, Any], texts: tuple[SentText, ...]) -> RunnableProgram:
    """Return a sent program, with this process' cache."""
    cache = default_cache()
    program = RunnableProgram(**plain)
    program = replace(
        program, source=replace(program.source, cache=cache), options=replace(program.options, cache=cache)
    )
    changed = [(one, here) for one in texts if (here := _digest_here(one.path)) not in ("", one.digest)]
    for one, here in changed:
        message = f"{one.path} is not the file that was sent (hash {one.digest}, here {here}): the sent one is used"
        warnings.warn(message, stacklevel=2)
    if changed or any(not one.path.is_file() for one in texts):
        return _moved(program, texts)
    return program


def _texts(program: RunnableProgram) -> Iterable[SentText]:
    """Yield the files of a description that exist. A cell of a notebook has none."""
    files = (str(program.item.path), *program.module.sources)
    for path in dict.fromkeys(Path(one).absolute() for one in files):
        if path.is_file():
            yield SentText(path, path.read_bytes())


def _digest_here(path: Path) -> str:
    try:
        return SentText(path, path.read_bytes()).digest
    except OSError:
        return ""


def _moved(program: RunnableProgram, texts: tuple[SentText, ...]) -> RunnableProgram:
    """Return the program with its description in a temporary folder, in the layout that it had."""
    root = Path(os.path.commonpath([one.path.parent for one in texts]))
    folder = _folder_of(texts, root)

    def here(name: str) -> str:
        path = Path(name).absolute()
        return str(folder / path.relative_to(root)) if path.is_relative_to(root) else name

    source = replace(program.source, include_dirs=tuple(here(name) for name in program.source.include_dirs))
    options = replace(program.options, include_dirs=tuple(here(name) for name in program.options.include_dirs))
    item = replace(program.item, path=Path(here(str(program.item.path))))
    return replace(program, source=source, options=options, item=item)


def _folder_of(texts: tuple[SentText, ...], root: Path) -> Path:
    """Return the folder of this process that holds the texts."""
    digest = hashlib.sha256(repr([(str(one.path), one.digest) for one in texts]).encode()).hexdigest()
    if digest not in _WRITTEN:
        folder = Path(tempfile.mkdtemp(prefix="slangad-sent-"))
        atexit.register(shutil.rmtree, folder, ignore_errors=True)
        for one in texts:
            path = folder / one.path.relative_to(root)
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_bytes(one.text)
        _WRITTEN[digest] = folder
    return _WRITTEN[digest]


copyreg.pickle(RunnableProgram, send)
