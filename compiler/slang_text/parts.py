"""Remove functions and declarations from a Slang text, and find in the text which part uses which.

The lines of the text stay. A removed part leaves blanks. A function may keep its head, with a body that returns zeros,
and a declaration may become a stub. Both get a mark by which Slang reports their uses.
"""

from __future__ import annotations

import re
from dataclasses import dataclass, replace
from functools import lru_cache
from typing import TYPE_CHECKING, Final, TypeAlias

from slangad.compiler.ir.calls import closure
from slangad.compiler.slang_text.bodies import SlangFunction, SlangSource, read_source
from slangad.compiler.slang_text.brackets import until
from slangad.compiler.slang_text.declarations import STRUCTS, Declaration, declarations_of
from slangad.compiler.slang_text.endings import SLANG_ENDINGS
from slangad.compiler.slang_text.tokens import DIRECTIVE, words_of

if TYPE_CHECKING:
    from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence

    from slangad.compiler.errors.spans import Span
    from slangad.compiler.slang_text.tokens import Token

_ZEROS: Final = " return {}; "
_SUBSCRIPT: Final = "__subscript"
"""The name of functions whose body is no list of statements."""
_STAYING: Final = ("if", "elif", "else", "endif", "define", "undef", "pragma", "line")
"""The first words of preprocessor lines that stay when the part around them is removed."""

Part: TypeAlias = SlangFunction | Declaration


@dataclass(frozen=True)
class Parts:
    """A text and its parts.

    Attributes:
        every: Its parts in the order of the text. A struct comes before its functions.
        macros: The words of each macro's text, those of macros in it included.
        conforming: The structs that have an interface besides ``IDifferentiable``.
        others: Further texts of the same module. Their parts are in ``every``, too.
    """

    source: SlangSource
    every: tuple[Part, ...]
    macros: Mapping[str, frozenset[str]]
    conforming: frozenset[str]
    others: tuple[Parts, ...] = ()

    def with_others(self, others: Sequence[Parts]) -> Parts:
        """Return the parts of this text and of further texts of the same module."""
        texts = (self, *others)
        return replace(
            self,
            every=tuple(part for one in texts for part in one.every),
            macros={name: words for one in texts for name, words in one.macros.items()},
            conforming=frozenset().union(*(one.conforming for one in texts)),
            others=tuple(others),
        )

    def of(self, span: Span) -> Parts:
        """Return the parts of the text that a location lies in; these if it is none of the others."""
        return next((one for one in self.others if one.source.file == span.file), self)

    def at(self, span: Span) -> Part | None:
        """Return the smallest part that contains a location. A comment above a function belongs to that."""
        if (other := self.of(span)) is not self:
            return other.at(span)
        offset = self.source.offset(span)
        if offset is None:
            return None
        commented = (
            f for f in self.source.functions if any(comment.line == span.line for comment in f.header.comments)
        )
        parts = [part for part in self.every if part.span.file == span.file]
        around = [part for part in parts if part.start <= offset <= part.end]
        return min(around, key=lambda part: part.end - part.start, default=next(commented, None))

    def is_in_head(self, part: Part, span: Span) -> bool:
        """Return True if a location lies in a function before its body."""
        offset = self.of(span).source.offset(span)
        return isinstance(part, SlangFunction) and offset is not None and part.start <= offset < part.body

    def is_differentiable(self, part: Part) -> bool:
        """Return True if a part is a function that can be differentiated."""
        return isinstance(part, SlangFunction) and self.of(part.span).source.is_differentiable(part)

    def brings_in(self, file: str) -> Declaration | None:
        """Return the import or inclusion of a file, found by its name."""
        stem = _plain(file)
        named = (part for part in self.every if isinstance(part, Declaration) and part.brings_in)
        return next((part for part in named if _plain(part.name) == stem), None)

    def users_of(self, part: Part, *, gone: bool, lost: Collection[str] = ()) -> Iterator[Part]:
        """Yield the parts that may use one in a way that Slang does not report.

        Slang reports no use of a generic function or of one that is gone. It reports a use in a macro at the macro.
        A method of an interface may be used wherever its struct is mentioned. Members of a declaration go with it. If
        there are two of a name, Slang may take the other one: but a function with a type of ``lost`` in its head can
        only be meant where that type occurs.

        Args:
            part: The part.
            gone: True if neither a head nor a stub of it is left.
            lost: The names of types that are removed or incomplete.
        """
        names = names_of(part)
        macros = {macro for macro, words in self.macros.items() if names & words}
        others = (one for one in self.every if one != part)
        if isinstance(part, Declaration):
            doubtful = names if (gone and part.stubs) or self.is_lost(part) else frozenset()
            words = macros | doubtful
            yield from (one for one in others if contains(part, one) or (words & one.words and not _brings_in(one)))
            return
        unknown = names if gone or part.header.generic else frozenset()
        suspect = macros | self.conforming.intersection(part.header.path[-1:])
        types = self.head_of(part).intersection(lost)
        for one in others:
            if not isinstance(one, SlangFunction):
                continue
            meant = unknown & one.called and (not types or types & one.words)
            if meant or suspect & one.words:
                yield one

    def is_lost(self, part: Part) -> bool:
        """Return True if no stub replaces a removed type, and its name means nothing else in these texts."""
        if not isinstance(part, Declaration) or part.kind not in STRUCTS or part.stubs:
            return False
        others = (one for one in self.every if isinstance(one, Declaration) and one.kind != "extension")
        return not any(one.names & part.names for one in others if one != part)

    def head_of(self, function: SlangFunction) -> frozenset[str]:
        """Return the words of a function before its body."""
        tokens = self.of(function.span).source.tokens
        return words_of(tokens[function.first : function.opening])

    def blanked(self, parts: Collection[Part]) -> str:
        """Return the text with blanks in place of some parts; all of it if brackets do not close."""
        ranges = [(part.start, part.end + 1) for part in parts] if self.source.is_closed else []
        return _blanked(self.source, ranges)

    def without(self, marks: Mapping[Part, str], gone: Collection[Part]) -> Remains:
        """Return the text with some parts marked and emptied, and others removed. Parts of other texts do not count."""
        out = {part for part in (*marks, *gone) if part.span.file == self.source.file}
        kept = [part for part in out if not any(contains(one, part) for one in out)]
        blanks, added = list[tuple[int, int]](), list[tuple[int, str]]()
        for part in kept:
            deprecated = f'[deprecated("{marks.get(part, "")}")] '
            if isinstance(part, Declaration) or part in gone or part.header.name == _SUBSCRIPT:
                blanks.append((part.start, part.end + 1))
            else:
                blanks.append((part.body + 1, part.end))
                added += ((part.start, deprecated), (part.end, _ZEROS if part.returns else ""))
            if isinstance(part, Declaration) and part not in gone:
                added.append((part.end, "".join(f" {deprecated}{stub}" for stub in part.stubs)))
        return _remains(self.source, blanks, sorted(added))


