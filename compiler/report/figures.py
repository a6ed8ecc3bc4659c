"""Numbers and strings of a report as text for people: any float, any string in, one that every format can carry out."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from collections.abc import Sequence

    from slangad.compiler.report.model import Number, Value

DIGITS: Final = 6
NAMED: Final = 6
"""Names that a line lists at most."""
MOST_DIGITS: Final = 17
"""Digits that distinguish any two doubles."""


def shown(value: Number, digits: int = DIGITS) -> str:
    """Return a number with some digits; what is no number is spelled out."""
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, int):
        return str(value)
    return f"{value:.{digits}g}" if math.isfinite(value) else _named(value)


def exact(value: Number) -> str:
    """Return a number with all its digits, so that it can be put in again."""
    return repr(float(value)) if isinstance(value, float) and math.isfinite(value) else shown(value)


def apart(left: float, right: float) -> tuple[str, str]:
    """Return two numbers with enough digits to show that they differ."""
    for digits in range(DIGITS, MOST_DIGITS):
        if shown(left, digits) != shown(right, digits):
            return shown(left, digits + 1), shown(right, digits + 1)
    return shown(left), shown(right)


def with_bar(value: float, bar: float | None) -> str:
    """Return a number and its error bar, with no more digits than the bar leaves certain, and one."""
    if bar is None:
        return exact(value)
    if not (math.isfinite(value) and math.isfinite(bar)) or bar <= 0.0:
        return f"{exact(value)} ± {shown(bar, 2)}"
    certain = math.floor(math.log10(abs(value))) - math.floor(math.log10(bar)) + 2 if value else 1
    return f"{shown(value, min(max(certain, 1), MOST_DIGITS))} ± {shown(bar, 2)}"


def assigned(value: Value) -> str:
    """Return ``x = 0.25``, with all digits."""
    return f"{value.path} = {exact(value.value)}"


def equal_values(inputs: Sequence[Value]) -> str:
    """Return the first inputs with their values, those with the same value together: ``x = y = 0, z = 1``."""
    names: dict[str, list[str]] = {}
    for one in inputs[:NAMED]:
        names.setdefault(shown(one.value), []).append(one.path)
    parts = [" = ".join([*paths, value]) for value, paths in names.items()]
    return ", ".join([*parts, *(["…"] if len(inputs) > NAMED else [])])


def listed(names: Sequence[str], most: int, *, comma: str = ", ", last: str = " and ") -> str:
    """Return the first names, and how many more there are: ``a, b, c and 2 more``."""
    more = f"{last}{len(names) - most} more" if len(names) > most else ""
    return comma.join(names[:most]) + more


def counted(number: int, noun: str) -> str:
    """Return a number and its noun: ``1 sample``, ``2 samples``."""
    return f"{number} {noun}" if number == 1 else f"{number} {noun}s"


def duration(seconds: float) -> str:
    """Return seconds as people read them."""
    if not math.isfinite(seconds) or seconds < 0.0:
        return "?"
    return f"{seconds * 1000:.0f} ms" if seconds < 0.1 else f"{seconds:.1f} s"


def encodable(text: str) -> str:
    """Return the text without halves of surrogate pairs, which no encoding carries; file names may hold some."""
    return text.encode("utf-8", "replace").decode("utf-8")


def _named(value: float) -> str:
    if math.isnan(value):
        return "NaN"
    return "inf" if value > 0 else "-inf"
