"""The whole way, one call per stage: describing files go in, the files to be written come out.

``load`` reads a description, ``run_passes`` completes it, ``emit_module`` prints Slang, ``compile_jobs`` makes code.
All inputs go through the front end before anything is compiled, so all their errors are reported together.
"""

from __future__ import annotations

import os
import re
from dataclasses import dataclass, replace
from functools import partial
from typing import TYPE_CHECKING

from slangad.compiler.driver.description_cache import recall, remember
from slangad.compiler.driver.isolate_failures import Trial
from slangad.compiler.driver.merge_failures import MISSING_TOOL, blame
from slangad.compiler.driver.outputs import (
    Description,
    KernelPlace,
    Product,
    Unit,
    artefact_products,
    check_names,
    slang_products,
)
from slangad.compiler.driver.slang_compilers import Compilers, own_names
from slangad.compiler.driver.unsupported import possible, refusals
from slangad.compiler.errors.diagnostics import CompileError, Diagnostic, Severity, ToolchainError
from slangad.compiler.errors.spans import Span
from slangad.compiler.toolchain.jobs.request import DEFAULT_TIME_LIMIT, CompileJob, CompileResult
from slangad.compiler.toolchain.messages.messages import to_diagnostics

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Sequence
    from pathlib import Path

    from slangad.compiler.driver.inputs import Input
    from slangad.compiler.ir.nodes import Module
    from slangad.compiler.toolchain.cache import Cache


@dataclass(frozen=True, slots=True)
class Options:
    """How to compile; what is written and where is the command line's business.

    Attributes:
        specialize: Generic functions of Slang files to compile, with their arguments: ``f<float, 4>``.
        targets: Names from ``toolchain.targets``; none means Slang only.
        modes: Which entry points of a kernel: ``forward``, ``backward``, ``jvp``.
        dump: Called with the name of each pass and the module after it.
        keep_ir: Whether the IR is wanted too.
        deterministic: Whether gradients have the same bits on every run, at the cost of memory and time.
        own_targets: Whether the targets a description names itself come before ``targets``.
    """

    targets: tuple[str, ...] = ("spirv",)
    modes: tuple[str, ...] = ("forward", "backward", "jvp")
    include_dirs: tuple[str, ...] = ()
    defines: tuple[tuple[str, str], ...] = ()
    specialize: tuple[str, ...] = ()
    optimization: int = 1
    slangc: Path | None = None
    workers: int = 2
    time_limit: float = DEFAULT_TIME_LIMIT
    cache: Cache | None = None
    dump: Callable[[str, Module], None] | None = None
    keep_ir: bool = False
    own_targets: bool = False
    deterministic: bool = False


@dataclass(frozen=True, slots=True)
class Built:
    """One input, compiled: what to write for it, what it depends on, and what is worth telling.

    ``failures`` are about targets that need a tool this machine lacks, ``refusals`` about those that lack a type; what
    the others gave is in ``products``.
    """

    unit: Unit
    products: tuple[Product, ...]
    sources: tuple[str, ...]
    errors: tuple[Diagnostic, ...] = ()
    warnings: tuple[Diagnostic, ...] = ()
    failures: tuple[Diagnostic, ...] = ()
    cached: bool = False
    targets: tuple[str, ...] = ()
    refusals: tuple[Diagnostic, ...] = ()


def build(
    inputs: Sequence[Input], options: Options, progress: Callable[[int, int], None] | None = None
) -> tuple[Built, ...]:
    """Compile all inputs, or raise with everything that is wrong with any of them.

    Raises:
        CompileError: A description was rejected, by slangad or by Slang.
        ToolchainError: Slang crashed, hung or could not be run.
    """
    with Compilers(options) as compilers:
        units = describe(inputs, options, compilers)
        check_names(units)
        refuse_specializations((unit.module for unit in units if unit.module is not None), options.specialize)
        trial = Trial(compilers.compile, partial(job_of, options=options), partial(_rebuilt, options), options.cache)
        wanted = [trial.prepare(unit) if options.targets else unit for unit in units]
        jobs = [trial.job(unit) for unit in wanted if unit.entries and options.targets]
        results = dict(zip((job.name for job in jobs), compilers.compile(jobs, progress), strict=True))
        settled = [
            trial.settle(unit, results[name])
            if (name := unit.emitted.file_name) in results
            else (unit, CompileResult())
            for unit in wanted
        ]
    return _accepted([_finish(unit, result, options) for unit, result in settled])


