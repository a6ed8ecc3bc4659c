"""The float64 twin of a program: an emitted module goes in, a job that compiles it with double for float comes out."""

from __future__ import annotations

import re
from pathlib import Path
from typing import TYPE_CHECKING, Final

from slangad.compiler.emit.library import DOUBLE, library_text
from slangad.compiler.toolchain.request import CompileJob

if TYPE_CHECKING:
    from collections.abc import Mapping

    from slangad.compiler.emit.model import EmittedModule

_SHAPES: Final = ("", "2", "3", "4", *(f"{r}x{c}" for r in (2, 3, 4) for c in (2, 3, 4)))
MACROS: Final = (
    *((f"{word}{shape}", f"double{shape}") for word in ("float", "half") for shape in _SHAPES),
    ("toFloat", "check_to_double"),
)
_BITS: Final = "slangad_check_bits.slang"
_CASTS: Final = re.compile(r"\b(?:asuint|asint|f32tof16|toFloat)\b")
_TEXELS: Final = re.compile(
    r"\b((?:RW)?(?:Texture|Sampler)(?:1D|2D|3D|Cube)(?:Array)?\s*<\s*)(?:float|half)([234]?\s*>)"
)
"""Textures of floats, whose texels can't be double in Slang: nothing is read from them in a check."""
_IMPORT: Final = re.compile(r"^import slangad(?:_half)?;$", re.MULTILINE)


def build_job(
    emitted: EmittedModule,
    names: tuple[str, ...],
    include_dirs: tuple[str, ...],
    defines: tuple[tuple[str, str], ...],
    *,
    wide: bool,
    time_limit: float,
    files: tuple[str, ...] = (),
) -> CompileJob:
    """What the toolchain is asked: the entry points ``names`` for the CPU; ``wide`` with double for float and half.

    ``files`` are the Slang files that it depends on, the first one in the folder from which it is imported.
    """
    text = _widened(emitted.text) if wide else emitted.text
    modules = dict(emitted.libraries)
    if wide:
        modules[DOUBLE] = library_text(DOUBLE)
        modules |= _with_bits(files, modules)
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


def _with_bits(files: tuple[str, ...], known: Mapping[str, str]) -> dict[str, str]:
    """Copies of Slang files that look at the bits of floats, call ``toFloat`` or have textures of them, to be a twin's.

    All of one folder are copied if one needs it, since a file finds its neighbours before anything else. Some are
    ``known`` to have another text than on disk.
    """
    near = [Path(file) for file in files if Path(file).resolve().parent == Path(files[0]).resolve().parent]
    texts = {path.name: known.get(path.name) or path.read_text(encoding="utf-8", errors="replace") for path in near}
    changed = {name: _TEXELS.sub(r"\1int\2", text) for name, text in texts.items()}
    changed |= {
        name: f"{text}\nimport {_BITS.removesuffix('.slang')};\n"
        for name, text in changed.items()
        if _CASTS.search(text)
    }
    if changed == texts:
        return {}
    return {**changed, _BITS: library_text(_BITS)}


def _widened(text: str) -> str:
    found = _IMPORT.search(text)
    if not found:
        return text
    return _IMPORT.sub("", text[: found.start()] + f"import {DOUBLE.removesuffix('.slang')};" + text[found.end() :])
