"""Leave out functions of Slang files that Slang cannot compile, so that the rest of the file is compiled.

    f.slang: f, g (crashes Slang)   ->   artefacts of f, and a note: g is left out: the Slang compiler crashes on it

If entry points are missing from a result, each is compiled by itself, to learn which fail and why. The input is
compiled again without them. Failures are cached, so the next run leaves them out at once.
"""

from __future__ import annotations

import hashlib
import json
import re
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Final, NamedTuple

from slangad import __version__
from slangad.compiler.driver.emitted import emit_input, job_of
from slangad.compiler.driver.model import finish
from slangad.compiler.errors.diagnostics import Severity
from slangad.compiler.ir.nodes import External, Kernel, LeftOut, Module
from slangad.compiler.ir.targets import TARGETS
from slangad.compiler.toolchain.identity import fingerprint
from slangad.compiler.toolchain.locate import find_library
from slangad.compiler.toolchain.messages.messages import to_diagnostics
from slangad.compiler.toolchain.tools import tool_of

if TYPE_CHECKING:
    from collections.abc import Iterable

    from slangad.compiler.driver.model import CompileSteps, EmittedInput, Options
    from slangad.compiler.driver.slang_compilers import SlangCompilers
    from slangad.compiler.toolchain.jobs.request import CompileJob, CompileResult

_NO_MODE: Final = re.compile(r"'(fwd|bwd)_diff' is not a member of")
_MODE_NAMES: Final = {"fwd": "forward", "bwd": "reverse"}
_DEATHS: Final = {"SA240": "the Slang compiler crashes on it", "SA241": "the Slang compiler takes too long on it"}


class EntryFailure(NamedTuple):
    """An entry point that Slang cannot compile, and the reason. Empty ``targets`` mean all targets."""

    kernel: str
    mode: str
    reason: str
    targets: tuple[str, ...]


def isolate_failures(steps: CompileSteps, options: Options, compilers: SlangCompilers) -> CompileSteps:
    """Run a compile without the entry points that fail. If nothing would be left, all of them stay."""
    slang = next(steps)
    if options.targets and _is_slang_file(slang):
        slang = _without(slang, _cached_failures(slang, options), options)
    slang, code = yield slang
    if options.targets and _is_slang_file(slang):
        slang, code = _retry(slang, code, options, compilers)
    return finish(steps, slang, code)


def _retry(
    slang: EmittedInput, code: CompileResult, options: Options, compilers: SlangCompilers
) -> tuple[EmittedInput, CompileResult]:
    """Return the input without the entry points that fail, and its code."""
    job = job_of(slang, options)
    missing = _missing(job, code)
    if not missing:
        return slang, code
    failures = _failures(slang, missing, _available(job), options, compilers)
    smaller = _without(slang, failures, options)
    if not failures or not smaller.entries:
        return slang, code
    if options.cache is not None:
        options.cache.put(_key(slang, options), json.dumps(failures).encode())
    (again,) = compilers.compile([job_of(smaller, options)])  # by itself, so that the cache keeps the result
    return smaller, again


def _failures(
    slang: EmittedInput,
    missing: set[tuple[str, str]],
    available: tuple[str, ...],
    options: Options,
    compilers: SlangCompilers,
) -> list[EntryFailure]:
    """Compile each missing entry point by itself, and return those that fail again."""
    entries = [entry for entry in slang.entries if any(name == entry.symbol for _, name in missing)]
    singles = [_rebuilt(slang, _only(slang, entry.kernel, entry.mode.value), options) for entry in entries]
    jobs = [
        replace(job_of(single, options), targets=tuple(t for t in available if (t, entry.symbol) in missing))
        for single, entry in zip(singles, entries, strict=True)
    ]
    failures = []
    for entry, job, result in zip(entries, jobs, compilers.compile(jobs), strict=True):
        failed = tuple(target for target, _ in _missing(job, result))
        if failed:
            everywhere = {*failed} == {*available}
            ordered = () if everywhere else tuple(t for t in available if t in failed)
            failures.append(EntryFailure(entry.kernel, entry.mode.value, _reason(result), ordered))
    return failures


def _cached_failures(slang: EmittedInput, options: Options) -> list[EntryFailure]:
    stored = options.cache.get(_key(slang, options)) if options.cache is not None else None
    return [EntryFailure(k, m, r, tuple(t)) for k, m, r, t in json.loads(stored)] if stored else []


def _without(slang: EmittedInput, failures: list[EntryFailure], options: Options) -> EmittedInput:
    """Leave out the entry points that fail on every target, and skip those that fail on some targets there."""
    if not failures:
        return slang
    smaller = _rebuilt(slang, _reduced(slang, failures), options)
    partly = {(target, _entry(smaller, failure)) for failure in failures for target in failure.targets}
    return replace(smaller, without=slang.without | partly)


