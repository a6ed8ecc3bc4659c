"""Run a kernel in a mode on a device, and return results and gradients by key.

Every slot of the entry points gets a buffer; docs/decisions/memory.md has the contract. The Gauss-Newton product uses
the results' tangents as cotangents in place, so nothing is copied to the host in between.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, field
from functools import cached_property
from typing import TYPE_CHECKING, Any, Final

from slangad.compiler.emit.launch_plan import Count, Factor, Grid, Start, count_of, launch_of, start_of, tensors_of
from slangad.compiler.emit.model import EXACT_WORDS, GROUPS_A_ROW, Mode, ParameterRole, ThreadWork, symbols
from slangad.compiler.errors.diagnostics import CompileError, Diagnostic
from slangad.compiler.ir.nodes import Memory
from slangad.compiler.runtime.arrays.array_keys import PREFIXES, shape_of
from slangad.compiler.runtime.arrays.signature import DTYPES
from slangad.compiler.runtime.arrays.uniforms import uniform_value
from slangad.compiler.runtime.device.memory import too_little_memory
from slangad.compiler.runtime.device.model import KernelLaunch, Sliced
from slangad.compiler.runtime.device.tensors import (
    borrowed_buffer,
    buffer_on,
    is_tensor,
    plus,
    set_to,
    synchronize,
    typed,
)
from slangad.compiler.toolchain.messages.failures import failed

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping

    import numpy as np
    import numpy.typing as npt

    from slangad.compiler.emit.model import EntryParameter, EntryPoint
    from slangad.compiler.ir.types import Texture
    from slangad.compiler.runtime.arrays.array_keys import Slot
    from slangad.compiler.runtime.arrays.modes import RunMode
    from slangad.compiler.runtime.arrays.prepare import Prepared
    from slangad.compiler.runtime.arrays.signature import ArrayPart, KernelSignature, KernelValue
    from slangad.compiler.runtime.arrays.uniforms import FieldNames
    from slangad.compiler.runtime.device.model import Device, DeviceBuffer, DeviceProgram

    Array = npt.NDArray[Any]

Role = ParameterRole
_OF_PARAMETERS: Final = (Role.INPUT, Role.GRADIENT, Role.TANGENT, Role.ADJOINT, Role.TOTALS, Role.TANGENT_TOTALS)
"""Roles of parameters. The others belong to results, or to a written tensor without a result."""


_Tensor = tuple[str, tuple[str | int, ...]]
"""A tensor, texture or large ``Param`` in memory: the parameter's name, and the fields on the way to a part of it."""
_STORED: Final = (Memory.EACH, Memory.INOUT_TENSOR)
"""Memories whose gradients are stored, one for each element, rather than added to."""

_EXACT_COPIES: Final = 64
"""Maximum number of copies of exact totals; they only avoid contention between threads."""

_ATOMIC: Final = ("float", "int", "uint")
"""Types that threads of GPUs add to in memory."""

_LANES: Final = 512
"""Additions of threads for each addition to totals where waves add up: 32 lanes, and sixteen times that since they
rarely all meet in one element. Larger: fewer copies, whose sums may lose digits."""
_BYTES: Final = 4
_MOST_WORDS: Final = (1 << 32) // _BYTES
"""Maximum size of a buffer in every API."""


@dataclass(frozen=True, slots=True)
class KernelPlan:
    """A kernel to run.

    Attributes:
        signature: Its signature.
        entries: Its entry points by mode.
        fields: The Slang names of its structs' fields.
        lacking: The reasons of modes that it does not have, by the mode's name.
    """

    signature: KernelSignature
    entries: Mapping[Mode, tuple[EntryPoint, ...]]
    fields: FieldNames
    lacking: Mapping[str, str] = field(default_factory=dict)

    def require(self, mode: RunMode) -> None:
        """Refuse a mode that the kernel doesn't have.

        Raises:
            CompileError: No gradient flows through it, or Slang knows no such derivative.
        """
        missing = [step.value for step in mode.steps if not self.entries.get(step)]
        if missing:
            name = self.signature.name
            reason = self.lacking.get(missing[0], "no gradient flows from its parameters to its results")
            message = f"{name} has no {missing[0]} mode: {reason}"
            raise CompileError([Diagnostic("SA417", message, self.signature.span, help=f"it has: {self._modes()}")])

    def _modes(self) -> str:
        return ", ".join(mode.value for mode in self.entries if self.entries[mode])

    def entry_names(self, mode: RunMode) -> tuple[str, ...]:
        """Return the entry points that a mode may launch."""
        return symbols(entry for step in mode.steps for entry in self.entries.get(step, ()))


