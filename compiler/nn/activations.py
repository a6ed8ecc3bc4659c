"""Activations: functions of a float, which also take vectors and arrays of floats entry by entry."""

from __future__ import annotations

from typing import Any, Final

import slangad as sa
from slangad.compiler.lang.decorators.functions import DescribedFunction
from slangad.compiler.lang.decorators.generic import GenericFunction
from slangad.compiler.lang.errors import Argument, ArgumentError
from slangad.compiler.lang.types.arrays import ArrayValue
from slangad.compiler.nn.arguments import nearest, refuse

FLOAT_VECTORS: Final = (sa.float2, sa.float3, sa.float4)


def is_row(type_: type) -> bool:
    """Return True for vectors and arrays of floats."""
    return type_ in FLOAT_VECTORS or (issubclass(type_, ArrayValue) and type_.element is float)


def entrywise(scalar: DescribedFunction[..., Any]) -> GenericFunction:
    """Make a function of a float take vectors and arrays of floats too."""

    def over(x):
        T = x
        if T is float:
            return scalar
        if not is_row(T):
            at = Argument("x", callee=scalar.name, position=0)
            message = f"{scalar.name} takes a float, or a vector or array of floats, not {T.__name__}"
            raise ArgumentError(at, message, "convert it: float(x)")

        @sa.differentiable
        def each(x: T) -> T:
            y = sa.zeros(T)
            for i in range(len(x)):
                y[i] = scalar(x[i])
            return y

        each.name = scalar.name
        return each

    made = sa.generic(over)
    made.name = made.__name__ = scalar.name
    made.__doc__ = scalar.__doc__
    return made


@entrywise
@sa.differentiable
def relu(x: float) -> float:
    """max(x, 0)."""
    return max(x, 0.0)


@entrywise
@sa.differentiable
def leaky_relu(x: float) -> float:
    """x, or 0.01 x below zero."""
    return x if x > 0.0 else 0.01 * x


@sa.differentiable
def _sigmoid(x: float) -> float:
    """1 / (1 + exp(-x)), without overflow."""
    # each side takes the exponential that is at most 1
    if x > 0.0:
        return 1.0 / (1.0 + sa.exp(-x))
    e = sa.exp(x)
    return e / (1.0 + e)


_sigmoid.name = "sigmoid"
sigmoid = entrywise(_sigmoid)


@entrywise
@sa.differentiable
def tanh(x: float) -> float:
    """The hyperbolic tangent."""
    return sa.tanh(x)


@entrywise
@sa.differentiable
def softplus(x: float) -> float:
    """log(1 + exp(x)), without overflow."""
    if x > 0.0:
        return x + sa.log(1.0 + sa.exp(-x))
    return sa.log(1.0 + sa.exp(x))


@entrywise
@sa.differentiable
def gelu(x: float) -> float:
    """X Φ(x) in the approximation by tanh of Hendrycks and Gimpel (2016)."""
    return 0.5 * x * (1.0 + sa.tanh(0.7978845608 * (x + 0.044715 * x * x * x)))


@entrywise
@sa.differentiable
def silu(x: float) -> float:
    """X sigmoid(x)."""
    return x * _sigmoid(x)


@entrywise
@sa.differentiable
def sine(x: float) -> float:
    """sin(x)."""
    return sa.sin(x)


ACTIVATIONS: Final[dict[str, GenericFunction | None]] = {
    "none": None,
    **{a.name: a for a in (relu, leaky_relu, sigmoid, tanh, softplus, gelu, silu, sine)},
}
"""The activations by name; ``none`` is the identity."""

RECTIFIERS: Final = ("relu", "leaky_relu", "gelu", "silu")
"""Activations of which about half of the values are near 0: by default the layers before them start with He's bound."""


def activation_of(callee: str, name: str, position: int, value: object) -> Any:
    """Return the function of an activation, None for the identity; a described function is taken as it is.

    Raises:
        ArgumentError: for unknown names.
    """
    if isinstance(value, (DescribedFunction, GenericFunction)):
        return entrywise(value) if isinstance(value, DescribedFunction) else value
    if not isinstance(value, str) or value not in ACTIVATIONS:
        raise refuse(callee, name, position, f"unknown activation {value!r}", _known_activation(value))
    return ACTIVATIONS[value]


def _known_activation(value: object) -> str:
    """Return the help with the name of an activation: that of ``sa.sin`` is ``sine``."""
    if isinstance(value, str):
        return nearest(value, ACTIVATIONS)
    function = getattr(value, "__name__", "")
    word = "sine" if function == "sin" else function
    return f'write "{word}"' if word in ACTIVATIONS else "a name, or a function of a float with @sa.differentiable"
