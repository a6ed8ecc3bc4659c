"""Kernels in the IR: where parameters and results live, and the memory that functions access by name.

Frozen values like everything of the IR; ``ir.nodes`` has them by the same names.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from enum import Enum
from typing import TYPE_CHECKING

from slangad.compiler.errors.spans import NOWHERE, Span

if TYPE_CHECKING:
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

    ``param`` names the ``out`` or ``inout`` parameter it comes out of, and is empty for what the function returns.
    """

    name: str
    memory: Memory
    type: Type
    param: str = ""


@dataclass(frozen=True, slots=True)
class Kernel:
    """A function run once per element of a domain; ``function`` is the key of what one thread does.

    ``modes`` names the entry points it is to have (``forward``, ``backward``, ``jvp``); none named means all that make
    sense. ``shapes`` are those that ``slangad check`` is to give parameters; that of an ``Each`` is the domain.
    ``fused`` says that it was made of two by joining stages of a pipeline.
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


class Accumulation(str, Enum):
    """How the gradients of many threads add up in one element."""

    NONE = "none"
    OWN = "own"
    SUM = "sum"
    SHARED = "shared"
    SCATTER = "scatter"
    EXACT = "exact"


@dataclass(frozen=True, slots=True)
class Buffer:
    """What a tensor or texture of a kernel is once functions are specialised: memory that they access by name.

    ``Read``, ``Extent`` and ``Sample`` refer to it by a ``Var`` of its ``key``. ``accumulation`` says how its gradient
    comes together: every element has a thread of its own (``own``), all threads read the same one at a time
    (``shared``; ``sum`` where these are few, the first ``reach`` along each axis), anything else (``scatter``), or it
    has none; ``exact`` stands for ``shared`` and ``scatter`` where sums must not depend on their order. ``followed``
    says that gradient flows to the coordinates that a texture is sampled at.
    """

    key: str
    kernel: str
    param: str
    type: Tensor | Texture
    no_diff: bool = False
    accumulation: Accumulation = Accumulation.NONE
    followed: bool = False
    reach: tuple[int, ...] = ()
    span: Span = field(default=NOWHERE, compare=False, repr=False)
