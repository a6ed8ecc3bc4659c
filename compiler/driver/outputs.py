"""The outputs of a compile: named files with their bytes. Nothing touches the disk here.

    fit.slang   fit.shade.forward.spv   fit.shade.forward.spv.reflection.json   fit.manifest.json   fit.d

Names never collide: ``<stem>.slang``, ``<stem>.<kernel>.<mode><extension>``, and beside each artefact its reflection.
docs/decisions/outputs.md gives the reasons.
"""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING

from slangad.compiler.driver.cpp_names import input_word
from slangad.compiler.driver.emitted import unique_files
from slangad.compiler.driver.manifest_text import REFLECTION
from slangad.compiler.driver.merge_failures import MISSING_TOOL, merge_failures
from slangad.compiler.driver.model import CPP, CompiledInput, Output
from slangad.compiler.driver.requirements import limit_notes
from slangad.compiler.driver.slang_compilers import user_names
from slangad.compiler.driver.unsupported import supported_targets
from slangad.compiler.errors.diagnostics import CompileError, Diagnostic, Severity
from slangad.compiler.errors.spans import Span
from slangad.compiler.ir.targets import TARGETS
from slangad.compiler.slang_text.endings import is_slang
from slangad.compiler.slang_text.search import shown_path
from slangad.compiler.toolchain.messages.messages import to_diagnostics
from slangad.compiler.toolchain.messages.translations import remedy_of_defect

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from slangad.compiler.driver.model import EmittedInput, KernelSummary
    from slangad.compiler.emit.model import EntryPoint
    from slangad.compiler.toolchain.jobs.request import CompileResult


def outputs_of(slang: EmittedInput, code: CompileResult) -> CompiledInput:
    """Return the output files of one input, and what Slang reports at the user's locations."""
    artefacts = _artefact_outputs(slang, code)
    reported = user_names(to_diagnostics(code.messages, partial(_locate, slang)), slang.description.sources)
    errors = [d for d in reported if d.severity is Severity.ERROR and d.code != MISSING_TOOL]
    missing = [d for d in reported if d.code == MISSING_TOOL]
    notes = (*_notes(slang), *limit_notes(slang, artefacts))
    return CompiledInput(
        slang=slang,
        outputs=(*_slang_outputs(slang), *artefacts),
        sources=unique_files((*slang.description.sources, *code.dependencies)),
        errors=tuple(errors),
        warnings=(*(d for d in reported if d.severity is not Severity.ERROR), *notes),
        failures=merge_failures(slang, (*code.diagnostics, *missing)),
        cached=code.cached,
        targets=supported_targets(slang),
    )


def _slang_outputs(slang: EmittedInput) -> list[Output]:
    """Return the Slang text and the library modules that it imports."""
    libraries = [Output(name, text.encode(), "library") for name, text in slang.emitted.libraries.items()]
    return [Output(slang.emitted.file_name, slang.emitted.text.encode(), "slang"), *libraries]


def _artefact_outputs(slang: EmittedInput, result: CompileResult) -> list[Output]:
    """Return the artefact of every entry point and target, each with its reflection."""
    entries = {entry.symbol: entry for entry in slang.entries}
    outputs = []
    for artefact in result.artefacts:
        name = artefact_name(slang, entries[artefact.entry], artefact.target)
        outputs.append(Output(name, artefact.data, "artefact", artefact.target, artefact.entry))
        reflection = result.reflection_text(artefact.target, artefact.entry)
        if reflection:
            data = reflection.encode()
            outputs.append(Output(f"{name}{REFLECTION}", data, "reflection", artefact.target, artefact.entry))
    return outputs


def artefact_name(slang: EmittedInput, entry: EntryPoint, target: str) -> str:
    """Return the file name of an entry point's code for a target."""
    mode = () if entry.written else (entry.mode.value,)
    part = entry.file_part or entry.part
    words = (slang.stem, entry.kernel, *mode, *([part] if part else ()))
    return f"{'.'.join(words)}{TARGETS[target].extension}"


def refuse_equal_names(units: Sequence[EmittedInput], *, headers: bool = False) -> None:
    """Refuse inputs whose files have equal names, or whose kernels in C++ do.

    Args:
        units: The inputs.
        headers: True if C++ headers or libraries are printed.

    Raises:
        CompileError: Two inputs have one stem, or one name in C++ and kernels of one name, or two files would have one
            name.
    """
    in_cpp = [unit for unit in units if headers or CPP in unit.asked]
    problems = [*_same_stems(units), *_same_kernels(in_cpp)] or [*_same_files(units)]
    if problems:
        raise CompileError(problems)


