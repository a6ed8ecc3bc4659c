"""The float64 twin of a program: an emitted module goes in, a job that compiles it with double for float comes out."""

from __future__ import annotations

import re
from pathlib import Path
from typing import TYPE_CHECKING, Final

from slangad.compiler.emit.library import DOUBLE, library_text
from slangad.compiler.toolchain.request import CompileJob

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

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

    ``files`` are the Slang files that it depends on.
    """
    text = _widened(emitted.text) if wide else emitted.text
    modules = dict(emitted.libraries)
    if wide:
        modules[DOUBLE] = library_text(DOUBLE)
        modules |= _with_bits(files, include_dirs, modules)
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


def _with_bits(files: tuple[str, ...], folders: tuple[str, ...], known: Mapping[str, str]) -> dict[str, str]:
    """Copies of Slang files that look at the bits of floats, call ``toFloat`` or have textures of them, to be a twin's.

    All are copied if one needs it, since a file finds its neighbours before anything else; each to where it lies from
    the folders in which an import may find it. Some are ``known`` to have another text than on disk.
    """
    placed = {place: file for file in reversed(files) for place in reversed([*_places(file, folders)])}
    texts = {
        place: known.get(place) or Path(file).read_text(encoding="utf-8", errors="replace")
        for place, file in placed.items()
    }
    changed = {place: _TEXELS.sub(r"\1int\2", text) for place, text in texts.items()}
    changed |= {
        place: f'{text}\nimport "{"../" * place.count("/")}{_BITS}";\n'
        for place, text in changed.items()
        if _CASTS.search(text)
    }
    if changed == texts:
        return {}
    return {**changed, _BITS: library_text(_BITS)}


def _places(file: str, folders: tuple[str, ...]) -> Iterator[str]:
    """The paths of a file from the folders that have it, however deep."""
    for full in (Path(file).absolute(), Path(file).resolve()):
        for folder in folders:
            for root in (Path(folder).absolute(), Path(folder).resolve()):
                if full.is_relative_to(root):
                    yield full.relative_to(root).as_posix()


def _widened(text: str) -> str:
    found = _IMPORT.search(text)
    if not found:
        return text
    return _IMPORT.sub("", text[: found.start()] + f"import {DOUBLE.removesuffix('.slang')};" + text[found.end() :])
