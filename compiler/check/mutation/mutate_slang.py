"""Hand-written derivatives broken on purpose: the text of a Slang file goes in, the text with broken copies comes out.

For every function with ``[BackwardDerivative(…)]`` or ``[ForwardDerivative(…)]`` whose derivative stands in the same
file, and for every way to break that, a copy of both is put behind them. The text is changed token by token; what is
then no Slang any more is found by the compiler, and left out at the next try.
"""

from __future__ import annotations

from bisect import bisect_right
from dataclasses import dataclass, field
from itertools import accumulate
from typing import TYPE_CHECKING, Final

from slangad.compiler.check.mutation.mutate import PROBES
from slangad.compiler.slang_text.headers import scan_text
from slangad.compiler.slang_text.tokens import read_text

if TYPE_CHECKING:
    from collections.abc import Collection, Iterator, Sequence

    from slangad.compiler.slang_text.headers import Header
    from slangad.compiler.slang_text.tokens import Token

_DERIVATIVES: Final = {"BackwardDerivative": "", "ForwardDerivative": "forward: "}
_MARKS: Final = frozenset({"Differentiable", "BackwardDifferentiable", "ForwardDifferentiable", *_DERIVATIVES})
_EXCHANGED: Final = {"+": "-", "-": "+", "*": "/", "/": "*"}
_PAIRS: Final = {"(": ")", "[": "]", "{": "}"}
_SHIFTED: Final = {"+": "+ 1.0 +", "-": "- 1.0 -", "*": "* 2.0 *", "/": "/ 2.0 /"}
_LOST: Final = "(0.0 / 0.0) *"
_FACTORS: Final = (("negated", "-1.0 * "), ("doubled", "2.0 * "), ("times 1.001", "1.001 * "), ("dropped", "0.0 * "))

Edit = tuple[int, int, str]
Way = tuple[str, list[Edit], tuple[Edit, Edit]]
"""What is done, how, and the two probes that ``surviving`` wants."""


@dataclass(frozen=True, slots=True)
class Owner:
    """A function that was broken; ``apart`` are the types of its parameters where it has overloads."""

    name: str
    apart: str

    @property
    def label(self) -> str:
        """What reports call it."""
        return f"{self.name}{self.apart}"


@dataclass(frozen=True, slots=True)
class Broken:
    """A text with mutants.

    Attributes:
        labels: What was done, by the number that the mutant's name ends in.
        owners: The functions that were broken, by the same number.
        lines: First and last lines of what was added, by the same number.
        left_alone: Functions that could not be broken, and why.
    """

    text: str
    labels: dict[int, str] = field(default_factory=dict)
    owners: dict[int, Owner] = field(default_factory=dict)
    lines: dict[int, list[tuple[int, int]]] = field(default_factory=dict)
    left_alone: tuple[tuple[Owner, str], ...] = ()


def mutant_name(name: str, number: int) -> str:
    """What a copy is called."""
    return f"{name}_mutant_{number}"


def broken_text(source: str, file: str, without: Collection[int] = (), probed: Collection[str] = ()) -> Broken:
    """The text with a broken copy for every way there is, but those that are known to be no Slang.

    With ``probed``, labels with owners, there are probes of those in stead.
    """
    code = _Code(source, file)
    labels: dict[int, str] = {}
    owners: dict[int, Owner] = {}
    added: list[tuple[int, int, str]] = []
    left_alone: list[tuple[Owner, str]] = []
    number = -1
    for owned in code.owned():
        owner = code.owner(owned.function)
        if owned.derivative is None:
            left_alone.append((owner, f"{owned.said} does not stand in this file"))
            continue
        ways = code.changes(owned.derivative)
        label = f"{owner.label}: {owned.kind}"
        made = _probes(ways, label, probed) if probed else ((what, edits) for what, edits, _ in ways)
        for what, edits in made:
            number += 1
            if number in without:
                continue
            labels[number], owners[number] = f"{owned.kind}{what}", owner
            for piece, more in ((owned.function, owned.named), (owned.derivative, [*edits, *owned.of])):
                added.append((piece.end, number, code.copy(piece, [piece.name_at, *more], number)))
    text, lines = _inserted(source, added)
    return Broken(text, labels, owners, lines, tuple(left_alone))


def _probes(ways: Iterator[Way], label: str, probed: Collection[str]) -> Iterator[tuple[str, list[Edit]]]:
    """The probes of some of the ways."""
    for what, _, edits in ways:
        if label + what in probed:
            yield from ((what + probe, [edit]) for probe, edit in zip(PROBES, edits, strict=True))


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
class _Piece:
    """A function in the text: offsets of its start and end, tokens of its body, the place of its name."""

    header: Header
    start: int
    end: int
    head: range
    body: range
    name_at: Edit

    @property
    def name(self) -> str:
        """Its name."""
        return self.header.name


@dataclass(frozen=True, slots=True)
class _Owned:
    """A function and its own derivative; ``named`` and ``of`` are the words by which they name each other."""

    function: _Piece
    derivative: _Piece | None
    kind: str
    said: str
    named: list[Edit]
    of: list[Edit]


