"""The intrinsics: one table, one row per function, read by the front ends, the emitter, Python execution and the check.

``INTRINSICS`` maps names to rows. ``python_equivalents`` maps Python's own functions to names, by identity.
"""

from __future__ import annotations

import builtins
import math
from typing import Final

from slangad.compiler.lang.errors import TypeRuleError
from slangad.compiler.lang.intrinsics import arithmetic, geometry, logic, transcendental
from slangad.compiler.lang.intrinsics.model import Interval, IntrinsicRow, IntrinsicSignature, Kinks

INTRINSICS: Final[dict[str, IntrinsicRow]] = {
    row.name: row for row in (*arithmetic.ROWS, *transcendental.ROWS, *geometry.ROWS, *logic.ROWS)
}

python_equivalents: Final[dict[object, str]] = {
    builtins.max: "max",
    builtins.min: "min",
    builtins.abs: "abs",
    builtins.pow: "pow",
    builtins.round: "round_to_int",
    builtins.sum: "sum",
    builtins.any: "any",
    builtins.all: "all",
    math.fabs: "abs",
    math.floor: "floor_to_int",
    math.ceil: "ceil_to_int",
    math.trunc: "trunc_to_int",
    math.fmod: "fmod",
    math.pow: "pow",
    math.sqrt: "sqrt",
    math.exp: "exp",
    math.expm1: "expm1",
    math.log1p: "log1p",
    math.erf: "erf",
    math.hypot: "hypot",
    math.log: "log",
    math.log2: "log2",
    math.log10: "log10",
    math.sin: "sin",
    math.cos: "cos",
    math.tan: "tan",
    math.asin: "asin",
    math.acos: "acos",
    math.atan: "atan",
    math.atan2: "atan2",
    math.sinh: "sinh",
    math.cosh: "cosh",
    math.tanh: "tanh",
    math.degrees: "degrees",
    math.radians: "radians",
    math.isnan: "isnan",
    math.isinf: "isinf",
    math.isfinite: "isfinite",
}

__all__ = [
    "INTRINSICS",
    "Interval",
    "IntrinsicRow",
    "IntrinsicSignature",
    "Kinks",
    "TypeRuleError",
    "python_equivalents",
]