def describe(inputs: Sequence[Input], options: Options, compilers: Compilers | None = None) -> list[Unit]:
    """Take every input through the front end, the passes and the emitter.

    Raises:
        CompileError: With what is wrong in any of them.
        ToolchainError: Slang crashed on a Slang file, or could not be run.
    """
    if compilers is None:
        with Compilers(options) as own:
            return describe(inputs, options, own)
    units: list[Unit] = []
    problems: list[Diagnostic] = []
    for item in inputs:
        try:
            units.append(_describe_one(item, options, compilers))
        except CompileError as error:  # noqa: PERF203  (one bad input must not hide another)
            problems += error.diagnostics
    if problems:
        raise CompileError(problems)
    return units


def _describe_one(item: Input, options: Options, compilers: Compilers) -> Unit:
    memory = None if options.dump or options.keep_ir or item.path.suffix == ".slang" else options.cache
    description = recall(memory, item.path, deterministic=options.deterministic) if memory else None
    module = None
    if description is None:
        description, module = run_front_end(item.path, options, compilers)
        if memory:
            remember(memory, item.path, description, deterministic=options.deterministic)
    return _unit(item, description, module, options)


def _unit(item: Input, description: Description, module: Module | None, options: Options) -> Unit:
    known = [kernel.name for kernel in description.kernels]
    chains = [name for name, _ in description.pipelines]
    unknown = [name for name in item.kernels if name not in (*known, *chains)]
    if unknown:
        names = ", ".join((*known, *chains)) or "none"
        raise CompileError(
            [
                Diagnostic(
                    "SA403",
                    f"{item.path} has no kernel called {name}",
                    help=f"it has: {names}",
                    notes=tuple(
                        f"{o.function} is left out: {o.reason}" for o in description.left_out if o.function == name
                    ),
                )
                for name in unknown
            ]
        )
    wanted = description.kernels_of(item.kernels) or known
    points = description.emitted.entry_points
    return Unit(item, description, tuple(e for e in points if e.kernel in wanted and e.mode in options.modes), module)


def run_front_end(path: Path, options: Options, compilers: Compilers) -> tuple[Description, Module]:
    """Read a description, complete it, print its Slang.

    Raises:
        CompileError: It was rejected.
        ToolchainError: Slang crashed on a Slang file, or could not be run.
    """
    from slangad.compiler.frontends import load
    from slangad.compiler.frontends.slang.model import SlangSetting
    from slangad.compiler.passes import run_passes
    from slangad.compiler.passes.sum_exactly import sum_exactly

    loaded = load(path, SlangSetting(compilers.reflect, options.specialize))
    module = run_passes(loaded, options.dump)
    if options.deterministic:
        module = sum_exactly(module)
    return _description(module), module


def _description(module: Module) -> Description:
    from slangad.compiler.driver.unsupported import first_places
    from slangad.compiler.emit import emit_module
    from slangad.compiler.emit.entry_points.accumulations import accumulations

    return Description(
        source=module.source,
        sources=_each_once((module.source, *module.sources)),
        bound=module.bound,
        kernels=tuple(
            KernelPlace(kernel.name, kernel.span, first_places(module, kernel), accumulations(module, kernel))
            for kernel in module.kernels
        ),
        emitted=emit_module(module),
        targets=module.targets,
        name=module.name if module.file_name else "",
        left_out=module.left_out,
        pipelines=tuple((p.name, tuple(dict.fromkeys(s.kernel for s in p.stages))) for p in module.pipelines),
    )


def _rebuilt(options: Options, unit: Unit, module: Module) -> Unit:
    """The unit of a module with fewer kernels."""
    kept = tuple(name for name in unit.input.kernels if name in {kernel.name for kernel in module.kernels})
    smaller = _unit(replace(unit.input, kernels=kept), _description(module), module, options)
    entries = smaller.entries if kept or not unit.input.kernels else ()
    return replace(smaller, input=unit.input, entries=entries)


