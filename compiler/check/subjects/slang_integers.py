"""Find values of integer parameters that samples of a function in a Slang file should try.

The search uses patterns in the text of the function, of its callees and of their custom derivatives: comparisons,
masks, remainders, clamps, and the last iterations of loops.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Final

from slangad.compiler.check import tolerances as tol
from slangad.compiler.check.model.integers import Integers
from slangad.compiler.check.subjects.integers import around, beside, solved

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping, Sequence

    from slangad.compiler.slang_text.calls import FunctionCode

_BRACES: Final = re.compile(r"[{}]")
_BOUND: Final = re.compile(r"MaxIters\(\s*(\d+)\s*\)")
_COUNTING: Final = re.compile(
    r"MaxIters\(\s*(\d+)\s*\)\s*\]\s*for\s*\([^;=]*=\s*(\d+)[uU]?\s*;"
    r"\s*(\w+)\s*(<=?)\s*([\w.]+)\s*;[^;{]*?(?:\+\+|\+= *1\b)"
)
"""Matches ``[MaxIters(8)] for (int k = 0; k < n; ++k)``."""
_CALLED: Final = r"\b(?!(?:MaxIters|for|if|while|float|double|half|int|uint)\b)\w+\s*"
_NUMBER: Final = r"(0[xX][0-9a-fA-F]+|\d+)[uU]?(?![\w.])"
_STEP: Final = rf"(?:([%&*+/-]|<<|>>){_NUMBER})?"
_CONSTANT: Final = re.compile(r"\bconst\s+(?:static\s+)?u?int\s+(\w+)\s*=\s*([^;]+);")
_MACRO: Final = re.compile(r"^\s*#\s*define\s+(\w+)\s+([^\n/]+)", re.MULTILINE)
_ENUM: Final = re.compile(r"\benum\s+(?:class\s+)?(\w+)\s*(?::\s*\w+\s*)?\{([^}]*)\}")
_SHIFTED: Final = re.compile(r"\s*(0[xX][0-9a-fA-F]+|\d+)[uU]?\s*(?:<<\s*(\d+)[uU]?)?\s*")
_ORDER: Final = r"(==|!=|<=|>=|<(?!<)|>(?!>))"


def integers_in(
    text: str, names: tuple[str, ...], codes: Sequence[FunctionCode] = (), constants: Mapping[str, int] | None = None
) -> Integers:
    """Return values worth a try for the integers of a function.

    Args:
        text: A text that begins with the function.
        names: Its integers, such as ``n`` and ``p.n``.
        codes: The function and the code that its gradient uses, as far as known.
        constants: The values of named numbers in that text (see ``numbers_named``).
    """
    constants = constants or {}
    body = _spelled_out(_first_body(text), constants)
    bounds = [int(bound) for bound in _BOUND.findall(body)]
    tried: list[tuple[str, int]] = []
    for name in names:
        word = rf"(?<![\w.]){re.escape(name)}"
        numbers = re.findall(rf"{word}\s*(?:[=!<>]=|[<>])\s*(-?\d+)[uU]?(?![\w.])", body)
        if re.search(rf"switch\s*\(\s*{word}\s*\)", body):
            numbers += re.findall(r"case\s+(-?\d+)[uU]?\s*:", body)
        tried += ((name, near) for number in numbers for near in beside(int(number)))
    further = list(_further(codes, names, constants))
    bounds += [int(bound) for code in codes if not code.derivative for bound in _BOUND.findall(_compact(code))]
    kept = [pair for pair in (*tried, *further) if abs(pair[1]) <= min([tol.INTEGER_LARGEST, *bounds])]
    return Integers(tuple(dict.fromkeys([*kept, *_last_iterations(body, names)])))


def _last_iterations(text: str, names: tuple[str, ...]) -> Iterator[tuple[str, int]]:
    """Yield the integers that end loops, with the values that give the most iterations, and one iteration less.

    Skip loops whose counter is an index or may be one in a call. The bound may be larger than the indexed value.
    """
    for bound, start, counter, order, name in _COUNTING.findall(text):
        if name not in names or re.search(rf"\[[^\]]*\b{counter}\b|{_CALLED}\([^;{{]*\b{counter}\b", text):
            continue
        last = int(start) + int(bound) - (order == "<=")
        yield from ((name, end) for end in (last, last - 1) if end >= 0)


def ended_by(text: str, names: tuple[str, ...]) -> Iterator[tuple[str, int, int]]:
    """Yield the integers that end loops, each with its largest value within the bound, and the bound."""
    for bound, start, _, order, name in _COUNTING.findall(_first_body(text)):
        if name in names:
            yield name, int(start) + int(bound) - (order == "<="), int(bound)


def _first_body(text: str) -> str:
    depth = 0
    for brace in _BRACES.finditer(text):
        depth += 1 if brace[0] == "{" else -1
        if depth == 0:
            return text[: brace.end()]
    return text


def _further(
    codes: Sequence[FunctionCode], names: tuple[str, ...], constants: Mapping[str, int]
) -> Iterator[tuple[str, int]]:
    """Yield the numbers with which code compares integers; for an index, only its valid values."""
    result: list[tuple[str, int, bool]] = []
    indices: set[str] = set()
    for code, ways in _ways(codes, names):
        text = _spelled_out(_compact(code), constants)
        copies = ((local, way) for path, way in ways.items() for local in _copies(text, path))
        for path, way in (*ways.items(), *copies):
            if _is_index(text, path):
                indices.add(way)
            result += ((way, number, exact) for number, exact in _numbers(text, path))
    for way, number, exact in result:
        if way not in indices:
            yield from ((way, near) for near in beside(number))
        elif exact:
            yield way, number


def _copies(text: str, path: str) -> list[str]:
    """Return the locals that hold an integer unchanged, or limited by a number."""
    word = rf"(?<![\w.]){re.escape(path)}(?![\w.])"
    value = rf"(?:u?int\()?(?:(?:max|min)\()?{word}(?:,{_NUMBER}\))?\)?"
    return [match[0] for match in re.findall(rf"\b(?:u?int|let|var) (\w+)={value};", text)]


def numbers_named(texts: Iterable[str]) -> dict[str, int]:
    """Return the constants, macros and enumerators of Slang texts that are integers."""
    result: dict[str, int] = {}
    for text in texts:
        for name, value in (*_CONSTANT.findall(text), *_MACRO.findall(text)):
            number = _SHIFTED.fullmatch(value.strip().strip("()"))
            if number is not None:
                result[name] = _shifted(int(number[1], 0), int(number[2] or 0))
        for enum, body in _ENUM.findall(text):
            next_one = 0
            for name, value in re.findall(rf"(\w+)\s*(?:=\s*{_NUMBER})?\s*(?:,|$)", body):
                next_one = int(value, 0) if value else next_one
                result |= {f"{enum}.{name}": next_one, f"{enum}::{name}": next_one, name: next_one}
                next_one += 1
            result[f"({enum})"] = 0
    return result


def _shifted(number: int, bits: int) -> int:
    """Return ``number << bits``, for not too many bits."""
    return number << min(bits, tol.INTEGER_MASK_BITS)


def _spelled_out(text: str, constants: Mapping[str, int]) -> str:
    """Return a text with numbers in place of their names, and without casts to integers and enums."""
    casts = [re.escape(name) for name in constants if name.startswith("(")]
    text = re.sub("|".join([r"\(u?int\)", *casts]), "", text)
    words = rf"(?<![\w.])(?:{'|'.join(map(re.escape, sorted(constants, key=len, reverse=True)))})(?!\w)"
    spelled = re.sub(words, lambda word: str(constants[word[0]]), text) if constants else text
    shifts = r"\(?\b(\d+)[uU]?\s*<<\s*(\d+)\b\)?"
    return re.sub(shifts, lambda match: str(_shifted(int(match[1]), int(match[2]))), spelled)


def _ways(codes: Sequence[FunctionCode], names: tuple[str, ...]) -> Iterator[tuple[FunctionCode, Mapping[str, str]]]:
    """Yield each function with the paths in it that hold integers of the first one."""
    known: dict[str, dict[str, str]] = {codes[0].name: {name: name for name in names}} if codes else {}
    for code in codes:
        ways = known.get(code.name, {})
        text = _compact(code)
        for other in codes:
            if other is code or other.name == code.name:
                continue
            mine = known.setdefault(other.name, {})
            if other.of == code.name:
                for path, way in ways.items():
                    for param in _passed(code.params, path, other.params):
                        mine.setdefault(param, way)
            for args in re.findall(rf"(?<![\w.]){re.escape(other.name)}\(([^;{{}}]*)", text):
                passed = [re.sub(r"^u?int\((.*)\)$", r"\1", arg) for arg in _arguments(args)]
                for path, way in ways.items():
                    for param in _passed(passed, path, other.params):
                        mine.setdefault(param, way)
        yield code, ways


def _passed(args: Sequence[str], path: str, params: Sequence[str]) -> Iterator[str]:
    """Yield the names of a path in a callee. A field of a struct may be one of a pair's primal value there."""
    for arg, param in zip(args, params, strict=False):
        if path == arg:
            yield param
        elif path.startswith(f"{arg}."):
            yield from (f"{param}{path[len(arg) :]}", f"{param}.p{path[len(arg) :]}")


