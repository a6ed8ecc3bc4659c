"""Run WGSL kernels through wgpu, on a Vulkan, Metal or Direct3D 12 driver.

WebGPU has no double, no atomics of floats, and limits on bindings. ``webgpu_limits`` refuses a kernel that exceeds them
before the driver sees it.
"""

from __future__ import annotations

from concurrent.futures import Future
from dataclasses import dataclass, field
from functools import partial
from threading import RLock, Thread
from typing import TYPE_CHECKING, Any, Final

from slangad.compiler.emit.model import symbols
from slangad.compiler.ir.targets import ROLLED
from slangad.compiler.runtime.device.choice import is_software
from slangad.compiler.runtime.device.gpu_launches import KeptBindings, copies_of, leave_busy, spread
from slangad.compiler.runtime.device.memory import too_little_memory
from slangad.compiler.runtime.device.reached_text import compile_reached
from slangad.compiler.runtime.device.slangpy_device import captured_prints
from slangad.compiler.runtime.device.table import DEVICES
from slangad.compiler.runtime.device.webgpu_limits import (
    check_groups,
    check_memory,
    check_shader,
    check_texture,
    check_types,
    no_double,
)
from slangad.compiler.runtime.device.wgsl import STORAGE, UNIFORM, read_shader
from slangad.compiler.toolchain.jobs.request import CompileJob
from slangad.compiler.toolchain.messages.failures import failed

if TYPE_CHECKING:
    from collections.abc import Collection, Sequence

    import numpy as np
    import numpy.typing as npt
    import wgpu

    from slangad.compiler.emit.model import EmittedModule
    from slangad.compiler.errors.diagnostics import ToolchainError
    from slangad.compiler.ir.types import Texture
    from slangad.compiler.runtime.device.model import BuildOptions, DeviceBuffer, KernelLaunch
    from slangad.compiler.runtime.device.wgsl import Binding, Shader

_NAME: Final = "webgpu"
_TARGET: Final = DEVICES[_NAME].target
_NOTES: Final = 5
_WORD: Final = 4
"""Sizes and copies are multiples of this many bytes."""
_ELEMENT: Final = 64
"""Bytes of the largest element, a matrix: a buffer that is bound has room for one, even if nothing is in it."""
_DOUBLE: Final = "'double' type emitted"
"""Slang's message about a double."""
_FILTERABLE: Final = "float32-filterable"
_HALF: Final = "shader-f16"
_WANTED_LIMITS: Final = (
    "max-bindings-per-bind-group",
    "max-buffer-size",
    "max-compute-invocations-per-workgroup",
    "max-compute-workgroup-size-x",
    "max-compute-workgroup-size-y",
    "max-compute-workgroup-size-z",
    "max-compute-workgroup-storage-size",
    "max-compute-workgroups-per-dimension",
    "max-sampled-textures-per-shader-stage",
    "max-storage-buffer-binding-size",
    "max-storage-buffers-per-shader-stage",
    "max-texture-dimension-2d",
    "max-uniform-buffer-binding-size",
)
"""Those that are asked for at the adapter's best."""


@dataclass(frozen=True, slots=True)
class LoadedShader:
    """An entry point that is ready to be launched."""

    shader: Shader
    pipeline: wgpu.GPUComputePipeline
    layout: wgpu.GPUBindGroupLayout


@dataclass(eq=False)
class WebgpuProgram:
    """An emitted module on one device."""

    emitted: EmittedModule
    kernels: dict[str, LoadedShader] = field(default_factory=dict)


@dataclass(slots=True)
class _WgpuQueue:
    """A device's queue, and waiting for it such that signals are heard: wgpu itself waits deaf."""

    device: wgpu.GPUDevice
    waiting: Future[memoryview] | None = None

    @property
    def is_left(self) -> bool:
        """Return True if a wait was interrupted and the submission still runs."""
        return self.waiting is not None and not self.waiting.done()

    def read(self, buffer: wgpu.GPUBuffer) -> memoryview:
        """Return the contents of a buffer after all submissions. A thread waits, so that signals are heard."""
        future = self.waiting = Future()

        def work() -> None:
            try:
                future.set_result(self.device.queue.read_buffer(buffer))
            except BaseException as error:  # raised by the waiting thread
                future.set_exception(error)

        Thread(target=work, daemon=True).start()
        return future.result()


