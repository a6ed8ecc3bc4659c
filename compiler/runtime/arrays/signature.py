"""Describe the parameters and results of a kernel by the names that files use.

A part has one array: it is the whole value, or one field of a struct (``m.albedo``).
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Final, TypeVar

from slangad.compiler.emit.memory.buffers import buffer_leaves, scalar_of
from slangad.compiler.ir import nodes as ir
from slangad.compiler.ir import types
from slangad.compiler.ir.distributions import Uniform

if TYPE_CHECKING:
    from collections.abc import Collection, Iterator, Mapping

    from slangad.compiler.errors.spans import Span
    from slangad.compiler.ir.distributions import Distribution

TENSORS: Final = frozenset(m for m in ir.Memory if m.is_written) | {ir.Memory.TENSOR, ir.Memory.TEXTURE2D}
"""Memories whose arrays have axes of their own."""

Path = tuple["str | int", ...]

DTYPES: Final = {"half": "f2", "float": "f4", "double": "f8", "int": "i4", "uint": "u4", "bool": "?"}
"""The numpy names of the scalar types."""


@dataclass(frozen=True, slots=True)
class ArrayPart:
    """A value, or a field of one, with its own array.

    Attributes:
        key: ``m.albedo``, as files have it.
        path: The steps from the value to it, as entry points name it.
        scalar: Its scalar type, as the user sees it.
        shape: Trailing axes of one element.
        differentiable: True if it has a gradient.
    """

    key: str
    path: Path
    scalar: types.Scalar
    shape: tuple[int, ...]
    differentiable: bool

    @property
    def dtype(self) -> str:
        """Return the numpy name of its scalar type."""
        return DTYPES[self.scalar.name]

    @property
    def device_dtype(self) -> str:
        """Return the numpy name of its scalar type on devices: bools are 32-bit."""
        return "u4" if self.scalar == types.BOOL else self.dtype


@dataclass(frozen=True, slots=True)
class KernelValue:
    """A parameter or a result of a kernel.

    Attributes:
        name: As the user wrote it.
        memory: Where it lives.
        type: The type of one element; for tensors and textures, the type of their elements.
        parts: Its parts, each with its own array.
        axes: Axes before those of a part: the domain's, a tensor's own, or none.
        param: The parameter that holds a result.
        texture: For textures, how it is sampled.
        added: True for a tensor that threads add to: its size does not follow from the domain.
    """

    name: str
    memory: ir.Memory
    type: types.Type
    parts: tuple[ArrayPart, ...]
    axes: int = 0
    param: str = ""
    texture: types.Texture | None = None
    added: bool = False

    @property
    def per_element(self) -> bool:
        """Return True if there is one for each element of the domain."""
        return self.memory is ir.Memory.EACH

    @property
    def is_tensor(self) -> bool:
        """Return True if its axes are its own."""
        return self.memory in TENSORS

    @property
    def is_written(self) -> bool:
        """Return True if it is a tensor that threads write."""
        return self.memory.is_written

    @property
    def differentiable(self) -> bool:
        """Return True if any part has a gradient."""
        return any(part.differentiable for part in self.parts)

    @property
    def shown(self) -> str:
        """Return its type for messages."""
        return types.show(self.type)


@dataclass(frozen=True, slots=True)
class KernelSignature:
    """The parameters and results of a kernel, as callers see them."""

    name: str
    dims: int
    parameters: tuple[KernelValue, ...]
    results: tuple[KernelValue, ...]
    span: Span
    ranges: tuple[ir.Range, ...] = ()
    initial: tuple[ir.Initial, ...] = ()

    def samples_of(self, key: str) -> Distribution:
        """Return the samples of a part: those of its declared range, or of that of the value that contains it."""
        known = _nearest(key, self.ranges)
        return Uniform(-1.0, 1.0) if known is None else Uniform(known.low, known.high)

    def initial_of(self, key: str) -> Distribution:
        """Return a part's values when training starts: those of its declared range, else those of its struct."""
        known = _nearest(key, self.initial) if _nearest(key, self.ranges) is None else None
        return self.samples_of(key) if known is None else known.values

    @property
    def values(self) -> tuple[KernelValue, ...]:
        """Return the parameters, then the results."""
        return (*self.parameters, *self.results)


