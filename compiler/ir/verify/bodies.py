"""Check one function's body: types of operands, targets, locals, positions of ``break`` and ``return``."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

from slangad.compiler.errors.diagnostics import Diagnostic
from slangad.compiler.errors.exhaustive import assert_never
from slangad.compiler.ir import nodes as ir
from slangad.compiler.ir.default_types import COMPARISONS
from slangad.compiler.ir.types import (
    BOOL,
    FLOAT,
    HALF,
    INT,
    Array,
    DiffPair,
    Matrix,
    Scalar,
    Struct,
    Tensor,
    Texture,
    Tuple,
    Type,
    Vector,
    Void,
    Weak,
    carries_gradient,
    element_of,
    half_as_float,
    is_integral,
    is_scalar,
    show,
    with_element,
)
from slangad.compiler.ir.walk import root, statements, stmt_exprs, walk

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

_LOGICAL: Final = frozenset({"&&", "||"})


def verify_body(function: ir.Function, buffers: Mapping[str, Type], *, declared: bool) -> Iterator[Diagnostic]:
    """Yield everything wrong in a body."""
    names = {**buffers, **{p.name: p.type for p in function.params}}
    scope = _Scope(names, declared=declared, result=function.result)
    yield from _block(statements(function), scope)


@dataclass(frozen=True, slots=True)
class _Scope:
    """Locals visible in a block. Before locals are declared, any name may be a local."""

    names: dict[str, Type]
    declared: bool
    result: Type
    in_loop: bool = False

    def inner(self, *, loop: bool = False) -> _Scope:
        return _Scope(dict(self.names), self.declared, self.result, self.in_loop or loop)


def _block(body: tuple[ir.Stmt, ...], scope: _Scope) -> Iterator[Diagnostic]:
    for stmt in body:
        for expr in _read(stmt):
            for node in walk(expr):
                yield from _expr(node, scope)
        yield from _stmt(stmt, scope)


def _read(stmt: ir.Stmt) -> tuple[ir.Expr, ...]:
    """Return the expressions that a statement reads. Of a stored element, these are the indices."""
    if isinstance(stmt, ir.Assign) and isinstance(stmt.target, ir.Read):
        return (stmt.target.source, *stmt.target.indices, stmt.value)
    return stmt_exprs(stmt)


def _stmt(stmt: ir.Stmt, scope: _Scope) -> Iterator[Diagnostic]:
    match stmt:
        case ir.Let():
            yield from _let(stmt, scope)
        case ir.Assign(target, value):
            yield from _assign(target, value)
        case ir.If(condition, then, other):
            yield from _same(condition, BOOL, "condition")
            yield from _block(then, scope.inner())
            yield from _block(other, scope.inner())
        case ir.For():
            yield from _for(stmt, scope)
        case ir.While(condition, limit, body):
            yield from _same(condition, BOOL, "condition")
            yield from _limit(limit, stmt)
            yield from _block(body, scope.inner(loop=True))
        case ir.Break() | ir.Continue():
            if not scope.in_loop:
                yield Diagnostic("SA900", "break or continue outside a loop", stmt.span)
        case ir.Return(value):
            actual = Void() if value is None else value.type
            if actual != scope.result:
                yield Diagnostic("SA901", f"returns {show(actual)}, not {show(scope.result)}", stmt.span)
        case _:
            pass


def _let(stmt: ir.Let, scope: _Scope) -> Iterator[Diagnostic]:
    if stmt.name in scope.names and scope.declared:
        yield Diagnostic("SA902", f"{stmt.name!r} is declared twice", stmt.span)
    if isinstance(stmt.type, Texture) or (isinstance(stmt.type, Tensor) and not stmt.type.is_shared):
        yield Diagnostic("SA902", f"{stmt.name!r} is a local {show(stmt.type)}", stmt.span)
    if stmt.value is not None:
        yield from _same(stmt.value, stmt.type, f"the value of {stmt.name!r}")
    scope.names[stmt.name] = stmt.type


def _assign(target: ir.Expr, value: ir.Expr) -> Iterator[Diagnostic]:
    if isinstance(target, ir.Read):
        yield from _element(target, "writes")
    elif root(target) is None:
        yield Diagnostic("SA902", "only locals and their parts can be assigned", target.span)
    if isinstance(target, ir.Swizzle) and len(set(target.components)) != len(target.components):
        yield Diagnostic("SA902", "a component is assigned twice", target.span)
    yield from _same(value, target.type, "assigned value")


def _for(stmt: ir.For, scope: _Scope) -> Iterator[Diagnostic]:
    yield from _same(stmt.stop, stmt.start.type, "the end of a range")
    if not (is_scalar(stmt.start.type) and is_integral(stmt.start.type)) or stmt.step == 0:
        yield Diagnostic("SA901", "a range needs whole numbers and a step", stmt.span)
    yield from _limit(stmt.limit, stmt)
    inner = scope.inner(loop=True)
    inner.names[stmt.variable] = stmt.start.type
    yield from _block(stmt.body, inner)


def _limit(limit: int, stmt: ir.Stmt) -> Iterator[Diagnostic]:
    if limit < 0:
        yield Diagnostic("SA900", "a loop without a bound", stmt.span)


def _same(expr: ir.Expr, wanted: Type, what: str) -> Iterator[Diagnostic]:
    if expr.type != wanted:
        yield Diagnostic("SA901", f"{what} is {show(expr.type)}, not {show(wanted)}", expr.span)


def _expr(expr: ir.Expr, scope: _Scope) -> Iterator[Diagnostic]:
    yield from _kind(expr)
    match expr:
        case ir.Const(value):
            if not isinstance(expr.type, Scalar) or isinstance(value, bool) != (expr.type == BOOL):
                yield Diagnostic("SA901", f"constant {value!r} of type {show(expr.type)}", expr.span)
        case ir.Var(name, type_):
            yield from _var(name, type_, scope, expr)
        case ir.Unary() | ir.Binary():
            yield from _operation(expr)
        case ir.Ternary(condition, then, other, type_):
            yield from _same(condition, BOOL, "condition")
            yield from _same(then, type_, "first choice")
            yield from _same(other, type_, "second choice")
        case ir.Member() | ir.Swizzle() | ir.Index():
            yield from _part(expr)
        case ir.Read() | ir.Extent() | ir.Sample() | ir.Linear() | ir.GroupOperation() | ir.Probe():
            yield from _access(expr)
        case _:
            yield from _construct(expr)


def _element(expr: ir.Read, use: str) -> Iterator[Diagnostic]:
    source = expr.source.type
    if not isinstance(source, (Tensor, Texture)):
        yield Diagnostic("SA901", f"an element of {show(source)}", expr.span)
        return
    if use != "reads" or expr.type != half_as_float(source.element):
        yield from _same(expr, source.element, "an element")
    rank = source.rank if isinstance(source, Tensor) else 2
    if [i.type for i in expr.indices] != [INT] * rank:
        shown = ", ".join(show(i.type) for i in expr.indices)
        yield Diagnostic("SA901", f"an element of {show(source)} at ({shown})", expr.span)
    if not (getattr(source, use) if isinstance(source, Tensor) else use == "reads"):
        yield Diagnostic("SA902", f"{show(source)} allows no {use}", expr.span)


def _access(
    expr: ir.Read | ir.Extent | ir.Sample | ir.Linear | ir.GroupOperation | ir.Probe,
) -> Iterator[Diagnostic]:
    match expr:
        case ir.Read():
            yield from _element(expr, "reads")
        case ir.Extent(source, axis):
            rank = source.type.rank if isinstance(source.type, Tensor) else 2 if isinstance(source.type, Texture) else 0
            if axis not in range(rank):
                yield Diagnostic("SA901", f"axis {axis} of {show(source.type)}", expr.span)
            yield from _same(expr, INT, "an extent")
        case ir.Sample(source, uv):
            if not isinstance(source.type, Texture):
                yield Diagnostic("SA901", f"a sample of {show(source.type)}", expr.span)
            else:
                yield from _same(expr, source.type.element, "a sample")
            yield from _same(uv, Vector(FLOAT, 2), "a coordinate")
        case ir.Linear():
            yield from _linear(expr)
        case ir.GroupOperation(value=value):
            yield from _same(expr, value.type, "what a group computes")
        case ir.Probe(_, value):
            yield from _same(expr, value.type, "a probe")
            if not carries_gradient(value.type):
                yield Diagnostic("SA901", f"a probe of {show(value.type)}", expr.span)
        case _:
            assert_never(expr)


def _linear(expr: ir.Linear) -> Iterator[Diagnostic]:
    source = expr.source.type
    if not isinstance(source, Tensor) or source.writes or source.rank - len(expr.indices) not in (1, 2):
        yield Diagnostic("SA901", f"a product of {show(source)} at {len(expr.indices)} indices", expr.span)
        return
    if any(i.type != INT for i in (*expr.indices, *expr.bias_indices)):
        yield Diagnostic("SA901", "an index of a product that is no int", expr.span)
    if not isinstance(expr.type, Array):
        yield Diagnostic("SA901", f"a product that is a {show(expr.type)}", expr.span)
    else:
        yield from _same(expr, Array(FLOAT, expr.type.size), "a product")
    yield from _same(expr.value, Array(FLOAT, expr.columns), "the factor of a product")
    if source.element not in (FLOAT, HALF):
        yield Diagnostic("SA901", f"a product of {show(source)}", expr.span)
    biases = [Tensor(element, len(expr.bias_indices) + 1) for element in (FLOAT, HALF)]
    if expr.bias is not None and expr.bias.type not in biases:
        yield Diagnostic("SA901", f"the bias of a product is {show(expr.bias.type)}", expr.span)


def _kind(expr: ir.Expr) -> Iterator[Diagnostic]:
    if isinstance(expr.type, (Tensor, Texture)) and not isinstance(expr, ir.Var):
        yield Diagnostic("SA901", f"a value that is a {show(expr.type)}", expr.span)
    if isinstance(expr.type, Weak):
        yield Diagnostic("SA901", "a literal's type was not decided", expr.span)


def _var(name: str, type_: Type, scope: _Scope, expr: ir.Expr) -> Iterator[Diagnostic]:
    known = scope.names.get(name)
    if known is None:
        if scope.declared:
            yield Diagnostic("SA902", f"{name!r} is not declared here", expr.span)
        scope.names[name] = type_
    elif known != type_:
        yield Diagnostic("SA901", f"{name!r} is {show(known)}, used as {show(type_)}", expr.span)


def _operation(expr: ir.Unary | ir.Binary) -> Iterator[Diagnostic]:
    if isinstance(expr, ir.Unary):
        yield from _same(expr, expr.operand.type, f"'{expr.op}'")
        return
    left, right = expr.left.type, expr.right.type
    mixed = is_scalar(left) != is_scalar(right) and element_of(left) == element_of(right)
    if left != right and not (mixed and expr.op in ("+", "-", "*", "/")):
        yield Diagnostic("SA901", f"'{expr.op}' on {show(left)} and {show(right)}", expr.span)
    vector = right if mixed and is_scalar(left) else left
    wanted = with_element(vector, BOOL) if expr.op in COMPARISONS else vector
    yield from _same(expr, BOOL if expr.op in _LOGICAL else wanted, f"'{expr.op}'")
    if expr.op in _LOGICAL and left != BOOL:
        yield Diagnostic("SA901", f"'{expr.op}' on {show(left)}", expr.span)


def _part(expr: ir.Member | ir.Swizzle | ir.Index) -> Iterator[Diagnostic]:
    wanted = part_type(expr)
    if wanted is None:
        yield Diagnostic("SA901", f"{show(expr.value.type)} has no such part", expr.span)
    else:
        yield from _same(expr, wanted, "a part")
    if isinstance(expr, ir.Index) and not (is_scalar(expr.index.type) and is_integral(expr.index.type)):
        yield Diagnostic("SA901", f"index is {show(expr.index.type)}", expr.span)


def part_type(expr: ir.Member | ir.Swizzle | ir.Index) -> Type | None:
    """Return the type of a part from its value; None if there is no such part."""
    match expr.value.type, expr:
        case Struct(fields=fields), ir.Member(name=name):
            return next((f.type for f in fields if f.name == name), None)
        case Tuple(elements), ir.Member(name=name):
            position = int(name.removeprefix("item"))
            return elements[position] if position < len(elements) else None
        case DiffPair(primal), ir.Member(name="p" | "d"):
            return primal
        case Vector(element, size), ir.Swizzle(components=components):
            fits = all("xyzw".find(c) in range(size) for c in components)
            made = Vector(element, len(components)) if len(components) > 1 else element
            return made if fits else None
        case Vector(element) | Array(element), ir.Index():
            return element
        case Matrix(element, _, columns), ir.Index():
            return Vector(element, columns)
        case _:
            return None


def _construct(expr: ir.Expr) -> Iterator[Diagnostic]:
    match expr:
        case ir.Construct(args, type_):
            if args and not _constructs(args, type_):
                shown = ", ".join(show(a.type) for a in args)
                yield Diagnostic("SA901", f"{show(type_)} from ({shown})", expr.span)
        case ir.Cast(operand, type_):
            if element_of(operand.type) is None or with_element(operand.type, BOOL) != with_element(type_, BOOL):
                yield Diagnostic("SA901", f"{show(type_)} from {show(operand.type)}", expr.span)
        case ir.NoDiff(value, type_):
            yield from _same(value, type_, "no_diff")
        case ir.MakePair(primal, tangent, type_):
            if primal.type != tangent.type or type_ != DiffPair(primal.type):
                yield Diagnostic("SA901", f"a pair of {show(primal.type)} and {show(tangent.type)}", expr.span)
        case _:
            pass


def _constructs(args: tuple[ir.Expr, ...], type_: Type) -> bool:
    types = [a.type for a in args]
    match type_:
        case Vector(element, size):
            return types == [element] or (sum(_width(t, element) for t in types) == size)
        case Matrix(element, rows, columns):
            return types in ([element], [Vector(element, columns)] * rows, [element] * (rows * columns))
        case Array(element, size):
            return types == [element] * size
        case Struct(fields=fields):
            return types == [f.type for f in fields]
        case Tuple(elements):
            return types == list(elements)
        case _:
            return False


def _width(type_: Type, element: Scalar) -> int:
    if type_ == element:
        return 1
    return type_.size if isinstance(type_, Vector) and type_.element == element else -99
