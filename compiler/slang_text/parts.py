"""The parts of a Slang text, functions and declarations, each of which can be taken out; who uses which, by the text.

A text goes in. What comes out has the same lines: a part that is taken out leaves blanks. The head of a function may
stay, with a body that gives zeros, and of a declaration a stub; both with a mark that makes Slang tell who uses it.
"""

from __future__ import annotations

import re
from dataclasses import dataclass, replace
from itertools import takewhile
from typing import TYPE_CHECKING, Final, TypeAlias

from slangad.compiler.slang_text.bodies import Bodies, Function, read_bodies
from slangad.compiler.slang_text.declarations import Declaration, declarations_of
from slangad.compiler.slang_text.tokens import read_text

if TYPE_CHECKING:
    from collections.abc import Collection, Iterator, Mapping, Sequence

    from slangad.compiler.errors.spans import Span
    from slangad.compiler.slang_text.tokens import Token

_ZEROS: Final = " return {}; "

Part: TypeAlias = Function | Declaration


@dataclass(frozen=True)
class Parts:
    """A text and its parts.

    Attributes:
        every: Its parts in the order of the text; functions in structs come after those.
        macros: The words of each macro's text, those of macros in it too.
        conforming: The structs that have an interface besides ``IDifferentiable``.
    """

    bodies: Bodies
    every: tuple[Part, ...]
    macros: Mapping[str, frozenset[str]]
    conforming: frozenset[str]

    def at(self, span: Span) -> Part | None:
        """The smallest part that a place lies in; of a comment above a function that one."""
        offset = self.bodies.offset(span)
        if offset is None:
            return None
        told = (f for f in self.bodies.functions if any(comment.line == span.line for comment in f.header.comments))
        around = [part for part in self.every if part.start <= offset <= part.end]
        return min(around, key=lambda part: part.end - part.start, default=next(told, None))

    def is_in_head(self, part: Part, span: Span) -> bool:
        """Whether a place lies in a function before its body."""
        offset = self.bodies.offset(span)
        return isinstance(part, Function) and offset is not None and part.start <= offset < part.body

    def is_differentiable(self, part: Part) -> bool:
        """Whether it is a function that can be differentiated."""
        return isinstance(part, Function) and self.bodies.is_differentiable(part)

    def brings_in(self, file: str) -> Declaration | None:
        """The import or inclusion of a file, as far as its name tells."""
        stem = _plain(file)
        named = (part for part in self.every if isinstance(part, Declaration) and part.brings_in)
        return next((part for part in named if _plain(part.name) == stem), None)

    def users_of(self, part: Part, *, gone: bool) -> Iterator[Part]:
        """The parts that may use one in a way of which Slang does not tell.

        Slang tells of no use of a generic function, nor of one that is gone; and of a use in a macro it tells there.
        What a struct does by an interface may be used wherever the struct is mentioned. What stands in a declaration
        goes with it; where there are two of its name, the other one may be taken for it.
        """
        names = names_of(part)
        macros = {macro for macro, words in self.macros.items() if names & words}
        others = (one for one in self.every if one != part)
        if isinstance(part, Declaration):
            doubtful = names if gone and part.stubs else frozenset()
            yield from (one for one in others if contains(part, one) or (macros | doubtful) & one.words)
            return
        unknown = names if gone or part.header.generic else frozenset()
        suspect = macros | self.conforming.intersection(part.header.path[-1:])
        for one in others:
            if isinstance(one, Function) and (unknown & one.called or suspect & one.words):
                yield one

    def without(self, marks: Mapping[Part, str], gone: Collection[Part]) -> Remains:
        """The text in which some parts have a mark and nothing in them, and others are gone."""
        out = {*marks, *gone}
        kept = [part for part in out if not any(contains(one, part) for one in out)]
        blanks, added = list[tuple[int, int]](), list[tuple[int, str]]()
        for part in kept:
            deprecated = f'[deprecated("{marks.get(part, "")}")] '
            if isinstance(part, Declaration) or part in gone:
                blanks.append((part.start, part.end + 1))
            else:
                blanks.append((part.body + 1, part.end))
                added += ((part.start, deprecated), (part.end, _ZEROS if part.returns else ""))
            if isinstance(part, Declaration) and part not in gone:
                added.append((part.end, "".join(f" {deprecated}{stub}" for stub in part.stubs)))
        return _remains(self.bodies, blanks, sorted(added))


