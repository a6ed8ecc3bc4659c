"""Spell intrinsics in Slang, from the table of intrinsics."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from slangad.compiler.ir.expressions import Cast, Const, Construct, Unary
from slangad.compiler.lang.intrinsics import INTRINSICS

if TYPE_CHECKING:
    from slangad.compiler.ir.expressions import Expr, Intrinsic

OWN_PREFIX: Final = "sa::"
"""The namespace of slangad's own Slang library."""

_INTERNAL: Final = {
    "at": "sa::at",
    "element": "sa::element",
    "with": "sa::with",
    "divide": "sa::div",
    "counted": "sa::counted",
}
"""Operations that only passes and the printer use."""


def spelling(call: Intrinsic) -> str:
    """Return the text before the parenthesis."""
    if call.name == "clamp" and _ordered(*call.args[1:]):
        return "clamp"
    return _INTERNAL[call.name] if call.name in _INTERNAL else INTRINSICS[call.name].slang


def is_own(call: Intrinsic) -> bool:
    """Return True if it comes from slangad's library."""
    return spelling(call).startswith(OWN_PREFIX)


def _ordered(low: Expr, high: Expr) -> bool:
    """Return True if the bounds of a clamp are numbers in order. Slang's own clamp is right for these."""
    lows, highs = _numbers(low), _numbers(high)
    return bool(lows and highs) and max(lows) <= min(highs)


def _numbers(expr: Expr) -> tuple[float, ...]:
    """Return the numbers that an expression consists of; none if they are not known."""
    match expr:
        case Const(value=value):
            return (value,)
        case Unary("-", operand):
            return tuple(-number for number in _numbers(operand))
        case Cast(operand):
            return _numbers(operand)
        case Construct(args):
            parts = [_numbers(arg) for arg in args]
            return tuple(number for part in parts for number in part) if all(parts) else ()
        case _:
            return ()