def _rebuilt(slang: EmittedInput, module: Module, options: Options) -> EmittedInput:
    """Return the same input with a module that has fewer kernels."""
    kernels = {kernel.name for kernel in module.kernels}
    kept = tuple(name for name in slang.input.kernels if name in kernels)
    smaller = emit_input(replace(slang.input, kernels=kept), module, options)
    entries = smaller.entries if kept or not slang.input.kernels else ()
    return replace(smaller, input=slang.input, entries=entries)


def _is_slang_file(unit: EmittedInput) -> bool:
    """Return True if the kernels are functions of a Slang file."""
    module = unit.module
    if module is None:
        return False
    external = {function.key for function in module.functions if isinstance(function.body, External)}
    return any(kernel.function in external for kernel in module.kernels)


def _available(job: CompileJob) -> tuple[str, ...]:
    """Return the targets that this machine has the tools for."""
    return tuple(t for t in job.targets if (tool := tool_of(TARGETS[t])) is None or tool.find() is not None)


def _missing(job: CompileJob, result: CompileResult) -> set[tuple[str, str]]:
    """Return the targets and entry points without code, except for missing tools."""
    available = _available(job)
    made = {(artefact.target, artefact.entry) for artefact in result.artefacts}
    return {unit for unit in job.units() if unit[0] in available} - made


def _only(unit: EmittedInput, kernel: str, mode: str) -> Module:
    module = _module(unit)
    kernels = tuple(replace(k, modes=(mode,)) for k in module.kernels if k.name == kernel)
    return replace(module, kernels=kernels)


def _module(unit: EmittedInput) -> Module:
    if unit.module is None:
        raise ValueError(f"{unit.source} comes from the cache")
    return unit.module


def _entry(unit: EmittedInput, failure: EntryFailure) -> str:
    return next((e.symbol for e in unit.entries if (e.kernel, e.mode.value) == (failure.kernel, failure.mode)), "")


def _reduced(unit: EmittedInput, failures: list[EntryFailure]) -> Module:
    """Return the module without the entry points that fail on every target, with a record of every failure."""
    module = _module(unit)
    gone = {(failure.kernel, failure.mode) for failure in failures if not failure.targets}
    had = {
        kernel.name: [e.mode.value for e in unit.emitted.entry_points if e.kernel == kernel.name]
        for kernel in module.kernels
    }
    kernels = tuple(
        replace(kernel, modes=left)
        for kernel in module.kernels
        if (left := tuple(mode for mode in had[kernel.name] if (kernel.name, mode) not in gone))
    )
    left_out = [left for kernel in module.kernels for left in _left_out(module, kernel, had[kernel.name], failures)]
    records = sorted((*module.left_out, *left_out), key=lambda left: (not left.span.line, left.span))
    return replace(module, kernels=kernels, left_out=tuple(records))


def _left_out(module: Module, kernel: Kernel, had: list[str], failures: list[EntryFailure]) -> Iterable[LeftOut]:
    """Yield one record for all entry points of a kernel that fail for the same reason on the same targets."""
    function = next(f for f in module.functions if f.key == kernel.function)
    symbol = function.body.symbol if isinstance(function.body, External) else function.name
    modes: dict[tuple[str, tuple[str, ...]], list[str]] = {}
    for failure in failures:
        if failure.kernel == kernel.name:
            modes.setdefault((failure.reason, failure.targets), []).append(failure.mode)
    for (reason, targets), failed in modes.items():
        yield LeftOut(symbol, reason, () if failed == had else tuple(failed), targets, kernel.span)


def _reason(result: CompileResult) -> str:
    for diagnostic in result.diagnostics:
        if diagnostic.code in _DEATHS:
            return _DEATHS[diagnostic.code]
    reported = to_diagnostics(result.messages, lambda *_: None)
    message = next((d.message for d in reported if d.severity is Severity.ERROR), "Slang gives no code for it")
    match = _NO_MODE.search(message)
    return f"Slang has no {_MODE_NAMES[match[1]]} mode of it" if match else message


def _key(slang: EmittedInput, options: Options) -> str:
    """Return the cache key: a hash of the job and of the files it depends on."""
    job = job_of(replace(slang, without=frozenset()), options)
    digests = [hashlib.sha256(Path(path).read_bytes()).hexdigest() for path in slang.description.sources]
    facts = ["failures", __version__, fingerprint(find_library()), repr(job), job.time_limit, digests]
    return hashlib.sha256(json.dumps(facts).encode()).hexdigest()
