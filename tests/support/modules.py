"""Hypothesis strategies for modules of the IR: well-typed, with every kind of node, not meant to compute anything."""

from __future__ import annotations

from typing import TYPE_CHECKING

from hypothesis import strategies as st

from slangad.compiler.ir.distributions import Normal, Uniform
from slangad.compiler.ir.nodes import (
    Accumulation,
    Assign,
    Automatic,
    BackwardCall,
    Binary,
    Break,
    Buffer,
    Call,
    Cast,
    ClipGradient,
    Comment,
    Const,
    ConstantDef,
    ConstantRef,
    Construct,
    Continue,
    Custom,
    Extent,
    External,
    FiniteDifference,
    For,
    ForwardCall,
    Function,
    If,
    Index,
    Initial,
    Intrinsic,
    Kernel,
    KernelParam,
    KernelResult,
    Let,
    MakePair,
    Member,
    Memory,
    Module,
    NoDiff,
    Param,
    Probe,
    Range,
    Read,
    Return,
    Role,
    Sample,
    SlangBody,
    StraightThrough,
    StructDef,
    Subgradient,
    Surrogate,
    Swizzle,
    Ternary,
    ThreadCount,
    ThreadId,
    Unary,
    Var,
    While,
)
from slangad.compiler.ir.types import (
    BOOL,
    DOUBLE,
    FLOAT,
    HALF,
    INT,
    UINT,
    Array,
    DiffPair,
    Field,
    Matrix,
    Scalar,
    Struct,
    Tensor,
    Texture,
    Tuple,
    Type,
    Vector,
)

if TYPE_CHECKING:
    from collections.abc import Callable

    from slangad.compiler.ir.nodes import Expr, Stmt

Draw = st.DrawFn
NAMES = ("x", "limit", "d_out", "größe", "param", "a b", "call", "step", "inf", "x.y", 'quo"te')
SCALARS = st.sampled_from((FLOAT, HALF, DOUBLE, INT, UINT, BOOL))
FLOATS = st.floats(allow_nan=False)
MATERIAL = Struct("lib.Material", "Material", (Field("albedo", Vector(FLOAT, 3)), Field("doc", INT, no_diff=True)))
TYPES: st.SearchStrategy[Type] = st.recursive(
    st.one_of(
        SCALARS,
        st.builds(Vector, SCALARS, st.integers(2, 4)),
        st.builds(Matrix, st.sampled_from((FLOAT, HALF)), st.integers(2, 4), st.integers(2, 4)),
        st.just(MATERIAL),
    ),
    lambda inner: st.one_of(
        st.builds(Array, inner, st.integers(1, 5)),
        st.builds(DiffPair, inner),
        st.lists(inner, min_size=1, max_size=3).map(lambda types: Tuple(tuple(types))),
    ),
    max_leaves=3,
)


MEMORIES: st.SearchStrategy[Type] = st.one_of(
    st.builds(Tensor, TYPES, st.integers(1, 3), st.booleans(), st.just(True)),
    st.builds(Tensor, TYPES, st.integers(1, 3)),
    st.builds(
        Texture, SCALARS, st.sampled_from(("clamp", "repeat", "mirror")), st.sampled_from(("bilinear", "nearest"))
    ),
)


def number(type_: Scalar) -> st.SearchStrategy[Expr]:
    """A constant."""
    if type_ == BOOL:
        return st.builds(Const, st.booleans(), st.just(type_))
    values = st.integers(-(2**31), 2**32) if type_ in (INT, UINT) else FLOATS
    return st.builds(Const, values, st.just(type_))


