"""Derivatives of described functions in Python: automatic by tracing, or by a custom derivative or policy.

``backward`` and ``forward`` run ``sa.bwd_diff`` and ``sa.fwd_diff``. ``call_by_rule`` runs a call while a derivative is
being taken: a function with a custom derivative is not traced.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from types import FunctionType
from typing import Any

import numpy as np

from slangad.compiler.ir.types import Tensor, Texture, show
from slangad.compiler.lang.activation import outermost, running
from slangad.compiler.lang.decorators.external import ExternalFunction
from slangad.compiler.lang.decorators.functions import BoundMethod, DescribedFunction, describe
from slangad.compiler.lang.decorators.signature import SignatureParameter, signature_of
from slangad.compiler.lang.errors import DescriptionError
from slangad.compiler.lang.execution.memories import TensorArgument, TextureArgument, passive
from slangad.compiler.lang.execution.run import assigned, converted, invoke, run_body
from slangad.compiler.lang.types.construct import accepted
from slangad.compiler.lang.types.pairs import PairValue
from slangad.compiler.lang.types.tracing import (
    Data,
    Dual,
    Level,
    Node,
    Traced,
    bottom,
    lowered,
    new_level,
    pull,
    top_level,
    zeros_like,
)
from slangad.compiler.lang.types.tracing import converted as in_precision
from slangad.compiler.lang.types.values import convert, copy, floating_parts, joined, map_floating, type_of, zeroed

Described = DescribedFunction[..., object]
Values = Sequence[object]
Run = Callable[[Values], object]


def described_of(function: object) -> tuple[Described, tuple[object, ...]]:
    """Return the described function that users pass to ``sa.bwd_diff``, and the arguments that it already has.

    Raises:
        DescriptionError: when there is none.
    """
    if isinstance(function, ExternalFunction):
        if function.python is None:
            raise DescriptionError(f"{function.name} is written in Slang", "give sa.extern(…, python=f)")
        return described_of(function.python)
    if isinstance(function, BoundMethod):
        return function.function, (function.instance,)
    if isinstance(function, DescribedFunction):
        return function, ()
    if isinstance(function, FunctionType):
        return describe(function), ()
    raise DescriptionError(f"{function!r} is not a described function")


def backward(function: object, args: Sequence[object], kwargs: Mapping[str, object]) -> object:
    """Return the gradients of a function's differentiable parameters, a tuple if there are several."""
    described, bound = described_of(function)
    parameters = signature_of(described).parameters
    _refuse_memories("bwd_diff", described)
    named = dict(kwargs)
    arguments = (*bound, *args)
    if "d_out" not in named:
        if not arguments:
            raise TypeError(f"sa.bwd_diff({described.name}) misses d_out")
        arguments, named["d_out"] = arguments[:-1], arguments[-1]
    d_out = accepted(named.pop("d_out"), signature_of(described).result)
    host = not running()
    with outermost():
        values = converted(
            described.name, parameters, assigned(described.name, parameters, arguments, named), host=host
        )
        cotangent = convert(d_out, signature_of(described).result)
        _refuse_nested(described, values)
        gradients = vjp(lambda v: invoke(described, v), parameters, values, cotangent)
    return gradients[0] if len(gradients) == 1 else tuple(gradients)


def _refuse_memories(form: str, described: Described) -> None:
    for parameter in signature_of(described).parameters:
        if isinstance(parameter.type, (Tensor, Texture)):
            message = f"sa.{form}({described.name}): parameter {parameter.name} is a {show(parameter.type)}"
            raise DescriptionError(message, "differentiate a function of the values it reads")


def _refuse_nested(described: Described, values: Values) -> None:
    level = top_level(p for v in values for p in floating_parts(v))
    if level is not None and level.reverse:
        raise DescriptionError(
            f"sa.bwd_diff({described.name}) is itself differentiated in reverse", "use sa.fwd_diff inside"
        )


