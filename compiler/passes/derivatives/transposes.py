"""The transposes of operations: what the cotangent of a value adds to the cotangents of its operands.

    a * b                d_a += d * b                   d_b += d * a
    v * s                d_v += d * s                   d_s += dot(d, v)
    q = a / b            d_a += d / b                   d_b -= d / b * q
    exp(x)               d_x += d * exp(x)              from the partial derivatives in the intrinsic's row
    min(x, y)            d_x += x < y ? d : x == y ? 0.5 * d : 0.0

Operands are locals, parts of locals, or numbers.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

from slangad.compiler.ir import nodes as ir
from slangad.compiler.ir.build import call, cast, zero
from slangad.compiler.ir.types import (
    BOOL,
    FLOAT,
    Matrix,
    Type,
    Vector,
    element_of,
    is_floating,
    is_scalar,
    with_element,
)
from slangad.compiler.lang.intrinsics import INTRINSICS
from slangad.compiler.passes.derivatives.cotangents import Term, combine
from slangad.compiler.passes.derivatives.partials import MULTILINEAR, partial_derivatives
from slangad.compiler.passes.derivatives.single_assignment import component, refuse, steps_of

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    Added = Iterator[tuple[ir.Expr, Term]]
    """Operands with the terms that are added to their cotangents."""


_OF_LENGTH: Final = ("length", "distance", "normalize")
"""Intrinsics with a transpose that is shorter than that of their definition."""


def has_transpose(expr: ir.Intrinsic) -> bool:
    """Return True if there is a rule for an intrinsic; others are composed of those."""
    row = INTRINSICS.get(expr.name)
    return expr.name in (*MULTILINEAR, *_OF_LENGTH) or row is None or row.composed is None


@dataclass(frozen=True, slots=True)
class Transposes:
    """The rules.

    Attributes:
        carries: Tells which operands have a cotangent.
        value: Gives an expression a name.
        term: Gives a term a name, after the operand to whose cotangent it belongs.
    """

    carries: Callable[[ir.Expr], bool]
    value: Callable[[ir.Expr], ir.Expr]
    term: Callable[[ir.Expr, ir.Expr], ir.Expr]

    def of(self, expr: ir.Expr, d: Term) -> Added:
        """Yield the terms for the operands of an operation, given the cotangent of its value."""
        match expr:
            case ir.Var() | ir.Member() | ir.Swizzle() | ir.Index():
                yield expr, d
            case ir.Unary("-", operand):
                yield operand, Term(d.value, not d.minus)
            case ir.Binary():
                yield from self._binary(expr, d)
            case ir.Cast(operand) if is_floating(operand.type):
                yield operand, Term(cast(d.value, operand.type), d.minus)
            case ir.Construct():
                yield from self._construct(expr, d)
            case ir.Ternary(condition, then, other):
                nothing = zero(expr.type)
                yield then, Term(ir.Ternary(condition, d.value, nothing, expr.type), d.minus)
                yield other, Term(ir.Ternary(condition, nothing, d.value, expr.type), d.minus)
            case ir.Intrinsic("select", (condition, a, b)):
                nothing = zero(expr.type)
                yield a, Term(call("select", expr.type, condition, d.value, nothing), d.minus)
                yield b, Term(call("select", expr.type, condition, nothing, d.value), d.minus)
            case ir.Intrinsic():
                yield from self._intrinsic(expr, d)
            case _:
                refuse(f"it has a {type(expr).__name__}")

    # --- operators ---

    def _binary(self, expr: ir.Binary, d: Term) -> Added:
        a, b = expr.left, expr.right
        match expr.op:
            case "+":
                yield a, _fitted(d, a.type)
                yield b, _fitted(d, b.type)
            case "-":
                yield a, _fitted(d, a.type)
                yield b, _fitted(Term(d.value, not d.minus), b.type)
            case "*":
                yield a, Term(_product(d.value, b, a.type), d.minus)
                yield b, Term(_product(d.value, a, b.type), d.minus)
            case "/":
                quotient = self.term(combine("/", d.value, b), a)
                yield a, _fitted(Term(quotient, d.minus), a.type)
                if self.carries(b):
                    yield b, Term(_product(quotient, self.value(expr), b.type), not d.minus)
            case _:
                refuse(f"it has a {expr.op} that carries gradient")

    def _construct(self, expr: ir.Construct, d: Term) -> Added:
        match expr.type:
            case Vector(element) if len(expr.args) == 1 and is_scalar(expr.args[0].type):
                yield expr.args[0], _fitted(d, element)
            case Vector():
                first = 0
                for arg in expr.args:
                    size = arg.type.size if isinstance(arg.type, Vector) else 1
                    letters = "xyzw"[first : first + size]
                    yield arg, Term(ir.Swizzle(d.value, letters, arg.type) if letters else d.value, d.minus)
                    first += size
            case _:
                refuse("it makes a matrix")

    # --- intrinsics ---

    def _intrinsic(self, expr: ir.Intrinsic, d: Term) -> Added:
        if expr.name in MULTILINEAR:
            yield from self._multilinear(expr, d)
        elif expr.name in _OF_LENGTH:
            yield from self._of_length(expr, d)
        else:
            factors = partial_derivatives(expr)
            if factors is None:
                refuse(f"{expr.name} has no partial derivatives")
            for arg, factor in zip(expr.args, factors, strict=True):
                if factor is not None and self.carries(arg):
                    scaled = self._scaled(d.value, factor, d.value.type)
                    if scaled is not None:
                        yield arg, self._guarded(expr, Term(scaled.value, scaled.minus != d.minus), d.value)

    def _guarded(self, expr: ir.Intrinsic, term: Term, d: ir.Expr) -> Term:
        """Return zero for a cotangent of zero, as slangad's library does where a slope may be infinite."""
        row = INTRINSICS[expr.name]
        finite = not row.domain or not row.slang.startswith("sa::")
        if finite or term.value == d:
            return term
        is_zero = ir.Binary("==", d, zero(d.type), with_element(d.type, BOOL))
        return Term(_chosen(is_zero, zero(d.type), term.value), term.minus)

    def _scaled(self, d: ir.Expr, factor: ir.Expr, type_: Type) -> Term | None:
        """Return a cotangent times a factor, which goes to the sides of a choice of numbers; None if it is zero."""
        number = _number(factor)
        if number is not None:
            if number == 0.0:
                return None
            size = abs(number)
            scaled = d if size == 1.0 else combine("*", ir.Const(size, element_of(type_) or FLOAT), d)
            return Term(scaled, number < 0.0)
        match factor:
            case ir.Unary("-", operand):
                inner = self._scaled(d, operand, type_)
                return inner and Term(inner.value, not inner.minus)
            case ir.Ternary(condition, then, other) | ir.Intrinsic("select", (condition, then, other)) if _has_number(
                factor
            ):
                sides = [self._scaled(d, side, type_) for side in (then, other)]
                first, second = (zero(type_) if side is None else side.signed for side in sides)
                return Term(_chosen(self.value(condition), first, second))
            case _:
                return Term(combine("*", d, self.value(factor)))

    def _multilinear(self, expr: ir.Intrinsic, d: Term) -> Added:
        args = expr.args
        match expr.name, [arg.type for arg in args]:
            case "dot", _:
                yield args[0], Term(combine("*", d.value, args[1]), d.minus)
                yield args[1], Term(combine("*", d.value, args[0]), d.minus)
            case "cross", [type_, _]:
                yield args[0], Term(call("cross", type_, args[1], d.value), d.minus)
                yield args[1], Term(call("cross", type_, d.value, args[0]), d.minus)
            case "sum", [type_]:
                yield args[0], Term(ir.Construct((d.value,), type_), d.minus)
            case "transpose", [type_]:
                yield args[0], Term(call("transpose", type_, d.value), d.minus)
            case "mul", [a, b]:
                yield from self._mul(args[0], args[1], a, b, d)
            case _:
                refuse(f"{expr.name} has no transpose")

    def _mul(self, a: ir.Expr, b: ir.Expr, a_type: Type, b_type: Type, d: Term) -> Added:
        match a_type, b_type:
            case Matrix(), Vector():
                yield a, Term(_outer(d.value, b, a_type), d.minus)
                yield b, Term(call("mul", b_type, d.value, a), d.minus)
            case Vector(), Matrix():
                yield a, Term(call("mul", a_type, b, d.value), d.minus)
                yield b, Term(_outer(a, d.value, b_type), d.minus)
            case Matrix(element, rows, columns), Matrix(_, _, others):
                right = call("transpose", Matrix(element, others, columns), b)
                left = call("transpose", Matrix(element, columns, rows), a)
                yield a, Term(call("mul", a_type, d.value, right), d.minus)
                yield b, Term(call("mul", b_type, left, d.value), d.minus)
            case _:
                refuse("it multiplies other values than vectors and matrices")

    def _of_length(self, expr: ir.Intrinsic, d: Term) -> Added:
        v = expr.args[0]
        if expr.name == "distance":
            v = self.value(combine("-", *expr.args))
        if expr.name != "normalize":
            moved = self.term(combine("*", d.value, self.value(call("normalize", v.type, v))), expr.args[0])
            for arg, minus in zip(expr.args, (False, True), strict=False):
                yield arg, Term(moved, d.minus != minus)
            return
        element = element_of(v.type) or FLOAT
        n, length = self.value(expr), self.value(call("length", element, v))
        at_zero = ir.Binary("==", length, zero(element), BOOL)
        scale = ir.Ternary(at_zero, zero(element), combine("/", ir.Const(1.0, element), length), element)
        across = combine("-", d.value, combine("*", n, call("dot", element, n, d.value)))
        yield v, Term(combine("*", across, scale), d.minus)