def run_kernel(
    device: Device,
    program: DeviceProgram,
    plan: KernelPlan,
    mode: RunMode,
    prepared: Prepared,
    keep: Callable[[Run], None] | None = None,
) -> dict[str, Array]:
    """Run a kernel, wait, and return arrays by key.

    Args:
        device: Where it runs.
        program: Its entry points there.
        plan: The kernel.
        mode: The mode.
        prepared: Its arguments.
        keep: Called with the run before its results are read.

    Raises:
        ToolchainError: The device failed, or has too little memory.
    """
    plan.require(mode)
    try:
        with Run(device, program, plan, prepared) as run:
            for step in mode.steps:
                run.add(step)
            run.submit()
            if keep is not None:
                keep(run)
            return run.results()
    except MemoryError:
        raise too_little_memory("this machine") from None


@dataclass(frozen=True, slots=True)
class BufferOrigin:
    """How a buffer of a run got its contents.

    Attributes:
        dtype: The dtype of its scalars.
        count: The number of its scalars.
        source: The slot of the argument that it holds; None without one.
        borrowed: True if it is the memory of the argument.
        start: The number that it is filled with; None if nothing was written.
    """

    dtype: np.dtype[Any]
    count: int
    source: Slot | None
    borrowed: bool
    start: float | None


@dataclass(frozen=True, slots=True)
class OutputPart:
    """An output of a run: its key, its buffer and shape, and the argument that is added to it."""

    key: str
    slot: Slot
    dtype: str
    shape: tuple[int, ...]
    added: Slot | None = None


