"""Infer the type of an expression from its parts, so that the text form can omit most types."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from slangad.compiler.errors.exhaustive import assert_never
from slangad.compiler.ir.nodes import (
    BackwardCall,
    Binary,
    Call,
    Cast,
    Const,
    ConstantRef,
    Construct,
    Expr,
    Extent,
    ForwardCall,
    GroupOperation,
    Index,
    Intrinsic,
    Linear,
    MakePair,
    Member,
    NoDiff,
    Probe,
    Read,
    Sample,
    Swizzle,
    Ternary,
    ThreadCount,
    ThreadId,
    Unary,
    Var,
)
from slangad.compiler.ir.types import (
    BOOL,
    FLOAT,
    INT,
    VOID,
    Array,
    DiffPair,
    Matrix,
    Struct,
    Tensor,
    Texture,
    Tuple,
    Type,
    Vector,
    with_element,
)

if TYPE_CHECKING:
    from collections.abc import Mapping

COMPARISONS: Final = frozenset({"==", "!=", "<", "<=", ">", ">="})


class KnownTypes:
    """The types of names at a point of a module's text."""

    def __init__(self) -> None:
        self.locals: Mapping[str, Type] = {}
        self.constants: dict[str, Type] = {}
        self.buffers: dict[str, Type] = {}
        self.results: dict[str, Type] = {}


def default_type(expr: Expr, known: KnownTypes) -> Type:
    """Return the type that the parts of an expression suggest; ``VOID`` if they suggest none."""
    match expr:
        case Const(value=value):
            return _const(value)
        case Var(name):
            return known.locals.get(name) or known.buffers.get(name, VOID)
        case ConstantRef(key):
            return known.constants.get(key, VOID)
        case Call(function=key):
            return known.results.get(key, VOID)
        case BackwardCall() | ForwardCall() | Linear():
            return VOID
        case Construct() | Cast():
            return expr.type
        case ThreadId() | ThreadCount() | Extent():
            return INT
        case Member() | Swizzle() | Index():
            return _part(expr)
        case Read(source=source) | Sample(source=source):
            return source.type.element if isinstance(source.type, (Tensor, Texture)) else VOID
        case _:
            return _operation(expr)


def _operation(expr: Unary | Binary | Ternary | Intrinsic | NoDiff | MakePair | GroupOperation | Probe) -> Type:
    match expr:
        case Unary(operand=x) | NoDiff(value=x) | GroupOperation(value=x) | Probe(value=x):
            return x.type
        case Binary(op=op, left=left):
            return with_element(left.type, BOOL) if op in COMPARISONS else left.type
        case Ternary(then=then):
            return then.type
        case Intrinsic(args=args):
            return args[0].type if args else VOID
        case MakePair(primal=primal):
            return DiffPair(primal.type)
        case _:
            assert_never(expr)


def _const(value: float | bool) -> Type:  # noqa: FBT001  (a bool is a value here)
    if isinstance(value, bool):
        return BOOL
    return INT if isinstance(value, int) else FLOAT


def _part(expr: Member | Swizzle | Index) -> Type:
    match expr.value.type, expr:
        case Struct(fields=fields), Member(name=name):
            return next((f.type for f in fields if f.name == name), VOID)
        case Tuple(elements), Member(name=name):
            return elements[int(name.removeprefix("item"))]
        case DiffPair(primal), Member():
            return primal
        case Vector(element), Swizzle(components=components):
            return Vector(element, len(components)) if len(components) > 1 else element
        case Vector(element) | Array(element), Index():
            return element
        case Matrix(element, _, columns), Index():
            return Vector(element, columns)
        case _:
            return VOID
