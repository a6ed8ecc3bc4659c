"""Derivatives that are not automatic: custom functions, and the policies of ``derivative=``.

A backward rule takes arguments and the cotangent of the result and returns a gradient per differentiable parameter. A
forward rule takes arguments and tangents and returns result and tangent. If only one of the two exists, the other
follows from it by unit vectors.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

import numpy as np

from slangad.compiler.errors.exhaustive import assert_never
from slangad.compiler.ir.types import DiffPair, Tuple, Type
from slangad.compiler.lang.decorators.policies import (
    ClipGradient,
    FiniteDifference,
    Policy,
    StraightThrough,
    Subgradient,
    Surrogate,
)
from slangad.compiler.lang.decorators.signature import signature_of
from slangad.compiler.lang.errors import DescriptionError
from slangad.compiler.lang.execution.differentiate import (
    Described,
    Values,
    basis,
    combined,
    described_of,
    inner,
    jvp,
    vjp,
    with_parts,
)
from slangad.compiler.lang.execution.run import as_result, body_of, invoke, run_body
from slangad.compiler.lang.types.construct import IN_DERIVATIVE
from slangad.compiler.lang.types.pairs import PairValue
from slangad.compiler.lang.types.tracing import FUNCTIONS, bottom
from slangad.compiler.lang.types.values import floating_parts, map_floating

if TYPE_CHECKING:
    from types import FunctionType

BackwardRule = Callable[[Values, object], list[object]]
ForwardRule = Callable[[Values, Values], tuple[object, object]]


def backward_rule(described: Described) -> BackwardRule | None:
    """Return the backward rule of a function, None if its body is traced."""
    if described.backward_function is not None:
        return _own_backward(described, described.backward_function)
    if described.policy is not None:
        return _policy_backward(described, described.policy)
    if described.forward_function is not None:
        return _from_forward(described, _own_forward(described, described.forward_function))
    return None


def forward_rule(described: Described) -> ForwardRule | None:
    """Return the forward rule of a function, None if its body is traced."""
    if described.forward_function is not None:
        return _own_forward(described, described.forward_function)
    if described.policy is not None:
        return _policy_forward(described, described.policy)
    if described.backward_function is not None:
        return _from_backward(described, _own_backward(described, described.backward_function))
    return None


# --- the user's own --------------------------------------------------------------------------------------------------


def _own_backward(described: Described, function: FunctionType) -> BackwardRule:
    signature = signature_of(described)
    types = {p.name: p.type for p in signature.parameters}
    wanted = [p.type for p in signature.differentiable]

    def rule(values: Values, d_out: object) -> list[object]:
        named = dict(zip(types, values, strict=True))
        result = _run_own(function, {**types, "d_out": signature.result}, {**named, "d_out": d_out})
        if len(wanted) == 1 and not isinstance(result, tuple):
            result = (result,)
        gradients = as_result(function.__name__, result, Tuple(tuple(wanted)))
        assert isinstance(gradients, tuple)  # noqa: S101  (converted to a tuple type)
        return list(gradients)

    return rule


def _own_forward(described: Described, function: FunctionType) -> ForwardRule:
    signature = signature_of(described)
    types: dict[str, Type] = {p.name: DiffPair(p.type) if p.differentiable else p.type for p in signature.parameters}

    def rule(values: Values, tangents: Values) -> tuple[object, object]:
        pairs = [
            PairValue(v, t) if p.differentiable else v
            for p, v, t in zip(signature.parameters, values, tangents, strict=True)
        ]
        result = _run_own(function, types, dict(zip(types, pairs, strict=True)))
        if isinstance(result, PairValue):
            result = (result.p, result.d)
        both = as_result(function.__name__, result, Tuple((signature.result, signature.result)))
        assert isinstance(both, tuple)  # noqa: S101  (converted to a tuple type)
        return both[0], both[1]

    return rule


def _run_own(function: FunctionType, types: dict[str, Type], named: dict[str, object]) -> object:
    """Run a derivative with arguments by name."""
    code = function.__code__
    names = code.co_varnames[: code.co_argcount + code.co_kwonlyargcount]
    for name in names:
        if name not in named:
            raise DescriptionError(f"{function.__name__} has a parameter {name}", f"one of {', '.join(named)}")
    token = IN_DERIVATIVE.set(True)
    try:
        return body_of(function, types)(*(named[name] for name in names))
    finally:
        IN_DERIVATIVE.reset(token)


def _from_backward(described: Described, backward: BackwardRule) -> ForwardRule:
    def rule(values: Values, tangents: Values) -> tuple[object, object]:
        result = invoke(described, values)
        units = list(basis(result))
        moved = [t for p, t in zip(signature_of(described).parameters, tangents, strict=True) if p.differentiable]
        weights = [sum(inner(g, t) for g, t in zip(backward(values, e), moved, strict=True)) for e in units]
        return result, combined(weights, units, result)

    return rule


def _from_forward(described: Described, forward: ForwardRule) -> BackwardRule:
    def slope(values: Values, which: int, unit: object, d_out: object) -> Any:  # noqa: ANN401  (a number or traced)
        tangents = [_still(v) for v in values]
        tangents[which] = unit
        return inner(forward(values, tangents)[1], d_out)

    return _by_units(described, slope)


def _still(value: object) -> object:
    return with_parts(value, [None] * len(floating_parts(value)))


def _by_units(described: Described, slope: Callable[[Values, int, object, object], Any]) -> BackwardRule:
    """Return a backward rule from slopes: the slope along each unit vector, weighted by the cotangent."""

    def rule(values: Values, d_out: object) -> list[object]:
        gradients = []
        for which, parameter in enumerate(signature_of(described).parameters):
            if parameter.differentiable:
                units = list(basis(values[which]))
                weights = [slope(values, which, unit, d_out) for unit in units]
                gradients.append(combined(weights, units, values[which]))
        return gradients

    return rule


# --- policies --------------------------------------------------------------------------------------------------------


def _policy_backward(described: Described, policy: Policy | None) -> BackwardRule:
    parameters = signature_of(described).parameters
    match policy:
        case None:
            return lambda values, d_out: vjp(lambda v: run_body(described, v), parameters, values, d_out)
        case FiniteDifference():
            return _by_units(
                described,
                lambda values, which, unit, d_out: inner(_difference(described, policy, values, which, unit), d_out),
            )
        case Surrogate(function):
            soft, _ = described_of(function)
            return lambda values, d_out: vjp(lambda v: invoke(soft, v), parameters, values, d_out)
        case StraightThrough():
            return lambda _, d_out: [d_out]
        case Subgradient():
            return _subgradient_backward(described, policy)
        case ClipGradient(of=of):
            inside = _policy_backward(described, of)
            return lambda values, d_out: [_clipped(g, policy) for g in inside(values, d_out)]
        case _:
            assert_never(policy)


def _policy_forward(described: Described, policy: Policy | None) -> ForwardRule:
    parameters = signature_of(described).parameters
    match policy:
        case None:
            return lambda values, tangents: jvp(lambda v: run_body(described, v), parameters, values, tangents)
        case FiniteDifference():
            return lambda values, tangents: _differences(described, policy, values, tangents)
        case Surrogate(function):
            soft, _ = described_of(function)
            return lambda values, tangents: (
                run_body(described, values),
                jvp(lambda v: invoke(soft, v), parameters, values, tangents)[1],
            )
        case StraightThrough():
            which = [p.differentiable for p in parameters].index(True)
            return lambda values, tangents: (run_body(described, values), tangents[which])
        case Subgradient():
            return _subgradient_forward(described, policy)
        case ClipGradient(of=of):
            return _policy_forward(described, of)
        case _:
            assert_never(policy)


def _difference(described: Described, policy: FiniteDifference, values: Values, which: int, unit: object) -> object:
    """Return the central difference of the result along one component."""
    x = values[which]
    at = abs(float(bottom(inner(x, unit))))
    step = policy.step * (max(1.0, at) if policy.relative else 1.0)
    results = []
    for sign in (1.0, -1.0):
        moved = [*values]
        moved[which] = combined([np.float64(1.0), np.float64(sign * step)], [x, unit], x)
        results.append(run_body(described, moved))
    scale = np.float64(0.5 / step)
    return combined([scale, -scale], results, results[0])


def _differences(
    described: Described, policy: FiniteDifference, values: Values, tangents: Values
) -> tuple[object, object]:
    result = run_body(described, values)
    slopes, weights = [], []
    for which, parameter in enumerate(signature_of(described).parameters):
        for unit in basis(values[which]) if parameter.differentiable else ():
            slopes.append(_difference(described, policy, values, which, unit))
            weights.append(inner(tangents[which], unit))
    return result, combined(weights, slopes, result)


def _subgradient_backward(described: Described, policy: Subgradient) -> BackwardRule:
    automatic = _policy_backward(described, None)

    def rule(values: Values, d_out: object) -> list[object]:
        if _is_at(values, policy):
            return [combined([np.float64(policy.value)], [d_out], d_out)]
        return automatic(values, d_out)

    return rule


def _subgradient_forward(described: Described, policy: Subgradient) -> ForwardRule:
    automatic = _policy_forward(described, None)

    def rule(values: Values, tangents: Values) -> tuple[object, object]:
        if _is_at(values, policy):
            result = run_body(described, values)
            return result, combined([np.float64(policy.value)], [tangents[0]], tangents[0])
        return automatic(values, tangents)

    return rule


def _is_at(values: Values, policy: Subgradient) -> bool:
    data = bottom(floating_parts(values[0])[0])
    return bool(data == data.dtype.type(policy.at))


def _clipped(gradient: object, policy: ClipGradient) -> object:
    """Return a gradient within its bounds; NaN becomes 0 and infinity becomes the bound."""
    if policy.limit is not None:
        limit = policy.limit
        return map_floating(gradient, lambda d: _finite(d, limit))
    finite = map_floating(gradient, lambda d: _finite(d, float(np.finfo(d.dtype).max)))
    size = float(np.sqrt(float(bottom(inner(finite, finite)))))
    norm = policy.norm or 0.0
    return finite if size <= norm else combined([np.float64(norm / size)], [finite], finite)


def _finite(data: Any, limit: float) -> Any:  # noqa: ANN401  (numbers or traced)
    return FUNCTIONS.where(np.isnan(bottom(data)), data.dtype.type(0.0), FUNCTIONS.clamp(data, -limit, limit))
