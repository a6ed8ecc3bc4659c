"""Split the tuples that iterations hand on into one local for each element.

    pair = step(x, v)                             pair_parts = step(x, v)
    for i in 0 .. n:                              pair_0 = pair_parts.item0
        pair = step(pair.item0, pair.item1)       pair_1 = pair_parts.item1
                                          ->      for i in 0 .. n:
                                                      pair_parts_2 = step(pair_0, pair_1)
                                                      pair_0 = pair_parts_2.item0
                                                      pair_1 = pair_parts_2.item1

The state of a loop is a struct, and structs have no tuples in them. A tuple that an iteration sets before it reads it
is no state, and stays: ``results`` in ``results = step(x, v)``, from which ``x`` and ``v`` are then set.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from slangad.compiler.ir import nodes as ir
from slangad.compiler.ir.assignment import sets_before_reading
from slangad.compiler.ir.build import zero
from slangad.compiler.ir.types import Tuple
from slangad.compiler.ir.walk import body_exprs, map_blocks, map_stmt_exprs, rewrite, walk, walk_stmts

if TYPE_CHECKING:
    from slangad.compiler.ir.build import Block, Fresh
    from slangad.compiler.ir.types import Type


def split_tuples(body: Block, names: Fresh) -> Block:
    """Return the body of a function without tuples that the iterations of a loop hand on; ``names`` makes names."""
    while handed := _handed_on(body):
        body = _Splitter(names, handed).block(body)
    return body


def _handed_on(body: Block) -> dict[str, Tuple]:
    """Return the tuples that a loop stores into, and that its next iteration or a statement outside it reads."""
    stored: dict[str, Tuple] = {}
    for loop in walk_stmts(body):
        if isinstance(loop, (ir.For, ir.While)):
            stores = (s.target for s in walk_stmts(loop.body) if isinstance(s, ir.Assign))
            own = {t.name: t.type for t in stores if isinstance(t, ir.Var) and isinstance(t.type, Tuple)}
            stored |= {name: type_ for name, type_ in own.items() if not _stays_inside(name, loop, body)}
    return stored


def _stays_inside(name: str, loop: ir.For | ir.While, body: Block) -> bool:
    """Return True if each iteration of a loop in a body sets a local before it reads it, and nothing else reads it."""
    inside = sum(isinstance(e, ir.Var) and e.name == name for e in body_exprs(loop.body))
    everywhere = sum(isinstance(e, ir.Var) and e.name == name for e in body_exprs(body))
    return sets_before_reading(loop.body, name) and inside == everywhere


@dataclass(slots=True)
class _Splitter:
    """Replaces tuples by the locals of their elements."""

    names: Fresh
    tuples: dict[str, Tuple]
    parts: dict[str, tuple[ir.Var, ...]] = field(init=False)

    def __post_init__(self) -> None:
        """Name the elements."""
        self.parts = {
            name: tuple(self.names.var(f"{name}_{i}", e) for i, e in enumerate(type_.elements))
            for name, type_ in self.tuples.items()
        }

    def block(self, body: Block) -> Block:
        """Return a block in which elements are stored and read."""
        made: list[ir.Stmt] = []
        for stmt in body:
            match stmt:
                case ir.Assign(ir.Var(name), value) if name in self.parts:
                    made += self._store(name, rewrite(value, self._read), stmt)
                case _:
                    read = map_stmt_exprs(stmt, lambda e: rewrite(e, self._read))
                    made.append(map_blocks(read, self.block))
        return tuple(made)

    def _store(self, name: str, value: ir.Expr, stmt: ir.Assign) -> list[ir.Stmt]:
        """Return stores of the elements of a value, all of which are computed before any is stored."""
        parts = self.parts[name]
        if isinstance(value, ir.Construct) and not any(e in parts for a in value.args for e in walk(a)):
            values = value.args or tuple(zero(p.type) for p in parts)
            return [ir.Assign(p, v, stmt.span) for p, v in zip(parts, values, strict=True)]
        whole = self.names.var(f"{name}_parts", self.tuples[name])  # one for each store: no iteration hands it on
        stores = (ir.Assign(p, _element(whole, i, p.type), stmt.span) for i, p in enumerate(parts))
        return [ir.Assign(whole, value, stmt.span), *stores]

    def _read(self, expr: ir.Expr) -> ir.Expr:
        """Return a tuple as its elements, or one element of it; other expressions as they are."""
        match expr:
            case ir.Var(name, type_) if name in self.parts:
                return ir.Construct(self.parts[name], type_, expr.span)
            case ir.Member(ir.Construct(args, Tuple()), item) if args in self.parts.values():
                return args[int(item.removeprefix("item"))]
            case _:
                return expr


def _element(value: ir.Expr, number: int, type_: Type) -> ir.Expr:
    return ir.Member(value, f"item{number}", type_)
