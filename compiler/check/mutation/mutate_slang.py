"""Add broken copies of custom derivatives to the text of a Slang file.

The functions are those with ``[BackwardDerivative(…)]`` or ``[ForwardDerivative(…)]`` and the derivative in the same
file. Each way to break a derivative gives one copy of function and derivative, after the originals. Edits replace
tokens. The compiler finds the copies that are no longer Slang; the next try leaves them out.
"""

from __future__ import annotations

from bisect import bisect_right
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Final

from slangad.compiler.check.mutation.mutate import PROBES
from slangad.compiler.slang_text.bodies import read_source
from slangad.compiler.slang_text.brackets import closing

if TYPE_CHECKING:
    from collections.abc import Collection, Iterator, Sequence

    from slangad.compiler.slang_text.bodies import SlangFunction
    from slangad.compiler.slang_text.tokens import Token

_DERIVATIVES: Final = {"BackwardDerivative": "", "ForwardDerivative": "forward: "}
_MARKS: Final = frozenset({"Differentiable", "BackwardDifferentiable", "ForwardDifferentiable", *_DERIVATIVES})
_EXCHANGED: Final = {"+": "-", "-": "+", "*": "/", "/": "*"}
_SHIFTED: Final = {"+": "+ 1.0 +", "-": "- 1.0 -", "*": "* 2.0 *", "/": "/ 2.0 /"}
_LOST: Final = "(0.0 / 0.0) *"
_FACTORS: Final = (("negated", "-1.0 * "), ("doubled", "2.0 * "), ("times 1.001", "1.001 * "), ("dropped", "0.0 * "))

Edit = tuple[int, int, str]
Way = tuple[str, list[Edit], tuple[Edit, Edit]]
"""The label of a change, its edits, and the two probes for ``surviving``."""


@dataclass(frozen=True, slots=True)
class Owner:
    """A function with a broken derivative. ``apart`` has the types of its parameters if it has overloads."""

    name: str
    apart: str

    @property
    def label(self) -> str:
        """The name in reports."""
        return f"{self.name}{self.apart}"


@dataclass(frozen=True, slots=True)
class MutatedText:
    """A text with mutants.

    Attributes:
        labels: The changes by number. The name of a mutant ends in its number.
        owners: The functions with a broken derivative by the same number.
        lines: The first and last lines of the insertions by the same number.
        left_alone: The functions without a mutant, each with the reason.
    """

    text: str
    labels: dict[int, str] = field(default_factory=dict)
    owners: dict[int, Owner] = field(default_factory=dict)
    lines: dict[int, list[tuple[int, int]]] = field(default_factory=dict)
    left_alone: tuple[tuple[Owner, str], ...] = ()


def mutant_name(name: str, number: int) -> str:
    """Return the name of a copy."""
    return f"{name}_mutant_{number}"


def broken_text(source: str, file: str, without: Collection[int] = (), probed: Collection[str] = ()) -> MutatedText:
    """Return the text with a broken copy for every way to break a derivative.

    Args:
        source: The text.
        file: The name of its file.
        without: The numbers of copies that are no Slang. They are left out.
        probed: Labels with owners. If there are any, the copies are the probes of these.
    """
    code = _Mutable(source, file)
    labels: dict[int, str] = {}
    owners: dict[int, Owner] = {}
    added: list[tuple[int, int, str]] = []
    left_alone: list[tuple[Owner, str]] = []
    number = -1
    for owned in code.owned():
        owner = code.owner(owned.function)
        if owned.derivative is None:
            left_alone.append((owner, f"{owned.said} is not in this file"))
            continue
        ways = code.changes(owned.derivative)
        label = f"{owner.label}: {owned.kind}"
        made = _probes(ways, label, probed) if probed else ((what, edits) for what, edits, _ in ways)
        for what, edits in made:
            number += 1
            if number in without:
                continue
            labels[number], owners[number] = f"{owned.kind}{what}", owner
            for function, more in ((owned.function, owned.named), (owned.derivative, [*edits, *owned.of])):
                text = code.copy(function, [code.renamed(function.name_token), *more], number)
                added.append((function.end + 1, number, text))
    text, lines = _inserted(source, added)
    return MutatedText(text, labels, owners, lines, tuple(left_alone))


def _probes(ways: Iterator[Way], label: str, probed: Collection[str]) -> Iterator[tuple[str, list[Edit]]]:
    """Yield the probes of some changes."""
    for what, _, edits in ways:
        if label + what in probed:
            yield from (
                (what + probe, list(some))
                for probe, some in zip(PROBES, (*([edit] for edit in edits), []), strict=True)
            )


def _inserted(source: str, added: list[tuple[int, int, str]]) -> tuple[str, dict[int, list[tuple[int, int]]]]:
    parts: list[str] = []
    lines: dict[int, list[tuple[int, int]]] = {}
    position, line = 0, 1
    for place, number, text in sorted(added):
        before = source[position:place] + "\n"
        line += before.count("\n")
        lines.setdefault(number, []).append((line, line + text.count("\n")))
        line += text.count("\n")
        parts += [before, text]
        position = place
    return "".join([*parts, source[position:]]), lines


@dataclass(frozen=True, slots=True)
class _Owned:
    """A function and its custom derivative. ``named`` and ``of`` are the words by which they name each other."""

    function: SlangFunction
    derivative: SlangFunction | None
    kind: str
    said: str
    named: list[Edit]
    of: list[Edit]


