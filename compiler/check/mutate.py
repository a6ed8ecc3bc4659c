"""Custom derivatives broken on purpose, to see whether the check notices: a module goes in, one with mutants comes out.

A mutant is a function with a backward function that differs in one place: a gradient negated, scaled, dropped or given
to another input, an operator exchanged, a term left out.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Final

from slangad.compiler.ir.nodes import Assign, Binary, Construct, Custom, Let, Return, Role
from slangad.compiler.ir.types import Scalar, Tuple, Vector, is_floating
from slangad.compiler.ir.walk import map_blocks, map_children, map_stmt_exprs, statements
from slangad.compiler.passes.build import multiply, number, zero

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from slangad.compiler.ir.nodes import Expr, Function, Module, Stmt
    from slangad.compiler.report.model import Report, Result

_EXCHANGED: Final = {"+": "-", "-": "+", "*": "/"}


@dataclass(frozen=True, slots=True)
class Change:
    """One way to break a backward function."""

    what: str
    body: tuple[Stmt, ...]


def add_mutants(module: Module) -> Module:
    """The module with a broken twin of every function that has a backward function of its own, for each way."""
    functions = {f.key: f for f in module.functions}
    added: list[Function] = []
    for function in module.functions:
        if function.role is not Role.PLAIN or not isinstance(function.derivative, Custom):
            continue
        backward = functions.get(function.derivative.backward or "")
        if backward is None or not isinstance(backward.body, tuple) or function.owner:
            continue
        for place, change in enumerate(_changes(backward)):
            key = f"{function.key} mutant {place}"
            broken = replace(
                backward, key=f"{key} bwd", name=f"{backward.name}_mutant_{place}", body=change.body, of=key
            )
            derivative = Custom(broken.key, None)
            name = f"{function.name}: {change.what}"
            twin = replace(function, key=key, name=name, derivative=derivative, doc=())
            added += [twin, broken]
    return replace(module, functions=(*module.functions, *added), kernels=())


def survivors(report: Report) -> tuple[Result, ...]:
    """The mutants that the check did not notice."""
    return tuple(result for result in report.results if not result.verdict.bad)


def mutation_lines(report: Report) -> Iterator[str]:
    """What became of the mutants: those that survived one by one, then how many did not."""
    alive = survivors(report)
    for result in alive:
        told = f" ({result.reason})" if result.reason else ""
        yield f"{result.file}: survived as {result.verdict.value}: {result.function}{told}"
    if any(result.verdict.good for result in alive):
        yield (
            "A change that passes makes no difference at any sample: what it changes is zero there, or less than 5e-7\n"
            "of the derivative. Wider ranges or more samples may tell."
        )
    count = len(report.results)
    rate = f", {(count - len(alive)) / count:.1%}" if count else ": no description has a backward function of its own"
    yield f"{count - len(alive)} of {count} mutants killed{rate}"


def is_mutant(name: str) -> bool:
    """Whether a subject's name is that of a mutant."""
    return ": " in name


def _changes(backward: Function) -> Iterator[Change]:
    body = statements(backward)
    yield from _changed_results(body)
    yield from _changed_terms(body)


def _changed_results(body: tuple[Stmt, ...]) -> Iterator[Change]:
    """Changes of what the function returns."""
    returns = [s for s in body if isinstance(s, Return) and s.value is not None]
    if len(returns) != 1 or returns[0].value is None:
        return
    value = returns[0].value
    several = value if isinstance(value, Construct) and isinstance(value.type, Tuple) else None
    parts = [value] if several is None else list(several.args)

    def with_parts(changed: list[Expr]) -> tuple[Stmt, ...]:
        made = changed[0] if several is None else replace(several, args=tuple(changed))
        return tuple(replace(s, value=made) if s is returns[0] else s for s in body)

    for k, part in enumerate(parts):
        if not isinstance(part.type, (Scalar, Vector)):
            continue
        gradient = f"gradient {k + 1}"
        for what, factor in (("negated", -1.0), ("doubled", 2.0), ("times 1.001", 1.001)):
            scaled = multiply(part, number(factor, part.type))
            yield Change(f"{gradient} {what}", with_parts([*parts[:k], scaled, *parts[k + 1 :]]))
        yield Change(f"{gradient} dropped", with_parts([*parts[:k], zero(part.type), *parts[k + 1 :]]))
        for other in range(k + 1, len(parts)):
            if parts[other].type == part.type:
                swapped = [*parts]
                swapped[k], swapped[other] = parts[other], part
                yield Change(f"gradients {k + 1} and {other + 1} swapped", with_parts(swapped))


def _changed_terms(body: tuple[Stmt, ...]) -> Iterator[Change]:
    """Changes of one operator each."""
    count = _count(body)
    for place in range(count):
        for what, change in (("operator exchanged", _exchanged), ("term dropped", _dropped)):
            changed = _Changer(place, change)
            made = changed.block(body)
            if changed.done and made != body:
                where = f"line {changed.line}" if changed.line else f"place {place + 1}"
                yield Change(f"{what} in {where} ({place + 1})", made)


def _exchanged(expr: Binary) -> Expr:
    return replace(expr, op=_EXCHANGED[expr.op]) if expr.op in _EXCHANGED else expr


def _dropped(expr: Binary) -> Expr:
    return expr.left if expr.op in ("+", "-") and expr.left.type == expr.type else expr


def _count(body: tuple[Stmt, ...]) -> int:
    counter = _Changer(-1, _exchanged)
    counter.block(body)
    return counter.seen


class _Changer:
    """Changes one operator of a body, counted from its start."""

    def __init__(self, place: int, change: Callable[[Binary], Expr]) -> None:
        self._place = place
        self._change = change
        self.seen = 0
        self.done = False
        self.line = 0

    def block(self, body: tuple[Stmt, ...]) -> tuple[Stmt, ...]:
        """The block, changed if the place is in it."""
        return tuple(self._stmt(stmt) for stmt in body)

    def _stmt(self, stmt: Stmt) -> Stmt:
        if isinstance(stmt, (Assign, Let, Return)):
            return map_stmt_exprs(stmt, self._expr)
        return map_blocks(stmt, self.block)

    def _expr(self, expr: Expr) -> Expr:
        if isinstance(expr, Binary) and expr.op in _EXCHANGED and is_floating(expr.type):
            here, self.seen = self.seen, self.seen + 1
            if here == self._place:
                self.done, self.line = True, expr.span.line
                return self._change(expr)
        return map_children(expr, self._expr)
