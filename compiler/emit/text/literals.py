"""Spell numbers: the shortest decimal that reads back as the same value of its type."""

from __future__ import annotations

import math
import struct
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from slangad.compiler.ir.types import Scalar

_SUFFIX = {"half": "h", "float": "", "double": "lf", "int": "", "uint": "u"}
_FORMAT = {"half": "<e", "float": "<f", "double": "<d"}
_LARGEST = {"half": 65504.0, "float": 3.4028234663852886e38, "double": 1.7976931348623157e308}


def literal(value: float | bool, type_: Scalar) -> str:  # noqa: FBT001  (a bool is a value here)
    """Return the text of a constant: ``0.5``, ``0.5h``, ``0.5lf``, ``3``, ``3u``, ``true``, with ``-`` if negative."""
    match type_.name:
        case "bool":
            return "true" if value else "false"
        case "int":
            return _int(int(value))
        case "uint":
            return f"{int(value) & 0xFFFFFFFF}u"
        case name:
            return _floating(float(value), name)


def _int(value: int) -> str:
    return "(-2147483647 - 1)" if value == -(2**31) else str(value)


def _floating(value: float, name: str) -> str:
    value = nearest(value, name)
    if math.isnan(value):
        return f"{name}(0.0 / 0.0)"
    if math.isinf(value):
        return f"{name}({'-' if value < 0 else ''}1.0 / 0.0)"
    return _shortest(value, name) + _SUFFIX[name]


def nearest(value: float, name: str) -> float:
    """Return the value of the named type nearest to ``value``, overflowing to infinity as IEEE does."""
    if math.isnan(value) or math.isinf(value) or name == "double":
        return value
    try:
        narrowed: float = struct.unpack(_FORMAT[name], struct.pack(_FORMAT[name], value))[0]
    except OverflowError:
        return math.copysign(math.inf, value)
    return narrowed


def _shortest(value: float, name: str) -> str:
    for digits in range(1, 18):
        text = f"{value:.{digits}g}"
        if nearest(float(text), name) == value:
            return _with_point(repr(float(text)))
    return _with_point(repr(value))


def _with_point(text: str) -> str:
    """Return ``1.0e-5`` and ``1.0e20`` for Python's ``1e-05`` and ``1e+20``."""
    mantissa, mark, exponent = text.partition("e")
    if not mark:
        return text
    return f"{mantissa}{'' if '.' in mantissa else '.0'}e{int(exponent)}"
