"""Lower ``domain=`` of a pipeline: an expression of numbers, constants and ``image.shape[k]``."""

from __future__ import annotations

import ast
from typing import TYPE_CHECKING, Final, Protocol

from slangad.compiler.ir.pipelines import Computed, Extended

if TYPE_CHECKING:
    from slangad.compiler.frontends.reading.problems import Rejected
    from slangad.compiler.ir.pipelines import Size

_OPERATORS: Final[dict[type[ast.operator], str]] = {ast.Add: "+", ast.Sub: "-", ast.Mult: "*", ast.FloorDiv: "//"}
_HELP: Final = "numbers, constants, image.shape[0], and + - * // of them"


class Sizes(Protocol):
    """The operands of sizes."""

    def constant(self, node: ast.expr) -> object | None:
        """Return a number or the constant of a name."""

    def extent(self, node: ast.expr) -> tuple[str, int] | None:
        """Return the name of a value and its number of axes."""

    def refuse(self, code: str, node: ast.expr, message: str, help_: str) -> Rejected:
        """Report an error at an expression."""


def lower_domain(node: ast.expr, dims: int, names: Sizes) -> tuple[Size, ...]:
    """Return the extents of a domain.

    Raises:
        Rejected: It is none, or has other axes than the kernel.
    """
    if isinstance(node, ast.Attribute) and node.attr == "shape":
        entity = names.extent(node.value)
        if entity is not None:
            _check(node, entity[1], dims, names)
            return tuple(Extended(entity[0], axis) for axis in range(entity[1]))
    value = names.constant(node)
    if isinstance(value, tuple):
        _check(node, len(value), dims, names)
        return tuple(_whole(part, node, names) for part in value)
    nodes = node.elts if isinstance(node, ast.Tuple) else [node]
    _check(node, len(nodes), dims, names)
    return tuple(_size(part, names) for part in nodes)


def _check(node: ast.expr, count: int, dims: int, names: Sizes) -> None:
    if count != dims:
        raise names.refuse(
            "SA046",
            node,
            f"sizes in this domain: {count}, axes of the kernel: {dims}",
            "give one size for each axis of the kernel",
        )


def _size(node: ast.expr, names: Sizes) -> Size:
    match node:
        case ast.BinOp(left=left, op=op, right=right) if type(op) in _OPERATORS:
            return _folded(_OPERATORS[type(op)], _size(left, names), _size(right, names))
        case ast.Subscript(value=ast.Attribute(value=inner, attr="shape"), slice=ast.Constant(value=int() as axis)):
            entity = names.extent(inner)
            if entity is None or isinstance(axis, bool) or not 0 <= axis < entity[1]:
                raise names.refuse("SA046", node, "there is no such axis", _HELP)
            return Extended(entity[0], axis)
        case _:
            return _whole(names.constant(node), node, names)


def _whole(value: object, node: ast.expr, names: Sizes) -> int:
    if not isinstance(value, int) or isinstance(value, bool) or value < 0:
        raise names.refuse("SA046", node, "this is not a size", _HELP)
    return value


def _folded(op: str, left: Size, right: Size) -> Size:
    if not (isinstance(left, int) and isinstance(right, int)) or (op == "//" and right == 0):
        return Computed(op, left, right)
    return {"+": left + right, "-": max(left - right, 0), "*": left * right}[op] if op != "//" else left // right
