"""Compute once what functions find from the same values again and again: a thread's elements share it.

    blend(state, item, column, row):                 common(item, column):
        d = float2(column, row) - item.mean              return Common((column - item.mean.x) * item.slope)
        light = state + d.x * item.slope * d.y    ->  blend(state, item, common, column, row):
                                                         d = float2(column, row) - item.mean
                                                         light = state + common.product * d.y

Reverse mode adds up the cotangents of ``common`` first, and runs back through it once. So an expression moves only
where gradient flows through it and where the function always computes it: the gradient of one that a branch leaves out
can be infinite times zero.
"""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Final

from slangad.compiler.ir import nodes as ir
from slangad.compiler.ir.build import part
from slangad.compiler.ir.types import Vector, carries_gradient, is_floating
from slangad.compiler.ir.walk import map_body_exprs, map_children, rewrite, root, walk, walk_stmts

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    from slangad.compiler.ir.build import Block, Fresh
    from slangad.compiler.ir.types import Struct

_LARGEST: Final = 60
"""Nodes of an expression that moves, with the locals it reads written out. Larger ones stay: nobody could read them."""

_AXES: Final = "xyzw"


@dataclass(slots=True)
class CommonValues:
    """Takes expressions out of bodies.

    Attributes:
        known: The names of parameters whose values the caller's elements share.
        active: Those of them that gradients flow to.
        given: The names of all parameters, which may have values before a body sets them.
        names: Names for the values.
        values: What has moved so far, by name.
        named: The values of locals and of their components, each with a name.
    """

    known: frozenset[str]
    active: frozenset[str]
    given: frozenset[str]
    names: Fresh
    values: dict[str, ir.Expr] = field(default_factory=dict)
    named: dict[ir.Expr, str] = field(default_factory=dict)

    def computed(self, type_: Struct) -> Block:
        """Return the statements that compute the values and return them as a struct, with a local for what recurs."""
        returned: ir.Expr = ir.Construct(tuple(self.values.values()), type_)
        body: list[ir.Stmt] = []
        for value, word in self.named.items():
            if [*walk(returned)].count(value) > 1 and _computes(value):
                local = ir.Var(self.names.name(word), value.type)
                body.append(ir.Assign(local, value))
                returned = rewrite(returned, lambda e: local if e == value else e)  # noqa: B023  (used at once)
        return (*body, ir.Return(returned))

    def without(self, body: Block) -> Block:
        """Return a body whose common expressions are locals with the names of ``values``, which nothing assigns."""
        always = next((n for n, stmt in enumerate(body) if _may_leave(stmt)), len(body))
        found = _Expressions(self, _definitions(body, self.given), {*_stored(body)})
        return (*(found.moved_in(stmt) for stmt in body[:always]), *body[always:])

    def name_of(self, value: ir.Expr, wanted: str) -> str:
        """Return the name of a value that moves."""
        for name, known in self.values.items():
            if known == value:
                return name
        name = self.names.name(wanted)
        self.values[name] = value
        return name


def as_fields(body: Block, values: Mapping[str, ir.Expr], holder: ir.Var) -> Block:
    """Return a body of ``CommonValues.without`` that reads the values from the fields of a struct."""

    def read(expr: ir.Expr) -> ir.Expr:
        return part(holder, expr.name) if isinstance(expr, ir.Var) and expr.name in values else expr

    return map_body_exprs(body, lambda e: rewrite(e, read))


