"""Run kernels on GPUs through slangpy: Vulkan, CUDA, Direct3D 12 and Metal.

Buffers stay on the device. A submission is one command buffer of many dispatches, in order where they share buffers.
"""

from __future__ import annotations

import hashlib
import math
import os
import re
import sys
import tempfile
import weakref
from collections import deque
from contextlib import contextmanager
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from threading import RLock, Thread
from typing import TYPE_CHECKING, Any, Final, Literal

from slangad.compiler.emit.library import LINEAR
from slangad.compiler.errors.diagnostics import ToolchainError
from slangad.compiler.ir.targets import (
    CONVERSIONS,
    LAST_GROUP,
    LONG_ATOMICS,
    MMA,
    ROLLED,
    TARGETS,
    TILES,
    VECTOR_ATOMICS,
)
from slangad.compiler.runtime.device.choice import is_software
from slangad.compiler.runtime.device.cuda_calls import PreparedLaunches, is_primary_at
from slangad.compiler.runtime.device.cuda_capture import CapturedLaunches, LaunchGraph, is_captured, not_captured
from slangad.compiler.runtime.device.gpu_launches import KeptBindings, copies_of, leave_busy, spread, wait_until
from slangad.compiler.runtime.device.memory import require_memory, too_little_memory
from slangad.compiler.runtime.device.model import BuildOptions
from slangad.compiler.runtime.device.segments import free_addresses, free_memory
from slangad.compiler.runtime.device.table import DEVICES
from slangad.compiler.runtime.device.tensors import TensorBuffer, current_stream
from slangad.compiler.runtime.device.zeroing import AT_MOST_ALONE, WORD, ZERO, ZERO_ENTRY, is_whole, zero_launches
from slangad.compiler.toolchain.messages.failures import failed, temporary_files
from slangad.compiler.toolchain.temporary import TemporaryFolder

if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Iterator, Mapping, Sequence

    import numpy as np
    import numpy.typing as npt
    import slangpy

    from slangad.compiler.emit.model import EmittedModule, EntryPoint
    from slangad.compiler.ir.types import Texture
    from slangad.compiler.runtime.device.cuda_capture import Addressed
    from slangad.compiler.runtime.device.model import DeviceBuffer, KernelLaunch, Repeatable

_NOTES = 5
_REFUSED: Final = "createComputePipeline"
"""What slangpy calls to have the driver compile a kernel."""
_TAKEN: Final[tuple[Literal["C"], Literal["W"]]] = ("C", "W")
"""Arrays that slangpy takes: it refuses those that it could not write to, though it only reads them."""
_UNIFORMS = re.compile(r"push constant size \((\d+)\) exceeds the maximum allowed \((\d+)\)")
"""slangpy's message if the arguments of an entry point are too large for Vulkan."""
_PARSED = 4
"""Modules that a device keeps parsed. More of them take memory, and parsing takes 0.1 to 1 s for each kernel."""
_MOST_THREADS: Final = 256
"""Threads of a group that fit on a CUDA multiprocessor if each has all registers that a thread may have."""
_ESCAPES = re.compile(r"\x1b\[[0-9;]*m")
_CAPTURING = RLock()
"""The process has one stdout and one stderr: two threads that turn them away would each put back the other's."""


@dataclass(eq=False)
class GpuProgram:
    """An emitted module on one device."""

    emitted: EmittedModule
    module: slangpy.SlangModule
    session: slangpy.SlangSession
    kernels: dict[str, slangpy.ComputeKernel] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class _ParsedModule:
    """An emitted module that a session of Slang has parsed and checked, with the options that it was read with.

    ``bound`` is the number of threads of its groups that NVRTC knows, or 0.
    ``kernels`` are its entry points that were compiled: the driver compiles them when they first run.
    """

    emitted: EmittedModule
    source: BuildOptions
    bound: int
    module: slangpy.SlangModule
    session: slangpy.SlangSession
    kernels: dict[str, slangpy.ComputeKernel] = field(default_factory=dict)


