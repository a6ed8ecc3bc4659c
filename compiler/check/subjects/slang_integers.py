"""What a function of a Slang file does with whole numbers: its text goes in, values that samples should try come out.

Patterns in the text, of the function, of what it calls and of the derivatives that people wrote for them: what an
integer is compared with, masks, remainders, clamps, and the last turns of loops.
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
_TURNING: Final = re.compile(
    r"MaxIters\(\s*(\d+)\s*\)\s*\]\s*for\s*\([^;=]*=\s*(\d+)[uU]?\s*;"
    r"\s*(\w+)\s*(<=?)\s*([\w.]+)\s*;[^;{]*?(?:\+\+|\+= *1\b)"
)
"""``[MaxIters(8)] for (int k = 0; k < n; ++k)``."""
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
    """Where the integers of a function are worth a try.

    Args:
        text: Begins with the function.
        names: Its integers, such as ``n`` and ``p.n``.
        codes: The function and all that its gradient is made from, as far as they are found.
        constants: What names of numbers in any of that stand for (see ``numbers_named``).
    """
    constants = constants or {}
    own = _spelled_out(_first_body(text), constants)
    bounds = [int(bound) for bound in _BOUND.findall(own)]
    tried: list[tuple[str, int]] = []
    for name in names:
        word = rf"(?<![\w.]){re.escape(name)}"
        found = re.findall(rf"{word}\s*(?:[=!<>]=|[<>])\s*(-?\d+)[uU]?(?![\w.])", own)
        if re.search(rf"switch\s*\(\s*{word}\s*\)", own):
            found += re.findall(r"case\s+(-?\d+)[uU]?\s*:", own)
        tried += ((name, near) for number in found for near in beside(int(number)))
    further = list(_further(codes, names, constants))
    bounds += [int(bound) for code in codes if not code.derivative for bound in _BOUND.findall(_compact(code))]
    kept = [pair for pair in (*tried, *further) if abs(pair[1]) <= min([tol.INTEGER_LARGEST, *bounds])]
    return Integers(tuple(dict.fromkeys([*kept, *_last_turns(own, names)])))


def _last_turns(text: str, names: tuple[str, ...]) -> Iterator[tuple[str, int]]:
    """The integers that end loops of a Slang text, with those at which one turns as often as it may, and once less.

    Not where the loop's counter is an index, or may be one in a call: the bound may be larger than what it indexes.
    """
    for bound, start, counter, order, name in _TURNING.findall(text):
        if name not in names or re.search(rf"\[[^\]]*\b{counter}\b|{_CALLED}\([^;{{]*\b{counter}\b", text):
            continue
        last = int(start) + int(bound) - (order == "<=")
        yield from ((name, end) for end in (last, last - 1) if end >= 0)


def ended_by(text: str, names: tuple[str, ...]) -> Iterator[tuple[str, int, int]]:
    """The integers that end loops of a Slang text, each with the largest at which one keeps its bound, and that."""
    for bound, start, _, order, name in _TURNING.findall(_first_body(text)):
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
    """The numbers that all of a function's code tries its integers with; of indices, only those they may be."""
    found: list[tuple[str, int, bool]] = []
    indices: set[str] = set()
    for code, ways in _ways(codes, names):
        text = _spelled_out(_compact(code), constants)
        copies = ((local, way) for path, way in ways.items() for local in _copies(text, path))
        for path, way in (*ways.items(), *copies):
            if _is_index(text, path):
                indices.add(way)
            found += ((way, number, exact) for number, exact in _numbers(text, path))
    for way, number, exact in found:
        if way not in indices:
            yield from ((way, near) for near in beside(number))
        elif exact:
            yield way, number


def _copies(text: str, path: str) -> list[str]:
    """Locals that are an integer as it was, or no less or more than a number."""
    word = rf"(?<![\w.]){re.escape(path)}(?![\w.])"
    value = rf"(?:u?int\()?(?:(?:max|min)\()?{word}(?:,{_NUMBER}\))?\)?"
    return [found[0] for found in re.findall(rf"\b(?:u?int|let|var) (\w+)={value};", text)]


