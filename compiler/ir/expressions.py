"""Expressions of the IR: pure, frozen, each with its type and source span. ``ir.nodes`` has them too.

Arithmetic is that of Slang. The front end resolves the differences to Python (``/`` and ``//`` on integers, ``**``,
value semantics) before it builds these nodes.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from slangad.compiler.errors.spans import NOWHERE, Span

if TYPE_CHECKING:
    from slangad.compiler.ir.types import Type


@dataclass(frozen=True, slots=True)
class Const:
    """A number or bool of a scalar type.

    ``formula`` is how the user wrote it, if not as a number: an expression of named constants that has its value in
    Slang too, a constant that has it in another type, or else the text.
    """

    value: int | float | bool
    type: Type
    span: Span = field(default=NOWHERE, compare=False, repr=False)
    formula: Expr | str | None = field(default=None, compare=False, repr=False)


@dataclass(frozen=True, slots=True)
class Var:
    """A parameter or local."""

    name: str
    type: Type
    span: Span = field(default=NOWHERE, compare=False, repr=False)


@dataclass(frozen=True, slots=True)
class ConstantRef:
    """A module constant that is a table or vector (``static const``), by key."""

    key: str
    type: Type
    span: Span = field(default=NOWHERE, compare=False, repr=False)


@dataclass(frozen=True, slots=True)
class Unary:
    """``-x``, ``!x`` or ``~x``, by component."""

    op: str
    operand: Expr
    type: Type
    span: Span = field(default=NOWHERE, compare=False, repr=False)


@dataclass(frozen=True, slots=True)
class Binary:
    """An operator on two values of one type; comparisons give bools by component, ``&&`` and ``||`` short-circuit."""

    op: str
    left: Expr
    right: Expr
    type: Type
    span: Span = field(default=NOWHERE, compare=False, repr=False)


@dataclass(frozen=True, slots=True)
class Ternary:
    """``then if condition else other``: only one side is evaluated."""

    condition: Expr
    then: Expr
    other: Expr
    type: Type
    span: Span = field(default=NOWHERE, compare=False, repr=False)


@dataclass(frozen=True, slots=True)
class Call:
    """A call of a described function by key; for a method the first argument is the object."""

    function: str
    args: tuple[Expr, ...]
    type: Type
    span: Span = field(default=NOWHERE, compare=False, repr=False)


@dataclass(frozen=True, slots=True)
class Intrinsic:
    """A call of a row of the intrinsics table."""

    name: str
    args: tuple[Expr, ...]
    type: Type
    span: Span = field(default=NOWHERE, compare=False, repr=False)


@dataclass(frozen=True, slots=True)
class Construct:
    """A vector, matrix, array, struct or tuple from its parts; no parts at all means zeros, one scalar a splat."""

    args: tuple[Expr, ...]
    type: Type
    span: Span = field(default=NOWHERE, compare=False, repr=False)


@dataclass(frozen=True, slots=True)
class Cast:
    """A conversion by component; floating to integer truncates."""

    operand: Expr
    type: Type
    span: Span = field(default=NOWHERE, compare=False, repr=False)


@dataclass(frozen=True, slots=True)
class Member:
    """A struct field, an element of a tuple (``item0``), or ``p`` / ``d`` of a differential pair."""

    value: Expr
    name: str
    type: Type
    span: Span = field(default=NOWHERE, compare=False, repr=False)


@dataclass(frozen=True, slots=True)
class Swizzle:
    """Components of a vector, from ``xyzw``."""

    value: Expr
    components: str
    type: Type
    span: Span = field(default=NOWHERE, compare=False, repr=False)


@dataclass(frozen=True, slots=True)
class Index:
    """An entry of an array, component of a vector or row of a matrix."""

    value: Expr
    index: Expr
    type: Type
    span: Span = field(default=NOWHERE, compare=False, repr=False)


@dataclass(frozen=True, slots=True)
class NoDiff:
    """The value of an expression with its derivative cut."""

    value: Expr
    type: Type
    span: Span = field(default=NOWHERE, compare=False, repr=False)


@dataclass(frozen=True, slots=True)
class MakePair:
    """A differential pair from primal and tangent."""

    primal: Expr
    tangent: Expr
    type: Type
    span: Span = field(default=NOWHERE, compare=False, repr=False)


@dataclass(frozen=True, slots=True)
class BackwardCall:
    """Reverse mode of a function: its arguments, then the cotangent of its result.

    It returns one gradient per differentiable parameter, a tuple if there are several.
    """

    function: str
    args: tuple[Expr, ...]
    type: Type
    span: Span = field(default=NOWHERE, compare=False, repr=False)


@dataclass(frozen=True, slots=True)
class ForwardCall:
    """Forward mode of a function: it takes pairs for differentiable parameters, values for others, gives a pair."""

    function: str
    args: tuple[Expr, ...]
    type: Type
    span: Span = field(default=NOWHERE, compare=False, repr=False)


@dataclass(frozen=True, slots=True)
class ThreadId:
    """The index of this thread along an axis of the domain."""

    axis: int
    type: Type
    span: Span = field(default=NOWHERE, compare=False, repr=False)


@dataclass(frozen=True, slots=True)
class ThreadCount:
    """The size of the domain along an axis."""

    axis: int
    type: Type
    span: Span = field(default=NOWHERE, compare=False, repr=False)


@dataclass(frozen=True, slots=True)
class Read:
    """An element of a tensor, or a texel by row and column; the indices are ints, one per axis.

    ``type`` is the type of the elements. An element of halfs that is read as ``float`` has a cotangent in float.
    As the target of ``Assign`` it is an element of a tensor that is written.
    """

    source: Expr
    indices: tuple[Expr, ...]
    type: Type
    span: Span = field(default=NOWHERE, compare=False, repr=False)


@dataclass(frozen=True, slots=True)
class Extent:
    """The number of elements of a tensor or texture along an axis (a texture's axis 0 counts rows)."""

    source: Expr
    axis: int
    type: Type
    span: Span = field(default=NOWHERE, compare=False, repr=False)


@dataclass(frozen=True, slots=True)
class Sample:
    """A texture filtered at coordinates (a float2) in [0, 1]."""

    source: Expr
    uv: Expr
    type: Type
    span: Span = field(default=NOWHERE, compare=False, repr=False)


@dataclass(frozen=True, slots=True)
class Linear:
    """A matrix in memory times an array: entry ``i`` is the sum of ``source[indices…, i, j] * value[j]`` over ``j``.

    The tensor has known extents and all its reads are such products, with ``columns`` entries each. A tensor of one
    axis more than ``indices`` holds the matrix row by row. With a ``bias``, which is a tensor too,
    ``bias[bias_indices…, i]`` is added to entry ``i``.
    """

    source: Expr
    indices: tuple[Expr, ...]
    value: Expr
    columns: int
    bias: Expr | None
    bias_indices: tuple[Expr, ...]
    type: Type
    span: Span = field(default=NOWHERE, compare=False, repr=False)


@dataclass(frozen=True, slots=True)
class GroupOperation:
    """A value that the threads of a group compute together from one value of each, by component.

    ``name`` is that of a word of the language, such as ``group_sum``. All threads of the group come by. Their number is
    ``size``, 0 until the description is whole.
    """

    name: str
    value: Expr
    size: int
    type: Type
    span: Span = field(default=NOWHERE, compare=False, repr=False)


@dataclass(frozen=True, slots=True)
class Probe:
    """A value whose gradient is recorded under a name, one per element of the domain."""

    name: str
    value: Expr
    type: Type
    span: Span = field(default=NOWHERE, compare=False, repr=False)


Expr = (
    Const
    | Var
    | ConstantRef
    | Unary
    | Binary
    | Ternary
    | Call
    | Intrinsic
    | Construct
    | Cast
    | Member
    | Swizzle
    | Index
    | NoDiff
    | MakePair
    | BackwardCall
    | ForwardCall
    | ThreadId
    | ThreadCount
    | Read
    | Extent
    | Sample
    | Linear
    | GroupOperation
    | Probe
)
