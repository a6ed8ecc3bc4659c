"""Combine an IR pipeline with its kernels into a ``RunnablePipeline``.

A kernel alone is a pipeline of one stage, so ``run`` of a pipeline and ``train`` of either share their code.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, TypeVar

from slangad.compiler.emit.model import Mode, symbols
from slangad.compiler.ir.nodes import Initial, Kernel, Memory, Module, Range
from slangad.compiler.ir.pipelines import Pipeline, Returned, Stage, ValueArgument
from slangad.compiler.ir.types import Scalar, is_floating
from slangad.compiler.runtime.arrays.signature import signatures, with_added
from slangad.compiler.runtime.pipeline.run_kernel import KernelPlan
from slangad.compiler.runtime.pipeline.tile_lists import built_in_signatures

if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Iterator, Mapping

    from slangad.compiler.ir.pipelines import Optimizer
    from slangad.compiler.runtime.arrays.signature import KernelSignature

TRAINED = (Memory.PARAM, Memory.TENSOR)


@dataclass(frozen=True, slots=True)
class RunnablePipeline:
    """A pipeline that can be run.

    Attributes:
        pipeline: Its stages.
        signature: Its parameters. Results are missing, since their shapes follow from the stages.
        kernels: Its kernels by name.
        alone: True if it represents a single kernel.
    """

    pipeline: Pipeline
    signature: KernelSignature
    kernels: Mapping[str, KernelPlan]
    alone: bool = False

    @property
    def trained(self) -> tuple[str, ...]:
        """Return the parameters that training changes."""
        return tuple(v.name for v in self.signature.parameters if v.memory in TRAINED and v.differentiable)

    def entry_names(self, modes: Collection[Mode] = tuple(Mode)) -> tuple[str, ...]:
        """Return the entry points that some modes may launch."""
        plans = self.kernels.values()
        return symbols(entry for plan in plans for mode in modes for entry in plan.entries.get(mode, ()))

    @property
    def objective(self) -> Returned | None:
        """Return the single number to minimise, or None if there is not exactly one."""
        return self.objectives[0] if len(self.objectives) == 1 else None

    @property
    def objectives(self) -> tuple[Returned, ...]:
        """Return the sums and means of floating-point numbers that are returned."""
        sums = (r for r in self.pipeline.results if r.memory in (Memory.SUM, Memory.MEAN))
        return tuple(r for r in sums if isinstance(r.type, Scalar) and is_floating(r.type))


def runnable_pipelines(module: Module, kernels: Mapping[str, KernelPlan]) -> dict[str, RunnablePipeline]:
    """Return the pipelines of a module by name."""
    made = {}
    for pipeline in module.pipelines:
        used = {stage.kernel: kernels.get(stage.kernel) or _built_in(stage.kernel) for stage in pipeline.stages}
        made[pipeline.name] = RunnablePipeline(pipeline, _signature(pipeline, used), used)
    return made


def _built_in(name: str) -> KernelPlan:
    """Return the plan of a built-in stage, which has no entry points."""
    return KernelPlan(built_in_signatures()[name], {}, {})


def pipeline_of_kernel(
    plan: KernelPlan, kernel: Kernel, optimizer: Optimizer | None, domain: tuple[int, ...] = ()
) -> RunnablePipeline:
    """Return a kernel as a pipeline of one stage."""
    taken = {p.name for p in kernel.params}
    plain = tuple(r for r in kernel.results if not r.param)
    values = tuple(r.name if r.name not in taken else f"{r.name} of {kernel.name}" for r in plain)
    stage = Stage(kernel.name, tuple(ValueArgument(p.name) for p in kernel.params), values, domain, kernel.span)
    results = tuple(Returned(r.name, v, r.memory, r.type) for r, v in zip(plain, values, strict=True))
    pipeline = Pipeline(
        kernel.name, kernel.params, (stage,), results, optimizer, fuse=False, doc=kernel.doc, span=kernel.span
    )
    return RunnablePipeline(pipeline, replace(plan.signature, results=()), {kernel.name: plan}, alone=True)


def _signature(pipeline: Pipeline, kernels: Mapping[str, KernelPlan]) -> KernelSignature:
    """Return the signature of a kernel with the same parameters; ranges are those of the kernels that take them."""
    dims = next((dims for _, dims in _each(pipeline, kernels)), 1)
    kernel = Kernel(pipeline.name, "", pipeline.params, (), dims, span=pipeline.span)
    (signature,) = signatures(Module(pipeline.name, "", kernels=(kernel,))).values()
    return replace(
        with_added(signature, set(_added(pipeline, kernels))),
        ranges=tuple(_declared(pipeline, kernels, lambda one: one.ranges)),
        initial=tuple(_declared(pipeline, kernels, lambda one: one.initial)),
    )


def _added(pipeline: Pipeline, kernels: Mapping[str, KernelPlan]) -> Iterator[str]:
    """Yield the parameters that threads add to in the first kernel that writes them."""
    written: set[str] = set()
    for stage in pipeline.stages:
        for value, argument in zip(kernels[stage.kernel].signature.parameters, stage.arguments, strict=True):
            if isinstance(argument, ValueArgument) and value.is_written and argument.value not in written:
                written.add(argument.value)
                if value.added:
                    yield argument.value


def _each(pipeline: Pipeline, kernels: Mapping[str, KernelPlan]) -> Iterator[tuple[str, int]]:
    """Yield the parameters with one element per thread, and the dimensions of a kernel that takes them so."""
    each = {p.name for p in pipeline.params if p.memory is Memory.EACH}
    for stage in pipeline.stages:
        signature = kernels[stage.kernel].signature
        for value, argument in zip(signature.parameters, stage.arguments, strict=True):
            if isinstance(argument, ValueArgument) and argument.value in each and value.per_element:
                yield argument.value, signature.dims


_Declared = TypeVar("_Declared", Range, Initial)


def _declared(
    pipeline: Pipeline,
    kernels: Mapping[str, KernelPlan],
    declared_by: Callable[[KernelSignature], tuple[_Declared, ...]],
) -> Iterator[_Declared]:
    """Yield what kernels declare for their parameters, at the paths of the pipeline's parameters."""
    for stage in pipeline.stages:
        signature = kernels[stage.kernel].signature
        for value, argument in zip(signature.parameters, stage.arguments, strict=True):
            if not isinstance(argument, ValueArgument):
                continue
            for known in declared_by(signature):
                head, dot, rest = known.path.partition(".")
                if head == value.name:
                    yield replace(known, path=f"{argument.value}{dot}{rest}")
