"""Rewrite the body of a function so that each local is assigned once; a branch gives its values to new locals.

    w = a                     w = a
    w = w * b                 w#2 = w * b
    if c { w.x = b }    ->    if c { w#3 = float2(b, w#2.y)  w#4 = w#3 } else { w#4 = w#2 }
    return w                  return w#4

A choice of two values becomes a branch too if its derivative could divide by zero on the side that is not taken.
"""

from __future__ import annotations

from collections import Counter
from dataclasses import replace
from typing import TYPE_CHECKING, Final, NoReturn

from slangad.compiler.ir import nodes as ir
from slangad.compiler.ir.build import part
from slangad.compiler.ir.types import Array, Struct, Type, Vector, is_floating
from slangad.compiler.ir.walk import map_children, root, statements

if TYPE_CHECKING:
    from slangad.compiler.errors.spans import Span
    from slangad.compiler.ir.build import Block
    from slangad.compiler.ir.gradient_flow import Carrying

MOST: Final = 16
"""Entries of an array that are locals of their own. With more, a store of one would copy too many."""


class NotWrittenError(Exception):
    """Reverse mode of a function is left to Slang: its body has something that is not handled."""


_PLAIN: Final = (
    ir.Const, ir.Var, ir.ConstantRef, ir.Unary, ir.Binary, ir.Ternary, ir.Call, ir.Intrinsic, ir.Construct, ir.Cast,
    ir.Member, ir.Swizzle, ir.Index, ir.NoDiff,
)  # fmt: skip


def refuse(reason: str) -> NoReturn:
    """Leave the function to Slang."""
    raise NotWrittenError(reason)


def component(value: ir.Expr, step: str | int) -> ir.Expr:
    """Return a field or an entry, of a vector by its letter."""
    if isinstance(value.type, Vector) and isinstance(step, int):
        if isinstance(value, ir.Swizzle):
            return ir.Swizzle(value.value, value.components[step], value.type.element)
        return ir.Swizzle(value, "xyzw"[step], value.type.element)
    return part(value, step)


def steps_of(type_: Type) -> tuple[str | int, ...]:
    """Return the names of the fields, or the numbers of the entries; none of a scalar or matrix."""
    match type_:
        case Struct(fields=fields):
            return tuple(f.name for f in fields)
        case Vector(size=size) | Array(size=size):
            return tuple(range(size))
        case _:
            return ()


