"""Find out if a block sets a local before it reads it, on every path."""

from __future__ import annotations

from enum import Enum

from slangad.compiler.errors.exhaustive import assert_never
from slangad.compiler.ir.nodes import (
    Assign,
    Barrier,
    Break,
    Comment,
    Continue,
    Expr,
    For,
    If,
    Let,
    Return,
    Stmt,
    Var,
    While,
)
from slangad.compiler.ir.walk import stmt_exprs, walk


class LocalState(Enum):
    """The state of a local after some statements."""

    OPEN = "not set on every path so far, never read"
    SET = "set on every path that goes on"
    READ = "read where it may not be set"


def sets_before_reading(block: tuple[Stmt, ...], name: str) -> bool:
    """Return True if no path through the block reads the local before it sets it."""
    return state_after(block, name) is not LocalState.READ


def state_after(block: tuple[Stmt, ...], name: str) -> LocalState:
    """Return the state of a local after a block that begins without it."""
    for stmt in block:
        flow = _statement(stmt, name)
        if flow is not LocalState.OPEN:
            return flow
    return LocalState.OPEN


def _statement(stmt: Stmt, name: str) -> LocalState:
    if any(_reads(expr, name) for expr in _read_by(stmt)):
        return LocalState.READ
    match stmt:
        case Let(name=target, value=value):
            return LocalState.SET if target == name and value is not None else LocalState.OPEN
        case Assign(target=Var(target)):
            return LocalState.SET if target == name else LocalState.OPEN
        case If(then=then, other=other):
            return _either(state_after(then, name), state_after(other, name))
        case For(variable=variable) if variable == name:
            return LocalState.OPEN
        case For(body=body) | While(body=body):
            return LocalState.READ if state_after(body, name) is LocalState.READ else LocalState.OPEN
        case Return() | Break() | Continue():
            return LocalState.SET
        case Assign() | Barrier() | Comment():
            return LocalState.OPEN
        case _:
            assert_never(stmt)


def _read_by(stmt: Stmt) -> tuple[Expr, ...]:
    """Return the expressions that a statement reads. A store into a part of a local reads the local."""
    return (stmt.value,) if isinstance(stmt, Assign) and isinstance(stmt.target, Var) else stmt_exprs(stmt)


def _either(then: LocalState, other: LocalState) -> LocalState:
    if LocalState.READ in (then, other):
        return LocalState.READ
    return LocalState.SET if then is other is LocalState.SET else LocalState.OPEN


def _reads(expr: Expr, name: str) -> bool:
    return any(isinstance(e, Var) and e.name == name for e in walk(expr))
