"""Decide from the index expressions of a tensor how the gradients of its elements are accumulated.

In a kernel over a domain of two axes, with ``i, j`` the thread's index:

    photo[i, j]                       ->  own        one thread for each element
    w[2]                              ->  shared     all threads read the same element
    cells[i // 16 + j // 16]          ->  together   all threads of a block of 16 x 16 read the same element
    photo[i, j] * photo[i + 1, j]     ->  scatter    anything else
    w[table[i, j]]                    ->  scatter

The sources of an index are found through locals, calls and loops. ``own`` must be certain, because its sums have no
protection against other threads, and ``shared``, because groups multiply by a matrix that all threads read
(``find_products``). ``together`` is a hint: a wave looks if its threads have the same element.
"""

from __future__ import annotations

import math
from collections import Counter
from dataclasses import dataclass, field, replace
from itertools import count
from typing import TYPE_CHECKING, Final, NamedTuple

from slangad.compiler.ir import nodes as ir
from slangad.compiler.ir.assignment import sets_before_reading
from slangad.compiler.ir.types import DOUBLE, Tensor, count_scalars, is_integral
from slangad.compiler.ir.walk import (
    blocks,
    body_exprs,
    children,
    map_blocks,
    map_body_exprs,
    rewrite,
    root,
    statements,
    stmt_exprs,
    walk,
    walk_stmts,
)
from slangad.compiler.passes.replay_loops.read import stored_in

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping

_FEWEST: Final = 32
"""Threads of a tile that read the same element: those of a wave. Fewer: waves add up for nothing."""
_ADJACENT: Final = 8
"""Threads along the last axis of a tile, which access neighbouring elements: 32 bytes of floats. Fewer: a wave reads
more segments of memory than it needs."""
_MOST: Final = 256
"""Threads of a tile: those of a group that adds up. More: a group has a part of a tile."""
_FOR_GOOD: Final = (ir.Break, ir.Return)
_LEAVING: Final = (*_FOR_GOOD, ir.Continue)


class OwnIndex(NamedTuple):
    """The thread's index along an axis, plus a constant."""

    axis: int
    offset: int


class Uniform(NamedTuple):
    """Another source: a value that is the same in blocks of the domain.

    ``blocks`` has the extent of an aligned block along each axis; 0 is the whole axis, 1 a single index. ``why`` is the
    expression that made the blocks so small, in the language; empty for a value that all threads share.
    """

    blocks: tuple[int, int, int]
    why: str = ""


SHARED: Final = Uniform((0, 0, 0))

IndexSource = OwnIndex | Uniform
"""The source of a value."""

Access = tuple[IndexSource, ...]


class Decision(NamedTuple):
    """How the gradient of a tensor is accumulated, the blocks in which threads agree, the expression that decides."""

    accumulation: ir.Accumulation
    blocks: tuple[int, ...] = ()
    why: str = ""


def accumulation_of(module: ir.Module, buffer: ir.Buffer, accesses: set[Access] | None = None) -> Decision:
    """Return how the gradient of a tensor or texture is accumulated; ``accesses`` are its own if they are known."""
    kernel = next(k for k in module.kernels if k.name == buffer.kernel)
    accesses = set(accesses_of(module, kernel, buffer.key)) if accesses is None else accesses
    sources = [source for access in accesses for source in access]
    if all(source == SHARED for source in sources):
        return Decision(ir.Accumulation.SHARED)
    if _is_own(accesses, kernel.dims):
        return Decision(ir.Accumulation.OWN)
    whole = _joined(sources)
    blocks = whole.blocks[: kernel.dims]
    together = tile_of(blocks) if kernel.tile is None else _fits(blocks, kernel.tile)
    if together and isinstance(buffer.type, Tensor) and not buffer.type.writes and _adds_floats(buffer.type):
        return Decision(ir.Accumulation.TOGETHER, blocks, whole.why)
    return Decision(ir.Accumulation.SCATTER, blocks, whole.why)


def _adds_floats(tensor: Tensor) -> bool:
    return DOUBLE not in count_scalars(tensor.element)


