"""Write the layers of a network as one expression, where nothing else reads what lies between them.

    z = linear(net.w1, x)
    h = relu(z)                 ->    return linear(net.w2, relu(linear(net.w1, x)))
    return linear(net.w2, h)

``relu`` is a function that ``map_entries`` made. A function that only passes its arguments on to a product or to such a
function is written out too. Then a product with the function before it is one step (emit/memory/matrices.py): the
backward pass keeps ``z`` and no ``h``, and a group need not give vectors back to its threads between two products.
"""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from slangad.compiler.ir import nodes as ir
from slangad.compiler.ir.calls import callees
from slangad.compiler.ir.layers import is_entrywise, multiplying
from slangad.compiler.ir.walk import (
    body_exprs,
    evaluated,
    map_blocks,
    map_children,
    map_stmt_exprs,
    rewrite,
    stmt_exprs,
)

if TYPE_CHECKING:
    from collections.abc import Mapping

Block = tuple[ir.Stmt, ...]


def nest_layers(module: ir.Module) -> ir.Module:
    """Return the module with nested layers in kernels that multiply by matrices together."""
    keys = multiplying(module)
    if not keys:
        return module
    nester = _Nester({f.key: f for f in module.functions})
    made = tuple(replace(f, body=nester.body(f)) if f.key in keys else f for f in module.functions)
    unused = {key for key in _needed(module.functions) - _needed(made) if key.endswith("]")}  # for a kernel's memory
    return replace(module, functions=tuple(f for f in made if f.key not in unused))


def _needed(functions: tuple[ir.Function, ...]) -> set[str]:
    return {key for function in functions for key in callees(function, functions)}


@dataclass(slots=True)
class _Nester:
    """Nests the layers in the bodies of functions."""

    functions: Mapping[str, ir.Function]

    def body(self, function: ir.Function) -> Block:
        """Return the body of a function with its layers nested."""
        assert isinstance(function.body, tuple)  # noqa: S101  (it is differentiated by Slang)
        body = self._written_out(function.body)
        uses = Counter(e.name for e in body_exprs(body) if isinstance(e, ir.Var))
        return self._nested(body, uses)

    def _written_out(self, body: Block) -> Block:
        return tuple(map_stmt_exprs(map_blocks(stmt, self._written_out), self._expr) for stmt in body)

    def _expr(self, expr: ir.Expr) -> ir.Expr:
        expr = map_children(expr, self._expr)
        function = self.functions.get(expr.function) if isinstance(expr, ir.Call) else None
        value = self._passed_on(function) if function else None
        if function is None or value is None or not isinstance(expr, ir.Call):
            return expr
        args = {p.name: arg for p, arg in zip(function.params, expr.args, strict=True)}
        uses = [(e.name, certain) for e, certain in evaluated(value) if isinstance(e, ir.Var)]
        once = {name for name in args if [use for use in uses if use[0] == name] == [(name, True)]}
        if any(name not in once and not isinstance(arg, (ir.Var, ir.Const)) for name, arg in args.items()):
            return expr
        return self._expr(rewrite(value, lambda e: args.get(e.name, e) if isinstance(e, ir.Var) else e))

    def _passed_on(self, function: ir.Function) -> ir.Expr | None:
        """Return the value of a function that is a layer and no more."""
        plain = function.derivative == ir.Automatic() and not function.prefer
        if not plain or any(p.no_diff for p in function.params) or not isinstance(function.body, tuple):
            return None
        match tuple(s for s in function.body if not isinstance(s, ir.Comment)):
            case (ir.Return(value=value),):
                pass
            case (ir.Assign(target=ir.Var() as local, value=value), ir.Return(value=result)) if result == local:
                pass
            case _:
                return None
        return value if value is not None and self._is_layer(value) else None

    def _is_layer(self, expr: ir.Expr) -> bool:
        return isinstance(expr, ir.Linear) or is_entrywise(expr, self.functions)

    def _nested(self, body: Block, uses: Mapping[str, int]) -> Block:
        result: list[ir.Stmt] = []
        for stmt in body:
            made = map_blocks(stmt, lambda block: self._nested(block, uses))
            match result[-1:]:
                case [ir.Assign(target=ir.Var(name) as local, value=value)] if self._is_layer(value):
                    if uses[name] == 2 and any(self._takes(e, local) for e in _certain(made)):  # set, and read
                        result.pop()
                        made = _put(local, value, made)
                case _:
                    pass
            result.append(made)
        return tuple(result)

    def _takes(self, expr: ir.Expr, local: ir.Var) -> bool:
        """Return True if a layer takes a local as its vector."""
        match expr:
            case ir.Linear(value=value):
                return value == local
            case ir.Call(args=(value,)):
                return value == local and is_entrywise(expr, self.functions)
            case _:
                return False


def _certain(stmt: ir.Stmt) -> list[ir.Expr]:
    """Return the expressions that every thread evaluates that comes to a statement."""
    if isinstance(stmt, (ir.If, ir.For, ir.While)):
        return []
    return [part for own in stmt_exprs(stmt) for part, certain in evaluated(own) if certain]


def _put(local: ir.Var, value: ir.Expr, stmt: ir.Stmt) -> ir.Stmt:
    """Return a statement with a value in place of a local."""
    return map_stmt_exprs(stmt, lambda expr: rewrite(expr, lambda part: value if part == local else part))
