"""Rows for comparison, rounding, remainders and interpolation. Values at kinks follow Slang's conventions."""

# ruff: noqa: ARG005  (all functions of a row take the same arguments)

from __future__ import annotations

from dataclasses import replace

from slangad.compiler.lang.intrinsics.model import EVERYWHERE, Interval, Kinks
from slangad.compiler.lang.intrinsics.model import IntrinsicRow as Row
from slangad.compiler.lang.intrinsics.rules import floating, integral, number

_TIE = Kinks("kink", "x == y", lambda np, x, y: np.abs(x - y))
_INTEGER = Kinks("jump", "x is an integer", lambda np, x: np.abs(x - np.rint(x)))
_HALF = Kinks("jump", "x is an integer and a half", lambda np, x: np.abs(x - np.floor(x) - 0.5))
_MULTIPLE = Kinks("jump", "x / y is an integer", lambda np, x, y: np.abs(x / y - np.rint(x / y)) * np.abs(y))
_NOT_ZERO = Interval(0.0, low_open=True)


def _smoothstep(f, low, high, x):  # type: ignore[no-untyped-def]  # noqa: ANN001, ANN202  (numpy or traced values)
    width = f.where(low == high, 1.0, high - low)
    t = f.clamp((x - low) / width, 0.0, 1.0)
    return f.where(low == high, f.where(x > low, 1.0, 0.0), t * t * (3.0 - 2.0 * t))


def _smoothstep_value(np, low, high, x):  # type: ignore[no-untyped-def]  # noqa: ANN001, ANN202  (numpy values)
    width = np.where(low == high, 1, high - low)
    t = np.fmin(np.fmax((x - low) / width, 0), 1)
    return np.where(low == high, x > low, t * t * (3 - 2 * t)).astype(x.dtype)


COMPARISON = (
    Row(
        "min",
        ("x", "y"),
        number,
        lambda np, x, y: np.fmin(x, y),
        "min",
        "The smaller of two or more numbers; where two tie, each gets half the gradient.",
        partials=(
            lambda f, x, y: f.where(x < y, 1.0, f.where(x == y, 0.5, 0.0)),
            lambda f, x, y: f.where(y < x, 1.0, f.where(x == y, 0.5, 0.0)),
        ),
        kinks=(_TIE,),
        variadic=True,
    ),
    Row(
        "max",
        ("x", "y"),
        number,
        lambda np, x, y: np.fmax(x, y),
        "max",
        "The larger of two or more numbers; where two tie, each gets half the gradient.",
        partials=(
            lambda f, x, y: f.where(x > y, 1.0, f.where(x == y, 0.5, 0.0)),
            lambda f, x, y: f.where(y > x, 1.0, f.where(x == y, 0.5, 0.0)),
        ),
        kinks=(_TIE,),
        variadic=True,
    ),
    Row(
        "clamp",
        ("x", "low", "high"),
        number,
        lambda np, x, low, high: np.fmin(np.fmax(x, low), high),
        "sa::clamp",
        "x limited to [low, high], high if low > high; the value's argument gets the gradient, x at a tie.",
        partials=(
            lambda f, x, low, high: f.where((x >= low) & (x <= high), 1.0, 0.0),
            lambda f, x, low, high: f.where((x < low) & (low <= high), 1.0, 0.0),
            lambda f, x, low, high: f.where((x > high) | (low > high), 1.0, 0.0),
        ),
        kinks=(
            Kinks("kink", "x == low", lambda np, x, low, high: np.abs(x - low)),
            Kinks("kink", "x == high", lambda np, x, low, high: np.abs(x - high)),
            Kinks("kink", "low == high", lambda np, x, low, high: np.abs(low - high)),
        ),
    ),
    Row(
        "saturate",
        ("x",),
        floating,
        lambda np, x: np.fmin(np.fmax(x, 0), 1).astype(x.dtype),
        "saturate",
        "x limited to [0, 1].",
        partials=(lambda f, x: f.where((x >= 0.0) & (x <= 1.0), 1.0, 0.0),),
        kinks=(Kinks("kink", "x == 0 or x == 1", lambda np, x: np.minimum(np.abs(x), np.abs(x - 1))),),
    ),
    Row(
        "abs",
        ("x",),
        number,
        lambda np, x: np.abs(x),
        "abs",
        "The magnitude; the gradient at 0 is 0.",
        partials=(lambda f, x: f.where(x > 0.0, 1.0, f.where(x < 0.0, -1.0, 0.0)),),
        kinks=(Kinks("kink", "x == 0", lambda np, x: np.abs(x)),),
    ),
    Row(
        "sign",
        ("x",),
        number,
        lambda np, x: np.sign(x),
        "sa::sign",
        "-1, 0 or 1, of the type of x; the gradient is 0.",
        partials=(None,),
        kinks=(Kinks("jump", "x == 0", lambda np, x: np.abs(x)),),
    ),
    Row(
        "step",
        ("edge", "x"),
        floating,
        lambda np, edge, x: np.where(x >= edge, 1, 0).astype(x.dtype),
        "sa::step",
        "1 from edge on, 0 before; the gradient is 0.",
        partials=(None, None),
        kinks=(Kinks("jump", "x == edge", lambda np, edge, x: np.abs(x - edge)),),
        typed="(edge: _F | float, x: _F) -> _F",
    ),
)