def tile_of(blocks: tuple[int, ...]) -> tuple[int, ...]:
    """Return the extents of a tile in which threads agree; none if there are fewer than a wave has.

    They are powers of two that divide the extents of the blocks, as equal as can be, up to a group's threads.
    """
    tile = [1] * len(blocks)
    within = [extent or _FEWEST for extent in blocks]
    while 2 * math.prod(tile) <= _MOST:
        axes = [a for a in reversed(range(len(blocks))) if within[a] % (2 * tile[a]) == 0]
        if not axes:
            break
        tile[min(axes, key=lambda a: tile[a])] *= 2
    return tuple(tile) if math.prod(tile) >= _FEWEST and tile[-1] >= _ADJACENT else ()


def _fits(blocks: tuple[int, ...], tile: tuple[int, ...]) -> bool:
    """Return True if the first threads of a tile, as many as a wave has, lie in one block; without a tile, of a row."""
    left = _FEWEST
    for block, extent in zip(reversed(blocks), reversed(tile or (1, *(_FEWEST for _ in blocks[1:]))), strict=True):
        along = min(extent, left)
        left //= along
        if block % along:
            return False
    return left == 1


def _is_own(accesses: set[Access], dims: int) -> bool:
    """Return True if no two threads access one element: all accesses have the thread's whole index at the same axes."""
    places = {tuple((i, s) for i, s in enumerate(access) if isinstance(s, OwnIndex)) for access in accesses}
    return len(places) == 1 and {source.axis for _, source in next(iter(places))} == set(range(dims))


def accesses_of(module: ir.Module, kernel: ir.Kernel, key: str) -> Iterator[Access]:
    """Yield the indices of every element of a buffer that a kernel reads; those of a sampled texture are varying."""
    functions = {f.key: f for f in module.functions}
    function = functions[kernel.function]
    yield from _AccessFinder(functions, key).accesses(function, _sources_of_params(kernel, function))


def blocks_of(kernel: ir.Kernel, function: ir.Function, exprs: Iterable[ir.Expr]) -> Iterator[tuple[int, ...]]:
    """Yield the extents of the blocks of the domain in which expressions of a kernel's function have the same value.

    0 is the whole axis. The kernel must not write what the expressions read.
    """
    sources = _IndexSources(_sources_of_params(kernel, function))
    sources.follow(statements(function))
    for expr in exprs:
        yield _part(sources.of(expr)).blocks[: kernel.dims]


def conditions_of(kernel: ir.Kernel, function: ir.Function) -> Iterator[tuple[ir.Stmt, Uniform]]:
    """Yield every statement of a kernel's function, with the blocks in which threads come by together."""
    sources = _IndexSources(_sources_of_params(kernel, function))
    sources.follow(statements(function))
    for stmt in walk_stmts(statements(function)):
        under = sources.conditions[id(stmt)]
        if isinstance(stmt, (ir.For, ir.While)):
            under = _joined([under, *(sources.of(e) for e in stmt_exprs(stmt))])
        yield stmt, under


def _sources_of_params(kernel: ir.Kernel, function: ir.Function) -> dict[str, IndexSource]:
    memories = {p.name: p.memory for p in kernel.params}
    return {p.name: _varying(p.name) if memories[p.name] is ir.Memory.EACH else SHARED for p in function.params}


@dataclass(slots=True)
class _AccessFinder:
    """Finds the accesses to one buffer."""

    functions: Mapping[str, ir.Function]
    key: str

    def accesses(self, function: ir.Function, of_params: Mapping[str, IndexSource]) -> Iterator[Access]:
        """Yield the accesses of a function and its callees; ``of_params`` has the sources of its parameters."""
        sources, body = _IndexSources(dict(of_params)), _with_own_counters(statements(function))
        sources.follow(body)
        for expr in body_exprs(body):
            match expr:
                case ir.Read(source=ir.Var(key), indices=indices) if key == self.key:
                    yield tuple(sources.of(index) for index in indices)
                case ir.Sample(source=ir.Var(key)) if key == self.key:
                    yield (_varying("the place of a sample"),)
                case ir.Call(function=callee, args=args):
                    inner = self.functions[callee]
                    passed = {p.name: sources.of(a) for p, a in zip(inner.params, args, strict=True)}
                    yield from self.accesses(inner, passed)
                case _:
                    continue


