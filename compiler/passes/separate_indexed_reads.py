"""Read entries at run-time indices through functions, so that no gradient is lost.

If one value is read through two index expressions that may be equal, Slang's reverse mode loses one of the gradients.
Reads through the library's ``at`` are always right. Plain reads are right if one expression reads the array:

    x[i] * x[j]          ->  at(x, i) * at(x, j)
    x[i] * x[2]          ->  at(x, i) * x[2]
    no_diff(x[i]) * x[2] ->  no_diff(at(x, i)) * x[2]
    x[i % n] * x[i % n]  ->  at(x, i % n) * at(x, i % n), since % is a call, made twice
    y = x; y[i] * x[j]   ->  y = x; at(y, i) * at(x, j), since a copy is the same value
    s += x[i] * w[i]         unchanged
    a[i] = a[i] + e          unchanged, unless e reads a

If an index depends on a branch, Slang's C++, CUDA and Metal may use a wrong index when reverse mode computes the values
again. The argument of a function is right, also for values without gradient:

    j = i if c else 0        ->  j = i if c else 0
    x[j] * w[j]                  at(x, j) * no_diff(element(w, j))
"""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING

from slangad.compiler.ir import nodes as ir
from slangad.compiler.ir.default_types import COMPARISONS
from slangad.compiler.ir.gradient_flow import Carrying, is_differentiated
from slangad.compiler.ir.types import INT, UINT, carries_gradient, is_floating, is_scalar
from slangad.compiler.ir.walk import (
    blocks,
    children,
    map_blocks,
    map_children,
    map_functions,
    map_stmt_exprs,
    root,
    statements,
    stmt_exprs,
    walk,
    walk_stmts,
)

if TYPE_CHECKING:
    from collections.abc import Iterator

    from slangad.compiler.ir.build import Block
    from slangad.compiler.ir.walk import ExprMap

Place = tuple[str, ...]
"""A local and the fields on the way to an indexed value: ``m.weights``."""


def separate_indexed_reads(module: ir.Module) -> ir.Module:
    """Rewrite reads at run-time indices where gradients would be lost."""
    functions = {f.key: f for f in module.functions}
    return map_functions(module, lambda f: _function(f, Carrying(f, functions)))


def _function(function: ir.Function, carrying: Carrying) -> ir.Function:
    if not is_differentiated(function) or not isinstance(function.body, tuple):
        return function
    changing, copies = _assigned_often(function), _copies(function)
    reads = _Reads(carrying, changing, copies)
    reads.block(statements(function), frozenset())
    separate = _Separate(reads.meeting(), _branched(function, changing), carrying, copies)
    return replace(function, body=separate.block(statements(function), frozenset()))


def _copies(function: ir.Function) -> dict[str, str]:
    """Return for each local that is a copy of another, or has one in it, the name of the value that they share."""
    first: dict[str, str] = {}
    for name, value in _stored(function):
        parts = value.args if isinstance(value, ir.Construct) else () if value is None else (value,)
        for shared in {first.get(local.name, local.name) for local in map(_copied, parts) if local is not None}:
            known = first.get(name, name)
            first |= {n: known for n, f in first.items() if f == shared} | {name: known, shared: known}
    return first


def _copied(value: ir.Expr) -> ir.Var | None:
    """Return the local of which a value is the whole, or a field; None if it has no gradient or no entries."""
    if not carries_gradient(value.type) or is_scalar(value.type):
        return None
    while isinstance(value, (ir.Member, ir.NoDiff)):
        value = value.value
    return value if isinstance(value, ir.Var) else None


def _assigned_often(function: ir.Function) -> frozenset[str]:
    """Return locals that have different values at different locations."""
    seen = [p.name for p in function.params]
    seen += [name for name, _ in _stored(function)]
    return frozenset(name for name in seen if seen.count(name) > 1)


def _branched(function: ir.Function, changing: frozenset[str]) -> frozenset[str]:
    """Return locals whose value may depend on a branch, directly or through other locals."""
    branches = changing
    while True:
        more = {name for name, value in _stored(function) if value is not None and _is_branched(value, branches)}
        if more <= branches:
            return branches
        branches |= more


