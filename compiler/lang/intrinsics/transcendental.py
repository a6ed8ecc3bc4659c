"""Rows for roots, exponentials, logarithms, powers, trigonometry."""

# ruff: noqa: ARG005  (all functions of a row take the same arguments)

from __future__ import annotations

import math
from typing import Any

from slangad.compiler.lang.intrinsics.model import EVERYWHERE, POSITIVE, Interval, Kinks
from slangad.compiler.lang.intrinsics.model import IntrinsicRow as Row
from slangad.compiler.lang.intrinsics.rules import floating

_LN2, _LN10, _DEGREE = math.log(2.0), math.log(10.0), math.pi / 180.0
_UNIT = Interval(-1.0, 1.0, low_open=True, high_open=True)


def over_square(f: Any, a: Any, b: Any) -> Any:  # noqa: ANN401  (arrays or traced values, distinguished at run time)
    """Return a / (a * a + b * b), zero at the origin."""
    square = a * a + b * b
    return f.where(square == 0.0, 0.0, a / square)


def _erf(np: Any, x: Any) -> Any:  # noqa: ANN401  (numpy)
    """Return the error function, which numpy lacks."""
    return np.vectorize(math.erf, otypes=[x.dtype])(x)[()]


def _sigmoid(np: Any, x: Any) -> Any:  # noqa: ANN401  (numpy)
    """Return the logistic function; exp of a negative number does not overflow."""
    e = np.exp(-np.abs(x))
    return np.where(x < 0, e, 1).astype(x.dtype) / (1 + e)


ROOTS = (
    Row("sqrt", ("x",), floating, lambda np, x: np.sqrt(x), "sa::sqrt", "The square root.",
        partials=(lambda f, x: 0.5 / f.sqrt(x),), domain=(POSITIVE,)),
    Row("rsqrt", ("x",), floating, lambda np, x: 1 / np.sqrt(x), "sa::rsqrt", "1 / sqrt(x).",
        partials=(lambda f, x: -0.5 / (x * f.sqrt(x)),), domain=(POSITIVE,)),
    Row("rcp", ("x",), floating, lambda np, x: 1 / x, "sa::rcp", "1 / x.",
        partials=(lambda f, x: -1.0 / (x * x),), domain=(POSITIVE,)),
    Row("pow", ("x", "y"), floating, lambda np, x, y: np.power(x, y), "sa::pow",
        "x to the power y, for x > 0; integer constants as y are products and take any x.",
        partials=(
            lambda f, x, y: f.where(y == 0.0, 0.0, y * f.pow(x, y - 1.0)),
            lambda f, x, y: f.where(x == 0.0, 0.0, f.pow(x, y) * f.log(x)),
        ),
        domain=(POSITIVE, EVERYWHERE)),
    Row("hypot", ("x", "y"), floating, lambda np, x, y: np.hypot(x, y), "sa::hypot",
        "sqrt(x * x + y * y), of two or more numbers, without overflow; the gradient at the origin is 0.",
        partials=(
            lambda f, x, y: f.where((x == 0.0) & (y == 0.0), 0.0, x / f.hypot(x, y)),
            lambda f, x, y: f.where((x == 0.0) & (y == 0.0), 0.0, y / f.hypot(x, y)),
        ),
        kinks=(Kinks("kink", "x == 0 and y == 0", lambda np, x, y: np.hypot(x, y)),),
        variadic=True),
)  # fmt: skip

EXPONENTIALS = (
    Row("exp", ("x",), floating, lambda np, x: np.exp(x), "exp", "e to the power x.",
        partials=(lambda f, x: f.exp(x),)),
    Row("exp2", ("x",), floating, lambda np, x: np.exp2(x), "sa::exp2", "2 to the power x.",
        partials=(lambda f, x: f.exp2(x) * _LN2,)),
    Row("log", ("x",), floating, lambda np, x: np.log(x), "log", "The natural logarithm.",
        partials=(lambda f, x: 1.0 / x,), domain=(POSITIVE,)),
    Row("log2", ("x",), floating, lambda np, x: np.log2(x), "sa::log2", "The logarithm to base 2.",
        partials=(lambda f, x: 1.0 / (x * _LN2),), domain=(POSITIVE,)),
    Row("log10", ("x",), floating, lambda np, x: np.log10(x), "sa::log10", "The logarithm to base 10.",
        partials=(lambda f, x: 1.0 / (x * _LN10),), domain=(POSITIVE,)),
    Row("expm1", ("x",), floating, lambda np, x: np.expm1(x), "sa::expm1", "exp(x) - 1, accurate near 0.",
        partials=(lambda f, x: f.exp(x),)),
    Row("log1p", ("x",), floating, lambda np, x: np.log1p(x), "sa::log1p", "log(1 + x), accurate near 0.",
        partials=(lambda f, x: 1.0 / (1.0 + x),), domain=(Interval(-1.0, low_open=True),)),
    Row("erf", ("x",), floating, _erf, "sa::erf", "The error function.",
        partials=(lambda f, x: 2.0 / math.sqrt(math.pi) * f.exp(-x * x),)),
)  # fmt: skip

