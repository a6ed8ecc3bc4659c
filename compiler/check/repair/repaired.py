"""Describe which parts of a Slang file cannot be checked, and why."""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Final

from slangad.compiler.check.model.outcomes import CheckOutcome, Disagreement
from slangad.compiler.check.model.subject import Subject, by_place
from slangad.compiler.check.subjects.overloads import with_labels
from slangad.compiler.errors.diagnostics import with_helps
from slangad.compiler.report.figures import listed
from slangad.compiler.report.model import Leg
from slangad.compiler.slang_text.bodies import SlangFunction
from slangad.compiler.slang_text.declarations import Declaration
from slangad.compiler.slang_text.parts import contains

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping, Sequence

    from slangad.compiler.errors.diagnostics import Diagnostic
    from slangad.compiler.errors.spans import Span
    from slangad.compiler.ir.nodes import Module
    from slangad.compiler.report.model import Kind
    from slangad.compiler.slang_text.parts import Part, Parts

SLOW_REMEDY: Final = "Raise --time-limit, or leave the machine more time: fewer processes at once, -j 1"
_SLOW: Final = "SA241"
_UNDEFINED: Final = "undefined identifier "
_NOT_FOUND: Final = re.compile(r"(?:cannot open file|failed to find include file) '([^']+)'")
"""Slang's message about an import or included file that does not exist."""
_UNKNOWN: Final = re.compile(r"undefined identifier |no overload|'[^']+' is not a member|ambiguous")
"""Errors that the declarations of a failing import could repair."""
_SHOWN: Final = 3
"""Missing files that are named for one function."""


@dataclass(frozen=True, slots=True)
class BrokenPart:
    """A function or declaration that does not compile, or a function that uses one.

    Attributes:
        span: The location of the error.
        head: The location of its name.
    """

    name: str
    kind: Kind
    span: Span
    failure: Disagreement
    head: Span
    signature: str = ""

    @property
    def subject(self) -> Subject:
        """Return a subject that fails."""
        return Subject(self.name, self.kind, self.span, failure=self.failure, signature=self.signature)


@dataclass(frozen=True, slots=True)
class Repaired:
    """The checkable rest of a file.

    Attributes:
        text: Its text without the broken parts; None if it is unchanged.
        module: The module of the rest.
        broken: The broken parts.
        others: The changed texts of the other files of its module, by their real paths.
    """

    text: str | None
    module: Module
    broken: tuple[BrokenPart, ...] = ()
    others: Mapping[str, str] = field(default_factory=dict)

    def with_broken(self, subjects: Iterable[Subject]) -> tuple[Subject, ...]:
        """Return subjects and broken parts, by location if there are broken parts."""
        if not self.broken:
            return with_labels(subjects)
        every = (*subjects, *(one.subject for one in self.broken))
        return with_labels(sorted(every, key=by_place))


@dataclass(frozen=True, slots=True)
class FaultReport:
    """Describes what is wrong.

    Attributes:
        faults: The parts that cause the failure, each with Slang's errors.
        users: Parts that use a broken part, each with that part.
    """

    parts: Parts
    faults: Mapping[Part, Sequence[Diagnostic]]
    users: Mapping[Part, Part]

    def broken(self) -> Iterator[BrokenPart]:
        """Yield the broken parts, and the differentiable functions that use them."""
        for part, diagnostics in self.faults.items():
            yield self._broken(part, diagnostics)
        for part, other in self.users.items():
            if self.parts.is_differentiable(part):
                failure = self._failure(part, self._why(part, other), ())
                yield BrokenPart(part.name, "function", part.span, failure, part.span, _signature(part))

    def _broken(self, part: Part, diagnostics: Sequence[Diagnostic]) -> BrokenPart:
        first = diagnostics[0]
        notes = with_helps(diagnostics)
        declared = isinstance(part, Declaration)
        who = f"{part.kind} {part.name}" if isinstance(part, Declaration) else "it"
        reason = f"{who} does not compile: {first.message} [{first.code}]"
        lost = _NOT_FOUND.search(first.message)
        if lost:
            reason += f"; if the file exists, name the folder that contains {lost[1]} with -I"
        elif first.message.startswith(_UNDEFINED) and not declared:
            reason += self._perhaps()
        span = first.span if first.span.file == part.span.file else part.span
        failure = self._failure(part, reason, tuple(dict.fromkeys(notes)))
        kind: Kind = "declaration" if declared else "function"
        return BrokenPart(part.name, kind, span, failure, part.span, _signature(part))

    def _perhaps(self) -> str:
        """Return the imports from which an undefined name may come."""
        imports = [f"'{one.kind} {one.name}'" for one in self.faults if isinstance(one, Declaration) and one.brings_in]
        lost = all(_NOT_FOUND.search(d.message) for one in self.faults if _brings_in(one) for d in self.faults[one])
        remedy = "is not found (-I names its folder)" if lost else "fails"
        come = listed(imports, _SHOWN, comma=" or ", last=" or ")
        return f"; it may be meant to come from {come}, which {remedy}" if imports else ""

    def _outcome(self, part: Part) -> CheckOutcome:
        """Return the outcome of a part. An import fails. Errors that its declarations could repair are undecided."""
        root = part
        while root in self.users and root not in self.faults:
            root = self.users[root]
        if any(diagnostic.code == _SLOW for diagnostic in self.faults.get(root, ())):
            return CheckOutcome.SLOW_COMPILE
        imported = _brings_in(root)
        plain = all(_UNKNOWN.match(d.message) for d in self.faults.get(root, ()))
        if (imported and root != part) or (plain and not imported and any(_brings_in(one) for one in self.faults)):
            return CheckOutcome.NO_IMPORT
        return CheckOutcome.NOT_COMPILED

    def _why(self, part: Part, other: Part) -> str:
        root = other
        while root in self.users and not self.parts.is_differentiable(root):
            root = self.users[root]
        how = f"{_use(part, other)} does not compile"
        if root != other:
            how = f"{_use(part, other)} uses '{_called(root)}', which does not compile"
        return how

    def _failure(self, part: Part, message: str, notes: tuple[str, ...]) -> Disagreement:
        outcome = self._outcome(part)
        message = f"{message}. {SLOW_REMEDY}" if outcome is CheckOutcome.SLOW_COMPILE else message
        return Disagreement(Leg.COMPILE, outcome, re.sub(r"\s+", " ", message), notes=notes)


def _brings_in(part: Part) -> bool:
    return isinstance(part, Declaration) and part.brings_in


def _signature(part: Part) -> str:
    return part.header.signature if isinstance(part, SlangFunction) else ""


def _called(part: Part) -> str:
    """Return the name by which others use a part."""
    return f"extension {part.name}" if isinstance(part, Declaration) and part.kind == "extension" else part.name


def _use(part: Part, other: Part) -> str:
    """Return the beginning of a sentence: the way in which a part uses another."""
    if isinstance(other, Declaration):
        return f"it {'stands in' if contains(other, part) else 'uses'} '{_called(other)}', which"
    name = other.header.name
    struct = next((word for word in reversed(other.header.path) if word in part.words), "")
    if isinstance(part, SlangFunction) and name in part.header.attributes:
        return f"its derivative '{other.name}'"
    if struct and name not in part.words:
        return f"it uses '{struct}', whose '{name}'"
    return f"it calls '{other.name}', which"