def _is_branched(expr: ir.Expr, names: frozenset[str]) -> bool:
    """Return True if the value of an expression may depend on a branch; that of a call does not."""
    match expr:
        case ir.Ternary():
            return True
        case ir.Var(name):
            return name in names
        case ir.Call():
            return False
        case _:
            return any(_is_branched(child, names) for child in children(expr))


def _stored(function: ir.Function) -> Iterator[tuple[str, ir.Expr | None]]:
    """Yield the locals that statements store into, each with the stored value."""
    for stmt in walk_stmts(statements(function)):
        if isinstance(stmt, (ir.Assign, ir.Let)):
            target = root(stmt.target) if isinstance(stmt, ir.Assign) else stmt
            if target is not None:
                yield target.name, stmt.value


@dataclass(slots=True)
class _Reads:
    """The index expressions by which a function reads each indexed value; two that may be equal meet."""

    carrying: Carrying
    changing: frozenset[str]
    copies: dict[str, str]
    static: dict[Place, set[str]] = field(default_factory=dict)
    dynamic: dict[Place, set[tuple[ir.Expr, ...]]] = field(default_factory=dict)
    many: set[Place] = field(default_factory=set)
    called: set[tuple[Place, tuple[ir.Expr, ...]]] = field(default_factory=set)

    def meeting(self) -> frozenset[Place]:
        """Return the values that are read through a run-time index and another way."""
        return frozenset(
            place
            for place, ways in self.dynamic.items()
            if len(ways) > 1 or place in self.many or self.static.get(place)
        )

    def block(self, body: Block, unrolled: frozenset[str]) -> None:
        """Note the reads of statements; ``unrolled`` are loop variables that are constants to Slang."""
        for stmt in body:
            for expr in _read_exprs(stmt):
                self._expr(expr, unrolled)
            inner = unrolled | {stmt.variable} if isinstance(stmt, ir.For) and stmt.unroll else unrolled
            for nested in blocks(stmt):
                self.block(nested, inner)

    def _expr(self, expr: ir.Expr, unrolled: frozenset[str]) -> None:
        if _ends_gradient(expr):
            for part in walk(expr):
                if isinstance(part, ir.Index) and (path := access(part)) is not None:
                    self._note_called(path)
            return
        if isinstance(expr, (ir.Index, ir.Swizzle)) and self._note(expr, unrolled):
            return
        for child in children(expr):
            self._expr(child, unrolled)

    def _note(self, expr: ir.Index | ir.Swizzle, unrolled: frozenset[str]) -> bool:
        """Note the read of a part of a local; return False if it is a part of something else."""
        path = access(expr)
        if path is None or not self.carrying.carries(path.aggregate):
            return False
        place = _value_of(path.place, self.copies)
        if all(is_static(i, unrolled) for i in path.indices):
            self.static.setdefault(place, set()).add(str(path.indices) + path.components)
            return True
        ways = self.dynamic.setdefault(place, set())
        ways.add(path.indices)
        names = {e.name for index in path.indices for e in walk(index) if isinstance(e, ir.Var)}
        if unrolled or names & self.changing:
            self.many.add(place)
        self._note_called(path)
        for index in path.indices:
            self._expr(index, unrolled)
        return True

    def _note_called(self, path: Access) -> None:
        """Note a read, also one without gradient, at an index that calls a function: Slang takes two for different."""
        if any(isinstance(e, ir.Call) or _is_of_library(e) for index in path.indices for e in walk(index)):
            way = (_value_of(path.place, self.copies), path.indices)
            self.many |= {way[0]} if way in self.called else set()
            self.called.add(way)


@dataclass(frozen=True, slots=True)
class Access:
    """A read of an entry: the indexed value and the indices."""

    place: Place
    aggregate: ir.Expr
    indices: tuple[ir.Expr, ...]
    components: str


def access(expr: ir.Expr) -> Access | None:
    """Return how an expression reads a part of a local; None if it does not."""
    indices: list[ir.Expr] = []
    components = ""
    fields: list[str] = []
    aggregate: ir.Expr = expr
    at: ir.Expr = expr
    while not isinstance(at, ir.Var):
        match at:
            case ir.Index(value=value, index=index):
                indices, components, fields, aggregate = [index, *indices], "", [], value
            case ir.Swizzle(value=value, components=read):
                components = components or read
                aggregate = value if not indices else aggregate
            case ir.Member(value=value, name=name):
                fields = [name, *fields]
            case _:
                return None
        at = value
    return Access((at.name, *fields), aggregate, tuple(indices), components)


