"""Make the job that compiles the float64 twin of an emitted module: the same text with double for float and half."""

from __future__ import annotations

import re
from os.path import relpath, sep
from pathlib import Path
from typing import TYPE_CHECKING, Final

from slangad.compiler.emit.library import DOUBLE, library_text
from slangad.compiler.slang_text.files import OUTSIDE, places, text_of
from slangad.compiler.toolchain.jobs.request import CompileJob

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
"""Textures of floats. Their texels cannot be double in Slang, and a check reads nothing from them."""
_CLIMBING: Final = re.compile(r'(\bimport\s+")((?:[^"\n]*/)?\.\./[^"\n]*)(")')
_IMPORT: Final = re.compile(r"^import slangad(?:_half)?;$", re.MULTILINE)


def build_job(
    emitted: EmittedModule,
    names: tuple[str, ...],
    include_dirs: tuple[str, ...],
    defines: tuple[tuple[str, str], ...],
    *,
    f64: bool,
    time_limit: float,
    files: tuple[str, ...] = (),
    slang_flags: tuple[str, ...] = (),
) -> CompileJob:
    """Return the compile job of the entry points ``names`` for the CPU.

    Args:
        emitted: The module.
        names: Its entry points.
        include_dirs: Folders of imports.
        defines: Macros.
        f64: True for double in place of float and half.
        time_limit: Seconds that the compiler may take.
        files: The Slang files that the module depends on.
        slang_flags: Further arguments of Slang.
    """
    text = _in_double(emitted.text) if f64 else emitted.text
    modules = dict(emitted.libraries)
    if f64:
        modules[DOUBLE] = library_text(DOUBLE)
        text, copies = _with_bits(text, files, include_dirs, modules)
        modules |= copies
    macros = MACROS if f64 else ()
    return CompileJob(
        emitted.file_name,
        text,
        names,
        ("cpp",),
        modules=tuple(modules.items()),
        include_dirs=include_dirs,
        defines=(*defines, *macros),
        whole=True,
        extra_arguments=slang_flags,
        time_limit=time_limit,
    )


def _with_bits(
    main: str, files: tuple[str, ...], folders: tuple[str, ...], known: Mapping[str, str]
) -> tuple[str, dict[str, str]]:
    """Return a twin's text with changed copies of Slang files that look at bits of floats or have textures of floats.

    If one file needs a change, all are copied, because an import finds its neighbours first. A copy keeps its path
    from the folders in which an import may find it. ``known`` has texts that differ from those on disk.
    """
    placed = {place: file for file in reversed(files) for place in reversed([*places(file, folders)])}
    texts = {place: known.get(place) or text_of(file) for place, file in placed.items()}
    changed = {place: _TEXELS.sub(r"\1int\2", text) for place, text in texts.items()}
    changed |= {
        place: f'{text}\nimport "{"../" * place.count("/")}{_BITS}";\n'
        for place, text in changed.items()
        if _CASTS.search(text)
    }
    if changed == texts:
        return main, {}
    touched = {_folder(place) for place, text in changed.items() if text != texts[place]}
    kept = [place for place in changed if not place.startswith(OUTSIDE) or _folder(place) in touched]
    at = {Path(placed[place]).resolve(): place for place in sorted(kept, key=len, reverse=True)}
    copies = {place: _led(changed[place], place, (str(Path(placed[place]).parent), *folders), at) for place in kept}
    return _led(main, "", folders, at), {**copies, _BITS: library_text(_BITS)}


def _folder(place: str) -> str:
    return place.rpartition("/")[0]


def _led(text: str, place: str, folders: tuple[str, ...], at: Mapping[Path, str]) -> str:
    """Return the text with imports by ``../`` redirected to the copies of their files."""

    def lead(found: re.Match[str]) -> str:
        meant = ((Path(folder) / found[2]).resolve() for folder in folders)
        copy = next((at[path] for path in meant if path in at), None)
        if copy is None:
            return found[0]
        return f"{found[1]}{relpath(copy, _folder(place) or '.').replace(sep, '/')}{found[3]}"

    return _CLIMBING.sub(lead, text)


def _in_double(text: str) -> str:
    found = _IMPORT.search(text)
    if not found:
        return text
    return _IMPORT.sub("", text[: found.start()] + f"import {DOUBLE.removesuffix('.slang')};" + text[found.end() :])
