"""Start the launches of a call again on cuda, in the stream in which torch works, with other buffers.

slangpy encodes and submits each launch and waits for it, which takes longer than a small kernel. The driver's own API
takes the arguments as a block of bytes, in which only addresses and values passed by value differ between two calls.
"""

from __future__ import annotations

import ctypes
import struct
from typing import TYPE_CHECKING, Final

from slangad.compiler.runtime.device.cuda_capture import (
    StartableLaunch,
    arguments_of,
    bytes_of,
    call_driver,
)

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    import slangpy

    from slangad.compiler.runtime.device.cuda_capture import Addressed, CapturedLaunches, EntryCode
    from slangad.compiler.runtime.device.model import KernelLaunch

_ZERO: Final = ctypes.c_ubyte(0)
_ADDRESS: Final = struct.Struct("<Q")
_ORDINAL: Final = 9
"""CU_POINTER_ATTRIBUTE_DEVICE_ORDINAL."""


class PreparedLaunches:
    """Launches that are started many times. Only the thread that holds the device's lock may use them."""

    def __init__(
        self,
        device: CapturedLaunches,
        launches: Sequence[tuple[KernelLaunch, slangpy.ComputeKernel]],
        buffers: Sequence[Addressed],
        zeroed: Sequence[tuple[int, int]] = (),
        zeroing: Sequence[tuple[KernelLaunch, slangpy.ComputeKernel]] = (),
    ) -> None:
        """Prepare launches that have run, with these buffers among their arguments; see ``prepared_launches``.

        Args:
            device: The functions of the device.
            launches: The launches.
            buffers: Their buffers.
            zeroed: Buffers that the driver sets to zero before, by number, with their bytes.
            zeroing: Launches that set other ones of the buffers to zero before.

        Raises:
            ToolchainError: A launch has a texture or a struct passed by value, or the driver failed.
        """
        numbers = {id(buffer): number for number, buffer in enumerate(buffers)}
        self._device = device
        self._launches = [_Launch(one, device.code_of(kernel, one.entry), numbers) for one, kernel in launches]
        self._zeroing = [_Launch(one, device.code_of(kernel, one.entry), numbers) for one, kernel in zeroing]
        self._zeroed = [(number, ctypes.c_size_t(size)) for number, size in zeroed]
        self._shares = any(one.shared is not None for one in self._launches)

    def set_value(self, number: int, name: str, value: object) -> None:
        """Replace an argument that launch ``number`` takes by value.

        Raises:
            ToolchainError: It is a matrix or a struct.
        """
        self._launches[number].set_value(name, value)

    def start(self, addresses: Sequence[int], stream: int) -> None:
        """Start all launches in a stream, with the buffers at these addresses. Returns while they run.

        Raises:
            ToolchainError: The driver failed.
        """
        if self._shares:
            self._device.enter(stream)
        handle = ctypes.c_uint64(stream)
        for number, size in self._zeroed:
            call_driver("cuMemsetD8Async", ctypes.c_uint64(addresses[number]), _ZERO, size, handle)
        for launch in (*self._zeroing, *self._launches):
            launch.start(addresses, handle)


class _Launch:
    """A launch, and where the addresses of buffers lie in its arguments.

    Attributes:
        shared: The arguments of the module, which are a variable on the device; None without any.
    """

    def __init__(self, launch: KernelLaunch, code: EntryCode, numbers: Mapping[int, int]) -> None:
        of_module, own = arguments_of(launch, code)
        self._name, self._code = launch.entry, code
        self._own = StartableLaunch(code, launch.threads, own)
        self.shared = ctypes.create_string_buffer(of_module, len(of_module)) if of_module else None
        self._places: list[tuple[ctypes.Array[ctypes.c_char], int, int]] = []
        for name, value in launch.bindings.items():
            if id(value) in numbers and (place := self._place(name)) is not None:
                self._places.append((*place, numbers[id(value)]))
        if self.shared is not None:
            size = ctypes.c_size_t(code.bytes_of_variable)
            self._copy = (ctypes.c_uint64(code.variable), self.shared, size)

    def _place(self, name: str) -> tuple[ctypes.Array[ctypes.c_char], int] | None:
        """Return the block and the offset of an argument; None for one that the compiler has removed."""
        if name in self._code.places:
            return self._own.block, self._code.places[name].offset
        if self.shared is not None and name in self._code.shared:
            return self.shared, self._code.shared[name].offset
        return None

    def set_value(self, name: str, value: object) -> None:
        place = self._place(name)
        if place is not None:
            block, offset = place
            layout = (self._code.places.get(name) or self._code.shared[name]).type_layout
            data = bytes_of(value, layout, name, self._name)
            ctypes.memmove(ctypes.addressof(block) + offset, data, len(data))

    def start(self, addresses: Sequence[int], stream: ctypes.c_uint64) -> None:
        for block, offset, number in self._places:
            _ADDRESS.pack_into(block, offset, addresses[number])
        if self.shared is not None:
            call_driver("cuMemcpyHtoDAsync_v2", *self._copy, stream)  # it has read the block when it returns
        self._own.start(stream)


def is_primary_at(address: int) -> bool:
    """Return True if the current context is the one that torch uses on the device of an address."""
    device, ordinal = ctypes.c_int(), ctypes.c_int()
    current, primary = ctypes.c_uint64(), ctypes.c_uint64()
    call_driver("cuCtxGetCurrent", ctypes.byref(current))
    call_driver("cuCtxGetDevice", ctypes.byref(device))
    call_driver("cuPointerGetAttribute", ctypes.byref(ordinal), ctypes.c_int(_ORDINAL), ctypes.c_uint64(address))
    call_driver("cuDevicePrimaryCtxRetain", ctypes.byref(primary), device)
    call_driver("cuDevicePrimaryCtxRelease_v2", device)
    return current.value == primary.value and device.value == ordinal.value
