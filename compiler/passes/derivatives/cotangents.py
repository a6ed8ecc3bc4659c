"""The cotangents of a function's values while reverse mode goes through its statements backward.

A cotangent is a sum of terms. Those of a struct or an array are kept field by field, those of a vector as terms of the
whole vector and of its components, so that nothing begins with zeros.
"""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Protocol

from slangad.compiler.ir import nodes as ir
from slangad.compiler.ir.build import arithmetic, number, zero
from slangad.compiler.ir.types import (
    FLOAT,
    Array,
    Matrix,
    Struct,
    Vector,
    carries_gradient,
    element_of,
    is_scalar,
)
from slangad.compiler.passes.derivatives.single_assignment import MOST, component, refuse, steps_of

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from slangad.compiler.ir.types import Type

    Path = tuple[str | int, ...]


@dataclass(frozen=True, slots=True)
class Term:
    """A term of a sum, with its sign."""

    value: ir.Expr
    minus: bool = False

    @property
    def signed(self) -> ir.Expr:
        """Return the term as a value."""
        return negative(self.value) if self.minus else self.value


class Binder(Protocol):
    """Gives a value a name."""

    def __call__(self, value: ir.Expr, hint: str, *, keep: bool) -> ir.Expr:
        """Return a local with the value, or the value itself if it is short."""


@dataclass(slots=True)
class _Terms:
    """The terms of a scalar, vector or matrix, and of single components."""

    type: Type
    whole: list[Term] = field(default_factory=list)
    parts: dict[int, list[Term]] = field(default_factory=dict)


@dataclass(slots=True)
class Cotangents:
    """The terms so far, by local and by the path to a part that is no struct or array.

    ``bind`` gives a value a name; with ``keep``, one that stays for the reader.
    """

    bind: Binder
    of: dict[str, dict[Path, _Terms]] = field(default_factory=dict)

    def add(self, to: ir.Expr, term: Term) -> None:
        """Add a term to the cotangent of a local or a part of one."""
        if isinstance(to.type, (Struct, Array)):
            for step, _ in flowing(to.type):
                self.add(component(to, step), Term(part_of(term.value, step), term.minus))
            return
        var, path, letters = _place(to)
        if letters is not None and len(letters) > 1:
            term = Term(self.bind(term.value, "d_part", keep=False), term.minus)
        terms = self.of.setdefault(var.name, {}).setdefault(path, _Terms(to.type if letters is None else _whole(to)))
        if letters is None:
            terms.whole.append(term)
            return
        for number_, letter in enumerate(letters):
            value = term.value if is_scalar(term.value.type) else part_of(term.value, number_)
            terms.parts.setdefault("xyzw".index(letter), []).append(Term(value, term.minus))

    def take(self, var: ir.Var, hint: str, *, keep: bool) -> dict[Path, Term]:
        """Return the cotangent of a local as one term for each path that has any, and forget it.

        Args:
            var: The local.
            hint: The name of its cotangent.
            keep: Whether the cotangent stays a local if it is read once.
        """
        found = self.of.pop(var.name, {}).items()
        return {path: self._total(terms, "_".join(map(str, (hint, *path))), keep=keep) for path, terms in found}

    def take_path(self, var: ir.Var, path: Path, hint: str) -> Term | None:
        """Return the cotangent of a part of a local, and forget it; None if it is zero."""
        terms = self.of.get(var.name, {}).pop(path, None)
        return None if terms is None else self._total(terms, hint, keep=True)

    def _total(self, terms: _Terms, hint: str, *, keep: bool) -> Term:
        """Return a sum as one term."""
        if not terms.parts:
            total = _sum(terms.whole)
            return Term(self.bind(total.value, hint, keep=keep), total.minus)
        assert isinstance(terms.type, Vector)  # noqa: S101  (others have no components)
        size = terms.type.size
        added = {n: _sum(terms.parts[n]) for n in terms.parts}
        if terms.whole:
            held = self.bind(_sum(terms.whole).signed, hint, keep=False)
            parts = [plus(part_of(held, n), added[n]) if n in added else part_of(held, n) for n in range(size)]
        else:
            parts = [added[n].signed if n in added else zero(terms.type.element) for n in range(size)]
        return Term(self.bind(construct(parts, terms.type), hint, keep=keep))


