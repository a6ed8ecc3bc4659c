"""Make the job that compiles an emitted module for the CPU, or its float64 twin: with double for float and half."""

from __future__ import annotations

import re
from dataclasses import replace
from typing import TYPE_CHECKING, Final

from slangad.compiler.check.twins.one_lane import LANES, in_one_lane, uses_lanes
from slangad.compiler.emit.library import DOUBLE, library_text
from slangad.compiler.slang_text.copies import with_copies
from slangad.compiler.toolchain.jobs.request import CompileJob

if TYPE_CHECKING:
    from slangad.compiler.emit.model import EmittedModule
    from slangad.compiler.slang_text.copies import SourceTexts

_SHAPES: Final = ("", "2", "3", "4", *(f"{r}x{c}" for r in (2, 3, 4) for c in (2, 3, 4)))
_AS_ON_GPUS: Final = ("SLANGAD_REPLAY", "")
"""The check runs the derivatives of loops that GPUs have, not those that Slang makes for the CPU."""
MACROS: Final = (
    *((f"{word}{shape}", f"double{shape}") for word in ("float", "half") for shape in _SHAPES),
    ("toFloat", "check_to_double"),
)
_BITS: Final = "slangad_check_bits.slang"
_NUMBER: Final = r"-?\s*(?:\d+\.\d*|\.\d+|\d+(?=[eE]))(?:[eE][-+]?\d+)?[fFhH]?"
_LITERALS: Final = re.compile(rf"(\bdiffPair\s*\(\s*|\b(?:var|let)\s+\w+\s*=\s*)({_NUMBER})(?=\s*[,;)])")
"""Float literals that make a variable or a pair of their type."""
_CASTS: Final = re.compile(r"\b(?:as(?:uint|int)(?:16)?|f32tof16|toFloat)\b")
_TEXELS: Final = re.compile(
    r"\b((?:RW)?(?:Texture|Sampler)(?:1D|2D|3D|Cube)(?:Array)?\s*<\s*)(?:float|half)([234]?\s*>)"
)
"""Textures of floats. Their texels cannot be double in Slang, and a check reads nothing from them."""
_IMPORT: Final = re.compile(r"^import slangad(?:_half)?;$", re.MULTILINE)


def build_job(
    emitted: EmittedModule,
    names: tuple[str, ...],
    sources: SourceTexts,
    defines: tuple[tuple[str, str], ...],
    *,
    f64: bool,
    time_limit: float,
    slang_flags: tuple[str, ...] = (),
) -> CompileJob:
    """Return the compile job of the entry points ``names`` for the CPU.

    Args:
        emitted: The module.
        names: Its entry points.
        sources: The Slang files that the module depends on.
        defines: Macros.
        f64: True for double in place of float and half.
        time_limit: Seconds that the compiler may take.
        slang_flags: Further arguments of Slang.
    """
    main, modules, looking = emitted.text, dict(emitted.libraries), frozenset[str]()
    if f64:
        main = _in_double(main)
        modules[DOUBLE] = library_text(DOUBLE)
        sources = replace(sources, files={file: _changed(text) for file, text in sources.files.items()})
        looking = frozenset(file for file, text in sources.files.items() if _CASTS.search(text))
    waving = frozenset(file for file, text in sources.files.items() if uses_lanes(text))
    sources = replace(sources, files={file: in_one_lane(text) for file, text in sources.files.items()})
    libraries = {library: users for library, users in ((_BITS, looking), (LANES, waving)) if users}
    main, copies = with_copies(main, sources, libraries)
    copies |= {library: library_text(library) for library in libraries}
    return CompileJob(
        emitted.file_name,
        main,
        names,
        ("cpp",),
        modules=tuple((modules | copies).items()),
        include_dirs=sources.folders,
        defines=(*defines, _AS_ON_GPUS, *(MACROS if f64 else ())),
        whole=True,
        extra_arguments=slang_flags,
        time_limit=time_limit,
    )


def _changed(text: str) -> str:
    """Return a Slang text with changes where macros cannot make a value double."""
    return _LITERALS.sub(r"\1double(\2)", _TEXELS.sub(r"\1int\2", text))


def _in_double(text: str) -> str:
    match = _IMPORT.search(text)
    if not match:
        return text
    return _IMPORT.sub("", text[: match.start()] + f"import {DOUBLE.removesuffix('.slang')};" + text[match.end() :])
