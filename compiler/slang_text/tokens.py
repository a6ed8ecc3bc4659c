"""Split a Slang text into tokens, comment lines and preprocessor lines, each with its location."""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

from slangad.compiler.errors.spans import Span

if TYPE_CHECKING:
    from collections.abc import Iterable

_TOKEN: Final = re.compile(
    r"""
    (?P<space>[^\S\n]+|\\\r?\n)
    | (?P<newline>\n)
    | (?P<line_comment>//[^\n]*)
    | (?P<block_comment>/\*.*?(?:\*/|\Z))
    | (?P<raw>R"(?P<mark>[^\s()\\]{0,16})\(.*?(?:\)(?P=mark)"|\Z))
    | (?P<string>"(?:\\.|[^"\\\n])*"?)
    | (?P<char>'(?:\\.|[^'\\\n])*'?)
    | (?P<word>[^\W\d]\w*)
    | (?P<number>\.?\d(?:[eEpP][+-]|[\w.])*)
    | (?P<mark_>::|->|.)
    """,
    re.VERBOSE | re.DOTALL,
)
DIRECTIVE: Final = re.compile(r"(?:[^\n\\]|\\\r?\n|\\)*")
"""A preprocessor line with the lines that continue it."""


@dataclass(frozen=True, slots=True)
class Token:
    """A word, number, string, punctuation mark or preprocessor line; line and column count from 1."""

    kind: str
    text: str
    line: int
    column: int

    def span(self, file: str) -> Span:
        """Return the location of the token in a file."""
        return Span(file, self.line, self.column, self.line, self.column + len(self.text))


@dataclass(frozen=True, slots=True)
class LineComment:
    """A comment from ``//`` to the end of its line. Nothing else stands on that line. ``text`` includes the slashes."""

    text: str
    line: int
    column: int


@dataclass(frozen=True, slots=True)
class TokenizedText:
    """The tokens of a text, its comment lines by line number, and its preprocessor lines without ``#``."""

    tokens: tuple[Token, ...]
    comments: dict[int, LineComment]
    directives: tuple[Token, ...]


def read_text(source: str) -> TokenizedText:
    """Split a text into tokens. This never fails, whatever the text is."""
    tokens: list[Token] = []
    comments: dict[int, LineComment] = {}
    directives: list[Token] = []
    position, line, start, fresh = 0, 1, 0, True
    while position < len(source):
        if fresh and source[position] == "#":
            text = DIRECTIVE.match(source, position)
            first = text[0] if text else "#"
            kind = "directive"
        else:
            match = _TOKEN.match(source, position)
            first = match[0] if match else source[position]
            kind = (match.lastgroup if match else None) or "mark_"
        column = position - start + 1
        if kind == "directive":
            directives.append(Token(kind, " ".join(first[1:].replace("\\\n", " ").split()), line, column))
        if kind == "line_comment" and fresh:
            comments[line] = LineComment(first.rstrip(), line, column)
        elif kind in ("word", "number", "string", "char", "raw", "mark_"):
            tokens.append(Token("mark" if kind == "mark_" else kind, first, line, column))
        fresh = kind == "newline" or (fresh and kind in ("space", "block_comment"))
        position += len(first)
        if "\n" in first:
            line += first.count("\n")
            start = position - len(first) + first.rindex("\n") + 1
    return TokenizedText(tuple(tokens), comments, tuple(directives))


def words_of(tokens: Iterable[Token]) -> frozenset[str]:
    """Return the words among some tokens."""
    return frozenset(token.text for token in tokens if token.kind == "word")