@st.composite
def expressions(draw: Draw, type_: Type, scope: dict[str, Type], depth: int = 3) -> Expr:
    """An expression of a type; variables in it are added to the scope."""
    if depth == 0 or draw(st.integers(0, 3)) == 0:
        return draw(_leaf(type_, scope))

    def operand(of: Type = type_) -> Expr:
        return draw(expressions(of, scope, depth - 1))

    match draw(st.integers(0, 15)):
        case 0:
            return Unary(draw(st.sampled_from("-!~")), operand(), type_)
        case 1:
            return Binary(draw(st.sampled_from(("+", "&&", "<<", "%"))), operand(), operand(), type_)
        case 2:
            other = draw(TYPES)
            return Binary(draw(st.sampled_from(("<", "==", ">="))), operand(other), operand(other), type_)
        case 3:
            return Ternary(operand(BOOL), operand(), operand(), type_)
        case 4:
            return Call(draw(st.sampled_from(NAMES)), (operand(), operand(INT)), type_)
        case 5:
            name = draw(st.sampled_from(("dot", "select", "thread_id")))
            return Intrinsic(name, tuple(operand(t) for t in draw(st.lists(TYPES, max_size=2))), type_)
        case 6:
            return Construct(tuple(operand(t) for t in draw(st.lists(TYPES, max_size=2))), type_)
        case 7:
            return Cast(operand(draw(SCALARS)), type_)
        case 8:
            return Index(operand(Array(type_, 3)), operand(INT), type_)
        case 9:
            return NoDiff(operand(), type_)
        case 10:
            return Member(MakePair(operand(), operand(), DiffPair(type_)), draw(st.sampled_from("pd")), type_)
        case 11:
            return draw(st.sampled_from((BackwardCall, ForwardCall)))("f", (operand(INT), operand()), type_)
        case 12:
            return Member(operand(Tuple((INT, type_))), "item1", type_)
        case 13:
            return Probe(draw(st.text()), operand(), type_)
        case 14:
            return _access(type_, operand, draw(_leaf(draw(MEMORIES), scope)))
        case _:
            return Swizzle(operand(Vector(FLOAT, 3)), draw(st.sampled_from(("x", "zy", "xyz"))), type_)


def _access(type_: Type, operand: Callable[[Type], Expr], source: Expr) -> Expr:
    if isinstance(source.type, Tensor):
        indices = tuple(operand(INT) for _ in range(source.type.rank))
        return Read(source, indices, type_)
    return Extent(source, 1, INT) if type_ == INT else Sample(source, operand(Vector(FLOAT, 2)), type_)


def _leaf(type_: Type, scope: dict[str, Type]) -> st.SearchStrategy[Expr]:
    def variable(name: str) -> Expr:
        while scope.setdefault(name, type_) != type_:
            name += "_"
        return Var(name, type_)

    leaves: list[st.SearchStrategy[Expr]] = [
        st.sampled_from(NAMES).map(variable),
        st.builds(ConstantRef, st.just("EPS"), st.just(type_)),
        st.builds(Construct, st.just(()), st.just(type_)),
    ]
    if isinstance(type_, Scalar):
        leaves.append(number(type_))
    if type_ == INT:
        leaves.append(st.builds(ThreadId, st.integers(0, 2), st.just(INT)))
        leaves.append(st.builds(ThreadCount, st.integers(0, 2), st.just(INT)))
    return st.one_of(leaves)


@st.composite
def statements(draw: Draw, scope: dict[str, Type], depth: int = 2) -> tuple[Stmt, ...]:
    """A block."""
    made: list[Stmt] = []
    for kind in draw(st.lists(st.integers(0, 8 if depth else 5), max_size=4)):
        type_ = draw(TYPES)
        value = draw(expressions(type_, scope))
        match kind:
            case 0:
                name = draw(st.sampled_from(NAMES))
                made.append(Let(name, type_, draw(st.sampled_from((value, None)))))
            case 1:
                made.append(Assign(draw(_leaf(type_, scope)), value))
            case 2:
                made.append(Comment(draw(st.text())))
            case 3:
                made.append(draw(st.sampled_from((Break(), Continue()))))
            case 4 | 5:
                made.append(Return(draw(st.sampled_from((value, None)))))
            case 6:
                inner = draw(statements(scope, depth - 1)), draw(statements(scope, depth - 1))
                made.append(If(draw(expressions(BOOL, scope)), *inner))
            case 7:
                limit, flags = draw(st.integers(0, 99)), (draw(st.booleans()), draw(st.booleans()))
                start, stop = draw(expressions(INT, scope)), draw(expressions(INT, scope))
                body = draw(statements(scope, depth - 1))
                name, together = draw(st.sampled_from(NAMES)), draw(st.booleans())
                made.append(For(name, start, stop, -2, limit, *flags, body, together=together))
            case _:
                made.append(While(draw(expressions(BOOL, scope)), 7, draw(statements(scope, depth - 1))))
    return tuple(made)