def _fitted(d: Term, type_: Type) -> Term:
    """Return the cotangent of an operand that is spread: the sum of the components."""
    if is_scalar(type_) and not is_scalar(d.value.type):
        if not isinstance(d.value.type, Vector):
            refuse("it spreads a number over a matrix")
        return Term(call("sum", type_, d.value), d.minus)
    return d


def _product(d: ir.Expr, factor: ir.Expr, type_: Type) -> ir.Expr:
    """Return the product for an operand of a type: of a scalar, the sum of the products of components."""
    if is_scalar(type_) and isinstance(d.type, Vector):
        return call("dot", type_, d, factor)
    return combine("*", d, factor)


def _chosen(condition: ir.Expr, then: ir.Expr, other: ir.Expr) -> ir.Expr:
    if condition.type == BOOL:
        return ir.Ternary(condition, then, other, then.type)
    return call("select", then.type, condition, then, other)


def _number(expr: ir.Expr) -> float | None:
    """Return the number that an expression is in every component; None if it is another."""
    match expr:
        case ir.Const(value=value):
            return float(value)
        case ir.Construct((arg,)):
            return _number(arg)
        case ir.Unary("-", operand):
            inner = _number(operand)
            return None if inner is None else -inner
        case _:
            return None


def _has_number(factor: ir.Expr) -> bool:
    """Return True if a choice has a number on any side."""
    match factor:
        case ir.Ternary(_, then, other) | ir.Intrinsic("select", (_, then, other)):
            return any(_number(side) is not None or _has_number(side) for side in (then, other))
        case _:
            return False


def _outer(column: ir.Expr, row: ir.Expr, type_: Type) -> ir.Expr:
    """Return the matrix of products of the entries of two vectors."""
    return ir.Construct(tuple(combine("*", row, component(column, n)) for n in steps_of(column.type)), type_)
