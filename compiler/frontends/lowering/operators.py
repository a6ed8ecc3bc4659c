"""Operators: IR nodes with Python's meaning."""

from __future__ import annotations

import ast
import math
import operator
from dataclasses import replace
from typing import TYPE_CHECKING, Final

from slangad.compiler.frontends.lowering.conversions import coerce, meet, spread, strong
from slangad.compiler.frontends.lowering.formulas import formula_of, negated_formula
from slangad.compiler.frontends.lowering.intrinsics import call_intrinsic
from slangad.compiler.frontends.lowering.powers import power_function
from slangad.compiler.frontends.reading.problems import Rejected
from slangad.compiler.ir import nodes as ir
from slangad.compiler.ir import types
from slangad.compiler.ir.build import zero

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from slangad.compiler.frontends.lowering.context import Context

ARITHMETIC: Final[dict[type[ast.operator], str]] = {
    ast.Add: "+", ast.Sub: "-", ast.Mult: "*", ast.Div: "/", ast.FloorDiv: "//", ast.Mod: "%", ast.Pow: "**",
    ast.MatMult: "@",
}  # fmt: skip
BITS: Final[dict[type[ast.operator], str]] = {
    ast.BitAnd: "&", ast.BitOr: "|", ast.BitXor: "^", ast.LShift: "<<", ast.RShift: ">>",
}  # fmt: skip
COMPARISONS: Final[dict[type[ast.cmpop], str]] = {
    ast.Eq: "==", ast.NotEq: "!=", ast.Lt: "<", ast.LtE: "<=", ast.Gt: ">", ast.GtE: ">=",
}  # fmt: skip
Number = int | float
_OTHER_BITS: Final = {
    **dict.fromkeys((("&", True), ("|", True), ("^", True)), "for bools write 'and', 'or', '!='"),
    ("^", False): "the power is x ** y",
}
"""What to write for an operator of bits, by whether an operand is a bool."""
_FOLD: Final[dict[str, Callable[[Number, Number], Number]]] = {
    "+": operator.add, "-": operator.sub, "*": operator.mul, "/": operator.truediv, "//": operator.floordiv,
    "%": operator.mod, "**": operator.pow,
}  # fmt: skip
_FOLD_BITS: Final[dict[str, Callable[[int, int], int]]] = {
    "&": operator.and_, "|": operator.or_, "^": operator.xor, "<<": operator.lshift, ">>": operator.rshift,
}  # fmt: skip
_FOLD_COMPARE: Final[dict[str, Callable[[Number, Number], bool]]] = {
    "==": operator.eq, "!=": operator.ne, "<": operator.lt, "<=": operator.le, ">": operator.gt, ">=": operator.ge,
}  # fmt: skip
MAX_POWER: Final = 64
MAX_BITS: Final = 1100
"""The most bits of an integer constant, more than the largest double has. A larger limit costs memory when loading."""


def binary(ctx: Context, node: ast.BinOp) -> ir.Expr:
    """Lower ``left op right``."""
    left, right = ctx.exprs([node.left, node.right])
    return apply(ctx, node, node.op, left, right, node.right)


def apply(
    ctx: Context, node: ast.AST, op: ast.operator, left: ir.Expr, right: ir.Expr, right_node: ast.expr
) -> ir.Expr:
    """Return an operator of lowered operands, also for ``+=``."""
    if type(op) in BITS:
        return _bits(ctx, node, BITS[type(op)], left, right)
    symbol = ARITHMETIC[type(op)]
    if symbol == "@":
        return call_intrinsic(ctx, "mul", [left, right], ctx.span(node), [ctx.span(node)] * 2)
    if symbol == "**":
        return power(ctx, node, left, right, right_node)
    _refuse_bools(ctx, node, symbol, left, right)
    if (
        isinstance(left, ir.Const)
        and isinstance(right, ir.Const)
        and isinstance(left.type, types.Weak)
        and isinstance(right.type, types.Weak)
    ):
        return _fold(ctx, node, symbol, left, right)
    met_left, met_right, type_ = meet(ctx, left, right, ctx.span(node), f"'{symbol}'")
    if symbol == "/" and (types.is_integral(type_) or type_ == types.WEAK_INT):
        type_ = types.WEAK_FLOAT if isinstance(type_, types.Weak) else types.with_element(type_, types.FLOAT)
        met_left, met_right = spread(ctx, left, type_), spread(ctx, right, type_)
    return _arithmetic(ctx, node, symbol, met_left, met_right, type_)


