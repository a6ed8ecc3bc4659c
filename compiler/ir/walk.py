"""Walk and rewrite the IR. This file alone knows the children of nodes, so passes contain only their changes.

What a rewrite does not change stays the same object, so later comparisons of two modules end early.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import replace
from operator import is_
from typing import Any, Final, TypeVar

from slangad.compiler.errors.exhaustive import assert_never
from slangad.compiler.ir.nodes import (
    Assign,
    BackwardCall,
    Barrier,
    Binary,
    Break,
    Call,
    Cast,
    Comment,
    Const,
    ConstantRef,
    Construct,
    Continue,
    Expr,
    Extent,
    For,
    ForwardCall,
    Function,
    GroupOperation,
    If,
    Index,
    Intrinsic,
    Let,
    Linear,
    MakePair,
    Member,
    Module,
    NoDiff,
    Probe,
    Read,
    Return,
    Sample,
    Stmt,
    Swizzle,
    Ternary,
    ThreadCount,
    ThreadId,
    Unary,
    Var,
    While,
)

ExprMap = Callable[[Expr], Expr]
NodeT = TypeVar("NodeT")
StmtMap = Callable[[Stmt], tuple[Stmt, ...]]


_OPERANDS: Final[Mapping[type, tuple[str, ...]]] = {
    **dict.fromkeys((Const, Var, ConstantRef, ThreadId, ThreadCount), ()),
    **dict.fromkeys((Unary, Cast), ("operand",)),
    **dict.fromkeys((Call, Intrinsic, Construct, BackwardCall, ForwardCall), ("args",)),
    **dict.fromkeys((Member, Swizzle, NoDiff, Probe, GroupOperation), ("value",)),
    Binary: ("left", "right"),
    Ternary: ("condition", "then", "other"),
    Index: ("value", "index"),
    MakePair: ("primal", "tangent"),
    Read: ("source", "indices"),
    Extent: ("source",),
    Sample: ("source", "uv"),
    Linear: ("source", "indices", "value", "bias", "bias_indices"),
}
"""The fields of each node that hold its operands, left to right: an expression, several in a tuple, or None."""


def _with(node: NodeT, **parts: object) -> NodeT:
    """Return the node with other parts, or itself if no part changes."""
    for name, part in parts.items():
        if getattr(node, name) is not part:
            return replace(node, **parts)  # type: ignore[type-var]  # callers name fields of the node
    return node


def _same(nodes: tuple[NodeT, ...], f: Callable[[NodeT], NodeT]) -> tuple[NodeT, ...]:
    """Return ``f`` of each node, or the same tuple if nothing changes."""
    mapped = tuple([f(node) for node in nodes])
    return nodes if all(map(is_, mapped, nodes)) else mapped


def map_children(expr: Expr, f: ExprMap) -> Expr:
    """Return the expression with ``f`` applied to each direct operand, or itself if nothing changes."""
    changed: dict[str, Any] = {}
    for name in _OPERANDS[type(expr)]:
        part = getattr(expr, name)
        if part is not None:
            mapped = _same(part, f) if type(part) is tuple else f(part)
            if mapped is not part:
                changed[name] = mapped
    return replace(expr, **changed) if changed else expr


def children(expr: Expr) -> list[Expr]:
    """Return the direct operands, left to right."""
    result: list[Expr] = []
    for name in _OPERANDS[type(expr)]:
        part = getattr(expr, name)
        if type(part) is tuple:
            result += part
        elif part is not None:
            result.append(part)
    return result


def walk(expr: Expr) -> Iterator[Expr]:
    """Yield the expression and everything in it, outermost first."""
    return _walk_all([expr])


def _walk_all(pending: list[Expr]) -> Iterator[Expr]:
    """Yield expressions and everything in them, from the last to the first; empties the list."""
    while pending:
        node = pending.pop()
        yield node
        if _OPERANDS[type(node)]:
            pending += reversed(children(node))


def evaluated(expr: Expr, certain: bool = True) -> Iterator[tuple[Expr, bool]]:  # noqa: FBT001, FBT002  (recursive)
    """Yield the parts of an expression, and whether all threads evaluate them."""
    yield expr, certain
    for number, child in enumerate(children(expr)):
        choice = isinstance(expr, Ternary) or (isinstance(expr, Binary) and expr.op in ("&&", "||"))
        yield from evaluated(child, certain and not (choice and number > 0))


def formula_keys(formula: Expr | str | None) -> Iterator[str]:
    """Yield the keys of the constants in the formula of a number, also in those of its parts."""
    if formula is None or isinstance(formula, str):
        return
    for part in walk(formula):
        if isinstance(part, ConstantRef):
            yield part.key
        elif isinstance(part, Const):
            yield from formula_keys(part.formula)


def rewrite(expr: Expr, f: ExprMap) -> Expr:
    """Return the expression with ``f`` applied to every node, operands first."""
    return f(map_children(expr, lambda child: rewrite(child, f)))


def stmt_exprs(stmt: Stmt) -> tuple[Expr, ...]:
    """Return the expressions of a statement, without those of its nested blocks."""
    match stmt:
        case Let(value=value) | Return(value=value):
            return () if value is None else (value,)
        case Assign(target, value):
            return (target, value)
        case If(condition=condition) | While(condition=condition):
            return (condition,)
        case For(start=start, stop=stop):
            return (start, stop)
        case Break() | Continue() | Barrier() | Comment():
            return ()
        case _:
            assert_never(stmt)


def blocks(stmt: Stmt) -> tuple[tuple[Stmt, ...], ...]:
    """Return the nested blocks of a statement."""
    match stmt:
        case If(then=then, other=other):
            return (then, other)
        case For(body=body) | While(body=body):
            return (body,)
        case _:
            return ()


def map_stmt_exprs(stmt: Stmt, f: ExprMap) -> Stmt:
    """Return the statement with ``f`` applied to its expressions, without those of nested blocks."""
    match stmt:
        case Let(value=value) | Return(value=value):
            return stmt if value is None else _with(stmt, value=f(value))
        case Assign(target, value):
            return _with(stmt, target=f(target), value=f(value))
        case If(condition=condition) | While(condition=condition):
            return _with(stmt, condition=f(condition))
        case For(start=start, stop=stop, inverse=inverse):
            return _with(stmt, start=f(start), stop=f(stop), inverse=None if inverse is None else f(inverse))
        case Break() | Continue() | Barrier() | Comment():
            return stmt
        case _:
            assert_never(stmt)


def map_blocks(stmt: Stmt, f: Callable[[tuple[Stmt, ...]], tuple[Stmt, ...]]) -> Stmt:
    """Return the statement with ``f`` applied to each nested block."""
    match stmt:
        case If(then=then, other=other):
            return _with(stmt, then=f(then), other=f(other))
        case For(body=body) | While(body=body):
            return _with(stmt, body=f(body))
        case _:
            return stmt


def map_body_exprs(body: tuple[Stmt, ...], f: ExprMap) -> tuple[Stmt, ...]:
    """Return a body with ``f`` applied to every expression, also in nested blocks, but not to operands."""
    return _same(body, lambda stmt: map_blocks(map_stmt_exprs(stmt, f), lambda block: map_body_exprs(block, f)))


def walk_stmts(body: tuple[Stmt, ...]) -> Iterator[Stmt]:
    """Yield every statement of a body in order, nested ones after the statement that contains them."""
    for stmt in body:
        yield stmt
        for block in blocks(stmt):
            yield from walk_stmts(block)


def body_exprs(body: tuple[Stmt, ...]) -> Iterator[Expr]:
    """Yield every expression node of a body."""
    found = [expr for stmt in walk_stmts(body) for expr in stmt_exprs(stmt)]
    found.reverse()
    return _walk_all(found)


def statements(function: Function) -> tuple[Stmt, ...]:
    """Return the statements of a function; none if it is written in Slang."""
    return function.body if isinstance(function.body, tuple) else ()


def map_exprs_of(function: Function, f: Callable[[Expr], Expr]) -> Function:
    """Return the function with ``f`` applied as by ``map_body_exprs``. A function written in Slang stays unchanged."""
    return _with(function, body=map_body_exprs(function.body, f)) if isinstance(function.body, tuple) else function


def map_functions(module: Module, f: Callable[[Function], Function]) -> Module:
    """Return the module with ``f`` applied to each function."""
    return _with(module, functions=_same(module.functions, f))


def root(expr: Expr) -> Var | None:
    """Return the local or parameter that contains an assignable expression."""
    while isinstance(expr, (Member, Swizzle, Index)):
        expr = expr.value
    return expr if isinstance(expr, Var) else None
