"""Replace ``v * float3(s)`` by ``v * s`` where Slang compiles the short form correctly.

Front ends spread every scalar that meets a vector: ``float3(s)``. Slang accepts ``v * s`` too. But with matrices the
gradient is wrong, and with vectors too if ``s`` is a parameter or a copy of one, or a variable that a loop changes
(docs/slang-notes.md lists the forms that were tested). So only correct short forms are used:

    v * float3(2.0)    ->  v * 2.0      always
    v * float3(s)      ->  v * s        and v / s: in functions without branches and loops, for vectors
    float3(a * b) * v  ->  a * b * v    and all others: for vectors, if the scalar is computed, a field of a parameter
                                        that nothing changes, or a parameter without gradient
    float3(s) - v      ->  s - v        and all others: in functions that are not differentiated, for vectors
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Final

from slangad.compiler.ir import nodes as ir
from slangad.compiler.ir.gradient_flow import is_differentiated
from slangad.compiler.ir.types import Vector, is_scalar
from slangad.compiler.ir.walk import body_exprs, map_exprs_of, map_functions, rewrite, root, statements, walk_stmts

_MIXED: Final = frozenset({"+", "-", "*", "/"})


def unspread_scalars(module: ir.Module) -> ir.Module:
    """Replace spread scalars by scalars where Slang's mixed arithmetic is right."""
    return map_functions(module, _function)


def _function(function: ir.Function) -> ir.Function:
    left = not is_differentiated(function)
    right = left or not _branches(function)
    assigned = _assigned(function)
    unchanged = [p for p in function.params if p.direction == "in" and p.name not in assigned]
    allowed = _Allowed(
        left=left,
        right=right,
        constant=frozenset(p.name for p in unchanged if p.no_diff),
        computed=frozenset(name for name, (value, *more) in assigned.items() if not more and _is_computed(value)),
        fields=frozenset(p.name for p in unchanged),
    )
    return map_exprs_of(function, lambda e: rewrite(e, lambda x: _expr(x, allowed)))


@dataclass(frozen=True, slots=True)
class _Allowed:
    """The scalars of a function that may stand alone.

    Attributes:
        left: All of them, everywhere.
        right: All of them, as factors and divisors on the right.
        constant: The parameters without gradient that no statement changes.
        computed: The variables that are computed once.
        fields: The parameters whose fields no statement changes.
    """

    left: bool
    right: bool
    constant: frozenset[str]
    computed: frozenset[str]
    fields: frozenset[str]

    def everywhere(self, scalar: ir.Expr) -> bool:
        """Return True if a scalar may stand alone on both sides of all operators."""
        match scalar:
            case ir.Var(name):
                free = name in self.constant or name in self.computed
            case ir.Member() | ir.Swizzle() | ir.Index(index=ir.Const()):
                of = root(scalar)
                free = isinstance(of, ir.Var) and of.name in self.fields
            case _:
                free = _is_computed(scalar)
        return self.left or free


def _is_computed(scalar: ir.Expr) -> bool:
    """Return True for a scalar that Slang can't take for a parameter."""
    match scalar:
        case ir.Binary() | ir.Call() | ir.Intrinsic() | ir.Unary("-"):
            return True
        case _:
            return False


def _assigned(function: ir.Function) -> dict[str, list[ir.Expr]]:
    """Return the values that statements give to variables, or to parts of them."""
    assigned: dict[str, list[ir.Expr]] = {}
    for stmt in walk_stmts(statements(function)):
        match stmt:
            case ir.Assign(target=target, value=value) if isinstance(found := root(target), ir.Var):
                assigned.setdefault(found.name, []).append(value)
            case ir.Let(name=name, value=value) if value is not None:
                assigned.setdefault(name, []).append(value)
            case _:
                pass
    return assigned


def _branches(function: ir.Function) -> bool:
    body = statements(function)
    if any(isinstance(s, (ir.If, ir.For, ir.While)) for s in walk_stmts(body)):
        return True
    return any(
        isinstance(e, ir.Ternary) or (isinstance(e, ir.Binary) and e.op in ("&&", "||")) for e in body_exprs(body)
    )


def _expr(expr: ir.Expr, allowed: _Allowed) -> ir.Expr:
    match expr:
        case ir.Binary(op=op, left=a, right=b) if op in _MIXED:
            spread = _spread(b, allowed, free=allowed.right and op in ("*", "/"))
            if spread is not None:
                return replace(expr, right=spread)
            spread = _spread(a, allowed, free=False)
            if spread is not None and not is_scalar(b.type):
                return replace(expr, left=spread)
            return expr
        case _:
            return expr


def _spread(expr: ir.Expr, allowed: _Allowed, *, free: bool) -> ir.Expr | None:
    """Return the scalar that an operand spreads, if it may stand alone; any scalar of a vector with ``free``."""
    match expr:
        case ir.Construct(args=(arg,), type=type_) if is_scalar(arg.type) and arg.type != type_:
            literal = isinstance(arg, ir.Const) or (isinstance(arg, ir.Unary) and isinstance(arg.operand, ir.Const))
            return arg if literal or ((free or allowed.everywhere(arg)) and isinstance(type_, Vector)) else None
        case _:
            return None