def _place(to: ir.Expr) -> tuple[ir.Var, Path, str | None]:
    """Return the local that contains a value, the path to it, and its components of the vector there."""
    path: list[str | int] = []
    letters: str | None = None
    while not isinstance(to, ir.Var):
        match to:
            case ir.Swizzle(value, own):
                letters = own if letters is None else "".join(own["xyzw".index(c)] for c in letters)
                to = value
            case ir.Index(value, ir.Const(index)) if isinstance(value.type, Vector):
                letters, to = "xyzw"[int(index)], value
            case ir.Index(value, ir.Const(index)) if isinstance(value.type, Array):
                path.insert(0, int(index))
                to = value
            case ir.Member(value, name) if isinstance(value.type, Struct):
                path.insert(0, name)
                to = value
            case _:
                refuse("it reads a row of a matrix, or an entry by a variable index")
    return to, tuple(path), letters


def _whole(to: ir.Expr) -> Type:
    """Return the type of the vector whose components a value is."""
    while isinstance(to, (ir.Swizzle, ir.Index)) and (isinstance(to, ir.Swizzle) or isinstance(to.value.type, Vector)):
        to = to.value
    return to.type


def flowing(type_: Type) -> Iterator[tuple[str | int, Type]]:
    """Yield the parts of a struct or array that carry gradient."""
    match type_:
        case Struct(fields=fields):
            yield from ((f.name, f.type) for f in fields if not f.no_diff and carries_gradient(f.type))
        case Array(element, size) if size <= MOST:
            yield from ((n, element) for n in range(size))
        case _:
            refuse("it has a long array")


def part_of(value: ir.Expr, step: str | int) -> ir.Expr:
    """Return a field, an entry or a component, without a detour if the parts of the value are listed."""
    steps = steps_of(value.type)
    listed = len(steps) > 1 or isinstance(value.type, (Struct, Array))  # one number may be all components of a vector
    if isinstance(value, ir.Construct) and len(value.args) == len(steps) and listed:
        return value.args[steps.index(step)]
    return component(value, step)


def construct(parts: Sequence[ir.Expr], type_: Type) -> ir.Expr:
    """Return a value from its parts, or the value that they are the parts of."""
    first = parts[0]
    if isinstance(first, (ir.Member, ir.Swizzle, ir.Index)) and first.value.type == type_:
        steps = steps_of(type_)
        if tuple(parts) == tuple(component(first.value, step) for step in steps):
            return first.value
    return ir.Construct(tuple(parts), type_)


def combine(op: str, a: ir.Expr, b: ir.Expr) -> ir.Expr:
    """Return an operation on two values. A scalar meets a vector as it is; a number is the first factor."""
    if isinstance(a.type, Matrix) or isinstance(b.type, Matrix):
        return arithmetic(op, a, b)
    if op == "*" and isinstance(b, ir.Const) and not isinstance(a, ir.Const):
        a, b = b, a
    return ir.Binary(op, a, b, b.type if is_scalar(a.type) else a.type)


def plus(total: ir.Expr, term: Term) -> ir.Expr:
    """Return a sum with one more term."""
    if isinstance(total.type, Matrix):
        return combine("+", total, term.signed)
    return combine("-" if term.minus else "+", total, term.value)


def negative(value: ir.Expr) -> ir.Expr:
    """Return the value with the other sign."""
    match value:
        case ir.Const(number_) if not isinstance(number_, bool):
            return ir.Const(-number_, value.type)
        case ir.Unary("-", operand):
            return operand
        case _ if isinstance(value.type, Matrix):
            return ir.Binary("*", value, number(-1.0, value.type), value.type)
        case _:
            return ir.Unary("-", value, value.type)


def _sum(terms: list[Term]) -> Term:
    """Return a sum as one term: equal terms once, with a factor, and one without a minus first."""
    counts: Counter[ir.Expr] = Counter()
    for term in terms:
        counts[term.value] += -1 if term.minus else 1
    listed = [
        Term(value if abs(n) == 1 else combine("*", number(abs(n), element_of(value.type) or FLOAT), value), n < 0)
        for value, n in counts.items()
        if n != 0
    ]
    if not listed:
        return Term(zero(terms[0].value.type))
    first = next((term for term in listed if not term.minus), listed[0])
    rest = [term for term in listed if term is not first]
    total = first.signed if rest else first.value
    for term in rest:
        total = plus(total, term)
    return Term(total, first.minus and not rest)