def _arithmetic(ctx: Context, node: ast.AST, symbol: str, left: ir.Expr, right: ir.Expr, type_: types.Type) -> ir.Expr:
    span = ctx.span(node)
    if symbol in ("//", "%"):
        if types.is_integral(type_) and isinstance(right, ir.Const) and right.value == 0:
            raise _division_by_zero(ctx, node)
        left, right = strong(ctx, left), strong(ctx, right)
        name = "floor_div" if symbol == "//" else "mod"
        return call_intrinsic(ctx, name, [left, right], span, [span, span])
    return ir.Binary(symbol, left, right, type_, span)


def negative(expr: ir.Expr) -> ir.Expr:
    """Return the negative of a number, vector or matrix; that of a uint wraps around."""
    if types.element_of(expr.type) == types.UINT:
        return ir.Binary("-", zero(expr.type), expr, expr.type, expr.span)
    if isinstance(expr, ir.Const):
        return replace(expr, value=-expr.value, formula=negated_formula(expr))
    return ir.Unary("-", expr, expr.type, expr.span)


def _refuse_bools(ctx: Context, node: ast.AST, symbol: str, *operands: ir.Expr) -> None:
    for operand in operands:
        if types.element_of(operand.type) == types.BOOL:
            raise ctx.error(
                "SA013",
                ctx.span(node),
                f"'{symbol}' does not take a bool",
                label=types.show(operand.type),
                help="convert the bool to a number with int(…) or float(…)",
            )
        if types.element_of(operand.type) is None:
            raise ctx.error(
                "SA013",
                ctx.span(node),
                f"'{symbol}' does not take {types.show(operand.type)}",
                label=types.show(operand.type),
                help=_combining(operand.type),
            )


def _combining(type_: types.Type) -> str:
    match type_:
        case types.DiffPair():
            return "combine its .p and .d"
        case types.Struct():
            return "write a method or a function that combines the fields"
        case _:
            return "combine the entries"


def _fold(ctx: Context, node: ast.AST, symbol: str, left: ir.Const, right: ir.Const) -> ir.Const:
    """Return the value of arithmetic on two literals, as in Python."""
    _refuse_huge(ctx, node, symbol, left.value, right.value)
    try:
        value = _FOLD[symbol](left.value, right.value)
    except ZeroDivisionError:
        if symbol == "/":
            value = math.copysign(math.inf, left.value) if left.value else math.nan
        else:
            raise _division_by_zero(ctx, node) from None
    except OverflowError:
        value = math.inf
    if isinstance(value, complex):
        raise ctx.error("SA012", ctx.span(node), "a negative number to a fractional power is not real")
    if value != value:  # noqa: PLR0124  (true for nan; there is one nan here)
        value = math.nan
    type_ = types.WEAK_FLOAT if isinstance(value, float) else types.WEAK_INT
    return ir.Const(value, type_, ctx.span(node), formula_of(node, symbol, left, right, value))


def _refuse_huge(ctx: Context, node: ast.AST, symbol: str, left: Number, right: Number) -> None:
    """Report integers that no type holds before they are computed, since they could take all memory."""
    if not (isinstance(left, int) and isinstance(right, int)) or symbol not in ("*", "**", "<<"):
        return
    if symbol == "*":
        bits = left.bit_length() + right.bit_length()
    else:
        times = min(max(right, 0), MAX_BITS + 1)
        bits = left.bit_length() + times if symbol == "<<" else (left.bit_length() - 1) * times
    if bits > MAX_BITS:
        raise ctx.error("SA013", ctx.span(node), "this number is too large for any type")


def _division_by_zero(ctx: Context, node: ast.AST) -> Rejected:
    return ctx.error("SA013", ctx.span(node), "division by zero", help="the divisor is 0 when the file is loaded")