class _DeviceLock:
    """Hold a device for one thread. CUDA needs the current device to be set in each thread."""

    def __init__(self, device: slangpy.Device) -> None:
        self._device = device
        self._lock = RLock()

    def __enter__(self) -> None:
        self._lock.acquire()
        self._device.set_cuda_context_current()

    def __exit__(self, *_: object) -> None:
        self._lock.release()


@dataclass(slots=True)
class _SlangpyQueue:
    """A device's submissions, and waiting for them such that signals are heard: slangpy itself waits deaf.

    On cuda signals are heard when the submission under way has ended: asking whether it has waits for it there.
    """

    device: slangpy.Device
    in_software: bool
    last: int = 0
    is_left: bool = False
    """True after an interrupted wait. Slangpy may have closed the device by then, so it cannot be asked."""

    def require_memory(self, size: int) -> None:
        """Refuse an allocation above the free memory if the device uses host memory: drivers crash there.

        Raises:
            ToolchainError: There isn't that much.
        """
        if self.in_software:
            require_memory(_name_of(self.device), size, free_memory())
            require_memory(_name_of(self.device), size, free_addresses(), shared=False)

    def submit(self, commands: slangpy.CommandBuffer) -> None:
        """Submit commands; returns while they run."""
        self.last = self.device.submit_command_buffer(commands)

    def finish(self) -> None:
        """Wait until everything submitted is done."""
        self.is_left = True
        wait_until(lambda: not self.last or self.device.is_submit_finished(self.last))
        self.is_left = False


@dataclass(slots=True)
class GpuBuffer:
    """Scalars on a GPU."""

    dtype: np.dtype[Any]
    count: int
    handle: slangpy.Buffer
    queue: _SlangpyQueue

    @property
    def view(self) -> npt.NDArray[Any]:
        """Return the address and the number of scalars, as kernels of a cuda device see it."""
        import numpy as np

        return np.array([self.handle.device_address, self.count], np.uint64)

    def upload(self, array: npt.NDArray[Any]) -> None:
        """Copy an array of as many scalars to the device."""
        import numpy as np

        if not self.count:
            return
        self.queue.require_memory(self.count * self.dtype.itemsize)
        try:
            self.handle.copy_from_numpy(np.require(array, self.dtype, _TAKEN).reshape(-1))
        except RuntimeError as error:
            raise _broken(_name_of(self.queue.device), error) from None

    def download(self) -> npt.NDArray[Any]:
        """Return a copy of its contents; waits for all earlier commands."""
        try:
            self.queue.finish()
            self.queue.require_memory(self.count * self.dtype.itemsize)
            array: npt.NDArray[Any] = self.handle.to_numpy().reshape(-1).view("u1").view(self.dtype)[: self.count]
        except RuntimeError as error:
            raise _broken(_name_of(self.queue.device), error) from None
        return array

    def take(self) -> npt.NDArray[Any]:
        """Do the same as ``download``."""
        return self.download()

    def fill(self, number: float) -> None:
        """Set everything to one number, in order with what is submitted."""
        import numpy as np

        if number:
            self.upload(np.full(self.count, number, self.dtype))
            return
        encoder = self.queue.device.create_command_encoder()
        encoder.clear_buffer(self.handle)
        self.queue.submit(encoder.finish())

    def close(self) -> None:
        """Do nothing: the memory is freed with the last reference."""


_CHIP: Final = "_cuda_sm_{}"
"""Slang's name of what CUDA devices can do from a compute capability on."""


