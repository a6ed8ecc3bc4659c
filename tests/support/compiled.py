"""Compiles for the CPU in the test's own process, each text once for all processes of a session.

The library modules that texts import are read in binary form, which takes a tenth of the time of their text and gives
the same code (``tests/toolchain/test_prebuilt.py``).
"""

from __future__ import annotations

from functools import cache
from typing import TYPE_CHECKING

from slangad.compiler.toolchain.jobs.prebuilt import ModuleStore
from slangad.compiler.toolchain.locate import find_library
from slangad.compiler.toolchain.session import compile_here
from support.shared_builds import shared_results

if TYPE_CHECKING:
    from slangad.compiler.toolchain.jobs.request import CompileJob, CompileResult


def compiled(job: CompileJob) -> CompileResult:
    """Return the result of a job: that of another test or process which compiled the same, or a new one."""
    results = shared_results()
    stored = results.get(job) if results else None
    if stored is not None:
        return stored
    (result,) = compile_here([job], _modules())
    if results:
        results.put(job, result)
    return result


@cache
def _modules() -> ModuleStore:
    return ModuleStore(find_library(), None)
