"""The value of a scalar by YAML 1.2's core schema: ``no``, ``on`` and ``y`` are text, ``1e-3`` is a number."""

from __future__ import annotations

import math
import re
from typing import Final

Plain = str | int | float | bool | None

_NULL: Final = frozenset({"", "~", "null", "Null", "NULL"})
_BOOL: Final = {"true": True, "True": True, "TRUE": True, "false": False, "False": False, "FALSE": False}
_INT: Final = re.compile(r"[-+]?[0-9]+")
_OCTAL: Final = re.compile(r"0o[0-7]+")
_HEX: Final = re.compile(r"0x[0-9a-fA-F]+")
_FLOAT: Final = re.compile(r"[-+]?(\.[0-9]+|[0-9]+(\.[0-9]*)?)([eE][-+]?[0-9]+)?")
_INFINITY: Final = re.compile(r"([-+]?)\.(inf|Inf|INF)")
_NAN: Final = frozenset({".nan", ".NaN", ".NAN"})
_MAX_DIGITS: Final = 400
"""The most digits of an integer; longer ones are text. Python refuses to read far longer ones."""


def resolve(text: str) -> Plain:
    """Return the value of a plain scalar."""
    if text in _NULL:
        return None
    if text in _BOOL:
        return _BOOL[text]
    whole = resolve_int(text)
    number = resolve_float(text) if whole is None else whole
    return text if number is None else number


def resolve_int(text: str) -> int | None:
    """Return the integer that a text spells, None if it is none."""
    if len(text) > _MAX_DIGITS:
        return None
    if _INT.fullmatch(text):
        return int(text)
    if _OCTAL.fullmatch(text):
        return int(text, 0)
    return int(text, 0) if _HEX.fullmatch(text) else None


def resolve_float(text: str) -> float | None:
    """Return the floating-point number that a text spells, None if it is none."""
    if len(text) <= _MAX_DIGITS and _FLOAT.fullmatch(text):
        return float(text)
    infinite = _INFINITY.fullmatch(text)
    if infinite:
        return -math.inf if infinite[1] == "-" else math.inf
    return math.nan if text in _NAN else None


def resolve_as(tag: str, text: str) -> tuple[Plain, bool]:
    """Return the value of a scalar with one of YAML's own tags, and True if the text fits the tag."""
    match tag:
        case "str":
            return text, True
        case "null":
            return None, text in _NULL
        case "bool":
            return _BOOL.get(text), text in _BOOL
        case "int":
            whole = resolve_int(text)
            return whole, whole is not None
        case "float":
            number = resolve_float(text)
            return number, number is not None
        case _:
            return None, False
