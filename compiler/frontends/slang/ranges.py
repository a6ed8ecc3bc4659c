"""Where to draw samples: comment lines ``// range: m.roughness 0 1`` above a function become ranges."""

from __future__ import annotations

import math
import re
from typing import TYPE_CHECKING, Final

from slangad.compiler.errors.spans import Span
from slangad.compiler.frontends.reading.parameter_paths import part_type
from slangad.compiler.ir.nodes import Range

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from slangad.compiler.frontends.reading.problems import Problems
    from slangad.compiler.ir.types import Type
    from slangad.compiler.slang_text.tokens import Comment

_RANGE: Final = re.compile(r"//+!?\s*range\s*:")
_WORD: Final = re.compile(r"\S+")
_HELP: Final = "// range: m.roughness 0.1 1.0"


def read_ranges(
    comments: Iterable[Comment], file: str, types: dict[str, Type], problems: Problems
) -> tuple[Range, ...]:
    """The ranges that a function's comments declare; what is wrong with them is reported."""
    return tuple(found for comment in comments if (found := _read(comment, file, types, problems)) is not None)


def _read(comment: Comment, file: str, types: dict[str, Type], problems: Problems) -> Range | None:
    head = _RANGE.match(comment.text)
    if head is None:
        return None
    words = list(_words(comment, head.end(), file))
    if len(words) != 3:
        column = comment.column
        span = Span(file, comment.line, column, comment.line, column + len(comment.text))
        problems.error("SA085", span, "a range names a parameter, its lowest and its highest value", help=_HELP)
        return None
    (path, path_span), low, high = words
    bounds = [_number(*word, problems) for word in (low, high)]
    if part_type(problems, path_span, path, types) is None or None in bounds:
        return None
    lowest, highest = (bound for bound in bounds if bound is not None)
    if lowest > highest or not math.isfinite(highest - lowest):
        what = "goes from its lowest to its highest value" if lowest > highest else "is not as wide as that"
        problems.error("SA085", low[1], f"a range {what}", help=_HELP)
        return None
    return Range(path, lowest, highest)


def _words(comment: Comment, start: int, file: str) -> Iterator[tuple[str, Span]]:
    for word in _WORD.finditer(comment.text, start):
        column = comment.column + word.start()
        yield word[0], Span(file, comment.line, column, comment.line, column + len(word[0]))


def _number(text: str, span: Span, problems: Problems) -> float | None:
    try:
        value = float(text)
    except ValueError:
        value = math.nan
    if math.isfinite(value):
        return value
    problems.error("SA085", span, f"'{text}' is not a finite number", help=_HELP)
    return None
