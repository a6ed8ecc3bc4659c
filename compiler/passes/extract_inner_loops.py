"""Move inner loops into new functions, where Slang would keep far too many of their values.

    for i in 0 .. 64: for j in 0 .. 3: body    ->    for i in 0 .. 64: x = f_inner(x, i)

All loops of a nest get the limit of the longest (``equalize_nested_loops``). For 64 iterations around 3 and 3, Slang
keeps 64 * 64 * 64 values instead of 64 * 3 * 3: megabytes of every thread's stack. For a call, Slang keeps one value of
the right size. So loops move if Slang would keep more than ``MOST`` values, and ``TIMES`` as many as necessary. They do
also if it would keep more than ``LONGEST`` bytes of an array that the iterations of an inner loop hand on.

The parameters of the new function are the locals that the body reads. Its result has the locals that the body changes
and other code reads. Loops that return, read memory or differentiate do not move, nor do those of methods.
"""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from math import prod
from typing import TYPE_CHECKING, Final

from slangad.compiler.ir import nodes as ir
from slangad.compiler.ir.build import Fresh, fresh_keys
from slangad.compiler.ir.gradient_flow import Carrying, is_differentiated
from slangad.compiler.ir.types import Array, Tuple, carries_gradient
from slangad.compiler.ir.walk import blocks, body_exprs, map_blocks, root, statements, stmt_exprs, walk, walk_stmts
from slangad.compiler.passes.replay_loops.choose import read_in
from slangad.compiler.passes.replay_loops.read import size_of

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping

    from slangad.compiler.ir.build import Block
    from slangad.compiler.ir.types import Type

MOST: Final = 1024
"""Values. Slang may keep this many for a nest, however few are necessary. Larger: more stack for each thread."""
TIMES: Final = 4
"""Ratio. Above ``MOST``, kept values over necessary ones, at most. Larger: more stack for each thread."""
LONGEST: Final = 2048
"""Bytes of an array that Slang keeps for the iterations of a nest. Larger: NVIDIA's Vulkan driver takes no value of
3200 bytes (docs/slang-notes.md)."""

_PLAIN: Final = (
    ir.Binary, ir.Call, ir.Cast, ir.Const, ir.ConstantRef, ir.Construct, ir.Index, ir.Intrinsic, ir.Member, ir.NoDiff,
    ir.Swizzle, ir.Ternary, ir.Unary, ir.Var,
)  # fmt: skip


def extract_inner_loops(module: ir.Module) -> ir.Module:
    """Rewrite nests of loops with very different limits in the functions that Slang differentiates."""
    keys = fresh_keys(module)
    functions = {f.key: f for f in module.functions}
    made = tuple(f for function in module.functions for f in _function(function, functions, keys))
    return replace(module, functions=made)


def _function(function: ir.Function, functions: Mapping[str, ir.Function], keys: Fresh) -> Iterator[ir.Function]:
    """Yield the functions that its loops became, then the function."""
    if not is_differentiated(function) or function.role is not ir.Role.PLAIN or function.owner:
        yield function
        return
    mover = _Mover(function, functions, keys)
    changed = mover.block(statements(function))
    for moved in mover.made:
        yield from _function(moved, functions, keys)
    yield replace(function, body=changed) if mover.made else function


