"""Bound the indices of a kernel into a tensor, where bounds are known before it runs.

Bounds come from constants, loop variables and the arguments of calls. A local counts if it is stored once. The thread's
index, values of parameters and values in memory have no bounds here:

    for k in range(4): total += w[k, 0] * w[k, 1]        ->        (4, 2)
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from slangad.compiler.ir import nodes as ir
from slangad.compiler.ir.intervals import Interval, combine
from slangad.compiler.ir.types import INT, UINT
from slangad.compiler.ir.walk import blocks, body_exprs, root, statements, walk_stmts

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping


def read_extents(module: ir.Module, kernel: ir.Kernel, buffer: ir.Buffer) -> tuple[int, ...]:
    """Return the elements along each axis of a tensor that a kernel may read; nothing if an index has no bounds."""
    functions = {f.key: f for f in module.functions}
    reader = _ReadFinder(functions, buffer.key)
    reach: tuple[int, ...] = ()
    for indices in reader.reads(functions[kernel.function], {}):
        bounds = [interval for interval in indices if interval is not None and interval.low >= 0]
        if len(bounds) < len(indices):
            return ()
        reach = tuple(
            max(interval.high + 1, before) for interval, before in zip(bounds, reach or [0] * len(bounds), strict=True)
        )
    differentiated = any(reader.is_read_in(f) for f in module.functions if f.key not in reader.seen)
    return () if differentiated else reach


@dataclass(slots=True)
class _ReadFinder:
    """Finds the reads of one buffer; ``seen`` has the functions that were searched."""

    functions: Mapping[str, ir.Function]
    key: str
    seen: set[str] = field(default_factory=set)

    def is_read_in(self, function: ir.Function) -> bool:
        """Return True if a function itself reads it."""
        return any(isinstance(e, ir.Read) and self._is_own(e) for e in body_exprs(statements(function)))

    def _is_own(self, read: ir.Read) -> bool:
        return isinstance(read.source, ir.Var) and read.source.name == self.key

    def reads(
        self, function: ir.Function, ranges: Mapping[str, Interval | None]
    ) -> Iterator[tuple[Interval | None, ...]]:
        """Yield the bounds of the indices of a function's reads, and of those of all it calls."""
        self.seen.add(function.key)
        body = statements(function)
        known = _Ranges(frozenset(_stored_again(body)), dict(ranges))
        known.follow(body)
        for expr in body_exprs(body):
            match expr:
                case ir.Read(indices=indices) if self._is_own(expr):
                    yield tuple(known.of(index) for index in indices)
                case ir.Call(function=callee, args=args):
                    inner = self.functions[callee]
                    passed = {p.name: known.of(a) for p, a in zip(inner.params, args, strict=True)}
                    yield from self.reads(inner, passed)
                case _:
                    continue


def _stored_again(body: tuple[ir.Stmt, ...]) -> Iterator[str]:
    """Return locals and parameters that are stored into after their declaration, or declared twice."""
    declared: set[str] = set()
    for stmt in walk_stmts(body):
        match stmt:
            case ir.Assign(target=target):
                local = root(target)
                if local is not None:
                    yield local.name
            case ir.Let(name=name) | ir.For(variable=name):
                if name in declared:
                    yield name
                declared.add(name)
            case _:
                continue


@dataclass(slots=True)
class _Ranges:
    """The known bounds of a function's locals; those in ``changing`` have none."""

    changing: frozenset[str]
    known: dict[str, Interval | None] = field(default_factory=dict)

    def follow(self, body: tuple[ir.Stmt, ...]) -> None:
        """Record the bounds of the locals in a body, in order."""
        for stmt in body:
            match stmt:
                case ir.Let(name=name, value=value) if value is not None:
                    self.known[name] = self.of(value)
                case ir.For(variable=variable):
                    self.known[variable] = self._iterations(stmt)
                case _:
                    pass
            for block in blocks(stmt):
                self.follow(block)

    def _iterations(self, loop: ir.For) -> Interval | None:
        """Return the bounds of a loop variable. If the end is unknown, the loop's limit gives them."""
        start, stop = self.of(loop.start), self.of(loop.stop)
        if start is None:
            return None
        last = loop.step * max(loop.limit - 1, 0)
        if loop.step > 0:
            return Interval(start.low, max(start.low, start.high + last if stop is None else stop.high - 1))
        return Interval(min(start.high, start.low + last if stop is None else stop.low + 1), start.high)

    def of(self, expr: ir.Expr) -> Interval | None:
        """Return the bounds of an integer expression."""
        if expr.type not in (INT, UINT):
            return None
        match expr:
            case ir.Const(value=value):
                return Interval(int(value), int(value))
            case ir.Var(name):
                return None if name in self.changing else self.known.get(name)
            case ir.Cast(operand=value) | ir.NoDiff(value=value):
                return self.of(value)
            case ir.Unary(op="-", operand=value):
                inner = self.of(value)
                return inner and Interval(-inner.high, -inner.low)
            case ir.Binary(op=op, left=left, right=right):
                return combine(op, self.of(left), self.of(right))
            case ir.Intrinsic(name="min" | "max" as name, args=(first, second)):
                return combine(name, self.of(first), self.of(second))
            case _:
                return None
