"""Record launches in a CUDA graph, through the driver's API: one that torch captures, or one of slangad's own.

slangpy can't do it: it queries an event of each submission later, which the driver refuses for captured ones. The
compiled modules and the layouts of arguments are slangpy's. Arguments of entry points are part of the graph. Those of a
module are a variable of it, so a copy from memory sets the variable, in the graph. While torch captures, nothing can be
uploaded, so a kernel writes that memory.
"""

from __future__ import annotations

import ctypes
import struct
import sys
from contextlib import contextmanager
from dataclasses import dataclass
from functools import cache
from typing import TYPE_CHECKING, Any, Final, Protocol, runtime_checkable

from slangad.compiler.errors.diagnostics import ToolchainError
from slangad.compiler.runtime.device.gpu_launches import wait_until
from slangad.compiler.runtime.device.layout import SCALARS
from slangad.compiler.runtime.device.model import DeviceBuffer
from slangad.compiler.runtime.device.tensors import TensorBuffer
from slangad.compiler.toolchain.messages.failures import failed

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping, Sequence

    import numpy as np
    import slangpy

    from slangad.compiler.runtime.device.model import KernelLaunch

_WORDS: Final = 64
"""Words that one launch of the kernel ``put`` writes."""
_PUT: Final = f"""
[shader("compute")] [numthreads({_WORDS}, 1, 1)]
void put(uint3 thread : SV_DispatchThreadID, uniform uint4 words[{_WORDS // 4}], uniform uint count,
         RWStructuredBuffer<uint> target)
{{
    if (thread.x < count)
        target[thread.x] = words[thread.x / 4][thread.x % 4];
}}
"""
_THIS_THREAD: Final = 1
"""CU_STREAM_CAPTURE_MODE_THREAD_LOCAL."""
_ALONE: Final = 1
"""CU_STREAM_NON_BLOCKING: no order with the stream that has no number."""
_NOT_READY: Final = 600
_SCALARS: Final = {**SCALARS, "bool": "u4"}
"""Slang's scalar types and numpy's codes for them in the arguments of a CUDA module."""


def is_captured() -> bool:
    """Return True while torch captures its current stream in a CUDA graph."""
    torch = sys.modules.get("torch")
    return torch is not None and torch.cuda.is_initialized() and torch.cuda.is_current_stream_capturing()


@dataclass(frozen=True)
class EntryCode:
    """A compiled entry point: its function, its group, the place of each argument, and the module's variable."""

    function: int
    group: tuple[int, int, int]
    places: Mapping[str, slangpy.VariableLayoutReflection]
    shared: Mapping[str, slangpy.VariableLayoutReflection]
    variable: int
    bytes_of_variable: int


@runtime_checkable
class Addressed(DeviceBuffer, Protocol):
    """Scalars on a cuda device."""

    @property
    def view(self) -> np.ndarray[Any, Any]:
        """Return the address and the number of scalars, as kernels see them."""