def _bits(ctx: Context, node: ast.AST, symbol: str, left: ir.Expr, right: ir.Expr) -> ir.Expr:
    span = ctx.span(node)
    for operand in (left, right):
        if not (types.is_integral(operand.type) or operand.type == types.WEAK_INT):
            raise ctx.error(
                "SA013",
                span,
                f"'{symbol}' takes ints and uints, not {types.show(operand.type)}",
                label=types.show(operand.type),
                help=_OTHER_BITS.get((symbol, types.element_of(operand.type) == types.BOOL), ""),
            )
    if (
        isinstance(left, ir.Const)
        and isinstance(right, ir.Const)
        and isinstance(left.type, types.Weak)
        and isinstance(right.type, types.Weak)
    ):
        if symbol in ("<<", ">>") and right.value < 0:
            raise ctx.error("SA013", span, "negative shift count")
        _refuse_huge(ctx, node, symbol, left.value, right.value)
        value = _FOLD_BITS[symbol](int(left.value), int(right.value))
        return ir.Const(value, types.WEAK_INT, span, formula_of(node, symbol, left, right, value))
    left, right, type_ = meet(ctx, left, right, span, f"'{symbol}'")
    if symbol in ("<<", ">>") and isinstance(right, ir.Const) and not 0 <= right.value < 32:
        raise ctx.error("SA013", right.span, f"a shift by {right.value} is outside 0 to 31")
    return ir.Binary(symbol, left, right, type_, span)


def power(ctx: Context, node: ast.AST, base: ir.Expr, exponent: ir.Expr, exponent_node: ast.expr) -> ir.Expr:
    """Lower ``base ** exponent``: a product for integer constants, else ``pow`` (for a positive base)."""
    span = ctx.span(node)
    _refuse_bools(ctx, node, "**", base, exponent)
    if isinstance(exponent, ir.Const) and exponent.type == types.WEAK_INT:
        if isinstance(base, ir.Const) and isinstance(base.type, types.Weak):
            return _fold(ctx, node, "**", base, exponent)
        return integer_power(ctx, node, strong(ctx, base), int(exponent.value), exponent_node)
    if types.is_integral(exponent.type) or exponent.type == types.WEAK_INT:
        constant = _floating_constant(ctx, base)
        if constant is not None and constant > 0.0 and types.element_of(exponent.type) == types.INT:
            name, args = ("exp2", [exponent]) if constant == 2.0 else ("pow", [base, exponent])
            return call_intrinsic(ctx, name, args, span, [span, ctx.span(exponent_node)][-len(args) :])
        raise ctx.error(
            "SA012",
            ctx.span(exponent_node),
            "the exponent must be a constant or floating-point",
            label="not a constant",
            help="multiply in a loop, or write float(…) around the exponent if the base is positive",
        )
    if (
        isinstance(base, ir.Const)
        and isinstance(exponent, ir.Const)
        and isinstance(base.type, types.Weak)
        and isinstance(exponent.type, types.Weak)
    ):
        return _fold(ctx, node, "**", base, exponent)
    if types.is_integral(base.type):
        base = spread(ctx, base, types.with_element(base.type, types.FLOAT))
    whole = _whole_number(ctx, exponent)
    if whole is not None:
        return integer_power(ctx, node, strong(ctx, base), whole, exponent_node)
    return call_intrinsic(ctx, "pow", [base, exponent], span, [span, ctx.span(exponent_node)])


def _floating_constant(ctx: Context, base: ir.Expr) -> float | None:
    """Return the value of a floating constant."""
    if base.type != types.WEAK_FLOAT or not isinstance(base, (ir.Const, ir.ConstantRef)):
        return None
    return float(base.value) if isinstance(base, ir.Const) else ctx.constants.weak_value(base.key)


def _whole_number(ctx: Context, exponent: ir.Expr) -> int | None:
    """Return the value of a floating constant that is an integer small enough for a product."""
    value = _floating_constant(ctx, exponent)
    return int(value) if value is not None and value.is_integer() and abs(value) <= MAX_POWER else None


