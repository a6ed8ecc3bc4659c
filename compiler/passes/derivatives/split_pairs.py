"""Replace locals that hold pairs by two locals each, in functions whose ``fwd_diff`` Slang can't differentiate.

Slang crashes on such locals in the derivative of a derivative (docs/slang-notes.md):

    a = pair(x, dx); use(a.p, a.d, a)    ->    a_d = dx; a_p = x; use(a_p, a_d, pair(a_p, a_d))
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from slangad.compiler.ir import nodes as ir
from slangad.compiler.ir.build import Fresh
from slangad.compiler.ir.types import DiffPair
from slangad.compiler.ir.walk import body_exprs, map_blocks, map_stmt_exprs, rewrite, statements, walk, walk_stmts

if TYPE_CHECKING:
    from slangad.compiler.ir.build import Block


def split_pairs(function: ir.Function) -> ir.Function:
    """Return a function whose locals hold no pairs."""
    body = statements(function)
    params = {p.name for p in function.params}
    targets = (s.target for s in walk_stmts(body) if isinstance(s, ir.Assign))
    stored = {v.name: v.type for v in targets if isinstance(v, ir.Var) and v.name not in params}
    names = Fresh(params | {e.name for e in body_exprs(body) if isinstance(e, ir.Var)})
    pairs = {
        name: (names.var(f"{name}_p", type_.primal), names.var(f"{name}_d", type_.primal))
        for name, type_ in stored.items()
        if isinstance(type_, DiffPair)
    }
    return replace(function, body=_Split(pairs, names).block(body)) if pairs else function


@dataclass(frozen=True, slots=True)
class _Split:
    """The two locals of each pair, and a maker of names."""

    pairs: dict[str, tuple[ir.Var, ir.Var]]
    names: Fresh

    def block(self, body: Block) -> Block:
        return tuple(made for stmt in body for made in self._stmt(map_blocks(stmt, self.block)))

    def _stmt(self, stmt: ir.Stmt) -> Block:
        match stmt:
            case ir.Assign(target=ir.Var(name)) if name in self.pairs:
                return self._store(*self.pairs[name], rewrite(stmt.value, self._expr), stmt)
            case _:
                return (map_stmt_exprs(stmt, lambda e: rewrite(e, self._expr)),)

    def _store(self, value: ir.Var, change: ir.Var, pair: ir.Expr, stmt: ir.Stmt) -> Block:
        """Return stores of both parts of a pair, which may read both locals."""
        primal, tangent = _part(pair, "p"), _part(pair, "d")
        if change not in walk(primal):
            return (ir.Assign(change, tangent, stmt.span), ir.Assign(value, primal, stmt.span))
        held = self.names.scratch("change", change.type)
        first = ir.Assign(held, tangent, stmt.span)
        return (first, ir.Assign(value, primal, stmt.span), ir.Assign(change, held, stmt.span))

    def _expr(self, expr: ir.Expr) -> ir.Expr:
        """Return an expression whose operands are rewritten without the pair that it reads."""
        match expr:
            case ir.Var(name, type, span) if name in self.pairs:
                primal, tangent = self.pairs[name]
                return ir.MakePair(primal, tangent, type, span)
            case ir.Member(ir.MakePair() as pair, ("p" | "d") as part):
                return _part(pair, part)
            case _:
                return expr


def _part(pair: ir.Expr, part: str) -> ir.Expr:
    """Return the value or the change of a pair."""
    if isinstance(pair, ir.MakePair):
        return pair.primal if part == "p" else pair.tangent
    assert isinstance(pair.type, DiffPair)  # noqa: S101  (the type of what is stored in a pair)
    return ir.Member(pair, part, pair.type.primal, pair.span)
