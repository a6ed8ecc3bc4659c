"""Choose how reverse mode gets the state of each iteration of a loop.

| way | the state before an iteration | kept for each thread |
|---|---|---|
| sum | is not needed: the state is only added to | nothing |
| invert | is computed from the state after it (``undo``) | nothing; as below, once a factor gets close to 0 |
| recompute | is computed again from the last kept one | about two square roots of the number of iterations |
| keep | Slang keeps it | every iteration |

Slang's way is the fastest for short loops. It stays where it keeps at most ``BUDGET`` bytes and takes no
elements of arrays.
"""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from math import isqrt
from typing import TYPE_CHECKING, Final

from slangad.compiler.ir import nodes as ir
from slangad.compiler.ir.build import Fresh
from slangad.compiler.ir.types import Array, Struct, Tuple, carries_gradient, is_floating
from slangad.compiler.ir.walk import blocks, root, stmt_exprs, walk, walk_stmts
from slangad.compiler.passes.replay_loops.read import (
    inverse_of,
    is_active_loop,
    names_in,
    size_of,
    stored_in,
    wish_of,
)
from slangad.compiler.passes.replay_loops.undo import LEAST, NoUndo, Undo, undo_iteration

if TYPE_CHECKING:
    from collections.abc import Container, Iterator

    from slangad.compiler.ir.build import Block
    from slangad.compiler.passes.replay_loops.read import Loop

BUDGET: Final = 256
"""Bytes. Slang may keep this much of a loop for each thread. Larger: more loops keep their state in local memory."""
HOST_BUDGET: Final = 16384
"""Bytes. Slang may keep this much of a loop on the CPU: half of a first cache. Larger: longer loops leave the cache."""
SHARED: Final = 64
"""Bytes of values that all iterations share, and of arrays that the loop fills.

Above it, adding up their gradients in each iteration costs more than the state that Slang keeps. Larger: loops over
arrays, such as layers of networks, get derivatives of their own.
"""
_SAFE: Final = (
    ir.Const, ir.ConstantRef, ir.Var, ir.Unary, ir.Binary, ir.Ternary, ir.Cast, ir.Construct, ir.Member, ir.Swizzle,
    ir.NoDiff,
)  # fmt: skip
"""Expressions that have a value whatever their operands are, except for divisions of integers."""
MOST: Final = 65536
"""Bytes. Slang keeps no more of a loop for each thread, whatever gradients cost. Larger: stacks overflow."""


class Unsuitable(Exception):  # noqa: N818  (the pass makes a diagnostic of it)
    """A loop can't do what ``keep=`` or ``inverse=`` asks; the message says why."""


@dataclass(frozen=True, slots=True)
class Plan:
    """How a loop gets its states back.

    Attributes:
        way: ``sum``, ``invert``, ``recompute`` or ``keep``.
        reason: Why, in words that follow "because".
        needed: The locals whose values before an iteration its derivative reads.
        every: Distance of kept states, in iterations; 0 if none is kept.
        kept: The bytes that each thread keeps.
        undo: How an iteration is undone.
        on_host: The CPU takes Slang's way: it keeps every state in the cache.
    """

    way: str
    reason: str
    needed: tuple[ir.Var, ...] = ()
    every: int = 0
    kept: int = 0
    undo: Undo | None = field(default=None, repr=False)
    on_host: bool = False


def choose(loop: Loop, taken: set[str], inner: int, *, together: bool = False) -> Plan:
    """Return the plan for a loop, with the CPU's part in it; the other arguments are those of ``_way``.

    With ``together``, a tile should share the loop (``share_tiles``): Slang does not keep the states of a short one.

    Raises:
        Unsuitable: It can't do what the user asks.
    """
    given = inverse_of(loop.stmt)
    if given is not None and is_active_loop(loop):
        return Plan("invert", "inverse= undoes an iteration", needed_in(loop), undo=_given(loop, given, Fresh(taken)))
    plan = _way(loop, taken, inner)
    if together and plan.way == "keep":
        shared = _way(loop, taken, inner, short=False)
        plan = shared if shared.way in ("sum", "invert") else plan
    kept = loop.limit * (sum(size_of(v.local.type) for v in loop.state) + inner)
    plainly = plan.way != "keep" and not wish_of(loop.stmt) and not loop.counts and loop.elements is None
    return replace(plan, on_host=plainly and kept <= HOST_BUDGET)