class _Code:
    """A text taken apart."""

    def __init__(self, source: str, file: str) -> None:
        self._source = source
        self._tokens = read_text(source).tokens
        starts = list(accumulate((len(line) + 1 for line in source.split("\n")), initial=0))
        self._starts = starts
        self._offsets = [starts[token.line - 1] + token.column - 1 for token in self._tokens]
        self._headers = scan_text(source, file).headers
        at = {offset: k for k, offset in enumerate(self._offsets)}
        placed = ((h, at[starts[h.span.line - 1] + h.span.column - 1]) for h in self._headers)
        self._pieces = [piece for header, k in placed if (piece := self._piece(header, k)) is not None]

    def owned(self) -> Iterator[_Owned]:
        """Every function with a derivative of its own."""
        for function in self._pieces:
            for word, kind in _DERIVATIVES.items():
                named = self._argument(function, word)
                if named is not None:
                    name = self._tokens[named].text
                    derivative = self._named(name)
                    said = f"its derivative '{name}'"
                    yield _Owned(function, derivative, kind, said, [self._renamed(named)], [])
        for piece in self._pieces:
            for word, kind in _DERIVATIVES.items():
                of = self._argument(piece, f"{word}Of")
                of_function = None if of is None else self._named(self._tokens[of].text)
                if of is not None and of_function is not None:
                    yield _Owned(of_function, piece, kind, "", [], [self._renamed(of)])

    def owner(self, function: _Piece) -> Owner:
        """What a function is called, and what tells it from other differentiable ones of its name."""
        header = function.header
        alike = [one for one in self._headers if (one.path, one.name) == (header.path, header.name)]
        several = sum(not _MARKS.isdisjoint(one.attributes) for one in alike) > 1
        return Owner(header.name, header.signature if several else "")

    def changes(self, derivative: _Piece) -> Iterator[Way]:
        """Every way to break a derivative, as edits."""
        found = list(self._gradients(derivative.body))
        for k, (start, end) in enumerate(found):
            text = self._source[start:end]
            probes = (start, end, f"1.0 + ({text})"), (start, end, f"{_LOST} ({text})")
            for what, factor in _FACTORS:
                yield f"gradient {k + 1} {what}{self._line(start)}", [(start, end, f"{factor}({text})")], probes
        for k, (start, end) in enumerate(found):
            for other, (first, last) in list(enumerate(found))[k + 1 :]:
                one, two = self._source[start:end], self._source[first:last]
                if one != two:
                    probes = (start, end, f"1.0 + ({one})"), (start, end, f"{_LOST} ({one})")
                    what = f"gradients {k + 1} and {other + 1} swapped{self._line(start)}"
                    yield what, [(start, end, two), (first, last, one)], probes
        yield from self._operators(derivative.body)

    def copy(self, piece: _Piece, edits: Sequence[Edit], number: int) -> str:
        """The text of a function with edits; a word that is to be renamed gets the mutant's number."""
        text, position = "", piece.start
        for start, end, new in sorted(edits):
            text += self._source[position:start] + (new or mutant_name(self._source[start:end], number))
            position = end
        return text + self._source[position : piece.end] + "\n"

    def _line(self, offset: int) -> str:
        return f" in line {bisect_right(self._starts, offset)}"

    def _renamed(self, token: int) -> Edit:
        offset = self._offsets[token]
        return offset, offset + len(self._tokens[token].text), ""

    def _named(self, name: str) -> _Piece | None:
        return next((piece for piece in self._pieces if piece.name == name), None)

    def _piece(self, header: Header, name: int) -> _Piece | None:
        tokens = self._tokens
        first = name
        while first > 0 and tokens[first - 1].text not in (";", "}", "{"):
            first -= 1
        position = name
        while position < len(tokens) and tokens[position].text not in ("{", ";"):
            position = self._closing(position) + 1
        if position >= len(tokens) or tokens[position].text == ";":
            return None
        last = self._closing(position)
        above = [comment.line for comment in header.comments if comment.line < tokens[first].line]
        start = self._starts[min(above) - 1] if above else self._offsets[first]
        end = self._offsets[last] + 1
        return _Piece(header, start, end, range(first, name), range(position + 1, last), self._renamed(name))

    def _closing(self, index: int) -> int:
        """The token that closes the bracket at ``index``; the same one if it is none."""
        close = _PAIRS.get(self._tokens[index].text)
        depth = 0
        for position in range(index, len(self._tokens)) if close else ():
            depth += (self._tokens[position].text in _PAIRS) - (self._tokens[position].text in _PAIRS.values())
            if not depth:
                return position
        return index

    def _argument(self, piece: _Piece, word: str) -> int | None:
        """The last word in the parentheses of an attribute of a function."""
        for index in piece.head:
            if self._tokens[index].text == word:
                inside = range(index + 2, self._closing(index + 1))
                return next((k for k in reversed(inside) if self._tokens[k].kind == "word"), None)
        return None

    def _gradients(self, body: range) -> Iterator[tuple[int, int]]:
        """The second arguments of ``diffPair``, as offsets."""
        for index in body:
            if self._tokens[index].text != "diffPair" or self._tokens[index + 1].text != "(":
                continue
            last = self._closing(index + 1)
            position = index + 2
            while position < last and self._tokens[position].text != ",":
                position = self._closing(position) + 1
            if position < last:
                start = self._offsets[position] + 1
                yield start, self._offsets[last]

    def _operators(self, body: range) -> Iterator[Way]:
        """One operator changed; not where indices and loops are counted."""
        skipped: set[int] = set()
        for index in body:
            token = self._tokens[index]
            loop = token.text == "for" and self._tokens[index + 1].text == "("
            if token.text == "[" or loop:
                skipped.update(range(index, self._closing(index + loop) + 1))
            if index in skipped or token.text not in _EXCHANGED or not self._is_binary(index):
                continue
            place, where = self._offsets[index], f"in line {token.line}, column {token.column}"
            after = self._tokens[index + 1]
            if after.text == "=" and self._offsets[index + 1] == place + 1:
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
    """Whether two tokens are one operator, such as ``++``."""
    return after.text == token.text and (after.line, after.column) == (token.line, token.column + 1)
