"""Repeat a call of a kernel without planning it again.

The first call of a kind runs as any other. What does not depend on addresses and values is kept of it: launches, sizes
of buffers, shapes of outputs. A later call of the same kind on torch tensors of a cuda device allocates, and starts the
launches in torch's stream. One on the CPU uses the buffers again if they are small.
"""

from __future__ import annotations

import atexit
import math
import os
import sys
from collections import Counter, deque
from dataclasses import dataclass, field, replace
from functools import cache
from typing import TYPE_CHECKING, Any, Final, Protocol, runtime_checkable

from slangad.compiler.emit.model import ParameterRole
from slangad.compiler.errors.diagnostics import ToolchainError
from slangad.compiler.runtime.arrays.array_keys import array_keys
from slangad.compiler.runtime.arrays.conversion import MisfitError, convert
from slangad.compiler.runtime.arrays.modes import RunMode
from slangad.compiler.runtime.arrays.uniforms import uniform_value
from slangad.compiler.runtime.device.cuda_capture import Addressed, is_captured
from slangad.compiler.runtime.device.tensors import (
    TensorBuffer,
    as_arrays,
    as_tensors,
    current_stream,
    is_recording,
    is_tensor,
    place_of,
    plus,
    set_to,
    tensor_type,
    typed,
)

if TYPE_CHECKING:
    from collections.abc import Callable, Hashable, Iterator, Mapping, Sequence

    from slangad.compiler.emit.model import EntryParameter, EntryPoint
    from slangad.compiler.runtime.arrays.array_keys import ArrayKey, Slot
    from slangad.compiler.runtime.device.model import Device, KernelLaunch
    from slangad.compiler.runtime.pipeline.run_kernel import BufferOrigin, KernelPlan, OutputPart, Run

    Tensor = Any  # torch is no dependency

MOST_KINDS: Final = 64
"""Kinds of calls of one kernel that are kept. More of them take memory: a few kB each."""
_ROUNDED: Final = ("<f4", "<f8")
"""Types to which torch rounds a float as numpy does. It rounds to float first on the way to half."""
_LARGEST: Final = 3.4e38
"""Numbers up to this one fit into a float."""
_MOST_ONES: Final = 1024
"""Scalars of a cotangent that is shared. More of them take more memory, 4 kB for each device and type."""
_MOST_STREAMS: Final = 8
_MOST_SCRATCH: Final = 1 << 20
"""Bytes of scratch memory that a call keeps for each of so many streams. More is allocated by each call."""
_MODES: Final = (RunMode.FORWARD, RunMode.BACKWARD, RunMode.JVP)


class StartableLaunches(Protocol):
    """Launches that are started many times."""

    def set_value(self, number: int, name: str, value: object) -> None:
        """Replace an argument that launch ``number`` takes by value."""

    def start(self, addresses: Sequence[int], stream: int) -> None:
        """Start all launches in a stream, with the buffers at these addresses."""


@runtime_checkable
class PreparingDevice(Protocol):
    """A device that can start launches again with other buffers."""

    def prepared_launches(
        self, launches: Sequence[KernelLaunch], buffers: Sequence[Addressed], zeroed: Sequence[tuple[int, int]]
    ) -> StartableLaunches | None:
        """Return launches that have run, to start again; None if this device has no such.

        Args:
            launches: The launches.
            buffers: Their buffers.
            zeroed: Those that start at zero, by number, with their bytes.
        """


