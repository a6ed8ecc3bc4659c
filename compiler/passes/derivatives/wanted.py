"""Find which gradients of a ``bwd_diff`` call a function reads, so that nobody computes the others.

    r = bwd_diff g(w, x, d)        r = bwd_diff g(w, x, d), the second gradient only
    a = r.item0               ->   b = r
    b = r.item1
    return b * b                   return b * b

A distance and its slope are the common case: the gradients of all weights have no reader.
"""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from slangad.compiler.ir import nodes as ir
from slangad.compiler.ir.types import Tuple
from slangad.compiler.ir.walk import (
    body_exprs,
    map_blocks,
    map_body_exprs,
    map_children,
    root,
    statements,
    stmt_exprs,
    walk,
    walk_stmts,
)

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from slangad.compiler.ir.build import Block
    from slangad.compiler.ir.types import Type

    Chosen = Callable[[ir.BackwardCall, "tuple[int, ...]"], ir.Expr | None]


def only_wanted(function: ir.Function, call_of: Chosen) -> ir.Function:
    """Return the function with calls that give only the gradients that are read.

    Args:
        function: A function whose ``bwd_diff`` calls with several gradients stand alone in assignments.
        call_of: Gives a call for some gradients of another, by their numbers; None if there is none.
    """
    held = dict(_held(statements(function)))
    if not held:
        return function
    body = _without_unread(statements(function), held)
    wanted: dict[str, _Wanted] = {}
    for name, numbers in _read(body, held).items():
        call = call_of(held[name], numbers)
        if call is not None:
            wanted[name] = _Wanted(numbers, call)
    if not wanted:
        return function
    return replace(function, body=map_body_exprs(_assigned(body, wanted), lambda e: _expr(e, wanted)))


@dataclass(frozen=True, slots=True)
class _Wanted:
    numbers: tuple[int, ...]
    call: ir.Expr

    @property
    def type(self) -> Type:
        return self.call.type


def _held(body: Block) -> Iterator[tuple[str, ir.BackwardCall]]:
    """Yield the locals that hold the gradients of one call, and the call."""
    stores = Counter(v.name for s in walk_stmts(body) if isinstance(s, ir.Assign) and (v := root(s.target)))
    for stmt in walk_stmts(body):
        match stmt:
            case ir.Assign(ir.Var(name), ir.BackwardCall(type=Tuple()) as call) if stores[name] == 1:
                yield name, call


def _without_unread(body: Block, held: dict[str, ir.BackwardCall]) -> Block:
    """Leave out the locals that only take a gradient, as ``a`` above."""
    read = {e.name for s in walk_stmts(body) for part in _values(s) for e in walk(part) if isinstance(e, ir.Var)}

    def unread(stmt: ir.Stmt) -> bool:
        match stmt:
            case ir.Assign(ir.Var(name), ir.Member(ir.Var(source))):
                return source in held and name not in read
            case _:
                return False

    def kept(block: Block) -> Block:
        return tuple(map_blocks(s, kept) for s in block if not unread(s))

    return kept(body)


def _values(stmt: ir.Stmt) -> tuple[ir.Expr, ...]:
    """Return the expressions of a statement that it reads: a local that takes a value is not read."""
    if isinstance(stmt, ir.Assign) and isinstance(stmt.target, ir.Var):
        return (stmt.value,)
    return stmt_exprs(stmt)


def _read(body: Block, held: dict[str, ir.BackwardCall]) -> dict[str, tuple[int, ...]]:
    """Return the numbers of the gradients that are read, of the locals of which some but not all are."""
    all_, parts = Counter[str](), Counter[str]()
    numbers: dict[str, set[int]] = {}
    for expr in body_exprs(body):
        match expr:
            case ir.Var(name) if name in held:
                all_[name] += 1
            case ir.Member(ir.Var(name), item) if name in held:
                parts[name] += 1
                numbers.setdefault(name, set()).add(int(item.removeprefix("item")))
            case _:
                pass
    return {
        name: tuple(sorted(found))
        for name, found in numbers.items()
        if all_[name] == parts[name] + 1 and len(found) < len(_elements(held[name]))  # the assignment names it too
    }


def _elements(call: ir.BackwardCall) -> tuple[Type, ...]:
    return call.type.elements if isinstance(call.type, Tuple) else (call.type,)


def _assigned(body: Block, wanted: dict[str, _Wanted]) -> Block:
    def one(stmt: ir.Stmt) -> ir.Stmt:
        match stmt:
            case ir.Assign(ir.Var(name), ir.BackwardCall()) if name in wanted:
                return replace(stmt, value=wanted[name].call)
            case _:
                return map_blocks(stmt, lambda block: tuple(one(s) for s in block))

    return tuple(one(s) for s in body)


def _expr(expr: ir.Expr, wanted: dict[str, _Wanted]) -> ir.Expr:
    match expr:
        case ir.Member(ir.Var(name) as var, item) if name in wanted:
            found = wanted[name]
            whole = replace(var, type=found.type)
            if len(found.numbers) == 1:
                return whole
            number = found.numbers.index(int(item.removeprefix("item")))
            return replace(expr, value=whole, name=f"item{number}")
        case ir.Var(name) if name in wanted:
            return replace(expr, type=wanted[name].type)
        case _:
            return map_children(expr, lambda e: _expr(e, wanted))
