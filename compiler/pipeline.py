"""The whole way, one call per stage: describing files go in, the files to be written come out.

``load`` reads a description, ``run_passes`` completes it, ``emit_module`` prints Slang, ``compile_jobs`` makes code.
All inputs go through the front end before anything is compiled, so all their errors are reported together.
"""

from __future__ import annotations

import os
from dataclasses import dataclass, replace
from functools import partial
from typing import TYPE_CHECKING

from slangad.compiler.blame import MISSING_TOOL, blame
from slangad.compiler.diagnostics import CompileError, Diagnostic, Severity, ToolchainError
from slangad.compiler.products import (
    Description,
    KernelPlace,
    Product,
    Unit,
    artefact_products,
    check_names,
    slang_products,
)
from slangad.compiler.recall import recall, remember
from slangad.compiler.toolchain.messages import to_diagnostics
from slangad.compiler.toolchain.request import DEFAULT_TIME_LIMIT, CompileJob, CompileResult
from slangad.compiler.toolchain.session import compile_jobs

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Sequence
    from pathlib import Path

    from slangad.compiler.inputs import Input
    from slangad.compiler.ir.nodes import Module
    from slangad.compiler.spans import Span
    from slangad.compiler.toolchain.cache import Cache


@dataclass(frozen=True, slots=True)
class Options:
    """How to compile; what is written and where is the command line's business.

    Attributes:
        targets: Names from ``toolchain.targets``; none means Slang only.
        modes: Which entry points of a kernel: ``forward``, ``backward``, ``jvp``.
        dump: Called with the name of each pass and the module after it.
        keep_ir: Whether the IR is wanted too.
        own_targets: Whether the targets a description names itself come before ``targets``.
    """

    targets: tuple[str, ...] = ("spirv",)
    modes: tuple[str, ...] = ("forward", "backward", "jvp")
    include_dirs: tuple[str, ...] = ()
    optimization: int = 1
    slangc: Path | None = None
    workers: int = 2
    time_limit: float = DEFAULT_TIME_LIMIT
    cache: Cache | None = None
    dump: Callable[[str, Module], None] | None = None
    keep_ir: bool = False
    own_targets: bool = False


@dataclass(frozen=True, slots=True)
class Built:
    """One input, compiled: what to write for it, what it depends on, and what is worth telling.

    ``failures`` are about targets that need a tool this machine lacks; what the others gave is in ``products``.
    """

    unit: Unit
    products: tuple[Product, ...]
    sources: tuple[str, ...]
    errors: tuple[Diagnostic, ...] = ()
    warnings: tuple[Diagnostic, ...] = ()
    failures: tuple[Diagnostic, ...] = ()
    cached: bool = False
    targets: tuple[str, ...] = ()


def build(
    inputs: Sequence[Input], options: Options, progress: Callable[[int, int], None] | None = None
) -> tuple[Built, ...]:
    """Compile all inputs, or raise with everything that is wrong with any of them.

    Raises:
        CompileError: A description was rejected, by slangad or by Slang.
        ToolchainError: Slang crashed, hung or could not be run.
    """
    units = describe(inputs, options)
    check_names(units)
    jobs = [job_of(unit, options) for unit in units if unit.entries and options.targets]
    results = compile_jobs(jobs, workers=options.workers, slangc=options.slangc, cache=options.cache, progress=progress)
    by_name = dict(zip((job.name for job in jobs), results, strict=True))
    return _accepted([_finish(unit, by_name.get(unit.emitted.file_name, CompileResult()), options) for unit in units])


def describe(inputs: Sequence[Input], options: Options) -> list[Unit]:
    """Take every input through the front end, the passes and the emitter.

    Raises:
        CompileError: With what is wrong in any of them.
    """
    units: list[Unit] = []
    problems: list[Diagnostic] = []
    for item in inputs:
        try:
            units.append(_describe_one(item, options))
        except CompileError as error:  # noqa: PERF203  (one bad input must not hide another)
            problems += error.diagnostics
    if problems:
        raise CompileError(problems)
    return units


def _describe_one(item: Input, options: Options) -> Unit:
    memory = None if options.dump or options.keep_ir else options.cache
    description = recall(memory, item.path) if memory else None
    module = None
    if description is None:
        description, module = run_front_end(item.path, options)
        if memory:
            remember(memory, item.path, description)
    known = [kernel.name for kernel in description.kernels]
    unknown = [name for name in item.kernels if name not in known]
    if unknown:
        names = ", ".join(known) or "none"
        raise CompileError(
            [
                Diagnostic("SA403", f"{item.path} has no kernel called {name}", help=f"it has: {names}")
                for name in unknown
            ]
        )
    wanted = item.kernels or known
    points = description.emitted.entry_points
    return Unit(item, description, tuple(e for e in points if e.kernel in wanted and e.mode in options.modes), module)


def run_front_end(path: Path, options: Options) -> tuple[Description, Module]:
    """Read a description, complete it, print its Slang.

    Raises:
        CompileError: It was rejected.
    """
    from slangad.compiler.emit import emit_module
    from slangad.compiler.frontends import load
    from slangad.compiler.passes import run_passes

    loaded = load(path)
    module = run_passes(loaded, options.dump)
    emitted = emit_module(module)
    kernels = tuple(KernelPlace(kernel.name, kernel.span) for kernel in module.kernels)
    sources = _each_once((module.source, *module.sources))
    return Description(module.source, sources, module.bound, kernels, emitted, targets=module.targets), module


def targets_of(unit: Unit, options: Options) -> tuple[str, ...]:
    """What one input is compiled for."""
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
        optimization=options.optimization,
        time_limit=options.time_limit,
    )


def _finish(unit: Unit, result: CompileResult, options: Options) -> Built:
    if result.messages and unit.description.recalled:
        unit = replace(unit, description=run_front_end(unit.input.path, options)[0])  # for its span map
    said = to_diagnostics(result.messages, partial(_locate, unit))
    errors = [d for d in said if d.severity is Severity.ERROR and d.code != MISSING_TOOL]
    return Built(
        unit=unit,
        products=(*slang_products(unit), *artefact_products(unit, result)),
        sources=_each_once((*unit.description.sources, *result.dependencies)),
        errors=tuple(errors),
        warnings=tuple(d for d in said if d.severity is not Severity.ERROR),
        failures=blame(unit, (*result.diagnostics, *(d for d in said if d.code == MISSING_TOOL))),
        cached=result.cached,
        targets=targets_of(unit, options),
    )


def _each_once(paths: Iterable[str]) -> tuple[str, ...]:
    """The paths in order, each file once, by the first of its names."""
    return tuple({os.path.realpath(path): path for path in reversed([*paths])}.values())[::-1]


def _locate(unit: Unit, file: str, line: int, column: int) -> Span | None:
    """The place in the user's description that a position of the emitted text was made from."""
    return unit.emitted.locate(line, column) if file == unit.emitted.file_name else None


def _accepted(built: Sequence[Built]) -> tuple[Built, ...]:
    """The same, provided nothing is wrong that a missing tool doesn't explain."""
    errors = [error for one in built for error in one.errors]
    if errors:
        raise CompileError(errors)
    failures = [failure for one in built for failure in one.failures if failure.code != MISSING_TOOL]
    if failures:
        raise ToolchainError(failures)
    return tuple(built)