def kind_of_call(mode: RunMode, device: str, inputs: Mapping[str, object], domain: object) -> Hashable:
    """Return what is equal for calls that differ in addresses and values only; None for a call that is not repeated.

    Args:
        mode: Its mode.
        device: The name of its device.
        inputs: Its arguments by key.
        domain: Its domain, if it was given.
    """
    import numpy as np

    if mode not in _MODES:
        return None
    if domain is not None and not (type(domain) is tuple and all(type(one) is int for one in domain)):
        return None
    torch = sys.modules.get("torch")
    kinds: list[Hashable] = []
    has_tensors = False
    for key, value in inputs.items():
        kind = type(value)
        array: Any = value
        if torch is not None and (kind is torch.Tensor or kind is torch.nn.Parameter):
            if torch._C._functorch.is_functorch_wrapped_tensor(array) or array.is_neg():
                return None
            kinds.append((key, array.dtype, array.shape, array.device, array.layout))
            has_tensors = True
        elif kind is float or kind is int:
            kinds.append((key, kind))
        elif kind is np.ndarray:
            kinds.append((key, array.dtype, array.shape))
        else:
            return None
    if torch is not None and has_tensors and (torch._C._len_torch_dispatch_stack() or is_recording() or is_captured()):
        return None
    return mode, device, domain, *kinds


@dataclass(frozen=True, slots=True)
class _Argument:
    """A buffer that is the memory of an argument; ``kind`` is its type if it has another one."""

    key: str
    kind: Any

    def tensor(self, inputs: Mapping[str, Any], _: Callable[[str], Any], __: int) -> Tensor:
        """Return the argument, or a copy in the layout of buffers."""
        tensor = inputs[self.key]
        if self.kind is not None:
            tensor = tensor.detach().to(self.kind)
        return tensor if tensor.is_contiguous() else tensor.detach().contiguous()


@dataclass(frozen=True, slots=True)
class _Allocated:
    """A buffer that is allocated: ones, anything, or a copy of an argument.

    Attributes:
        make: ``torch.ones`` or ``torch.empty``.
        shape: That of an output, if the buffer is one; else one axis.
        kind: The type.
        place: The torch device.
        copied: The key of the argument that is copied; empty without one.
        origin: The buffer in the first call.
    """

    make: Callable[..., Any]
    shape: tuple[int, ...]
    kind: Any
    place: Any
    copied: str
    origin: BufferOrigin

    def tensor(self, inputs: Mapping[str, Any], convert: Callable[[str], Any], _: int) -> Tensor:
        """Return new memory."""
        tensor = self.make(self.shape, dtype=self.kind, device=self.place)
        if not self.copied:
            return tensor
        value = inputs[self.copied]
        if type(value) is float and self.origin.dtype.str in _ROUNDED and -_LARGEST < value < _LARGEST:
            return tensor.fill_(value)
        value = value.detach() if is_tensor(value) else typed(convert(self.copied), self.origin.dtype.str)
        TensorBuffer(tensor.view(-1), self.origin.dtype, self.origin.count).upload(value)
        return tensor


@dataclass(frozen=True, slots=True)
class _Ones:
    """A cotangent of ones that no launch writes: memory that all calls share."""

    memory: Any

    def tensor(self, _: Mapping[str, Any], __: Callable[[str], Any], ___: int) -> Tensor:
        """Return the memory."""
        return self.memory


@dataclass(frozen=True, slots=True)
class _Scratch:
    """Scratch memory that a call leaves for the next one in its stream."""

    allocated: _Allocated
    by_stream: dict[int, Tensor] = field(default_factory=dict)

    def tensor(self, inputs: Mapping[str, Any], convert: Callable[[str], Any], stream: int) -> Tensor:
        """Return the memory for a stream."""
        tensor = self.by_stream.get(stream)
        if tensor is None:
            tensor = self.allocated.tensor(inputs, convert, stream)
            if len(self.by_stream) < _MOST_STREAMS:
                self.by_stream[stream] = tensor
        return tensor


@cache
def _ones(kind: Any, place: Any) -> Tensor:  # noqa: ANN401  (torch's)
    """Return ones on a device, which are there for every stream. They are never freed."""
    import torch

    memory = torch.ones(_MOST_ONES, dtype=kind, device=place)
    torch.cuda.synchronize(place)
    return memory


