"""The float64 twin of a program: an emitted module goes in, a job that compiles it with double for float comes out."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Final

from slangad.compiler.emit.library import DOUBLE, library_text
from slangad.compiler.toolchain.request import CompileJob

if TYPE_CHECKING:
    from slangad.compiler.emit.model import EmittedModule

_SHAPES: Final = ("", "2", "3", "4", *(f"{r}x{c}" for r in (2, 3, 4) for c in (2, 3, 4)))
MACROS: Final = tuple((f"{word}{shape}", f"double{shape}") for word in ("float", "half") for shape in _SHAPES)
_IMPORT: Final = re.compile(r"^import slangad(?:_half)?;$", re.MULTILINE)


def build_job(
    emitted: EmittedModule,
    names: tuple[str, ...],
    include_dirs: tuple[str, ...],
    defines: tuple[tuple[str, str], ...],
    *,
    wide: bool,
    time_limit: float,
) -> CompileJob:
    """What the toolchain is asked: the entry points ``names`` for the CPU; ``wide`` with double for float and half."""
    text = _widened(emitted.text) if wide else emitted.text
    modules = dict(emitted.libraries)
    if wide:
        modules[DOUBLE] = library_text(DOUBLE)
    own = () if not wide else MACROS
    return CompileJob(
        emitted.file_name,
        text,
        names,
        ("cpp",),
        modules=tuple(modules.items()),
        include_dirs=include_dirs,
        defines=(*defines, *own),
        whole=True,
        time_limit=time_limit,
    )


def _widened(text: str) -> str:
    found = _IMPORT.search(text)
    if not found:
        return text
    return _IMPORT.sub("", text[: found.start()] + f"import {DOUBLE.removesuffix('.slang')};" + text[found.end() :])
