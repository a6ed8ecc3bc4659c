"""Values bound when the file was loaded: literals, named constants and tables."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from slangad.compiler.frontends.lowering.conversions import RANGES, as_float, fits
from slangad.compiler.frontends.lowering.entities import TypedValue
from slangad.compiler.ir.nodes import Const, ConstantRef, Construct, Expr, Unary
from slangad.compiler.ir.types import (
    BOOL,
    FLOAT,
    INT,
    WEAK_FLOAT,
    WEAK_INT,
    Array,
    Matrix,
    Scalar,
    Struct,
    Type,
    Vector,
    Weak,
    element_of,
    show,
)
from slangad.compiler.lang.types.constants import constant_parts

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from slangad.compiler.errors.spans import Span
    from slangad.compiler.frontends.lowering.context import Context
    from slangad.compiler.frontends.lowering.entities import ValueEntity
    from slangad.compiler.frontends.reading.problems import Problems, Rejected

MAX_TABLE: Final = 4096
Number = int | float | bool


def constant(ctx: Context, entity: ValueEntity, span: Span) -> Expr:
    """Return a bound value as an expression.

    Raises:
        Rejected: when it has no meaning in Slang.
    """
    value = entity.value
    if isinstance(value, bool):
        return Const(value, BOOL, span)
    if isinstance(value, int):
        low, high = RANGES["int"]
        named = bool(entity.name) and low <= value <= high
        key = _shared(ctx, entity.key, (entity.name, INT, (value,))) if named else ""
        return Const(value, WEAK_INT, span, ConstantRef(key, INT, span) if named else None)
    if isinstance(value, float):
        value = as_float(ctx, value, span)
        if not entity.name:
            return Const(value, WEAK_FLOAT, span)
        return ConstantRef(_shared(ctx, entity.key, (entity.name, FLOAT, (value,))), WEAK_FLOAT, span)
    table = table_of(value)
    if table is None:
        raise _no_constant(ctx, value, span)
    type_, scalars = table
    if isinstance(type_, Scalar):
        return Const(scalars[0], type_, span)
    if len(scalars) > MAX_TABLE:
        raise ctx.error(
            "SA027",
            span,
            f"a constant table may have {MAX_TABLE} entries, this one has {len(scalars)}",
            help="pass it to the kernel as a tensor",
        )
    if isinstance(type_, Struct) or (isinstance(type_, Vector) and not entity.name):
        return _constructed(type_, iter(scalars), span)
    key = entity.key or f"{entity.name or 'TABLE'}@{hash_of(type_, scalars)}"
    return ConstantRef(_shared(ctx, key, (entity.name or "TABLE", type_, scalars)), type_, span)


def _shared(ctx: Context, key: str, constant: tuple[str, Type, tuple[Number, ...]]) -> str:
    """Return the key of a constant. An equal one of the same name, imported from another module, has the same key."""
    for known, other in ctx.constants.used.items():
        if other == constant and repr(other) == repr(constant):
            return known
    ctx.constants.used[key] = constant
    return key


def _no_constant(ctx: Context, value: object, span: Span) -> Rejected:
    kind = "None" if value is None else type(value).__name__
    article = "" if value is None else "an " if kind[0] in "aeiou" or kind == "ndarray" else "a "
    message, help_ = f"{article}{kind} can't be used in a described function", _KINDS
    if isinstance(value, list):
        help_ = "make it a tuple"
    elif isinstance(value, tuple):
        message = "this tuple can't be used in a described function"
        help_ = "the entries of a tuple must be numbers, vectors or tuples of one type"
    return ctx.error("SA027", span, message, help=help_)


_KINDS: Final = "constants are int, float, bool, vectors, tuples of them and numpy arrays of up to 4096 entries"


def is_default_for(value: object, type_: Type) -> bool:
    """Return True if a default converts implicitly to its parameter's or field's type."""
    if isinstance(value, (int, float)) and not isinstance(value, bool):
        low, high = RANGES.get(show(type_), (value, value))
        return fits(WEAK_FLOAT if isinstance(value, float) else WEAK_INT, type_) and low <= value <= high
    table = table_of(value)
    return table is not None and fits(table[0], type_)


def _constructed(type_: Type, scalars: Iterator[Number], span: Span) -> Expr:
    """Return the expression of a value from its scalars in memory order."""
    match type_:
        case Scalar():
            return Const(next(scalars), type_, span)
        case Vector(element, size):
            parts: list[Type] = [element] * size
        case Matrix(element, rows, columns):
            parts = [Vector(element, columns)] * rows
        case Array(element, size):
            parts = [element] * size
        case Struct(fields=fields):
            parts = [f.type for f in fields]
        case _:
            raise AssertionError(type_)
    return Construct(tuple(_constructed(p, scalars, span) for p in parts), type_, span)


def hash_of(type_: Type, scalars: Sequence[Number]) -> str:
    """Return a short stable digest that keeps tables of one name apart."""
    import hashlib

    return hashlib.sha256(repr((type_, tuple(scalars))).encode()).hexdigest()[:8]


def table_of(value: object) -> tuple[Type, tuple[Number, ...]] | None:
    """Return type and scalars of a tuple, sequence or vector; None if it isn't made of numbers of one shape."""
    if isinstance(value, TypedValue):
        return value.type, value.scalars
    if isinstance(value, bool):
        return BOOL, (value,)
    if isinstance(value, int):
        return INT, (value,)
    if isinstance(value, float):
        return FLOAT, (value,)
    if not isinstance(value, tuple):
        return constant_parts(value)
    if not value:
        return None
    parts = [table_of(v) for v in value]
    return _uniform_table([p for p in parts if p is not None]) if None not in parts else None


def _uniform_table(parts: list[tuple[Type, tuple[Number, ...]]]) -> tuple[Type, tuple[Number, ...]] | None:
    types = {p[0] for p in parts}
    if types == {INT, FLOAT}:
        parts = [(FLOAT, tuple(float(x) for x in p[1])) for p in parts]
        types = {FLOAT}
    if len(types) != 1:
        return None
    return Array(types.pop(), len(parts)), tuple(x for p in parts for x in p[1])


def static_int(expr: Expr) -> int | None:
    """Return the value of an integer known when the file is loaded."""
    if isinstance(expr, Const) and element_of(expr.type) in (INT, Scalar("uint")) and not isinstance(expr.value, float):
        return int(expr.value)
    return None


def static_number(ctx: Context, expr: Expr) -> float | None:
    """Return the value of a number known when the file is loaded: a literal or a constant, perhaps negated."""
    match expr:
        case Const(value=value, type=type_) if element_of(type_) != BOOL:
            return value
        case ConstantRef(key=key, type=Scalar() | Weak()):
            return ctx.constants.weak_value(key)
        case Unary(op="-", operand=operand):
            number = static_number(ctx, operand)
            return None if number is None else -number
        case _:
            return None


def check_default(problems: Problems, name: str, value: object, type_: Type, span: Span) -> bool:
    """Return True if a default fits its parameter or field, else report it."""
    if is_default_for(value, type_):
        return True
    problems.error("SA013", span, f"the default of '{name}' must be {show(type_)}", label=type(value).__name__)
    return False
