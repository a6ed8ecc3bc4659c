"""Build the tangent of an intrinsic, or the parts of its transpose, from the derivative in its row of the table.

The functions of a row (``partials``, ``composed``) are written for arrays. Here they get symbols, and give expressions.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import reduce
from typing import TYPE_CHECKING, Any, Final

from slangad.compiler.ir import nodes as ir
from slangad.compiler.ir import types
from slangad.compiler.ir.build import add, call, divide, multiply, number, part, subtract, zero
from slangad.compiler.lang.intrinsics import INTRINSICS

if TYPE_CHECKING:
    from collections.abc import Callable

    from slangad.compiler.lang.intrinsics.model import IntrinsicRow

    Tangent = Callable[[ir.Expr], ir.Expr | None]
    """Gives the tangent of an expression; None if it is zero."""

MULTILINEAR: Final = frozenset({"dot", "cross", "mul", "sum", "transpose"})
"""Rows that are linear in each argument: the tangent applies the row itself."""


def intrinsic_tangent(expr: ir.Intrinsic, tangent: Tangent) -> ir.Expr | None:
    """Return the tangent of a call of an intrinsic; None if it is zero."""
    row = INTRINSICS.get(expr.name)
    if expr.name == "select":
        return _selected(expr, tangent)
    if row is None or not types.carries_gradient(expr.type):
        return None
    if (nested := folded(expr)) is not expr:
        return intrinsic_tangent(nested, tangent)
    if expr.name in MULTILINEAR:
        return _multilinear(expr, tangent)
    if expr.name in _SHORT:
        return _SHORT[expr.name](expr, tangent)
    if row.composed is not None:
        return tangent(composed_value(expr))
    return _by_component(row, expr, tangent)


def partial_derivatives(expr: ir.Intrinsic) -> tuple[ir.Expr | None, ...] | None:
    """Return the partial derivative of a function by component for each argument (None is zero); None for others."""
    row = INTRINSICS.get(expr.name)
    if row is None or row.partials is None:
        return None
    factors: list[ir.Expr | None] = []
    for partial in row.partials:
        factor = None if partial is None else partial(_FUNCTIONS, *map(_Symbol, expr.args))
        factors.append(None if factor is None else _expression(factor, expr.type))
    return tuple(factors)


def composed_value(expr: ir.Intrinsic) -> ir.Expr:
    """Return a call without partial derivatives, written in the functions that its row is composed of."""
    row = INTRINSICS[expr.name]
    assert row.composed is not None  # noqa: S101  (a row has one or the other)
    return _expression(row.composed(_FUNCTIONS, *map(_Symbol, expr.args)), expr.type)


def folded(expr: ir.Intrinsic) -> ir.Intrinsic:
    """Return nested calls with two arguments each for a call with more; other calls unchanged."""
    row = INTRINSICS.get(expr.name)
    return _folded(expr) if row is not None and row.variadic and len(expr.args) > len(row.params) else expr


def _selected(expr: ir.Intrinsic, tangent: Tangent) -> ir.Expr | None:
    condition, *sides = expr.args
    moved = [tangent(side) for side in sides]
    if moved == [None, None]:
        return None
    return ir.Intrinsic("select", (condition, *(m or zero(expr.type) for m in moved)), expr.type, expr.span)


def _folded(expr: ir.Intrinsic) -> ir.Intrinsic:
    """Return nested calls with two arguments each."""
    first, *rest = expr.args
    folded = reduce(lambda a, b: ir.Intrinsic(expr.name, (a, b), expr.type, expr.span), rest, first)
    assert isinstance(folded, ir.Intrinsic)  # noqa: S101  (there are more than two arguments)
    return folded


def _multilinear(expr: ir.Intrinsic, tangent: Tangent) -> ir.Expr | None:
    terms: list[ir.Expr] = []
    for position, arg in enumerate(expr.args):
        moved = tangent(arg)
        if moved is not None:
            args = (*expr.args[:position], moved, *expr.args[position + 1 :])
            terms.append(ir.Intrinsic(expr.name, args, expr.type, expr.span))
    return _total(terms)


def _length(expr: ir.Intrinsic, tangent: Tangent) -> ir.Expr | None:
    """Return normalize(v) . dv, of a length or a distance."""
    v, moved = expr.args[0], tangent(expr.args[0])
    if expr.name == "distance":
        other = tangent(expr.args[1])
        v = subtract(v, expr.args[1])
        moved = _total([m for m in (moved, other and ir.Unary("-", other, other.type)) if m is not None])
    return None if moved is None else call("dot", expr.type, call("normalize", v.type, v), moved)


def _normalize(expr: ir.Intrinsic, tangent: Tangent) -> ir.Expr | None:
    """Return (dv - n (n . dv)) / length(v), zero for the zero vector."""
    (v,) = expr.args
    moved, element = tangent(v), types.element_of(v.type)
    if moved is None or element is None:
        return None
    length = call("length", element, v)
    at_zero = ir.Binary("==", length, zero(element), types.BOOL)
    scale = ir.Ternary(at_zero, zero(element), divide(number(1.0, element), length), element)
    return multiply(subtract(moved, multiply(expr, call("dot", element, expr, moved))), scale)


_SHORT: Final = {"length": _length, "distance": _length, "normalize": _normalize}
"""Rows with a tangent that is shorter than that of their definition."""


def _by_component(row: IntrinsicRow, expr: ir.Intrinsic, tangent: Tangent) -> ir.Expr | None:
    terms = []
    for partial, arg in zip(row.partials or (), expr.args, strict=False):
        moved = tangent(arg) if partial is not None else None
        if moved is None or partial is None:
            continue
        factor = partial(_FUNCTIONS, *map(_Symbol, expr.args))
        if isinstance(factor, (int, float)):
            factor = float(factor)
            scaled = None if factor == 0.0 else moved if factor == 1.0 else multiply(number(factor, moved.type), moved)
        else:
            scaled = multiply(_expression(factor, expr.type), moved)
        if scaled is not None:
            terms.append(scaled)
    return _total(terms)


def _total(terms: list[ir.Expr]) -> ir.Expr | None:
    return reduce(add, terms) if terms else None


def _expression(value: Any, type_: types.Type) -> ir.Expr:  # noqa: ANN401  (a symbol or a number)
    return value.expr if isinstance(value, _Symbol) else number(float(value), type_)


@dataclass(frozen=True, slots=True, eq=False)
class _Symbol:
    """An expression that takes part in Python's arithmetic as an array does."""

    expr: ir.Expr

    def _with(self, op: str, other: object, *, swapped: bool = False, result: types.Type | None = None) -> _Symbol:
        right = other.expr if isinstance(other, _Symbol) else number(float(other), self.expr.type)  # type: ignore[arg-type]  # a number
        left, right = (right, self.expr) if swapped else (self.expr, right)
        left, right = _spread(left, right.type), _spread(right, left.type)
        return _Symbol(ir.Binary(op, left, right, result or left.type))

    def _compared(self, op: str, other: object) -> _Symbol:
        return self._with(op, other, result=types.with_element(self.expr.type, types.BOOL))

    def __add__(self, other: object) -> _Symbol:
        return self._with("+", other)

    def __radd__(self, other: object) -> _Symbol:
        return self._with("+", other, swapped=True)

    def __sub__(self, other: object) -> _Symbol:
        return self._with("-", other)

    def __rsub__(self, other: object) -> _Symbol:
        return self._with("-", other, swapped=True)

    def __mul__(self, other: object) -> _Symbol:
        return self._with("*", other)

    def __rmul__(self, other: object) -> _Symbol:
        return self._with("*", other, swapped=True)

    def __truediv__(self, other: object) -> _Symbol:
        return self._with("/", other)

    def __rtruediv__(self, other: object) -> _Symbol:
        return self._with("/", other, swapped=True)

    def __neg__(self) -> _Symbol:
        return _Symbol(ir.Unary("-", self.expr, self.expr.type))

    def __lt__(self, other: object) -> _Symbol:
        return self._compared("<", other)

    def __gt__(self, other: object) -> _Symbol:
        return self._compared(">", other)

    def __le__(self, other: object) -> _Symbol:
        return self._compared("<=", other)

    def __ge__(self, other: object) -> _Symbol:
        return self._compared(">=", other)

    def __eq__(self, other: object) -> _Symbol:  # type: ignore[override]  # as arrays compare
        return self._compared("==", other)

    __hash__ = None  # type: ignore[assignment]  # as of arrays

    def __and__(self, other: _Symbol) -> _Symbol:
        return self._both("&&", other)

    def __or__(self, other: _Symbol) -> _Symbol:
        return self._both("||", other)

    def _both(self, op: str, other: _Symbol) -> _Symbol:
        if self.expr.type == types.BOOL:
            return _Symbol(ir.Binary(op, self.expr, other.expr, types.BOOL))
        parts = [
            ir.Binary(op, part(self.expr, i), part(other.expr, i), types.BOOL) for i in range(_size(self.expr.type))
        ]
        return _Symbol(ir.Construct(tuple(parts), self.expr.type))

    @property
    def shape(self) -> tuple[int, ...]:
        """The extents, as those of an array."""
        match self.expr.type:
            case types.Vector(size=size):
                return (size,)
            case types.Matrix(rows=rows, columns=columns):
                return (rows, columns)
            case _:
                return ()


