"""Compile entry points of a module from the part of its text that they reach.

Slang reads the text for each kernel that is loaded. It takes 2 to 3 s for that of a file with thirty networks, and
half a second for the part of one of them.
"""

from __future__ import annotations

from dataclasses import replace
from functools import lru_cache
from typing import TYPE_CHECKING

from slangad.compiler.slang_text.parts import read_parts
from slangad.compiler.slang_text.reach import Reach
from slangad.compiler.toolchain.session import compile_jobs

if TYPE_CHECKING:
    from slangad.compiler.emit.model import EmittedModule
    from slangad.compiler.toolchain.cache import Cache
    from slangad.compiler.toolchain.jobs.request import CompileJob, CompileResult


def compile_reached(job: CompileJob, emitted: EmittedModule, cache: Cache | None) -> CompileResult:
    """Compile a job whose text is that of a module. Messages have the lines and columns of the whole text.

    The result has no memory of other kernels. If Slang refuses the part, the result is that of the whole text.
    """
    loaded = [entry for entry in emitted.entry_points if entry.symbol in job.entry_points]
    if len({entry.kernel for entry in emitted.entry_points}) > len({entry.kernel for entry in loaded}):
        # launches bind all parameters, also those that the text of an entry point does not name
        bound = {parameter.name for entry in loaded for parameter in (*entry.parameters, *entry.last)}
        reach = _reach(emitted.text, emitted.file_name, job.defines)
        part = reach.slices({*job.entry_points, *bound})[emitted.file_name]
        (result,) = compile_jobs([replace(job, source=part)], workers=1, cache=cache)
        if result.ok:
            return result
    (result,) = compile_jobs([job], workers=1, cache=cache)
    return result


@lru_cache(maxsize=4)
def _reach(text: str, file: str, defines: tuple[tuple[str, str], ...]) -> Reach:
    """Take a text apart, which takes a thousandth of a second a kilobyte."""
    return Reach([read_parts(text, file)], defines)
