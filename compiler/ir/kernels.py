"""Kernels in the IR: where parameters and results live, and the memory that functions access by name.

All nodes are frozen. ``ir.nodes`` has them by the same names.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from enum import Enum
from typing import TYPE_CHECKING

from slangad.compiler.errors.spans import NOWHERE, Span

if TYPE_CHECKING:
    from collections.abc import Iterable

    from slangad.compiler.ir.types import Tensor, Texture, Type


class Memory(str, Enum):
    """The memory of a kernel's parameter or result."""

    EACH = "each"
    UNIFORM = "uniform"
    PARAM = "param"
    TENSOR = "tensor"
    OUT_TENSOR = "out_tensor"
    INOUT_TENSOR = "inout_tensor"
    TEXTURE2D = "texture2d"
    SUM = "sum"
    MEAN = "mean"

    @property
    def is_written(self) -> bool:
        """Return True if threads store into it: a tensor that is output, or both."""
        return self in (Memory.OUT_TENSOR, Memory.INOUT_TENSOR)


@dataclass(frozen=True, slots=True)
class KernelParam:
    """A kernel's parameter: the type that one thread sees, and its memory."""

    name: str
    memory: Memory
    type: Type
    no_diff: bool = False
    span: Span = field(default=NOWHERE, compare=False, repr=False)


@dataclass(frozen=True, slots=True)
class KernelResult:
    """A kernel's result; ``name`` is ``result``, or ``result.0`` and so on of a tuple.

    ``param`` is the name of its ``out`` or ``inout`` parameter, and empty for a returned value.
    """

    name: str
    memory: Memory
    type: Type
    param: str = ""


@dataclass(frozen=True, slots=True)
class Kernel:
    """A function that runs once per element of a domain; ``function`` is the key of the function of one thread.

    ``modes`` names its entry points (``forward``, ``backward``, ``jvp``); if empty, all useful ones. ``shapes`` are the
    shapes of parameters in ``slangad check``; that of an ``Each`` is the domain. ``fused`` is True if it joins two
    stages of a pipeline. ``tile`` has the extents of the tiles in which groups walk the domain; () are rows, as is None
    after ``name_tensors``, which chooses. ``product_of`` is the kernel with whose Hessian its gradients are products.
    ``in_step`` is True if the threads of a group compute together, in blocks of the domain of the group's extents.
    """

    name: str
    function: str
    params: tuple[KernelParam, ...]
    results: tuple[KernelResult, ...]
    dims: int = 1
    group_size: tuple[int, ...] = (64,)
    doc: tuple[str, ...] = ()
    span: Span = field(default=NOWHERE, compare=False, repr=False)
    modes: tuple[str, ...] = ()
    shapes: tuple[tuple[str, tuple[int, ...]], ...] = ()
    fused: bool = field(default=False, compare=False)
    tile: tuple[int, ...] | None = None
    product_of: str = field(default="", compare=False)
    in_step: bool = False


def by_value(kernel: Kernel, buffers: Iterable[Buffer]) -> tuple[KernelParam, ...]:
    """Return the parameters of a kernel that its function has too; the others are memory."""
    named = {buffer.param for buffer in buffers if buffer.kernel == kernel.name}
    return tuple(param for param in kernel.params if param.name not in named)


@dataclass(frozen=True, slots=True)
class SharedMemory:
    """Memory that the threads of a group of a kernel share. Functions refer to it by a ``Var`` of its ``key``."""

    key: str
    kernel: str
    name: str
    type: Tensor
    span: Span = field(default=NOWHERE, compare=False, repr=False)


class Accumulation(str, Enum):
    """The way the gradients of many threads add up in one element."""

    NONE = "none"
    OWN = "own"
    SUM = "sum"
    SHARED = "shared"
    SCATTER = "scatter"
    TOGETHER = "together"
    EXACT = "exact"
    BLOCK = "block"
    MATRIX = "matrix"
    HALF_MATRIX = "half_matrix"

    @property
    def is_matrix(self) -> bool:
        """True if every use is a product by all threads of a group."""
        return self in (Accumulation.MATRIX, Accumulation.HALF_MATRIX)


@dataclass(frozen=True, slots=True)
class BlockStep:
    """How far elements of neighbouring blocks are apart: ``times``, and as many times as there are blocks along axes.

    Attributes:
        axis: The axis of the domain along which the blocks are neighbours.
        times: Elements.
        across: Axes of the domain.
    """

    axis: int
    times: int
    across: tuple[int, ...] = ()


@dataclass(frozen=True, slots=True)
class BlockAxis:
    """The elements of a block along an axis of a tensor: ``extent``, from ``low`` on in the first block."""

    low: int
    extent: int
    steps: tuple[BlockStep, ...] = ()


@dataclass(frozen=True, slots=True)
class Buffer:
    """A tensor or texture of a kernel after functions are specialised: memory that they access by name.

    ``Read``, ``Extent`` and ``Sample`` refer to it by a ``Var`` of its ``key``. ``accumulation`` is how its
    gradient is added up:

    - ``none``: it has none.
    - ``own``: every element has its own thread.
    - ``shared``: all threads read the same element at a time.
    - ``sum``: the same for few elements, the first ``reach`` along each axis.
    - ``together``: the threads of a tile of the domain read the same element at a time.
    - ``block``: every block of the domain has elements of its own, which one group adds up.
    - ``scatter``: anything else.
    - ``exact``: ``shared``, ``together`` or ``scatter``, in sums that do not depend on their order.
    - ``matrix``: every use is a ``Linear`` by all threads of a group, which add up outer products together.
    - ``half_matrix``: the same, with factors in half where a target has matrix units for them.

    ``why`` is the expression that decided between ``together`` and ``scatter``, or the reason for ``matrix`` where
    ``half_matrix`` was asked for.

    ``block`` has the extents of such a block, and ``block_axes`` its elements along each axis of the tensor.

    ``added`` is True for an output tensor that threads add to, and do not store into. ``accumulation`` is then the way
    of its values; its cotangent is read where a thread added.

    ``followed`` is True if gradient flows to the coordinates at which a texture is sampled.

    ``read_again`` is True if reverse mode reads its elements again in place of keeping what was read.

    A large ``Param`` has a buffer for each of its arrays: ``path`` names the struct fields on the way to the array, and
    ``extents`` are its own. Extents of other tensors and textures are known at launch only.
    """

    key: str
    kernel: str
    param: str
    type: Tensor | Texture
    no_diff: bool = False
    accumulation: Accumulation = Accumulation.NONE
    why: str = field(default="", compare=False)
    followed: bool = False
    read_again: bool = False
    reach: tuple[int, ...] = ()
    path: tuple[str, ...] = ()
    extents: tuple[int, ...] = ()
    added: bool = False
    block: tuple[int, ...] = ()
    block_axes: tuple[BlockAxis, ...] = ()
    span: Span = field(default=NOWHERE, compare=False, repr=False)

    @property
    def name(self) -> str:
        """The parameter, and the fields on the way to the part of it: ``net.w1``."""
        return ".".join((self.param, *self.path))
