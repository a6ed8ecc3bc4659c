"""Let all threads of a group go through a loop that some leave early, so that they multiply by matrices together.

    for k in 0 .. 64:                         going = true
        d = net(o + t * r) * 0.1              for k in 0 .. 64:
        if d < 0.001: break            ->         if going: at = o + t * r
        t = t + d                                 product = net(at)
                                                  if going:
                                                      d = product * 0.1
                                                      if d < 0.001: going = false
                                                  if going:
                                                      t = t + d

A thread that has left multiplies with the others, again with what it multiplied last, and keeps nothing of it. Its
cotangents are zero, and the values are those of an iteration that it has run, so no product of theirs is infinite times
zero. A thread that leaves before it multiplies has 0.5 there. So what is called after that point has to be finite for
any number: the library's networks are, and functions of sums, products and a few others.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Final

from slangad.compiler import nn
from slangad.compiler.ir import nodes as ir
from slangad.compiler.ir.build import Fresh, number
from slangad.compiler.ir.types import BOOL, Array, Matrix, Scalar, Struct, Vector, count_scalars, is_floating
from slangad.compiler.ir.walk import (
    blocks,
    body_exprs,
    evaluated,
    map_stmt_exprs,
    rewrite,
    root,
    statements,
    stmt_exprs,
)
from slangad.compiler.passes.replay_loops.read import names_in, stored_in

if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Iterator

    from slangad.compiler.errors.spans import Span
    from slangad.compiler.ir.build import Block
    from slangad.compiler.ir.types import Type

_MOST: Final = 64
"""Numbers that a call takes: the thread holds them from one iteration to the next."""
_FINITE: Final = frozenset({
    "abs", "atan", "ceil", "clamp", "cos", "dot", "exp", "floor", "lerp", "max", "min", "saturate", "sign", "sin",
    "step", "tanh",
})  # fmt: skip
"""Intrinsics whose value and derivatives are finite for numbers that are not large."""
_LIBRARY: Final = Path(nn.__file__).resolve().parent
_YES, _NO = ir.Const(value=True, type=BOOL), ir.Const(value=False, type=BOOL)


class _Unsuitable(Exception):  # noqa: N818  (it is an answer, not an error)
    """The threads of a group can't go through a loop together."""


def stay_in_step(function: ir.Function, multiplying: Collection[str], finite: Collection[str]) -> ir.Function:
    """Return a function whose loops no thread leaves, where these call functions that multiply.

    Args:
        function: The function.
        multiplying: The keys of functions that multiply.
        finite: Those of them that are ``is_finite``, with all that they call.
    """
    body = statements(function)
    read = {e.name for e in body_exprs(body) if isinstance(e, ir.Var)}
    taken = {p.name for p in function.params} | {*stored_in(body)} | read
    return replace(function, body=_Body(multiplying, finite, Fresh(taken)).block(body))