_POLICIES = st.one_of(
    st.builds(FiniteDifference, FLOATS, st.booleans()),
    st.builds(Surrogate, st.sampled_from(NAMES)),
    st.just(StraightThrough()),
    st.builds(Subgradient, FLOATS, FLOATS),
    st.just(Automatic()),
)
_DERIVATIVES = st.one_of(
    _POLICIES,
    st.builds(Custom, st.none() | st.sampled_from(NAMES), st.none() | st.sampled_from(NAMES)),
    st.builds(ClipGradient, st.none() | FLOATS, st.none() | FLOATS, _POLICIES),
)
_LINES = st.lists(st.text(max_size=8), max_size=2).map(tuple)


@st.composite
def functions(draw: Draw) -> Function:
    """A function of any kind."""
    names = draw(st.lists(st.sampled_from(NAMES), unique=True, max_size=3))
    params = tuple(Param(name, draw(TYPES), draw(st.booleans())) for name in names)
    scope = {p.name: p.type for p in params}
    external = st.builds(External, st.text(), st.text(), st.booleans())
    body = draw(st.one_of(statements(scope), st.builds(SlangBody, st.text()), external))
    return Function(
        draw(st.sampled_from(NAMES)), draw(st.sampled_from(NAMES)), params, draw(TYPES), body, draw(st.booleans()),
        draw(_DERIVATIVES), draw(st.sampled_from(("", "recompute"))), draw(st.sampled_from(("", "half"))),
        draw(st.sampled_from(Role)), draw(st.sampled_from(("", "f"))),
        draw(st.sampled_from(("", "S"))), draw(st.booleans()), draw(_LINES),
        tuple(draw(st.lists(st.builds(Range, st.text(), FLOATS, FLOATS), max_size=1))),
    )  # fmt: skip


@st.composite
def kernels(draw: Draw) -> Kernel:
    """A kernel of any kind."""
    params = draw(
        st.lists(st.builds(KernelParam, st.sampled_from(NAMES), st.sampled_from(Memory), TYPES, st.booleans()))
    )
    results = draw(st.lists(st.builds(KernelResult, st.just("result.0"), st.sampled_from(Memory), TYPES)))
    sizes = draw(st.lists(st.integers(1, 8), min_size=1, max_size=3))
    return Kernel("k", "f", tuple(params), tuple(results), len(sizes), tuple(sizes), draw(_LINES))


_BUFFERS = st.builds(
    Buffer, st.sampled_from(("w", "x", "a b")), st.sampled_from(NAMES), st.sampled_from(NAMES), MEMORIES, st.booleans(),
    st.sampled_from(Accumulation),
)  # fmt: skip


_INITIAL = st.lists(
    st.builds(Initial, st.text(), st.builds(Uniform, FLOATS, FLOATS) | st.builds(Normal, FLOATS)), max_size=2
).map(tuple)


@st.composite
def modules(draw: Draw) -> Module:
    """A module."""
    constant = ConstantDef("EPS", "EPS", Array(FLOAT, 2), tuple(draw(st.lists(FLOATS | st.booleans(), max_size=3))))
    return Module(
        "m", draw(st.text()), (StructDef(MATERIAL, draw(_LINES), initial=draw(_INITIAL)),), (constant,),
        tuple(draw(st.lists(functions(), max_size=3))), tuple(draw(st.lists(kernels(), max_size=1))),
        draw(_LINES), draw(_LINES), tuple(draw(st.lists(st.tuples(st.text(), st.text()), max_size=1))), draw(_LINES),
        buffers=tuple(draw(st.lists(_BUFFERS, max_size=2))),
    )  # fmt: skip