class _Mutable:
    """A text and the ways to break it."""

    def __init__(self, text: str, file: str) -> None:
        self.source = read_source(text, file)
        self._tokens = self.source.tokens

    def owned(self) -> Iterator[_Owned]:
        """Yield every function with a custom derivative."""
        for function in self.source.functions:
            for word, kind in _DERIVATIVES.items():
                named = self._argument(function, word)
                if named is not None:
                    name = self._tokens[named].text
                    derivative = self._named(name)
                    owner = f"its derivative '{name}'"
                    yield _Owned(function, derivative, kind, owner, [self.renamed(named)], [])
        for function in self.source.functions:
            for word, kind in _DERIVATIVES.items():
                of = self._argument(function, f"{word}Of")
                primal = None if of is None else self._named(self._tokens[of].text)
                if of is not None and primal is not None:
                    yield _Owned(primal, function, kind, "", [], [self.renamed(of)])

    def owner(self, function: SlangFunction) -> Owner:
        """Return the name of a function, with its signature if other differentiable functions share the name."""
        header = function.header
        alike = [one for one in self.source.scan.headers if (one.path, one.name) == (header.path, header.name)]
        several = sum(not _MARKS.isdisjoint(one.attributes) for one in alike) > 1
        return Owner(header.name, header.signature if several else "")

    def changes(self, derivative: SlangFunction) -> Iterator[Way]:
        """Yield every way to break a derivative, as edits."""
        body = range(derivative.opening + 1, derivative.last)
        edits = list(self._gradients(body))
        for k, (start, end) in enumerate(edits):
            text = self.source.text[start:end]
            probes = (start, end, f"1.0 + ({text})"), (start, end, f"{_LOST} ({text})")
            for what, factor in _FACTORS:
                yield f"gradient {k + 1} {what}{self._line(start)}", [(start, end, f"{factor}({text})")], probes
        for k, (start, end) in enumerate(edits):
            for other, (first, last) in list(enumerate(edits))[k + 1 :]:
                one, two = self.source.text[start:end], self.source.text[first:last]
                if one != two:
                    probes = (start, end, f"1.0 + ({one})"), (start, end, f"{_LOST} ({one})")
                    what = f"gradients {k + 1} and {other + 1} swapped{self._line(start)}"
                    yield what, [(start, end, two), (first, last, one)], probes
        yield from self._operators(body)

    def copy(self, function: SlangFunction, edits: Sequence[Edit], number: int) -> str:
        """Return the text of a function with edits. A renamed word gets the number of the mutant."""
        text, position = "", self._start(function)
        for start, end, new in sorted(edits):
            text += self.source.text[position:start] + (new or mutant_name(self.source.text[start:end], number))
            position = end
        return text + self.source.text[position : function.end + 1] + "\n"

    def _line(self, offset: int) -> str:
        return f" in line {bisect_right(self.source.starts, offset)}"

    def renamed(self, token: int) -> Edit:
        """Return the edit that gives the number of a mutant to a word."""
        offset = self.source.offsets[token]
        return offset, offset + len(self._tokens[token].text), ""

    def _named(self, name: str) -> SlangFunction | None:
        return next((function for function in self.source.functions if function.header.name == name), None)

    def _start(self, function: SlangFunction) -> int:
        """Return the offset of a function, the comments above it included."""
        first = self._tokens[function.first].line
        above = [comment.line for comment in function.header.comments if comment.line < first]
        return self.source.starts[min(above) - 1] if above else function.start

    def _argument(self, function: SlangFunction, word: str) -> int | None:
        """Return the last word in the parentheses of an attribute of a function."""
        for index in range(function.first, function.name_token):
            if self._tokens[index].text == word:
                inside = range(index + 2, closing(self._tokens, index + 1))
                return next((k for k in reversed(inside) if self._tokens[k].kind == "word"), None)
        return None

    def _gradients(self, body: range) -> Iterator[tuple[int, int]]:
        """Yield the second arguments of ``diffPair``, as offsets."""
        for index in body:
            if self._tokens[index].text != "diffPair" or self._tokens[index + 1].text != "(":
                continue
            last = closing(self._tokens, index + 1)
            position = index + 2
            while position < last and self._tokens[position].text != ",":
                position = closing(self._tokens, position) + 1
            if position < last:
                start = self.source.offsets[position] + 1
                yield start, self.source.offsets[last]

    def _operators(self, body: range) -> Iterator[Way]:
        """Yield changes of one operator, outside of indices and loop heads."""
        skipped: set[int] = set()
        for index in body:
            token = self._tokens[index]
            loop = token.text == "for" and self._tokens[index + 1].text == "("
            if token.text == "[" or loop:
                skipped.update(range(index, closing(self._tokens, index + loop) + 1))
            if index in skipped or token.text not in _EXCHANGED or not self._is_binary(index):
                continue
            place, where = self.source.offsets[index], f"in line {token.line}, column {token.column}"
            after = self._tokens[index + 1]
            if after.text == "=" and self.source.offsets[index + 1] == place + 1:
                if token.text == "+":
                    probes = (place, place + 2, "+= 1.0 +"), (place, place + 2, f"+= {_LOST}")
                    yield f"accumulation forgotten {where}", [(place, place + 1, " ")], probes
                continue
            probes = (place, place + 1, _SHIFTED[token.text]), (place, place + 1, f"{token.text} {_LOST}")
            to = _EXCHANGED[token.text]
            yield f"operator exchanged {where}: {token.text} becomes {to}", [(place, place + 1, to)], probes
            if token.text in "+-":
                yield f"term dropped {where}", [(place, place + 1, f"{token.text} 0.0 *")], probes

    def _is_binary(self, index: int) -> bool:
        before, after = self._tokens[index - 1], self._tokens[index + 1]
        operand = before.kind in ("word", "number") or before.text in (")", "]")
        return operand and before.text != "return" and not _touches(self._tokens[index], after)


def _touches(token: Token, after: Token) -> bool:
    """Return True if two tokens are one operator, such as ``++``."""
    return after.text == token.text and (after.line, after.column) == (token.line, token.column + 1)