def numbers_named(texts: Iterable[str]) -> dict[str, int]:
    """Constants, macros and enumerators of Slang texts that are whole numbers."""
    found: dict[str, int] = {}
    for text in texts:
        for name, value in (*_CONSTANT.findall(text), *_MACRO.findall(text)):
            number = _SHIFTED.fullmatch(value.strip().strip("()"))
            if number is not None:
                found[name] = _shifted(int(number[1], 0), int(number[2] or 0))
        for enum, body in _ENUM.findall(text):
            next_one = 0
            for name, value in re.findall(rf"(\w+)\s*(?:=\s*{_NUMBER})?\s*(?:,|$)", body):
                next_one = int(value, 0) if value else next_one
                found |= {f"{enum}.{name}": next_one, f"{enum}::{name}": next_one, name: next_one}
                next_one += 1
            found[f"({enum})"] = 0
    return found


def _shifted(number: int, bits: int) -> int:
    """Return ``number << bits``, for not too many bits."""
    return number << min(bits, tol.INTEGER_MASK_BITS)


def _spelled_out(text: str, constants: Mapping[str, int]) -> str:
    """A text with numbers in the place of their names, and without casts to integers and enums."""
    casts = [re.escape(name) for name in constants if name.startswith("(")]
    text = re.sub("|".join([r"\(u?int\)", *casts]), "", text)
    words = rf"(?<![\w.])(?:{'|'.join(map(re.escape, sorted(constants, key=len, reverse=True)))})(?!\w)"
    spelled = re.sub(words, lambda word: str(constants[word[0]]), text) if constants else text
    shifts = r"\(?\b(\d+)[uU]?\s*<<\s*(\d+)\b\)?"
    return re.sub(shifts, lambda found: str(_shifted(int(found[1]), int(found[2]))), spelled)


def _ways(codes: Sequence[FunctionCode], names: tuple[str, ...]) -> Iterator[tuple[FunctionCode, Mapping[str, str]]]:
    """Each code with the paths in it that stand for integers of the first one."""
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
    """What a path is called where it is handed on: a field of a struct may be that of a pair's value there."""
    for arg, param in zip(args, params, strict=False):
        if path == arg:
            yield param
        elif path.startswith(f"{arg}."):
            yield from (f"{param}{path[len(arg) :]}", f"{param}.p{path[len(arg) :]}")


def _arguments(text: str) -> list[str]:
    """The arguments that a text begins with, up to the bracket that closes them."""
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
    """The text of a function without blanks but those between words."""
    return re.sub(r"(?<!\w) | (?!\w)", "", " ".join(token.text for token in code.tokens))


def _is_index(text: str, path: str) -> bool:
    """Whether an integer, or a counter that ends at it, is an index as it is."""
    word = rf"(?<![\w.]){re.escape(path)}(?![\w.&%])"
    counters = re.findall(rf";(\w+)[<!]=?{word}", text)
    return any(re.search(rf"\[[^\]]*{one}", text) for one in (word, *(rf"\b{name}\b" for name in counters)))


def _numbers(text: str, path: str) -> Iterator[tuple[int, bool]]:
    """Numbers at which a text may do something else with an integer; whether it is compared with just that one."""
    word = rf"(?<![\w.]){re.escape(path)}(?![\w.])"
    for factor, *steps, order, minus, number in re.findall(
        rf"(?:{_NUMBER}\*)?{word}{_STEP}\)*{_STEP}\)*{_ORDER}(-?){_NUMBER}", text
    ):
        found: tuple[int, ...] = (-int(number, 0) if minus else int(number, 0),)
        undone = [("*", factor) if factor else ("", ""), (steps[0], steps[1]), (steps[2], steps[3])]
        for operator, by in reversed(undone):
            found = tuple(one for value in found for one in solved(operator, int(by or "1", 0), value))
        plain = not any(by for _, by in undone) and order in ("==", "!=")
        yield from ((one, plain) for one in found)
    for minus, number, order in re.findall(rf"(?<![\w.])(-?){_NUMBER}{_ORDER}\(*{word}", text):
        yield (-int(number, 0) if minus else int(number, 0)), order in ("==", "!=")
    if re.search(rf"switch\({word}\)", text):
        yield from ((int(number), True) for number in re.findall(r"case ?(-?\d+)", text))
    for operator, number in re.findall(rf"{word}\)*([&|^%]|>>)=?~?\(?{_NUMBER}", text):
        yield from ((one, False) for one in around(operator, int(number, 0)))
    for inside in re.findall(rf"\b(?:min|max|clamp)\(([^()]*{word}[^()]*)\)", text):
        yield from ((int(number, 0), False) for number in re.findall(rf"(?<![\w.]){_NUMBER}", inside))