def forward(function: object, args: Sequence[object], kwargs: Mapping[str, object]) -> object:
    """Return value and tangent of a function on pairs."""
    described, bound = described_of(function)
    parameters = signature_of(described).parameters
    _refuse_memories("fwd_diff", described)
    arguments = assigned(described.name, parameters, (*bound, *args), kwargs)
    host = not running()
    with outermost():
        primals = [_primal(described, p, v) for p, v in zip(parameters, arguments, strict=True)]
        values = converted(described.name, parameters, primals, host=host)
        tangents = [
            convert(v.d, p.type) if isinstance(v, PairValue) else zeroed(value)
            for p, v, value in zip(parameters, arguments, values, strict=True)
        ]
        return PairValue(*jvp(lambda v: invoke(described, v), parameters, values, tangents))


def _primal(described: Described, parameter: SignatureParameter, value: object) -> object:
    if parameter.differentiable and not isinstance(value, PairValue):
        raise TypeError(f"parameter {parameter.name} of {described.name} takes a pair: sa.diff_pair(x, dx)")
    if not parameter.differentiable and isinstance(value, PairValue):
        raise TypeError(f"parameter {parameter.name} of {described.name} has no gradient: pass the value")
    return value.p if isinstance(value, PairValue) else value


def make_pair(value: object, tangent: object) -> PairValue:
    """Return ``sa.diff_pair(value, tangent)``."""
    primal = copy(value)
    return PairValue(primal, joined(tangent, type_of(primal)))


def cut(value: object) -> object:
    """Return ``sa.no_diff(value)``: the value without its dependencies."""
    if type(value) in (int, float):
        return value
    if isinstance(value, (TensorArgument, TextureArgument)):
        return passive(value)
    return map_floating(copy(value), bottom)


# --- automatic -------------------------------------------------------------------------------------------------------


def vjp(run: Run, parameters: Sequence[SignatureParameter], values: Values, cotangent: object) -> list[object]:
    """Return the gradient of each differentiable parameter, from a cotangent of the result."""
    with new_level(reverse=True) as level:
        starts: list[list[Node]] = []
        traced: list[object] = []
        for p, v in zip(parameters, values, strict=True):
            leaf, nodes = start(level, v) if p.differentiable else (v, [])
            traced.append(leaf)
            starts.extend([nodes] if p.differentiable else [])
        result = run(traced)
        seeds = zip(floating_parts(result), floating_parts(cotangent), strict=True)
        done = pull(((r, in_precision(g, np.float64)) for r, g in seeds), level)
    pairs = zip((v for p, v in zip(parameters, values, strict=True) if p.differentiable), starts, strict=True)
    return [with_parts(value, [done.get(n.order) for n in nodes]) for value, nodes in pairs]


def start(level: Level, value: object) -> tuple[object, list[Node]]:
    """Return a value whose differentiable parts are leaves of a tape, and the leaves."""
    nodes: list[Node] = []

    def trace(data: Data) -> Data:
        nodes.append(Node(level, data, (), lambda _: ()))
        return nodes[-1]

    return map_floating(value, trace), nodes


def with_parts(value: object, parts: Sequence[Data | None]) -> object:
    """Return a value of the same type with cotangents for its differentiable parts and zeros for the rest."""
    waiting = iter(parts)

    def part(data: Data) -> Data:
        value = next(waiting)
        return in_precision(zeros_like(data) if value is None else value, data.dtype)

    return map_floating(value, part, zeroed)


def jvp(run: Run, parameters: Sequence[SignatureParameter], values: Values, tangents: Values) -> tuple[object, object]:
    """Return the result and its tangent; tangents are values of the parameters' types."""
    with new_level(reverse=False) as level:
        arguments = [
            moved(level, v, t) if p.differentiable else v for p, v, t in zip(parameters, values, tangents, strict=True)
        ]
        result = run(arguments)
    primal = map_floating(result, lambda data: lowered(data, level))
    tangent = map_floating(result, lambda data: tangent_of(data, level), zeroed)
    return primal, tangent


def moved(level: Level, value: object, tangent: object) -> object:
    """Return a value whose differentiable parts carry a tangent."""
    waiting = iter(floating_parts(tangent))
    return map_floating(value, lambda data: Dual(level, data, in_precision(next(waiting), np.float64)))


def tangent_of(data: Data, level: Level) -> Data:
    """Return the tangent of components, in their precision."""
    direction = data.tangent if isinstance(data, Dual) and data.level is level else zeros_like(data)
    return in_precision(direction, data.dtype)