def _with_own_counters(body: tuple[ir.Stmt, ...]) -> tuple[ir.Stmt, ...]:
    """Return a body in which loops side by side have counters of their own.

    Several may have one name. That threads run one of the loops differently says nothing of the others.
    """
    loops = [stmt for stmt in walk_stmts(body) if isinstance(stmt, ir.For)]
    again = {name for name, times in Counter(loop.variable for loop in loops).items() if times > 1}
    if not again:
        return body
    reads = Counter(e.name for e in body_exprs(body) if isinstance(e, ir.Var))
    declared = {s.name for s in walk_stmts(body) if isinstance(s, ir.Let)}
    for name in sorted(again - {*declared, *stored_in(body)}):
        named = [loop for loop in loops if loop.variable == name]
        inside = [e for loop in named for e in body_exprs(loop.body) if isinstance(e, ir.Var) and e.name == name]
        nested = any(isinstance(s, ir.For) and s.variable == name for loop in named for s in walk_stmts(loop.body))
        if not nested and len(inside) == reads[name]:
            body = _numbered(body, name, count(1))
    return body


def _numbered(body: tuple[ir.Stmt, ...], name: str, numbers: Iterator[int]) -> tuple[ir.Stmt, ...]:
    """Return a body whose loops with a counter of this name have counters with numbers."""

    def loop_of(stmt: ir.Stmt) -> ir.Stmt:
        if not isinstance(stmt, ir.For) or stmt.variable != name:
            return map_blocks(stmt, lambda block: _numbered(block, name, numbers))
        own = f"{name} {next(numbers)}"  # (no name of a user's)

        def renamed(expr: ir.Expr) -> ir.Expr:
            return replace(expr, name=own) if isinstance(expr, ir.Var) and expr.name == name else expr

        return replace(stmt, variable=own, body=map_body_exprs(stmt.body, lambda expr: rewrite(expr, renamed)))

    return tuple(map(loop_of, body))


@dataclass(frozen=True, slots=True)
class _Left:
    """Under what threads have left the loops around a block. Those that go on have run as many iterations.

    Attributes:
        loops: There are loops.
        exits: The conditions, with blocks of the domain in which threads leave together.
        inside: The locals of which only threads that go on read values.
    """

    loops: bool = False
    exits: Uniform = SHARED
    inside: frozenset[str] = frozenset()

    def within(self, inside: frozenset[str], exits: Iterable[IndexSource]) -> _Left:
        """Return the same in another loop."""
        return _Left(True, _joined([self.exits, *exits]), self.inside & inside if self.loops else inside)  # noqa: FBT003

    def condition(self, name: str, under: Uniform) -> Uniform:
        """Return the condition under which the values of a local differ between threads, besides what is stored."""
        if name not in self.inside:
            return _joined([under, self.exits])
        return under if self.exits == SHARED else _joined([under, Uniform(SHARED.blocks, self.exits.why)])


