"""Shorten generated statements: leave out what nothing reads, put values that are read once where they are read.

    product#1 = a * b          d_x = d * (a * b)
    d_x = d * product#1   ->   return d_x
    e = d * a
    return d_x

Each local is assigned once, or once on each side of a branch. In the end copies share a name, and names are plain.
"""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from slangad.compiler.ir import nodes as ir
from slangad.compiler.ir.build import Fresh
from slangad.compiler.ir.types import BOOL
from slangad.compiler.ir.walk import (
    map_blocks,
    map_body_exprs,
    map_children,
    map_stmt_exprs,
    rewrite,
    stmt_exprs,
    walk,
    walk_stmts,
)

if TYPE_CHECKING:
    from collections.abc import Collection, Iterator, Mapping

    from slangad.compiler.ir.build import Block
    from slangad.compiler.ir.walk import ExprMap

_ACCESS = (ir.Member, ir.Swizzle, ir.Index)


def shorten(
    body: Block, params: Collection[str], temporary: Collection[str], running: Collection[str] = ()
) -> Block:
    """Return the statements without needless locals.

    Args:
        body: The statements. Each assigns a local.
        params: The names that are not locals.
        temporary: The locals that may go if they are read once. Others stay for the reader.
        running: The locals of calls that do more than to return a value, which stay.
    """
    body = _inlined(_live(body, {*running}), temporary)
    return _renamed(_plain_branches(_merged(body, params)), params)


def _vars(expr: ir.Expr) -> Iterator[str]:
    return (e.name for e in walk(expr) if isinstance(e, ir.Var))


def _live(body: Block, live: set[str]) -> Block:
    """Return the statements whose locals are read later. ``live`` are the names that are, also after the call."""
    kept: list[ir.Stmt] = []
    for stmt in reversed(body):
        match stmt:
            case ir.Assign(ir.Var(name), value):
                if name not in live:
                    continue
                live.update(_vars(value))
                kept.append(stmt)
            case ir.If(condition, then, other, span):
                sides = _live(then, live), _live(other, live)
                if sides != ((), ()):
                    live.update(_vars(condition))
                    kept.append(ir.If(condition, *sides, span))
            case _:
                live.update(name for expr in stmt_exprs(stmt) for name in _vars(expr))
                kept.append(stmt)
    return tuple(reversed(kept))


def _inlined(body: Block, temporary: Collection[str]) -> Block:
    """Return the statements with the values of temporary locals that are read once in their place."""
    exprs = [e for stmt in walk_stmts(body) for e in _read_by(stmt)]
    counts = Counter(name for expr in exprs for name in _vars(expr))
    parted = {e.value for expr in exprs for e in walk(expr) if isinstance(e, _ACCESS)}
    values = {
        stmt.target.name: stmt.value
        for stmt in walk_stmts(body)
        if isinstance(stmt, ir.Assign) and isinstance(stmt.target, ir.Var)
        if stmt.target.name in temporary and counts[stmt.target.name] == 1 and stmt.target not in parted
    }

    def value(expr: ir.Expr) -> ir.Expr:
        if isinstance(expr, ir.Var) and expr.name in values:
            return value(values[expr.name])
        return map_children(expr, value)

    def block(inner: Block) -> Block:
        return tuple(map_blocks(_map_read(s, value), block) for s in inner if _stored(s) not in values)

    return block(body)


def _read_by(stmt: ir.Stmt) -> tuple[ir.Expr, ...]:
    return (stmt.value,) if isinstance(stmt, ir.Assign) else stmt_exprs(stmt)


def _map_read(stmt: ir.Stmt, f: ExprMap) -> ir.Stmt:
    return replace(stmt, value=f(stmt.value)) if isinstance(stmt, ir.Assign) else map_stmt_exprs(stmt, f)


def _stored(stmt: ir.Stmt) -> str:
    """Return the local that a statement assigns; empty for others."""
    return stmt.target.name if isinstance(stmt, ir.Assign) and isinstance(stmt.target, ir.Var) else ""


def _merged(body: Block, params: Collection[str]) -> Block:
    """Return the statements with one name for a local and its copy, if neither is read where only the other is new."""
    events = [*_events(body, ())]
    names: dict[str, str] = {}
    while True:
        pair = next(((e.name, e.copied) for e in events if _may_share(events, e, params)), None)
        if pair is None:
            return _without_copies(_with_names(body, names))
        names = {pair[0]: pair[1], **{old: pair[1] if new == pair[0] else new for old, new in names.items()}}
        events = [e.renamed(*pair) for e in events if (e.name, e.copied) != pair]


