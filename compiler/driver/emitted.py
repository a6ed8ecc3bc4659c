"""One input at the emitter: print its module, select its entry points, and make the job for the toolchain."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING

from slangad.compiler.driver.model import Description, EmittedInput, KernelSummary
from slangad.compiler.driver.unordered_sums import unordered_sums
from slangad.compiler.driver.unsupported import first_uses, supported_targets
from slangad.compiler.emit import emit_module
from slangad.compiler.emit.model import symbols
from slangad.compiler.errors.diagnostics import CompileError, Diagnostic, nearest_of
from slangad.compiler.ir.built_in_stages import is_built_in
from slangad.compiler.ir.calls import reached
from slangad.compiler.slang_text.endings import is_slang
from slangad.compiler.slang_text.search import folders_of, search
from slangad.compiler.toolchain.jobs.request import CompileJob

if TYPE_CHECKING:
    from collections.abc import Iterable

    from slangad.compiler.driver.inputs import Input
    from slangad.compiler.driver.model import Options
    from slangad.compiler.errors.spans import Span
    from slangad.compiler.ir.nodes import LoopChoice, Module


def emit_input(item: Input, module: Module, options: Options) -> EmittedInput:
    """Print the Slang of an input.

    Raises:
        CompileError: It has no kernel of a name that the user asked for.
    """
    return select_entries(item, _description(module), module, options)


def select_entries(item: Input, description: Description, module: Module | None, options: Options) -> EmittedInput:
    """Select the entry points of the kernels and modes that are asked for.

    Raises:
        CompileError: There is no kernel of that name.
    """
    kernels = [kernel.name for kernel in description.kernels]
    known = (*kernels, *(name for name, _ in description.pipelines))
    unknown = [name for name in item.kernels if name not in known]
    if unknown:
        raise CompileError([_no_kernel(item, name, known, description) for name in unknown])
    wanted = description.kernels_of(item.kernels) or kernels
    points = description.emitted.entry_points
    products = {kernel.name: kernel.product_of for kernel in description.kernels if kernel.product_of}
    chosen = {*wanted, *(name for name, of in products.items() if of in wanted)}
    entries = tuple(
        e for e in points if e.kernel in chosen and ("hvp" if e.kernel in products else e.mode.value) in options.modes
    )
    declared_targets = description.targets if options.own_targets and options.targets else ()
    searched = search(item.path, options.include_dirs).folders if is_slang(item.path) else ()
    targets, defined = declared_targets or options.targets, tuple(name for name, _ in options.defines)
    return EmittedInput(item, description, entries, targets, module, found_folders=searched, defined=defined)


def job_of(slang: EmittedInput, options: Options) -> CompileJob:
    """Return the toolchain's job for one input."""
    return CompileJob(
        name=slang.emitted.file_name,
        source=slang.emitted.text,
        entry_points=symbols(slang.entries),
        targets=supported_targets(slang),
        modules=tuple(slang.emitted.libraries.items()),
        include_dirs=folders_of(slang.input.path, options.include_dirs),
        defines=options.defines,
        optimization=options.optimization,
        extra_arguments=options.slang_flags,
        time_limit=options.time_limit,
        without=tuple(sorted(slang.without)),
    )


def unique_files(paths: Iterable[str]) -> tuple[str, ...]:
    """Return the paths in order, each file once, by the first of its names."""
    return tuple({os.path.realpath(path): path for path in reversed([*paths])}.values())[::-1]


def _seen_beside(described: str, path: str) -> str:
    """Return the path of a file beside a description: where the description's own path is a link, beside that link.

    Build systems lay links to the sources into a folder; Python imports from the folder that the link leads to.
    """
    real = os.path.realpath(described)
    if real == os.path.abspath(described):  # noqa: PTH100  (a Path for each of thousands takes long)
        return path
    folder = os.path.dirname(described)  # noqa: PTH120
    beside = os.path.join(folder, os.path.relpath(os.path.realpath(path), os.path.dirname(real)))  # noqa: PTH118,PTH120
    return beside if os.path.realpath(beside) == os.path.realpath(path) else path


def _description(module: Module) -> Description:
    from slangad.compiler.emit.entry_points.accumulations import accumulations, deciding

    return Description(
        source=module.source,
        sources=unique_files((module.source, *(_seen_beside(module.source, path) for path in module.sources))),
        bound=module.bound,
        kernels=tuple(
            KernelSummary(
                kernel.name,
                kernel.span,
                first_uses(module, kernel),
                accumulations(module, kernel),
                deciding(module, kernel),
                kernel.product_of,
                unordered_sums(module, kernel),
                kernel.group_size if kernel.in_step else (),
                tuple((loop.reason, loop.span) for loop in module.unshared_loops if loop.kernel == kernel.name),
            )
            for kernel in module.kernels
        ),
        emitted=emit_module(module),
        targets=module.targets,
        name=module.name if module.file_name else "",
        left_out=module.left_out,
        pipelines=_pipelines(module),
        loops=_loops(module),
    )


def _loops(module: Module) -> tuple[tuple[LoopChoice, tuple[str, ...]], ...]:
    """Return each loop once, with the kernels that run it."""
    functions = {f.key: f for f in module.functions}
    called = {k.name: reached(functions, [k.function]) for k in module.kernels} if module.loops else {}
    found: dict[tuple[LoopChoice, Span], dict[str, None]] = {}
    for loop in module.loops:
        running = (kernel for kernel, keys in called.items() if loop.key in keys)
        found.setdefault((loop, loop.span), {}).update(dict.fromkeys(running))
    return tuple((loop, tuple(kernels)) for (loop, _), kernels in found.items())


def _pipelines(module: Module) -> tuple[tuple[str, tuple[str, ...]], ...]:
    """Return the pipelines with their kernels, those of their products with Hessians too."""
    found: dict[str, dict[str, None]] = {}
    for pipeline in module.pipelines:
        called = (stage.kernel for stage in pipeline.stages if not is_built_in(stage))
        found.setdefault(pipeline.product_of or pipeline.name, {}).update(dict.fromkeys(called))
    return tuple((name, tuple(kernels)) for name, kernels in found.items())


def _no_kernel(item: Input, name: str, known: tuple[str, ...], description: Description) -> Diagnostic:
    return Diagnostic(
        "SA403",
        f"{item.path} has no kernel called {name}",
        help=nearest_of(name, known),
        notes=tuple(f"{o.function} is left out: {o.reason}" for o in description.left_out if o.function == name),
    )