class SingleAssignment:
    """The versions of a function's locals.

    Args:
        function: The function.
        carrying: Its gradient flow.
        taken: A name that its locals don't get.
    """

    def __init__(self, function: ir.Function, carrying: Carrying, taken: str) -> None:
        self._function, self._carrying = function, carrying
        self._current = {p.name: ir.Var(p.name, p.type) for p in function.params}
        self._counts = Counter([*self._current, taken])
        self._made: list[ir.Stmt] = []

    def body(self) -> tuple[Block, ir.Expr]:
        """Return the statements before the return, and the value that the function returns.

        Raises:
            NotWrittenError: There is a loop, an early return, or something else that is not plain arithmetic.
        """
        *before, last = statements(self._function) or (ir.Return(None),)
        if not isinstance(last, ir.Return) or last.value is None:
            refuse("it does not end with a return")
        for stmt in before:
            self._stmt(stmt)
        value = self._expr(last.value)
        return tuple(self._made), value

    def _block(self, body: Block) -> list[ir.Stmt]:
        outer, self._made = self._made, []
        for stmt in body:
            self._stmt(stmt)
        made, self._made = self._made, outer
        return made

    def _stmt(self, stmt: ir.Stmt) -> None:
        match stmt:
            case ir.Assign(target, value, adds=False):
                self._store(target, self._expr(value), stmt.span)
            case ir.Let(name, type_, value) if isinstance(value, _PLAIN):
                self._store(ir.Var(name, type_), self._expr(value), stmt.span)
            case ir.If():
                self._branch(stmt)
            case ir.Comment() | ir.Let(value=None):
                pass
            case _:
                refuse(f"it has a {type(stmt).__name__}")

    def _new(self, name: str, type_: Type) -> ir.Var:
        self._counts[name] += 1
        count = self._counts[name]
        return ir.Var(name if count == 1 else f"{name}#{count}", type_)

    def _set(self, name: str, value: ir.Expr, span: Span) -> ir.Var:
        new = self._new(name, value.type)
        self._made.append(ir.Assign(new, value, span))
        return new

    def _store(self, target: ir.Expr, value: ir.Expr, span: Span) -> None:
        while not isinstance(target, ir.Var):
            changed = self._changed(target, value, span)
            assert isinstance(target, (ir.Member, ir.Swizzle, ir.Index))  # noqa: S101  (others are refused)
            before, target = self._expr(target.value), target.value
            parts = tuple(changed.get(s) or component(before, s) for s in steps_of(before.type))
            value = ir.Construct(parts, before.type)
        self._current[target.name] = self._set(target.name, value, span)

    def _changed(self, target: ir.Expr, value: ir.Expr, span: Span) -> dict[str | int, ir.Expr]:
        """Return what a store changes of the value that contains its target: a field or entries."""
        match target:
            case ir.Member(inner, name) if isinstance(inner.type, Struct):
                return {name: value}
            case ir.Swizzle(_, components) if len(components) == 1:
                return {"xyzw".index(components): value}
            case ir.Swizzle(_, components):
                held = value if root(value) is not None else self._set("value", value, span)
                return {"xyzw".index(c): component(held, n) for n, c in enumerate(components)}
            case ir.Index(inner, ir.Const(at)) if isinstance(inner.type, (Vector, Array)) and inner.type.size <= MOST:
                return {int(at): value}
            case _:
                refuse("it stores into a row, or into an entry by a variable index")

    def _branch(self, stmt: ir.If) -> None:
        condition, before = self._expr(stmt.condition), self._current
        sides: list[list[ir.Stmt]] = []
        ends: list[dict[str, ir.Var]] = []
        for block in (stmt.then, stmt.other):
            self._current = dict(before)
            sides.append(self._block(block))
            ends.append(self._current)
        self._current = before
        for name in ends[0]:
            known = [end[name] for end in ends if name in end]
            if len(known) == len(ends) and known[0] != known[1]:
                joined = self._new(name, known[0].type)
                for side, value in zip(sides, known, strict=True):
                    side.append(ir.Assign(joined, value, stmt.span))
                self._current[name] = joined
        self._made.append(ir.If(condition, tuple(sides[0]), tuple(sides[1]), stmt.span))

    def _expr(self, expr: ir.Expr) -> ir.Expr:
        match expr:
            case ir.Var(name):
                return replace(self._current.get(name, expr), span=expr.span)
            case ir.Ternary() if self._carrying.carries(expr) and not (is_linear(expr.then) and is_linear(expr.other)):
                return self._choice(expr)
            case _ if isinstance(expr, _PLAIN):
                return map_children(expr, self._expr)
            case _:
                refuse(f"it has a {type(expr).__name__}")

    def _choice(self, expr: ir.Ternary) -> ir.Expr:
        """Return the local that a branch gives one of two values."""
        condition, joined = self._expr(expr.condition), self._new("choice", expr.type)
        sides: list[Block] = []
        for value in (expr.then, expr.other):
            outer, self._made = self._made, []
            self._made.append(ir.Assign(joined, self._expr(value), expr.span))
            sides.append(tuple(self._made))
            self._made = outer
        self._made.append(ir.If(condition, sides[0], sides[1], expr.span))
        return joined


def is_linear(expr: ir.Expr) -> bool:
    """Return True if the derivative of a scalar or vector is finite whatever its value is."""
    if not is_floating(expr.type):
        return False
    match expr:
        case ir.Const() | ir.Var() | ir.ConstantRef() | ir.NoDiff() | ir.Member() | ir.Index():
            return True
        case ir.Unary(operand=operand) | ir.Swizzle(value=operand):
            return is_linear(operand)
        case ir.Binary("+" | "-", left, right):
            return is_linear(left) and is_linear(right)
        case ir.Binary("*", left, right):
            return (is_linear(left) and _is_number(right)) or (_is_number(left) and is_linear(right))
        case ir.Construct(args):
            return all(map(is_linear, args))
        case _:
            return False


def _is_number(expr: ir.Expr) -> bool:
    return isinstance(expr, ir.Const) or (isinstance(expr, ir.Construct) and all(map(_is_number, expr.args)))