ROUNDING = (
    Row("floor", ("x",), floating, lambda np, x: np.floor(x), "sa::floor",
       "The integer at or below x; gradient 0.",
        partials=(None,), kinks=(_INTEGER,)),
    Row("ceil", ("x",), floating, lambda np, x: np.ceil(x), "sa::ceil",
       "The integer at or above x; gradient 0.",
        partials=(None,), kinks=(_INTEGER,)),
    Row("round", ("x",), floating, lambda np, x: np.rint(x), "sa::round",
        "The nearest integer as a float, halves to even; gradient 0.", partials=(None,), kinks=(_HALF,)),
    Row("trunc", ("x",), floating, lambda np, x: np.trunc(x), "sa::trunc", "x without its fraction; gradient 0.",
        partials=(None,), kinks=(_INTEGER,)),
    Row("frac", ("x",), floating, lambda np, x: x - np.floor(x), "frac", "x - floor(x); the gradient is 1.",
        partials=(lambda f, x: 1.0,), kinks=(_INTEGER,)),
    Row("floor_to_int", ("x",), integral, lambda np, x: np.floor(x), "sa::floor", "floor as an int (math.floor).",
        partials=(None,), kinks=(_INTEGER,), cast_of="floor"),
    Row("ceil_to_int", ("x",), integral, lambda np, x: np.ceil(x), "sa::ceil", "ceil as an int (math.ceil).",
        partials=(None,), kinks=(_INTEGER,), cast_of="ceil"),
    Row("round_to_int", ("x",), integral, lambda np, x: np.rint(x), "sa::round", "round as an int (round).",
        partials=(None,), kinks=(_HALF,), cast_of="round"),
    Row("trunc_to_int", ("x",), integral, lambda np, x: np.trunc(x), "sa::trunc", "trunc as an int (math.trunc).",
        partials=(None,), kinks=(_INTEGER,), cast_of="trunc"),
)  # fmt: skip

REMAINDERS = (
    Row(
        "fmod",
        ("x", "y"),
        floating,
        lambda np, x, y: np.fmod(x, y),
        "sa::fmod",
        "The remainder of x / y with the sign of x, as in C.",
        partials=(lambda f, x, y: 1.0, lambda f, x, y: -f.trunc(x / y)),
        kinks=(_MULTIPLE,),
        domain=(EVERYWHERE, _NOT_ZERO),
    ),
    Row(
        "mod",
        ("x", "y"),
        number,
        lambda np, x, y: np.mod(x, y),
        "sa::mod",
        "x % y: the remainder with the sign of y, as in Python.",
        partials=(lambda f, x, y: 1.0, lambda f, x, y: -f.floor(x / y)),
        kinks=(_MULTIPLE,),
        domain=(EVERYWHERE, _NOT_ZERO),
    ),
    Row(
        "floor_div",
        ("x", "y"),
        number,
        lambda np, x, y: np.floor_divide(x, y),
        "sa::floor_div",
        "x // y: the quotient rounded down, as in Python; the gradient is 0.",
        partials=(None, None),
        kinks=(_MULTIPLE,),
        domain=(EVERYWHERE, _NOT_ZERO),
    ),
)

_LERP = Row(
    "lerp",
    ("a", "b", "t"),
    floating,
    lambda np, a, b, t: a + (b - a) * t,
    "lerp",
    "a at t = 0, b at t = 1, and in between in proportion.",
    partials=(lambda f, a, b, t: 1.0 - t, lambda f, a, b, t: t, lambda f, a, b, t: b - a),
)

INTERPOLATION = (
    _LERP,
    replace(_LERP, name="mix", doc="lerp under its name in GLSL."),
    Row(
        "smoothstep",
        ("low", "high", "x"),
        floating,
        _smoothstep_value,
        "sa::smoothstep",
        "0 up to low, 1 from high on, a smooth cubic in between; where those are equal a step without slope.",
        composed=_smoothstep,
        valid=lambda np, low, high, x: low < high,
        typed="(low: _F | float, high: _F | float, x: _F) -> _F",
    ),
)


ROWS = (*COMPARISON, *ROUNDING, *REMAINDERS, *INTERPOLATION)