@dataclass(frozen=True, slots=True)
class _Output:
    """An output: its key and buffer. ``part`` says how it is read; None if it is the buffer itself."""

    key: str
    buffer: int
    part: OutputPart | None
    added: str

    def read(self, tensor: Tensor, inputs: Mapping[str, Any]) -> Tensor:
        """Return the output, plus the given gradient that is not in it yet."""
        if self.part is not None:
            count = math.prod(self.part.shape)
            tensor = typed(tensor.view(-1)[:count], self.part.dtype).reshape(self.part.shape)
        return plus(tensor, inputs[self.added]) if self.added else tensor


class UnrepeatableError(Exception):
    """A value of a call does not fit, or the call can't be repeated."""


class PreparedCall:
    """A call of a kernel that can be repeated on other tensors.

    Attributes:
        device: Its device.
    """

    def __init__(self, run: Run, mode: RunMode, inputs: Mapping[str, object]) -> None:
        """Keep what repeats of a run that was just submitted.

        Raises:
            UnrepeatableError: It can't be repeated.
        """
        self.device = run.device
        self._place, self._plan = run.prepared.place, run.plan
        self._keys = {place.slot: place for place in array_keys(run.plan.signature, mode)}
        self._by_key = {place.key: place for place in self._keys.values()}
        require_repeatable(run, self._by_key, inputs)
        slots = list(run.buffers)
        outputs = list(run.outputs())
        used = Counter(part.slot for part in outputs)
        whole = {part.slot: part for part in outputs if used[part.slot] == 1 and _is_whole(part, run)}
        added = {part.key: self._given(part.added, inputs) for part in outputs}
        cotangents = [slot for slot in slots if slot[0] is ParameterRole.COTANGENT]
        read = {slot for slot in cotangents if is_only_read(slot, run.plan, mode)}
        self._buffers = [
            _Ones(_ones(tensor_type(run.origins[slot].dtype.str), self._place))
            if slot in read and _has_ones(run.origins[slot])
            else self._buffer(run.origins[slot], whole.get(slot), inputs, scratch=slot not in used)
            for slot in slots
        ]
        self._outputs = [
            _Output(part.key, slots.index(part.slot), None if part.slot in whole else part, added[part.key])
            for part in outputs
        ]
        self._values = list(uniforms_of(run))
        self._launches = startable_launches(run)

    def __call__(self, inputs: Mapping[str, Any]) -> dict[str, Tensor]:
        """Start the launches in torch's stream, and return the outputs by key; they are there in that stream.

        Raises:
            UnrepeatableError: A number does not fit its parameter.
            ToolchainError: The driver failed.
        """
        with self.device.lock:
            for number, parameter, entry in self._values:
                arrays = {p.slot: self._converted(p.key, inputs) for p in self._keys.values() if p.key in inputs}
                value = uniform_value(parameter, entry, self._plan.signature, arrays, self._plan.fields)
                self._launches.set_value(number, parameter.name, value)
            stream = current_stream(self._place)
            tensors = [one.tensor(inputs, lambda key: self._converted(key, inputs), stream) for one in self._buffers]
            self._launches.start([one.data_ptr() for one in tensors], stream)
        return {one.key: one.read(tensors[one.buffer], inputs) for one in self._outputs}

    def _converted(self, key: str, inputs: Mapping[str, Any]) -> Any:  # noqa: ANN401  (an array or a tensor)
        """Return an argument in the type of its parameter."""
        if is_tensor(inputs[key]):
            return inputs[key]
        try:
            return convert(inputs[key], self._by_key[key].part)[0]
        except MisfitError as misfit:
            raise UnrepeatableError(str(misfit)) from None

    def _given(self, slot: Slot | None, inputs: Mapping[str, object]) -> str:
        """Return the key of a slot whose argument is given; an empty string without one."""
        key = "" if slot is None or slot not in self._keys else self._keys[slot].key
        return key if key in inputs else ""

    def _buffer(
        self, origin: BufferOrigin, whole: OutputPart | None, inputs: Mapping[str, object], *, scratch: bool
    ) -> _Argument | _Allocated | _Scratch:
        import torch

        kind, source = tensor_type(origin.dtype.str), self._given(origin.source, inputs)
        if origin.borrowed:
            given: Tensor = inputs[source]
            return _Argument(source, None if given.dtype == kind else kind)
        shape = (max(1, origin.count),) if whole is None else whole.shape
        make = torch.ones if origin.start and not source else torch.empty
        allocated = _Allocated(make, shape, kind, self._place, source, origin)
        small = origin.count * origin.dtype.itemsize <= _MOST_SCRATCH
        return _Scratch(allocated) if scratch and small and origin.start is None and not source else allocated


