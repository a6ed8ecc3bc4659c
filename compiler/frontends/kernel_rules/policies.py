"""The rules for gradient policies and custom derivatives, the same for every front end."""

from __future__ import annotations

from typing import TYPE_CHECKING

from slangad.compiler.frontends.reading.signatures import gradient_types
from slangad.compiler.ir.nodes import StraightThrough, Subgradient
from slangad.compiler.ir.types import FLOAT, Tensor, Texture, carries_gradient, show

if TYPE_CHECKING:
    from slangad.compiler.errors.spans import Span
    from slangad.compiler.frontends.reading.problems import Problems
    from slangad.compiler.frontends.reading.signatures import CallSignature
    from slangad.compiler.ir.nodes import Derivative


def check_policy(derivative: Derivative, signature: CallSignature, span: Span, problems: Problems) -> None:
    """Report a policy that does not fit a function."""
    active, result = gradient_types(signature.all_params), signature.result
    match derivative:
        case StraightThrough() if active != (result,):
            problems.error(
                "SA029",
                span,
                f"straight_through needs one differentiable parameter of type {show(result)}",
                help=f"'{signature.name}' has {', '.join(show(t) for t in active) or 'none'}",
            )
        case Subgradient() if active != (FLOAT,) or result != FLOAT:
            problems.error("SA029", span, "subgradient needs one float parameter and a float result")
        case _:
            pass


def check_active(signature: CallSignature, span: Span, problems: Problems, code: str = "SA029") -> bool:
    """Report a policy or custom derivative of a function without gradient; return True if it has one."""
    name, params, result = signature.name, signature.all_params, signature.result
    source = next((p for p in params if isinstance(p.type, (Tensor, Texture))), None)
    if source is not None:
        problems.error(
            "SA044",
            span,
            f"'{name}' takes a {show(source.type)}, so it can't have a custom derivative",
            help="put the differentiable part into a function of the values that are read",
        )
        return False
    if not gradient_types(params):
        problems.error(code, span, f"'{name}' has no differentiable parameter, so it has no derivative")
        return False
    if not carries_gradient(result):
        problems.error(code, span, f"'{name}' returns {show(result)}, so it has no derivative")
        return False
    return True


def check_surrogate(signature: CallSignature, other: CallSignature, span: Span, problems: Problems) -> None:
    """Report a surrogate with other types, or without a derivative."""
    if not other.differentiable:
        message = f"the surrogate '{other.name}' is not differentiable"
        problems.error("SA029", span, message, help=problems.wording.differentiable)
    same = [(p.type, p.no_diff) for p in signature.params] == [(p.type, p.no_diff) for p in other.params]
    if not same or signature.result != other.result:
        problems.error(
            "SA029",
            span,
            f"the surrogate '{other.name}' has other types than '{signature.name}'",
            help=f"both need ({', '.join(show(p.type) for p in signature.params)}) -> {show(signature.result)}",
        )


def check_custom_derivative(
    name: str, span: Span, problems: Problems, *, policy: bool, custom: bool, advice: str
) -> None:
    """Report two derivatives of a function; with ``advice``, a derivative of a function that is not differentiated."""
    if policy and custom:
        problems.error(
            "SA029", span, f"'{name}' has a derivative= policy and a custom derivative", help="keep one of them"
        )
    if (custom or policy) and advice:
        problems.error("SA029", span, f"'{name}' is not differentiated but has a derivative", help=advice)