@dataclass
class Run:
    """The buffers of one run, and its launches in order.

    Attributes:
        buffers: The buffers created so far, by slot.
        origins: How each of them got its contents.
        moved: Slots that another slot's buffer serves.
        textures: The textures created so far.
        probes: The parameters that get the gradients of intermediate values.
        kept: True if the buffers are used again, so that the run leaves them open.
    """

    device: Device
    program: DeviceProgram
    plan: KernelPlan
    prepared: Prepared
    buffers: dict[Slot, DeviceBuffer] = field(default_factory=dict)
    origins: dict[Slot, BufferOrigin] = field(default_factory=dict)
    moved: dict[Slot, Slot] = field(default_factory=dict)
    textures: dict[Slot, Any] = field(default_factory=dict)
    probes: dict[str, EntryParameter] = field(default_factory=dict)
    launches: list[KernelLaunch] = field(default_factory=list)
    kept: bool = False

    def __enter__(self) -> Run:
        return self

    def __exit__(self, *_: object) -> None:
        if not self.kept:
            self.close()

    def close(self) -> None:
        """Release the buffers and textures."""
        textures = (texture for texture in self.textures.values() if hasattr(texture, "close"))
        for buffer in (*self.buffers.values(), *textures):
            buffer.close()

    @property
    def elements(self) -> int:
        """Return the number of elements of the domain."""
        return math.prod(self.prepared.domain)

    # --- launches ---

    def add(self, mode: Mode) -> None:
        """Plan the launches of a mode."""
        entries = self.plan.entries[mode]
        by_last_group = self.device.has_last_group and any(entry.last for entry in entries)
        for entry in entries:
            if entry.work is ThreadWork.SCALARS and self._is_direct(_tensor_of(entry.parameters[-1])):
                continue
            if entry.work is ThreadWork.TOTALS and by_last_group:
                continue
            bindings: dict[str, object] = {}
            for parameter in (*entry.parameters, *(entry.last if by_last_group else ())):
                if parameter.name not in bindings:
                    bindings[parameter.name] = self._binding(parameter, entry)
            shared = frozenset(parameter.name for parameter in entry.parameters if parameter.shared)
            self.launches.append(KernelLaunch(self.program, entry.symbol, self._threads(entry), bindings, shared))

    def submit(self) -> None:
        """Run the planned launches; over no elements, do nothing."""
        if not self.elements:
            return
        if self.prepared.place is not None:
            synchronize(self.prepared.place)
        self.device.submit(self.launches)
        if self.prepared.place is not None:
            self.device.wait()

    def totals(self) -> Iterator[DeviceBuffer]:
        """Yield the totals to zero before the launches start again. A GPU's launches leave exact ones at zero."""
        entries = () if self.device.host else self._all_entries
        exact = {_tensor_of(p) for entry in entries for p in entry.parameters if p.is_exact}
        for (role, *tensor), buffer in self.buffers.items():
            if role in (Role.TOTALS, Role.TANGENT_TOTALS) and tuple(tensor) not in exact:
                yield buffer

    def _threads(self, entry: EntryPoint) -> tuple[int, int, int]:
        group = math.prod(entry.group_size)
        plan = launch_of(entry, self._tensors)
        match plan.grid:
            case Grid.GROUPS:
                return self._number(plan.count, entry) * group, 1, 1
            case Grid.FLAT:
                return folded(self._number(plan.count, entry), group)
            case Grid.AXES:
                return along_axes((*reversed(self.prepared.domain), 1)[:3], entry.group_size)

    @cached_property
    def _tensors(self) -> dict[str, int]:
        """The kernel's tensors, with the numbers of their axes."""
        return tensors_of([entry for entries in self.plan.entries.values() for entry in entries])

    def _number(self, count: Count, entry: EntryPoint) -> int:
        """Evaluate a number of scalars, threads or groups for a launch of an entry point."""

        def value(factor: Factor, name: str) -> int:
            match factor:
                case Factor.DOMAIN:
                    return self.elements
                case Factor.EXTENTS:
                    return math.prod(self.prepared.extents[name])
                case Factor.PARTS:
                    return self._parts(entry)
                case Factor.COPIES:
                    parameter, *path = name.split(".")
                    return self._copies((parameter, tuple(path)))

        return count.evaluate(value)

    def _parts(self, entry: EntryPoint) -> int:
        """Return the launch parts for an entry point that adds up, equal to those of the one that makes the totals."""
        main = next(e for e in self.plan.entries[entry.mode] if e.work is ThreadWork.STRIDED)
        scatters = any(p.is_total and p.is_used and not (p.is_exact or p.together) for p in main.parameters)
        return self.device.parts(self.elements, math.prod(main.group_size), main.totals, scatters=scatters)

    def _copies(self, tensor: _Tensor) -> int:
        scalars = self._scalars(tensor)
        if self._is_exact(tensor) and not self.device.host:
            return min(_EXACT_COPIES, self.device.copies(self.elements, EXACT_WORDS * scalars))
        totals = [p for entry in self._all_entries for p in entry.parameters if p.is_total and _tensor_of(p) == tensor]
        additions = -(-self.elements // _LANES) if any(p.together for p in totals) else self.elements
        return self.device.copies(additions, scalars, alone=any(p.copied for p in totals))

    def _scalars(self, tensor: _Tensor) -> int:
        """Return the number of scalars of a tensor."""
        name, path = tensor
        value = self._value(name)
        return sum(self._count(value, part) for part in value.parts if part.path[: len(path)] == path)

    def _is_direct(self, tensor: _Tensor) -> bool:
        """Return True if threads add straight to a tensor's gradient, or output: one copy, of its own type."""
        target = self._summing(tensor)[-1]
        direct = not self.device.host and target.scalar.name in _ATOMIC and not self._is_exact(tensor)
        return direct and self._copies(tensor) == 1

    def _is_exact(self, tensor: _Tensor) -> bool:
        """Return True if a tensor's gradient, or output, is added up without rounding."""
        return any(parameter.is_exact for parameter in self._summing(tensor))

    def _summing(self, tensor: _Tensor, totals: ParameterRole | None = None) -> tuple[EntryParameter, ...]:
        """Return the arguments of the entry point that adds up the copies of a tensor's totals, of a role if given."""
        entries = (e.parameters for e in self._all_entries if e.work is ThreadWork.SCALARS)
        of_tensor = (parameters for parameters in entries if _tensor_of(parameters[-1]) == tensor)
        return next(one for one in of_tensor if totals is None or any(p.role is totals for p in one))

    @property
    def _all_entries(self) -> Iterator[EntryPoint]:
        """Yield the entry points of all modes."""
        for entries in self.plan.entries.values():
            yield from entries

    def _is_sliced(self, parameter: EntryParameter, entry: EntryPoint) -> bool:
        """Return True for totals of which each worker has a copy."""
        return self.device.host and parameter.is_total and parameter.is_used and entry.work is not ThreadWork.SCALARS

    # --- what is bound ---

    def _binding(self, parameter: EntryParameter, entry: EntryPoint) -> object:
        name = parameter.parameter
        match parameter.role:
            case Role.DOMAIN if entry.work is ThreadWork.SCALARS:
                return self._scalars(_tensor_of(parameter))
            case Role.DOMAIN:
                return _value_of(self.prepared.domain)
            case Role.EXTENTS:
                return _value_of(self.prepared.extents[name])
            case Role.PARTS:
                return self._parts(entry)
            case Role.COPIES:
                return (
                    1
                    if self.device.host and entry.work is not ThreadWork.SCALARS
                    else self._copies(_tensor_of(parameter))
                )
            case Role.UNIFORM:
                return uniform_value(parameter, entry, self.plan.signature, self.prepared.arrays, self.plan.fields)
            case _ if self._is_sliced(parameter, entry):
                return Sliced(self._buffer(parameter, entry), self._copies(_tensor_of(parameter)))
            case Role.SAMPLER:
                return self.device.sampler(self._texture_of(name))
            case _ if parameter.access == "texture":
                return self._texture(parameter)
            case _:
                return self._buffer(parameter, entry)

    def _texture_of(self, name: str) -> Texture:
        texture = self._value(name).texture
        assert texture is not None  # noqa: S101  (the entry point says it is one)
        return texture

    def _texture(self, parameter: EntryParameter) -> object:
        """Return a texture with the given texels, or zeros; three channels get a fourth."""
        import numpy as np

        slot = (parameter.role, parameter.parameter, parameter.path)
        if slot not in self.textures:
            shape = (*self.prepared.extents[parameter.parameter], *parameter.shape)
            array: Any = self.prepared.arrays.get(slot)
            array = array.detach().cpu().numpy() if is_tensor(array) else array
            texels = np.zeros(shape, "f4") if array is None else array.astype("f4", copy=False)
            if parameter.shape == (3,):
                texels = np.concatenate((texels, np.zeros((*shape[:2], 1), "f4")), axis=2)
            self.textures[slot] = self.device.texture(texels, self._texture_of(parameter.parameter))
        return self.textures[slot]

    def _buffer(self, parameter: EntryParameter, entry: EntryPoint) -> DeviceBuffer:
        slot = self._slot(parameter, entry)
        slot = self.moved.get(slot, slot)
        if slot not in self.buffers:
            self.buffers[slot] = self._filled(parameter, entry, slot)
        return self.buffers[slot]

    def _slot(self, parameter: EntryParameter, entry: EntryPoint) -> Slot:
        role, name, path = parameter.role, parameter.parameter, parameter.path
        if role in (Role.PARTIALS, Role.ARRIVED):
            return role, entry.mode.value, (parameter.scalar.name,)
        if parameter.access == "unused":
            return role, f"{name} unused", path
        if parameter.is_total and self._is_direct(_tensor_of(parameter)):
            return self._summing(_tensor_of(parameter), role)[-1].role, name, path
        if role in (Role.COTANGENT, Role.ADJOINT):
            for source in (Role.RESULT_TANGENT, Role.TANGENT):
                if self._sends_back(parameter, source):
                    self.moved[role, name, path] = (source, name, path)
        return role, name, path

    def _sends_back(self, parameter: EntryParameter, source: ParameterRole) -> bool:
        """Return True if a tangent can be used directly as a cotangent; those of sums of halves are floats."""
        tangent = self.buffers.get((source, parameter.parameter, parameter.path))
        if tangent is None or self._is_plain_input(parameter.parameter, source):
            return False
        return tangent.dtype == DTYPES[parameter.scalar.name]

    def _is_plain_input(self, name: str, role: ParameterRole) -> bool:
        """Return True if a tangent is that of a parameter which no thread writes, and so none of a result."""
        return role is Role.TANGENT and not any(v.name == name and v.is_written for v in self.plan.signature.parameters)

    def _filled(self, parameter: EntryParameter, entry: EntryPoint, slot: Slot) -> DeviceBuffer:
        """Return a buffer with its initial values. Cotangents default to 1; buffers not fully written start at 0."""
        import numpy as np

        role = parameter.role
        if role is Role.PROBE:
            self.probes[parameter.parameter] = parameter
        name = parameter.total_on(host=self.device.host) if parameter.is_total else parameter.scalar.name
        if slot[0] is not role and parameter.is_total:
            name = self._summing(_tensor_of(parameter), role)[-1].scalar.name
        dtype = np.dtype(DTYPES[name])
        source = (
            None if role is Role.GRADIENT and self._is_stored(parameter.parameter) else self._source_of(slot, parameter)
        )
        array = self._contents_of(slot, source)
        if is_tensor(array) and parameter.access == "read":
            borrowed = borrowed_buffer(array, dtype, self.prepared.place)
            self.origins[slot] = BufferOrigin(dtype, borrowed.count, source, borrowed=True, start=None)
            return borrowed
        buffer = buffer_on(self.device, self.prepared.place, dtype, self._size(parameter, entry))
        start = start_of(parameter)
        unwritten = start is not Start.ANY or (role is not Role.PARTIALS and not self.elements)
        number = 1.0 if start is Start.ONE else 0.0 if unwritten else None
        set_to(buffer, array, number)
        given = source if array is not None else None
        self.origins[slot] = BufferOrigin(dtype, buffer.count, given, borrowed=False, start=number)
        return buffer

    def _source_of(self, slot: Slot, parameter: EntryParameter) -> Slot:
        """Return the slot of the argument that a buffer holds, if it is given."""
        role, name, path = slot
        if role is Role.RESULT and parameter.access in ("change", "add"):
            role = Role.INPUT
        return (Role.COTANGENT if role is Role.ADJOINT else role), name, path

    def _contents_of(self, slot: Slot, source: Slot | None) -> Array | None:
        """Return the contents of a buffer: an argument, or tangents that the launches before it have written."""
        role, name, path = slot
        if role is Role.COTANGENT and (tangent := self.buffers.get((Role.RESULT_TANGENT, name, path))):
            return self._launched_contents(tangent)
        return None if source is None else self.prepared.arrays.get(source)

    def _is_stored(self, name: str) -> bool:
        """Return True if the launches store a parameter's gradient. A given gradient is then added afterwards."""
        return self._value(name).memory in _STORED

    def _launched_contents(self, buffer: DeviceBuffer) -> Array:
        """Run the planned launches and return the contents of a buffer."""
        self.submit()
        self.launches.clear()
        return buffer.download()

    def _size(self, parameter: EntryParameter, entry: EntryPoint) -> int:
        """Return the number of scalars of a buffer."""
        count = self._number(count_of(parameter, self._tensors, host=self.device.host), entry)
        if parameter.is_exact and not self.device.host:
            _refuse_exact(count, parameter)
        return count

    def _value(self, name: str, role: ParameterRole = Role.INPUT) -> KernelValue:
        signature = self.plan.signature
        first, second = signature.parameters, signature.results
        values = (*first, *second) if role in _OF_PARAMETERS else (*second, *first)
        return next(value for value in values if value.name == name)

    def _count(self, value: KernelValue, part: ArrayPart) -> int:
        return math.prod(shape_of(value, part, self.prepared.domain, self.prepared.extents))

    # --- outputs ---

    def results(self) -> dict[str, Array]:
        """Return the written arrays by key, in the order of the signature: results, gradients, tangents, probes."""
        return {part.key: self.read(part) for part in self.outputs()}

    def outputs(self) -> Iterator[OutputPart]:
        """Yield the written arrays, in the order of the results."""
        for role, slot, value, part in self._outputs():
            shape = shape_of(value, part, self.prepared.domain, self.prepared.extents)
            added = (role, value.name, part.path) if role is Role.GRADIENT and self._is_stored(value.name) else None
            yield OutputPart(f"{PREFIXES.get(role, '')}{part.key}", slot, part.dtype, shape, added)
        for name, parameter in self.probes.items():
            slot, shape = (Role.PROBE, name, ()), (*self.prepared.domain, *parameter.shape)
            yield OutputPart(f"{PREFIXES[Role.PROBE]}{name}", slot, DTYPES[parameter.scalar.name], shape)

    def _outputs(self) -> Iterator[tuple[ParameterRole, Slot, KernelValue, ArrayPart]]:
        for key_role, role, value in self._written():
            for part in value.parts:
                slot = (role, value.name, part.path)
                kept = slot not in self.moved.values() or (role is Role.RESULT_TANGENT and not value.is_written)
                slot = self.moved.get(slot, slot) if role is Role.ADJOINT else slot
                if slot in self.buffers and (kept or role is Role.ADJOINT):
                    yield key_role, slot, value, part

    def _written(self) -> Iterator[tuple[ParameterRole, ParameterRole, KernelValue]]:
        """Yield the prefix of the key, the role of the slot, and the value, for each array that can be read."""
        parameters, results = self.plan.signature.parameters, self.plan.signature.results
        written = tuple(value for value in parameters if value.is_written)
        in_place = tuple(value for value in written if value.memory is Memory.INOUT_TENSOR)
        yield from ((Role.RESULT, Role.RESULT, value) for value in (*results, *written))
        yield from ((Role.GRADIENT, Role.GRADIENT, value) for value in parameters)
        yield from ((Role.GRADIENT, Role.ADJOINT, value) for value in in_place)
        yield from ((Role.RESULT_TANGENT, Role.RESULT_TANGENT, value) for value in (*results, *written))
        yield from ((Role.RESULT_TANGENT, Role.TANGENT, value) for value in in_place)

    def read(self, part: OutputPart) -> Array:
        """Return the contents of a buffer as an array, plus the given gradient that is not in them yet."""
        array = self.buffers[part.slot].take()[: math.prod(part.shape)]
        start = None if part.added is None else self.prepared.arrays.get(part.added)
        total: Array = plus(typed(array, part.dtype).reshape(part.shape), start)
        return total


def _tensor_of(parameter: EntryParameter) -> _Tensor:
    return parameter.parameter, parameter.path


def _refuse_exact(words: int, parameter: EntryParameter) -> None:
    """Refuse exact sums of too many words.

    Raises:
        ToolchainError: They don't fit into one buffer.
    """
    if words >= _MOST_WORDS:
        message = f"the gradient of {parameter.parameter} is too large for exact sums: they take {_BYTES * EXACT_WORDS}"
        raise failed("SA251", f"{message} bytes for each scalar, and a buffer has 4 GiB", "omit --deterministic")


def _value_of(shape: tuple[int, ...]) -> int | list[int]:
    return shape[0] if len(shape) == 1 else list(shape)


def folded(threads: int, group: int) -> tuple[int, int, int]:
    """Return the thread counts as rows, each with as many groups as every API allows."""
    row = GROUPS_A_ROW * group
    return (threads, 1, 1) if threads <= row else (row, -(-threads // row), 1)


def along_axes(extents: tuple[int, ...], group: tuple[int, int, int]) -> tuple[int, int, int]:
    """Return thread counts along the axes of a domain; in rows if an axis has more groups than every API allows."""
    if any(extent > GROUPS_A_ROW * size for extent, size in zip(extents, group, strict=True)):
        return GROUPS_A_ROW * group[0], -(-math.prod(extents) // (GROUPS_A_ROW * group[0] * group[2])), group[2]
    x, y, z = extents
    return x, y, z