def macros_of(name: str, adapter: str, abilities: Collection[str]) -> tuple[str, ...]:
    """Return the macros of slangad's libraries for a device, from slangpy's names of its features and capabilities.

    For tiles, a wave must have 32 threads, in the order of their numbers, and tiles must be 16 x 16. slangpy tells
    neither. NVIDIA's devices are so.
    """
    has_tiles = name == "vulkan" and "cooperative_matrix" in abilities and "nvidia" in adapter.lower()
    has = {
        TILES: has_tiles,
        CONVERSIONS: has_tiles and "cooperative_matrix2" in abilities,
        LAST_GROUP: name in ("cuda", "vulkan"),
        ROLLED: is_software(adapter),
        LONG_ATOMICS: name == "cuda" or (name == "vulkan" and "atomic_int64" in abilities),
        MMA: _CHIP.format("8_0") in abilities,
        VECTOR_ATOMICS: _CHIP.format("9_0") in abilities,
    }
    return tuple(dict.fromkeys(m for m in (*TARGETS[DEVICES[name].target].macros, *has) if has.get(m, True)))


def _clear(encoder: slangpy.CommandEncoder, buffers: Sequence[DeviceBuffer]) -> None:
    """Set buffers to zero. Vulkan then waits once before these commands and once after them, not before each."""
    import slangpy

    assert all(isinstance(buffer, GpuBuffer) for buffer in buffers)  # noqa: S101  (this device made them)
    handles = [buffer.handle for buffer in buffers if isinstance(buffer, GpuBuffer)]
    for handle in handles:
        encoder.set_buffer_state(handle, slangpy.ResourceState.copy_destination)
    for handle in handles:
        encoder.clear_buffer(handle)
    for handle in handles:
        encoder.set_buffer_state(handle, slangpy.ResourceState.unordered_access)


def bound_of(name: str, points: Sequence[EntryPoint], symbols: Collection[str]) -> int:
    """Return the threads of the largest group of entry points, if on cuda not all fit with the most registers; or 0."""
    threads = max((math.prod(point.group_size) for point in points if point.symbol in symbols), default=1)
    return threads if name == "cuda" and threads > _MOST_THREADS else 0


