"""Build IR in passes that generate functions: constants, arithmetic, loops and sums over the parts of a value."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from slangad.compiler.ir.nodes import (
    Assign,
    Binary,
    Const,
    Construct,
    Expr,
    For,
    Index,
    Intrinsic,
    Member,
    Module,
    Stmt,
    Var,
)
from slangad.compiler.ir.nodes import Cast as CastNode
from slangad.compiler.ir.types import (
    BOOL,
    FLOATING,
    INT,
    Array,
    Matrix,
    Scalar,
    Struct,
    Tuple,
    Type,
    Vector,
    carries_gradient,
    is_scalar,
)

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

Block = tuple[Stmt, ...]


def number(value: float, type_: Type) -> Expr:
    """Return a constant. A vector or matrix has the value in every component."""
    match type_:
        case Scalar(name):
            return Const(float(value) if name in FLOATING else int(value), type_)
        case Vector(element=element) | Matrix(element=element):
            return Construct((number(value, element),), type_)
        case _:
            raise TypeError(f"no constant of type {type_}")


def zero(type_: Type) -> Expr:
    """Return a value of zeros."""
    if type_ == BOOL:
        return Const(value=False, type=BOOL)
    return number(0, type_) if isinstance(type_, Scalar) else Construct((), type_)


def arithmetic(op: str, left: Expr, right: Expr) -> Expr:
    """Return an operation on two values of one type, or on a vector and a scalar, which is spread."""
    if is_scalar(left.type) and not is_scalar(right.type):
        left = Construct((left,), right.type)
    if is_scalar(right.type) and not is_scalar(left.type):
        right = Construct((right,), left.type)
    return Binary(op, left, right, left.type)


def add(left: Expr, right: Expr) -> Expr:
    """Return ``left + right``."""
    return arithmetic("+", left, right)


def subtract(left: Expr, right: Expr) -> Expr:
    """Return ``left - right``."""
    return arithmetic("-", left, right)


def multiply(left: Expr, right: Expr) -> Expr:
    """Return ``left * right``."""
    return arithmetic("*", left, right)


def divide(left: Expr, right: Expr) -> Expr:
    """Return ``left / right``."""
    return arithmetic("/", left, right)


def call(name: str, type_: Type, *args: Expr) -> Expr:
    """Return a call of an intrinsic."""
    return Intrinsic(name, args, type_)


def cast(expr: Expr, type_: Type) -> Expr:
    """Return the expression, converted if its type differs."""
    return expr if expr.type == type_ else CastNode(expr, type_)


def part(value: Expr, step: str | int | Expr) -> Expr:
    """Return a field, or an entry by number or expression."""
    match value.type:
        case Struct(fields=fields):
            return Member(value, str(step), next(f.type for f in fields if f.name == step))
        case Tuple(elements) if isinstance(step, int):
            return Member(value, f"item{step}", elements[step])
        case Vector(element) | Array(element):
            return Index(value, _index(step), element)
        case Matrix(element, _, columns):
            return Index(value, _index(step), Vector(element, columns))
        case _:
            raise TypeError(f"{value.type} has no parts")


def _index(step: str | int | Expr) -> Expr:
    if isinstance(step, str):
        raise TypeError(f"{step} is not an index")
    return Const(step, INT) if isinstance(step, int) else step


@dataclass(slots=True)
class Fresh:
    """Makes names that are not taken."""

    taken: set[str]
    shared: dict[tuple[str, Type], Var] = field(default_factory=dict)

    def name(self, wanted: str) -> str:
        """Return the wanted name, with a number if it is taken."""
        name, count = wanted, 2
        while name in self.taken:
            name, count = f"{wanted}_{count}", count + 1
        self.taken.add(name)
        return name

    def var(self, wanted: str, type_: Type) -> Var:
        """Return a new local."""
        return Var(self.name(wanted), type_)

    def scratch(self, wanted: str, type_: Type) -> Var:
        """Return a local that every use sets again. All uses share it."""
        if (wanted, type_) not in self.shared:
            self.shared[wanted, type_] = self.var(wanted, type_)
        return self.shared[wanted, type_]

    def release(self, var: Var) -> None:
        """Free a name."""
        self.taken.discard(var.name)


def fresh_keys(module: Module) -> Fresh:
    """Return a maker of function keys."""
    return Fresh({f.key for f in module.functions})


def for_each(count: int, fresh: Fresh, body: Callable[[Expr], Block]) -> Block:
    """Return a loop over the indices of a value."""
    counter = fresh.var(next((n for n in "kjl" if n not in fresh.taken), "k"), INT)
    start, stop = Const(0, INT), Const(count, INT)
    loop = For(counter.name, start, stop, 1, count, bounded=False, unroll=False, body=body(counter))
    fresh.release(counter)
    return (loop,)


def differentiable_parts(type_: Type) -> Iterator[tuple[str | int, Type]]:
    """Yield the fields or elements of a struct or tuple that carry gradient."""
    match type_:
        case Struct(fields=fields):
            for f in fields:
                if not f.no_diff and carries_gradient(f.type):
                    yield f.name, f.type
        case Tuple(elements):
            for position, element in enumerate(elements):
                if carries_gradient(element):
                    yield position, element
        case _:
            raise TypeError(f"{type_} has no named parts")


def for_each_scalar(value: Expr, fresh: Fresh, body: Callable[[Expr], Block]) -> Block:
    """Return ``body`` for every scalar of a value that carries gradient: entries in loops, fields one by one."""

    def inside(whole: Expr) -> Block:
        match whole.type:
            case Vector(size=size):
                return for_each(size, fresh, lambda k: body(part(whole, k)))
            case _:
                return body(whole)

    return for_each_part(value, fresh, inside)


def for_each_part(value: Expr, fresh: Fresh, body: Callable[[Expr], Block]) -> Block:
    """Return ``body`` for every scalar and vector of a value that carries gradient."""
    match value.type:
        case Scalar() | Vector():
            return body(value)
        case Array(size=size) | Matrix(rows=size):
            return for_each(size, fresh, lambda k: for_each_part(part(value, k), fresh, body))
        case type_:
            made: Block = ()
            for step, _ in differentiable_parts(type_):
                made += for_each_part(part(value, step), fresh, body)
            return made


def accumulate_inner(total: Expr, a: Expr, b: Expr, fresh: Fresh) -> Block:
    """Return ``total += <a, b>``: the sum of products over everything that carries gradient."""
    match a.type:
        case Scalar():
            return (Assign(total, add(total, cast(multiply(a, b), total.type))),)
        case Vector(element=element):
            return (Assign(total, add(total, cast(call("dot", element, a, b), total.type))),)
        case Matrix(rows=size) | Array(size=size):
            return for_each(size, fresh, lambda k: accumulate_inner(total, part(a, k), part(b, k), fresh))
        case type_:
            made: Block = ()
            for step, _ in differentiable_parts(type_):
                made += accumulate_inner(total, part(a, step), part(b, step), fresh)
            return made


def inner(a: Expr, b: Expr, type_: Type) -> Expr | None:
    """Return the same sum as one expression if the values are scalars or vectors; None for others."""
    match a.type:
        case Scalar():
            return cast(multiply(a, b), type_)
        case Vector(element=element):
            return cast(call("dot", element, a, b), type_)
        case _:
            return None


def accumulate(total: Expr, value: Expr, fresh: Fresh) -> Block:
    """Return ``total += value`` over everything that carries gradient."""
    match value.type:
        case Scalar() | Vector() | Matrix():
            return (Assign(total, add(total, value)),)
        case Array(size=size):
            return for_each(size, fresh, lambda k: accumulate(part(total, k), part(value, k), fresh))
        case type_:
            made: Block = ()
            for step, _ in differentiable_parts(type_):
                made += accumulate(part(total, step), part(value, step), fresh)
            return made


def accumulate_scaled(total: Expr, value: Expr, factor: Expr, fresh: Fresh) -> Block:
    """Return ``total += value * factor`` over everything that carries gradient."""
    match value.type:
        case Scalar() as element:
            return (Assign(total, add(total, multiply(value, cast(factor, element)))),)
        case Vector(element=element):
            return (Assign(total, add(total, multiply(value, cast(factor, element)))),)
        case Matrix(rows=size) | Array(size=size):
            return for_each(size, fresh, lambda k: accumulate_scaled(part(total, k), part(value, k), factor, fresh))
        case type_:
            made: Block = ()
            for step, _ in differentiable_parts(type_):
                made += accumulate_scaled(part(total, step), part(value, step), factor, fresh)
            return made