def _value_of(place: Place, copies: dict[str, str]) -> Place:
    """Return the value that a place is read of: that of all copies is one."""
    return (copies[place[0]],) if place[0] in copies else place


def is_static(index: ir.Expr, unrolled: frozenset[str]) -> bool:
    """Return True if Slang knows an index at compile time."""
    match index:
        case ir.Const():
            return True
        case ir.Var(name):
            return name in unrolled
        case ir.Binary() | ir.Unary():
            return all(is_static(child, unrolled) for child in children(index))
        case _:
            return False


def _read_exprs(stmt: ir.Stmt) -> tuple[ir.Expr, ...]:
    """Return the expressions that a statement reads; those of a stored entry are its indices."""
    if not isinstance(stmt, ir.Assign):
        return stmt_exprs(stmt)
    return (stmt.value, *(e.index for e in walk(stmt.target) if isinstance(e, ir.Index)))


def _is_of_library(expr: ir.Expr) -> bool:
    return isinstance(expr, ir.Intrinsic) and expr.name in ("mod", "floor_div")


def _ends_gradient(expr: ir.Expr) -> bool:
    """Return True if reverse mode does not look inside. It does in ``no_diff``."""
    match expr:
        case ir.Binary(op=op):
            return op in COMPARISONS
        case ir.Cast(type=type_):
            return not is_floating(type_)
        case _:
            return False


@dataclass(frozen=True, slots=True)
class _Separate:
    """Rewrites reads at run-time indices.

    Attributes:
        meeting: The values whose reads must all be ``at``.
        branched: Locals that are no safe index in a plain read.
        carrying: The gradient flow in the function.
        copies: The value that copies share, by the name of each.
    """

    meeting: frozenset[Place]
    branched: frozenset[str]
    carrying: Carrying
    copies: dict[str, str]

    def block(self, body: Block, unrolled: frozenset[str]) -> Block:
        """Return the statements with rewritten reads; ``unrolled`` are loop variables that are constants to Slang."""
        return tuple(self._stmt(stmt, unrolled) for stmt in body)

    def _stmt(self, stmt: ir.Stmt, unrolled: frozenset[str]) -> ir.Stmt:
        def rewrite(expr: ir.Expr) -> ir.Expr:
            return self._expr(expr, unrolled, flows=True)

        if isinstance(stmt, ir.Assign):
            return replace(stmt, target=_rewrite_target(stmt.target, rewrite), value=rewrite(stmt.value))
        inner = unrolled | {stmt.variable} if isinstance(stmt, ir.For) and stmt.unroll else unrolled
        return map_blocks(map_stmt_exprs(stmt, rewrite), lambda nested: self.block(nested, inner))

    def _expr(self, expr: ir.Expr, unrolled: frozenset[str], *, flows: bool) -> ir.Expr:
        """Return an expression with rewritten reads; only the necessary ones if no gradient ``flows`` through it."""
        flows = flows and not _ends_gradient(expr)
        made = map_children(expr, lambda e: self._expr(e, unrolled, flows=flows))
        if not isinstance(expr, ir.Index) or not isinstance(made, ir.Index) or is_static(expr.index, unrolled):
            return made
        path = access(expr)
        if path is None:
            return made
        branched = _is_branched(expr.index, self.branched)
        if not branched and not (flows and _value_of(path.place, self.copies) in self.meeting):
            return made
        index = ir.Cast(made.index, INT, made.index.span) if made.index.type == UINT else made.index
        if carries_gradient(made.type) and self.carrying.carries(path.aggregate):
            return ir.Intrinsic("at", (made.value, index), made.type, made.span)
        return ir.NoDiff(ir.Intrinsic("element", (made.value, index), made.type, made.span), made.type, made.span)


def _rewrite_target(target: ir.Expr, rewrite: ExprMap) -> ir.Expr:
    """Return the target of a store. The store stays plain; reads in its indices are rewritten."""
    match target:
        case ir.Index(value=value, index=index):
            return replace(target, value=_rewrite_target(value, rewrite), index=rewrite(index))
        case ir.Member(value=value) | ir.Swizzle(value=value):
            return replace(target, value=_rewrite_target(value, rewrite))
        case _:
            return target
