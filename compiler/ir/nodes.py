"""The IR: what every front end produces and every pass, emitter and report reads.

All nodes are frozen. Every expression has its type, every node its source span. Statements are structured, as in Slang;
expressions are pure. Arithmetic is that of Slang. The front end resolves the differences to Python (``/`` and ``//`` on
integers, ``**``, ranges, value semantics) before it builds these nodes.
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
from slangad.compiler.ir.kernels import (
    Accumulation,
    BlockAxis,
    BlockStep,
    Buffer,
    Kernel,
    KernelParam,
    KernelResult,
    Memory,
    SharedMemory,
    by_value,
)

if TYPE_CHECKING:
    from slangad.compiler.ir.distributions import Distribution
    from slangad.compiler.ir.pipelines import Pipeline
    from slangad.compiler.ir.types import Struct, Type

__all__ = [
    "Accumulation",
    "Assign",
    "Automatic",
    "BackwardCall",
    "Barrier",
    "Binary",
    "BlockAxis",
    "BlockStep",
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
    "GroupOperation",
    "If",
    "Index",
    "Initial",
    "Intrinsic",
    "Kernel",
    "KernelParam",
    "KernelResult",
    "LeftOut",
    "Let",
    "Linear",
    "LoopChoice",
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
    "SharedMemory",
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
    "by_value",
]

# --- statements ------------------------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class Let:
    """Declares a local in its block. Without a value, every path sets it before it reads it.

    One with the type of a group's memory declares that, until it has a name of the module.
    """

    name: str
    type: Type
    value: Expr | None
    span: Span = field(default=NOWHERE, compare=False, repr=False)


@dataclass(frozen=True, slots=True)
class Assign:
    """Stores into a local or a part of one (``Var`` under ``Member``, ``Swizzle``, ``Index``), or into an element.

    With ``adds``, the value is added to an element of an output tensor, which other threads may add to as well.
    """

    target: Expr
    value: Expr
    span: Span = field(default=NOWHERE, compare=False, repr=False)
    adds: bool = field(default=False, kw_only=True)


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

    ``limit`` is the maximum of iterations, or more to make room for the values that Slang keeps. With ``bounded``
    the loop stops at the limit (more iterations are the program's error), otherwise at its bounds. With ``unroll``
    Slang unrolls it. ``keep`` is the user's choice for reverse mode: every how many iterations the state is kept, or 0
    for never; or ``inverse``, a call that gives the state before an iteration from the state after it. It is no part of
    what the loop runs: ``stmt_exprs`` leaves it out, ``map_stmt_exprs`` does not. ``limit_formula`` is how the user
    wrote the limit, as in ``Const``. ``together`` is the user's wish that a group runs the loop for a whole tile; it
    changes no result.
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
    keep: int | None = field(default=None, kw_only=True)
    inverse: Expr | None = field(default=None, kw_only=True)
    together: bool = field(default=False, kw_only=True)
    limit_formula: Expr | str | None = field(default=None, compare=False, repr=False, kw_only=True)


@dataclass(frozen=True, slots=True)
class While:
    """Runs while a condition holds, at most ``limit`` iterations; ``limit_formula`` as in ``For``."""

    condition: Expr
    limit: int
    body: tuple[Stmt, ...]
    span: Span = field(default=NOWHERE, compare=False, repr=False)
    keep: int | None = field(default=None, kw_only=True)
    limit_formula: Expr | str | None = field(default=None, compare=False, repr=False, kw_only=True)


@dataclass(frozen=True, slots=True)
class Break:
    """Leaves the innermost loop."""

    span: Span = field(default=NOWHERE, compare=False, repr=False)


@dataclass(frozen=True, slots=True)
class Continue:
    """Continues with the next iteration of the innermost loop."""

    span: Span = field(default=NOWHERE, compare=False, repr=False)


@dataclass(frozen=True, slots=True)
class Barrier:
    """Waits until all threads of the group have come here."""

    span: Span = field(default=NOWHERE, compare=False, repr=False)


@dataclass(frozen=True, slots=True)
class Return:
    """Leaves the function with its result."""

    value: Expr | None
    span: Span = field(default=NOWHERE, compare=False, repr=False)


@dataclass(frozen=True, slots=True)
class Comment:
    """A comment of the user on a line without code, kept in the Slang."""

    text: str
    span: Span = field(default=NOWHERE, compare=False, repr=False)


Stmt = Let | Assign | If | For | While | Break | Continue | Barrier | Return | Comment

# --- derivatives -----------------------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class Automatic:
    """Slang differentiates the body."""


@dataclass(frozen=True, slots=True)
class Custom:
    """Functions that compute the derivative, by key; at least one exists.

    ``backward`` takes the function's parameters and ``d_out``, and returns one gradient per differentiable parameter.
    ``forward`` takes pairs for differentiable parameters, and returns a pair.
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

    ``direction`` is ``in``, ``out`` or ``inout``; only functions of Slang files have the latter two.
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
class Initial:
    """The values at which the training of a field, or of a part of it, starts: ``layer.w``, and their distribution."""

    path: str
    values: Distribution


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
    """A function of a Slang file; ``symbol`` is its name in Slang, such as ``ns.f<float, 4>``.

    ``ambiguous`` is True if Slang can't select one of the functions of that name by the arguments of its derivative.
    ``call`` is the expression that calls it, such as ``{0}.shade(Kind({1}))``; empty for a plain call.
    """

    symbol: str
    file: str
    ambiguous: bool = False
    call: str = ""


