"""Kernels that were found in a file rather than described: those that Slang can't compile are left out, the rest stays.

A unit and its result go in. When entry points are missing from the result, each is compiled by itself to see which are
to blame and why; the unit comes out without them, compiled anew. What failed is remembered, so that the next run with
the same files does not run into it again.
"""

from __future__ import annotations

import hashlib
import json
import re
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import TYPE_CHECKING, Final, NamedTuple

from slangad import __version__
from slangad.compiler.errors.diagnostics import Severity
from slangad.compiler.ir.nodes import External, Kernel, LeftOut, Module
from slangad.compiler.toolchain.locate import find_library, fingerprint
from slangad.compiler.toolchain.messages.messages import to_diagnostics
from slangad.compiler.toolchain.targets import TARGETS

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Sequence

    from slangad.compiler.driver.outputs import Unit
    from slangad.compiler.toolchain.cache import Cache
    from slangad.compiler.toolchain.jobs.request import CompileJob, CompileResult

_NO_MODE: Final = re.compile(r"'(fwd|bwd)_diff' is not a member of")
_MODE_NAMES: Final = {"fwd": "forward", "bwd": "reverse"}
_DEATHS: Final = {"SA240": "the Slang compiler crashes on it", "SA241": "the Slang compiler takes too long on it"}


class Failure(NamedTuple):
    """An entry point that Slang can't compile, and why; ``targets`` are those it fails for, none if it is all."""

    kernel: str
    mode: str
    reason: str
    targets: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Trial:
    """What it takes to try again.

    Attributes:
        compile: Compiles jobs.
        job_of: The job for a unit.
        rebuild: The unit for a changed module.
        memory: Where failures are remembered, if anywhere.
        known: The targets and entry points of each emitted file that fail and are told of already.
    """

    compile: Callable[[Sequence[CompileJob]], list[CompileResult]]
    job_of: Callable[[Unit], CompileJob]
    rebuild: Callable[[Unit, Module], Unit]
    memory: Cache | None
    known: dict[str, set[tuple[str, str]]] = field(default_factory=dict)

    def prepare(self, unit: Unit) -> Unit:
        """The unit without the entry points that are known to fail."""
        if not is_found(unit) or self.memory is None:
            return unit
        stored = self.memory.get(_key(unit, self.job_of(unit)))
        failures = [Failure(k, m, r, tuple(t)) for k, m, r, t in json.loads(stored)] if stored else []
        return self._without(unit, failures)

    def job(self, unit: Unit) -> CompileJob:
        """The job for a unit, without what is known to fail for some targets."""
        job = self.job_of(unit)
        return replace(job, without=tuple(sorted(self.known.get(job.name, ()))))

    def settle(self, unit: Unit, result: CompileResult) -> tuple[Unit, CompileResult]:
        """The unit without the entry points that fail, and its result; as it was where that would leave nothing."""
        job = self.job(unit)
        missing = _missing(job, result)
        if not missing or not is_found(unit):
            return unit, result
        failures = self._failures(unit, missing, _available(job))
        smaller = self._without(unit, failures)
        if not failures or not smaller.entries:
            return unit, result
        if self.memory is not None:
            self.memory.put(_key(unit, self.job_of(unit)), json.dumps(failures).encode())
        (again,) = self.compile([self.job(smaller)])  # alone it is a result to keep
        return smaller, again

    def _failures(self, unit: Unit, missing: set[tuple[str, str]], available: tuple[str, ...]) -> list[Failure]:
        """Compile each entry point that is missing by itself; those that fail again are to blame."""
        entries = [entry for entry in unit.entries if any(name == entry.name for _, name in missing)]
        singles = [self.rebuild(unit, _only(unit, entry.kernel, entry.mode.value)) for entry in entries]
        jobs = [
            replace(self.job_of(single), targets=tuple(t for t in available if (t, entry.name) in missing))
            for single, entry in zip(singles, entries, strict=True)
        ]
        failures = []
        for entry, job, result in zip(entries, jobs, self.compile(jobs), strict=True):
            failed = tuple(target for target, _ in _missing(job, result))
            if failed:
                everywhere = {*failed} == {*available}
                ordered = () if everywhere else tuple(t for t in available if t in failed)
                failures.append(Failure(entry.kernel, entry.mode.value, _reason(result), ordered))
        return failures

    def _without(self, unit: Unit, failures: Iterable[Failure]) -> Unit:
        """The unit without what fails everywhere; what fails for some targets only is noted in ``known``."""
        failures = list(failures)
        if not failures:
            return unit
        smaller = self.rebuild(unit, _reduced(unit, failures))
        partly = {(target, _entry(smaller, failure)) for failure in failures for target in failure.targets}
        self.known.setdefault(smaller.emitted.file_name, set()).update(partly)
        return smaller


def is_found(unit: Unit) -> bool:
    """Whether the kernels of a unit were found in a file."""
    module = unit.module
    if module is None:
        return False
    external = {function.key for function in module.functions if isinstance(function.body, External)}
    return any(kernel.function in external for kernel in module.kernels)


def _available(job: CompileJob) -> tuple[str, ...]:
    """The targets that this machine has the tools for."""
    return tuple(t for t in job.targets if (tool := TARGETS[t].tool) is None or tool.find() is not None)


def _missing(job: CompileJob, result: CompileResult) -> set[tuple[str, str]]:
    """Targets and entry points without code although nothing but the program stands in the way."""
    available = _available(job)
    made = {(artefact.target, artefact.entry) for artefact in result.artefacts}
    return {unit for unit in job.units() if unit[0] in available} - made


def _only(unit: Unit, kernel: str, mode: str) -> Module:
    module = _module(unit)
    kernels = tuple(replace(k, modes=(mode,)) for k in module.kernels if k.name == kernel)
    return replace(module, kernels=kernels)


def _module(unit: Unit) -> Module:
    if unit.module is None:
        raise ValueError(f"{unit.source} was recalled")
    return unit.module


def _entry(unit: Unit, failure: Failure) -> str:
    return next((e.name for e in unit.entries if (e.kernel, e.mode.value) == (failure.kernel, failure.mode)), "")


def _reduced(unit: Unit, failures: list[Failure]) -> Module:
    """The module without the entry points that fail everywhere; all that fail are left out by name."""
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
    told = sorted((*module.left_out, *left_out), key=lambda left: (not left.span.line, left.span))
    return replace(module, kernels=kernels, left_out=tuple(told))


def _left_out(module: Module, kernel: Kernel, had: list[str], failures: list[Failure]) -> Iterable[LeftOut]:
    """One record for all entry points of a kernel that fail for the same reason on the same targets."""
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
    said = to_diagnostics(result.messages, lambda *_: None)
    message = next((d.message for d in said if d.severity is Severity.ERROR), "Slang gives no code for it")
    found = _NO_MODE.search(message)
    return f"Slang has no {_MODE_NAMES[found[1]]} mode of it" if found else message


def _key(unit: Unit, job: CompileJob) -> str:
    """Everything that decides what fails: the job, and the files it depends on."""
    digests = [hashlib.sha256(Path(path).read_bytes()).hexdigest() for path in unit.description.sources]
    facts = ["failures", __version__, fingerprint(find_library()), repr(job), job.time_limit, digests]
    return hashlib.sha256(json.dumps(facts).encode()).hexdigest()