ACTIVATIONS = (
    Row("relu", ("x",), floating, lambda np, x: np.where(x > 0, x, 0).astype(x.dtype), "sa::relu",
        "x where it is positive, else 0; the gradient at 0 is 0.",
        partials=(lambda f, x: f.where(x > 0.0, 1.0, 0.0),),
        kinks=(Kinks("kink", "x == 0", lambda np, x: np.abs(x)),)),
    Row("sigmoid", ("x",), floating, _sigmoid, "sa::sigmoid", "1 / (1 + exp(-x)), without overflow.",
        partials=(lambda f, x: f.sigmoid(x) * f.sigmoid(-x),)),
    Row("softplus", ("x",), floating, lambda np, x: np.maximum(x, 0) + np.log1p(np.exp(-np.abs(x))), "sa::softplus",
        "log(1 + exp(x)), without overflow.", partials=(lambda f, x: f.sigmoid(x),)),
)  # fmt: skip

TRIGONOMETRY = (
    Row("sin", ("x",), floating, lambda np, x: np.sin(x), "sin", "The sine of x radians.",
        partials=(lambda f, x: f.cos(x),)),
    Row("cos", ("x",), floating, lambda np, x: np.cos(x), "cos", "The cosine of x radians.",
        partials=(lambda f, x: -f.sin(x),)),
    Row("tan", ("x",), floating, lambda np, x: np.tan(x), "tan", "The tangent of x radians.",
        partials=(lambda f, x: 1.0 / (f.cos(x) * f.cos(x)),),
        domain=(Interval(-math.pi / 2, math.pi / 2, low_open=True, high_open=True),)),
    Row("asin", ("x",), floating, lambda np, x: np.arcsin(x), "sa::asin", "The angle whose sine is x.",
        partials=(lambda f, x: 1.0 / f.sqrt((1.0 - x) * (1.0 + x)),), domain=(_UNIT,)),
    Row("acos", ("x",), floating, lambda np, x: np.arccos(x), "sa::acos", "The angle whose cosine is x.",
        partials=(lambda f, x: -1.0 / f.sqrt((1.0 - x) * (1.0 + x)),), domain=(_UNIT,)),
    Row("atan", ("x",), floating, lambda np, x: np.arctan(x), "atan", "The angle whose tangent is x.",
        partials=(lambda f, x: 1.0 / (1.0 + x * x),)),
    Row("atan2", ("y", "x"), floating, lambda np, y, x: np.arctan2(y, x), "sa::atan2",
        "The angle of the point (x, y), in (-pi, pi].",
        partials=(
            lambda f, y, x: over_square(f, x, y),
            lambda f, y, x: -over_square(f, y, x),
        ),
        kinks=(Kinks("jump", "y == 0 and x < 0", lambda np, y, x: np.where(x < 0, np.abs(y), np.inf)),),
        valid=lambda np, y, x: (x != 0) | (y != 0)),
    Row("sinh", ("x",), floating, lambda np, x: np.sinh(x), "sinh", "The hyperbolic sine.",
        partials=(lambda f, x: f.cosh(x),)),
    Row("cosh", ("x",), floating, lambda np, x: np.cosh(x), "cosh", "The hyperbolic cosine.",
        partials=(lambda f, x: f.sinh(x),)),
    Row("tanh", ("x",), floating, lambda np, x: np.tanh(x), "tanh", "The hyperbolic tangent.",
        partials=(lambda f, x: 1.0 / (f.cosh(x) * f.cosh(x)),)),
    Row("degrees", ("x",), floating, lambda np, x: np.degrees(x), "sa::degrees", "Radians to degrees.",
        partials=(lambda f, x: 1.0 / _DEGREE,)),
    Row("radians", ("x",), floating, lambda np, x: np.radians(x), "sa::radians", "Degrees to radians.",
        partials=(lambda f, x: _DEGREE,)),
)  # fmt: skip

ROWS = (*ROOTS, *EXPONENTIALS, *ACTIVATIONS, *TRIGONOMETRY)
