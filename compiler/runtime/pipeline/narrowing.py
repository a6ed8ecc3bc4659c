"""Report gradients and outputs that lose digits on a device, because doubles are summed in float."""

from __future__ import annotations

from typing import TYPE_CHECKING

from slangad.compiler.emit.model import ThreadWork
from slangad.compiler.errors.diagnostics import Diagnostic, Severity
from slangad.compiler.ir.types import DOUBLE
from slangad.compiler.runtime.arrays.array_keys import PREFIXES

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from slangad.compiler.emit.model import EntryPoint
    from slangad.compiler.runtime.arrays.modes import RunMode
    from slangad.compiler.runtime.pipeline.run_kernel import KernelPlan


def narrowed_gradients(plans: Iterable[KernelPlan], mode: RunMode, device: str) -> list[Diagnostic]:
    """Return a note if gradients of doubles are summed in float: scattered ones on GPUs, with exact sums everywhere."""
    entries = (e for plan in plans for step in mode.steps for e in plan.entries.get(step, ()))
    text = narrowed_message(entries, device)
    help_ = "what any thread may add to has the precision of float there; cpu has that of double"
    return [Diagnostic("SA418", text, severity=Severity.NOTE, help=help_)] if text else []


def narrowed_message(entries: Iterable[EntryPoint], device: str) -> str:
    """Return the same as one line; empty if nothing is narrowed."""
    result = dict.fromkeys(key for entry in entries for key in _narrowed(entry, device))
    return f"{', '.join(result)}: added up on {device} in float, not double" if result else ""


def _narrowed(entry: EntryPoint, device: str) -> Iterator[str]:
    """Yield the gradients and outputs of doubles that an entry point makes of totals in float."""
    if entry.work is not ThreadWork.SCALARS:
        return
    exact = any(parameter.is_exact for parameter in entry.parameters)
    made = entry.parameters[-1]
    if made.scalar == DOUBLE and (exact or device != "cpu"):
        yield f"{PREFIXES.get(made.role, '')}{made.parameter}"