class CapturedLaunches:
    """The functions of a cuda device for captures. ``prepare`` compiles what a capture can't."""

    def __init__(self, device: slangpy.Device) -> None:
        self._device = device
        self._code: dict[int, tuple[slangpy.ComputeKernel, EntryCode]] = {}
        self._put: slangpy.ComputeKernel | None = None
        self._pending: int | None = None

    def enter(self, stream: int | None) -> None:
        """Wait for launches in other streams that read arguments of modules, which the next launches replace.

        Args:
            stream: The stream of the next launches, which may run when this device is used again; None if they don't.
        """
        if self._pending is not None and self._pending != stream:
            call_driver("cuCtxSynchronize")
        self._pending = stream

    def prepare(self) -> None:
        """Compile the kernel that writes arguments."""
        if self._put is None:
            session = self._device.create_slang_session()
            module = session.load_module_from_source("slangad_put", _PUT, "slangad_put.slang")
            self._put = self._device.create_compute_kernel(session.link_program([module], [module.entry_point("put")]))
            self.code_of(self._put, "put")

    def record(self, launches: Sequence[tuple[KernelLaunch, slangpy.ComputeKernel]]) -> None:
        """Add launches to the graph, in order with what torch has captured before.

        Raises:
            ToolchainError: A launch has arguments that can't be recorded, or the driver failed.
        """
        import torch

        stream = torch.cuda.current_stream().cuda_stream
        for launch, kernel in launches:
            code = self.code_of(kernel, launch.entry)
            shared, own = arguments_of(launch, code)
            if shared:
                self._set_variable(code, shared, stream)
            _launch(code, launch.threads, own, stream)

    def graph(
        self,
        launches: Sequence[tuple[KernelLaunch, slangpy.ComputeKernel]],
        memory: Callable[[np.dtype[Any], int], Addressed],
    ) -> LaunchGraph:
        """Return launches as a graph. The context of the device must be current, and torch must not capture.

        Args:
            launches: The launches, which run one after the other.
            memory: Allocates memory on the device.

        Raises:
            ToolchainError: A launch has arguments that can't be recorded, or the driver failed.
        """
        import numpy as np

        planned: list[tuple[EntryCode, KernelLaunch, bytes, Addressed | None]] = []
        last: dict[int, bytes] = {}
        for launch, kernel in launches:
            code = self.code_of(kernel, launch.entry)
            shared, own = arguments_of(launch, code)
            source = None
            if shared and last.get(code.variable) != shared:
                words = np.frombuffer(shared, "u4")
                source = memory(words.dtype, words.size)
                source.upload(words)
                last[code.variable] = shared
            planned.append((code, launch, own, source))
        return LaunchGraph(planned)

    def _set_variable(self, code: EntryCode, values: bytes, stream: int) -> None:
        """Write the arguments of a module to memory of the graph, and copy them from there."""
        import numpy as np
        import torch

        if self._put is None:
            raise not_captured("no kernel ran on this device before", "call it once before the capture")
        put = self.code_of(self._put, "put")
        memory = torch.empty(len(values) // 4, dtype=torch.int32, device=torch.cuda.current_device())
        for begin in range(0, len(values), 4 * _WORDS):
            part = values[begin : begin + 4 * _WORDS]
            target = TensorBuffer(memory[begin // 4 :], np.dtype("u4"), len(part) // 4)
            words = struct.unpack(f"<{len(part) // 4}I", part)
            block = packed({"words": list(words), "count": len(words), "target": target}, put.places, "put")
            _launch(put, (_WORDS, 1, 1), block, stream)
        _copy_variable(code, memory.data_ptr(), stream)

    def code_of(self, kernel: slangpy.ComputeKernel, entry: str) -> EntryCode:
        """Return the code of an entry point. It is kept with its kernel, as long as the device."""
        if id(kernel) not in self._code:
            self._code[id(kernel)] = kernel, _code_of(kernel, entry)
        return self._code[id(kernel)][1]


class LaunchGraph:
    """Launches that the driver starts at once, on a stream of their own."""

    def __init__(self, planned: Sequence[tuple[EntryCode, KernelLaunch, bytes, Addressed | None]]) -> None:
        self._kept = [source for *_, source in planned if source is not None]
        self._stream, self._whole = ctypes.c_uint64(), ctypes.c_uint64()
        call_driver("cuStreamCreate", ctypes.byref(self._stream), ctypes.c_uint(_ALONE))
        try:
            graph = self._captured(planned)
            call_driver("cuGraphInstantiateWithFlags", ctypes.byref(self._whole), graph, ctypes.c_ulonglong(0))
            call_driver("cuGraphDestroy", graph)
        except ToolchainError:
            self.close()
            raise

    def _captured(self, planned: Sequence[tuple[EntryCode, KernelLaunch, bytes, Addressed | None]]) -> ctypes.c_uint64:
        graph = ctypes.c_uint64()
        call_driver("cuStreamBeginCapture_v2", self._stream, ctypes.c_int(_THIS_THREAD))
        try:
            for code, launch, own, source in planned:
                if source is not None:
                    _copy_variable(code, int(source.view[0]), self._stream.value)
                _launch(code, launch.threads, own, self._stream.value)
        finally:
            status = cuda_driver().cuStreamEndCapture(self._stream, ctypes.byref(graph))
        if status:
            raise _failed("cuStreamEndCapture", status)
        return graph

    def replay(self, times: int) -> None:
        """Run the launches so many times, and wait; signals are heard meanwhile.

        Raises:
            ToolchainError: A kernel crashed.
        """
        self.start(times, self._stream.value)
        wait_until(lambda: cuda_driver().cuStreamQuery(self._stream) != _NOT_READY)
        call_driver("cuStreamQuery", self._stream)

    def start(self, times: int, stream: int) -> None:
        """Run the launches so many times in a stream; returns while they run."""
        for _ in range(times):
            call_driver("cuGraphLaunch", self._whole, _u64(stream))

    def close(self) -> None:
        """Release the graph; the device must still be open."""
        if self._whole.value:
            cuda_driver().cuGraphExecDestroy(self._whole)
        cuda_driver().cuStreamDestroy_v2(self._stream)


def arguments_of(launch: KernelLaunch, code: EntryCode) -> tuple[bytes, bytes]:
    """Return the arguments of the module, none without a variable for them, and those of the entry point.

    Those of the module fill its variable, and are padded to whole words.
    """
    shared = {name: value for name, value in launch.bindings.items() if name in launch.shared}
    own = {name: value for name, value in launch.bindings.items() if name not in launch.shared}
    size = code.bytes_of_variable if shared else 0
    of_module = packed(shared, code.shared, launch.entry)[:size] if size else b""
    of_module = of_module.ljust(-(-size // 4) * 4, b"\0")
    return of_module, packed(own, code.places, launch.entry)


def _copy_variable(code: EntryCode, source: int, stream: int) -> None:
    size = _size(code.bytes_of_variable)
    call_driver("cuMemcpyDtoDAsync_v2", _u64(code.variable), _u64(source), size, _u64(stream))


def _code_of(kernel: slangpy.ComputeKernel, entry: str) -> EntryCode:
    module = _u64(kernel.pipeline.native_handle.value)
    function, variable, size = ctypes.c_uint64(), ctypes.c_uint64(), ctypes.c_size_t()
    call_driver("cuModuleGetFunction", ctypes.byref(function), module, entry.encode())
    name = b"SLANG_globalParams"
    has_variable = cuda_driver().cuModuleGetGlobal_v2(ctypes.byref(variable), ctypes.byref(size), module, name) == 0
    layout = kernel.program.layout
    (point,) = layout.entry_points
    x, y, z = (int(point.compute_thread_group_size[axis]) for axis in range(3))
    places = {one.name: one for one in point.parameters}
    shared = {one.name: one for one in layout.parameters}
    return EntryCode(
        function.value, (x, y, z), places, shared, variable.value * has_variable, size.value * has_variable
    )


def packed(values: Mapping[str, object], places: Mapping[str, slangpy.VariableLayoutReflection], entry: str) -> bytes:
    """Return arguments as bytes, as the entry point of a CUDA module takes them.

    Raises:
        ToolchainError: A value is a texture, a matrix or a struct.
    """
    end = max((one.offset + one.type_layout.size for one in places.values()), default=0)
    block = bytearray(-(-end // 16) * 16)
    for name, value in values.items():
        place = places.get(name)
        if place is None:
            continue  # removed by the compiler
        data = bytes_of(value, place.type_layout, name, entry)
        block[place.offset : place.offset + len(data)] = data
    return bytes(block[:end])


def bytes_of(value: object, layout: slangpy.TypeLayoutReflection, name: str, entry: str) -> bytes:
    """Return an argument as bytes.

    Raises:
        ToolchainError: It is a texture, a matrix or a struct.
    """
    import numpy as np

    if isinstance(value, Addressed):
        return bytes(value.view.tobytes())
    kind, numbers = layout.unwrap_array().type, [*_numbers(value)]
    scalar = _SCALARS.get(kind.scalar_type.name)
    if scalar is None or kind.kind.name == "matrix" or any(not isinstance(one, (int, float)) for one in numbers):
        raise not_captured(
            f"{name} of {entry} is a texture, a matrix or a struct passed by value",
            "make it NoDiff[Param[…]], which is in memory",
        )
    return np.array(numbers, scalar).tobytes()


def _numbers(value: object) -> Iterator[object]:
    if isinstance(value, (list, tuple)):
        for one in value:
            yield from _numbers(one)
    else:
        yield value.item() if hasattr(value, "item") else value


def _launch(code: EntryCode, threads: tuple[int, int, int], block: bytes, stream: int) -> None:
    StartableLaunch(code, threads, block).start(_u64(stream))


class StartableLaunch:
    """A launch in the form that the driver takes. Its arguments may be changed between two starts.

    Attributes:
        block: The arguments of the entry point.
    """

    def __init__(self, code: EntryCode, threads: tuple[int, int, int], block: bytes) -> None:
        groups = [-(-count // of) for count, of in zip(threads, code.group, strict=True)]
        self.block = ctypes.create_string_buffer(block, max(1, len(block)))
        self._size = ctypes.c_size_t(len(block))
        pointer, length, end = 1, 2, 0  # CU_LAUNCH_PARAM_BUFFER_POINTER, _SIZE and _END
        data, size = ctypes.addressof(self.block), ctypes.addressof(self._size)
        self._extra = (ctypes.c_void_p * 5)(pointer, data, length, size, end)
        self._front = (_u64(code.function), *map(ctypes.c_uint, (*groups, *code.group, 0)))
        self._start = cuda_driver().cuLaunchKernel

    def start(self, stream: ctypes.c_uint64) -> None:
        """Start it in a stream; the driver copies the arguments.

        Raises:
            ToolchainError: The driver failed.
        """
        status = self._start(*self._front, stream, None, self._extra)
        if status:
            raise _failed("cuLaunchKernel", status)


def not_captured(reason: str, help_: str) -> ToolchainError:
    """Return the error for a call that a CUDA graph can't hold."""
    return failed("SA252", f"this can't be captured in a CUDA graph: {reason}", help_)


def _u64(number: int) -> ctypes.c_uint64:
    return ctypes.c_uint64(number)


def _size(number: int) -> ctypes.c_size_t:
    return ctypes.c_size_t(number)


@cache
def cuda_driver() -> Any:  # noqa: ANN401  (a library)
    """Return the driver's library."""
    return ctypes.CDLL("nvcuda.dll" if sys.platform == "win32" else "libcuda.so.1")


def call_driver(name: str, *arguments: object) -> None:
    """Call a function of the driver.

    Raises:
        ToolchainError: It failed.
    """
    status = getattr(cuda_driver(), name)(*arguments)
    if status:
        raise _failed(name, status)


@contextmanager
def kept_context() -> Iterator[None]:
    """Make the context that is current in this thread current again at the end."""
    before = ctypes.c_uint64()
    call_driver("cuCtxGetCurrent", ctypes.byref(before))
    try:
        yield
    finally:
        call_driver("cuCtxSetCurrent", before)


def _failed(name: str, status: int) -> ToolchainError:
    return failed("SA252", f"the driver of CUDA failed: {name} returned {status}")
