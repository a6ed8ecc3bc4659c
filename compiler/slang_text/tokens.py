"""Slang text becomes tokens, comment lines and preprocessor lines, each with its place; first step of the scan."""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import Final

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
_DIRECTIVE: Final = re.compile(r"(?:[^\n\\]|\\\r?\n|\\)*")


@dataclass(frozen=True, slots=True)
class Token:
    """A word, number, string, punctuation mark or preprocessor line; line and column count from 1."""

    kind: str
    text: str
    line: int
    column: int


@dataclass(frozen=True, slots=True)
class Comment:
    """A comment from ``//`` to the end of its line, with nothing before it on that line; ``text`` has the slashes."""

    text: str
    line: int
    column: int


@dataclass(frozen=True, slots=True)
class Text:
    """A file taken apart: its code, its comment lines by line, its preprocessor lines without ``#``."""

    tokens: tuple[Token, ...]
    comments: dict[int, Comment]
    directives: tuple[Token, ...]


def read_text(source: str) -> Text:
    """Take a text apart; never fails, whatever the text is."""
    tokens: list[Token] = []
    comments: dict[int, Comment] = {}
    directives: list[Token] = []
    position, line, start, fresh = 0, 1, 0, True
    while position < len(source):
        if fresh and source[position] == "#":
            text = _DIRECTIVE.match(source, position)
            found = text[0] if text else "#"
            kind = "directive"
        else:
            match = _TOKEN.match(source, position)
            found = match[0] if match else source[position]
            kind = (match.lastgroup if match else None) or "mark_"
        column = position - start + 1
        if kind == "directive":
            said = " ".join(found[1:].replace("\\\n", " ").split())
            directives.append(Token(kind, said, line, column))
        if kind == "line_comment" and fresh:
            comments[line] = Comment(found.rstrip(), line, column)
        elif kind in ("word", "number", "string", "char", "raw", "mark_"):
            tokens.append(Token("mark" if kind == "mark_" else kind, found, line, column))
        fresh = kind == "newline" or (fresh and kind in ("space", "block_comment"))
        position += len(found)
        if "\n" in found:
            line += found.count("\n")
            start = position - len(found) + found.rindex("\n") + 1
    return Text(tuple(tokens), comments, tuple(directives))
