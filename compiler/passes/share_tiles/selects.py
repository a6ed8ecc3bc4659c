"""Replace short branches by choices between values, which the lanes of a wave make without leaving each other.

    if c { return State(light, through) }            light_2 = light + color * a
    light = light + color * a                   ->   through_2 = through * (1 - a)
    through = through * (1 - a)                      return State(c ? light : light_2, c ? through : through_2)
    return State(light, through)

Both sides are computed, so they have to be short, and arithmetic of floats that can't fail.
"""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Final

from slangad.compiler.ir import nodes as ir
from slangad.compiler.ir.build import Fresh, part
from slangad.compiler.ir.types import BOOL, Struct, is_integral
from slangad.compiler.ir.walk import body_exprs, rewrite, statements, walk
from slangad.compiler.passes.derivatives.early_returns import with_one_return
from slangad.compiler.passes.replay_loops.read import reads_of, stored_in

if TYPE_CHECKING:
    from slangad.compiler.ir.build import Block

_MOST: Final = 60
"""Nodes of both sides. Longer sides are worth a branch, which waves without a lane for one of them skip."""
_CHEAP: Final = frozenset({"abs", "clamp", "dot", "max", "min", "saturate", "select", "sign", "step"})
_PLAIN: Final = (
    ir.Const, ir.ConstantRef, ir.Var, ir.Unary, ir.Binary, ir.Ternary, ir.Construct, ir.Cast, ir.Member, ir.Swizzle,
    ir.NoDiff,
)  # fmt: skip

_Values = dict[str, ir.Expr]


def with_selects(function: ir.Function) -> ir.Function:
    """Return a function with choices in place of short branches, also where these return."""
    joined = with_one_return(function) or function
    params = {p.name for p in function.params}
    taken = params | {e.name for e in body_exprs(statements(joined)) if isinstance(e, ir.Var)}
    selector = _Selector(Fresh(taken), params)
    body = selector.block(statements(joined), set())
    match body:
        case (*before, ir.Assign(ir.Var() as result, value), ir.Return(ir.Var() as returned)) if returned == result:
            body = (*before, ir.Return(value))
    return replace(function, body=body) if selector.found else function


@dataclass(slots=True)
class _Selector:
    """Names for new locals, the names that have values so far, and whether a branch was replaced."""

    names: Fresh
    known: set[str]
    found: bool = field(default=False)

    def block(self, body: Block, live: set[str]) -> Block:
        """Return statements without their short branches, innermost first; ``live`` are names that are read later."""
        made: list[ir.Stmt] = []
        for number, stmt in enumerate(body):
            later = {*live, *(name for s in body[number + 1 :] for name in reads_of(s))}
            if isinstance(stmt, ir.If):  # loops stay: their next iteration reads what this one leaves
                known = {*self.known}
                inner = replace(stmt, then=self.block(stmt.then, later), other=self.block(stmt.other, later))
                self.known = known
                short = _is_short(inner)
                self.found |= short
                made += self._chosen(inner, later) if short else (inner,)
            else:
                made.append(stmt)
            self.known |= {*stored_in((stmt,))}
        return tuple(made)

    def _chosen(self, stmt: ir.If, live: set[str]) -> Block:
        """Return both sides of a branch, and the choices of what they give and something reads."""
        changed = live & {*stored_in((stmt,))}
        made: list[ir.Stmt] = []
        condition = stmt.condition
        if not isinstance(condition, ir.Var) or condition.name in changed:
            condition = ir.Var(self.names.name("condition"), BOOL)
            made.append(ir.Assign(condition, stmt.condition, stmt.span))
        ends: list[_Values] = []
        for side in (stmt.then, stmt.other):
            values: _Values = {}
            for inner in side:
                assert isinstance(inner, ir.Assign)  # noqa: S101  (_is_short)
                assert isinstance(inner.target, ir.Var)  # noqa: S101
                value = rewrite(inner.value, lambda e: values.get(e.name, e) if isinstance(e, ir.Var) else e)  # noqa: B023
                values[inner.target.name] = self._kept(made, inner, value, changed - {inner.target.name})
            ends.append(values)
        for name in dict.fromkeys([*ends[0], *ends[1]]):
            if name not in live:
                continue
            given = [end[name] for end in ends if name in end]
            local = ir.Var(name, given[0].type)
            before = local if name in self.known else given[0]  # nothing reads it where the other side is taken
            sides = [end.get(name, before) for end in ends]
            made.append(ir.Assign(local, _choice(condition, sides[0], sides[1]), stmt.span))
        return tuple(made)

    def _kept(self, made: list[ir.Stmt], stmt: ir.Assign, value: ir.Expr, changed: set[str]) -> ir.Expr:
        """Return a value, in a new local if it computes or reads what choices change; of a struct, its parts."""
        if isinstance(value, ir.Construct) and isinstance(value.type, Struct) and value.args:
            return replace(value, args=tuple(self._kept(made, stmt, arg, changed) for arg in value.args))
        nodes = [*walk(value)]
        computes = any(isinstance(e, (ir.Unary, ir.Binary, ir.Ternary, ir.Intrinsic)) for e in nodes)
        if not computes and not any(isinstance(e, ir.Var) and e.name in changed for e in nodes):
            return value
        assert isinstance(stmt.target, ir.Var)  # noqa: S101  (_is_short)
        local = ir.Var(self.names.name(stmt.target.name), value.type)
        made.append(ir.Assign(local, value, stmt.span))
        return local


def _choice(condition: ir.Expr, one: ir.Expr, other: ir.Expr) -> ir.Expr:
    """Return the choice between two values, part by part where they are structs."""
    if one == other:
        return one
    if isinstance(one.type, Struct):
        parts = tuple(_choice(condition, _part(one, f.name), _part(other, f.name)) for f in one.type.fields)
        return ir.Construct(parts, one.type)
    if isinstance(one, ir.Const) and isinstance(other, ir.Const) and one.type == BOOL:
        return condition if one.value else ir.Unary("!", condition, BOOL)
    return ir.Ternary(condition, one, other, one.type)


def _part(value: ir.Expr, name: str) -> ir.Expr:
    if isinstance(value, ir.Construct) and isinstance(value.type, Struct) and value.args:
        return value.args[[f.name for f in value.type.fields].index(name)]
    return part(value, name)


def _stores(stmt: ir.Stmt) -> bool:
    return isinstance(stmt, ir.Assign) and isinstance(stmt.target, ir.Var)


def _is_short(stmt: ir.If) -> bool:
    """Return True if both sides assign locals, by short arithmetic that can't fail."""
    both = (*stmt.then, *stmt.other)
    if not all(_stores(s) and not s.adds for s in both):  # type: ignore[union-attr]
        return False
    nodes = [*body_exprs(both)]
    return len(nodes) <= _MOST and all(map(_is_safe, nodes))


def _is_safe(expr: ir.Expr) -> bool:
    match expr:
        case ir.Binary("/" | "%", type=type_) if is_integral(type_):
            return False
        case ir.Intrinsic(name):
            return name in _CHEAP
        case ir.Call():
            return False
        case _:
            return isinstance(expr, _PLAIN)
