"""Pipelines in the IR: kernels in sequence, each over its own domain, and how the result is minimised.

A pipeline has single-assignment form without branches: every value has one name, that of a parameter or of a stage's
result. Front ends produce pipelines, the pass ``fusion`` joins stages, and the runtime plans memory and launches.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from slangad.compiler.errors.spans import NOWHERE, Span
from slangad.compiler.ir.optimizers import OPTIMIZERS

if TYPE_CHECKING:
    from slangad.compiler.ir.kernels import KernelParam, Memory
    from slangad.compiler.ir.types import Type


@dataclass(frozen=True, slots=True)
class Extended:
    """The extent of a value along an axis: ``image.shape[0]``."""

    value: str
    axis: int


@dataclass(frozen=True, slots=True)
class Computed:
    """Arithmetic on sizes: ``+``, ``-``, ``*`` or ``//``."""

    op: str
    left: Size
    right: Size


Size = int | Extended | Computed


@dataclass(frozen=True, slots=True)
class ValueArgument:
    """An argument that is a value of the pipeline."""

    value: str


@dataclass(frozen=True, slots=True)
class Fixed:
    """An argument that is known when the description is loaded: its scalars in memory order."""

    scalars: tuple[int | float | bool, ...]


Argument = ValueArgument | Fixed


@dataclass(frozen=True, slots=True)
class Stage:
    """One kernel call.

    Attributes:
        kernel: The kernel's name; that of a built-in stage is in ``built_in_stages``.
        arguments: One for each parameter of the kernel.
        results: The names of its results.
        domain: The extents of its domain, if the user names them. For ``sa.bin``, the tiles and then the capacity.
        span: The call.
    """

    kernel: str
    arguments: tuple[Argument, ...]
    results: tuple[str, ...]
    domain: tuple[Size, ...] = ()
    span: Span = field(default=NOWHERE, compare=False, repr=False)


@dataclass(frozen=True, slots=True)
class Returned:
    """A result of a pipeline: its name in files and its value."""

    name: str
    value: str
    memory: Memory
    type: Type


@dataclass(frozen=True, slots=True)
class Optimizer:
    """The optimizer of a scalar: a row of ``OPTIMIZERS`` and the values of its settings, in order."""

    name: str
    values: tuple[float, ...]

    def __getitem__(self, setting: str) -> float:
        return self.values[[*OPTIMIZERS[self.name].usual].index(setting)]


@dataclass(frozen=True, slots=True)
class Pipeline:
    """A sequence of kernels.

    Attributes:
        params: Its parameters; a tensor is a valid argument for a kernel's parameter with one element per thread.
        stages: The stages in order.
        results: Its results; one ``Sum`` or ``Mean`` of one number is an objective.
        optimizer: The optimiser with which ``slangad train`` minimises the objective.
        fuse: True if neighbouring stages may become one kernel.
        product_of: The pipeline with whose Hessian its gradients are products.
    """

    name: str
    params: tuple[KernelParam, ...]
    stages: tuple[Stage, ...]
    results: tuple[Returned, ...]
    optimizer: Optimizer | None = None
    fuse: bool = True
    doc: tuple[str, ...] = ()
    span: Span = field(default=NOWHERE, compare=False, repr=False)
    product_of: str = field(default="", compare=False)


def used_values(stage: Stage) -> tuple[str, ...]:
    """Return the values that a stage uses, its domain included."""
    names = [a.value for a in stage.arguments if isinstance(a, ValueArgument)]
    return (*names, *(name for size in stage.domain for name in _named(size)))


def _named(size: Size) -> tuple[str, ...]:
    match size:
        case Extended(value):
            return (value,)
        case Computed(left=left, right=right):
            return (*_named(left), *_named(right))
        case _:
            return ()
