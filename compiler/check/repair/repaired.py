"""What of a Slang file can be checked and what can't, in words: parts that are out go in, failures by name come out."""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

from slangad.compiler.check.model.outcomes import Disagreement, Outcome
from slangad.compiler.check.model.subject import Subject
from slangad.compiler.check.subjects.overloads import told_apart
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

_UNDEFINED: Final = "undefined identifier "


@dataclass(frozen=True, slots=True)
class BrokenPart:
    """A function or declaration that does not compile, or a function that uses one.

    ``head`` is its name, ``span`` the place to look at.
    """

    name: str
    kind: Kind
    span: Span
    failure: Disagreement
    head: Span
    signature: str = ""

    @property
    def subject(self) -> Subject:
        """It as something to check, which fails."""
        return Subject(self.name, self.kind, self.span, failure=self.failure, signature=self.signature)


@dataclass(frozen=True, slots=True)
class Mended:
    """What of a file can be checked: its text without the parts that can't (none: as it is), and those."""

    text: str | None
    module: Module
    broken: tuple[BrokenPart, ...] = ()

    def with_broken(self, subjects: Iterable[Subject]) -> tuple[Subject, ...]:
        """These subjects and the parts that can't be checked, in the order of their places if there are any."""
        if not self.broken:
            return told_apart(subjects)
        every = (*subjects, *(one.subject for one in self.broken))
        return told_apart(sorted(every, key=lambda one: (not one.span.line, one.span.line, one.span.column)))


@dataclass(frozen=True, slots=True)
class Lack:
    """What is the matter with the parts that are taken out."""

    words: str
    outcome: Outcome


@dataclass(frozen=True, slots=True)
class Telling:
    """Puts into words what is wrong.

    Attributes:
        told: The parts to blame, each with what Slang says of it.
        users: Parts that use one of those, or of these, each with that one.
    """

    parts: Parts
    lack: Lack
    told: Mapping[Part, Sequence[Diagnostic]]
    users: Mapping[Part, Part]

    def broken(self) -> Iterator[BrokenPart]:
        """All that is to blame, and the differentiable functions among its users."""
        for part, diagnostics in self.told.items():
            yield self._told(part, diagnostics)
        for part, other in self.users.items():
            if self.parts.is_differentiable(part):
                failure = self._failure(self._why(part, other), ())
                yield BrokenPart(part.name, "function", part.span, failure, part.span, _signature(part))

    def _told(self, part: Part, diagnostics: Sequence[Diagnostic]) -> BrokenPart:
        first = diagnostics[0]
        told = [f"{d.span}: {d.severity.value}[{d.code}]: {d.message}" for d in diagnostics]
        told += [f"help: {d.help}" for d in diagnostics if d.help]
        declared = isinstance(part, Declaration)
        who = f"{part.kind} {part.name}" if isinstance(part, Declaration) else "it"
        reason = f"{who} {self.lack.words}: {first.message} [{first.code}]"
        if first.message.startswith(_UNDEFINED) and not declared:
            reason += self._perhaps()
        span = first.span if first.span.file == part.span.file else part.span
        failure = self._failure(reason, tuple(dict.fromkeys(told)))
        kind: Kind = "declaration" if declared else "function"
        return BrokenPart(part.name, kind, span, failure, part.span, _signature(part))

    def _perhaps(self) -> str:
        """Where something that is not defined may have been meant to come from."""
        imports = [f"'{one.kind} {one.name}'" for one in self.told if isinstance(one, Declaration) and one.brings_in]
        return f"; it may be meant to come from {' or '.join(imports)}, which fails" if imports else ""

    def _why(self, part: Part, other: Part) -> str:
        root = other
        while root in self.users and not self.parts.is_differentiable(root):
            root = self.users[root]
        how = f"{_use(part, other)} {self.lack.words}"
        if root != other:
            how = f"{_use(part, other)} uses '{_called(root)}', which {self.lack.words}"
        if self.lack.outcome is Outcome.NO_TWIN and root in self.told:
            how = f"{how}: {self.told[root][0].message}"
        return how

    def _failure(self, message: str, notes: tuple[str, ...]) -> Disagreement:
        return Disagreement(Leg.COMPILE, self.lack.outcome, re.sub(r"\s+", " ", message), notes=notes)


def _signature(part: Part) -> str:
    return part.header.signature if isinstance(part, SlangFunction) else ""


def _called(part: Part) -> str:
    """What others call it."""
    return f"extension {part.name}" if isinstance(part, Declaration) and part.kind == "extension" else part.name


def _use(part: Part, other: Part) -> str:
    """How one uses another; what is the matter with that may follow."""
    if isinstance(other, Declaration):
        return f"it {'stands in' if contains(other, part) else 'uses'} '{_called(other)}', which"
    name = other.header.name
    struct = next((word for word in reversed(other.header.path) if word in part.words), "")
    if isinstance(part, SlangFunction) and name in part.header.attributes:
        return f"its derivative '{other.name}'"
    if struct and name not in part.words:
        return f"it uses '{struct}', whose '{name}'"
    return f"it calls '{other.name}', which"