def _size(type_: types.Type) -> int:
    if not isinstance(type_, types.Vector):
        raise TypeError(f"{types.show(type_)} has no components")
    return type_.size


def _spread(value: ir.Expr, type_: types.Type) -> ir.Expr:
    """Return a scalar with its value in every component of another type."""
    if types.is_scalar(value.type) and not types.is_scalar(type_):
        return ir.Construct((value,), types.with_element(type_, types.element_of(value.type) or types.FLOAT))
    return value


class _Functions:
    """The functions that the table's derivatives use, of symbols."""

    def __getattr__(self, name: str) -> Callable[..., _Symbol]:
        row = INTRINSICS[name]

        def apply(*args: object) -> _Symbol:
            type_ = next(a.expr.type for a in args if isinstance(a, _Symbol))
            given = tuple(_expression(a, type_) for a in args)
            return _Symbol(ir.Intrinsic(name, given, row.rule([a.type for a in given]).result))

        return apply

    @staticmethod
    def where(condition: _Symbol, a: object, b: object) -> _Symbol:
        """Return ``a`` where a condition holds, else ``b``."""
        boolean = condition.expr.type
        element = next((types.element_of(v.expr.type) for v in (a, b) if isinstance(v, _Symbol)), _compared(condition))
        type_ = types.with_element(boolean, element or types.FLOAT)
        then, other = _expression(a, type_), _expression(b, type_)
        if boolean == types.BOOL:
            return _Symbol(ir.Ternary(condition.expr, then, other, then.type))
        return _Symbol(ir.Intrinsic("select", (condition.expr, _spread(then, type_), _spread(other, type_)), type_))

    @staticmethod
    def take(value: _Symbol, index: int, axis: int = -1) -> _Symbol:
        """Return one component, or a row of a matrix."""
        assert axis == -1 or isinstance(value.expr.type, types.Matrix)  # noqa: S101  (as the table calls it)
        return _Symbol(part(value.expr, index))

    @staticmethod
    def stack(*parts: _Symbol) -> _Symbol:
        """Return a vector of scalars."""
        element = types.element_of(parts[0].expr.type) or types.FLOAT
        return _Symbol(ir.Construct(tuple(p.expr for p in parts), types.Vector(element, len(parts))))

    @staticmethod
    def sum(value: _Symbol) -> _Symbol:
        """Return the sum of the components."""
        element = types.element_of(value.expr.type) or types.FLOAT
        return _Symbol(ir.Intrinsic("sum", (value.expr,), element))

    @staticmethod
    def spread(value: _Symbol, like: _Symbol) -> _Symbol:
        """Return a number in every component of another value."""
        return _Symbol(_spread(value.expr, like.expr.type))


def _compared(condition: _Symbol) -> types.Scalar | None:
    """Return the scalar type that a condition compares."""
    pending = [condition.expr]
    while pending:
        expr = pending.pop()
        if isinstance(expr, ir.Binary) and expr.op not in ("&&", "||"):
            return types.element_of(expr.left.type)
        pending += [expr.left, expr.right] if isinstance(expr, ir.Binary) else getattr(expr, "args", ())
    return None


_FUNCTIONS: Final = _Functions()
