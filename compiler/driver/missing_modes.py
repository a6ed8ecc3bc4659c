"""Refuse a kernel that the user names and that has none of the modes asked for.

    fit.py:shade --mode backward, no gradient flows through shade   ->   SA417: shade has no backward mode: …

Without a name, such kernels of an input are left out: others may have the mode.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from slangad.compiler.driver.model import finish
from slangad.compiler.errors.diagnostics import CompileError, Diagnostic
from slangad.compiler.errors.spans import NOWHERE

if TYPE_CHECKING:
    from collections.abc import Iterator

    from slangad.compiler.driver.model import CompileSteps, EmittedInput, Options

_NO_GRADIENT: Final = "no gradient flows from its parameters to its results"


def refuse_missing_modes(steps: CompileSteps, options: Options) -> CompileSteps:
    """Run a compile, unless it would write nothing for a kernel or pipeline that the user names.

    Raises:
        CompileError: With an error for each of those.
    """
    slang = next(steps)
    errors = [*_errors(slang, options)]
    if errors:
        raise CompileError(errors)
    slang, code = yield slang
    return finish(steps, slang, code)


def _errors(slang: EmittedInput, options: Options) -> Iterator[Diagnostic]:
    description = slang.description
    chosen = {entry.kernel for entry in slang.entries}
    spans = {kernel.name: kernel.span for kernel in description.kernels}
    products = {kernel.product_of: kernel.name for kernel in description.kernels if kernel.product_of}
    pipelines = dict(description.pipelines)
    reasons = {(left.function, mode): left.reason for left in description.left_out for mode in left.modes}
    asked = " or ".join(options.modes)
    for name in slang.input.kernels:
        kernels = pipelines.get(name, (name,))
        if chosen.isdisjoint({*kernels, *(products.get(kernel) for kernel in kernels)}):
            span = next((spans[kernel] for kernel in kernels if kernel in spans), NOWHERE)
            known = (reasons.get((kernel, mode)) for kernel in kernels for mode in options.modes)
            reason = next((why for why in known if why), _NO_GRADIENT)
            has = dict.fromkeys(e.mode.value for e in description.emitted.entry_points if e.kernel in kernels)
            yield Diagnostic("SA417", f"{name} has no {asked} mode: {reason}", span, help=f"it has: {', '.join(has)}")
