"""Read the ranges that comment lines above a function declare: ``// range: m.roughness 0.1 1.0``."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Final

from slangad.compiler.frontends.reading.parameter_paths import part_type, steps_of
from slangad.compiler.ir.nodes import Range
from slangad.compiler.slang_text.ranges import range_comments

if TYPE_CHECKING:
    from collections.abc import Collection, Iterable

    from slangad.compiler.errors.spans import Span
    from slangad.compiler.frontends.reading.problems import Problems
    from slangad.compiler.ir.types import Type
    from slangad.compiler.slang_text.ranges import RangeComment
    from slangad.compiler.slang_text.tokens import LineComment

_HELP: Final = "// range: m.roughness 0.1 1.0"


def read_ranges(
    comments: Iterable[LineComment],
    file: str,
    types: dict[str, Type],
    problems: Problems,
    outer: Collection[str] = (),
) -> tuple[Range, ...]:
    """Return the ranges that comments declare, and report the wrong ones.

    Args:
        comments: The comment lines above a function.
        file: The name of the file in spans.
        types: The types of the parameters by name.
        problems: Receives what is wrong.
        outer: The globals of the file. Ranges of these are left to the check.
    """
    found = (one for one in range_comments(comments, file) if not _is_outer(one, types, outer))
    read = (_read(comment, types, problems) for comment in found)
    return tuple(range_ for range_ in read if range_ is not None)


def _is_outer(comment: RangeComment, types: dict[str, Type], outer: Collection[str]) -> bool:
    name = steps_of(comment.words[0][0])[:1] if comment.words else []
    return any(one in outer and one not in types for one in name)


def _read(comment: RangeComment, types: dict[str, Type], problems: Problems) -> Range | None:
    if len(comment.words) != 3:
        message = "a range needs a parameter, its lowest and its highest value"
        problems.error("SA085", comment.span, message, help=_HELP)
        return None
    (path, path_span), low, high = comment.words
    bounds = [_number(*word, problems) for word in (low, high)]
    if part_type(problems, path_span, path, types) is None or None in bounds:
        return None
    lowest, highest = (bound for bound in bounds if bound is not None)
    if lowest > highest or not math.isfinite(highest - lowest):
        what = "goes from its lowest to its highest value" if lowest > highest else "is not as wide as that"
        problems.error("SA085", low[1], f"a range {what}", help=_HELP)
        return None
    return Range(path, lowest, highest)


def _number(text: str, span: Span, problems: Problems) -> float | None:
    try:
        value = float(text)
    except ValueError:
        value = math.nan
    if math.isfinite(value):
        return value
    problems.error("SA085", span, f"'{text}' is not a finite number", help=_HELP)
    return None