def _same_stems(units: Sequence[EmittedInput]) -> Iterable[Diagnostic]:
    seen: dict[str, EmittedInput] = {}
    for unit in units:
        first = seen.setdefault(unit.stem.casefold(), unit)
        if first is not unit:
            yield Diagnostic(
                "SA401",
                f"the files of this input would overwrite those of {first.source}",
                _whole_file(unit),
                help="rename one of the two, or compile them in two runs with different output folders",
                notes=(f"both would be written as {first.stem}.slang, {first.stem}.manifest.json, …",),
            )


def _same_kernels(units: Sequence[EmittedInput]) -> Iterable[Diagnostic]:
    """Yield an error for two kernels of one name in inputs of one name in C++: ``my-brdf.py`` and ``my_brdf.py``.

    Functions of Slang files may share names.
    """
    seen: dict[tuple[str, str], tuple[EmittedInput, KernelSummary]] = {}
    described = (unit for unit in units if not is_slang(unit.source))
    for unit, kernel in ((one, kernel) for one in described for kernel in one.kernels):
        word = input_word(unit.stem)
        first, known = seen.setdefault((word, kernel.name), (unit, kernel))
        if first is not unit:
            yield Diagnostic(
                "SA402",
                f"there are two kernels called {kernel.name} for C++",
                kernel.span,
                help=f"rename {shown_path(unit.source)}: both inputs are from_{word} in C++",
                notes=(f"the other one is at {known.span}",),
            )


def _same_files(units: Sequence[EmittedInput]) -> Iterable[Diagnostic]:
    """Yield an error for two files of one name and different contents: an input named like a library module."""
    seen: dict[str, tuple[EmittedInput, str]] = {}
    for unit, name, content in (planned for each in units for planned in _planned(each)):
        first, known = seen.setdefault(name.casefold(), (unit, content))
        if known != content:
            yield Diagnostic(
                "SA404",
                f"{name} would be written twice with different contents",
                _whole_file(unit),
                help="rename the input",
                notes=(f"the other one comes from {first.source}",),
            )


def _planned(unit: EmittedInput) -> Iterable[tuple[EmittedInput, str, str]]:
    """Yield the files that are not named after an entry point, each with its text or its source."""
    yield unit, unit.emitted.file_name, unit.emitted.text
    for name, text in unit.emitted.libraries.items():
        yield unit, name, text
    for ending in (".manifest.json", ".d"):
        yield unit, unit.label + ending, unit.source


def _whole_file(unit: EmittedInput) -> Span:
    return Span(unit.source, 0, 0, 0, 0)


def _notes(slang: EmittedInput) -> Iterable[Diagnostic]:
    """Yield a note for each function that is not compiled, loop that no group shares, and folder without an option."""
    yield from _left_out(slang)
    for reason, at in dict.fromkeys(loop for kernel in slang.kernels for loop in kernel.unshared):
        message = f"a group does not run this loop together: {reason}"
        yield Diagnostic("SA310", message, at, severity=Severity.NOTE)
    for one in slang.found_folders:
        span = Span(shown_path(one.file), one.reference.line, 1, one.reference.line, 1 + len(one.reference.written))
        yield Diagnostic("SA086", one.note, span, severity=Severity.NOTE)


def _left_out(slang: EmittedInput) -> Iterable[Diagnostic]:
    """Yield a note for each function that is not compiled. If the user named kernels, only for those."""
    asked = {kernel.span for kernel in slang.kernels} if slang.input.kernels else None
    for left in slang.description.left_out:
        if asked is not None and left.span not in asked:
            continue
        what = [f"the {' and '.join(left.modes)} kernel of"] if left.modes else []
        where = [f"for {', '.join(left.targets)}"] if left.targets else []
        message = " ".join([*what, left.function, "is left out", *where]) + f": {left.reason}"
        yield Diagnostic("SA084", message, left.span, severity=Severity.NOTE, help=remedy_of_defect(left.reason))


def _locate(slang: EmittedInput, file: str, line: int, column: int) -> Span | None:
    """Return the user's location of a position in the emitted text, at least its file."""
    if file != slang.emitted.file_name:
        return None
    return slang.emitted.locate(line, column) or _whole_file(slang)
