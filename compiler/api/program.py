"""Read a description, and combine its kernels and pipelines into a program that can be loaded on a device."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING

from slangad.compiler.driver.unordered_sums import refuse_unordered_in
from slangad.compiler.driver.unsupported import refuse_on
from slangad.compiler.emit.model import Mode
from slangad.compiler.errors.diagnostics import CompileError, Diagnostic, nearest_of
from slangad.compiler.runtime.arrays.signature import signatures
from slangad.compiler.runtime.device.model import BuildOptions
from slangad.compiler.runtime.pipeline.hessian import HessianProduct, refuse_product
from slangad.compiler.runtime.pipeline.run_kernel import KernelPlan
from slangad.compiler.runtime.pipeline.runnable import RunnablePipeline, pipeline_of_kernel, runnable_pipelines
from slangad.compiler.slang_text.search import folders_of

if TYPE_CHECKING:
    from collections.abc import Collection, Iterator, Mapping
    from pathlib import Path

    from slangad.compiler.driver.inputs import Input
    from slangad.compiler.driver.model import Options
    from slangad.compiler.emit.model import EmittedModule
    from slangad.compiler.ir.nodes import LeftOut, Module
    from slangad.compiler.runtime.device.model import Device, DeviceProgram


@dataclass(frozen=True, slots=True)
class RunnableProgram:
    """A description that can be run.

    Attributes:
        file: The describing file.
        emitted: Its Slang.
        plans: Its kernels by name; those that were asked for, if any were.
        source: How the Slang is compiled.
        pipelines: Its pipelines by name, likewise.
        module: Its IR, after the passes.
        item: The input that it was read from.
        options: How it was read.
        products: The products with Hessians by name of their kernel or pipeline, if they were asked for.
    """

    file: Path
    emitted: EmittedModule
    plans: Mapping[str, KernelPlan]
    source: BuildOptions
    pipelines: Mapping[str, RunnablePipeline]
    module: Module
    item: Input
    options: Options
    products: Mapping[str, HessianProduct] = field(default_factory=dict)

    def product(self, found: KernelPlan | RunnablePipeline) -> HessianProduct:
        """Return the product with the Hessian of a kernel or pipeline, of a program with products.

        Raises:
            CompileError: There is none.
        """
        name = found.signature.name
        if name not in self.products:
            reasons = (left.reason for left in self.module.left_out if left.function == name and "hvp" in left.modes)
            raise refuse_product(found.signature, next(reasons, "no gradient flows from its parameters to its results"))
        return self.products[name]

    def with_products(self) -> RunnableProgram:
        """Return the same program with products with Hessians."""
        return read_program(self.item, replace(self.options, modes=(*self.options.modes, "hvp")))

    def load_on(self, device: Device, entries: Collection[str]) -> DeviceProgram:
        """Compile entry points for a device.

        Raises:
            CompileError: A kernel calls functions of double that the device doesn't have, or has a gradient that can't
                be deterministic.
        """
        loaded = [entry for entry in self.emitted.entry_points if entry.symbol in entries]
        refuse_on(device.name, self.module, {entry.kernel for entry in loaded})
        if self.options.deterministic:
            refuse_unordered_in(self.module, loaded)
        return device.load(self.emitted, self.source, entries)


def read_program(item: Input, options: Options) -> RunnableProgram:
    """Take a description through the front end.

    Raises:
        CompileError: It was rejected.
        ToolchainError: Slang crashed on a Slang file.
    """
    from slangad.compiler.driver.compile import describe, refuse_specializations

    (unit,) = describe([replace(item, kernels=())], replace(options, keep_ir=True))
    module = unit.module
    assert module is not None  # noqa: S101  (kept)
    refuse_specializations([module], options.specialize)
    source = BuildOptions(folders_of(item.path, options.include_dirs), options.defines, options.cache)
    plans = _plans(unit.emitted, module)
    found = runnable_pipelines(module, plans)
    products = dict(_products(module, plans, found))
    made = {kernel.name for kernel in module.kernels if kernel.product_of}
    made |= {pipeline.name for pipeline in module.pipelines if pipeline.product_of}
    plans = {name: plan for name, plan in plans.items() if name not in made}
    found = {name: runnable for name, runnable in found.items() if name not in made}
    if item.kernels:
        _refuse_unknown(item, (*found, *plans), unit.description.left_out)
        plans = {name: plan for name, plan in plans.items() if name in item.kernels}
        found = {name: runnable for name, runnable in found.items() if name in item.kernels}
    return RunnableProgram(item.path, unit.emitted, plans, source, found, module, item, options, products)


def _products(
    module: Module, plans: Mapping[str, KernelPlan], pipelines: Mapping[str, RunnablePipeline]
) -> Iterator[tuple[str, HessianProduct]]:
    for kernel in reversed(module.kernels):  # the first one of a kernel has all tangents
        if kernel.product_of:
            yield kernel.product_of, HessianProduct(plans[kernel.product_of], plans[kernel.name])
    for pipeline in module.pipelines:
        if pipeline.product_of:
            yield pipeline.product_of, HessianProduct(pipelines[pipeline.product_of], pipelines[pipeline.name])


def _refuse_unknown(item: Input, known: Collection[str], left_out: Collection[LeftOut]) -> None:
    """Refuse names of kernels and pipelines that are not there."""
    from slangad.compiler.driver.user_entries import user_entries

    unknown = [name for name in item.kernels if name not in known]
    if unknown:
        help_ = nearest_of(unknown[0], (*known, *user_entries(item.path)))
        notes = tuple(f"{o.function} is left out: {o.reason}" for o in left_out if o.function in unknown)
        message = f"{item.path} has no kernel called {unknown[0]}"
        raise CompileError([Diagnostic("SA403", message, help=help_, notes=notes)])


def _plans(emitted: EmittedModule, module: Module) -> dict[str, KernelPlan]:
    from slangad.compiler.emit.module import name_module
    from slangad.compiler.emit.text.names import NameScope

    fields = name_module(module, NameScope(module.taken)).fields
    return {
        name: KernelPlan(
            signature,
            {mode: tuple(e for e in emitted.entry_points if e.kernel == name and e.mode is mode) for mode in Mode},
            fields,
            {mode: left.reason for left in module.left_out if left.span == signature.span for mode in left.modes},
        )
        for name, signature in signatures(module).items()
    }


def only_kernel(program: RunnableProgram) -> KernelPlan:
    """Return the one kernel that is wanted.

    Raises:
        CompileError: There are several, or none.
    """
    if len(program.plans) == 1:
        return next(iter(program.plans.values()))
    raise _undecided(program, tuple(program.plans), "kernel")


def chosen(program: RunnableProgram) -> KernelPlan | RunnablePipeline:
    """Return the one pipeline of the description, else its one kernel.

    Raises:
        CompileError: There are several, or none.
    """
    if len(program.pipelines) == 1:
        return next(iter(program.pipelines.values()))
    if program.pipelines:
        raise _undecided(program, tuple(program.pipelines), "pipeline")
    return only_kernel(program)


def kernels_of(program: KernelPlan | RunnablePipeline) -> tuple[str, ...]:
    """Return the names of the kernels that run."""
    return tuple(program.kernels) if isinstance(program, RunnablePipeline) else (program.signature.name,)


def as_pipeline(
    program: RunnableProgram, kernel_or_pipeline: KernelPlan | RunnablePipeline, domain: tuple[int, ...] = ()
) -> RunnablePipeline:
    """Return a kernel as a pipeline of one stage, whose domain may be named; a pipeline as it is."""
    if isinstance(kernel_or_pipeline, RunnablePipeline):
        return kernel_or_pipeline
    kernel = next(kernel for kernel in program.module.kernels if kernel.name == kernel_or_pipeline.signature.name)
    return pipeline_of_kernel(kernel_or_pipeline, kernel, None, domain)


def _undecided(program: RunnableProgram, names: tuple[str, ...], kind: str) -> CompileError:
    if not names:
        return CompileError([Diagnostic("SA419", f"{program.file} has no {kind} to run")])
    message = f"{program.file} has several {kind}s: {', '.join(names)}"
    return CompileError([Diagnostic("SA419", message, help=f"name one: {program.file}:{names[0]}")])
