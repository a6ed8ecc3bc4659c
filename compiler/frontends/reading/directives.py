"""Read what users declare about the check of one function: comment lines of Slang files, and keys of a project.

``DIRECTIVES`` is the table of all of them. A line is the name of a directive and its words: ``derivative clip 1e6``.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Final, TypeAlias

from slangad.compiler.frontends.reading.problems import did_you_mean
from slangad.compiler.ir.nodes import (
    Automatic,
    ClipGradient,
    FiniteDifference,
    Range,
    StraightThrough,
    Subgradient,
    Surrogate,
)

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable

    from slangad.compiler.errors.spans import Span
    from slangad.compiler.frontends.reading.problems import Problems
    from slangad.compiler.slang_text.directives import DirectiveLine

DeclaredDerivative: TypeAlias = ClipGradient | FiniteDifference | StraightThrough | Subgradient | Surrogate
"""The derivative of a function, declared beside it. The function of a ``Surrogate`` is a name in Slang."""


@dataclass(frozen=True, slots=True)
class Directives:
    """The user's declarations about the check of one function.

    Attributes:
        skip: The reason why it is not checked; empty if it is.
        expected_failure: The reason why it is expected to fail; empty if it is not.
        mode: The only mode to check, ``backward`` or ``forward``; empty for both.
        tolerance: Relative. The allowed relative error of its derivatives.
        derivative: Its derivative; None for that of the function itself.
        ranges: Ranges of its parameters, each with the location of the parameter's path.
        shapes: Shapes of its parameters.
        single_thread: True if only one thread adds to an element of a gradient buffer.
        spans: The location of each directive, by its name.
    """

    skip: str = ""
    expected_failure: str = ""
    mode: str = ""
    tolerance: float = 0.0
    derivative: DeclaredDerivative | None = None
    ranges: tuple[tuple[Range, Span], ...] = ()
    shapes: tuple[tuple[str, tuple[int, ...]], ...] = ()
    single_thread: bool = False
    spans: dict[str, Span] = field(default_factory=dict, compare=False, repr=False)

    def and_then(self, other: Directives) -> Directives:
        """Return these with those of ``other``, which win. Ranges and shapes add up."""
        return Directives(
            other.skip or self.skip,
            other.expected_failure or self.expected_failure,
            other.mode or self.mode,
            other.tolerance or self.tolerance,
            other.derivative or self.derivative,
            (*self.ranges, *other.ranges),
            (*self.shapes, *other.shapes),
            self.single_thread or other.single_thread,
            {**self.spans, **other.spans},
        )


SINGLE: Final = "single"
"""The directive that says that threads do not add to memory at once."""
SHAPE: Final = "as"
"""The directive that gives memory a shape."""
NO_DIRECTIVES: Final = Directives()


class _BadWord(Exception):  # noqa: N818  (control flow: the line is reported and left out)
    """A word of a line is wrong."""


@dataclass(slots=True)
class _Words:
    """The words of a line behind its directive, read one by one."""

    line: DirectiveLine
    usage: str
    problems: Problems
    read: int = 1

    @property
    def left(self) -> int:
        """The number of unread words."""
        return len(self.line.words) - self.read

    def word(self, what: str) -> tuple[str, Span]:
        """Return the next word, which is ``what``."""
        if not self.left:
            raise self.wrong(self.line.span, f"{what} is missing")
        self.read += 1
        return self.line.words[self.read - 1]

    def choice(self, words: Iterable[str]) -> str:
        """Return the next word, which is one of some words."""
        known = tuple(words)
        text, span = self.word(_listed(known))
        if text not in known:
            raise self.wrong(span, f"'{text}' is not {_listed(known)}", did_you_mean(text, known))
        return text

    def rest(self, what: str) -> str:
        """Return all further words as one text."""
        words = [self.word(what)[0], *(text for text, _ in self.line.words[self.read :])]
        self.read = len(self.line.words)
        return " ".join(words)

    def number(self, *, positive: bool = False) -> float:
        """Return the next word as a finite number."""
        text, span = self.word("a number")
        try:
            value = float(text)
        except ValueError:
            value = math.nan
        if not math.isfinite(value):
            raise self.wrong(span, f"'{text}' is not a finite number")
        if positive and value <= 0.0:
            raise self.wrong(span, f"'{text}' is not above 0")
        return value

    def wrong(self, span: Span, message: str, help_: str = "") -> _BadWord:
        """Report a word; return the exception to raise."""
        code = "SA085" if self.line.name == "range" else "SA087"
        self.problems.error(code, span, message, help=help_ or f"// check: {self.usage}")
        return _BadWord(message)


def _listed(words: tuple[str, ...]) -> str:
    return " or ".join(f"'{word}'" for word in words)


def _range(words: _Words) -> Directives:
    if words.left != 3:
        raise words.wrong(words.line.span, "a range needs a parameter, its lowest and its highest value")
    path, span = words.word("a parameter")
    _, at = words.line.words[2]
    low, high = words.number(), words.number()
    if low > high or not math.isfinite(high - low):
        what = "goes from its lowest to its highest value" if low > high else "is not as wide as that"
        raise words.wrong(at, f"a range {what}")
    return Directives(ranges=((Range(path, low, high), span),))


def _clip(words: _Words) -> DeclaredDerivative:
    return ClipGradient(words.number(positive=True), None, Automatic())


def _finite_difference(words: _Words) -> DeclaredDerivative:
    step = words.number(positive=True)
    return FiniteDifference(step, relative=bool(words.left) and words.choice(("relative",)) == "relative")


def _subgradient(words: _Words) -> DeclaredDerivative:
    value = words.number()
    words.choice(("at",))
    return Subgradient(words.number(), value)


_DERIVATIVES: Final[dict[str, Callable[[_Words], DeclaredDerivative]]] = {
    "clip": _clip,
    "surrogate": lambda words: Surrogate(words.word("the name of a function")[0]),
    "finite_difference": _finite_difference,
    "straight_through": lambda _: StraightThrough(),
    "subgradient": _subgradient,
}
"""The declared derivatives by their names, which are those of the policies in descriptions."""


def _derivative(words: _Words) -> Directives:
    return Directives(derivative=_DERIVATIVES[words.choice(_DERIVATIVES)](words))


def _expect(words: _Words) -> Directives:
    words.choice(("fail",))
    return Directives(expected_failure=words.rest("the reason"))


def _as(words: _Words) -> Directives:
    words.choice(("shape",))
    shapes = [_shape(words)]
    while words.left:
        shapes.append(_shape(words))
    return Directives(shapes=tuple(shapes))


def _shape(words: _Words) -> tuple[str, tuple[int, ...]]:
    text, span = words.word("a parameter with its shape")
    name, _, extents = text.partition("=")
    numbers = extents.split("x")
    if not name or not all(number.isascii() and number.isdigit() and int(number) for number in numbers):
        raise words.wrong(span, f"'{text}' is not a parameter with extents of at least 1")
    return name, tuple(int(number) for number in numbers)


@dataclass(frozen=True, slots=True)
class DirectiveKind:
    """One directive.

    Attributes:
        example: A line of it, as in the documentation.
        purpose: The effect, in words for users.
        read: Reads its words.
        repeated: True if a function may have several.
    """

    example: str
    purpose: str
    read: Callable[[_Words], Directives]
    repeated: bool = False


DIRECTIVES: Final[dict[str, DirectiveKind]] = {
    "range": DirectiveKind("range x 0.1 4", "Draws a parameter in this range.", _range, repeated=True),
    "derivative": DirectiveKind("derivative clip 1e6", "Compares with this derivative.", _derivative),
    "mode": DirectiveKind(
        "mode backward", "Checks this mode only.", lambda words: Directives(mode=words.choice(("backward", "forward")))
    ),
    "tolerance": DirectiveKind(
        "tolerance 1e-3",
        "Allows this relative error of derivatives.",
        lambda words: Directives(tolerance=words.number(positive=True)),
    ),
    "skip": DirectiveKind(
        "skip it only draws",
        "Does not check the function.",
        lambda words: Directives(skip=words.rest("the reason")),
    ),
    "expect": DirectiveKind("expect fail known defect of the driver", "Fails if the function passes.", _expect),
    SINGLE: DirectiveKind(
        "single thread",
        "Only one thread adds to an element of a gradient buffer: additions need not be atomic.",
        lambda words: Directives(single_thread=words.choice(("thread",)) == "thread"),
    ),
    SHAPE: DirectiveKind(
        "as shape w=16x4",
        "Gives a tensor of a description, or a buffer or tensor of a Slang file, this shape.",
        _as,
        repeated=True,
    ),
}
"""All directives by their names."""


def read_directives(lines: Iterable[DirectiveLine], problems: Problems) -> Directives:
    """Return the declarations of some lines, and report the wrong lines."""
    directives = NO_DIRECTIVES
    for line in lines:
        kind = DIRECTIVES.get(line.name)
        if kind is None:
            span = line.words[0][1] if line.words else line.span
            message = f"there is no directive '{line.name}'" if line.words else "the directive is missing"
            problems.error("SA087", span, message, help=did_you_mean(line.name, DIRECTIVES) or _known())
            continue
        if line.name in directives.spans and not kind.repeated:
            message = f"'{line.name}' is declared twice"
            problems.error("SA087", line.words[0][1], message, help="remove one of the lines")
            continue
        directives = _with(directives, line, kind, problems)
    return directives


def _with(directives: Directives, line: DirectiveLine, kind: DirectiveKind, problems: Problems) -> Directives:
    words = _Words(line, kind.example, problems)
    try:
        more = kind.read(words)
        if words.left:
            text, span = words.word("")
            raise words.wrong(span, f"'{text}' is one word too many")
    except _BadWord:
        return directives
    return directives.and_then(replace(more, spans={line.name: line.span}))


def _known() -> str:
    return f"the directives are {', '.join(DIRECTIVES)}"
