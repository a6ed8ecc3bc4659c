"""Numbers, bools and lists of a description as values of constants and defaults."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

from slangad.compiler.frontends.lowering.constants import table_of
from slangad.compiler.frontends.lowering.entities import TypedValue
from slangad.compiler.frontends.reading.problems import Problems, Rejected
from slangad.compiler.frontends.yaml.nodes import Node, ScalarNode, SequenceNode
from slangad.compiler.ir import types

if TYPE_CHECKING:
    from slangad.compiler.frontends.yaml.nodes import Plain

Number = int | float | bool
_PLAIN = ("float", "int", "bool")


def constant_value(node: Node, problems: Problems) -> object | None:
    """Return a constant as a Python value: a number, a bool, or tuples of them; None after a report."""
    value = _python_value(node)
    if table_of(value) is None:
        problems.error(
            "SA061",
            node.span,
            "the entries of this list have no common type",
            help="numbers or bools, in lists of one length",
        )
        return None
    return value


def _python_value(node: Node) -> object:
    match node:
        case SequenceNode(items=items):
            return tuple(_python_value(item) for item in items)
        case ScalarNode(value=value):
            return value
        case _:
            return None


def typed_value(node: Node, type_: types.Type, problems: Problems) -> object | None:
    """Return a literal as a value of a type; None after a report."""
    try:
        scalars = tuple(_scalars(node, type_, problems))
    except Rejected:
        return None
    if isinstance(type_, types.Scalar) and type_.name in _PLAIN:
        return scalars[0]
    return TypedValue(type_, scalars)


def _scalars(node: Node, type_: types.Type, problems: Problems) -> list[Number]:
    match type_:
        case types.Scalar():
            return [_scalar(node, type_, problems)]
        case types.Vector(element, size):
            return _entries(node, element, size, type_, problems)
        case types.Matrix(element, rows, columns):
            return _entries(node, types.Vector(element, columns), rows, type_, problems)
        case types.Array(element, size):
            return _entries(node, element, size, type_, problems)
        case _:
            raise problems.error("SA061", node.span, f"a value of type {types.show(type_)} can't be written here")


def _entries(node: Node, element: types.Type, size: int, whole: types.Type, problems: Problems) -> list[Number]:
    if not isinstance(node, SequenceNode) or len(node.items) != size:
        count = f"{len(node.items)}" if isinstance(node, SequenceNode) else "no list"
        raise problems.error("SA061", node.span, f"{types.show(whole)} is a list of {size}, found {count}")
    return [scalar for item in node.items for scalar in _scalars(item, element, problems)]


def _scalar(node: Node, type_: types.Scalar, problems: Problems) -> Number:
    value: Plain = node.value if isinstance(node, ScalarNode) else None
    if type_.name == "bool" and isinstance(value, bool):
        return value
    if type_.name in types.FLOATING and isinstance(value, (int, float)) and not isinstance(value, bool):
        return float(value)
    if type_.name in ("int", "uint") and isinstance(value, int) and not isinstance(value, bool):
        low, high = (0, 2**32) if type_.name == "uint" else (-(2**31), 2**31)
        if low <= value < high:
            return value
    shown = f"'{node.text[:40]}'" if isinstance(node, ScalarNode) else "a list"
    raise problems.error("SA061", node.span, f"{shown} is no {type_.name}")


def finite(node: ScalarNode, problems: Problems) -> float | None:
    """Return a number; None for anything else, 1 after a report of one that is infinite or not a number."""
    if isinstance(node.value, bool) or not isinstance(node.value, (int, float)):
        return None
    try:
        number = float(node.value)
    except OverflowError:
        number = math.inf
    if math.isfinite(number):
        return number
    problems.error("SA061", node.span, f"'{node.text[:40]}' is not finite", help="write a number, such as 0.01")
    return 1.0


def bounds(node: Node, problems: Problems) -> tuple[float, float] | None:
    """Return ``[low, high]``; None after a report."""
    numbers = [i.value for i in node.items if isinstance(i, ScalarNode)] if isinstance(node, SequenceNode) else []
    low, high = (float(n) for n in numbers if isinstance(n, (int, float)))
    if not low <= high or not math.isfinite(high - low):
        problems.error("SA061", node.span, "a range goes from a lower to a higher finite number", help="[-1.0, 1.0]")
        return None
    return low, high
