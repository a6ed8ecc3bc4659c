"""Read the functions of a Slang text that have a body, with the location of each as offsets and as tokens."""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from dataclasses import dataclass, field
from functools import cached_property, lru_cache
from itertools import accumulate
from typing import TYPE_CHECKING

from slangad.compiler.slang_text.brackets import are_closed, body_of, closing
from slangad.compiler.slang_text.headers import DIFFERENTIABLE, scan
from slangad.compiler.slang_text.tokens import read_text

if TYPE_CHECKING:
    from collections.abc import Sequence

    from slangad.compiler.errors.spans import Span
    from slangad.compiler.slang_text.headers import Header, Scan
    from slangad.compiler.slang_text.tokens import Token, TokenizedText


@dataclass(frozen=True, slots=True)
class SlangFunction:
    """A function that has a body.

    Attributes:
        header: Its head.
        start: The offset of its first attribute or word.
        body: The offset of the brace that opens its body.
        end: The offset of the brace that closes its body.
        first: The token at ``start``. ``name_token`` is its name, ``opening`` and ``last`` are the braces of its body.
        called: The names that it calls or is differentiated by.
        words: All words in it.
    """

    header: Header
    start: int
    body: int
    end: int
    first: int
    name_token: int
    opening: int
    last: int
    called: frozenset[str] = field(repr=False)
    words: frozenset[str] = field(repr=False)

    @property
    def name(self) -> str:
        """Its name with its namespaces and structs."""
        return ".".join((*(part.split()[-1] for part in self.header.path), self.header.name))

    @property
    def span(self) -> Span:
        """The location of its name."""
        return self.header.span

    @property
    def returns(self) -> bool:
        """True if it returns a value."""
        return "void" not in self.header.words


@dataclass(frozen=True)
class SlangSource:
    """A Slang text and its functions.

    Attributes:
        code: The tokens, comments and preprocessor lines of the text.
        scan: The heads of its functions.
        is_closed: True if all brackets close. Otherwise the functions may be wrong.
        starts: The offsets of its lines.
        offsets: The offsets of its tokens.
    """

    text: str
    code: TokenizedText
    scan: Scan
    functions: tuple[SlangFunction, ...]
    is_closed: bool
    starts: tuple[int, ...]
    offsets: tuple[int, ...]

    @property
    def file(self) -> str:
        """The name of the file in spans."""
        return self.scan.file

    @property
    def tokens(self) -> tuple[Token, ...]:
        """The tokens of the text."""
        return self.code.tokens

    def at(self, span: Span) -> SlangFunction | None:
        """Return the function that contains a location."""
        offset = self.offset(span)
        return next((f for f in self.functions if offset is not None and f.start <= offset <= f.end), None)

    def offset(self, span: Span) -> int | None:
        """Return the offset of a location, or None if it lies in another file."""
        if span.file != self.file or not 0 < span.line <= len(self.starts):
            return None
        return self.starts[span.line - 1] + max(0, span.column - 1)

    def headers_in(self, start: int, end: int) -> list[Header]:
        """Return the heads of functions from one offset to another, both included."""
        offsets, headers = self._sorted_headers
        return headers[bisect_left(offsets, start) : bisect_right(offsets, end)]

    @cached_property
    def _sorted_headers(self) -> tuple[list[int], list[Header]]:
        pairs = sorted(((self.offset(one.span) or 0, one) for one in self.scan.headers), key=lambda pair: pair[0])
        return [offset for offset, _ in pairs], [one for _, one in pairs]

    def functions_in(self, start: int, end: int) -> list[SlangFunction]:
        """Return the functions that begin from one offset to another, both included."""
        starts, functions = self._sorted_functions
        return functions[bisect_left(starts, start) : bisect_right(starts, end)]

    @cached_property
    def _sorted_functions(self) -> tuple[list[int], list[SlangFunction]]:
        ordered = sorted(self.functions, key=lambda one: one.start)
        return [one.start for one in ordered], ordered

    def is_differentiable(self, function: SlangFunction) -> bool:
        """Return True if the function or one of its derivatives declares that it can be differentiated."""
        return not DIFFERENTIABLE.isdisjoint(self.scan.attributes_of(function.header))


@lru_cache(maxsize=128)
def read_source(text: str, file: str) -> SlangSource:
    """Read the functions of a text, once for all users. ``file`` is its name in spans."""
    code = read_text(text)
    starts = tuple(accumulate((len(line) + 1 for line in text.split("\n")), initial=0))[:-1]
    offsets = tuple(starts[token.line - 1] + token.column - 1 for token in code.tokens)
    scanned = scan(code, file)
    at = {(token.line, token.column): k for k, token in enumerate(code.tokens)}
    named = ((header, at[header.span.line, header.span.column]) for header in scanned.headers)
    functions = (_function(header, code.tokens, offsets, name) for header, name in named)
    kept = tuple(function for function in functions if function is not None)
    return SlangSource(text, code, scanned, kept, are_closed(code.tokens), starts, offsets)


def _function(header: Header, tokens: Sequence[Token], offsets: Sequence[int], name: int) -> SlangFunction | None:
    first = name
    while first > 0 and tokens[first - 1].text not in (";", "}", "{"):
        first -= 1
    opening = body_of(tokens, name)
    if opening is None or first == name:  # a constructor without attributes is a part of its struct
        return None
    last = closing(tokens, opening)
    return SlangFunction(
        header,
        *(offsets[first], offsets[opening], offsets[last]),
        *(first, name, opening, last),
        called=header.calls | {*header.attributes},
        words=frozenset(token.text for token in tokens[first:last] if token.kind == "word"),
    )
