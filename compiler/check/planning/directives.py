"""Give subjects their directives: what comment lines of Slang files and the project declare about their check."""

from __future__ import annotations

from dataclasses import replace
from fnmatch import fnmatchcase
from pathlib import PurePath
from typing import TYPE_CHECKING

from slangad.compiler.check.model.outcomes import CheckOutcome, Disagreement
from slangad.compiler.check.model.subject import Subject
from slangad.compiler.frontends.reading.directives import DIRECTIVES, NO_DIRECTIVES, Directives, read_directives
from slangad.compiler.frontends.reading.problems import Problems, did_you_mean
from slangad.compiler.frontends.slang.ranges import fitting_ranges
from slangad.compiler.ir import nodes as ir
from slangad.compiler.ir import types
from slangad.compiler.report.model import Leg
from slangad.compiler.slang_text.calls import same_file
from slangad.compiler.slang_text.directives import directive_lines
from slangad.compiler.slang_text.endings import is_slang
from slangad.compiler.slang_text.files import source_of

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence

    from slangad.compiler.check.options import CheckOptions
    from slangad.compiler.errors.diagnostics import Diagnostic
    from slangad.compiler.errors.spans import Span
    from slangad.compiler.frontends.reading.directives import DeclaredDerivative
    from slangad.compiler.ir.nodes import Function, Module
    from slangad.compiler.ir.types import Type
    from slangad.compiler.slang_text.bodies import SlangSource
    from slangad.compiler.slang_text.headers import Header


def with_directives(
    subjects: Sequence[Subject], module: Module, path: str, options: CheckOptions
) -> tuple[Subject, ...]:
    """Return the subjects of a file with their directives, and a failing subject for each line that is wrong."""
    problems = Problems()
    sources = [source_of(file) for file in module.sources or (path,) if is_slang(file)]
    read = [one for source in sources for one in _read(source, subjects, module, problems)]
    updated = [_with(subject, _of(subject, read), path, options) for subject in subjects]
    names = {function.header.name for source in sources for function in source.functions}
    updated = [_with_fitting_derivative(subject, module, names, problems) for subject in updated]
    mistakes = [_mistake(one) for one in problems.sorted()]
    every = (*updated, *mistakes)
    return tuple(sorted(every, key=_by_place)) if mistakes else every


def _by_place(subject: Subject) -> tuple[bool, int, int]:
    return not subject.span.line, subject.span.line, subject.span.column


def _read(
    source: SlangSource, subjects: Iterable[Subject], module: Module, problems: Problems
) -> Iterator[tuple[Header, Directives]]:
    """Yield the declarations of comment lines of a text, by function. Report wrong lines of the file itself."""
    subjects_here = [s for s in subjects if same_file(s.span.file, source.file)]
    if not subjects_here:
        return
    file = subjects_here[0].span.file
    checked = {(s.span.line, s.span.column) for s in subjects_here}
    types = {(f.span.line, f.span.column): _types(f) for f in module.functions if f.span.file == file}
    attached: set[Span] = set()
    for function in source.functions:
        lines = list(directive_lines(function.header.comments, file))
        place = function.span.line, function.span.column
        if not lines or not (source.is_differentiable(function) or place in checked):
            continue
        attached |= {line.span for line in lines}
        directives = read_directives(lines, problems)
        if place in types:
            list(fitting_ranges(directives, types[place], problems))
        yield function.header, directives
    for line in directive_lines(source.code.comments.values(), file):
        if line.span not in attached and line.name in DIRECTIVES and not _is_prose(line.name, line.words):
            message = f"'{line.name}' stands above no differentiable function"
            problems.error("SA087", line.span, message, help="move the line directly above the function")


def _is_prose(name: str, words: Sequence[tuple[str, Span]]) -> bool:
    """Return True for a comment such as ``// range: 0 to 1``, which need not be a directive."""
    return name == "range" and len(words) != 4


