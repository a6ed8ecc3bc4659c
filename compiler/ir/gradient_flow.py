"""Find the expressions and locals of a function that carry gradient from its differentiable parameters."""

from __future__ import annotations

from typing import TYPE_CHECKING

from slangad.compiler.ir.nodes import (
    Assign,
    Automatic,
    Call,
    Cast,
    Const,
    ConstantRef,
    Index,
    Let,
    Linear,
    Member,
    NoDiff,
    Read,
    Role,
    Sample,
    Ternary,
    ThreadCount,
    ThreadId,
    Var,
)
from slangad.compiler.ir.types import DiffPair, Struct, carries_gradient, is_floating
from slangad.compiler.ir.verify.module import gets_gradient
from slangad.compiler.ir.walk import children, root, statements, walk_stmts

if TYPE_CHECKING:
    from collections.abc import Mapping

    from slangad.compiler.ir.nodes import Expr, Function
    from slangad.compiler.ir.types import Type


def is_differentiated(function: Function) -> bool:
    """Return True if Slang differentiates the function's body."""
    return function.differentiable and function.derivative == Automatic() and function.role is not Role.BACKWARD


class Carrying:
    """The gradient flow in one function. ``functions`` are those of the module by key."""

    def __init__(self, function: Function, functions: Mapping[str, Function]) -> None:
        self._functions = functions
        self._locals = {p.name for p in function.params if gets_gradient(p) or isinstance(p.type, DiffPair)}
        assigns = [s for s in walk_stmts(statements(function)) if isinstance(s, (Assign, Let))]
        while sum(self._note(stmt) for stmt in assigns):
            pass

    def _note(self, stmt: Assign | Let) -> bool:
        """Mark the local that a statement stores into. Return True if it was not marked before."""
        target = root(stmt.target) if isinstance(stmt, Assign) else stmt
        if target is None or target.name in self._locals or stmt.value is None or not self.carries(stmt.value):
            return False
        self._locals.add(target.name)
        return True

    def mark(self, name: str) -> None:
        """Note a new local that carries gradient."""
        self._locals.add(name)

    def carries(self, expr: Expr) -> bool:
        """Return True if gradient flows through an expression to a differentiable parameter."""
        if not _can_carry(expr.type):
            return False
        match expr:
            case Var(name):
                return name in self._locals
            case Const() | ConstantRef() | ThreadId() | ThreadCount() | NoDiff():
                return False
            case Cast(operand=operand):
                return is_floating(operand.type) and self.carries(operand)
            case Ternary(then=then, other=other):
                return self.carries(then) or self.carries(other)
            case Index(value=value):
                return self.carries(value)
            case Member(value=value, name=name):
                return not _is_no_diff(value.type, name) and self.carries(value)
            case Read() | Sample() | Linear():
                return True
            case Call(function=key) if stops_gradient(self._functions[key]) or self._functions[key].reads:
                return not stops_gradient(self._functions[key])
            case _:
                return any(self.carries(child) for child in children(expr))


def stops_gradient(function: Function) -> bool:
    """Return True if Slang does not differentiate a function."""
    return not function.differentiable and function.derivative == Automatic()


def _can_carry(type_: Type) -> bool:
    return carries_gradient(type_.primal if isinstance(type_, DiffPair) else type_)


def _is_no_diff(type_: Type, name: str) -> bool:
    return isinstance(type_, Struct) and any(f.name == name and f.no_diff for f in type_.fields)