@dataclass(slots=True)
class _IndexSources:
    """The sources of a function's locals. Their blocks become smaller until nothing changes."""

    known: dict[str, IndexSource]
    changed: bool = False
    inside: dict[int, frozenset[str]] = field(default_factory=dict)
    """By loop, the locals of which only threads that go on in it read values."""
    conditions: dict[int, Uniform] = field(default_factory=dict)
    """By statement, the condition under which threads come by."""

    def follow(self, body: tuple[ir.Stmt, ...]) -> None:
        """Record the sources of the locals in a body; repeat until nothing changes."""
        self._find_inside(body, Counter(e.name for e in body_exprs(body) if isinstance(e, ir.Var)), nested=False)
        self.changed = True
        while self.changed:
            self.changed = False
            self._block(body, SHARED, _Left())

    def _find_inside(self, body: tuple[ir.Stmt, ...], reads: Counter[str], *, nested: bool) -> None:
        """Find the locals that nothing reads outside of a loop, nor when a loop around it comes by again."""
        for stmt in body:
            loop = isinstance(stmt, (ir.For, ir.While))
            if isinstance(stmt, (ir.For, ir.While)):
                own = Counter(e.name for e in body_exprs((stmt,)) if isinstance(e, ir.Var))
                names = (name for name, count in own.items() if count == reads[name])
                self.inside[id(stmt)] = frozenset(n for n in names if not nested or sets_before_reading(stmt.body, n))
            for block in blocks(stmt):
                self._find_inside(block, reads, nested=nested or loop)

    def _block(self, body: tuple[ir.Stmt, ...], under: Uniform, left: _Left) -> None:
        """Record what a block stores; ``under`` is the condition under which its statements run."""
        for stmt in body:
            self.conditions[id(stmt)] = _joined([under, left.exits])
            match stmt:
                case ir.Let(name=name, value=value) if value is not None:
                    self._store(name, self.of(value), left.condition(name, under))
                case ir.Assign(target=target, value=value):
                    local = root(target)
                    if local is not None:
                        parts = (value, *(e for e in walk(target) if e != local))
                        source = self.of(value) if target == local else _joined([self.of(e) for e in parts])
                        self._store(local.name, source, left.condition(local.name, under))
                case ir.For(variable=variable, start=start, stop=stop):
                    source = _joined([self.of(start), self.of(stop)])
                    self._store(variable, source, left.condition(variable, under))
                case _:
                    pass
            inner, leaving = _joined([under, *(self.of(e) for e in stmt_exprs(stmt))]), left
            if isinstance(stmt, (ir.For, ir.While)):
                leaving = left.within(self.inside[id(stmt)], self._exits(stmt, _FOR_GOOD))
            for block in blocks(stmt):
                self._block(block, inner, leaving)
            if not isinstance(stmt, (ir.For, ir.While)):
                under = _joined([under, *self._exits(stmt, (ir.Continue,) if left.loops else _LEAVING)])

    def _exits(self, stmt: ir.Stmt, kinds: tuple[type[ir.Stmt], ...]) -> Iterator[IndexSource]:
        """Yield the conditions under which threads leave by such statements: the others go on without them."""
        for branch in walk_stmts((stmt,)):
            if isinstance(branch, ir.If) and any(isinstance(s, kinds) for s in walk_stmts((branch,))):
                yield self.of(branch.condition)

    def _store(self, name: str, source: IndexSource, under: Uniform) -> None:
        """Record a store. A local with a second value, or a value in some threads only, is not the thread's index."""
        stored = source if under == SHARED else _joined([source, under])
        merged = stored if name not in self.known else _meet(self.known[name], stored)
        if self.known.get(name) != merged:
            self.known[name] = merged
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
            case ir.Cast(operand=value) if not (is_integral(expr.type) and is_integral(value.type)):
                return _part(self.of(value))  # several large numbers are one float
            case ir.Cast(operand=value) | ir.NoDiff(value=value):
                return self.of(value)
            case ir.Binary(op="+" | "-" as op, left=left, right=right):
                return _shifted(op, self.of(left), left, self.of(right), right)
            case ir.Intrinsic(name="floor_div", args=(left, ir.Const(value=int(size)))) if size > 0:
                return _in_blocks(self.of(left), size)
            case _:
                return _joined([self.of(child) for child in children(expr)])


def _shifted(op: str, left: IndexSource, left_expr: ir.Expr, right: IndexSource, right_expr: ir.Expr) -> IndexSource:
    match (left, right_expr), (right, left_expr):
        case (OwnIndex(axis, offset), ir.Const(value=int(step))), _:
            return OwnIndex(axis, offset + step if op == "+" else offset - step)
        case _, (OwnIndex(axis, offset), ir.Const(value=int(step))) if op == "+":
            return OwnIndex(axis, offset + step)
        case _:
            return _joined([left, right])


def _in_blocks(source: IndexSource, size: int) -> IndexSource:
    """Return the source of a value divided by a number, rounded down."""
    if not isinstance(source, OwnIndex) or source.offset % size:
        return _part(source)
    first, second, third = (size if axis == source.axis else 0 for axis in range(3))
    return Uniform((first, second, third), f"thread_id({source.axis}) // {size}")


def _varying(why: str) -> Uniform:
    return Uniform((1, 1, 1), why)


def _part(source: IndexSource) -> Uniform:
    """Return the blocks of a source."""
    if isinstance(source, Uniform):
        return source
    first, second, third = (int(axis == source.axis) for axis in range(3))
    return Uniform((first, second, third), f"thread_id({source.axis})")


def _joined(sources: Iterable[IndexSource]) -> Uniform:
    """Return the source of a value that depends on several; its reason is from the first with the smallest blocks."""
    parts = [_part(source) for source in sources]
    first, second, third = (math.gcd(*(part.blocks[axis] for part in parts)) for axis in range(3))
    found = first, second, third
    reasons = [part.why for part in parts if part.why]
    exact = [part.why for part in parts if part.blocks == found and part.why]
    return Uniform(found, next(iter(exact or reasons), ""))


def _meet(a: IndexSource, b: IndexSource) -> IndexSource:
    return a if a == b else _joined([a, b])
