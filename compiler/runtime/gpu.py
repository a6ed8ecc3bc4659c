"""Emitted Slang on a GPU through slangpy: the same ``launch`` as ``cpu.CpuModule``, on Vulkan, CUDA, D3D12 or Metal.

Goes in: a module's Slang text and the libraries it imports. Arrays are copied to the device and, where the kernel may
write them, back.
"""

from __future__ import annotations

import tempfile
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any

from slangad.compiler.toolchain.failures import failed

if TYPE_CHECKING:
    from collections.abc import Mapping

    import numpy.typing as npt
    import slangpy

    from slangad.compiler.emit.model import EmittedModule

BACKENDS = ("vulkan", "cuda", "d3d12", "metal")
"""Devices that slangpy drives."""


@dataclass(slots=True)
class GpuModule:
    """An emitted module loaded on one device; kernels are made when they are first launched."""

    device: slangpy.Device
    module: slangpy.SlangModule
    emitted: EmittedModule
    kernels: dict[str, slangpy.ComputeKernel] = field(default_factory=dict)

    def launch(
        self,
        entry: str,
        thread_count: tuple[int, int, int],
        buffers: Mapping[str, npt.NDArray[Any]],
        uniforms: Mapping[str, object],
    ) -> None:
        """Run at least ``thread_count`` threads of a kernel, in whole groups; written arrays are updated in place.

        Args:
            entry: The entry point's name.
            thread_count: Threads wanted along x, y and z.
            buffers: An array for every buffer parameter, of its scalar type.
            uniforms: A value for every other parameter.
        """
        known = next(e for e in self.emitted.entry_points if e.name == entry)
        expected = {p.name for p in known.parameters}
        if expected != {*buffers, *uniforms}:
            raise KeyError(
                f"{entry}: {', '.join(sorted(expected ^ {*buffers, *uniforms}))} given but no parameter, or the reverse"
            )
        held = {name: self._upload(array) for name, array in buffers.items()}
        self._kernel(entry).dispatch(thread_count=list(thread_count), **held, **uniforms)
        for parameter in known.parameters:
            if parameter.access == "write":
                array = buffers[parameter.name]
                array[...] = held[parameter.name].to_numpy().view(array.dtype)[: array.size].reshape(array.shape)

    def _upload(self, array: npt.NDArray[Any]) -> slangpy.Buffer:
        import numpy as np
        import slangpy

        usage = slangpy.BufferUsage.shader_resource | slangpy.BufferUsage.unordered_access
        data = np.ascontiguousarray(array).reshape(-1)
        if data.size == 0:
            data = np.zeros(1, array.dtype)
        return self.device.create_buffer(element_count=data.size, struct_size=data.itemsize, usage=usage, data=data)

    def _kernel(self, entry: str) -> slangpy.ComputeKernel:
        if entry not in self.kernels:
            program = self.device.link_program([self.module], [self.module.entry_point(entry)])
            self.kernels[entry] = self.device.create_compute_kernel(program)
        return self.kernels[entry]


def load_on(backend: str, emitted: EmittedModule) -> GpuModule:
    """Load an emitted module on a device.

    Raises:
        ToolchainError: There is no such device here, or it does not take the module.
    """
    import slangpy

    with tempfile.TemporaryDirectory(prefix="slangad-") as folder:
        for name, text in emitted.libraries.items():
            (Path(folder) / name).write_text(text, encoding="utf-8")
        try:
            options = slangpy.SlangCompilerOptions({"include_paths": [Path(folder)]})
            kind = getattr(slangpy.DeviceType, backend)
            device = slangpy.Device(type=kind, compiler_options=options, enable_print=False)
        except RuntimeError as error:
            reason = next(iter(str(error).splitlines()), "")
            raise failed(
                "SA249", f"the device {backend} can't be used: {reason}", "slangad doctor tells what works here"
            ) from None
        try:
            module = device.load_module_from_source(Path(emitted.file_name).stem, emitted.text)
        except RuntimeError as error:
            raise failed(
                "SA249", f"{backend} does not take {emitted.file_name}", "", tuple(str(error).splitlines()[:5])
            ) from None
    return GpuModule(device, module, emitted)
