"""What a kernel takes and gives, as people name it in files: an IR kernel goes in, its values and their parts come out.

A part is what has an array of its own: the whole value, or one field of a struct (``m.albedo``).
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

from slangad.compiler.emit.buffers import buffer_leaves, scalar_of
from slangad.compiler.ir.nodes import Memory
from slangad.compiler.ir.types import BOOL, Scalar, Type, carries_gradient, show

if TYPE_CHECKING:
    from collections.abc import Iterator

    from slangad.compiler.ir.nodes import Kernel, Module, Range
    from slangad.compiler.spans import Span

PER_ELEMENT: Final = frozenset({Memory.EACH})
"""Memories whose arrays have the domain's axes in front."""

Path = tuple["str | int", ...]

DTYPES: Final = {"half": "f2", "float": "f4", "double": "f8", "int": "i4", "uint": "u4", "bool": "?"}
"""What numpy calls the scalars."""


@dataclass(frozen=True, slots=True)
class Part:
    """What has an array of its own.

    Attributes:
        key: ``m.albedo``, as files have it.
        path: The steps from the value to it, as entry points name it.
        scalar: What it is made of, as the user sees it.
        shape: Trailing axes of one element.
        differentiable: Whether it has a gradient.
    """

    key: str
    path: Path
    scalar: Scalar
    shape: tuple[int, ...]
    differentiable: bool

    @property
    def dtype(self) -> str:
        """What numpy calls its scalars."""
        return DTYPES[self.scalar.name]

    @property
    def device_dtype(self) -> str:
        """The same as devices have it: bools are 32-bit."""
        return "u4" if self.scalar == BOOL else self.dtype


@dataclass(frozen=True, slots=True)
class Value:
    """A parameter or a result of a kernel; ``param`` names the parameter that a result comes out of."""

    name: str
    memory: Memory
    type: Type
    parts: tuple[Part, ...]
    param: str = ""

    @property
    def per_element(self) -> bool:
        """Whether there is one for each element of the domain."""
        return self.memory in PER_ELEMENT

    @property
    def differentiable(self) -> bool:
        """Whether any part has a gradient."""
        return any(part.differentiable for part in self.parts)

    @property
    def shown(self) -> str:
        """Its type for messages."""
        return show(self.type)


@dataclass(frozen=True, slots=True)
class Signature:
    """A kernel from outside."""

    name: str
    dims: int
    parameters: tuple[Value, ...]
    results: tuple[Value, ...]
    span: Span
    ranges: tuple[Range, ...] = ()

    def range_of(self, key: str) -> tuple[float, float]:
        """Where samples of a part are drawn: as declared for it, or for what it is a part of."""
        near = [r for r in self.ranges if key == r.path or key.startswith(f"{r.path}.")]
        best = max(near, key=lambda r: len(r.path), default=None)
        return (best.low, best.high) if best else (-1.0, 1.0)

    @property
    def values(self) -> tuple[Value, ...]:
        """Parameters, then results."""
        return (*self.parameters, *self.results)


def signatures(module: Module) -> dict[str, Signature]:
    """The kernels of a module by name."""
    ranges = {function.key: function.ranges for function in module.functions}
    return {kernel.name: _signature(kernel, ranges.get(kernel.function, ())) for kernel in module.kernels}


def _signature(kernel: Kernel, ranges: tuple[Range, ...]) -> Signature:
    parameters = tuple(
        Value(p.name, p.memory, p.type, tuple(_parts(p.name, p.type, no_diff=p.no_diff or p.memory is Memory.UNIFORM)))
        for p in kernel.params
    )
    results = tuple(
        Value(r.name, r.memory, r.type, tuple(_parts(r.name, r.type, no_diff=not carries_gradient(r.type))), r.param)
        for r in kernel.results
    )
    return Signature(kernel.name, kernel.dims, parameters, results, kernel.span, ranges)


def _parts(name: str, type_: Type, *, no_diff: bool) -> Iterator[Part]:
    for leaf in buffer_leaves(type_):
        key = ".".join((name, *map(str, leaf.path)))
        yield Part(key, leaf.path, scalar_of(leaf.type), leaf.shape, not (no_diff or leaf.no_diff))