@dataclass(slots=True)
class _Body:
    """Changes the loops of a body."""

    multiplying: Collection[str]
    finite: Collection[str]
    names: Fresh

    def block(self, body: Block) -> Block:
        """Return a block with other loops."""
        made: list[ir.Stmt] = []
        for stmt in body:
            if isinstance(stmt, ir.For) and any(map(_leaves, stmt.body)) and self._multiplies(stmt.body):
                try:
                    made += self._loop(stmt)
                except _Unsuitable:
                    made.append(stmt)
            elif isinstance(stmt, ir.For):
                made.append(replace(stmt, body=self.block(stmt.body)))
            else:
                made.append(stmt)
        return tuple(made)

    def _multiplies(self, body: Block) -> bool:
        return any(map(self._is_product, body_exprs(body)))

    def _loop(self, loop: ir.For) -> Block:
        """Return a loop that no thread leaves.

        Raises:
            _Unsuitable: Threads multiply in a branch, or by more than a thread can hold from one iteration to the next,
                or some leave before they multiply by what may be infinite.
        """
        going = ir.Var(self.names.name("going"), BOOL)
        skips = any(isinstance(s, ir.Continue) for s in _within(loop.body))
        here = ir.Var(self.names.name("here"), BOOL) if skips else going
        begun: list[ir.Stmt] = [ir.Assign(going, _YES, loop.span)]
        made: list[ir.Stmt] = [ir.Assign(here, going)] if skips else []
        guarded: list[ir.Stmt] = []
        changed = {loop.variable, *stored_in(loop.body)}
        complete = True

        def close() -> None:
            if guarded:
                made.append(ir.If(here, tuple(guarded), ()))
                guarded.clear()

        def together(call: ir.Call, span: Span) -> ir.Var:
            """Write a call for all threads, after its arguments for those that are here."""
            if not complete and call.function not in self.finite:
                raise _Unsuitable
            args: list[ir.Expr] = []
            for arg in call.args:
                of = root(arg)
                if isinstance(arg, ir.Const) or (of is not None and not changed & names_in(arg)):
                    args.append(arg)
                    continue
                held = self.names.var("at", arg.type)
                begun.append(ir.Assign(held, _inside(arg.type), span))
                guarded.append(ir.Assign(held, arg, span))
                args.append(held)
            close()
            result = self.names.var("product", call.type)
            made.append(ir.Assign(result, replace(call, args=tuple(args)), span))
            return result

        for stmt in loop.body:
            guarded += _guarded((self._without_calls(stmt, together),), going, here)
            if _leaves(stmt):
                close()
                complete = False
        close()
        return (*begun, replace(loop, body=tuple(made)))

    def _without_calls(self, stmt: ir.Stmt, together: Callable[[ir.Call, Span], ir.Var]) -> ir.Stmt:
        """Return a statement that reads locals in place of the results of calls that multiply, innermost first."""
        if not self._multiplies((stmt,)):
            return stmt
        inner = (s for block in blocks(stmt) for s in block)
        exprs = stmt_exprs(stmt)
        parts = [(e, certain) for expr in exprs for e, certain in evaluated(expr)]
        if self._multiplies(tuple(inner)) or not all(certain for e, certain in parts if self._is_product(e)):
            raise _Unsuitable
        if not isinstance(stmt, (ir.Assign, ir.If)):
            raise _Unsuitable

        def local(expr: ir.Expr) -> ir.Expr:
            return together(expr, stmt.span) if isinstance(expr, ir.Call) and self._is_product(expr) else expr

        return map_stmt_exprs(stmt, lambda e: rewrite(e, local))

    def _is_product(self, expr: ir.Expr) -> bool:
        return isinstance(expr, ir.Call) and expr.function in self.multiplying


def is_finite(function: ir.Function) -> bool:
    """Return True if a function and its derivatives are finite for any numbers, and no index is outside."""
    if Path(function.span.file).resolve().parent == _LIBRARY:
        return True
    exprs = [*body_exprs(statements(function))]
    indices = (e.index for e in exprs if isinstance(e, ir.Index))
    partial = any(isinstance(e, (ir.Read, ir.Sample)) or (isinstance(e, ir.Binary) and e.op in "/%") for e in exprs)
    known = all(e.name in _FINITE for e in exprs if isinstance(e, ir.Intrinsic))
    written = isinstance(function.body, tuple)
    return written and known and not partial and all(isinstance(index, ir.Const) for index in indices)


def _inside(type_: Type) -> ir.Expr:
    """Return 0.5, or 0 of integers, in each number of a type."""
    numbers = count_scalars(type_)
    if numbers.total() > _MOST:
        raise _Unsuitable
    match type_:
        case Scalar() if type_ == BOOL:
            return _NO
        case Scalar() | Vector() | Matrix():
            return number(0.5 if is_floating(type_) else 0, type_)
        case Array(element, size):
            return ir.Construct((_inside(element),) * size, type_)
        case Struct(fields=fields):
            return ir.Construct(tuple(_inside(f.type) for f in fields), type_)
        case _:
            raise _Unsuitable


def _guarded(body: Block, going: ir.Var, here: ir.Var) -> Block:
    """Return statements that set flags where they left the loop or the iteration, and do no more then."""
    made: list[ir.Stmt] = []
    for at, stmt in enumerate(body):
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
        rest = _guarded(body[at + 1 :], going, here)
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