@dataclass(frozen=True, slots=True)
class Remains:
    """What is left of a text.

    Attributes:
        added: What was put in, by lines: before which columns, and how much.
    """

    text: str
    added: Mapping[int, tuple[tuple[int, int], ...]]

    def before(self, span: Span) -> Span:
        """Where a place was in the whole text."""
        column = span.column
        for at, length in self.added.get(span.line, ()):
            column = column - length if column >= at + length else min(column, at)
        return replace(span, column=column)


def read_parts(text: str, file: str) -> Parts:
    """Take a text apart; ``file`` is its name in spans."""
    bodies, read = read_bodies(text, file), read_text(text)
    every: list[Part] = [*bodies.functions, *declarations_of(bodies, read)]
    every.sort(key=lambda part: part.start)
    return Parts(bodies, tuple(every), _macros(bodies.scan.directives), frozenset(_conforming(read.tokens)))


def contains(part: Part, other: Part) -> bool:
    """Whether a part is a declaration that another part stands in."""
    return isinstance(part, Declaration) and part != other and part.start <= other.start and other.end <= part.end


def is_derivative(part: Part, other: Part) -> bool:
    """Whether a function is the derivative that another one names: Slang dies of one that is not there."""
    return isinstance(part, Function) and isinstance(other, Function) and part.header.name in other.header.attributes


def mentions(part: Part, other: Part) -> bool:
    """Whether a part has another's name in its text, that of a function where it calls one."""
    if isinstance(part, Function) and isinstance(other, Function):
        return other.header.name in part.called
    return not part.words.isdisjoint(names_of(other))


def names_of(part: Part) -> frozenset[str]:
    """The words by which others use it, as far as they are known."""
    return part.names if isinstance(part, Declaration) else frozenset({part.header.name})


def _plain(file: str) -> str:
    """The last part of a file's or a module's name, without its ending, the way Slang takes them for the same."""
    name = re.split(r"[/\\]", file)[-1].removesuffix(".slang").removesuffix(".h").removesuffix(".slangh")
    return name.rpartition(".")[2].replace("_", "-")


def _remains(bodies: Bodies, blanks: Sequence[tuple[int, int]], added: Sequence[tuple[int, str]]) -> Remains:
    text = bodies.text
    for start, end in blanks:
        text = text[:start] + re.sub(r"[^\n]", " ", text[start:end]) + text[end:]
    lines: dict[int, tuple[tuple[int, int], ...]] = {}
    for offset, put in reversed(added):
        line = text.count("\n", 0, offset) + 1
        column = offset - bodies.starts[line - 1] + 1
        lines[line] = ((column, len(put)), *lines.get(line, ()))
        text = text[:offset] + put + text[offset:]
    return Remains(text, lines)


def _conforming(tokens: Sequence[Token]) -> Iterator[str]:
    """The structs of ``struct Name : Interface``, unless there is none but ``IDifferentiable``."""
    for k, token in enumerate(tokens):
        if token.text == "struct" and k + 2 < len(tokens):
            head = list(takewhile(lambda one: one.text not in ("{", ";"), tokens[k + 2 :]))
            named = {one.text for one in head if one.kind == "word"} - {"IDifferentiable"}
            if named and any(one.text == ":" for one in head):
                yield tokens[k + 1].text


def _macros(directives: Sequence[str]) -> dict[str, frozenset[str]]:
    found: dict[str, frozenset[str]] = {}
    for directive in directives:
        name, *words = re.findall(r"\w+", directive.removeprefix("define")) if directive.startswith("define") else [""]
        found[name] = frozenset(words)
    for _ in found:
        found = {name: words.union(*(found.get(word, ()) for word in words)) for name, words in found.items()}
    return found
