"""The IR: what every front end produces and every pass, emitter and report reads.

Frozen values all the way down. Every expression carries its type, every node the span it came from. Statements are
structured, as in Slang; expressions are pure. Arithmetic means what Slang means: the differences to Python (``/`` and
``//`` on integers, ``**``, ranges, value semantics) are resolved by the front end before it builds these nodes.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from enum import Enum
from typing import TYPE_CHECKING

from slangad.compiler.errors.spans import NOWHERE, Span
from slangad.compiler.ir.expressions import (
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
    Index,
    Intrinsic,
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
from slangad.compiler.ir.kernels import Accumulation, Buffer, Kernel, KernelParam, KernelResult, Memory

if TYPE_CHECKING:
    from slangad.compiler.ir.pipelines import Pipeline
    from slangad.compiler.ir.types import Struct, Type

__all__ = [
    "Accumulation",
    "Assign",
    "Automatic",
    "BackwardCall",
    "Binary",
    "Break",
    "Buffer",
    "Call",
    "Cast",
    "ClipGradient",
    "Comment",
    "Const",
    "ConstantDef",
    "ConstantRef",
    "Construct",
    "Continue",
    "Custom",
    "Derivative",
    "Expr",
    "Extent",
    "External",
    "FiniteDifference",
    "For",
    "ForwardCall",
    "Function",
    "If",
    "Index",
    "Intrinsic",
    "Kernel",
    "KernelParam",
    "KernelResult",
    "LeftOut",
    "Let",
    "MakePair",
    "Member",
    "Memory",
    "Module",
    "NoDiff",
    "Node",
    "Param",
    "Probe",
    "Range",
    "Read",
    "Return",
    "Role",
    "Sample",
    "SlangBody",
    "Stmt",
    "StraightThrough",
    "StructDef",
    "Subgradient",
    "Surrogate",
    "Swizzle",
    "Ternary",
    "ThreadCount",
    "ThreadId",
    "Unary",
    "Var",
    "While",
]

# --- statements ------------------------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class Let:
    """Declares a local in its block. Without a value, every path sets it before it reads it."""

    name: str
    type: Type
    value: Expr | None
    span: Span = field(default=NOWHERE, compare=False, repr=False)


@dataclass(frozen=True, slots=True)
class Assign:
    """Stores into a local or a part of one (``Var`` under ``Member``, ``Swizzle``, ``Index``)."""

    target: Expr
    value: Expr
    span: Span = field(default=NOWHERE, compare=False, repr=False)


@dataclass(frozen=True, slots=True)
class If:
    """A branch on a scalar bool."""

    condition: Expr
    then: tuple[Stmt, ...]
    other: tuple[Stmt, ...]
    span: Span = field(default=NOWHERE, compare=False, repr=False)


@dataclass(frozen=True, slots=True)
class For:
    """A counted loop: ``variable`` runs from ``start`` to before ``stop`` by ``step``; the body never assigns it.

    ``limit`` is the most turns it takes, or more to make room for what Slang keeps; with ``bounded`` false the bounds
    tell them, with ``bounded`` true it stops at the limit (beyond is the program's error). ``unroll``: Slang unrolls.
    """

    variable: str
    start: Expr
    stop: Expr
    step: int
    limit: int
    bounded: bool
    unroll: bool
    body: tuple[Stmt, ...]
    span: Span = field(default=NOWHERE, compare=False, repr=False)


@dataclass(frozen=True, slots=True)
class While:
    """Runs while a condition holds, at most ``limit`` iterations."""

    condition: Expr
    limit: int
    body: tuple[Stmt, ...]
    span: Span = field(default=NOWHERE, compare=False, repr=False)


@dataclass(frozen=True, slots=True)
class Break:
    """Leaves the innermost loop."""

    span: Span = field(default=NOWHERE, compare=False, repr=False)


@dataclass(frozen=True, slots=True)
class Continue:
    """Continues with the next iteration of the innermost loop."""

    span: Span = field(default=NOWHERE, compare=False, repr=False)


@dataclass(frozen=True, slots=True)
class Return:
    """Leaves the function with its result."""

    value: Expr | None
    span: Span = field(default=NOWHERE, compare=False, repr=False)


@dataclass(frozen=True, slots=True)
class Comment:
    """A whole-line comment of the user, kept in the Slang."""

    text: str
    span: Span = field(default=NOWHERE, compare=False, repr=False)


Stmt = Let | Assign | If | For | While | Break | Continue | Return | Comment

# --- derivatives -----------------------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class Automatic:
    """Slang differentiates the body."""


@dataclass(frozen=True, slots=True)
class Custom:
    """Functions that give the derivative, by key; at least one is there.

    ``backward`` takes the function's parameters and ``d_out`` and gives one gradient per differentiable parameter;
    ``forward`` takes pairs for differentiable parameters and gives a pair.
    """

    backward: str | None
    forward: str | None


@dataclass(frozen=True, slots=True)
class FiniteDifference:
    """Central differences with an absolute step, or one scaled by ``max(1, |x|)``."""

    step: float
    relative: bool = False


@dataclass(frozen=True, slots=True)
class Surrogate:
    """The derivative of another function (by key) with the same parameters and result."""

    function: str


@dataclass(frozen=True, slots=True)
class StraightThrough:
    """The derivative of the identity."""


@dataclass(frozen=True, slots=True)
class ClipGradient:
    """Every component of every gradient clamped to ±``limit``, or each gradient's norm limited to ``norm``."""

    limit: float | None
    norm: float | None
    of: FiniteDifference | Surrogate | StraightThrough | Subgradient | Automatic


@dataclass(frozen=True, slots=True)
class Subgradient:
    """A chosen derivative at one point, the automatic one elsewhere."""

    at: float
    value: float


Derivative = Automatic | Custom | FiniteDifference | Surrogate | StraightThrough | ClipGradient | Subgradient

# --- declarations ----------------------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class Param:
    """A parameter; ``no_diff`` ones carry no gradient, nor do integers and bools.

    ``direction`` is ``in``, ``out`` or ``inout``; only functions that stand in Slang files have the latter two.
    """

    name: str
    type: Type
    no_diff: bool = False
    span: Span = field(default=NOWHERE, compare=False, repr=False)
    direction: str = "in"


@dataclass(frozen=True, slots=True)
class Range:
    """Where ``slangad check`` draws samples: a parameter or a part of it, ``m.roughness``, and the interval."""

    path: str
    low: float
    high: float


@dataclass(frozen=True, slots=True)
class SlangWord:
    """Some characters of a line of Slang, by the indices of the first and after the last, with their location."""

    start: int
    end: int
    span: Span


@dataclass(frozen=True, slots=True)
class SlangBody:
    """A body written in Slang. ``words`` are the locations of the words in each of its lines."""

    text: str
    words: tuple[tuple[SlangWord, ...], ...] = field(default=(), compare=False, repr=False)


@dataclass(frozen=True, slots=True)
class External:
    """A function that stands in a Slang file; ``symbol`` is how Slang names it, as in ``ns.f<float, 4>``.

    ``ambiguous`` says that Slang can't tell by the arguments of its derivative which function of that name is meant.
    """

    symbol: str
    file: str
    ambiguous: bool = False


class Role(str, Enum):
    """What a function is for; derivatives are printed in Slang's pair form."""

    PLAIN = "plain"
    BACKWARD = "backward"
    FORWARD = "forward"


@dataclass(frozen=True, slots=True)
class Function:
    """A device function.

    ``key`` is unique in the module, ``name`` is the user's and may collide. A method has ``owner``, the key of its
    struct, and unless ``static`` its first parameter is the object. A derivative has a ``role`` and ``of``, the key of
    the function it belongs to. ``reads`` says that it, or what it calls, reads memory that gets a gradient (known once
    tensors have names).
    """

    key: str
    name: str
    params: tuple[Param, ...]
    result: Type
    body: tuple[Stmt, ...] | SlangBody | External
    differentiable: bool = True
    derivative: Derivative = Automatic()
    prefer: str = ""
    role: Role = Role.PLAIN
    of: str = ""
    owner: str = ""
    static: bool = False
    doc: tuple[str, ...] = ()
    ranges: tuple[Range, ...] = ()
    span: Span = field(default=NOWHERE, compare=False, repr=False)
    reads: bool = False


@dataclass(frozen=True, slots=True)
class StructDef:
    """A struct with its comment; its methods are the functions whose ``owner`` is its key.

    ``external`` is how Slang names one that stands in a Slang file the module imports; its fields keep their names.
    """

    struct: Struct
    doc: tuple[str, ...] = ()
    span: Span = field(default=NOWHERE, compare=False, repr=False)
    external: str = ""


@dataclass(frozen=True, slots=True)
class ConstantDef:
    """A module constant; ``values`` are its scalars in memory order."""

    key: str
    name: str
    type: Type
    values: tuple[int | float | bool, ...]
    span: Span = field(default=NOWHERE, compare=False, repr=False)


@dataclass(frozen=True, slots=True)
class LeftOut:
    """A function that was found but can't be compiled, and why.

    ``modes`` and ``targets`` say for which entry points and targets; none named means all.
    """

    function: str
    reason: str
    modes: tuple[str, ...] = ()
    targets: tuple[str, ...] = ()
    span: Span = field(default=NOWHERE, compare=False, repr=False)


@dataclass(frozen=True, slots=True)
class Sampling:
    """How many samples a check draws, and with which seed, of a function (by key), a pipeline (by name), or all.

    None where nothing was said.
    """

    of: str
    samples: int | None = None
    seed: int | None = None


@dataclass(frozen=True, slots=True)
class Module:
    """One description. Functions stand before their callers.

    Attributes:
        name: The stem of the emitted file.
        source: The describing file as it was given.
        sources: Every file the description depends on: modules it imports, Slang files it names.
        bound: Constants and closures bound when it was loaded, as name and text.
        slang_imports: Slang files to import, paths relative to the describing file.
        slang_includes: Slang files to include, for what they declare can't be imported.
        taken: Names that those files declare, which nothing else may have.
        file_name: The emitted file's name where it is not ``<name>.slang``.
        left_out: What was found in the description but can't be compiled.
        targets: What to compile for where the command line doesn't say.
        buffers: Tensors and textures of all kernels; there once functions are specialised to them.
        pipelines: Chains of its kernels.
        sampling: What was said about the samples of its check.
    """

    name: str
    source: str
    structs: tuple[StructDef, ...] = ()
    constants: tuple[ConstantDef, ...] = ()
    functions: tuple[Function, ...] = ()
    kernels: tuple[Kernel, ...] = ()
    slang_imports: tuple[str, ...] = ()
    sources: tuple[str, ...] = ()
    bound: tuple[tuple[str, str], ...] = ()
    doc: tuple[str, ...] = ()
    slang_includes: tuple[str, ...] = ()
    taken: tuple[str, ...] = ()
    file_name: str = ""
    left_out: tuple[LeftOut, ...] = ()
    targets: tuple[str, ...] = ()
    buffers: tuple[Buffer, ...] = ()
    pipelines: tuple[Pipeline, ...] = ()
    sampling: tuple[Sampling, ...] = ()


Node = Expr | Stmt