def _way(loop: Loop, taken: set[str], inner: int, *, short: bool = True) -> Plan:
    """Return the plan for a loop.

    Args:
        loop: The loop.
        taken: The parameters of the function that undoes an iteration.
        inner: The bytes that Slang keeps in an iteration, of loops inside it.
        short: Slang may keep the states if that costs little.

    Raises:
        Unsuitable: It can't do what the user asks.
    """
    size = sum(size_of(v.local.type) for v in loop.state)
    slang = loop.limit * (size + inner)
    asked = loop.stmt.keep
    if not is_active_loop(loop):
        return Plan("keep", "no gradient flows through its state", kept=inner)
    needed = needed_in(loop)
    reason = _reason_to_keep(loop, needed, slang) if short and asked is None and loop.elements is None else ""
    if reason:
        return Plan("keep", reason, kept=slang)
    if not needed and not asked:
        return Plan("sum", "its state is only added to")
    every = asked or max(2, isqrt(loop.limit - 1) + 1)
    bytes_ = sum(size_of(v.type) for v in needed) * (-(-loop.limit // every) + every)
    if asked:
        return Plan("recompute", f"keep={asked} says so", needed, every, bytes_)
    if loop.changed:
        return Plan("recompute", "each iteration changes elements of its own", needed, every, bytes_)
    try:
        undo = undo_iteration(loop.body, {v.name: v for v in needed}, _condition(loop), Fresh(taken))
    except NoUndo as problem:
        if asked == 0:
            raise Unsuitable(str(problem)) from problem
        return Plan("recompute", str(problem), needed, every, bytes_)
    if undo.drifting and asked is None:
        names = ", ".join(undo.drifting)
        return Plan("recompute", f"subtracting from {names} adds up rounding; keep=0 allows it", needed, every, bytes_)
    if undo.watched:
        names = ", ".join(v.name for v in undo.watched)
        reason = f"each update can be undone; kept only from where {names} is {LEAST:g} or less"
        return Plan("invert", reason, needed, every, bytes_, undo)
    return Plan("invert", "each update can be undone", needed, undo=undo)


def _reason_to_keep(loop: Loop, needed: tuple[ir.Var, ...], kept: int) -> str:
    """Return why Slang should keep the states of a loop that takes arrays whole; empty if it should not."""
    if kept <= BUDGET:
        return f"that is at most {BUDGET} bytes"
    whole = [v.local for v in loop.state if isinstance(v.local.type, Array) and v.local not in needed]
    shared = sum(size_of(v.type) for v in (*whole, *(s.local for s in loop.shared if s.active)))
    if shared > SHARED and kept <= MOST:
        return f"each iteration would add up {shared} bytes of gradients of whole arrays"
    return ""


def _given(loop: Loop, call: ir.Expr, names: Fresh) -> Undo:
    """Return how the user's function undoes an iteration.

    Raises:
        Unsuitable: It does not return what an iteration changes, or leaves out what the derivative needs.
    """
    assert isinstance(call, ir.Call)  # noqa: S101  (the front ends make one)
    state = {v.local.name for v in loop.state}
    own = ", ".join(sorted((names_in(call) & {*stored_in(loop.body)}) - state))
    if own:
        raise Unsuitable(f"its function takes {own}, which each iteration sets itself")
    changed = [a for a in call.args if isinstance(a, ir.Var) and a.name in state]
    types = tuple(v.type for v in changed)
    listed = ", ".join(v.name for v in changed) or "nothing"
    if not types or call.type != (types[0] if len(types) == 1 else Tuple(types)):
        raise Unsuitable(f"of the parameters of its function, an iteration changes {listed}, and it must return these")
    missing = ", ".join(v.name for v in needed_in(loop) if v not in changed)
    if missing:
        raise Unsuitable(f"its function does not give {missing}, which the derivative of an iteration needs")
    found = [names.var(f"{v.name}_before", v.type) for v in changed]
    if len(found) == 1:
        return Undo((ir.Assign(found[0], call, call.span),), {changed[0].name: found[0]}, (), ())
    whole = names.var("before", call.type)
    parts = (ir.Assign(v, ir.Member(whole, f"item{n}", v.type), call.span) for n, v in enumerate(found))
    body = (ir.Assign(whole, call, call.span), *parts)
    return Undo(body, {v.name: local for v, local in zip(changed, found, strict=True)}, (), ())


def arrays_of(loop: Loop) -> int:
    """Return the bytes of arrays, and of structs, with gradient that a loop hands on or shares."""
    values = [v.local.type for v in loop.state if v.active] + [s.local.type for s in loop.shared if s.active]
    return sum(size_of(t) for t in values if isinstance(t, (Array, Struct)) and carries_gradient(t))


def adds_only(body: Block, local: ir.Var) -> bool:
    """Return True if every store into a number or vector adds something to it that does not read it."""
    stores = [s for s in walk_stmts(body) if isinstance(s, ir.Assign) and root(s.target) == local]
    whole = all(isinstance(s.target, ir.Var) and local.name in names_in(s.value) for s in stores)
    return is_floating(local.type) and whole and all(_adds(s.value, local, scaled=False) for s in stores)


def _condition(loop: Loop) -> ir.Expr | None:
    return loop.stmt.condition if isinstance(loop.stmt, ir.While) else None


def needed_in(loop: Loop) -> tuple[ir.Var, ...]:
    """Return the state that anything reads, except sums: ``x = x + e``, where ``e`` does not read ``x``.

    Integers and bools that only integers and bools are computed from are not read either, such as the index of the
    brightest entry: no gradient depends on them.
    """
    condition = _condition(loop)
    asked = names_in(condition) if condition is not None else set()
    targets = (root(s.target) for s in walk_stmts(loop.body) if isinstance(s, ir.Assign))
    idle = {t.name for t in targets if t is not None and not carries_gradient(t.type)}
    read = asked | read_in(loop.body, idle)
    while idle & read:
        idle -= read
        read = asked | read_in(loop.body, idle)
    return tuple(v.local for v in loop.state if v.local.name in read)


def read_in(body: Block, idle: Container[str] = ()) -> set[str]:
    """Return the locals whose values statements read, without those that are only added to.

    Statements that only compute ``idle`` locals don't count.
    """
    result: set[str] = set()
    for stmt in _counting(body, idle):
        match stmt:
            case ir.Assign(target=ir.Var() as target, value=value):
                result |= names_in(value) - ({target.name} if _adds(value, target) else set())
            case ir.Assign(target=target, value=value):
                of = root(target)
                inside = names_in(target) - ({of.name} if of is not None else set())
                result |= inside | (names_in(value) - ({of.name} if of and _adds(value, target) else set()))
                if of is not None and any(of.name in names_in(e) for e in _indices(target)):
                    result.add(of.name)
            case _:
                for expr in stmt_exprs(stmt):
                    result |= names_in(expr)
    return result


def _counting(body: Block, idle: Container[str]) -> Iterator[ir.Stmt]:
    """Yield the statements of a block, nested ones included, that do more than compute ``idle`` locals."""
    for stmt in body:
        if _is_idle(stmt, idle):
            continue
        yield stmt
        for block in blocks(stmt):
            yield from _counting(block, idle)


def _is_idle(stmt: ir.Stmt, idle: Container[str]) -> bool:
    """Return True if a statement only computes ``idle`` locals, and has a result whatever values it begins with.

    Indices and divisions of integers could fail for other values.
    """
    match stmt:
        case ir.Assign(target=ir.Var(name), value=value):
            return name in idle and all(map(_is_safe, walk(value)))
        case ir.If(condition, then, other):
            return all(map(_is_safe, walk(condition))) and all(_is_idle(s, idle) for s in (*then, *other))
        case ir.Comment():
            return True
        case _:
            return False


def _is_safe(expr: ir.Expr) -> bool:
    """Return True if an expression has a value whatever its operands are."""
    match expr:
        case ir.Binary(op="/" | "//" | "%"):
            return is_floating(expr.type)
        case ir.Intrinsic(name=name):
            return name in ("min", "max", "abs", "sign")
        case _:
            return isinstance(expr, _SAFE)


def _indices(target: ir.Expr) -> list[ir.Expr]:
    result = []
    while isinstance(target, (ir.Index, ir.Member, ir.Swizzle)):
        if isinstance(target, ir.Index):
            result.append(target.index)
        target = target.value
    return result


def _adds(value: ir.Expr, target: ir.Expr, *, scaled: bool = True) -> bool:
    """Return True if a value is the target with something added that does not read it; perhaps scaled by a constant."""
    of = root(target)
    if value == target or of is None or of.name not in names_in(value):
        return True
    match value:
        case ir.Binary("+" | "-" as op, left, right):
            if of.name not in names_in(right):
                return _adds(left, target, scaled=scaled)
            return op == "+" and of.name not in names_in(left) and _adds(right, target, scaled=scaled)
        case ir.Binary("*", left, ir.Const()):
            return scaled and _adds(left, target)
        case ir.Ternary(condition, then, other) if of.name not in names_in(condition):
            return _adds(then, target, scaled=scaled) and _adds(other, target, scaled=scaled)
        case _:
            return False
