"""Failures around Slang are put where the user can act, and told once.

What happened to emitted text goes in; one diagnostic per cause and input comes out, at the kernel it is about.
"""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from slangad.compiler.errors.spans import NOWHERE, Span

if TYPE_CHECKING:
    from collections.abc import Iterable

    from slangad.compiler.driver.outputs import Unit
    from slangad.compiler.errors.diagnostics import Diagnostic


MISSING_TOOL = "SA242"
"""The code of a target whose tool this machine lacks: the input is fine, and the other targets are written."""


def blame(unit: Unit, failures: Iterable[Diagnostic]) -> tuple[Diagnostic, ...]:
    """One diagnostic for each code and remedy; further failures of that kind become its notes."""
    found: dict[tuple[str, str], Diagnostic] = {}
    for failure in sorted(failures, key=lambda failure: failure.message):
        kind = failure.code, failure.help
        first = found.get(kind)
        if first is None:
            missing = failure.code == MISSING_TOOL
            found[kind] = replace(failure, span=NOWHERE if missing else _place(unit, failure))
        elif failure.message != first.message:
            found[kind] = replace(first, notes=(*first.notes, failure.message))
    return tuple(found.values())


def _place(unit: Unit, failure: Diagnostic) -> Span:
    """The kernel whose entry point the failure names, else the input."""
    entry = next((entry for entry in unit.entries if entry.name in failure.message), None)
    kernels = {kernel.name: kernel for kernel in unit.kernels}
    if entry is None or not kernels[entry.kernel].span.line:
        return Span(unit.source, 0, 0, 0, 0)
    return kernels[entry.kernel].span