def require_repeatable(run: Run, keys: Mapping[str, ArrayKey], inputs: Mapping[str, object]) -> None:
    """Refuse a run whose launches depend on more than addresses and numbers.

    Raises:
        UnrepeatableError: It has textures, empty arrays, tensors of another device or passed by value.
    """
    place = run.prepared.place
    tensors = [(key, value) for key, value in inputs.items() if is_tensor(value)]
    elsewhere = any(value.device != place or not value.numel() for _, value in tensors)  # type: ignore[attr-defined]
    by_value = any(keys[key].role is ParameterRole.UNIFORM for key, _ in tensors if key in keys)
    if (
        run.textures
        or run.moved
        or not run.elements
        or elsewhere
        or by_value
        or run.origins.keys() != run.buffers.keys()
    ):
        raise UnrepeatableError


def is_only_read(slot: Slot, plan: KernelPlan, mode: RunMode) -> bool:
    """Return True if no launch of a mode writes a buffer."""
    entries = (entry for step in mode.steps for entry in plan.entries[step])
    uses = [p for e in entries for p in e.parameters if (p.role, p.parameter, p.path) == slot]
    return all(one.access == "read" for one in uses)


def _has_ones(origin: BufferOrigin) -> bool:
    return origin.source is None and origin.start == 1.0 and origin.count <= _MOST_ONES


def _is_whole(part: OutputPart, run: Run) -> bool:
    """Return True if an output is a buffer as it is."""
    origin = run.origins[part.slot]
    same_type = part.dtype != "?" and tensor_type(part.dtype) == tensor_type(origin.dtype.str)
    return not origin.borrowed and same_type and origin.count == math.prod(part.shape) > 0


def uniforms_of(run: Run) -> Iterator[tuple[int, EntryParameter, EntryPoint]]:
    """Yield the arguments that the caller passes by value, with the numbers of their launches."""
    for number, launch in enumerate(run.launches):
        entry = next(one for entries in run.plan.entries.values() for one in entries if one.symbol == launch.entry)
        by_value = {p.name: p for p in reversed(entry.parameters) if p.role is ParameterRole.UNIFORM}
        yield from ((number, parameter, entry) for parameter in by_value.values())


def startable_launches(run: Run) -> StartableLaunches:
    """Return the launches of a run on cuda, to start again with other buffers, in the order of those of the run.

    Raises:
        UnrepeatableError: They can't be started so.
    """
    buffers = [buffer for buffer in run.buffers.values() if isinstance(buffer, Addressed)]
    zeroed = [
        (number, max(1, origin.count) * origin.dtype.itemsize)
        for number, origin in enumerate(map(run.origins.__getitem__, run.buffers))
        if origin.source is None and origin.start == 0.0
    ]
    try:
        device = run.device
        found = device.prepared_launches(run.launches, buffers, zeroed) if isinstance(device, PreparingDevice) else None
    except ToolchainError as error:
        raise UnrepeatableError(str(error)) from None
    if found is None or len(buffers) != len(run.buffers):
        raise UnrepeatableError
    return found


_RECENT: Final[deque[KeptRun]] = deque()
"""The calls on the CPU whose buffers are open, of all kernels."""
_MOST_OPEN: Final = 16
"""Calls on the CPU whose buffers stay open. More of them take more memory, and a file each buffer."""
_SMALL: Final = 1 << 16
"""Bytes of the largest buffer that is used again: its results are copied, and larger ones are mapped."""


