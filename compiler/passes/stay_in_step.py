"""Let all threads of a group go through a loop that some leave early, so that they multiply by matrices together.

    for k in 0 .. 64:                         going = true
        d = net(o + t * r)                    for k in 0 .. 64:
        if d < 0.001: break            ->         d = net(o + t * r)
        t = t + d                                 if going:
                                                      if d < 0.001: going = false
                                                  if going:
                                                      t = t + d

A thread that has left computes what the others multiply, with the values that it left with, and keeps nothing of it.
Its cotangents are zero. Calls that multiply, and what they need of the iteration, are computed by all threads;
everything else is done under the flag.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from slangad.compiler.ir import nodes as ir
from slangad.compiler.ir.build import Fresh
from slangad.compiler.ir.types import BOOL
from slangad.compiler.ir.walk import blocks, body_exprs, statements
from slangad.compiler.passes.replay_loops.read import names_in, reads_of, stored_in

if TYPE_CHECKING:
    from collections.abc import Collection, Iterator

    from slangad.compiler.ir.build import Block

_YES, _NO = ir.Const(value=True, type=BOOL), ir.Const(value=False, type=BOOL)


class _Unsuitable(Exception):  # noqa: N818  (it is an answer, not an error)
    """The threads of a group can't go through a loop together."""


def stay_in_step(function: ir.Function, multiplying: Collection[str]) -> ir.Function:
    """Return a function whose loops no thread leaves, where these call functions that multiply."""
    body = statements(function)
    params = {p.name for p in function.params}
    taken = params | {*stored_in(body)} | {e.name for e in body_exprs(body) if isinstance(e, ir.Var)}
    return replace(function, body=_Body(multiplying, Fresh(taken), params).block(body, set()))


@dataclass(slots=True)
class _Body:
    """Changes the loops of a body. ``before`` are the names that have values so far."""

    multiplying: Collection[str]
    names: Fresh
    before: set[str]

    def block(self, body: Block, live: set[str]) -> Block:
        """Return a block with other loops; ``live`` are names that are read after it."""
        made: list[ir.Stmt] = []
        for number, stmt in enumerate(body):
            later = {*live, *(name for s in body[number + 1 :] for name in reads_of(s))}
            if isinstance(stmt, ir.For) and any(map(_leaves, stmt.body)) and self._multiplies(stmt.body):
                try:
                    made += self._loop(stmt, later)
                except _Unsuitable:
                    made.append(stmt)
            elif isinstance(stmt, ir.For):
                made.append(replace(stmt, body=self.block(stmt.body, later | {*reads_of(stmt)})))
            else:
                made.append(stmt)
            self.before |= {*stored_in((stmt,))}
        return tuple(made)

    def _multiplies(self, body: Block) -> bool:
        return any(isinstance(e, ir.Call) and e.function in self.multiplying for e in body_exprs(body))

    def _loop(self, loop: ir.For, later: set[str]) -> Block:
        """Return a loop that no thread leaves.

        Raises:
            _Unsuitable: Threads multiply in a branch, or need what a branch sets.
        """
        going = ir.Var(self.names.name("going"), BOOL)
        skips = any(isinstance(s, ir.Continue) for s in _within(loop.body))
        here = ir.Var(self.names.name("here"), BOOL) if skips else going
        carried = (self.before | later) & {*stored_in(loop.body)}
        together = self._together(loop.body, carried)
        made: list[ir.Stmt] = [ir.Assign(here, going)] if skips else []
        guarded: list[ir.Stmt] = []

        def close() -> None:
            if guarded:
                made.append(ir.If(here, tuple(guarded), ()))
                guarded.clear()

        for number, stmt in enumerate(loop.body):
            if number in together:
                assert isinstance(stmt, ir.Assign)  # noqa: S101  (as _together says)
                assert isinstance(stmt.target, ir.Var)  # noqa: S101
                close()
                if stmt.target.name in carried:
                    local = self.names.var(stmt.target.name, stmt.value.type)
                    made.append(replace(stmt, target=local))
                    guarded.append(replace(stmt, value=local))
                else:
                    made.append(stmt)
                continue
            guarded += _guarded((stmt,), going, here)
            if _leaves(stmt):
                close()
        close()
        return (ir.Assign(going, _YES, loop.span), replace(loop, body=tuple(made)))

    def _together(self, body: Block, carried: set[str]) -> set[int]:
        """Return the numbers of the statements that all threads run: calls that multiply, and what these need."""
        found: set[int] = set()
        needed: set[str] = set()
        for number in reversed(range(len(body))):
            stmt = body[number]
            multiplies = self._multiplies((stmt,))
            if not multiplies and not needed & {*stored_in((stmt,))} - carried:
                continue  # under the flag, where what is carried keeps the value of the last iteration
            if not (isinstance(stmt, ir.Assign) and isinstance(stmt.target, ir.Var)):
                raise _Unsuitable
            found.add(number)
            needed -= {stmt.target.name}
            needed |= names_in(stmt.value)
        if not found or (needed - carried) & {*stored_in(body)}:
            raise _Unsuitable  # a value of the iteration before
        return found


def _guarded(body: Block, going: ir.Var, here: ir.Var) -> Block:
    """Return statements that set flags where they left the loop or the iteration, and do no more then."""
    made: list[ir.Stmt] = []
    for number, stmt in enumerate(body):
        flags = {ir.Break: dict.fromkeys((going, here)), ir.Continue: dict.fromkeys((here,))}.get(type(stmt))
        if flags is not None:
            return (*made, *(ir.Assign(flag, _NO, stmt.span) for flag in flags))
        if not _leaves(stmt):
            made.append(stmt)
            continue
        assert isinstance(stmt, ir.If)  # noqa: S101  (loops keep their own)
        sides = (_guarded(side, going, here) for side in (stmt.then, stmt.other))
        then, other = sides
        made.append(replace(stmt, then=then, other=other))
        rest = _guarded(body[number + 1 :], going, here)
        return (*made, ir.If(here, rest, ())) if rest else tuple(made)
    return tuple(made)


def _leaves(stmt: ir.Stmt) -> bool:
    """Return True if a statement may leave the loop that it is in, or its iteration."""
    return any(isinstance(s, (ir.Break, ir.Continue)) for s in _within((stmt,)))


def _within(body: Block) -> Iterator[ir.Stmt]:
    """Yield statements and those in their branches, without those of loops."""
    for stmt in body:
        yield stmt
        if isinstance(stmt, ir.If):
            for block in blocks(stmt):
                yield from _within(block)
