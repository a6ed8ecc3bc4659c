"""Check pipelines: every stage calls a kernel with existing values of the right types."""

from __future__ import annotations

from typing import TYPE_CHECKING

from slangad.compiler.errors.diagnostics import Diagnostic
from slangad.compiler.ir.built_in_stages import BUILT_IN
from slangad.compiler.ir.kernels import Memory
from slangad.compiler.ir.optimizers import OPTIMIZERS
from slangad.compiler.ir.pipelines import Fixed, ValueArgument, used_values
from slangad.compiler.ir.types import Tensor, Texture, count_scalars, show

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from slangad.compiler.ir.kernels import Kernel, KernelParam
    from slangad.compiler.ir.pipelines import Argument, Optimizer, Pipeline, Stage
    from slangad.compiler.ir.types import Type

SCALARS = (Memory.UNIFORM, Memory.PARAM, Memory.SUM, Memory.MEAN)
"""Memory with one value for all threads."""


def element(type_: Type) -> Type:
    """Return the element type of a memory, or the type itself."""
    return type_.element if isinstance(type_, (Tensor, Texture)) else type_


def verify_pipeline(pipeline: Pipeline, kernels: Mapping[str, Kernel]) -> Iterator[Diagnostic]:
    """Yield the errors of a pipeline."""
    known = {p.name: (p.memory, element(p.type)) for p in pipeline.params}
    for stage in pipeline.stages:
        kernel = BUILT_IN.get(stage.kernel) or kernels.get(stage.kernel)
        if kernel is None:
            yield Diagnostic("SA905", f"{pipeline.name} calls {stage.kernel!r}, which is not there", stage.span)
            return
        lost = [name for name in used_values(stage) if name not in known]
        if lost:
            yield Diagnostic("SA905", f"{pipeline.name} uses {lost[0]!r} before it is there", stage.span)
            return
        yield from _verify_stage(pipeline, stage, kernel, known)
        returned = [r for r in kernel.results if not r.param]
        known |= {name: (r.memory, r.type) for name, r in zip(stage.results, returned, strict=False)}
    for result in pipeline.results:
        if known.get(result.value) != (result.memory, result.type):
            yield Diagnostic("SA905", f"{pipeline.name} returns no {result.value!r}", pipeline.span)
    optimizer = pipeline.optimizer
    if optimizer is not None and not _is_complete(optimizer):
        yield Diagnostic("SA905", f"{pipeline.name} has a wrong optimizer", pipeline.span)


def _verify_stage(
    pipeline: Pipeline, stage: Stage, kernel: Kernel, known: Mapping[str, tuple[Memory, Type]]
) -> Iterator[Diagnostic]:
    returned = [r for r in kernel.results if not r.param]
    if len(stage.arguments) != len(kernel.params) or len(stage.results) != len(returned):
        yield Diagnostic("SA905", f"{pipeline.name}: {stage.kernel} has other parameters or results", stage.span)
        return
    allowed = (kernel.dims + 1,) if stage.kernel in BUILT_IN else (0, kernel.dims)
    if len(stage.domain) not in allowed:
        yield Diagnostic("SA905", f"{pipeline.name}: {stage.kernel} has {kernel.dims} dimensions", stage.span)
    for name in stage.results:
        if name in known:
            yield Diagnostic("SA905", f"{pipeline.name} has two values {name!r}", stage.span)
    for param, argument in zip(kernel.params, stage.arguments, strict=True):
        if not _fits(param, argument, known):
            yield Diagnostic("SA905", f"{pipeline.name}: {param.name} of {stage.kernel} does not fit", stage.span)


def _fits(param: KernelParam, argument: Argument, known: Mapping[str, tuple[Memory, Type]]) -> bool:
    wanted = element(param.type)
    match argument:
        case Fixed(scalars):
            return param.memory is Memory.UNIFORM and len(scalars) == count_scalars(wanted).total()
        case ValueArgument(value):
            memory, type_ = known[value]
            return show(type_) == show(wanted) and (memory in SCALARS) == (param.memory in SCALARS)


def _is_complete(optimizer: Optimizer) -> bool:
    """Return True if the table has the optimizer, with as many settings."""
    kind = OPTIMIZERS.get(optimizer.name)
    return kind is not None and len(kind.settings) == len(optimizer.values)