_Declared = TypeVar("_Declared", ir.Range, ir.Initial)


def _nearest(key: str, declared: tuple[_Declared, ...]) -> _Declared | None:
    """Return what is declared for a part, or for the smallest value that contains it."""
    near = [known for known in declared if key == known.path or key.startswith(f"{known.path}.")]
    return max(near, key=lambda known: len(known.path), default=None)


def signatures(module: ir.Module) -> dict[str, KernelSignature]:
    """Return the kernels of a module by name."""
    ranges = {function.key: function.ranges for function in module.functions}
    structs = {definition.struct.key: definition.initial for definition in module.structs}
    added = {(buffer.kernel, buffer.param) for buffer in module.buffers if buffer.added}
    made = (_signature(kernel, ranges.get(kernel.function, ()), structs) for kernel in module.kernels)
    return {signature.name: with_added(signature, {p for k, p in added if k == signature.name}) for signature in made}


def with_added(signature: KernelSignature, names: Collection[str]) -> KernelSignature:
    """Return a signature some of whose tensors are such that threads add to."""
    parameters = tuple(replace(p, added=True) if p.name in names else p for p in signature.parameters)
    return replace(signature, parameters=parameters) if names else signature


def _initial(path: str, type_: types.Type, structs: Mapping[str, tuple[ir.Initial, ...]]) -> Iterator[ir.Initial]:
    """Yield the initial values that structs declare for the parts of a parameter, outer structs first."""
    match type_:
        case types.Array(element=element):
            yield from _initial(path, element, structs)
        case types.Struct(key=key, fields=fields):
            yield from (replace(known, path=f"{path}.{known.path}") for known in structs.get(key, ()))
            for field in fields:
                yield from _initial(f"{path}.{field.name}", field.type, structs)
        case _:
            return


def _signature(
    kernel: ir.Kernel, ranges: tuple[ir.Range, ...], structs: Mapping[str, tuple[ir.Initial, ...]]
) -> KernelSignature:
    parameters = tuple(_parameter(p, kernel.dims) for p in kernel.params)
    results = tuple(_result(r, kernel.dims) for r in kernel.results)
    initial = tuple(known for p in kernel.params for known in _initial(p.name, p.type, structs))
    return KernelSignature(kernel.name, kernel.dims, parameters, results, kernel.span, ranges, initial)


def _parameter(param: ir.KernelParam, dims: int) -> KernelValue:
    type_, axes = param.type, dims if param.memory is ir.Memory.EACH else 0
    texture = type_ if isinstance(type_, types.Texture) else None
    match type_:
        case types.Tensor(element=element, rank=rank):
            type_, axes = element, rank
        case types.Texture(element=element):
            type_, axes = element, 2
        case _:
            pass
    no_diff = param.no_diff or param.memory is ir.Memory.UNIFORM or not types.carries_gradient(type_)
    parts = tuple(_parts(param.name, type_, no_diff=no_diff))
    return KernelValue(param.name, param.memory, type_, parts, axes, texture=texture)


def _result(result: ir.KernelResult, dims: int) -> KernelValue:
    axes = dims if result.memory is ir.Memory.EACH else 0
    return replace(result_value(result.name, result.memory, result.type), axes=axes, param=result.param)


def result_value(name: str, memory: ir.Memory, type_: types.Type) -> KernelValue:
    """Return a result as a value, without axes of its own."""
    return KernelValue(name, memory, type_, tuple(_parts(name, type_, no_diff=not types.carries_gradient(type_))))


def _parts(name: str, type_: types.Type, *, no_diff: bool) -> Iterator[ArrayPart]:
    for leaf in buffer_leaves(type_):
        key = ".".join((name, *map(str, leaf.path)))
        yield ArrayPart(key, leaf.path, scalar_of(leaf.type), leaf.shape, not (no_diff or leaf.no_diff))