@dataclass(frozen=True, slots=True)
class Remains:
    """A text after the removal of parts.

    Attributes:
        added: The insertions by line: before which columns, and how many characters.
    """

    text: str
    added: Mapping[int, tuple[tuple[int, int], ...]]

    def before(self, span: Span) -> Span:
        """Return the location in the complete text of a location in this text."""
        column = span.column
        for at, length in self.added.get(span.line, ()):
            column = column - length if column >= at + length else min(column, at)
        return replace(span, column=column)


@lru_cache(maxsize=64)
def read_parts(text: str, file: str) -> Parts:
    """Take a text apart; ``file`` is its name in spans."""
    source = read_source(text, file)
    every: list[Part] = [*source.functions, *declarations_of(source)]
    every.sort(key=lambda part: part.start)
    return Parts(source, tuple(every), _macros(source), frozenset(_conforming(source.tokens)))


def contains(part: Part, other: Part) -> bool:
    """Return True if a part is a declaration that contains another part."""
    here = part.span.file == other.span.file and part != other
    return here and isinstance(part, Declaration) and part.start <= other.start and other.end <= part.end


def is_derivative(part: Part, other: Part) -> bool:
    """Return True if another function names this one as its derivative. Slang dies if the derivative is missing."""
    return (
        isinstance(part, SlangFunction)
        and isinstance(other, SlangFunction)
        and part.header.name in other.header.attributes
    )


def mentions(part: Part, other: Part) -> bool:
    """Return True if a part has the name of another in its text, or calls it if both are functions."""
    if isinstance(part, SlangFunction) and isinstance(other, SlangFunction):
        return other.header.name in part.called
    return not part.words.isdisjoint(names_of(other))


def names_of(part: Part) -> frozenset[str]:
    """Return the words by which other text uses a part, as far as known."""
    return part.names if isinstance(part, Declaration) else frozenset({part.header.name})


def _brings_in(part: Part) -> bool:
    return isinstance(part, Declaration) and part.brings_in


def _plain(file: str) -> str:
    """Return the last part of a file's or module's name without its ending, as Slang compares them."""
    name = re.split(r"[/\\]", file)[-1]
    for ending in (*SLANG_ENDINGS, ".h"):
        name = name.removesuffix(ending)
    return name.rpartition(".")[2].replace("_", "-")


def _remains(source: SlangSource, blanks: Sequence[tuple[int, int]], added: Sequence[tuple[int, str]]) -> Remains:
    text = _blanked(source, blanks)
    lines: dict[int, tuple[tuple[int, int], ...]] = {}
    for offset, put in reversed(added):
        line = text.count("\n", 0, offset) + 1
        column = offset - source.starts[line - 1] + 1
        lines[line] = ((column, len(put)), *lines.get(line, ()))
        text = text[:offset] + put + text[offset:]
    return Remains(text, lines)


def _blanked(source: SlangSource, ranges: Iterable[tuple[int, int]]) -> str:
    """Return a text with blanks in some ranges. Preprocessor lines stay, except inclusions."""
    text = source.text
    blank, out = re.sub(r"[^\n]", " ", text), [*text]
    for start, end in ranges:
        out[start:end] = blank[start:end]
    for directive in source.code.directives:
        if directive.text.startswith(_STAYING):
            occurrence = DIRECTIVE.match(text, source.starts[directive.line - 1] + directive.column - 1)
            start, end = occurrence.span() if occurrence else (0, 0)
            out[start:end] = text[start:end]
    return "".join(out)


def _conforming(tokens: Sequence[Token]) -> Iterator[str]:
    """Yield the structs of ``struct Name : Interface``, unless the only interface is ``IDifferentiable``."""
    for k, token in enumerate(tokens):
        if token.text == "struct" and k + 2 < len(tokens):
            head = until(tokens[k + 2 :], "{", ";")
            named = words_of(head) - {"IDifferentiable"}
            if named and any(one.text == ":" for one in head):
                yield tokens[k + 1].text


def _macros(source: SlangSource) -> Mapping[str, frozenset[str]]:
    """Return the words of each macro's text, those of macros in it included."""
    macros = {name: words_of(tokens) for name, tokens in source.scan.defines}
    return {name: frozenset(closure(words, lambda word: macros.get(word, ()))) for name, words in macros.items()}