class Role(str, Enum):
    """The purpose of a function; derivatives are printed in Slang's pair form."""

    PLAIN = "plain"
    BACKWARD = "backward"
    FORWARD = "forward"
    GATHER = "gather"
    """It reads elements that threads share. Its derivative adds up all their gradients at once."""
    PAIR = "pair"
    """It reads two elements that mostly lie side by side. In its derivative, threads exchange what they add to them."""

    @property
    def reads_memory(self) -> bool:
        """Return True if all that it does is to read elements, with a derivative that the emitter prints."""
        return self in (Role.GATHER, Role.PAIR)


@dataclass(frozen=True, slots=True)
class Function:
    """A device function.

    ``key`` is unique in the module, ``name`` is the user's and may collide. A method has ``owner``, the key of its
    struct, and unless ``static`` its first parameter is the object. A derivative has a ``role`` and ``of``, the key of
    the function it belongs to. ``reads`` is True if it or a callee reads memory that gets a gradient (known after the
    pass that names tensors).

    ``precision`` is ``half`` if products of matrices may have factors in half.

    ``on_host`` is the key of the function that Slang differentiates in its place on the CPU, with the same parameters,
    perhaps without the last. One that is not differentiable does nothing there: nobody reads its result. Where
    the function of that key is left out, as in the check, it means nothing.
    """

    key: str
    name: str
    params: tuple[Param, ...]
    result: Type
    body: tuple[Stmt, ...] | SlangBody | External
    differentiable: bool = True
    derivative: Derivative = Automatic()
    prefer: str = ""
    precision: str = ""
    role: Role = Role.PLAIN
    of: str = ""
    owner: str = ""
    static: bool = False
    doc: tuple[str, ...] = ()
    ranges: tuple[Range, ...] = ()
    span: Span = field(default=NOWHERE, compare=False, repr=False)
    reads: bool = False
    on_host: str = ""


@dataclass(frozen=True, slots=True)
class StructDef:
    """A struct with its comment; its methods are the functions whose ``owner`` is its key.

    ``external`` is the Slang name of a struct of an imported Slang file; its fields keep their names. ``initial`` has
    the values at which the training of its parts starts.
    """

    struct: Struct
    doc: tuple[str, ...] = ()
    span: Span = field(default=NOWHERE, compare=False, repr=False)
    external: str = ""
    initial: tuple[Initial, ...] = ()


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
    """A function that can't be compiled, and why.

    ``modes`` and ``targets`` name the entry points and targets for which it can't; all if empty. ``instances`` are
    those of a generic function, if it has arguments and none of them can be compiled. ``lacking`` are the interfaces
    for which it has no arguments, because no type of the files conforms to them. ``held`` is True if the reason is a
    field of a struct that it takes, or what a pointer leads to.
    """

    function: str
    reason: str
    modes: tuple[str, ...] = ()
    targets: tuple[str, ...] = ()
    span: Span = field(default=NOWHERE, compare=False, repr=False)
    instances: tuple[str, ...] = field(default=(), compare=False, repr=False)
    lacking: tuple[str, ...] = field(default=(), compare=False, repr=False)
    held: bool = field(default=False, compare=False, repr=False)


@dataclass(frozen=True, slots=True)
class LoopChoice:
    """How reverse mode gets the states of a loop: ``sum``, ``invert``, ``recompute`` or ``keep``, and why.

    ``function`` is the user's name. Each thread keeps ``kept`` bytes, the state of every ``every`` iterations; 0 if
    none. ``limit`` is the largest number of iterations. ``key`` is the key of the function that has the loop.
    """

    function: str
    way: str
    kept: int
    every: int
    reason: str
    limit: int
    span: Span = field(default=NOWHERE, compare=False, repr=False)
    key: str = field(default="", compare=False, repr=False)


@dataclass(frozen=True, slots=True)
class ReplayedLoop:
    """The functions that took the place of a loop; their keys are ``key`` with ``step``, ``run``, ``loop`` and so on.

    Attributes:
        key: The start of the keys.
        way: How reverse mode gets its states, as in ``LoopChoice``.
        watched: The floats of the state that may become too small to undo an iteration.
        plain: It counts from 0 by 1.
        stops: The field of its state that is set when an iteration leaves the loop; empty if every iteration runs.
        together: The user wants a tile to share it.
        choice: The same as ``-v`` and the manifest print it.
    """

    key: str
    way: str
    watched: tuple[str, ...]
    plain: bool
    stops: str
    together: bool
    choice: LoopChoice


