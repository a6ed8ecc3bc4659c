"""Store whole rows where one run-time index occurs twice in the path to an element.

For a store with one index twice, `m[i][i] = e`, Slang 2026.12 emits reverse mode with an undeclared name. No target
compiles it (docs/slang-notes.md). A store of the row is right, and so are reads:

    m[i][i] = e;       ->    m[i] = with(m[i], i, e);
    a[i][j][j] = e;    ->    a[i][j] = with(a[i][j], j, e);
    s[i].v[i] = e;     ->    s[i].v = with(s[i].v, i, e);

`i` and `j` count as one index after `j = i`; so do `i` and `i + 0`. Indices that Slang does not take for one value keep
the shorter form: other loop variables, `i` and `i + 1`, `i` and `2 - i`, `i` and `i % 3`; and so do unrolled loops.
"""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, TypeAlias

from slangad.compiler.ir import nodes as ir
from slangad.compiler.ir.gradient_flow import is_differentiated
from slangad.compiler.ir.types import carries_gradient
from slangad.compiler.ir.walk import map_blocks, map_functions, root, statements, walk, walk_stmts
from slangad.compiler.passes.separate_indexed_reads import is_static
from slangad.compiler.passes.store_whole_values import fresh_locals, store_whole

if TYPE_CHECKING:
    from collections.abc import Iterator

    from slangad.compiler.ir.build import Block, Fresh

Sum: TypeAlias = "dict[ir.Expr | None, int]"
"""A sum: the factor of each expression; the constant is at ``None``."""


def store_rows(module: ir.Module) -> ir.Module:
    """Rewrite stores through indices that may be one value in differentiated functions."""
    return map_functions(module, _function)


def _function(function: ir.Function) -> ir.Function:
    body = function.body
    if not isinstance(body, tuple) or not is_differentiated(function):
        return function
    rows = _Rows(_Sums(_locals(function)), fresh_locals(function, body))
    return replace(function, body=rows.block(body, frozenset()))


@dataclass(frozen=True, slots=True)
class _Rows:
    """Rewrites stores; ``unrolled`` are loop variables that are constants to Slang."""

    sums: _Sums
    fresh: Fresh

    def block(self, body: Block, unrolled: frozenset[str]) -> Block:
        """Return the statements of a block, rewritten."""
        return tuple(new for stmt in body for new in self._stmt(stmt, unrolled))

    def _stmt(self, stmt: ir.Stmt, unrolled: frozenset[str]) -> Iterator[ir.Stmt]:
        row = _row(stmt, self.sums, unrolled) if isinstance(stmt, ir.Assign) else None
        if isinstance(stmt, ir.Assign) and row is not None:
            yield from store_whole(stmt, row, self.fresh)
            return
        inner = unrolled | {stmt.variable} if isinstance(stmt, ir.For) and stmt.unroll else unrolled
        yield map_blocks(stmt, lambda block: self.block(block, inner))


def _row(stmt: ir.Assign, sums: _Sums, unrolled: frozenset[str]) -> ir.Expr | None:
    """Return the value to store whole instead of its part: the one that the first repeated index selects from."""
    if root(stmt.target) is None or not carries_gradient(stmt.target.type):
        return None
    way: list[ir.Index] = []
    place = stmt.target
    while isinstance(place, (ir.Member, ir.Swizzle, ir.Index)):
        if isinstance(place, ir.Index) and not is_static(place.index, unrolled):
            way.append(place)
        place = place.value
    before: list[ir.Expr] = []
    for step in reversed(way):
        if any(sums.may_be_one(index, step.index) for index in before):
            return step.value
        before.append(step.index)
    return None


def _locals(function: ir.Function) -> dict[str, ir.Expr | None]:
    """Return the value of each local; ``None`` if it has more than one."""
    params = {p.name for p in function.params}
    result: dict[str, ir.Expr | None] = {}
    for stmt in walk_stmts(statements(function)):
        if isinstance(stmt, (ir.Assign, ir.Let)):
            target = root(stmt.target) if isinstance(stmt, ir.Assign) else stmt
            if target is not None:
                whole = isinstance(stmt, ir.Let) or isinstance(stmt.target, ir.Var)
                again = target.name in result or target.name in params
                result[target.name] = stmt.value if whole and not again else None
    return result


@dataclass(slots=True)
class _Sums:
    """Finds indices that may be one value to Slang, which follows copies and removes zeros and ones."""

    locals: dict[str, ir.Expr | None]
    known: dict[str, Sum | None] = field(default_factory=dict)

    def may_be_one(self, index: ir.Expr, other: ir.Expr) -> bool:
        """Return True if two indices are not known to differ."""
        one, two = self._of(index), self._of(other)
        if one is None or two is None:
            return True
        return one == two

    def _of(self, expr: ir.Expr) -> Sum | None:
        """Return an index as a sum; ``None`` if a branch or a loop may have given it."""
        match expr:
            case ir.Const(value=value):
                return {None: int(value)} if value else {}
            case ir.Var(name) if name in self.locals:
                return self._local(name)
            case ir.Cast(operand=operand) | ir.Binary(op="/", left=operand, right=ir.Const(value=1)):
                return self._of(operand)
            case ir.Unary(op="-", operand=operand):
                return _scaled(self._of(operand), -1)
            case ir.Binary(op="+" | "-" as op, left=left, right=right):
                return _added(self._of(left), _scaled(self._of(right), 1 if op == "+" else -1))
            case ir.Binary(op="*", left=ir.Const(value=factor), right=operand):
                return _scaled(self._of(operand), int(factor))
            case ir.Binary(op="*", left=operand, right=ir.Const(value=factor)):
                return _scaled(self._of(operand), int(factor))
            case _:
                unsure = any(isinstance(e, ir.Ternary) or _is_one_of(e, self.locals) for e in walk(expr))
                return None if unsure else {expr: 1}

    def _local(self, name: str) -> Sum | None:
        if name not in self.known:
            self.known[name] = None  # what it is made from itself is not known
            value = self.locals[name]
            self.known[name] = None if value is None else self._of(value)
        return self.known[name]


def _is_one_of(expr: ir.Expr, names: dict[str, ir.Expr | None]) -> bool:
    return isinstance(expr, ir.Var) and expr.name in names


def _added(one: Sum | None, two: Sum | None) -> Sum | None:
    if one is None or two is None:
        return None
    total = Counter(one)
    total.update(two)
    return {part: count for part, count in total.items() if count}


def _scaled(one: Sum | None, factor: int) -> Sum | None:
    if one is None:
        return None
    return {part: count * factor for part, count in one.items() if count * factor}