@dataclass(slots=True)
class WebgpuBuffer:
    """Scalars on a GPU; ``handle`` has room for whole words."""

    dtype: np.dtype[Any]
    count: int
    handle: wgpu.GPUBuffer
    queue: _WgpuQueue

    def upload(self, array: npt.NDArray[Any]) -> None:
        """Copy an array of as many scalars to the device."""
        import numpy as np
        import wgpu

        data = np.ascontiguousarray(array, self.dtype).reshape(-1).view("u1")
        spare = -len(data) % _WORD
        try:
            if len(data):
                self.queue.device.queue.write_buffer(self.handle, 0, np.pad(data, (0, spare)) if spare else data)
        except wgpu.GPUError as error:
            raise _broken(error) from None

    def download(self) -> npt.NDArray[Any]:
        """Return a copy of its contents; waits for all earlier commands."""
        import numpy as np
        import wgpu

        try:
            data = self.queue.read(self.handle)
        except wgpu.GPUError as error:
            raise _broken(error) from None
        array: npt.NDArray[Any] = np.frombuffer(data, "u1")[: self.count * self.dtype.itemsize].view(self.dtype)
        return array if array.flags.writeable else array.copy()

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
        self.queue.device.queue.submit([encoder.finish()])

    def close(self) -> None:
        """Release the memory; earlier submissions keep it alive."""
        if not self.queue.is_left:
            self.handle.destroy()


