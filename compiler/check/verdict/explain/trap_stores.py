"""Search a function of a Slang file for variables that Slang may confuse.

Where branches or loops meet, Slang confuses two variables of one type if parts of one were stored. It sometimes
confuses values of one variable that is stored at once and in parts. docs/slang-notes.md lists the observed cases.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from itertools import product
from typing import TYPE_CHECKING, Final

from slangad.compiler.check.verdict.explain.trap_signs import Sign
from slangad.compiler.slang_text.brackets import BEFORE_VALUES, closing, end_of_statement, is_stored, steps_behind

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    from slangad.compiler.slang_text.calls import FunctionCode
    from slangad.compiler.slang_text.tokens import Token

_PASSIVE: Final = re.compile(r"(?:u?int|bool)(?:[234](?:x[234])?)?(?:\[.*)?")
_VECTOR: Final = re.compile(r"(?:float|half|double)[234](?:x[234])?|(?:vector|matrix)<.*>")
_LONG: Final = (
    (re.compile(r"vector<(\w+),(\d)>"), r"\1\2"),
    (re.compile(r"matrix<(\w+),(\d),(\d)>"), r"\1\2x\3"),
    (re.compile(r"Array<(.+),(\w+)>"), r"\1[\2]"),
)
"""Long spellings of types, with the short ones."""
_SEVERAL: Final = re.compile(r"\.[xyzwrgba]{2,4}")
_BEHIND_NAMES: Final = frozenset({"=", ";", ",", ")", "[", ":"})
_NOT_IN_TYPES: Final = frozenset({";", "{", "}", ")", "="})
_HEADED: Final = frozenset({"if", "for", "while", "switch"})
_INFERRED: Final = "var"


@dataclass(frozen=True, slots=True)
class _Variable:
    """A variable or parameter, with the token of its name at its declaration."""

    name: str
    type: str
    declared: int


@dataclass(frozen=True, slots=True)
class _Store:
    """A store: its token, the number of fields and indices to the stored part, and if several components are stored."""

    index: int
    variable: _Variable
    steps: int
    several: bool


@dataclass(frozen=True, slots=True)
class _Fork:
    """A branch with all its arms, or a loop: its first and last token."""

    first: int
    last: int
    is_loop: bool


def confused(code: FunctionCode) -> Iterator[Sign]:
    """Yield variables that a branch or loop stores: two of one type, one in parts; or one, in parts and at once."""
    stores = list(_stores(code))
    for fork in _forks(code):
        inside = [s for s in stores if s.variable.declared < fork.first < s.index <= fork.last]
        stored = {store.variable for store in inside}
        parts = [s for s in stores if s.steps and s.index <= fork.last and s.variable in stored]
        for part, other in product(parts, inside):
            if _meet(part, other, fork):
                yield _sign(code, part, f"'{other.variable.name}' of the same type")
        for part, again in product(parts, inside):
            if part in inside and _again(part, again):
                yield _sign(code, part, "all of it")


def _sign(code: FunctionCode, part: _Store, other: str) -> Sign:
    return Sign(code.tokens[part.index].line, f"'{part.variable.name}' are stored, and {other} too,")


def _meet(part: _Store, other: _Store, fork: _Fork) -> bool:
    """Return True if Slang is known to confuse two variables of this type with such stores."""
    type_ = part.variable.type
    if other.variable == part.variable or other.variable.type != type_:
        return False
    if type_.endswith("]"):
        return part.steps > 1 or (fork.is_loop and not other.steps)
    return bool(_VECTOR.fullmatch(type_)) or not other.steps


def _again(part: _Store, other: _Store) -> bool:
    """Return True if Slang is known to confuse values of one variable with such stores."""
    same = other.variable == part.variable and other != part
    return same and bool(_VECTOR.fullmatch(part.variable.type)) and (other.several or not other.steps)


def _forks(code: FunctionCode) -> Iterator[_Fork]:
    tokens = code.tokens
    for k in range(code.opening, len(tokens) - 1):
        word = tokens[k].text
        if word == "do":
            yield _Fork(k, end_of_statement(tokens, k + 1), is_loop=True)
        if word not in _HEADED or tokens[k + 1].text != "(":
            continue
        last = end_of_statement(tokens, closing(tokens, k + 1) + 1)
        while word == "if" and last + 2 < len(tokens) and tokens[last + 1].text == "else":
            last = end_of_statement(tokens, last + 2)
        yield _Fork(k, last, is_loop=word in ("for", "while"))


def _stores(code: FunctionCode) -> Iterator[_Store]:
    """Yield stores into variables and parts of them, those by callees included."""
    tokens = code.tokens
    declared = {variable.declared: variable for variable in _variables(tokens)}
    known: dict[str, _Variable] = {}
    for k, token in enumerate(tokens):
        if k in declared:
            known[token.text] = declared[k]
        elif token.text in known and k > code.opening and tokens[k - 1].text not in (".", "::"):
            steps, end = steps_behind(tokens, k)
            counted = "".join(one.text for one in tokens[end : end + 2]) in ("++", "--")
            if counted or is_stored(tokens, k) or _is_given(code, k, end):
                last = "".join(one.text for one in tokens[steps[-1] : end]) if steps else ""
                yield _Store(k, known[token.text], len(steps), bool(_SEVERAL.fullmatch(last)))


def _is_given(code: FunctionCode, index: int, end: int) -> bool:
    """Return True if a variable or a part of it, up to ``end``, is an argument that the callee may store into."""
    tokens = code.tokens
    if tokens[index - 1].text not in ("(", ",") or end >= len(tokens) or tokens[end].text not in (",", ")"):
        return False
    opened = 0
    for k in range(index - 1, code.opening, -1):
        opened += (tokens[k].text in ("(", "[", "{")) - (tokens[k].text in (")", "]", "}"))
        if opened > 0:
            return tokens[k].text == "(" and tokens[k - 1].text in code.storing
    return False


def _variables(tokens: Sequence[Token]) -> Iterator[_Variable]:
    """Yield variables and parameters that may have a gradient, such as ``p`` and ``q`` of ``float2 p = x, q[2];``."""
    types: dict[str, str] = {}
    for k in range(1, len(tokens)):
        type_, name = _type_at(tokens, k)
        while type_ and name + 1 < len(tokens) and _is_name(tokens, name):
            whole, end = type_, name + 1
            while end < len(tokens) and tokens[end].text == "[":
                closed = closing(tokens, end)
                whole, end = whole + _text(tokens[end : closed + 1]), closed + 1
            if whole == _INFERRED:
                whole = _inferred(tokens, end, types)
            types[tokens[name].text] = whole
            if whole and not _PASSIVE.fullmatch(whole):
                yield _Variable(tokens[name].text, whole, name)
            while end < len(tokens) and tokens[end].text not in (",", ";", ")", "]", "}"):
                end = closing(tokens, end) + 1
            name = end + 1 if tokens[end : end + 1] and tokens[end].text == "," else len(tokens)


def _is_name(tokens: Sequence[Token], index: int) -> bool:
    return tokens[index].kind == "word" and tokens[index + 1].text in _BEHIND_NAMES


def _type_at(tokens: Sequence[Token], index: int) -> tuple[str, int]:
    """Return the type that begins at a token, with the token behind it; an empty type if none does."""
    first = tokens[index]
    if first.kind != "word" or first.text in BEFORE_VALUES or tokens[index - 1].text in (".", "::"):
        return "", index
    end = index + 1
    while end + 1 < len(tokens) and tokens[end].text in (".", "::"):
        end += 2
    opened = 0
    for k in range(end, len(tokens)) if tokens[end : end + 1] and tokens[end].text == "<" else ():
        opened += (tokens[k].text == "<") - (tokens[k].text == ">")
        if tokens[k].text in _NOT_IN_TYPES:
            return "", index
        if not opened:
            end = k + 1
            break
    while end < len(tokens) and tokens[end].text == "[":
        end = closing(tokens, end) + 1
    return _text(tokens[index:end]), end


def _inferred(tokens: Sequence[Token], index: int, types: Mapping[str, str]) -> str:
    """Return the type of a ``var`` from its initial value: that of a variable, or the name of the callee."""
    words = [token.text for token in tokens[index + 1 : index + 3]]
    return "" if "." in words else types.get("".join(words[:1]), "".join(words[:1]))


def _text(tokens: Sequence[Token]) -> str:
    """Return a type in its short spelling."""
    text = "".join(token.text for token in tokens)
    for spelled, short in _LONG:
        text = spelled.sub(short, text)
    return text
