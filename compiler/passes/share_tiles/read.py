"""Read a loop that a tile may share: the arguments of its call, and what an iteration takes from memory."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from slangad.compiler.ir import nodes as ir
from slangad.compiler.ir.build import Fresh
from slangad.compiler.ir.types import carries_gradient
from slangad.compiler.ir.walk import root, statements, walk_stmts
from slangad.compiler.passes.replay_loops.read import names_in, reads_of, stored_in

if TYPE_CHECKING:
    from collections.abc import Mapping

    from slangad.compiler.ir.build import Block


def callee(expr: ir.Expr) -> str:
    """Return the key of the function that an expression calls; empty if it is no call."""
    expr = expr.value if isinstance(expr, ir.NoDiff) else expr
    return expr.function if isinstance(expr, ir.Call) else ""


def is_passive(param: ir.Param) -> bool:
    """Return True if no gradient flows into a parameter."""
    return param.no_diff or not carries_gradient(param.type)


@dataclass(frozen=True, slots=True)
class Arguments:
    """The arguments of a loop: the state before it, the number of iterations, and those of its steps, by name.

    ``active`` are those that gradient flows into.
    """

    state: ir.Expr
    count: ir.Expr
    shared: Mapping[str, ir.Expr]
    active: tuple[str, ...]

    @classmethod
    def of(cls, expr: ir.Expr, functions: Mapping[str, ir.Function], key: str) -> Arguments:
        """Return those of a call of the loop."""
        assert isinstance(expr, ir.Call)  # noqa: S101  (the caller has looked)
        step = functions[f"{key} step"]
        held, *others = expr.args[:-1]
        bounds = len(others) - len(step.params[2:])
        (counted,) = (s for s in walk_stmts(statements(functions[f"{key} run"])) if isinstance(s, ir.For))
        count = others[0] if bounds else counted.stop
        shared = {p.name: arg for p, arg in zip(step.params[2:], others[bounds:], strict=True)}
        active = tuple(p.name for p in step.params[2:] if not is_passive(p))
        return cls(held, count, shared, active)


@dataclass(frozen=True, slots=True)
class Taken:
    """What an iteration takes from memory.

    Attributes:
        step: The function of an iteration.
        item: The local with the elements of tensors.
        call: The call that reads them.
        head: The statements that find its indices.
        rest: The other statements of the iteration, without the call.
        outer: The parameters of the iteration that ``head`` and the indices read.
        fields: What the tile shares: the item, its indices, and locals of ``head`` that ``rest`` reads; with values.
        indices: The names of the indices among them.
    """

    step: ir.Function
    item: ir.Var
    call: ir.Call
    head: tuple[ir.Assign, ...]
    rest: Block
    outer: tuple[str, ...]
    fields: Mapping[str, ir.Expr]
    indices: tuple[str, ...]


def taken_in(step: ir.Function, functions: Mapping[str, ir.Function]) -> Taken | None:
    """Return what an iteration takes from memory; None if that is not one call with indices that all states have."""
    body = statements(step)
    calls = [s for s in walk_stmts(body) if isinstance(s, ir.Assign) and _reads_items(s.value, functions)]
    if len(calls) != 1 or calls[0] not in body:
        return None
    (read,) = calls
    if not (isinstance(read.target, ir.Var) and isinstance(read.value, ir.Call)):
        return None
    at = body.index(read)
    if any(isinstance(s, (ir.Return, ir.Break, ir.Continue)) for s in walk_stmts(body[:at])):
        return None
    stored = [root(s.target) for s in walk_stmts(body) if isinstance(s, ir.Assign)]
    once = {v.name for v in stored if v is not None and stored.count(v) == 1}
    needed = names_in(read.value)
    head: list[ir.Assign] = []
    for stmt in reversed(body[:at]):
        if needed & {*stored_in((stmt,))}:
            if not (isinstance(stmt, ir.Assign) and isinstance(stmt.target, ir.Var) and stmt.target.name in once):
                return None
            head.insert(0, stmt)
            needed |= names_in(stmt.value)
    found = {s.target.name: s.target for s in head if isinstance(s.target, ir.Var)}
    outer = tuple(p.name for p in step.params[2:] if p.name in needed)
    if needed - found.keys() - {*outer, step.params[1].name}:
        return None
    rest = tuple(s for s in body if s not in (*head, read))
    names = Fresh({read.target.name, *found, *(p.name for p in step.params)})
    indices = {
        arg.name if isinstance(arg, ir.Var) and arg.name in found else names.name("at"): arg for arg in read.value.args
    }
    used = {name for stmt in rest for name in reads_of(stmt)}
    others = {name: local for name, local in found.items() if name in used and name not in indices}
    if any(carries_gradient(e.type) for e in (*indices.values(), *others.values())):
        return None
    fields: dict[str, ir.Expr] = {read.target.name: read.target, **indices, **others}
    return Taken(step, read.target, read.value, tuple(head), rest, outer, fields, tuple(indices))


def _reads_items(expr: ir.Expr, functions: Mapping[str, ir.Function]) -> bool:
    key = callee(expr)
    return bool(key) and functions[key].role is ir.Role.GATHER