@dataclass(frozen=True, slots=True)
class _Expressions:
    """The expressions of one body, the values of its locals that have one each, and the names of all it stores."""

    of: CommonValues
    definitions: Mapping[str, ir.Expr]
    stored: set[str]

    def moved_in(self, stmt: ir.Stmt) -> ir.Stmt:
        """Return a statement with the largest common parts of its value replaced."""
        match stmt:
            case ir.Assign(value=value) | ir.Return(value=ir.Construct() | ir.Member() | ir.Binary() as value):
                return replace(stmt, value=self.moved(value))
            case _:
                return stmt

    def moved(self, expr: ir.Expr) -> ir.Expr:
        """Return an expression with the largest common parts replaced."""
        if not carries_gradient(expr.type):
            return expr
        if is_floating(expr.type):
            value = self._common(expr)
            if value is not None and self._is_worth_it(value):
                return ir.Var(self.of.name_of(value, _word(expr)), expr.type)
        match expr:
            case ir.Ternary() | ir.NoDiff() | ir.Call():
                return expr
            case _:
                return map_children(expr, self.moved)

    def _common(self, expr: ir.Expr) -> ir.Expr | None:
        """Return an expression by the known parameters alone; None if it is not common."""
        match expr:
            case ir.Const() | ir.ConstantRef():
                return expr
            case ir.Var(name=name):
                if name in self.of.known and name not in self.stored:
                    return expr
                return self._noted(self._common(self.definitions[name]), name) if name in self.definitions else None
            case ir.Swizzle(value=value, components=axes) if len(axes) == 1:
                return self._part(value, _AXES.index(axes), expr)
            case ir.Index(value=value, index=ir.Const(value=int(number))) if isinstance(value.type, Vector):
                return self._part(value, number, expr)
            case ir.Member() | ir.Swizzle() | ir.Unary() | ir.Binary() | ir.Construct() | ir.Cast() | ir.Intrinsic():
                return self._with_common_operands(expr)
            case _:
                return None

    def _is_worth_it(self, value: ir.Expr) -> bool:
        """Return True if there is something to compute, from something that has a gradient."""
        nodes = [*walk(value)]
        active = any(isinstance(n, ir.Var) and n.name in self.of.active for n in nodes)
        return active and _computes(value) and len(nodes) <= _LARGEST

    def _with_common_operands(self, expr: ir.Expr) -> ir.Expr | None:
        lost = False

        def common(operand: ir.Expr) -> ir.Expr:
            nonlocal lost
            found = self._common(operand)
            lost = lost or found is None
            return operand if found is None else found

        made = map_children(expr, common)
        return None if lost else made

    def _part(self, value: ir.Expr, number: int, expr: ir.Expr) -> ir.Expr | None:
        """Return a component of a vector; of an operation by component, that of its operands."""
        whole = self._common(value)
        if whole is not None:
            return ir.Swizzle(whole, _AXES[number], expr.type) if isinstance(whole.type, Vector) else None
        match value:
            case ir.Var(name=name) if name in self.definitions:
                return self._noted(self._part(self.definitions[name], number, expr), f"{name}_{_AXES[number]}")
            case ir.Construct(args=args) if len(args) > number and all(not isinstance(a.type, Vector) for a in args):
                return self._common(args[number])
            case ir.Unary(op=op, operand=operand):
                of = self._part(operand, number, expr)
                return None if of is None else ir.Unary(op, of, expr.type)
            case ir.Binary(op=op, left=left, right=right):
                sides = [self._side(side, number, expr) for side in (left, right)]
                return None if sides[0] is None or sides[1] is None else ir.Binary(op, sides[0], sides[1], expr.type)
            case _:
                return None

    def _noted(self, value: ir.Expr | None, word: str) -> ir.Expr | None:
        if value is not None:
            self.of.named.setdefault(value, word)
        return value

    def _side(self, operand: ir.Expr, number: int, expr: ir.Expr) -> ir.Expr | None:
        return self._part(operand, number, expr) if isinstance(operand.type, Vector) else self._common(operand)


def _definitions(body: Block, given: frozenset[str]) -> dict[str, ir.Expr]:
    """Return the values of the locals that a statement of the body itself sets, and no other statement."""
    stored = [*_stored(body)]
    return {
        s.target.name: s.value
        for s in body
        if isinstance(s, ir.Assign) and isinstance(s.target, ir.Var) and stored.count(s.target.name) == 1
        if s.target.name not in given
    }


def _stored(body: Block) -> Iterable[str]:
    """Yield the locals that statements set, as often as they do."""
    for stmt in walk_stmts(body):
        target = root(stmt.target) if isinstance(stmt, ir.Assign) else None
        if target is not None:
            yield target.name


def _may_leave(stmt: ir.Stmt) -> bool:
    """Return True if what follows a statement may not run."""
    return any(isinstance(s, (ir.Break, ir.Continue, ir.Return)) for s in walk_stmts((stmt,))) and not isinstance(
        stmt, ir.Return
    )


def _computes(value: ir.Expr) -> bool:
    return any(isinstance(n, (ir.Unary, ir.Binary, ir.Intrinsic)) for n in walk(value))


def _word(expr: ir.Expr) -> str:
    """Return the name of what an expression computes."""
    match expr:
        case ir.Var(name=name):
            return name
        case ir.Binary(op=op):
            return {"*": "product", "/": "quotient", "-": "difference"}.get(op, "sum")
        case ir.Swizzle(value=ir.Var(name=name), components=axes):
            return f"{name}_{axes}"
        case ir.Intrinsic(name=name):
            return name
        case _:
            return "value"
