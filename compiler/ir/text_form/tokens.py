"""Split the text form of the IR into tokens for the reader."""

from __future__ import annotations

import json
import math
import re
from dataclasses import dataclass
from typing import Final

_TOKEN: Final = re.compile(
    r"""(?P<string>"(?:[^"\\]|\\.)*")
      | (?P<number>-?(?:\d+(?:\.\d+)?(?:e[+-]?\d+)?|inf\b)|nan\b)
      | (?P<word>[^\W\d]\w*)
      | (?P<op>::|->|&&|\|\||==|!=|<=|>=|<<|>>|[-+*/%<>=!~&|^?:.,(){}\[\]@])
      | (?P<space>\s+)""",
    re.VERBOSE,
)


class ReadError(ValueError):
    """The text is not that of a module."""


@dataclass(frozen=True, slots=True)
class TextToken:
    """A piece of text and what kind it is: ``string``, ``number``, ``word`` or ``op``."""

    kind: str
    text: str


class Tokens:
    """The tokens of a text, read from the front."""

    def __init__(self, text: str) -> None:
        self._tokens = _split(text)
        self._next = 0

    def peek(self, *texts: str) -> bool:
        """Return True if the next token is an operator or bare word with one of these texts."""
        token = self._tokens[self._next]
        return token.kind in ("op", "word") and token.text in texts

    def kind(self) -> str:
        """Return the next token's kind; ``end`` after the last."""
        return self._tokens[self._next].kind

    def take(self) -> TextToken:
        """Return the next token."""
        token = self._tokens[self._next]
        self._next += 1
        return token

    def accept(self, *texts: str) -> bool:
        """Take the next token if it is one of these."""
        if self.peek(*texts):
            self._next += 1
            return True
        return False

    def expect(self, *texts: str) -> str:
        """Take the next token, which must be one of these."""
        token = self.take()
        if token.kind not in ("op", "word") or token.text not in texts:
            raise ReadError(f"expected {' or '.join(texts)}, found {token.text!r}")
        return token.text

    def word(self) -> str:
        """Take a name, bare or in quotes."""
        token = self.take()
        if token.kind == "string":
            return _unquote(token.text)
        if token.kind != "word":
            raise ReadError(f"expected a name, found {token.text!r}")
        return token.text

    def string(self) -> str:
        """Take a text in quotes."""
        token = self.take()
        if token.kind != "string":
            raise ReadError(f"expected a text in quotes, found {token.text!r}")
        return _unquote(token.text)

    def number(self) -> int | float | bool:
        """Take a number or bool."""
        token = self.take()
        if token.text in ("true", "false"):
            return token.text == "true"
        if token.kind != "number":
            raise ReadError(f"expected a number, found {token.text!r}")
        if token.text == "nan":
            return math.nan
        return int(token.text) if re.fullmatch(r"-?\d+", token.text) else float(token.text)

    def integer(self) -> int:
        """Take an integer."""
        return int(self.number())


def _split(text: str) -> list[TextToken]:
    pieces, position = [], 0
    while position < len(text):
        match = _TOKEN.match(text, position)
        if match is None:
            raise ReadError(f"unexpected {text[position]!r}")
        kind = match.lastgroup
        if kind is not None and kind != "space":
            pieces.append(TextToken(kind, match.group()))
        position = match.end()
    return [*pieces, TextToken("end", "")]


def _unquote(text: str) -> str:
    return str(json.loads(text))