class GpuDevice:
    """A slangpy device."""

    def __init__(self, name: str, device: slangpy.Device) -> None:
        self.lock = _DeviceLock(device)
        self.name = name
        self.handle = device
        self._queue = _SlangpyQueue(device, is_software(self.adapter))
        self._folders: list[weakref.finalize[..., GpuDevice]] = []
        self._kept: KeptBindings[slangpy.ShaderObject] = KeptBindings()
        self._captured = CapturedLaunches(device)
        self._modules: deque[_ParsedModule] = deque(maxlen=_PARSED)
        self._zero: GpuProgram | None = None
        self.has_last_group = LAST_GROUP in macros_of(name, self.adapter, ())

    @property
    def adapter(self) -> str:
        """Return the driver's name for it."""
        return str(self.handle.info.adapter_name)

    @property
    def abilities(self) -> set[str]:
        """Return slangpy's names of what it can do."""
        return {feature.name for feature in self.handle.features} | set(self.handle.capabilities)

    def __enter__(self) -> GpuDevice:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    host = False

    def parts(self, elements: int, group: int, totals: int, *, scatters: bool) -> int:
        """Return one group per fixed number of elements, at most what keeps a large GPU busy."""
        return spread(elements, group, totals, self.name if scatters else "")

    def copies(self, elements: int, scalars: int, *, alone: bool = False) -> int:
        """Return the number of copies: more for small tensors, whose elements take many additions each."""
        return copies_of(elements, scalars, alone=alone)

    def load(self, emitted: EmittedModule, source: BuildOptions, entries: Collection[str]) -> GpuProgram:
        """Compile entry points of a module, including the driver's part."""
        import slangpy

        if self._is_captured:
            raise not_captured("the kernel is not compiled yet", "call it once before the capture, in the same mode")

        with captured_prints() as printed:  # by one thread at a time
            try:
                parsed = self._parsed(emitted, source, bound_of(self.name, emitted.entry_points, entries))
                program = GpuProgram(emitted, parsed.module, parsed.session)
                for entry in entries:
                    if entry not in parsed.kernels:
                        linked = program.session.link_program([program.module], [program.module.entry_point(entry)])
                        parsed.kernels[entry] = self.handle.create_compute_kernel(linked)
                    program.kernels[entry] = parsed.kernels[entry]
                if self.name == "cuda" and "torch" in sys.modules:
                    self._captured.prepare()
            except (RuntimeError, slangpy.SlangCompileError) as error:
                self._modules.clear()
                raise self._not_taken(emitted, (*_lines(error), *printed())) from None
        return program

    def _parsed(self, emitted: EmittedModule, source: BuildOptions, bound: int) -> _ParsedModule:
        """Parse a module, or return it from the last loads: kernels and modes of one file are loaded one by one."""
        import slangpy

        for parsed in self._modules:
            if parsed.emitted is emitted and (parsed.source, parsed.bound) == (source, bound):
                return parsed
        folder = self._folder_of(emitted.libraries)
        macros = dict.fromkeys(macros_of(self.name, self.adapter, self.abilities), "")
        if LINEAR not in emitted.libraries:
            macros.pop(TILES, None)  # no tiles: memory of groups need not be coherent
        folders = [folder, *map(Path, source.include_dirs)]
        if bound:  # else the launch fails. Macros of Slang are NVRTC's too, and this one stands before each kernel
            macros["__global__"] = f"__location__(global) __launch_bounds__({bound})"
        options = slangpy.SlangCompilerOptions(
            {"include_paths": folders, "defines": {**macros, **dict(source.defines)}}
        )
        session = self.handle.create_slang_session(options)
        module = session.load_module_from_source(_module_name(emitted), emitted.text, folder / emitted.file_name)
        parsed = _ParsedModule(emitted, source, bound, module, session)
        self._modules.append(parsed)
        return parsed

    def _folder_of(self, libraries: Mapping[str, str]) -> Path:
        """Return a folder with the imported modules; it is kept, since Slang may read them again."""
        with temporary_files():
            folder = TemporaryFolder()
            self._folders.append(weakref.finalize(self, folder.close))
            for name, text in libraries.items():
                (folder.path / name).write_text(text, encoding="utf-8")
        return folder.path

    def _not_taken(self, emitted: EmittedModule, lines: tuple[str, ...]) -> ToolchainError:
        uniforms = next(filter(None, map(_UNIFORMS.search, lines)), None)
        if uniforms is None:
            return failed("SA249", f"{self.name} rejected {emitted.file_name}", notes=lines[:_NOTES])
        size, most = uniforms.groups()
        message = f"a kernel of {emitted.file_name} has {size} bytes of uniforms, and {self.name} takes {most} here"
        return failed("SA254", message, "make large values NoDiff[Param[...]]: a Param is in a buffer")

    def buffer(self, dtype: np.dtype[Any], count: int) -> GpuBuffer:
        """Allocate memory on the device."""
        import slangpy

        self._queue.require_memory(dtype.itemsize * count)
        use = slangpy.BufferUsage
        usage = use.shader_resource | use.unordered_access | use.copy_source | use.copy_destination
        in_word = max(1, WORD // dtype.itemsize)  # Vulkan sets whole words to zero
        room = -(-max(1, count) // in_word) * in_word
        try:
            handle = self.handle.create_buffer(element_count=room, struct_size=dtype.itemsize, usage=usage)
        except (RuntimeError, MemoryError):
            raise too_little_memory(self.name, dtype.itemsize * count) from None
        return GpuBuffer(dtype, count, handle, self._queue)

    def texture(self, texels: npt.NDArray[Any], sampler: Texture) -> slangpy.Texture:
        """Return a texture that the hardware filters."""
        import numpy as np
        import slangpy

        height, width = texels.shape[:2]
        channels = texels.shape[2] if texels.ndim == 3 else 1
        form = {1: slangpy.Format.r32_float, 2: slangpy.Format.rg32_float, 4: slangpy.Format.rgba32_float}[channels]
        data = np.require(texels, requirements=_TAKEN)
        usage = slangpy.TextureUsage.shader_resource | slangpy.TextureUsage.copy_destination
        self._queue.require_memory(2 * texels.nbytes)
        try:
            return self.handle.create_texture(
                format=form, width=width, height=height, usage=usage, data=data, sampler=self.sampler(sampler)
            )
        except (RuntimeError, MemoryError):
            raise too_little_memory(self.name, texels.nbytes) from None

    def sampler(self, texture: Texture) -> slangpy.Sampler:
        """Return a sampler with the texture's filter and address mode."""
        import slangpy

        modes = slangpy.TextureAddressingMode
        mode = {"clamp": modes.clamp_to_edge, "repeat": modes.wrap, "mirror": modes.mirror_repeat}[texture.address]
        linear = texture.filter == "bilinear"
        wish = slangpy.TextureFilteringMode.linear if linear else slangpy.TextureFilteringMode.point
        return self.handle.create_sampler(
            min_filter=wish,
            mag_filter=wish,
            mip_filter=slangpy.TextureFilteringMode.point,
            address_u=mode,
            address_v=mode,
        )

    def submit(self, launches: Sequence[KernelLaunch], cleared: Sequence[DeviceBuffer] = ()) -> None:
        """Put launches into one command buffer, or into the graph that torch captures; returns while they run."""
        if self._is_captured:
            self._record(launches)
            return
        self._captured.enter(None)
        try:
            encoder = self.handle.create_command_encoder()
            _clear(encoder, cleared)
            with encoder.begin_compute_pass() as compute:
                for launch in launches:
                    assert isinstance(launch.program, GpuProgram)  # noqa: S101  (load gave it)
                    parameters = self._kept.of(launch, partial(_bound, launch, self.handle))
                    compute.bind_pipeline(launch.program.kernels[launch.entry].pipeline, parameters)
                    compute.dispatch(list(launch.threads))
            self._queue.submit(encoder.finish())
        except RuntimeError as error:
            raise _broken(self.name, error) from None

    def zeroing(self, buffers: Sequence[DeviceBuffer]) -> tuple[list[KernelLaunch], list[DeviceBuffer]]:
        """Return launches that set buffers to zero, and the other buffers, for which commands of the driver are faster.

        On Vulkan these are all, and so are a few on CUDA.
        """
        whole = [buffer for buffer in buffers if is_whole(buffer)]
        if self.name != "cuda" or len(whole) <= AT_MOST_ALONE:
            return [], [*buffers]
        if self._zero is None:
            self._zero = self.load(ZERO, BuildOptions(), (ZERO_ENTRY,))
        return [*zero_launches(self._zero, whole)], [buffer for buffer in buffers if not is_whole(buffer)]

    def repeatable(self, launches: Sequence[KernelLaunch], place: object = None) -> Repeatable | None:
        """Return launches that are submitted many times: on cuda from a graph, which the driver starts at once."""
        return _Replayed(self, launches, place) if self.name == "cuda" else None

    @property
    def _is_captured(self) -> bool:
        """Return True while torch captures what is submitted here in a CUDA graph."""
        return self.name == "cuda" and is_captured()

    def _record(self, launches: Sequence[KernelLaunch]) -> None:
        self._captured.record(_with_kernels(launches))

    def prepared_launches(
        self, launches: Sequence[KernelLaunch], buffers: Sequence[Addressed], zeroed: Sequence[tuple[int, int]]
    ) -> PreparedLaunches | None:
        """Return launches that start at once in any stream, with other buffers; None if this device has no such.

        Args:
            launches: Launches that have run.
            buffers: Their buffers, at least one.
            zeroed: Buffers that start at zero, by number, with their bytes.

        Raises:
            ToolchainError: A launch has a texture or a struct passed by value, or the driver failed.
        """
        if self.name != "cuda":
            return None
        self.handle.set_cuda_context_current()
        if not is_primary_at(int(buffers[0].view[0])):
            return None
        first, alone = self.zeroing([buffers[number] for number, _ in zeroed])
        rest = {id(buffer) for buffer in alone}
        one_by_one = [(number, size) for number, size in zeroed if id(buffers[number]) in rest]
        return PreparedLaunches(self._captured, _with_kernels(launches), buffers, one_by_one, _with_kernels(first))

    def enter(self, stream: int | None) -> None:
        """Wait for prepared launches in other streams whose arguments the next launches replace."""
        self._captured.enter(stream)

    def graph_of(self, launches: Sequence[KernelLaunch]) -> LaunchGraph:
        """Return launches as a CUDA graph.

        Raises:
            ToolchainError: A launch has arguments that a graph can't hold, or the driver failed.
        """
        self.handle.set_cuda_context_current()
        return self._captured.graph(_with_kernels(launches), self.buffer)

    def wait(self) -> None:
        """Wait until everything submitted is done; while torch captures, do nothing."""
        if self._is_captured:
            return
        try:
            self._queue.finish()
            self.handle.wait()
        except RuntimeError as error:
            raise _broken(self.name, error) from None

    def close(self) -> None:
        """Release the device, unless it is busy after an interrupt: releasing would wait."""
        for remove in self._folders:
            remove()
        if self._queue.is_left:
            leave_busy(self)
            return
        self._kept.clear()
        self._modules.clear()
        self._zero = None
        self.handle.close()


def _with_kernels(launches: Sequence[KernelLaunch]) -> list[tuple[KernelLaunch, slangpy.ComputeKernel]]:
    kernels = []
    for launch in launches:
        assert isinstance(launch.program, GpuProgram)  # noqa: S101  (load gave it)
        kernels.append((launch, launch.program.kernels[launch.entry]))
    return kernels


@dataclass(slots=True)
class _Replayed:
    """Launches on cuda that run many times: the first time one by one, then as a graph unless one can't hold them.

    slangpy waits for the launches before each of its own. Graphs in the stream of torch don't.
    """

    device: GpuDevice
    launches: Sequence[KernelLaunch]
    place: object = None
    graph: LaunchGraph | None = None
    is_plain: bool = False
    has_run: bool = False

    def submit(self, times: int) -> None:
        """Run the launches so many times; waits for those of a graph that is not in the stream of torch."""
        if self.has_run and self.graph is None and not self.is_plain:
            try:
                self.graph = self.device.graph_of(self.launches)
                self.device.wait()
            except ToolchainError:  # a texture, say
                self.is_plain = True
        self.has_run = True
        self.device.enter(None if self.place is None else current_stream(self.place))
        if self.graph is None:
            self.device.submit([*self.launches] * times)
            return
        if self.place is not None:
            self.graph.start(times, current_stream(self.place))
            return
        self.device.wait()
        self.graph.replay(times)

    def close(self) -> None:
        """Release the graph."""
        if self.graph is not None:
            self.graph.close()
        self.graph = None


def _bound(launch: KernelLaunch, device: slangpy.Device) -> slangpy.ShaderObject:
    """Return the parameters of a launch, set through a cursor: user names may equal argument names."""
    import slangpy

    assert isinstance(launch.program, GpuProgram)  # noqa: S101  (load gave it)
    root = device.create_root_shader_object(launch.program.kernels[launch.entry].program)
    shared = slangpy.ShaderCursor(root)
    parameters = shared.find_entry_point(0)
    for name, value in launch.bindings.items():
        place = shared if name in launch.shared else parameters
        if isinstance(value, TensorBuffer):
            place[name].set_data(value.view)
        else:
            place[name] = value.handle if isinstance(value, GpuBuffer) else value
    return root


def open_gpu(name: str, _limit: float | None = None) -> GpuDevice:
    """Open a slangpy device.

    Raises:
        ToolchainError: There is none here, or its driver doesn't work.
    """
    import slangpy

    kind = DEVICES[name]
    with captured_prints() as printed:
        try:
            kind_of = getattr(slangpy.DeviceType, name)
            context, adapter = _torch_context(name), _adapter_of_rank(name, kind_of)
            opened = partial(
                slangpy.Device, type=kind_of, enable_print=False, existing_device_handles=context, adapter_luid=adapter
            )
            device = opened_apart(opened)
        except RuntimeError as error:
            untested = "" if kind.tested else "; slangad was never tried on it"
            raise failed(
                "SA249",
                f"the device {name} can't be used: {_lines(error)[0]}{untested}",
                f"{kind.remedy}; `slangad doctor` shows what works here",
                printed()[-_NOTES:],
            ) from None
    return GpuDevice(name, device)


def opened_apart(opened: Callable[[], slangpy.Device]) -> slangpy.Device:
    """Open a slangpy device in a thread that ends at once.

    A thread that opens a device keeps a pointer to the device's types, and Slang follows it whenever that thread binds
    the parameters of a kernel, on any device. If another thread then closes the device, as the garbage collector does
    in whatever thread it runs, the process dies (docs/slang-notes.md). A thread without such a pointer needs none.
    """
    found: list[slangpy.Device | BaseException] = []

    def run() -> None:
        try:
            found.append(opened())
        except BaseException as error:
            found.append(error)

    thread = Thread(target=run)
    thread.start()
    thread.join()
    (result,) = found
    if isinstance(result, BaseException):
        raise result
    return result


def _torch_context(name: str) -> list[slangpy.NativeHandle] | None:
    """Return the CUDA context of torch, if it has one, so that its tensors need no copy."""
    import slangpy

    torch = sys.modules.get("torch")
    if name != "cuda" or torch is None or not torch.cuda.is_available():
        return None
    torch.cuda.init()
    torch.cuda.current_stream().synchronize()
    return list(slangpy.get_cuda_current_context_native_handles())


def _adapter_of_rank(name: str, kind: slangpy.DeviceType) -> Sequence[int] | None:
    """Return the GPU of a rank of torchrun, by its number on this machine; None for the first one.

    On cuda torch chooses it, or the variable CUDA_VISIBLE_DEVICES.
    """
    import slangpy

    local = os.environ.get("LOCAL_RANK", "")
    if name == "cuda" or not local.isdecimal() or "WORLD_SIZE" not in os.environ:
        return None
    adapters = [one for one in slangpy.Device.enumerate_adapters(kind) if not is_software(one.name)]
    return list(adapters[int(local) % len(adapters)].luid) if adapters else None


@contextmanager
def captured_prints() -> Iterator[Callable[[], tuple[str, ...]]]:
    """Keep what drivers print from the user's terminal and files; yields a function that gives the lines of it."""
    with temporary_files():
        prints = tempfile.TemporaryFile()  # noqa: SIM115  (closed below)
    with _CAPTURING, prints as file:
        kept = {number: os.dup(number) for number in (1, 2)}

        def printed_lines() -> tuple[str, ...]:
            file.seek(0)
            text = _ESCAPES.sub("", file.read().decode("utf-8", "replace"))
            return tuple(dict.fromkeys(line.strip() for line in text.splitlines() if line.strip()))

        try:
            for number in kept:
                os.dup2(file.fileno(), number)
            yield printed_lines
        finally:
            for number, before in kept.items():
                os.dup2(before, number)
                os.close(before)


def _module_name(emitted: EmittedModule) -> str:
    """Return a name that is unique to a text: a session may keep modules by name."""
    digest = hashlib.sha256(emitted.text.encode()).hexdigest()[:12]
    return f"{Path(emitted.file_name).stem}_{digest}"


def _name_of(device: slangpy.Device) -> str:
    return str(device.info.type.name)


def _broken(name: str, error: RuntimeError) -> ToolchainError:
    what, remedy = f"the device {name} failed while it ran", "`slangad doctor` tests it"
    if _REFUSED in str(error):
        what = f"the driver of {name} did not take a kernel that Slang had compiled"
        remedy = (
            "a thread may keep too much: `slangad compile -v` says what loops keep. Read before a loop what it does not"
            " change, such as a matrix of a struct (`k = head.k`), or take another device"
        )
    return failed("SA252", what, remedy, _lines(error))


def _lines(error: Exception) -> tuple[str, ...]:
    return tuple(line for line in str(error).splitlines() if line.strip())[:_NOTES] or (type(error).__name__,)
