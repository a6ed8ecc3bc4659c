"""Give a row to every differentiable function of the inputs that Slang does not show or that no file brings in."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Final

from slangad.compiler.check.model.subject import Subject, by_place
from slangad.compiler.check.subjects.overloads import with_labels
from slangad.compiler.report.model import Result, Verdict
from slangad.compiler.slang_text.calls import same_file
from slangad.compiler.slang_text.endings import is_slang
from slangad.compiler.slang_text.files import source_of
from slangad.compiler.slang_text.headers import CONSTRUCTOR, DERIVATIVE_OF
from slangad.compiler.slang_text.search import search

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping, Sequence
    from pathlib import Path

    from slangad.compiler.check.planning.files import Described
    from slangad.compiler.driver.inputs import Input
    from slangad.compiler.slang_text.bodies import SlangFunction, SlangSource

_OWN_DIFFERENTIAL: Final = frozenset({"dzero", "dadd", "dmul"})
_UNREAD: Final = "its file can't be checked: "
_HIDDEN: Final = (
    "Slang does not list it here: a macro or a condition such as #if around it leaves it out (-D defines a macro), or "
    "no file that is read includes it"
)
_REASONS: Final = {
    "extension": "it is a method of an extension, which Slang's reflection does not list: call it in a function",
    CONSTRUCTOR: "it is a constructor, which Slang's reflection does not list: call it in a function",
}


def with_every_function(described: Mapping[Path, Described], include_dirs: Sequence[str]) -> dict[Path, Described]:
    """Return descriptions with a skipped subject for each differentiable function of their files without one.

    These files are the inputs, and the parts of their modules.
    """
    seen = [s for _, one in described.values() if not isinstance(one, Result) for s in one.subjects]
    listed = {file for item, _ in described.values() for file in item.files}
    made: dict[Path, Described] = {}
    for path, (item, one) in described.items():
        made[path] = item, one
        if isinstance(one, Result) or not is_slang(item.path):
            continue
        parts = [file for file in _parts_of(item, include_dirs) if file not in listed]
        listed.update(parts)
        files = tuple(dict.fromkeys((*item.files, *parts)))
        missing = [_skipped(function) for file in files for function in _unseen(_source(file, item, seen), seen)]
        if missing:
            subjects = with_labels(sorted((*one.subjects, *missing), key=by_place))
            made[path] = replace(item, files=files), replace(one, subjects=subjects)
    return made


def rows_of_unread(item: Input, result: Result, only: Iterable[str], include_dirs: Sequence[str]) -> Iterator[Result]:
    """Yield a row for each differentiable function, or those asked for, of a file that can't be read as a program.

    A function is undecided where the file is. A wrong file has one row, with the reason.
    """
    verdict = Verdict.INCONCLUSIVE if result.verdict is Verdict.INCONCLUSIVE else Verdict.SKIPPED
    asked = {*only, *item.kernels}
    for file in _parts_of(item, include_dirs):
        subjects = with_labels(_skipped(function) for function in _unseen(_source(file, item, ()), ()))
        for one in (one for one in subjects if not asked or asked & one.names):
            reason = f"{_UNREAD}{result.reason}"
            yield Result(str(item.path), one.label, "function", verdict, one.span, reason=reason)


def _parts_of(item: Input, include_dirs: Sequence[str]) -> Iterator[Path]:
    """Yield the files of an input's module, as real paths. An input without its own file means all its files."""
    if not is_slang(item.path):
        return
    main_file = item.path.resolve()
    if item.files and main_file not in item.files:
        yield from item.files
        return
    yield main_file
    yield from (file for file in search(item.path, include_dirs).textual if source_of(str(file)).scan.is_part)


def _source(file: Path, item: Input, seen: Iterable[Subject]) -> SlangSource:
    """Return a file by the name that reports use."""
    source_file = item.path if file == item.path.resolve() else file
    return source_of(
        next((s.span.file for s in seen if s.span.file and same_file(s.span.file, str(source_file))), str(source_file))
    )


def _unseen(source: SlangSource, seen: Sequence[Subject]) -> Iterator[SlangFunction]:
    """Yield the differentiable functions without a row, except custom derivatives.

    Of functions that only conditions of the preprocessor distinguish, Slang shows one.
    """
    here = [one for one in seen if one.span.file and same_file(one.span.file, source.file)]
    rows = {function for one in here if (function := source.at(replace(one.span, file=source.file))) is not None}
    # Columns of a text without its broken parts may be others.
    lines = {(one.span.line, one.plain.rpartition(".")[2]) for one in here}
    rows |= {function for function in source.functions if (function.span.line, function.header.name) in lines}
    known = {(one.name, one.header.signature) for one in rows}
    attributes = {word for function in source.functions for word in function.header.attributes}
    for function in source.functions:
        alike = (function.name, function.header.signature) in known
        if source.is_differentiable(function) and not alike and not _is_derivative(function, attributes):
            known.add((function.name, function.header.signature))
            yield function


def _is_derivative(function: SlangFunction, attributes: Iterable[str]) -> bool:
    """Return True if a function is a part of another one's derivative."""
    header = function.header
    pairs = any("DifferentialPair" in one for one in header.types)
    named = header.name in _OWN_DIFFERENTIAL or header.name in attributes
    return pairs or named or not DERIVATIVE_OF.isdisjoint(header.attributes)


def _skipped(function: SlangFunction) -> Subject:
    header = function.header
    kind = header.name if header.name in _REASONS else "".join(header.path[-1:]).partition(" ")[0]
    why = _REASONS.get(kind, _HIDDEN)
    return Subject(function.name, "function", function.span, skipped=why, signature=header.signature)
