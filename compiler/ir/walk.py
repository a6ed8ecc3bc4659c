"""Walk and rewrite the IR. This file alone knows the children of nodes, so passes contain only their changes."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import replace
from typing import Final, TypeVar

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
ExprT = TypeVar("ExprT", bound=Expr)
StmtMap = Callable[[Stmt], tuple[Stmt, ...]]


def _with(expr: ExprT, **parts: object) -> ExprT:
    """Return the expression with other parts, or itself if no part changes."""
    for name, part in parts.items():
        if getattr(expr, name) is not part:
            return replace(expr, **parts)  # type: ignore[arg-type]  # callers name fields of the node
    return expr


def _same(args: tuple[Expr, ...], f: ExprMap) -> tuple[Expr, ...]:
    """Return ``f`` of each expression, or the same tuple if nothing changes."""
    mapped = tuple(f(a) for a in args)
    return args if all(new is old for new, old in zip(mapped, args, strict=True)) else mapped


_LEAVES: Final = frozenset((Const, Var, ConstantRef, ThreadId, ThreadCount))
"""Half of all nodes. To find them in a set takes less time than to try one pattern after the other."""


def map_children(expr: Expr, f: ExprMap) -> Expr:
    """Return the expression with ``f`` applied to each direct operand."""
    match expr:
        case Const() | Var() | ConstantRef() | ThreadId() | ThreadCount():
            return expr
        case Unary(operand=x) | Cast(operand=x):
            return _with(expr, operand=f(x))
        case Binary(left=a, right=b):
            return _with(expr, left=f(a), right=f(b))
        case Ternary(condition=c, then=a, other=b):
            return _with(expr, condition=f(c), then=f(a), other=f(b))
        case (
            Call(args=args)
            | Intrinsic(args=args)
            | Construct(args=args)
            | BackwardCall(args=args)
            | ForwardCall(args=args)
        ):
            return _with(expr, args=_same(args, f))
        case Member(value=x) | Swizzle(value=x) | NoDiff(value=x) | Probe(value=x) | GroupOperation(value=x):
            return _with(expr, value=f(x))
        case Read() | Extent() | Sample() | Linear():
            return _map_access(expr, f)
        case Index(value=x, index=i):
            return _with(expr, value=f(x), index=f(i))
        case MakePair(primal=a, tangent=b):
            return _with(expr, primal=f(a), tangent=f(b))
        case _:
            assert_never(expr)


def _map_access(expr: Read | Extent | Sample | Linear, f: ExprMap) -> Expr:
    match expr:
        case Read(source=x, indices=indices):
            return _with(expr, source=f(x), indices=_same(indices, f))
        case Extent(source=x):
            return _with(expr, source=f(x))
        case Sample(source=x, uv=uv):
            return _with(expr, source=f(x), uv=f(uv))
        case Linear(source=x, indices=indices, value=value, bias=bias, bias_indices=also):
            product = _with(expr, source=f(x), indices=_same(indices, f), value=f(value))
            return _with(product, bias=f(bias), bias_indices=_same(also, f)) if bias else product
        case _:
            assert_never(expr)


def children(expr: Expr) -> tuple[Expr, ...]:
    """Return the direct operands, left to right."""
    if type(expr) in _LEAVES:
        return ()
    result: list[Expr] = []

    def collect(child: Expr) -> Expr:
        result.append(child)
        return child

    map_children(expr, collect)
    return tuple(result)


def walk(expr: Expr) -> Iterator[Expr]:
    """Yield the expression and everything in it, outermost first."""
    pending = [expr]
    while pending:
        node = pending.pop()
        yield node
        pending.extend(reversed(children(node)))


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
            return stmt if value is None else replace(stmt, value=f(value))
        case Assign(target, value):
            return replace(stmt, target=f(target), value=f(value))
        case If(condition=condition) | While(condition=condition):
            return replace(stmt, condition=f(condition))
        case For(start=start, stop=stop, inverse=inverse):
            return replace(stmt, start=f(start), stop=f(stop), inverse=None if inverse is None else f(inverse))
        case Break() | Continue() | Barrier() | Comment():
            return stmt
        case _:
            assert_never(stmt)


def map_blocks(stmt: Stmt, f: Callable[[tuple[Stmt, ...]], tuple[Stmt, ...]]) -> Stmt:
    """Return the statement with ``f`` applied to each nested block."""
    match stmt:
        case If(then=then, other=other):
            return replace(stmt, then=f(then), other=f(other))
        case For(body=body) | While(body=body):
            return replace(stmt, body=f(body))
        case _:
            return stmt


def map_body_exprs(body: tuple[Stmt, ...], f: ExprMap) -> tuple[Stmt, ...]:
    """Return a body with ``f`` applied to every expression, also in nested blocks, but not to operands."""
    return tuple(map_blocks(map_stmt_exprs(s, f), lambda block: map_body_exprs(block, f)) for s in body)


def walk_stmts(body: tuple[Stmt, ...]) -> Iterator[Stmt]:
    """Yield every statement of a body in order, nested ones after the statement that contains them."""
    for stmt in body:
        yield stmt
        for block in blocks(stmt):
            yield from walk_stmts(block)


def body_exprs(body: tuple[Stmt, ...]) -> Iterator[Expr]:
    """Yield every expression node of a body."""
    for stmt in walk_stmts(body):
        for expr in stmt_exprs(stmt):
            yield from walk(expr)


def statements(function: Function) -> tuple[Stmt, ...]:
    """Return the statements of a function; none if it is written in Slang."""
    return function.body if isinstance(function.body, tuple) else ()


def map_exprs_of(function: Function, f: Callable[[Expr], Expr]) -> Function:
    """Return the function with ``f`` applied as by ``map_body_exprs``. A function written in Slang stays unchanged."""
    return replace(function, body=map_body_exprs(function.body, f)) if isinstance(function.body, tuple) else function


def map_functions(module: Module, f: Callable[[Function], Function]) -> Module:
    """Return the module with ``f`` applied to each function."""
    return replace(module, functions=tuple(f(function) for function in module.functions))


def root(expr: Expr) -> Var | None:
    """Return the local or parameter that contains an assignable expression."""
    while isinstance(expr, (Member, Swizzle, Index)):
        expr = expr.value
    return expr if isinstance(expr, Var) else None