def _types(function: Function) -> dict[str, Type]:
    """Return the types of the inputs of a function by their names."""
    return {param.name: param.type for param in function.params if param.direction != "out"}


def _of(subject: Subject, read: Sequence[tuple[Header, Directives]]) -> Directives:
    """Return the declarations of comment lines about a subject. Find one that does not compile by its name."""
    for header, directives in read:
        if (header.span.line, header.span.column) == (subject.span.line, subject.span.column):
            return directives
    if subject.failure is not None and subject.kind == "function":
        name = subject.name.rpartition(".")[2]
        named = [one for header, one in read if header.name == name and header.signature == subject.signature]
        return named[0] if len(named) == 1 else NO_DIRECTIVES
    return NO_DIRECTIVES


def _with(subject: Subject, lines: Directives, path: str, options: CheckOptions) -> Subject:
    """Return a subject with its directives and those of the project. Its own win."""
    result = NO_DIRECTIVES
    for pattern, directives in options.directives:
        if _matches(pattern, subject, path):
            result = result.and_then(directives)
    ranges = tuple(declared for declared, _ in result.ranges)
    result = result.and_then(lines)
    if result == NO_DIRECTIVES:
        return subject
    return replace(
        subject,
        directives=result,
        skipped=result.skip or subject.skipped,
        ranges=(*ranges, *subject.ranges),
    )


def _with_fitting_derivative(subject: Subject, module: Module, names: Iterable[str], problems: Problems) -> Subject:
    """Return a subject without a derivative that it can't have. Report that one."""
    declared = subject.directives
    function = next((f for f in module.functions if f.key == subject.function), None)
    if declared.derivative is None or function is None:
        return subject
    why, help_ = _unfit(declared.derivative, function, names)
    if not why:
        return subject
    problems.error("SA087", declared.spans["derivative"], why, help=help_)
    return replace(subject, directives=replace(declared, derivative=None))


def _unfit(derivative: DeclaredDerivative, function: Function, names: Iterable[str]) -> tuple[str, str]:
    """Return the reason why a function can't have a derivative, and a remedy; empty texts if it can."""
    if not isinstance(function.body, ir.External):
        return "the derivative of a function of a description is declared there", "derivative=… of its decorator"
    active = [p for p in function.params if types.carries_gradient(p.type) and not p.no_diff]
    stored = any(param.direction != "in" for param in function.params)
    if not isinstance(function.result, (types.Scalar, types.Vector, types.Matrix)) or stored or not active:
        return "it needs a function of values that returns a number, vector or matrix", "call it in such a function"
    match derivative:
        case ir.Surrogate(function=soft) if soft.rpartition(".")[2] not in names:
            return f"there is no function '{soft}'", did_you_mean(soft, names)
        case ir.StraightThrough() if all(param.type != function.result for param in active):
            return "straight_through needs a parameter of the type of the result", ""
        case ir.Subgradient() if not isinstance(active[0].type, types.Scalar):
            return "subgradient needs a number as the first parameter with a gradient", ""
        case _:
            return "", ""


def _matches(pattern: str, subject: Subject, path: str) -> bool:
    """Return True if a pattern such as ``shade*`` or ``lib/*.slang:shade*`` fits a subject."""
    file, separator, name = pattern.rpartition(":")
    if separator and not PurePath(path).match(file):
        return False
    return any(fnmatchcase(known, name) for known in subject.names)


def _mistake(diagnostic: Diagnostic) -> Subject:
    """Return a subject that fails: a wrong line."""
    message = f"{diagnostic.message} [{diagnostic.code}]"
    notes = (f"help: {diagnostic.help}",) if diagnostic.help else ()
    failure = Disagreement(Leg.COMPILE, CheckOutcome.BAD_DIRECTIVE, message, notes=notes)
    return Subject(f"check line {diagnostic.span.line}", "declaration", diagnostic.span, failure=failure)
