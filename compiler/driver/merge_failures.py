"""Locate toolchain failures in the user's file and merge duplicates."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from slangad.compiler.errors.spans import NOWHERE, Span

if TYPE_CHECKING:
    from collections.abc import Iterable

    from slangad.compiler.driver.model import EmittedInput
    from slangad.compiler.errors.diagnostics import Diagnostic


MISSING_TOOL = "SA242"
"""The code of a target whose tool this machine lacks: the input is fine, and the other targets are written."""


def merge_failures(slang: EmittedInput, failures: Iterable[Diagnostic]) -> tuple[Diagnostic, ...]:
    """Return one diagnostic for each code and help; further failures of that kind become its notes."""
    merged: dict[tuple[str, str], Diagnostic] = {}
    for failure in sorted(failures, key=lambda failure: failure.message):
        kind = failure.code, failure.help
        first = merged.get(kind)
        if first is None:
            missing = failure.code == MISSING_TOOL
            merged[kind] = replace(failure, span=NOWHERE if missing else _location(slang, failure))
        elif failure.message != first.message:
            merged[kind] = replace(first, notes=(*first.notes, failure.message))
    return tuple(merged.values())


def _location(slang: EmittedInput, failure: Diagnostic) -> Span:
    """Return the kernel whose entry point the failure names, else the input."""
    entry = next((entry for entry in slang.entries if entry.symbol in failure.message), None)
    kernels = {kernel.name: kernel for kernel in slang.kernels}
    if entry is None or not kernels[entry.kernel].span.line:
        return Span(slang.source, 0, 0, 0, 0)
    return kernels[entry.kernel].span
