"""List the arrays that a kernel takes in a mode: their keys, slots and shapes."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

from slangad.compiler.emit.model import ParameterRole
from slangad.compiler.ir.nodes import Memory
from slangad.compiler.runtime.arrays.modes import RunMode

if TYPE_CHECKING:
    from collections.abc import Collection, Iterator, Mapping

    from slangad.compiler.runtime.arrays.signature import ArrayPart, KernelSignature, KernelValue, Path

    Shape = tuple[int, ...]
    Slot = tuple[ParameterRole, str, Path]

PREFIXES: Final = {
    ParameterRole.COTANGENT: "cotangent.",
    ParameterRole.TANGENT: "tangent.",
    ParameterRole.GRADIENT: "grad.",
    ParameterRole.RESULT_TANGENT: "jvp.",
    ParameterRole.PROBE: "probe.",
}
"""The prefix of a key, by its role."""
HVP: Final = "hvp."
"""The prefix of products with the Hessian, which are gradients of another kernel."""


@dataclass(frozen=True, slots=True)
class ArrayKey:
    """An array that can be given: its key and slot; ``needed`` where the kernel can't run without it."""

    key: str
    role: ParameterRole
    value: KernelValue
    part: ArrayPart
    needed: bool = False

    @property
    def slot(self) -> Slot:
        """Return the slot that it fills."""
        return self.role, self.value.name, self.part.path

    def shape(self, domain: Shape, extents: Mapping[str, Shape]) -> Shape:
        """Return its shape, given those of the domain and the tensors."""
        return shape_of(self.value, self.part, domain, extents)


def shape_of(value: KernelValue, part: ArrayPart, domain: Shape, extents: Mapping[str, Shape]) -> Shape:
    """Return the shape of a part's array, given those of the domain and the tensors."""
    front = domain if value.per_element else extents[value.name] if value.is_tensor else ()
    return (*front, *part.shape)


def array_keys(signature: KernelSignature, mode: RunMode) -> tuple[ArrayKey, ...]:
    """Return the arrays that can be given in a mode: inputs in the order of the parameters, then derivatives."""
    inputs = [
        ArrayKey(part.key, _role(value), value, part, needed=value.memory is not Memory.OUT_TENSOR)
        for value in signature.parameters
        for part in value.parts
    ]
    return (*inputs, *_derivatives(signature, mode))


def needs_domain(signature: KernelSignature, names: Collection[str]) -> bool:
    """Return True if an array has the domain's shape: one element per thread, or an omitted tensor that is written."""
    outputs = (v for v in signature.parameters if v.memory is Memory.OUT_TENSOR and not v.added)
    made = (v for v in outputs if v.axes == signature.dims)
    missing = any(not any(part.key in names for part in value.parts) for value in made)
    return missing or any(value.per_element for value in signature.parameters)


def _role(value: KernelValue) -> ParameterRole:
    return ParameterRole.UNIFORM if value.memory is Memory.UNIFORM else ParameterRole.INPUT


def _derivatives(signature: KernelSignature, mode: RunMode) -> Iterator[ArrayKey]:
    if mode in (RunMode.BACKWARD, RunMode.HVP):
        written = (value for value in signature.parameters if value.is_written)
        yield from _of((*signature.results, *written), ParameterRole.COTANGENT)
    if mode in (RunMode.JVP, RunMode.JTJVP, RunMode.HVP):
        read = (value for value in signature.parameters if value.memory is not Memory.OUT_TENSOR)
        yield from _of(read, ParameterRole.TANGENT)
    if mode in (RunMode.BACKWARD, RunMode.JTJVP):
        read = (value for value in signature.parameters if value.memory is not Memory.OUT_TENSOR)
        yield from _of(read, ParameterRole.GRADIENT)


def _of(values: Iterator[KernelValue] | tuple[KernelValue, ...], role: ParameterRole) -> Iterator[ArrayKey]:
    for value in values:
        for part in value.parts:
            if part.differentiable:
                yield ArrayKey(f"{PREFIXES[role]}{part.key}", role, value, part)


def output_keys(signature: KernelSignature) -> tuple[str, ...]:
    """Return the keys of the results and of the tensors that are written."""
    written = (value for value in signature.parameters if value.is_written)
    return tuple(part.key for value in (*signature.results, *written) for part in value.parts)


def known_keys(signature: KernelSignature) -> frozenset[str]:
    """Return every key that has a meaning in some mode, as an input or as an output."""
    plain = {part.key for value in signature.values for part in value.parts}
    return frozenset(plain | {f"{prefix}{key}" for prefix in (*PREFIXES.values(), HVP) for key in plain})