def integer_power(ctx: Context, node: ast.AST, base: ir.Expr, exponent: int, exponent_node: ast.expr) -> ir.Expr:
    """Return a product of ``|exponent|`` factors, its reciprocal for negative exponents."""
    span = ctx.span(node)
    if abs(exponent) > MAX_POWER:
        raise ctx.error(
            "SA012",
            ctx.span(exponent_node),
            f"a constant exponent may be at most {MAX_POWER}",
            help="write float(…) around it if the base is positive",
        )
    if isinstance(base.type, types.Matrix):
        raise ctx.error("SA013", span, "'**' does not take a matrix", help="write m * m per entry or m @ m")
    if exponent < 0 and types.is_integral(base.type):
        base = spread(ctx, base, types.with_element(base.type, types.FLOAT))
    type_ = base.type
    one = spread(ctx, ir.Const(1, types.WEAK_INT, span), type_)
    if exponent == 0:
        return one
    product = _product(ctx, base, abs(exponent))
    return ir.Binary("/", one, product, type_, span) if exponent < 0 else product


def _is_simple(expr: ir.Expr) -> bool:
    while isinstance(expr, (ir.Member, ir.Swizzle)):
        expr = expr.value
    return isinstance(expr, (ir.Var, ir.ConstantRef, ir.Const))


def _product(ctx: Context, base: ir.Expr, count: int) -> ir.Expr:
    if count == 1:
        return base
    if _is_simple(base) and count <= 4:
        product: ir.Expr = base
        for _ in range(count - 1):
            product = ir.Binary("*", product, base, base.type, base.span)
        return product
    function = power_function(base.type, count)
    ctx.constants.powers[function.key] = function
    return ir.Call(function.key, (base,), base.type, base.span)


def unary(ctx: Context, node: ast.UnaryOp) -> ir.Expr:
    """Lower ``-x``, ``+x``, ``not x``, ``~x``."""
    span = ctx.span(node)
    operand = ctx.expr(node.operand)
    match node.op:
        case ast.Not():
            operand = condition(ctx, operand, node.operand)
            if isinstance(operand, ir.Const):
                return ir.Const(not operand.value, types.BOOL, span)
            return ir.Unary("!", operand, types.BOOL, span)
        case ast.Invert():
            if not (types.is_integral(operand.type) or operand.type == types.WEAK_INT):
                raise ctx.error("SA013", span, f"'~' takes ints and uints, not {types.show(operand.type)}")
            operand = strong(ctx, operand)
            return ir.Unary("~", operand, operand.type, span)
        case ast.UAdd() | ast.USub():
            symbol = "-" if isinstance(node.op, ast.USub) else "+"
            _refuse_bools(ctx, node, symbol, operand)
            if symbol == "+":
                return operand
            if isinstance(operand, ir.Const) and isinstance(operand.type, types.Weak):
                return ir.Const(-operand.value, operand.type, span, negated_formula(operand, node))
            return ir.Unary("-", operand, operand.type, span)
        case _:
            raise ctx.error("SA004", span, "this operator is not supported")


def condition(ctx: Context, expr: ir.Expr, node: ast.expr) -> ir.Expr:
    """Check that an expression is a scalar bool.

    Raises:
        Rejected: when it is anything else.
    """
    if expr.type == types.BOOL:
        return expr
    span = ctx.span(node)
    if types.element_of(expr.type) == types.BOOL:
        raise ctx.error(
            "SA024",
            span,
            f"a condition must be one bool, not {types.show(expr.type)}",
            label=types.show(expr.type),
            help="wrap it in any(…) or all(…)",
        )
    raise ctx.error(
        "SA024",
        span,
        f"a condition must be a bool, not {types.show(types.strengthen(expr.type))}",
        label=types.show(types.strengthen(expr.type)),
        help="compare it, for example x != 0",
    )


def conditions(ctx: Context, nodes: Sequence[ast.expr]) -> list[ir.Expr]:
    """Lower several expressions to scalar bools; report the errors of all before raising."""
    done: list[ir.Expr] = []
    failed: Rejected | None = None
    for node in nodes:
        try:
            done.append(condition(ctx, ctx.expr(node), node))
        except Rejected as rejected:  # noqa: PERF203  (one wrong operand must not hide another)
            failed = rejected
    if failed is not None:
        raise failed
    return done