# --- by rule ---------------------------------------------------------------------------------------------------------


def call_by_rule(described: Described, values: Values) -> object:
    """Call a function while a derivative is being taken."""
    from slangad.compiler.lang.execution.rules import backward_rule, forward_rule

    memories = any(isinstance(v, (TensorArgument, TextureArgument)) for v in values)
    level = top_level(p for v in values for p in floating_parts(v))
    if level is None and not memories:
        return run_body(described, values)
    if not described.differentiable:
        return run_body(described, [cut(v) for v in values])
    if level is None or memories:
        return run_body(described, values)
    rule = backward_rule(described) if level.reverse else forward_rule(described)
    if rule is None:
        return run_body(described, values)
    parameters = signature_of(described).parameters
    primals = [map_floating(v, lambda data: lowered(data, level)) for v in values]
    if level.reverse:
        return _join_tape(level, described, values, primals, rule)
    tangents = [
        map_floating(v, lambda data: tangent_of(data, level), zeroed) if p.differentiable else v
        for p, v in zip(parameters, values, strict=True)
    ]
    result, tangent = rule(primals, tangents)
    return moved(level, result, tangent)


def _join_tape(level: Level, described: Described, values: Values, primals: Values, rule: Any) -> object:  # noqa: ANN401  (a backward rule)
    """Return the result as nodes of the tape. One group collects their cotangents and calls the rule once."""
    result = invoke(described, primals)
    parameters = signature_of(described).parameters
    inputs = [
        (part, data)
        for p, v in zip(parameters, values, strict=True)
        if p.differentiable
        for part, data in enumerate(floating_parts(v))
    ]
    parts = [data for _, data in inputs]
    parents = tuple(d for d in parts if isinstance(d, Node) and d.level is level)

    def pullback(slots: Mapping[int, Data]) -> list[Data]:
        cotangent = with_parts(result, [slots.get(i) for i in range(len(floating_parts(result)))])
        gradients = [g for gradient in rule(primals, cotangent) for g in floating_parts(gradient)]
        pairs = zip(parts, gradients, strict=True)
        return [in_precision(g, np.float64) for d, g in pairs if isinstance(d, Node) and d.level is level]

    group = Node(level, np.zeros(()), parents, pullback)
    slots = iter(range(len(floating_parts(result))))
    return map_floating(result, lambda data: _slot(level, data, group, next(slots)))


def _slot(level: Level, data: Data, group: Node, slot: int) -> Traced:
    return Node(level, data, (group,), lambda cotangent: [{slot: cotangent}])


def basis(value: object) -> Iterator[object]:
    """Yield values of the same type with a single 1 in a differentiable part, in memory order."""
    parts = floating_parts(value)
    for which, data in enumerate(parts):
        numbers = bottom(data)
        for position in np.ndindex(numbers.shape):
            one = np.zeros(numbers.shape)
            one[position] = 1.0
            yield with_parts(value, [one if i == which else None for i in range(len(parts))])


def inner(a: object, b: object) -> Any:  # noqa: ANN401  (a number or traced)
    """Return the sum of the products of two values' differentiable components."""
    total: Any = np.float64(0.0)
    for x, y in zip(floating_parts(a), floating_parts(b), strict=True):
        product = in_precision(x, np.float64) * in_precision(y, np.float64)
        total = total + _summed(product)
    return total


def _summed(data: Data) -> Data:
    from slangad.compiler.lang.types.tracing import FUNCTIONS

    while bottom(data).shape:
        data = FUNCTIONS.sum(data)
    return data


def combined(weights: Sequence[Any], values: Sequence[object], like: object) -> object:
    """Return the weighted sum of values of the type of ``like``."""
    parts: list[Any] = [zeros_like(d) for d in floating_parts(like)]
    for weight, value in zip(weights, values, strict=True):
        for i, data in enumerate(floating_parts(value)):
            term = in_precision(data, np.float64) * _spread(weight, bottom(data).shape)
            parts[i] = parts[i] + term
    return with_parts(like, parts)


def _spread(weight: Data, shape: tuple[int, ...]) -> Data:
    from slangad.compiler.lang.types.tracing import spread

    return spread(weight, shape)
