"""Search the tokens of a function of a Slang file for signs of Slang's traps.

The signs are patterns in the text and prove nothing. They serve only to explain functions that failed.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

from slangad.compiler.slang_text.brackets import closing, end_of_statement, is_declared, is_stored, written

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    from slangad.compiler.slang_text.calls import FunctionCode
    from slangad.compiler.slang_text.tokens import Token

_FLOATING: Final = re.compile(r"(?:float|half|double)(?P<shape>[234](?:x[234])?)?")
_BETWEEN: Final = frozenset({"+", "-", "*", "/"})
_CLAMPS: Final = frozenset({"clamp", "saturate", "min", "max"})
_FOLDING: Final = frozenset({"[", "(", "%", "&", "/", ">", "<", "?"})
"""Operators that may map several indices to one."""
_LOOPS: Final = frozenset({"for", "while"})


@dataclass(frozen=True, slots=True)
class Sign:
    """A sign of a trap: its line, and the text that a message shows."""

    line: int
    what: str


@dataclass(frozen=True, slots=True)
class _Loop:
    """A loop: its first and last token, its largest number of iterations if known, and its declared bound."""

    first: int
    last: int
    iterations: int | None
    declared: str
    runs_by: frozenset[str]


def calls_of(code: FunctionCode, *names: str, moving: bool = False) -> Iterator[Sign]:
    """Yield calls of builtin functions; with ``moving`` only those with arguments that are no numbers."""
    for k in _called(code, frozenset(names)):
        if moving and not _moves(code.tokens[k + 1 : closing(code.tokens, k + 1)]):
            continue
        yield Sign(code.tokens[k].line, code.tokens[k].text)


def powers(code: FunctionCode) -> Iterator[Sign]:
    """Yield calls of ``pow`` whose base is no number."""
    for k in _called(code, frozenset({"pow"})):
        if [token.text for token in code.tokens[k + 3 : k + 4]] != [","] or code.tokens[k + 2].kind != "number":
            yield Sign(code.tokens[k].line, written(code.tokens[k : closing(code.tokens, k + 1) + 1]))


def meeting_indices(code: FunctionCode) -> Iterator[Sign]:
    """Yield two elements of one value with different indices, at least one of which is no number."""
    result: dict[str, dict[str, int]] = {}
    tokens = code.tokens
    for k in range(code.opening, len(tokens) - 1):
        if tokens[k].kind != "word" or tokens[k + 1].text != "[" or is_declared(tokens, k):
            continue
        end = closing(tokens, k + 1)
        while end + 1 < len(tokens) and tokens[end + 1].text == "[":
            end = closing(tokens, end + 1)
        if end + 2 < len(tokens) and tokens[end + 1].text == "=" and tokens[end + 2].text != "=":
            continue
        result.setdefault(tokens[k].text, {}).setdefault(written(tokens[k : end + 1]), k)
    for reads in result.values():
        if len(reads) > 1 and any(_is_dynamic(tokens, k + 1) for k in reads.values()):
            first, second = list(reads)[:2]
            yield Sign(tokens[reads[second]].line, f"{first} and {second}")


def gathered(code: FunctionCode) -> Iterator[Sign]:
    """Yield elements that a loop may read twice, because their index is more than its counter."""
    tokens = code.tokens
    for loop in _loops(code, unrolled=True):
        for k in range(loop.first, loop.last):
            if tokens[k].kind != "word" or tokens[k + 1].text != "[" or is_declared(tokens, k) or is_stored(tokens, k):
                continue
            index = tokens[k + 2 : closing(tokens, k + 1)]
            if any(token.kind == "word" for token in index) and any(token.text in _FOLDING for token in index):
                yield Sign(tokens[k].line, f"{written(tokens[k : closing(tokens, k + 1) + 1])} of two iterations")


def declared_bounds(code: FunctionCode) -> Iterator[Sign]:
    """Yield loops with ``[MaxIters(n)]`` that do not end at a number."""
    for loop in _loops(code):
        if loop.declared and loop.runs_by:
            yield Sign(code.tokens[loop.first].line, f"[MaxIters({loop.declared})]")


def branched_indices(code: FunctionCode) -> Iterator[Sign]:
    """Yield elements that a loop reads at an index from a branch: a stored ``?``, or one of several stores."""
    tokens = code.tokens
    stored = [k for k in range(code.opening, len(tokens)) if tokens[k].kind == "word" and is_stored(tokens, k)]
    often = [tokens[k].text for k in stored]
    branched = {name for name in often if often.count(name) > 1}
    branched |= {
        tokens[k].text for k in stored if "?" in (token.text for token in tokens[k : end_of_statement(tokens, k)])
    }
    for loop in _loops(code):
        for k in range(loop.first, loop.last):
            if tokens[k].kind == "word" and tokens[k + 1].text == "[" and not is_declared(tokens, k):
                index = tokens[k + 2 : closing(tokens, k + 1)]
                if any(token.text in branched or token.text == "?" for token in index):
                    yield Sign(tokens[k].line, written(tokens[k : closing(tokens, k + 1) + 1]))


def uneven_nests(code: FunctionCode) -> Iterator[Sign]:
    """Yield inner loops that may run more iterations than the outer one, or fewer by more than two."""
    loops = list(_loops(code))
    for outer in loops:
        for inner in loops:
            if outer.first < inner.first and inner.last <= outer.last:
                known = outer.iterations is not None and inner.iterations is not None
                if known and 0 <= (outer.iterations or 0) - (inner.iterations or 0) <= 2:
                    continue
                yield Sign(code.tokens[inner.first].line, f"line {code.tokens[outer.first].line}")


def vectors_with_scalars(code: FunctionCode) -> Iterator[Sign]:
    """Yield operations of a vector and a scalar from a loop, or a scalar parameter that stands first."""
    tokens, types = code.tokens, _types(code)
    looped = {
        tokens[k].text
        for loop in _loops(code, unrolled=False)
        for k in range(loop.first, loop.last)
        if tokens[k].kind == "word" and is_stored(tokens, k)
    }
    params = {token.text for token in tokens[: code.opening]}
    for k in range(code.opening + 1, len(tokens) - 1):
        if tokens[k].text not in _BETWEEN or tokens[k + 1].text == "=":
            continue
        left, right = tokens[k - 1].text, tokens[k + 1].text
        if k + 2 < len(tokens) and tokens[k + 2].text in (".", "[", "("):
            continue
        shapes = types.get(left), types.get(right)
        scalar = right if shapes[1] == "" else left
        if sorted(map(bool, shapes)) != [False, True] or None in shapes:
            continue
        if scalar in looped or (scalar == left and scalar in params):
            yield Sign(tokens[k].line, f"{left} {tokens[k].text} {right}")


def inverse_of_clamp(code: FunctionCode) -> Iterator[Sign]:
    """Yield ``acos`` and ``asin`` in a function that clamps a value."""
    if any(_called(code, _CLAMPS)):
        yield from calls_of(code, "acos", "asin")


def backward_alone(code: FunctionCode) -> Iterator[Sign]:
    """Yield calls of functions with a backward derivative and no forward one."""
    for k in _called(code, code.backward_alone):
        yield Sign(code.tokens[k].line, code.tokens[k].text)


def treated(code: FunctionCode) -> Iterator[Sign]:
    """Yield a function that is treated as differentiable."""
    for token in code.tokens[: code.opening]:
        if token.text == "TreatAsDifferentiable":
            yield Sign(token.line, f"the value of {code.name}")


def differentiated_anyway(code: FunctionCode) -> Iterator[Sign]:
    """Yield the calls behind ``no_diff``."""
    tokens = code.tokens
    for k in range(code.opening, len(tokens) - 2):
        if tokens[k].text != "no_diff":
            continue
        opening = next((j for j in range(k + 1, len(tokens)) if tokens[j].kind != "word" and tokens[j].text != "."), k)
        if tokens[opening].text == "(":
            yield Sign(tokens[k].line, written(tokens[k : closing(tokens, opening) + 1]))


def forgotten(code: FunctionCode) -> Iterator[Sign]:
    """Yield pairs of a derivative that are never stored or passed on."""
    tokens, opening = code.tokens, code.opening
    for k in range(opening):
        if tokens[k].text != "inout" or "Pair" not in tokens[k + 1].text:
            continue
        ends = (j for j in range(k, opening) if tokens[j].text == "," and not _depth(tokens[k:j]))
        name = [token for token in tokens[k : next(ends, opening)] if token.kind == "word"][-1]
        body = range(opening, len(tokens) - 1)
        mine = [j for j in body if tokens[j].text == name.text and tokens[j - 1].text != "."]
        if not any(is_stored(tokens, j) or tokens[j + 1].text in (",", ")", "[") for j in mine):
            yield Sign(name.line, f"'{code.name}' never stores '{name.text}'")


def constant_beginnings(code: FunctionCode) -> Iterator[Sign]:
    """Yield vectors and matrices with constant initial values and stored parts before a branch or a loop."""
    tokens, types = code.tokens, _types(code)
    for k in range(code.opening, len(tokens) - 2):
        name = tokens[k].text
        if not types.get(name) or not is_declared(tokens, k) or tokens[k + 1].text != "=":
            continue
        end = next((j for j in range(k, len(tokens)) if tokens[j].text == ";"), len(tokens))
        if any(t.kind == "word" and not _FLOATING.fullmatch(t.text) for t in tokens[k + 1 : end]):
            continue
        rest = range(end, len(tokens) - 3)
        stored = next((j for j in rest if tokens[j].text == name and tokens[j + 1].text in (".", "[")), None)
        if stored is not None and any(t.text in ("if", "for", "while", "?") for t in tokens[stored:]):
            yield Sign(tokens[k].line, name)


def _moves(args: Sequence[Token]) -> bool:
    """Return True if arguments contain variables."""
    names = (
        token
        for token, following in zip(args, (*args[1:], None), strict=True)
        if token.kind == "word" and (following is None or following.text != "(")
    )
    return any(True for _ in names)


def _called(code: FunctionCode, names: frozenset[str]) -> Iterator[int]:
    tokens = code.tokens
    for k in range(code.opening, len(tokens) - 1):
        if tokens[k].text in names and tokens[k + 1].text == "(" and tokens[k - 1].text != ".":
            yield k


def _types(code: FunctionCode) -> Mapping[str, str]:
    """Return the shapes of numeric variables and parameters, such as ``3`` or ``2x2``; empty for scalars."""
    result: dict[str, str] = {}
    for token, following in zip(code.tokens, code.tokens[1:], strict=False):
        kind = _FLOATING.fullmatch(token.text)
        if kind is not None and following.kind == "word":
            result[following.text] = kind["shape"] or ""
    return result


def _loops(code: FunctionCode, *, unrolled: bool = False) -> Iterator[_Loop]:
    """Yield the loops, with ``unrolled`` those of ``[ForceUnroll]`` too."""
    tokens = code.tokens
    for k in range(code.opening, len(tokens) - 1):
        if tokens[k].text not in _LOOPS or tokens[k + 1].text != "(":
            continue
        attributes = _attributes(tokens, k)
        if "ForceUnroll" in attributes and not unrolled:
            continue
        head = closing(tokens, k + 1)
        if head + 1 >= len(tokens):
            continue
        last = closing(tokens, head + 1) if tokens[head + 1].text == "{" else end_of_statement(tokens, head + 1)
        condition, names = _condition(tokens[k + 2 : head], is_for=tokens[k].text == "for")
        words = frozenset(token.text for token in condition if token.kind == "word") - names
        declared = attributes.partition("MaxIters(")[2].partition(")")[0]
        number = declared or next((token.text for token in condition if token.kind == "number" and not words), "")
        yield _Loop(k, last, int(number) if number.isdigit() else None, declared, words)


def _attributes(tokens: Sequence[Token], index: int) -> str:
    """Return the attributes before a token, without spaces."""
    first = index
    while first > 0 and tokens[first - 1].text == "]":
        first -= 1
        while first > 0 and tokens[first].text != "[":
            first -= 1
    return "".join(token.text for token in tokens[first:index])


def _condition(head: Sequence[Token], *, is_for: bool) -> tuple[Sequence[Token], frozenset[str]]:
    """Return the condition of a loop and its counters."""
    if not is_for:
        return head, frozenset()
    parts: list[list[Token]] = [[]]
    for token in head:
        if token.text == ";":
            parts.append([])
        else:
            parts[-1].append(token)
    names = frozenset(token.text for token in parts[0] if token.kind == "word")
    return (parts[1] if len(parts) > 1 else []), names


def _depth(tokens: Sequence[Token]) -> int:
    """Return the number of open brackets behind some tokens, angle brackets included."""
    opened = sum(token.text in ("<", "(", "[") for token in tokens)
    return opened - sum(token.text in (">", ")", "]") for token in tokens)


def _is_dynamic(tokens: Sequence[Token], index: int) -> bool:
    return any(token.kind == "word" for token in tokens[index : closing(tokens, index)])