class WebgpuDevice:
    """A wgpu device."""

    name = _NAME
    host = False
    has_last_group = False

    def __init__(self, handle: wgpu.GPUDevice) -> None:
        self.lock = RLock()
        self.handle = handle
        self._queue = _WgpuQueue(handle)
        self._kept: KeptBindings[wgpu.GPUBindGroup] = KeptBindings()

    @property
    def adapter(self) -> str:
        """Return the driver's name for it."""
        return str(self.handle.adapter.info["device"])

    def __enter__(self) -> WebgpuDevice:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def parts(self, elements: int, group: int, totals: int, *, scatters: bool) -> int:
        """Return one group per fixed number of elements, at most what keeps a large GPU busy."""
        return spread(elements, group, totals, self.name if scatters else "")

    def copies(self, elements: int, scalars: int, *, alone: bool = False) -> int:
        """Return the number of copies: more for small tensors, whose elements take many additions each."""
        return copies_of(elements, scalars, alone=alone)

    # --- programs ---

    def load(self, emitted: EmittedModule, source: BuildOptions, entries: Collection[str]) -> WebgpuProgram:
        """Compile entry points of a module to WGSL, and that for the driver; Slang's part of it is cached."""
        import wgpu

        check_types(emitted, entries)
        program = WebgpuProgram(emitted)
        for shader in self._shaders(emitted, source, entries):
            check_shader(shader, self.handle.limits, self.handle.features)
            try:
                program.kernels[shader.entry] = self._kernel(shader)
            except wgpu.GPUError as error:
                raise _not_taken(emitted, _lines(error)) from None
        return program

    def _shaders(self, emitted: EmittedModule, source: BuildOptions, entries: Collection[str]) -> list[Shader]:
        has = {
            "SLANGAD_NO_FILTERS": _FILTERABLE not in self.handle.features,
            ROLLED: is_software(self.adapter),
        }
        job = CompileJob(
            name=emitted.file_name,
            source=emitted.text,
            entry_points=symbols(e for e in emitted.entry_points if e.symbol in entries),
            targets=(_TARGET,),
            modules=tuple(emitted.libraries.items()),
            include_dirs=source.include_dirs,
            defines=(*source.defines, *((macro, "") for macro, here in has.items() if here)),
        )
        result = compile_reached(job, emitted, source.cache)
        if not result.ok:
            errors = [message.text for message in result.messages if message.is_error]
            if any(_DOUBLE in error for error in errors):
                raise no_double(emitted.file_name)
            raise _not_taken(emitted, (*errors, *(d.message for d in result.diagnostics))[:_NOTES])
        return [
            read_shader(artefact.entry, artefact.text, result.reflection_text(_TARGET, artefact.entry) or "")
            for artefact in result.artefacts
        ]

    def _kernel(self, shader: Shader) -> LoadedShader:
        module = self.handle.create_shader_module(code=shader.code)
        sampled = "float" if _FILTERABLE in self.handle.features else "unfilterable-float"
        rows = [{"binding": slot.number, "visibility": "COMPUTE", **_row(slot, sampled)} for slot in shader.slots]
        layout = self.handle.create_bind_group_layout(entries=rows)
        pipeline = self.handle.create_compute_pipeline(
            layout=self.handle.create_pipeline_layout(bind_group_layouts=[layout]),
            compute={"module": module, "entry_point": shader.entry},
        )
        return LoadedShader(shader, pipeline, layout)

    # --- memory ---

    def buffer(self, dtype: np.dtype[Any], count: int) -> WebgpuBuffer:
        """Allocate memory on the device."""
        import wgpu

        size = max(_ELEMENT, -(-count * dtype.itemsize // _WORD) * _WORD)
        check_memory(size, self.handle.limits)
        usage = wgpu.BufferUsage.STORAGE | wgpu.BufferUsage.COPY_SRC | wgpu.BufferUsage.COPY_DST
        try:
            return WebgpuBuffer(dtype, count, self.handle.create_buffer(size=size, usage=usage), self._queue)
        except wgpu.GPUError:
            raise too_little_memory(self.name, size) from None

    def texture(self, texels: npt.NDArray[Any], sampler: Texture) -> wgpu.GPUTextureView:  # noqa: ARG002  (bound apart)
        """Return a texture that the hardware filters, if it can."""
        import numpy as np
        import wgpu

        height, width = texels.shape[:2]
        check_texture(height, width, self.handle.limits)
        channels = texels.shape[2] if texels.ndim == 3 else 1
        form = {1: "r32float", 2: "rg32float", 4: "rgba32float"}[channels]
        usage = wgpu.TextureUsage.TEXTURE_BINDING | wgpu.TextureUsage.COPY_DST
        rows = {"bytes_per_row": width * channels * texels.itemsize, "rows_per_image": height}
        try:
            made = self.handle.create_texture(size=(width, height, 1), format=form, usage=usage)
            self.handle.queue.write_texture({"texture": made}, np.ascontiguousarray(texels), rows, (width, height, 1))
        except wgpu.GPUError:
            raise too_little_memory(self.name, texels.nbytes) from None
        return made.create_view()

    def sampler(self, texture: Texture) -> wgpu.GPUSampler:
        """Return a sampler with the texture's filter and address mode."""
        mode = {"clamp": "clamp-to-edge", "repeat": "repeat", "mirror": "mirror-repeat"}[texture.address]
        wish = "linear" if texture.filter == "bilinear" else "nearest"
        return self.handle.create_sampler(
            address_mode_u=mode, address_mode_v=mode, mag_filter=wish, min_filter=wish, mipmap_filter="nearest"
        )

    # --- launches ---

    def submit(self, launches: Sequence[KernelLaunch], cleared: Sequence[DeviceBuffer] = ()) -> None:
        """Put launches into one command buffer; returns while they run."""
        import wgpu

        try:
            encoder = self.handle.create_command_encoder()
            for buffer in cleared:
                assert isinstance(buffer, WebgpuBuffer)  # noqa: S101  (this device made it)
                encoder.clear_buffer(buffer.handle)
            compute = encoder.begin_compute_pass()
            for launch in launches:
                assert isinstance(launch.program, WebgpuProgram)  # noqa: S101  (load gave it)
                kernel = launch.program.kernels[launch.entry]
                compute.set_pipeline(kernel.pipeline)
                compute.set_bind_group(0, self._kept.of(launch, partial(self._bind, launch, kernel)))
                groups = [-(-n // size) for n, size in zip(launch.threads, kernel.shader.group, strict=True)]
                check_groups(launch.entry, groups, self.handle.limits)
                compute.dispatch_workgroups(*groups)
            compute.end()
            self.handle.queue.submit([encoder.finish()])
        except wgpu.GPUError as error:
            raise _broken(error) from None

    def _bind(self, launch: KernelLaunch, kernel: LoadedShader) -> wgpu.GPUBindGroup:
        rows = [{"binding": slot.number, "resource": self._resource(slot, launch)} for slot in kernel.shader.slots]
        return self.handle.create_bind_group(layout=kernel.layout, entries=rows)

    def _resource(self, slot: Binding, launch: KernelLaunch) -> object:
        import wgpu

        if slot.kind == UNIFORM:
            block = slot.block(launch.bindings, launch.shared)
            made = self.handle.create_buffer_with_data(data=block, usage=wgpu.BufferUsage.UNIFORM)
            return {"buffer": made, "offset": 0, "size": len(block)}
        value = launch.bindings[slot.name]
        if isinstance(value, WebgpuBuffer):
            return {"buffer": value.handle, "offset": 0, "size": value.handle.size}
        return value

    def wait(self) -> None:
        """Wait until everything submitted is done."""
        self.handle.queue.on_submitted_work_done_sync()

    def close(self) -> None:
        """Release the device, unless a wait was interrupted, since releasing would resume it."""
        if self._queue.is_left:
            leave_busy(self)
            return
        self._kept.clear()
        self.handle.destroy()


def open_webgpu(_name: str = _NAME, _limit: float | None = None) -> WebgpuDevice:
    """Open the adapter that wgpu considers fastest, with its best limits.

    Raises:
        ToolchainError: wgpu isn't installed, or finds no adapter that works.
    """
    try:
        import wgpu
    except (ImportError, OSError) as error:
        raise _missing(_lines(error)) from None
    with captured_prints() as printed:
        try:
            adapter = wgpu.gpu.request_adapter_sync(power_preference="high-performance")
            handle = adapter.request_device_sync(
                required_features=[name for name in (_FILTERABLE, _HALF) if name in adapter.features],
                required_limits={name: adapter.limits[name] for name in _WANTED_LIMITS if name in adapter.limits},
            )
        except (RuntimeError, wgpu.GPUError) as error:
            raise _missing((*_lines(error), *printed())[:_NOTES]) from None
    return WebgpuDevice(handle)


def _missing(notes: tuple[str, ...]) -> ToolchainError:
    message = f"the device {_NAME} can't be used: {notes[0]}"
    return failed("SA249", message, f"{DEVICES[_NAME].remedy}; `slangad doctor` shows what works here", notes[1:])


def _row(slot: Binding, sampled: str) -> dict[str, object]:
    """Return the layout entry of a slot."""
    if slot.kind in (UNIFORM, *STORAGE):
        return {"buffer": {"type": slot.kind}}
    return {"sampler": {"type": "filtering"}} if slot.kind == "sampler" else {"texture": {"sample_type": sampled}}


def _not_taken(emitted: EmittedModule, notes: tuple[str, ...]) -> ToolchainError:
    return failed("SA249", f"{_NAME} rejected {emitted.file_name}", notes=notes)


def _broken(error: Exception) -> ToolchainError:
    return failed("SA252", f"the device {_NAME} failed while it ran", "`slangad doctor` tests it", _lines(error))


def _lines(error: Exception) -> tuple[str, ...]:
    return tuple(line for line in str(error).splitlines() if line.strip())[:_NOTES] or (type(error).__name__,)
