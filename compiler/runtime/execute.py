"""Runs a kernel in a mode on a device: prepared arrays go in, results and gradients by key come out.

Every slot of the entry points gets a buffer; the Gauss-Newton product shares those of the results' tangents with the
cotangents of the backward pass, so that nothing leaves the device in between.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from slangad.compiler.diagnostics import CompileError, Diagnostic
from slangad.compiler.emit.model import ParameterRole
from slangad.compiler.runtime.arrays import PREFIXES
from slangad.compiler.runtime.devices import Launch, too_little_memory
from slangad.compiler.runtime.signature import DTYPES
from slangad.compiler.runtime.uniforms import uniform_value

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    import numpy.typing as npt

    from slangad.compiler.emit.model import EntryParameter, EntryPoint, Mode
    from slangad.compiler.runtime.arrays import Domain, Prepared, Slot
    from slangad.compiler.runtime.devices import Buffer, Device, DeviceProgram
    from slangad.compiler.runtime.modes import RunMode
    from slangad.compiler.runtime.signature import Part, Signature, Value
    from slangad.compiler.runtime.uniforms import FieldNames

    Array = npt.NDArray[Any]

WRITTEN = (ParameterRole.RESULT, ParameterRole.GRADIENT, ParameterRole.RESULT_TANGENT)
"""What entry points write."""


@dataclass(frozen=True, slots=True)
class KernelPlan:
    """A kernel as it is run: what it takes and gives, its entry points by mode, its structs' fields in the Slang."""

    signature: Signature
    entries: Mapping[Mode, tuple[EntryPoint, ...]]
    fields: FieldNames

    def require(self, mode: RunMode) -> None:
        """Refuse a mode that the kernel doesn't have.

        Raises:
            CompileError: No gradient flows through it.
        """
        missing = [step.value for step in mode.steps if not self.entries.get(step)]
        if missing:
            name = self.signature.name
            message = f"{name} has no {missing[0]} mode: no gradient flows from its parameters to its results"
            raise CompileError([Diagnostic("SA417", message, self.signature.span, help=f"it has: {self._modes()}")])

    def _modes(self) -> str:
        return ", ".join(mode.value for mode in self.entries if self.entries[mode])

    def entry_names(self, mode: RunMode) -> tuple[str, ...]:
        """The entry points that a mode launches."""
        return tuple(entry.name for step in mode.steps for entry in self.entries.get(step, ()))


def run_kernel(
    device: Device, program: DeviceProgram, plan: KernelPlan, mode: RunMode, prepared: Prepared
) -> dict[str, Array]:
    """Run a kernel and wait for what it gives: arrays by key.

    Raises:
        ToolchainError: The device failed, or has too little memory.
    """
    plan.require(mode)
    try:
        with Run(device, program, plan, prepared) as run:
            for step in mode.steps:
                run.add(step)
            run.submit()
            return run.results()
    except MemoryError:
        raise too_little_memory("this machine") from None


@dataclass
class Run:
    """The buffers of one run, and its launches in order."""

    device: Device
    program: DeviceProgram
    plan: KernelPlan
    prepared: Prepared
    buffers: dict[Slot, Buffer] = field(default_factory=dict)
    launches: list[Launch] = field(default_factory=list)

    def __enter__(self) -> Run:
        return self

    def __exit__(self, *_: object) -> None:
        for buffer in {id(b): b for b in self.buffers.values()}.values():
            buffer.close()

    @property
    def domain(self) -> Domain:
        """The shape of the domain."""
        return self.prepared.domain

    def add(self, mode: Mode) -> None:
        """Plan the launches of a mode."""
        for entry in self.plan.entries[mode]:
            bindings: dict[str, Buffer | object] = {}
            for parameter in entry.parameters:
                if parameter.name not in bindings:
                    bindings[parameter.name] = self._binding(parameter, entry)
            threads = (*reversed(self.domain), 1, 1)[:3]
            self.launches.append(Launch(self.program, entry.name, threads, bindings))  # type: ignore[arg-type]  # three of them

    def submit(self) -> None:
        """Run what was planned; over no elements there is nothing to run."""
        if math.prod(self.domain):
            self.device.submit(self.launches)

    def results(self) -> dict[str, Array]:
        """What was written, by key, in the order of the signature."""
        return {key: self._read(slot, value, part) for key, slot, value, part in self._outputs()}

    def _outputs(self) -> Iterator[tuple[str, Slot, Value, Part]]:
        for role in WRITTEN:
            for value in self._values(role):
                for part in value.parts:
                    slot = (role, value.name, part.path)
                    if slot in self.buffers:
                        yield f"{PREFIXES.get(role, '')}{part.key}", slot, value, part

    def _read(self, slot: Slot, value: Value, part: Part) -> Array:
        array = self.buffers[slot].take()[: self._count(value, part)]
        return array.astype(part.dtype, copy=False).reshape(self._shape(value, part))

    def _values(self, role: ParameterRole) -> tuple[Value, ...]:
        signature = self.plan.signature
        of_parameters = role in (ParameterRole.INPUT, ParameterRole.GRADIENT, ParameterRole.TANGENT)
        return signature.parameters if of_parameters else signature.results

    def _binding(self, parameter: EntryParameter, entry: EntryPoint) -> Buffer | object:
        match parameter.role:
            case ParameterRole.DOMAIN:
                return self.domain[0] if entry.dims == 1 else list(self.domain)
            case ParameterRole.UNIFORM:
                return uniform_value(parameter, entry, self.plan.signature, self.prepared.arrays, self.plan.fields)
            case _:
                return self._buffer(parameter)

    def _buffer(self, parameter: EntryParameter) -> Buffer:
        slot = (parameter.role, parameter.parameter, parameter.path)
        if slot in self.buffers:
            return self.buffers[slot]
        if parameter.role is ParameterRole.COTANGENT:
            moved = (ParameterRole.RESULT_TANGENT, parameter.parameter, parameter.path)
            if moved in self.buffers:
                return self.buffers[moved]
        self.buffers[slot] = self._filled(parameter, slot)
        return self.buffers[slot]

    def _filled(self, parameter: EntryParameter, slot: Slot) -> Buffer:
        """A buffer with what was given for it: cotangents are 1 otherwise, everything else is 0."""
        import numpy as np

        value, part = self._part(parameter)
        count, dtype = self._count(value, part), np.dtype(DTYPES[parameter.scalar.name])
        buffer = self.device.buffer(dtype, count)
        given = self.prepared.arrays.get(slot)
        if given is not None:
            buffer.upload(given.astype(dtype, copy=False))
        elif parameter.role is ParameterRole.COTANGENT:
            buffer.fill(1.0)
        elif parameter.role not in WRITTEN or not count:
            buffer.fill(0.0)
        return buffer

    def _part(self, parameter: EntryParameter) -> tuple[Value, Part]:
        value = next(v for v in self._values(parameter.role) if v.name == parameter.parameter)
        return value, next(part for part in value.parts if part.path == parameter.path)

    def _shape(self, value: Value, part: Part) -> tuple[int, ...]:
        return (*self.domain, *part.shape) if value.per_element else part.shape

    def _count(self, value: Value, part: Part) -> int:
        return math.prod(self._shape(value, part))
