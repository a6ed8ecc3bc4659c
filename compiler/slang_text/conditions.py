"""Find the lines that preprocessor conditions hide from Slang, as far as the text and its macros show.

A condition with a name that other files or Slang itself may define hides nothing.
"""

from __future__ import annotations

import ast
import operator
import re
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Iterable, Mapping

    from slangad.compiler.slang_text.tokens import Token

_DIRECTIVE: Final = re.compile(r"(\w+)\s*(.*)")
_DEFINED: Final = re.compile(r"\bdefined\s*(?:\(\s*(\w+)\s*\)|(\w+))")
_NAME: Final = re.compile(r"\b[A-Za-z_]\w*\b")
_NUMBER: Final = re.compile(r"\b(0[xX][\da-fA-F]+|\d+)[uUlL]+\b")
_COMMENT: Final = re.compile(r"//.*|/\*.*?\*/")
_SPELLED: Final = ((re.compile(r"&&"), " and "), (re.compile(r"\|\|"), " or "), (re.compile(r"!(?!=)"), " not "))
_OPERATIONS: Final[dict[type, Callable[[int, int], int]]] = {
    ast.Add: operator.add,
    ast.Sub: operator.sub,
    ast.Mult: operator.mul,
    ast.Eq: operator.eq,
    ast.NotEq: operator.ne,
    ast.Lt: operator.lt,
    ast.LtE: operator.le,
    ast.Gt: operator.gt,
    ast.GtE: operator.ge,
}
_DEPTH: Final = 8
"""Macros in macros that are followed."""


class _UnknownError(Exception):
    """The value of a condition does not follow from the text."""


@dataclass(slots=True)
class _Level:
    """An open condition: whether one of its branches was taken (None: unknown), and whether this one is shown."""

    taken: bool | None
    shown: bool


def hidden_lines(directives: Iterable[Token], macros: Mapping[str, str], foreign: Collection[str]) -> frozenset[int]:
    """Return the numbers of the lines that conditions hide.

    Args:
        directives: The preprocessor lines of the text.
        macros: Macros that are defined before it.
        foreign: Names that other files may define.
    """
    known = dict(macros)
    levels: list[_Level] = []
    hidden: set[int] = set()
    start = 0
    for line in directives:
        if not all(level.shown for level in levels):
            hidden.update(range(start, line.line))
        start = line.line
        occurrence = _DIRECTIVE.match(line.text)
        if occurrence is not None:
            word, rest = occurrence[1], _COMMENT.sub("", occurrence[2]).strip()
            _follow(levels, word, _value(word, rest, known, foreign) if word in _CONDITIONS else None)
            if word == "define" and all(level.shown for level in levels):
                name, _, value = rest.partition(" ")
                known[name] = value.strip()
            elif word == "undef" and all(level.shown for level in levels):
                known.pop(rest, None)
    return frozenset(hidden)


_CONDITIONS: Final = frozenset({"if", "ifdef", "ifndef", "elif"})


def _follow(levels: list[_Level], word: str, value: bool | None) -> None:  # noqa: FBT001
    """Open, change or close a condition."""
    if word in ("if", "ifdef", "ifndef"):
        levels.append(_Level(value, value is not False))
    elif word == "endif" and levels:
        levels.pop()
    elif word in ("elif", "else") and levels:
        level = levels[-1]
        level.shown = level.taken is not True and (word == "else" or value is not False)
        level.taken = True if level.taken is True else value if level.taken is False else None


def _value(word: str, rest: str, known: Mapping[str, str], foreign: Collection[str]) -> bool | None:
    """Return the value of a condition; None if it is unknown."""
    text = {"ifdef": f"defined({rest})", "ifndef": f"!defined({rest})"}.get(word, rest)
    try:
        return bool(_evaluated(text, known, foreign, _DEPTH))
    except _UnknownError:
        return None


def _evaluated(text: str, known: Mapping[str, str], foreign: Collection[str], depth: int) -> int:
    def defined(match: re.Match[str]) -> str:
        name = match[1] or match[2]
        if name not in known and (name in foreign or name.startswith("__")):
            raise _UnknownError
        return str(int(name in known))

    def valued(match: re.Match[str]) -> str:
        name = match[0]
        if name in known and depth:
            return f"({_evaluated(known[name], known, foreign, depth - 1)})"
        if name in known or name in foreign or name.startswith("__"):
            raise _UnknownError
        return str(int(name == "true"))

    text = _NUMBER.sub(r"\1", _NAME.sub(valued, _DEFINED.sub(defined, text)))
    for pattern, word in _SPELLED:
        text = pattern.sub(word, text)
    try:
        return _number(ast.parse(text.strip(), mode="eval").body)
    except SyntaxError:
        raise _UnknownError from None


def _number(node: ast.expr) -> int:
    match node:
        case ast.Constant(value=int(value)):
            return value
        case ast.BoolOp(op=op, values=values):
            return int((all if isinstance(op, ast.And) else any)(_number(one) for one in values))
        case ast.UnaryOp(op=ast.Not(), operand=operand):
            return int(not _number(operand))
        case ast.UnaryOp(op=ast.USub(), operand=operand):
            return -_number(operand)
        case ast.BinOp(left=left, op=op, right=right) if type(op) in _OPERATIONS:
            return _OPERATIONS[type(op)](_number(left), _number(right))
        case ast.Compare(left=left, ops=[op], comparators=[right]) if type(op) in _OPERATIONS:
            return int(_OPERATIONS[type(op)](_number(left), _number(right)))
    raise _UnknownError