def targets_of(unit: Unit, options: Options) -> tuple[str, ...]:
    """What one input is compiled for: the targets that it can be compiled for of those that are asked for."""
    return possible(unit, _asked(unit, options))


def _asked(unit: Unit, options: Options) -> tuple[str, ...]:
    own = unit.description.targets if options.own_targets and options.targets else ()
    return own or options.targets


def job_of(unit: Unit, options: Options) -> CompileJob:
    """What the toolchain is asked for one input."""
    return CompileJob(
        name=unit.emitted.file_name,
        source=unit.emitted.text,
        entry_points=tuple(entry.name for entry in unit.entries),
        targets=targets_of(unit, options),
        modules=tuple(unit.emitted.libraries.items()),
        include_dirs=(str(unit.input.path.absolute().parent), *options.include_dirs),
        defines=options.defines,
        optimization=options.optimization,
        time_limit=options.time_limit,
    )


def _finish(unit: Unit, result: CompileResult, options: Options) -> Built:
    if result.messages and unit.description.recalled:
        with Compilers(options) as compilers:
            unit = replace(unit, description=run_front_end(unit.input.path, options, compilers)[0])  # for its span map
    said = own_names(to_diagnostics(result.messages, partial(_locate, unit)), unit.description.sources)
    errors = [d for d in said if d.severity is Severity.ERROR and d.code != MISSING_TOOL]
    return Built(
        unit=unit,
        products=(*slang_products(unit), *artefact_products(unit, result)),
        sources=_each_once((*unit.description.sources, *result.dependencies)),
        errors=tuple(errors),
        warnings=(*(d for d in said if d.severity is not Severity.ERROR), *_left_out(unit)),
        failures=blame(unit, (*result.diagnostics, *(d for d in said if d.code == MISSING_TOOL))),
        cached=result.cached,
        targets=targets_of(unit, options),
        refusals=refusals(unit, _asked(unit, options)),
    )


def refuse_specializations(modules: Iterable[Module], specialize: Iterable[str]) -> None:
    """Refuse to specialise what none of these declares.

    Raises:
        CompileError: With all of those.
    """
    declared = {name for module in modules for name in module.taken}
    lost = [text for text in specialize if re.split(r"\W", text.strip(), maxsplit=1)[0] not in declared]
    if lost:
        help_ = "check its name, and that its file is among the inputs"
        raise CompileError([Diagnostic("SA083", f"no Slang file declares '{text}'", help=help_) for text in lost])


def _left_out(unit: Unit) -> Iterable[Diagnostic]:
    """What is worth telling of what was found but is not compiled; of kernels asked for by name, what they lack."""
    asked = {kernel.span for kernel in unit.kernels} if unit.input.kernels else None
    for left in unit.description.left_out:
        if asked is not None and left.span not in asked:
            continue
        what = [f"the {' and '.join(left.modes)} kernel of"] if left.modes else []
        where = [f"for {', '.join(left.targets)}"] if left.targets else []
        message = " ".join([*what, left.function, "is left out", *where]) + f": {left.reason}"
        yield Diagnostic("SA084", message, left.span, severity=Severity.NOTE)


def _each_once(paths: Iterable[str]) -> tuple[str, ...]:
    """The paths in order, each file once, by the first of its names."""
    return tuple({os.path.realpath(path): path for path in reversed([*paths])}.values())[::-1]


def _locate(unit: Unit, file: str, line: int, column: int) -> Span | None:
    """The place in the user's description that a position of the emitted text was made from, at least its file."""
    if file != unit.emitted.file_name:
        return None
    return unit.emitted.locate(line, column) or Span(unit.source, 0, 0, 0, 0)


def _accepted(built: Sequence[Built]) -> tuple[Built, ...]:
    """The same, provided nothing is wrong that a missing tool doesn't explain."""
    errors = [error for one in built for error in (*one.errors, *(() if one.targets else one.refusals))]
    if errors:
        raise CompileError(errors)
    failures = [failure for one in built for failure in one.failures if failure.code != MISSING_TOOL]
    if failures:
        raise ToolchainError(failures)
    return tuple(built)