class KeptRun:
    """A call on the CPU that can be repeated: its buffers and launches.

    Attributes:
        device: Its device.
    """

    def __init__(self, run: Run, mode: RunMode, inputs: Mapping[str, object]) -> None:
        """Keep a run that was just submitted. It leaves its buffers open.

        Raises:
            UnrepeatableError: It has textures, large buffers or empty arrays.
        """
        self.device = run.device
        self._process = os.getpid()
        self._keys = {place.key: place for place in array_keys(run.plan.signature, mode)}
        require_repeatable(run, self._keys, inputs)
        if any(origin.count * origin.dtype.itemsize > _SMALL for origin in run.origins.values()):
            raise UnrepeatableError
        self._outputs = tuple(run.outputs())
        self._values = list(uniforms_of(run))
        run.kept = True
        self._run: Run | None = run
        _RECENT.append(self)
        while len(_RECENT) > _MOST_OPEN:
            _RECENT.popleft().close()

    def __call__(self, inputs: Mapping[str, Any]) -> dict[str, Any]:
        """Run the launches on other arrays, and return arrays by key; tensors if arguments are tensors.

        Raises:
            UnrepeatableError: An argument does not fit, or the buffers are closed or of another process.
            ToolchainError: The kernel crashed.
        """
        with self.device.lock:
            run = self._run
            if run is None or self._process != os.getpid():
                raise UnrepeatableError
            arrays = dict(self._converted(as_arrays(inputs)))
            run.prepared = replace(run.prepared, arrays=arrays)
            for number, parameter, entry in self._values:
                value = uniform_value(parameter, entry, run.plan.signature, arrays, run.plan.fields)
                bindings = {**run.launches[number].bindings, parameter.name: value}
                run.launches[number] = replace(run.launches[number], bindings=bindings)
            for slot, origin in run.origins.items():
                set_to(run.buffers[slot], None if origin.source is None else arrays[origin.source], origin.start)
            self.device.submit(run.launches)
            found = {part.key: run.read(part) for part in self._outputs}
        place = place_of(inputs)
        return found if place is None else as_tensors(found, place)

    def _converted(self, inputs: Mapping[str, object]) -> Iterator[tuple[Slot, Any]]:
        try:
            for key, value in inputs.items():
                if key in self._keys:
                    place = self._keys[key]
                    yield place.slot, convert(value, place.part)[0]
        except MisfitError as misfit:
            raise UnrepeatableError(str(misfit)) from None

    def close(self) -> None:
        """Release the buffers; the next call of this kind is planned."""
        with self.device.lock:
            run, self._run = self._run, None
            if run is not None:
                run.close()


@atexit.register
def _close_all() -> None:
    while _RECENT:
        _RECENT.pop().close()


class PreparedCalls:
    """The calls of one kernel that can be repeated, by kind. Any number of threads may use it."""

    def __init__(self) -> None:
        self._calls: dict[Hashable, PreparedCall | KeptRun | None] = {}

    def repeated(self, kind: Hashable, device: Device | None, inputs: Mapping[str, Any]) -> dict[str, Any] | None:
        """Return the outputs of a call of a known kind by key; None if it has to be planned.

        Args:
            kind: Its kind.
            device: Its device, if that is open.
            inputs: Its arguments by key.

        Raises:
            ToolchainError: The driver failed.
        """
        call = self._calls.get(kind)
        if call is None or call.device is not device:
            return None
        try:
            return call(inputs)
        except UnrepeatableError:
            return None

    def keeper(self, kind: Hashable, mode: RunMode, inputs: Mapping[str, object]) -> Callable[[Run], None] | None:
        """Return the function that keeps what repeats of a run of a kind; None if it was tried before.

        Args:
            kind: The kind of the call.
            mode: Its mode.
            inputs: Its arguments by key.
        """
        known = self._calls.get(kind)
        if kind in self._calls and known is None:
            return None

        def keep(run: Run) -> None:
            while len(self._calls) >= MOST_KINDS:
                self._calls.pop(next(iter(self._calls)), None)
            try:
                self._calls[kind] = (KeptRun if run.device.host else PreparedCall)(run, mode, inputs)
            except UnrepeatableError:
                self._calls[kind] = None

        return keep
