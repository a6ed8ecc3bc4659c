"""Decide from the index expressions of a tensor how the gradients of its elements are accumulated.

In a kernel over a domain of two axes, with ``i, j`` the thread's index:

    photo[i, j]                       ->  own        one thread for each element
    w[2]                              ->  shared     all threads read the same element
    photo[i, j] * photo[i + 1, j]     ->  scatter    anything else
    w[table[i, j]]                    ->  scatter

The sources of an index are found through locals, calls and loops. Only ``own`` must be certain, because its sums have
no protection against other threads.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Final, NamedTuple

from slangad.compiler.ir import nodes as ir
from slangad.compiler.ir.walk import blocks, body_exprs, children, root, statements, stmt_exprs

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping


class OwnIndex(NamedTuple):
    """The thread's index along an axis, plus a constant."""

    axis: int
    offset: int


class Kind(NamedTuple):
    """Another source of an index."""

    name: str


SHARED: Final = Kind("shared")
VARYING: Final = Kind("varying")

IndexSource = OwnIndex | Kind
"""The source of a value."""

Access = tuple[IndexSource, ...]


def accumulation_of(module: ir.Module, buffer: ir.Buffer) -> ir.Accumulation:
    """Return how the gradient of a tensor or texture is accumulated."""
    kernel = next(k for k in module.kernels if k.name == buffer.kernel)
    accesses = set(accesses_of(module, kernel, buffer.key))
    if all(source == SHARED for access in accesses for source in access):
        return ir.Accumulation.SHARED
    return ir.Accumulation.OWN if _is_own(accesses, kernel.dims) else ir.Accumulation.SCATTER


def _is_own(accesses: set[Access], dims: int) -> bool:
    """Return True if no two threads access one element: all accesses have the thread's whole index at the same axes."""
    places = {tuple((i, s) for i, s in enumerate(access) if isinstance(s, OwnIndex)) for access in accesses}
    return len(places) == 1 and {source.axis for _, source in next(iter(places))} == set(range(dims))


def accesses_of(module: ir.Module, kernel: ir.Kernel, key: str) -> Iterator[Access]:
    """Yield the indices of every element of a buffer that a kernel reads; those of a sampled texture are varying."""
    functions = {f.key: f for f in module.functions}
    function = functions[kernel.function]
    memories = {p.name: p.memory for p in kernel.params}
    given = {p.name: VARYING if memories[p.name] is ir.Memory.EACH else SHARED for p in function.params}
    yield from _AccessFinder(functions, key).accesses(function, given)


@dataclass(slots=True)
class _AccessFinder:
    """Finds the accesses to one buffer."""

    functions: Mapping[str, ir.Function]
    key: str

    def accesses(self, function: ir.Function, given: Mapping[str, IndexSource]) -> Iterator[Access]:
        """Yield the accesses of a function and its callees; ``given`` has the sources of its parameters."""
        sources = _IndexSources(dict(given))
        sources.follow(statements(function))
        for expr in body_exprs(statements(function)):
            match expr:
                case ir.Read(source=ir.Var(key), indices=indices) if key == self.key:
                    yield tuple(sources.of(index) for index in indices)
                case ir.Sample(source=ir.Var(key)) if key == self.key:
                    yield (VARYING, VARYING)
                case ir.Call(function=callee, args=args):
                    inner = self.functions[callee]
                    passed = {p.name: sources.of(a) for p, a in zip(inner.params, args, strict=True)}
                    yield from self.accesses(inner, passed)
                case _:
                    continue


@dataclass(slots=True)
class _IndexSources:
    """The sources of a function's locals. They change from ``shared`` to ``varying`` until nothing changes."""

    known: dict[str, IndexSource]
    changed: bool = False

    def follow(self, body: tuple[ir.Stmt, ...]) -> None:
        """Record the sources of the locals in a body; repeat until nothing changes."""
        self.changed = True
        while self.changed:
            self.changed = False
            self._block(body, SHARED)

    def _block(self, body: tuple[ir.Stmt, ...], under: IndexSource) -> None:
        for stmt in body:
            match stmt:
                case ir.Let(name=name, value=value) if value is not None:
                    self._store(name, self.of(value), under)
                case ir.Assign(target=target, value=value):
                    local = root(target)
                    if local is not None:
                        self._store(local.name, self.of(value) if target == local else VARYING, under)
                case ir.For(variable=variable, start=start, stop=stop):
                    self._store(variable, _meet(_part(self.of(start)), _part(self.of(stop))), under)
                case _:
                    pass
            inner = under if all(_part(self.of(e)) == SHARED for e in stmt_exprs(stmt)) else VARYING
            for block in blocks(stmt):
                self._block(block, inner)

    def _store(self, name: str, source: IndexSource, under: IndexSource) -> None:
        """Record a store. A local with a second value, or a value in some threads only, is not the thread's index."""
        stored = source if under == SHARED else VARYING
        found = stored if name not in self.known else _meet(self.known[name], stored)
        if self.known.get(name) != found:
            self.known[name] = found
            self.changed = True

    def of(self, expr: ir.Expr) -> IndexSource:
        """Return the source of an expression."""
        match expr:
            case ir.ThreadId(axis):
                return OwnIndex(axis, 0)
            case ir.Var(name):
                return self.known.get(name, SHARED)
            case ir.Const() | ir.ConstantRef() | ir.ThreadCount() | ir.Extent():
                return SHARED
            case ir.Cast(operand=value) | ir.NoDiff(value=value):
                return self.of(value)
            case ir.Binary(op="+" | "-" as op, left=left, right=right):
                return _shifted(op, self.of(left), left, self.of(right), right)
            case _:
                return SHARED if all(self.of(child) == SHARED for child in children(expr)) else VARYING


def _shifted(op: str, left: IndexSource, left_expr: ir.Expr, right: IndexSource, right_expr: ir.Expr) -> IndexSource:
    match (left, right_expr), (right, left_expr):
        case (OwnIndex(axis, offset), ir.Const(value=int(step))), _:
            return OwnIndex(axis, offset + step if op == "+" else offset - step)
        case _, (OwnIndex(axis, offset), ir.Const(value=int(step))) if op == "+":
            return OwnIndex(axis, offset + step)
        case _:
            return SHARED if left == right == SHARED else VARYING


def _part(source: IndexSource) -> IndexSource:
    return source if source == SHARED else VARYING


def _meet(a: IndexSource, b: IndexSource) -> IndexSource:
    return a if a == b else VARYING