def _with_names(body: Block, names: Mapping[str, str]) -> Block:
    def named(expr: ir.Expr) -> ir.Expr:
        return replace(expr, name=names.get(expr.name, expr.name)) if isinstance(expr, ir.Var) else expr

    return map_body_exprs(body, lambda e: rewrite(e, named))


def _without_copies(body: Block) -> Block:
    kept = (map_blocks(s, _without_copies) for s in body)
    return tuple(s for s in kept if not (isinstance(s, ir.Assign) and s.target == s.value))


@dataclass(frozen=True, slots=True)
class _Event:
    """A read or a store of a local; ``copied`` is what a store copies.

    ``sides`` are the sides of branches that it is in, with the conditions. Each local has one value as yet, so equal
    conditions are the same condition.
    """

    name: str
    stores: bool
    sides: tuple[tuple[ir.Expr, bool], ...]
    copied: str = ""

    def renamed(self, old: str, new: str) -> _Event:
        """Return the event with another name for a local."""
        name, copied = (new if name == old else name for name in (self.name, self.copied))
        return replace(self, name=name, copied="" if copied == name else copied)


def _events(body: Block, sides: tuple[tuple[ir.Expr, bool], ...]) -> Iterator[_Event]:
    """Yield reads and stores in the order of the text."""
    for stmt in body:
        yield from (_Event(name, stores=False, sides=sides) for expr in _read_by(stmt) for name in _vars(expr))
        if isinstance(stmt, ir.Assign):
            copied = stmt.value.name if isinstance(stmt.value, ir.Var) else ""
            yield _Event(_stored(stmt), stores=True, sides=sides, copied=copied)
        if isinstance(stmt, ir.If):
            yield from _events(stmt.then, (*sides, (stmt.condition, True)))
            yield from _events(stmt.other, (*sides, (stmt.condition, False)))


def _may_share(events: list[_Event], copy: _Event, params: Collection[str]) -> bool:
    """Return True for a copy at the end of a side of a branch if both locals can have the same name."""
    if not copy.copied or {copy.name, copy.copied} & {*params} or _plain(copy.name) != _plain(copy.copied):
        return False
    return _undisturbed(events, copy.name, copy.copied) and _undisturbed(events, copy.copied, copy.name)


def _plain(name: str) -> str:
    """Return a name without the number of its version."""
    return name.split("#", maxsplit=1)[0]


def _undisturbed(events: list[_Event], name: str, other: str) -> bool:
    """Return True if every read of a local finds its value also where stores of the other one overwrite it."""
    first = next(n for n, e in enumerate(events) if e.stores and e.name == name)
    for at, store in enumerate(events):
        if at < first or not store.stores or store.name != other or store.copied == name:
            continue
        for read in events[at + 1 :]:
            if read.stores and read.name == name and read.sides == store.sides:
                break
            if not read.stores and read.name == name and not _exclusive(read, store):
                return False
    return True


def _exclusive(a: _Event, b: _Event) -> bool:
    """Return True if two events are on different sides of a branch."""
    sides = dict(a.sides)
    return any(sides.get(branch, side) != side for branch, side in b.sides)


def _plain_branches(body: Block) -> Block:
    """Return the statements without empty sides of branches."""
    kept: list[ir.Stmt] = []
    for stmt in body:
        match map_blocks(stmt, _plain_branches):
            case ir.If(_, (), ()):
                continue
            case ir.If(condition, (), other, span):
                kept.append(ir.If(ir.Unary("!", condition, BOOL), other, (), span))
            case ir.If(condition, then, other) as branch if _is_start(other, then, condition):
                kept += (*other, replace(branch, other=()))
            case ir.If(condition, then, other) as branch if _is_start(then, other, condition):
                kept += (*then, replace(branch, condition=ir.Unary("!", condition, BOOL), then=other, other=()))
            case changed:
                kept.append(changed)
    return tuple(kept)


def _is_start(side: Block, other: Block, condition: ir.Expr) -> bool:
    """Return True if one side of a branch only sets locals to numbers which the other one sets too, unread."""
    reads = {e.name for e in _events(other, ()) if not e.stores} | {*_vars(condition)}
    values = [s.value for s in side if isinstance(s, ir.Assign)]
    stored, always = {*map(_stored, side)}, {_stored(s) for s in other if isinstance(s, ir.Assign)}
    return len(values) == len(side) and all(not [*_vars(v)] for v in values) and stored <= always and not reads & stored


def _renamed(body: Block, params: Collection[str]) -> Block:
    """Return the statements with names without numbers of versions, as far as these are free."""
    fresh, names = Fresh({*params}), {name: name for name in params}
    for stmt in walk_stmts(body):
        if (name := _stored(stmt)) and name not in names:
            names[name] = fresh.name(_plain(name))
    return _with_names(body, names)
