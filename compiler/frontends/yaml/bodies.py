"""Parse bodies of a description: statements, an expression, or raw Slang."""

from __future__ import annotations

import ast
import re
import warnings
from typing import TYPE_CHECKING, Final

from slangad.compiler.emit.text.keywords import WORDS
from slangad.compiler.frontends.lowering.body import BodySource
from slangad.compiler.frontends.reading.fence import fence_body
from slangad.compiler.frontends.yaml.nodes import MappingNode, ScalarNode
from slangad.compiler.ir.nodes import SlangBody, SlangWord

if TYPE_CHECKING:
    from collections.abc import Sequence

    from slangad.compiler.errors.spans import Span
    from slangad.compiler.frontends.reading.signatures import Parameter
    from slangad.compiler.frontends.yaml.locations import TextLocations
    from slangad.compiler.frontends.yaml.world import YamlWorld


def read_body(world: YamlWorld, node: MappingNode, name: Span) -> BodySource | None:
    """Return the statements of ``body:`` or ``expr:``; None after a report."""
    for key in ("body", "expr"):
        text = node.get(key)
        if isinstance(text, ScalarNode):
            return read_text(world, text, name, expression=key == "expr")
    return None


def read_text(world: YamlWorld, text: ScalarNode, name: Span, *, expression: bool = False) -> BodySource | None:
    """Return a text as the body of a function; ``name`` locates the function's name. None after a report."""
    locations = world.locations(text).on_one_line() if expression else world.locations(text)
    before = len(world.problems)
    statements = _parse(world, locations, expression=expression)
    if statements is not None:
        fence_body(statements, locations, world.problems)
    if statements is None or len(world.problems) != before:
        return None
    _outside_loops(world, locations, statements)
    if len(world.problems) != before:
        return None
    return BodySource(locations, statements, name, 1, locations.text.count("\n") + 1)


def _parse(world: YamlWorld, locations: TextLocations, *, expression: bool) -> list[ast.stmt] | None:
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            if expression:
                value = ast.parse(locations.text, mode="eval").body
                return [ast.copy_location(ast.Return(value), value)]
            return ast.parse(locations.text).body
    except SyntaxError as error:
        line, column = error.lineno or 1, max(error.offset or 1, 1)
        help_ = _remedy(locations.text.split("\n")[line - 1 : line], expression=expression)
        world.problems.error("SA060", locations.point(line, column), f"syntax error: {error.msg}", help=help_)
    except (RecursionError, MemoryError):
        world.problems.error("SA060", locations.whole, "this can't be read: nested too deeply")
    except ValueError as error:
        world.problems.error("SA060", locations.whole, f"this can't be read: {error}")
    return None


def _remedy(lines: Sequence[str], *, expression: bool) -> str:
    """Return what to write for a line that can't be read, if it looks like C or like a statement."""
    line = "".join(lines).strip()
    if expression and (line.startswith("return") or re.match(r"\w+ *=[^=]", line)):
        return "'expr' is a value; statements stand under 'body: |'"
    typed = re.match(r"(?:const |let |var |auto )*[\w<>]+ +(\w+) *=[^=]", line)
    return f"a name has no type before it: {typed[1]} = …" if typed else ""


def _outside_loops(world: YamlWorld, locations: TextLocations, body: Sequence[ast.stmt]) -> None:
    """Report ``break`` and ``continue`` outside loops; Python finds those only when it compiles."""
    for stmt in body:
        match stmt:
            case ast.Break() | ast.Continue():
                word = type(stmt).__name__.lower()
                world.problems.error("SA060", locations.keyword_span(stmt), f"syntax error: '{word}' outside loop")
            case ast.If(body=then, orelse=other):
                _outside_loops(world, locations, [*then, *other])
            case ast.For(orelse=other) | ast.While(orelse=other):
                _outside_loops(world, locations, other)
            case _:
                pass


_NOT_CODE: Final = re.compile(r"//[^\n]*|/\*.*?\*/|\"(?:\\.|[^\"\\\n])*\"", re.DOTALL)
_CONTROL: Final = re.compile(r"[\x00-\x08\x0b-\x1f\x7f\x85\u2028\u2029]")
_PIECE: Final = re.compile(r"\w+|[^\w\s]+")
_CLOSING: Final = {")": "(", "]": "[", "}": "{"}
_WORD: Final = re.compile(r"(?<![\w.])[^\W\d]\w*")


def slang_body(world: YamlWorld, text: ScalarNode, params: Sequence[Parameter]) -> SlangBody | None:
    """Return a raw Slang body; None after a report."""
    locations = world.locations(text)
    for param in (p for p in params if p.name in WORDS):
        world.problems.error(
            "SA063",
            param.span,
            f"'{param.name}' is a keyword of Slang",
            help=f"a raw Slang body needs another name: {param.name}_",
        )
        return None
    control = _CONTROL.search(text.text)
    if control is not None:
        where = locations.range(control.start(), control.end())
        world.problems.error("SA063", where, f"the character U+{ord(control[0]):04X} is not allowed in Slang")
        return None
    wrong = _unbalanced(text.text)
    if wrong is not None:
        character = text.text[wrong]
        world.problems.error(
            "SA063",
            locations.range(wrong, wrong + 1),
            f"this '{character}' has no matching bracket",
            help="slangad inserts the text between the function's braces",
        )
        return None
    lines = text.text.rstrip().split("\n")
    words = tuple(_slang_line(locations, number, line) for number, line in enumerate(lines, 1))
    return SlangBody("\n".join(lines), words)


def _slang_line(locations: TextLocations, number: int, line: str) -> tuple[SlangWord, ...]:
    """Return the parts of a line of a raw body with their locations."""
    return tuple(
        SlangWord(m.start(), m.end(), locations.point(number, m.start() + 1, m.end() - m.start()))
        for m in _PIECE.finditer(line)
    )


def _unbalanced(text: str) -> int | None:
    """Return the index of the first bracket without a partner."""
    blanked = _NOT_CODE.sub(lambda match: " " * len(match.group()), text)
    opened: list[int] = []
    for index, character in enumerate(blanked):
        if character in "([{":
            opened.append(index)
        elif character in _CLOSING:
            if not opened or blanked[opened[-1]] != _CLOSING[character]:
                return index
            opened.pop()
    return opened[0] if opened else None


def slang_words(body: SlangBody) -> frozenset[str]:
    """Return the identifiers of a raw body that are not members."""
    return frozenset(_WORD.findall(_NOT_CODE.sub(" ", body.text)))