def _arguments(text: str) -> list[str]:
    """Return the arguments that a text begins with, up to the closing bracket."""
    parts, depth = [""], 0
    for character in text:
        depth += (character in "([") - (character in ")]")
        if depth < 0:
            break
        if character == "," and not depth:
            parts.append("")
        else:
            parts[-1] += character
    return parts


def _compact(code: FunctionCode) -> str:
    """Return the text of a function with blanks only between words."""
    return re.sub(r"(?<!\w) | (?!\w)", "", " ".join(token.text for token in code.tokens))


def _is_index(text: str, path: str) -> bool:
    """Return True if an integer, or a counter that ends at it, is an index without arithmetic."""
    word = rf"(?<![\w.]){re.escape(path)}(?![\w.&%])"
    counters = re.findall(rf";(\w+)[<!]=?{word}", text)
    return any(re.search(rf"\[[^\]]*{one}", text) for one in (word, *(rf"\b{name}\b" for name in counters)))


def _numbers(text: str, path: str) -> Iterator[tuple[int, bool]]:
    """Yield numbers at which a text may treat an integer differently, each with True if it is compared for equality."""
    word = rf"(?<![\w.]){re.escape(path)}(?![\w.])"
    for factor, *steps, order, minus, number in re.findall(
        rf"(?:{_NUMBER}\*)?{word}{_STEP}\)*{_STEP}\)*{_ORDER}(-?){_NUMBER}", text
    ):
        numbers: tuple[int, ...] = (-int(number, 0) if minus else int(number, 0),)
        undone = [("*", factor) if factor else ("", ""), (steps[0], steps[1]), (steps[2], steps[3])]
        for operator, by in reversed(undone):
            numbers = tuple(one for value in numbers for one in solved(operator, int(by or "1", 0), value))
        plain = not any(by for _, by in undone) and order in ("==", "!=")
        yield from ((one, plain) for one in numbers)
    for minus, number, order in re.findall(rf"(?<![\w.])(-?){_NUMBER}{_ORDER}\(*{word}", text):
        yield (-int(number, 0) if minus else int(number, 0)), order in ("==", "!=")
    if re.search(rf"switch\({word}\)", text):
        yield from ((int(number), True) for number in re.findall(r"case ?(-?\d+)", text))
    for operator, number in re.findall(rf"{word}\)*([&|^%]|>>)=?~?\(?{_NUMBER}", text):
        yield from ((one, False) for one in around(operator, int(number, 0)))
    for inside in re.findall(rf"\b(?:min|max|clamp)\(([^()]*{word}[^()]*)\)", text):
        yield from ((int(number, 0), False) for number in re.findall(rf"(?<![\w.]){_NUMBER}", inside))