def boolean(ctx: Context, node: ast.BoolOp) -> ir.Expr:
    """Lower ``a and b``, ``a or b``: short-circuit on bools."""
    symbol = "&&" if isinstance(node.op, ast.And) else "||"
    parts = conditions(ctx, node.values)
    if all(isinstance(p, ir.Const) for p in parts):
        known = [bool(p.value) for p in parts if isinstance(p, ir.Const)]
        return ir.Const(all(known) if symbol == "&&" else any(known), types.BOOL, ctx.span(node))
    result = parts[0]
    for part in parts[1:]:
        result = ir.Binary(symbol, result, part, types.BOOL, ctx.span(node))
    return result


def compare(ctx: Context, node: ast.Compare) -> ir.Expr:
    """Lower ``a < b``, and chains, which are the conjunction of their comparisons."""
    nodes = [node.left, *node.comparators]
    operands = ctx.exprs(nodes)
    links = [_link(ctx, node, op, operands[i], operands[i + 1], nodes[i + 1]) for i, op in enumerate(node.ops)]
    result = links[0]
    for link, comparator in zip(links[1:], node.comparators[1:], strict=True):
        result = ir.Binary(
            "&&", condition(ctx, result, node.left), condition(ctx, link, comparator), types.BOOL, ctx.span(node)
        )
    return result


def _link(
    ctx: Context, node: ast.Compare, op: ast.cmpop, left: ir.Expr, right: ir.Expr, right_node: ast.expr
) -> ir.Expr:
    span = ctx.span(node)
    symbol = COMPARISONS[type(op)]
    for operand in (left, right):
        if types.element_of(operand.type) is None or isinstance(operand.type, types.Matrix):
            raise ctx.error(
                "SA013",
                span,
                f"'{symbol}' does not take {types.show(operand.type)}",
                label=types.show(operand.type),
                help="compare the fields or entries",
            )
    if isinstance(left, ir.Const) and isinstance(right, ir.Const):
        return ir.Const(_FOLD_COMPARE[symbol](left.value, right.value), types.BOOL, span)
    if symbol not in ("==", "!=") and types.BOOL in (types.element_of(left.type), types.element_of(right.type)):
        raise ctx.error("SA013", span, f"'{symbol}' does not order bools", help="use 'and', 'or', 'not', '==' or '!='")
    left, right, type_ = meet(
        ctx, left, right, ctx.span(right_node) if types.is_scalar(right.type) else span, f"'{symbol}'"
    )
    left, right = strong(ctx, left), strong(ctx, right)
    return ir.Binary(
        symbol,
        left,
        right,
        types.with_element(type_, types.BOOL) if isinstance(type_, types.Vector) else types.BOOL,
        span,
    )


def ternary(ctx: Context, node: ast.IfExp, expected: types.Type | None) -> ir.Expr:
    """Lower ``a if c else b``: only one side is evaluated."""
    span = ctx.span(node)
    test = condition(ctx, ctx.expr(node.test), node.test)
    if isinstance(test, ir.Const):
        return ctx.expr(node.body if test.value else node.orelse, expected)
    then, other = ctx.expr(node.body, expected), ctx.expr(node.orelse, expected)
    if isinstance(then.type, types.Tuple) and isinstance(other.type, types.Tuple) and expected is not None:
        then = coerce(ctx, then, expected, ctx.span(node.body), what="this side")
        other = coerce(ctx, other, expected, ctx.span(node.orelse), what="this side")
    if then.type == other.type:
        return ir.Ternary(test, then, other, then.type, span)
    if types.is_scalar(then.type) and types.is_scalar(other.type):
        then, other, type_ = meet(ctx, then, other, span, "'if … else'")
        return ir.Ternary(test, then, other, type_, span)
    raise ctx.error(
        "SA013",
        span,
        f"both sides of 'if … else' must have one type, not {types.show(then.type)} and {types.show(other.type)}",
        label=f"{types.show(then.type)} and {types.show(other.type)}",
    )
