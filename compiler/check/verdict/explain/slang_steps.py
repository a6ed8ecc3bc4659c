"""Read the statements of a custom derivative in a Slang file: what each stores and reads."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from slangad.compiler.check.verdict.explain.steps import Step
from slangad.compiler.errors.spans import Span
from slangad.compiler.slang_text.brackets import CLOSING_OF

if TYPE_CHECKING:
    from collections.abc import Collection, Iterator, Sequence

    from slangad.compiler.slang_text.bodies import SlangFunction, SlangSource
    from slangad.compiler.slang_text.tokens import Token

RETURNED: Final = "return"
"""The name that return statements store to."""
_OPERATORS: Final = frozenset({"+", "-", "*", "/"})
_OPENING: Final = frozenset({"(", "["})
_COMPARING: Final = frozenset({"=", "<", ">", "!"})
_DIFFERENTIAL: Final = frozenset({"d", "getDifferential"})


def steps_of(source: SlangSource, function: SlangFunction) -> tuple[Step, ...]:
    """Return the statements of a function. The value of a pair does not count as read, only its differential does."""
    pairs = frozenset(function.header.params)
    body = source.tokens[function.opening + 1 : function.last]
    return tuple(_step(tokens, pairs, source.file) for tokens in _statements(body))


def _statements(body: Sequence[Token]) -> Iterator[Sequence[Token]]:
    """Yield the tokens of every statement; heads of loops and branches are part of the statement behind them."""
    depth, start = 0, 0
    for index, token in enumerate(body):
        depth += (token.text in _OPENING) - (token.text in (")", "]"))
        if depth <= 0 and token.text in (";", "{", "}"):
            if index > start:
                yield body[start:index]
            start = index + 1


def _step(tokens: Sequence[Token], pairs: Collection[str], file: str) -> Step:
    equals = _assignment(tokens)
    span = Span(file, tokens[0].line, tokens[0].column, tokens[-1].line, tokens[-1].column + len(tokens[-1].text))
    value = tokens if equals is None else tokens[equals + 1 :]
    operators = sum(token.text in _OPERATORS for token in value)
    reads = frozenset(_reads(value, pairs))
    if equals is not None:
        compound = tokens[equals - 1].text in _OPERATORS
        target, part = _target(tokens[: equals - compound])
        return Step(frozenset({target}), reads | ({target} if compound else set()), operators + compound, span, part)
    if tokens[0].text == RETURNED:
        return Step(frozenset({RETURNED}), reads, operators, span)
    return Step(frozenset(token.text for token in tokens if token.kind == "word"), reads, operators, span)


def _assignment(tokens: Sequence[Token]) -> int | None:
    """Return the ``=`` that stores, outside of brackets; None if there is none."""
    depth = 0
    for index, token in enumerate(tokens):
        depth += (token.text in _OPENING) - (token.text in (")", "]"))
        if depth or token.text != "=" or not 0 < index < len(tokens) - 1:
            continue
        if tokens[index - 1].text not in _COMPARING and tokens[index + 1].text != "=":
            return index
    return None


def _target(tokens: Sequence[Token]) -> tuple[str, str]:
    """Return the variable that is stored to, and its part: of ``x.d.y`` these are ``x`` and ``y``."""
    depth, found = 0, ""
    for token in tokens:
        if not depth and token.text == "." and found:
            return found, tokens[-1].text
        if not depth and token.kind == "word":
            found = token.text
        depth += (token.text in CLOSING_OF) - (token.text in CLOSING_OF.values())
    return found, ""


def _reads(tokens: Sequence[Token], pairs: Collection[str]) -> Iterator[str]:
    for index, token in enumerate(tokens):
        if token.kind != "word" or (index and tokens[index - 1].text == "."):
            continue
        member = tokens[index + 2].text if index + 2 < len(tokens) and tokens[index + 1].text == "." else ""
        if token.text not in pairs or member in _DIFFERENTIAL:
            yield token.text