@dataclass(frozen=True, slots=True)
class TileLoop:
    """A loop of a kernel that a group runs for a tile: keys of the functions, which ``passes.share_tiles`` makes.

    Each thread has several elements of the tile. They enter the loop with states of their own. What an iteration takes
    from memory is the same for all of them.

    Attributes:
        kernel: The name of the kernel.
        enter: From an element to a struct: the state before the loop, the number of iterations, what iterations read.
        take: From an iteration to a struct of what the tile shares in it: the elements of tensors, then integers.
        common: From what is shared to a struct of what each thread computes from it once for all its elements; empty if
            there is nothing.
        blend: From a state and what is shared to the next state.
        undo: From a state and what is shared to the state before; empty if reverse mode needs no states.
        lit: Whether a state can be undone; empty if it always can.
        run: From a state to the end of the loop, for one element.
        tail: Reverse mode of the last iterations for one element, from the end, where states can't be undone in all
            elements: to a struct of the gradient of a state, and the state. Empty if ``lit`` is.
        rest: From an element and the state after the loop to the result.
        item: The function that reads the elements of tensors (``Role.GATHER``).
        indices: The fields of what is shared that are the arguments of ``item``.
        stops: The field of a state that is set when an iteration leaves the loop; empty if every iteration runs.
        lead: From an element to a struct of what gradients flow back to: the state before the loop if they do, then
            ``per_element`` and ``per_thread``. Empty if there is nothing.
        per_element: Values from outside of which an iteration gives a gradient, by the names of its parameters.
        per_thread: Such values that the elements of a thread have in common.
    """

    kernel: str
    enter: str
    take: str
    common: str
    blend: str
    undo: str
    lit: str
    run: str
    tail: str
    rest: str
    item: str
    indices: tuple[str, ...]
    stops: str
    lead: str
    per_element: tuple[str, ...]
    per_thread: tuple[str, ...]

    @property
    def functions(self) -> tuple[str, ...]:
        """The keys of its functions."""
        iteration = (self.take, self.common, self.blend, self.undo, self.lit)
        keys = (self.enter, self.lead, *iteration, self.run, self.tail, self.rest, self.item)
        return tuple(key for key in keys if key)


@dataclass(frozen=True, slots=True)
class UnsharedLoop:
    """A loop that the user wants groups of a kernel to run together, and why they do not."""

    kernel: str
    reason: str
    span: Span


@dataclass(frozen=True, slots=True)
class Sampling:
    """The number and seed of the samples of a check for a function (by key), a pipeline (by name), or all.

    None means that nothing was declared.
    """

    of: str
    samples: int | None = None
    seed: int | None = None


@dataclass(frozen=True, slots=True)
class Module:
    """One description. Functions stand before their callers.

    Attributes:
        name: The stem of the emitted file.
        source: The describing file, by the user's path.
        sources: Every file that the description depends on: imported modules and named Slang files.
        bound: Constants and closures bound when it was loaded, as name and text.
        slang_imports: Slang files to import, paths relative to the describing file.
        slang_includes: Slang files to include, because their declarations can't be imported.
        taken: Names that those files declare; nothing else may have them.
        file_name: The emitted file's name if it is not ``<name>.slang``.
        left_out: Parts of the description that can't be compiled.
        targets: The targets if the command line names none.
        buffers: Tensors and textures of all kernels; empty before functions are specialised to them.
        shared: The memory that groups of kernels share; empty before it is named as buffers are.
        pipelines: Pipelines of its kernels.
        sampling: Declarations about the samples of its check.
        loops: How reverse mode gets the states of its loops; known after the pass that chooses.
        replayed: The loops among them that functions took the place of.
        tile_loops: Those that groups run for whole tiles.
        unshared_loops: Loops of ``sa.group_range`` that they do not.
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
    untried: tuple[str, ...] = ()
    targets: tuple[str, ...] = ()
    buffers: tuple[Buffer, ...] = ()
    shared: tuple[SharedMemory, ...] = ()
    pipelines: tuple[Pipeline, ...] = ()
    sampling: tuple[Sampling, ...] = ()
    loops: tuple[LoopChoice, ...] = field(default=(), compare=False, repr=False)
    replayed: tuple[ReplayedLoop, ...] = field(default=(), compare=False, repr=False)
    tile_loops: tuple[TileLoop, ...] = field(default=(), compare=False, repr=False)
    unshared_loops: tuple[UnsharedLoop, ...] = field(default=(), compare=False, repr=False)

    @property
    def named_memory(self) -> tuple[Buffer | SharedMemory, ...]:
        """All memory that functions refer to by its key."""
        return (*self.buffers, *self.shared)


Node = Expr | Stmt
