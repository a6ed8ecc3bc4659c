"""Compile a description, one call a stage: ``compile_description``.

``compile_inputs`` runs it for all inputs of a command. All of them reach the emitter before the first is compiled.
Therefore all errors of all inputs are reported together, and the toolchain compiles in parallel. Four wrappers, each
in a file of its own, change its surroundings: ``description_cache``, ``unsupported``, ``missing_modes``,
``isolate_failures``.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from slangad.compiler.driver.description_cache import with_cache
from slangad.compiler.driver.emitted import emit_input, job_of
from slangad.compiler.driver.isolate_failures import isolate_failures
from slangad.compiler.driver.merge_failures import MISSING_TOOL
from slangad.compiler.driver.missing_modes import refuse_missing_modes
from slangad.compiler.driver.model import finish
from slangad.compiler.driver.outputs import outputs_of, refuse_equal_names
from slangad.compiler.driver.slang_compilers import SlangCompilers
from slangad.compiler.driver.unordered_sums import refuse_unordered
from slangad.compiler.driver.unsupported import refuse_unsupported
from slangad.compiler.driver.user_entries import with_user_entries
from slangad.compiler.errors.diagnostics import CompileError, Diagnostic, ToolchainError
from slangad.compiler.frontends import load
from slangad.compiler.passes import run_passes
from slangad.compiler.toolchain.jobs.request import CompileResult

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Sequence
    from pathlib import Path

    from slangad.compiler.driver.inputs import Input
    from slangad.compiler.driver.model import CompiledInput, CompileSteps, EmittedInput, Options
    from slangad.compiler.frontends.python.live import LiveDescription
    from slangad.compiler.frontends.slang.model import SlangSetting
    from slangad.compiler.ir.nodes import Module

    FrontEnd = Callable[[Path | LiveDescription, SlangSetting], Module]


def compile_description(item: Input, options: Options, compilers: SlangCompilers) -> CompileSteps:
    """Compile one description. The generator waits once, for the toolchain."""
    module = describe_module(item, options, compilers)  # frontends, passes
    slang = emit_input(item, module, options)  # emit
    slang, code = yield slang  # toolchain
    return outputs_of(slang, code)  # driver


def describe_module(item: Input, options: Options, compilers: SlangCompilers, load: FrontEnd = load) -> Module:
    """Return the module of a description after all passes. Every command gets its modules here.

    Args:
        item: The description.
        options: The settings of the passes.
        compilers: The Slang compilers, which a Slang file is loaded with.
        load: The front end. That of the check adds the kernels and twins that it builds.
    """
    module = load(item.source, compilers.slang_setting)  # frontends
    return run_passes(module, options.dump, **options.of_passes)  # passes


def compile_inputs(
    inputs: Sequence[Input],
    options: Options,
    progress: Callable[[int, int], None] | None = None,
    *,
    headers: bool = False,
) -> tuple[CompiledInput, ...]:
    """Compile all inputs.

    Args:
        inputs: The inputs.
        options: Their settings.
        progress: Called with the number of results so far, and of all.
        headers: True if C++ headers or libraries will be printed: kernels of one name are refused.

    Raises:
        CompileError: A description was rejected, by slangad or by Slang. It holds the errors of all inputs.
        ToolchainError: Slang crashed, took too long, or could not be run.
    """
    with SlangCompilers(options) as compilers:
        steps = [_wrapped(item, options, compilers) for item in inputs]
        emitted = _all_emitted(steps)
        refuse_equal_names(emitted, headers=headers)
        if options.deterministic:
            refuse_unordered(emitted)
        refuse_specializations((slang.module for slang in emitted if slang.module is not None), options.specialize)
        jobs = [job_of(slang, options) for slang in emitted if slang.entries and options.targets]
        codes = dict(zip((job.name for job in jobs), compilers.compile(jobs, progress), strict=True))
        compiled = tuple(
            finish(step, slang, codes.get(slang.emitted.file_name, CompileResult()))
            for step, slang in zip(steps, emitted, strict=True)
        )
    _raise_errors(compiled)
    if options.pack_buffers is False:
        return compiled
    from slangad.compiler.driver.pack_buffers import pack_buffers

    return tuple(pack_buffers(one, everywhere=bool(options.pack_buffers)) for one in compiled)


def describe(inputs: Sequence[Input], options: Options) -> list[EmittedInput]:
    """Take every input through the stages before the toolchain.

    Raises:
        CompileError: With the errors of all inputs.
        ToolchainError: Slang crashed on a Slang file, or could not be run.
    """
    with SlangCompilers(options) as compilers:
        return _all_emitted([with_cache(compile_description, item, options, compilers) for item in inputs])


def refuse_specializations(modules: Iterable[Module], specialize: Iterable[str]) -> None:
    """Refuse to specialise functions that none of the modules declares.

    Raises:
        CompileError: With all of those.
    """
    declared = {name for module in modules for name in module.taken}
    unknown = [text for text in specialize if re.split(r"\W", text.strip(), maxsplit=1)[0] not in declared]
    if unknown:
        help_ = "check its name, and that its file is among the inputs"
        raise CompileError([Diagnostic("SA083", f"no Slang file declares '{text}'", help=help_) for text in unknown])


def _wrapped(item: Input, options: Options, compilers: SlangCompilers) -> CompileSteps:
    steps = with_cache(compile_description, item, options, compilers)
    steps = refuse_missing_modes(refuse_unsupported(steps), options)
    steps = isolate_failures(steps, options, compilers)
    return with_user_entries(steps, item, options, compilers)


def _all_emitted(steps: Iterable[CompileSteps]) -> list[EmittedInput]:
    """Run compiles up to the toolchain, and raise the errors of all of them at once."""
    emitted: list[EmittedInput] = []
    errors: list[Diagnostic] = []
    for step in steps:
        try:
            emitted.append(next(step))
        except CompileError as error:  # noqa: PERF203  (one bad input must not hide another)
            errors += error.diagnostics
    if errors:
        raise CompileError(errors)
    return emitted


def _raise_errors(compiled: Sequence[CompiledInput]) -> None:
    """Raise everything that is wrong, except for missing tools: the other targets are written."""
    errors = [error for one in compiled for error in (*one.errors, *(() if one.targets else one.refusals))]
    if errors:
        raise CompileError(errors)
    failures = [failure for one in compiled for failure in one.failures if failure.code != MISSING_TOOL]
    if failures:
        raise ToolchainError(failures)
