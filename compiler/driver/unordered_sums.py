"""Gradients that ``--deterministic`` can't add up in a fixed order: those of memory that a group shares.

    gradient of Shared 'row' of kernel shade, --deterministic   ->   SA309, for backward entry points of shade only

A file may have kernels with such gradients beside others. Only entry points that are compiled or run count, so
``FILE:KERNEL`` and loaded objects take the other kernels.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from slangad.compiler.emit.model import Mode
from slangad.compiler.errors.diagnostics import CompileError, Diagnostic
from slangad.compiler.ir.types import carries_gradient

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    from slangad.compiler.driver.model import EmittedInput
    from slangad.compiler.emit.model import EntryPoint
    from slangad.compiler.errors.spans import Span
    from slangad.compiler.ir.nodes import Kernel, Module


def unordered_sums(module: Module, kernel: Kernel) -> dict[str, Span]:
    """Return the memory of a kernel's groups whose gradient threads add up in any order, with its location."""
    own = (memory for memory in module.shared if memory.kernel == kernel.name)
    return {memory.name: memory.span for memory in own if carries_gradient(memory.type.element)}


def refuse_unordered_in(module: Module, entries: Iterable[EntryPoint]) -> None:
    """Refuse entry points of a module that can't have the same bits on every run.

    Raises:
        CompileError: There are some.
    """
    _refuse({kernel.name: unordered_sums(module, kernel) for kernel in module.kernels}, entries)


def refuse_unordered(emitted: Iterable[EmittedInput]) -> None:
    """Refuse inputs whose selected entry points can't have the same bits on every run.

    Raises:
        CompileError: There are some.
    """
    for slang in emitted:
        _refuse({kernel.name: kernel.unordered for kernel in slang.description.kernels}, slang.entries)


def _refuse(unordered: Mapping[str, Mapping[str, Span]], entries: Iterable[EntryPoint]) -> None:
    kernels = dict.fromkeys(entry.kernel for entry in entries if entry.mode is Mode.BACKWARD)
    help_ = "leave out --deterministic, or use group_sum and the like, which add up in a fixed order"
    refusals = [
        Diagnostic("SA309", f"the gradient of '{name}' is added up in any order", span, "memory of the group", help_)
        for kernel in kernels
        for name, span in unordered[kernel].items()
    ]
    if refusals:
        raise CompileError(refusals)