@dataclass(slots=True)
class _Mover:
    """Moves the inner loops of one function; ``made`` has the new functions."""

    function: ir.Function
    functions: Mapping[str, ir.Function]
    keys: Fresh
    made: list[ir.Function] = field(default_factory=list)
    locals: Fresh = field(init=False)
    carrying: Carrying = field(init=False)

    def __post_init__(self) -> None:
        body = statements(self.function)
        taken = {p.name for p in self.function.params} | {e.name for e in body_exprs(body) if isinstance(e, ir.Var)}
        self.carrying = Carrying(self.function, self.functions)
        self.locals = Fresh(taken | {s.variable for s in walk_stmts(body) if isinstance(s, ir.For)})

    def block(self, body: Block) -> Block:
        """Rewrite statements that only unrolled loops contain."""
        return tuple(self.outermost(stmt) for stmt in body)

    def outermost(self, stmt: ir.Stmt) -> ir.Stmt:
        if not _is_loop(stmt):
            return map_blocks(stmt, self.block)
        return map_blocks(stmt, self.inside) if _is_uneven(stmt) or _keeps_arrays(stmt) else stmt

    def inside(self, body: Block) -> Block:
        """Rewrite statements in the outermost loop of a nest."""
        return tuple(made for stmt in body for made in self.within(stmt))

    def within(self, stmt: ir.Stmt) -> Block:
        if not _is_loop(stmt):
            return (map_blocks(stmt, self.inside),)
        return self.call(stmt) if self.may_move(stmt) else (stmt,)

    def may_move(self, loop: ir.Stmt) -> bool:
        if any(isinstance(s, (ir.Return, ir.Let, ir.Barrier)) for s in walk_stmts((loop,))):
            return False
        exprs = list(body_exprs((loop,)))
        if not all(isinstance(e, _PLAIN) for e in exprs):
            return False
        if any(isinstance(e, ir.Call) and self.functions[e.function].reads for e in exprs):
            return False
        return not _counters(walk_stmts((loop,))) & self.set_outside(loop)

    def set_outside(self, loop: ir.Stmt) -> set[str]:
        return {p.name for p in self.function.params} | set(_stored(_without(statements(self.function), loop)))

    def call(self, loop: ir.Stmt) -> Block:
        """Return the call that replaces a loop, and add the new function to ``made``."""
        types = {e.name: e.type for e in body_exprs((loop,)) if isinstance(e, ir.Var)}
        elsewhere = _without(statements(self.function), loop)
        known = self.set_outside(loop) | (_counters(elsewhere) - _counters(walk_stmts((loop,))))
        used = {e.name for s in elsewhere for e in _own_exprs(s) if isinstance(e, ir.Var)}
        variables = [ir.Var(name, type_, loop.span) for name, type_ in types.items() if name in known]
        stored = dict.fromkeys(_stored(walk_stmts((loop,))))
        changed = [ir.Var(name, types[name], loop.span) for name in stored if name in used]
        if not changed:
            return (loop,)
        result: Type = changed[0].type if len(changed) == 1 else Tuple(tuple(v.type for v in changed))
        value = changed[0] if len(changed) == 1 else ir.Construct(tuple(changed), result, loop.span)
        params = [self.param(v, stored=v.name in stored) for v in variables]
        arguments = [
            ir.Assign(v, ir.Var(p.name, p.type, loop.span), loop.span)
            for v, p in zip(variables, params, strict=True)
            if v.name != p.name
        ]
        key = self.keys.name(f"{self.function.key}_inner")
        self.made.append(
            ir.Function(
                key,
                f"{self.function.name}_inner",
                tuple(params),
                result,
                (*arguments, loop, ir.Return(value, loop.span)),
                doc=(f"A loop inside a loop of {self.function.name}, apart so that reverse mode keeps little of it.",),
                span=loop.span,
            )
        )
        called = ir.Call(key, tuple(variables), result, loop.span)
        if len(changed) == 1:
            return (self.set(changed[0], called),)
        held = self.locals.var("inner", result)
        parts = (self.set(v, ir.Member(held, f"item{i}", v.type)) for i, v in enumerate(changed))
        return (ir.Assign(held, called, loop.span), *parts)

    def passive(self, local: ir.Var) -> bool:
        """Return True if a local that could carry gradient carries none."""
        return carries_gradient(local.type) and not self.carrying.carries(local)

    def set(self, local: ir.Var, value: ir.Expr) -> ir.Assign:
        kept = ir.NoDiff(value, local.type, local.span) if self.passive(local) else value
        return ir.Assign(local, kept, local.span)

    def param(self, variable: ir.Var, *, stored: bool) -> ir.Param:
        """Return a parameter for a local that a loop reads. One without gradient is copied before a store into it."""
        passive = self.passive(variable)
        name = self.locals.name(f"{variable.name}_before") if passive and stored else variable.name
        return ir.Param(name, variable.type, no_diff=passive)


def _is_loop(stmt: ir.Stmt) -> bool:
    return isinstance(stmt, ir.While) or (isinstance(stmt, ir.For) and not stmt.unroll)


def _is_uneven(loop: ir.Stmt) -> bool:
    """Return True if Slang would keep far more values for a nest than it needs."""
    nests = list(_nests(loop))
    longest = max(max(nest) for nest in nests)
    return any(longest ** len(nest) > max(MOST, TIMES * prod(nest)) for nest in nests)


def _keeps_arrays(loop: ir.Stmt) -> bool:
    """Return True if Slang would keep a long value of the arrays that iterations of an inner loop hand on."""
    longest = max(max(nest) for nest in _nests(loop))
    return any(size * (longest + 2) ** depth > LONGEST for depth, size in _arrays_of(loop, 1) if depth > 1)


def _arrays_of(stmt: ir.Stmt, depth: int) -> Iterator[tuple[int, int]]:
    """Yield the depth of each loop in a statement, with the bytes of an array that reverse mode reads in it."""
    if _is_loop(stmt):
        (body,) = blocks(stmt)
        read = read_in(body)
        targets = {t for s in walk_stmts(body) if isinstance(s, ir.Assign) and (t := root(s.target)) is not None}
        yield from ((depth, size_of(t.type)) for t in targets if isinstance(t.type, Array) and t.name in read)
    for block in blocks(stmt):
        for inner in block:
            yield from _arrays_of(inner, depth + _is_loop(stmt))


def _nests(stmt: ir.Stmt) -> Iterator[tuple[int, ...]]:
    """Yield the limits of each nest of loops in a statement, outermost first."""
    limits = (stmt.limit,) if isinstance(stmt, (ir.For, ir.While)) and _is_loop(stmt) else ()
    inner = [nest for block in blocks(stmt) for s in block for nest in _nests(s)]
    yield from ((*limits, *nest) for nest in inner or [()])


def _without(body: Block, loop: ir.Stmt) -> Block:
    """Return every statement outside a loop."""
    result: list[ir.Stmt] = []
    for stmt in body:
        if stmt is not loop:
            result.append(stmt)
            for block in blocks(stmt):
                result.extend(_without(block, loop))
    return tuple(result)


def _own_exprs(stmt: ir.Stmt) -> Iterator[ir.Expr]:
    for expr in stmt_exprs(stmt):
        yield from walk(expr)


def _stored(stmts: Iterable[ir.Stmt]) -> Iterator[str]:
    for stmt in stmts:
        target = root(stmt.target) if isinstance(stmt, ir.Assign) else None
        if target is not None:
            yield target.name


def _counters(stmts: Iterable[ir.Stmt]) -> set[str]:
    return {s.variable for s in stmts if isinstance(s, ir.For)}
