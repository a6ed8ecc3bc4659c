"""Repeat a call of a kernel on cuda where another library has the arguments and wants the results: XLA, for JAX.

Everything is at an address of the GPU. An argument that is only read, and a result in the type of its buffer, are bound
as they are. Arguments that are passed by value, such as a ``Param`` with a gradient, are read back to the host first.
"""

from __future__ import annotations

import ctypes
import math
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Protocol

from slangad.compiler.emit.model import ParameterRole
from slangad.compiler.runtime.arrays.array_keys import array_keys
from slangad.compiler.runtime.arrays.uniforms import uniform_value
from slangad.compiler.runtime.device.cuda_calls import is_primary_at
from slangad.compiler.runtime.device.cuda_capture import call_driver
from slangad.compiler.runtime.pipeline.prepared_call import (
    UnrepeatableError,
    is_only_read,
    require_repeatable,
    startable_launches,
    uniforms_of,
)

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    import numpy as np
    import numpy.typing as npt

    from slangad.compiler.runtime.arrays.array_keys import Slot
    from slangad.compiler.runtime.arrays.modes import RunMode
    from slangad.compiler.runtime.pipeline.run_kernel import Run

    Array = npt.NDArray[Any]


class Typed(Protocol):
    """The shape and type of an array."""

    @property
    def shape(self) -> tuple[int, ...]:
        """The shape."""

    @property
    def dtype(self) -> np.dtype[Any]:
        """The type."""


@dataclass(frozen=True, slots=True)
class _Place:
    """Where a buffer of the call lies.

    Attributes:
        argument: The key of the argument that it is, or whose contents it starts with.
        result: The key of the result that it is; empty without one.
        own: The address of memory that the call keeps; 0 if it has none.
        size: Its bytes.
        copied: True if the argument is copied into it.
    """

    argument: str
    result: str
    own: int
    size: int
    copied: bool


class AddressedCall:
    """A call of a kernel on cuda that can be repeated with its arguments and results at other addresses."""

    def __init__(self, run: Run, mode: RunMode, inputs: Mapping[str, Typed], results: Mapping[str, Typed]) -> None:
        """Keep what repeats of a run that was just submitted, on copies of the arguments.

        Args:
            run: The run.
            mode: Its mode.
            inputs: The arguments by key.
            results: The results that are wanted, by key.

        Raises:
            UnrepeatableError: It can't be repeated so: a result has another type than its buffer, say.
        """
        self._device, self._plan = run.device, run.plan
        self._places = {place.slot: place for place in array_keys(run.plan.signature, mode)}
        by_key = {place.key: place for place in self._places.values()}
        require_repeatable(run, by_key, {})
        found = {part.key: part for part in run.outputs()}
        whole = {found[key].slot: key for key in results if key in found}
        if len(whole) < len(results):
            raise UnrepeatableError
        for slot, key in whole.items():
            _require_same(run.origins[slot].dtype, math.prod(found[key].shape), results[key])
        self._buffers = [self._place(run, slot, mode, inputs, whole.get(slot, "")) for slot in run.buffers]
        self._by_value = {
            by_key[key].slot: (key, one)
            for key, one in inputs.items()
            if key in by_key and by_key[key].role is ParameterRole.UNIFORM
        }
        self._values = list(uniforms_of(run))
        self._launches = startable_launches(run)
        self._kept = [b for b, place in zip(run.buffers.values(), self._buffers, strict=True) if place.own]

    def _place(self, run: Run, slot: Slot, mode: RunMode, inputs: Mapping[str, Typed], result: str) -> _Place:
        origin, buffer = run.origins[slot], run.buffers[slot]
        argument = "" if origin.source is None else self._places[origin.source].key
        reads = is_only_read(slot, run.plan, mode)
        if argument:
            _require_same(origin.dtype, origin.count, inputs[argument])
        elif origin.start and not reads:
            raise UnrepeatableError
        is_own = not result and not (argument and reads)
        address = int(buffer.view[0]) if is_own else 0  # type: ignore[attr-defined]
        size = origin.count * origin.dtype.itemsize
        return _Place(argument, result, address, size, copied=bool(argument) and not reads)

    def takes(self, addresses: Iterable[int]) -> bool:
        """Return True if memory at these addresses is on the call's GPU."""
        with self._device.lock:
            return all(is_primary_at(address) for address in addresses if address)

    def __call__(self, arguments: Mapping[str, int], results: Mapping[str, int], stream: int) -> None:
        """Start it in a stream, from addresses by key; returns while it runs.

        Raises:
            ToolchainError: The driver failed.
        """
        with self._device.lock:
            self._set_values(arguments, stream)
            addresses = [
                results[one.result] if one.result else one.own or arguments[one.argument] for one in self._buffers
            ]
            for one, address in zip(self._buffers, addresses, strict=True):
                if one.copied and one.size:
                    given, size = ctypes.c_uint64(arguments[one.argument]), ctypes.c_size_t(one.size)
                    call_driver("cuMemcpyDtoDAsync_v2", ctypes.c_uint64(address), given, size, ctypes.c_uint64(stream))
            self._launches.start(addresses, stream)

    def _set_values(self, arguments: Mapping[str, int], stream: int) -> None:
        if not self._values:
            return
        arrays = copied_to_host([(arguments[key], kind) for key, kind in self._by_value.values()], stream)
        given = dict(zip(self._by_value, arrays, strict=True))
        for number, parameter, entry in self._values:
            value = uniform_value(parameter, entry, self._plan.signature, given, self._plan.fields)
            self._launches.set_value(number, parameter.name, value)


def _require_same(dtype: np.dtype[Any], count: int, other: Typed) -> None:
    """Refuse another type or size than that of a buffer.

    Raises:
        UnrepeatableError: They differ.
    """
    if other.dtype != dtype or math.prod(other.shape) != count:
        raise UnrepeatableError


def copied_to_host(arrays: Iterable[tuple[int, Typed]], stream: int) -> list[Array]:
    """Return copies of arrays at addresses of a GPU, from a stream; waits for what was started there."""
    import numpy as np

    copies = []
    for address, kind in arrays:
        copy = np.empty(kind.shape, kind.dtype)
        if copy.nbytes:
            size = ctypes.c_size_t(copy.nbytes)
            target = ctypes.c_void_p(copy.ctypes.data)
            call_driver("cuMemcpyDtoHAsync_v2", target, ctypes.c_uint64(address), size, ctypes.c_uint64(stream))
        copies.append(copy)
    call_driver("cuStreamSynchronize", ctypes.c_uint64(stream))
    return copies


def copy_to_gpu(arrays: Iterable[tuple[int, Array]], stream: int) -> None:
    """Copy arrays to addresses of a GPU, in a stream; waits for it."""
    import numpy as np

    sources = [(address, np.ascontiguousarray(array)) for address, array in arrays if array.nbytes]
    for address, source in sources:
        pointer, size = ctypes.c_void_p(source.ctypes.data), ctypes.c_size_t(source.nbytes)
        call_driver("cuMemcpyHtoDAsync_v2", ctypes.c_uint64(address), pointer, size, ctypes.c_uint64(stream))
    call_driver("cuStreamSynchronize", ctypes.c_uint64(stream))
