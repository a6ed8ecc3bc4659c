"""Whether a block sets a local before it reads it, on every path: what declaring locals and the verifier ask."""

from __future__ import annotations

from enum import Enum

from slangad.compiler.errors.exhaustive import assert_never
from slangad.compiler.ir.nodes import Assign, Break, Comment, Continue, Expr, For, If, Let, Return, Stmt, Var, While
from slangad.compiler.ir.walk import stmt_exprs, walk


class Flow(Enum):
    """What is known of a local after some statements."""

    OPEN = "not set on every path so far, never read"
    SET = "set on every path that goes on"
    READ = "read where it may not be set"


def sets_before_reading(block: tuple[Stmt, ...], name: str) -> bool:
    """Whether no path through the block reads the local before setting it."""
    return flow_of(block, name) is not Flow.READ


def flow_of(block: tuple[Stmt, ...], name: str) -> Flow:
    """What a block does with a local that may not be set when the block begins."""
    for stmt in block:
        flow = _statement(stmt, name)
        if flow is not Flow.OPEN:
            return flow
    return Flow.OPEN


def _statement(stmt: Stmt, name: str) -> Flow:
    if any(_reads(expr, name) for expr in _read_by(stmt)):
        return Flow.READ
    match stmt:
        case Let(name=target, value=value):
            return Flow.SET if target == name and value is not None else Flow.OPEN
        case Assign(target=Var(target)):
            return Flow.SET if target == name else Flow.OPEN
        case If(then=then, other=other):
            return _either(flow_of(then, name), flow_of(other, name))
        case For(variable=variable) if variable == name:
            return Flow.OPEN
        case For(body=body) | While(body=body):
            return Flow.READ if flow_of(body, name) is Flow.READ else Flow.OPEN
        case Return() | Break() | Continue():
            return Flow.SET
        case Assign() | Comment():
            return Flow.OPEN
        case _:
            assert_never(stmt)


def _read_by(stmt: Stmt) -> tuple[Expr, ...]:
    """The expressions a statement reads itself: storing into a part of a local reads the local."""
    return (stmt.value,) if isinstance(stmt, Assign) and isinstance(stmt.target, Var) else stmt_exprs(stmt)


def _either(then: Flow, other: Flow) -> Flow:
    if Flow.READ in (then, other):
        return Flow.READ
    return Flow.SET if then is other is Flow.SET else Flow.OPEN


def _reads(expr: Expr, name: str) -> bool:
    return any(isinstance(e, Var) and e.name == name for e in walk(expr))
