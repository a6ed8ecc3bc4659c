"""Add mutants of custom derivatives to a module, to see if the check catches them.

A mutant is a function with a backward function that differs at one location: a gradient negated, scaled, dropped or
given to another input, an operator exchanged, a term left out.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Final

from slangad.compiler.check import tolerances as tol
from slangad.compiler.ir import nodes as ir
from slangad.compiler.ir import types
from slangad.compiler.ir.build import arithmetic, divide, multiply, number, zero
from slangad.compiler.ir.walk import map_blocks, map_children, map_stmt_exprs, statements

if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Iterator, Mapping

    from slangad.compiler.errors.spans import Span

_EXCHANGED: Final = {"+": "-", "-": "+", "*": "/"}
PROBES: Final = {" (shifted)": "shift", " (not a number)": "lost", " (unchanged)": "keep"}
"""The endings of the names of probes, in the order of ``surviving``, with the change that each makes."""


@dataclass(frozen=True, slots=True)
class Change:
    """One way to break a backward function."""

    what: str
    body: tuple[ir.Stmt, ...]


def add_mutants(module: ir.Module, probed: Collection[str] = ()) -> ir.Module:
    """Return the module with mutants of every function that has custom derivatives.

    With ``probed``, names of mutants, the module has the probes for ``surviving`` instead.
    """
    functions = {f.key: f for f in module.functions}
    added: list[ir.Function] = []
    for function, names in _owned(module, functions):
        if function.span.file != module.source:
            continue
        changes = [(one, change) for one in names for change in _changes(one)]
        if probed:
            changes = [(one, probe) for one in names for probe in _probes_of(function.name, one, probed)]
        for place, (broken, change) in enumerate(changes):
            key = f"{function.key} mutant {place}"
            twins = {
                one.role: replace(one, key=f"{key} {one.role.value}", name=f"{one.name}_mutant_{place}", of=key)
                for one in names
            }
            twins[broken.role] = replace(twins[broken.role], body=change.body)
            keys = {role: one.key for role, one in twins.items()}
            derivative = ir.Custom(keys.get(ir.Role.BACKWARD), keys.get(ir.Role.FORWARD))
            name = _named(function.name, broken, change)
            twin = replace(function, key=key, name=name, derivative=derivative, doc=())
            added += [twin, *twins.values()]
    return replace(module, functions=(*module.functions, *added), kernels=(), pipelines=())


def _named(name: str, broken: ir.Function, change: Change) -> str:
    return f"{name}: forward: {change.what}" if broken.role is ir.Role.FORWARD else f"{name}: {change.what}"


def _probes_of(name: str, derivative: ir.Function, probed: Collection[str]) -> Iterator[Change]:
    """Yield probes of mutants by name: the changed value shifted by 1 (a product: doubled), and not a number."""
    places = [change.what for change in _changes(derivative) if _named(name, derivative, change) in probed]
    for probe, to in PROBES.items():
        made = {change.what: change for change in _changes(derivative, to)}
        yield from (replace(made[what], what=f"{what}{probe}") for what in places)


def left_alone(module: ir.Module) -> Iterator[tuple[str, Span, str]]:
    """Yield the custom derivatives without mutants: name, location and reason."""
    functions = {f.key: f for f in module.functions}
    for function, names in _owned(module, functions):
        if function.span.file != module.source:
            yield f"{function.name}: not mutated", function.span, f"it stands in {function.span.file}: name that file"
        elif not any(change for one in names for change in _changes(one)):
            yield f"{function.name}: not mutated", function.span, "nothing in its derivative is a number to be changed"


def _owned(module: ir.Module, functions: Mapping[str, ir.Function]) -> Iterator[tuple[ir.Function, list[ir.Function]]]:
    """Yield functions with custom derivatives, and these derivatives."""
    for function in module.functions:
        if function.role is ir.Role.PLAIN and isinstance(function.derivative, ir.Custom):
            keys = (function.derivative.backward, function.derivative.forward)
            yield function, [functions[key] for key in keys if key is not None and key in functions]


def _changes(derivative: ir.Function, to: str = "") -> Iterator[Change]:
    """Yield every way to break a derivative. With ``to``, each becomes that probe."""
    body = statements(derivative)
    returns = [one for one in _returns(body) if one.value is not None]
    for number_, stmt in enumerate(returns):
        where = f" in line {stmt.span.line}" if stmt.span.line else f" in return {number_ + 1}"
        yield from _changed_results(body, stmt, where, to, forward=derivative.role is ir.Role.FORWARD)
    yield from _changed_terms(body, to)


def _returns(body: tuple[ir.Stmt, ...]) -> Iterator[ir.Return]:
    """Yield the statements that return a value, nested ones too."""
    for stmt in body:
        if isinstance(stmt, ir.Return):
            yield stmt
        inner: list[ir.Stmt] = []

        def collect(block: tuple[ir.Stmt, ...], inner: list[ir.Stmt] = inner) -> tuple[ir.Stmt, ...]:
            inner.extend(block)
            return block

        map_blocks(stmt, collect)
        yield from _returns(tuple(inner))


def _changed_results(
    body: tuple[ir.Stmt, ...], stmt: ir.Return, where: str, to: str, *, forward: bool
) -> Iterator[Change]:
    """Yield changes of the value that one statement returns."""
    assert stmt.value is not None  # noqa: S101  (only those are asked for)
    value = stmt.value

    def with_value(made: ir.Expr) -> tuple[ir.Stmt, ...]:
        return _replaced(body, stmt, replace(stmt, value=made))

    if forward:
        if isinstance(value, ir.MakePair):
            for what, tangent in _wrong(value.tangent, to):
                yield Change(f"tangent {what}{where}", with_value(replace(value, tangent=tangent)))
        return
    several = value if isinstance(value, ir.Construct) and isinstance(value.type, types.Tuple) else None
    parts = [value] if several is None else list(several.args)

    def with_parts(changed: list[ir.Expr]) -> tuple[ir.Stmt, ...]:
        return with_value(changed[0] if several is None else replace(several, args=tuple(changed)))

    for k, part in enumerate(parts):
        for what, wrong in _wrong(part, to):
            yield Change(f"gradient {k + 1} {what}{where}", with_parts([*parts[:k], wrong, *parts[k + 1 :]]))
        for other in range(k + 1, len(parts)):
            if parts[other].type == part.type:
                swapped = [*parts]
                swapped[k], swapped[other] = (_probe(part, to), parts[other]) if to else (parts[other], part)
                yield Change(f"gradients {k + 1} and {other + 1} swapped{where}", with_parts(swapped))


def _replaced(body: tuple[ir.Stmt, ...], old: ir.Return, new: ir.Return) -> tuple[ir.Stmt, ...]:
    return tuple(new if s is old else map_blocks(s, lambda block: _replaced(block, old, new)) for s in body)


def _probe(expr: ir.Expr, to: str) -> ir.Expr:
    """Return a changed expression: shifted, doubled, not a number, or as it is."""
    match to:
        case "keep":
            return expr
        case "shift":
            return arithmetic("+", expr, number(1.0, expr.type))
        case "double":
            return multiply(expr, number(2.0, expr.type))
        case _:
            return multiply(expr, divide(number(0.0, expr.type), number(0.0, expr.type)))


def _wrong(part: ir.Expr, to: str) -> Iterator[tuple[str, ir.Expr]]:
    """Yield wrong values of a gradient. For a struct, change each listed field separately."""
    match part.type:
        case types.Scalar() | types.Vector() | types.Matrix() if types.is_floating(part.type):
            for what, factor in (
                ("negated", -1.0),
                ("doubled", 2.0),
                (f"times {tol.MUTANT_FACTOR}", tol.MUTANT_FACTOR),
            ):
                yield what, _probe(part, to) if to else multiply(part, number(factor, part.type))
            yield "dropped", _probe(part, to) if to else zero(part.type)
            if isinstance(part.type, types.Matrix) and part.type.rows == part.type.columns:
                yield "transposed", _probe(part, to) if to else ir.Intrinsic("transpose", (part,), part.type)
        case types.Struct(fields=fields) if isinstance(part, ir.Construct) and len(part.args) == len(fields):
            for k, arg in enumerate(part.args):
                for what, wrong in _wrong(arg, to):
                    made = replace(part, args=(*part.args[:k], wrong, *part.args[k + 1 :]))
                    yield f"({fields[k].name}) {what}", made
        case _:
            return


def _changed_terms(body: tuple[ir.Stmt, ...], to: str) -> Iterator[Change]:
    """Yield changes of one operator each."""
    count = _count(body)
    for place in range(count):
        for what, change in (("operator exchanged", _exchanged), ("term dropped", _dropped)):
            changed = _Changer(place, change)
            made = changed.block(body)
            if changed.done is None or made == body:
                continue
            at, op = changed.done.right.span, changed.done.op
            where = f"in line {at.line}, column {at.column}" if at.line else f"in place {place + 1}"
            became = f": {op} becomes {_EXCHANGED[op]}" if change is _exchanged else ""
            if to:
                probe = "double" if to == "shift" and op == "*" else to
                made = _Changer(place, lambda expr, probe=probe: _probe(expr, probe)).block(body)  # type: ignore[misc]  # a default binds the loop's value
            yield Change(f"{what} {where}{became}", made)


def _exchanged(expr: ir.Binary) -> ir.Expr:
    return replace(expr, op=_EXCHANGED[expr.op]) if expr.op in _EXCHANGED else expr


def _dropped(expr: ir.Binary) -> ir.Expr:
    return expr.left if expr.op in ("+", "-") and expr.left.type == expr.type else expr


def _count(body: tuple[ir.Stmt, ...]) -> int:
    counter = _Changer(-1, _exchanged)
    counter.block(body)
    return counter.seen


class _Changer:
    """Changes one operator of a body, numbered from its start."""

    def __init__(self, place: int, change: Callable[[ir.Binary], ir.Expr]) -> None:
        self._place = place
        self._change = change
        self.seen = 0
        self.done: ir.Binary | None = None

    def block(self, body: tuple[ir.Stmt, ...]) -> tuple[ir.Stmt, ...]:
        """Return the block, changed if it contains the operator."""
        return tuple(self._stmt(stmt) for stmt in body)

    def _stmt(self, stmt: ir.Stmt) -> ir.Stmt:
        if isinstance(stmt, (ir.Assign, ir.Let, ir.Return)):
            return map_stmt_exprs(stmt, self._expr)
        return map_blocks(stmt, self.block)

    def _expr(self, expr: ir.Expr) -> ir.Expr:
        if isinstance(expr, ir.Binary) and expr.op in _EXCHANGED and types.is_floating(expr.type):
            here, self.seen = self.seen, self.seen + 1
            if here == self._place:
                self.done = expr
                return self._change(expr)
        return map_children(expr, self._expr)
