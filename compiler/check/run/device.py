"""Load float32 kernels on a device other than the CPU and launch them."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from slangad.compiler.check.run.thread import SeparateModules
from slangad.compiler.emit.model import symbols
from slangad.compiler.errors.diagnostics import SlangadError
from slangad.compiler.runtime.device.model import BuildOptions, Device, DeviceProgram, KernelLaunch
from slangad.compiler.runtime.device.open import open_device

if TYPE_CHECKING:
    from collections.abc import Collection, Mapping

    import numpy.typing as npt

    from slangad.compiler.emit.model import EmittedModule, EntryPoint


@dataclass(frozen=True, slots=True)
class DeviceJob:
    """The job with which a worker runs float32 kernels on a device.

    Attributes:
        refused: The kernels that it cannot run, with the reason.
        apart: The kernels whose entry points are loaded one by one (see ``build/separately.py``).
    """

    name: str
    emitted: EmittedModule
    source: BuildOptions
    refused: Mapping[str, str]
    apart: frozenset[str] = frozenset()


@dataclass(frozen=True, slots=True)
class DeviceModule:
    """A program on a device, with the interface of ``CpuModule``."""

    device: Device
    program: DeviceProgram

    def launch(
        self,
        entry: str,
        thread_count: tuple[int, int, int],
        buffers: Mapping[str, npt.NDArray[np.generic]],
        uniforms: Mapping[str, object],
        *,
        workers: int | None = None,  # noqa: ARG002  (the device's own business)
    ) -> None:
        """Run a kernel. Buffers that it may write are updated in place."""
        point = next(e for e in self.program.emitted.entry_points if e.name == entry)
        written = {p.name for p in point.parameters if p.access != "read"}
        held = {name: self.device.buffer(array.dtype, array.size) for name, array in buffers.items()}
        for name, buffer in held.items():
            buffer.upload(np.ascontiguousarray(buffers[name]).reshape(-1))
        self.device.submit([KernelLaunch(self.program, entry, thread_count, {**held, **uniforms})])
        for name, buffer in held.items():
            if name in written:
                buffers[name][...] = buffer.download().reshape(buffers[name].shape)
            buffer.close()


class DevicePrograms:
    """The kernels of one file on a device, loaded together, or kernel by kernel if that fails."""

    def __init__(self, job: DeviceJob) -> None:
        self._job = job
        self._device: Device | None = None
        self._whole: DeviceModule | None = None
        self._tried = False

    @property
    def entries(self) -> tuple[EntryPoint, ...]:
        """All entry points of the file."""
        return self._job.emitted.entry_points

    def module(self, entries: Collection[str]) -> DeviceModule | str:
        """Return the module that launches these entry points, or the reason why the device refuses them."""
        points = self._job.emitted.entry_points
        kernels = {e.kernel for e in points if e.symbol in entries}
        for kernel in kernels.intersection(self._job.refused):
            return self._job.refused[kernel]
        if kernels & self._job.apart:
            return self._load(entries)
        if not self._tried:
            self._tried = True
            out = {*self._job.refused, *self._job.apart}
            whole = self._load(symbols(e for e in points if e.kernel not in out))
            self._whole = None if isinstance(whole, str) else whole
        return self._whole or self._load(entries)

    def kernel(self, name: str) -> DeviceModule | SeparateModules | str:
        """Return the object that launches a kernel, or the reason why the device refuses it."""
        entries = symbols(e for e in self._job.emitted.entry_points if e.kernel == name)
        if name not in self._job.apart or name in self._job.refused:
            return self.module(entries)
        result: dict[str, DeviceModule] = {}
        for entry in entries:
            module = self._load([entry])
            if isinstance(module, str):
                return module
            result[entry] = module
        return SeparateModules(result)

    def _load(self, entries: Collection[str]) -> DeviceModule | str:
        try:
            if self._device is None:
                self._device = open_device(self._job.name)
            return DeviceModule(self._device, self._device.load(self._job.emitted, self._job.source, entries))
        except SlangadError as error:
            return str(error)
