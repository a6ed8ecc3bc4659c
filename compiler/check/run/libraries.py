"""Load built libraries when they are first needed: kernels by name, as functions of rows of numbers."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, TypeAlias

from slangad.compiler.check.model.columns import input_table, result_table
from slangad.compiler.check.model.launch_columns import launch_inputs, launch_results
from slangad.compiler.check.run.device import DeviceModule, DevicePrograms
from slangad.compiler.check.run.launch import LaunchRunner
from slangad.compiler.check.run.on_device import LaunchOnDevice
from slangad.compiler.check.run.row_device import RowDevice, loaded_program
from slangad.compiler.check.run.thread import F32, F64, KernelModule, SeparateModules, ThreadRunner
from slangad.compiler.emit.model import symbols
from slangad.compiler.runtime.device.cpu_kernels import load_module

if TYPE_CHECKING:
    from collections.abc import Iterable

    from slangad.compiler.check.build.libraries import Library
    from slangad.compiler.check.model.launch_columns import Extents
    from slangad.compiler.check.run.device import DeviceJob
    from slangad.compiler.emit.model import EntryPoint, Mode
    from slangad.compiler.ir.nodes import Kernel
    from slangad.compiler.runtime.device.cpu_kernels import CpuModule

    Points: TypeAlias = "list[EntryPoint]"


@dataclass(frozen=True, slots=True)
class LibraryFiles:
    """The libraries of one file in both precisions, and where else float32 is to run."""

    f64: tuple[Library, ...] = ()
    f32: tuple[Library, ...] = ()
    device: DeviceJob | None = None


class Libraries:
    """Kernels of one file, ready to run."""

    def __init__(self, files: LibraryFiles) -> None:
        self._files = files
        self._modules: dict[tuple[bool, int], CpuModule] = {}
        self._device: DevicePrograms | None = None

    def holding(self, kernel: str, *, f64: bool) -> tuple[CpuModule, Points] | None:
        """Return the library that holds a kernel, with the kernel's entry points in it; None if none does."""
        for number, library in enumerate(self._files.f64 if f64 else self._files.f32):
            points = [entry for entry in library.entries if entry.kernel == kernel]
            if points:
                return self._module(number, f64=f64), points
        return None

    def thread(self, kernel: Kernel, *, f64: bool = True) -> ThreadRunner:
        """Return a kernel thread by thread."""
        module, points = self._entries(kernel, f64=f64)
        tables = input_table(kernel), result_table(kernel)
        return ThreadRunner(module, F64 if f64 else F32, {e.mode: e for e in points}, *tables)

    def launch(self, kernel: Kernel, extents: Extents, *, f64: bool = True) -> LaunchRunner:
        """Return a kernel launch by launch, for launches of one size."""
        module, points = self.holding(kernel.name, f64=f64) or (self._module(0, f64=f64), [])
        tables = launch_inputs(kernel, extents), launch_results(kernel, extents)
        return LaunchRunner(module, F64 if f64 else F32, _by_mode(points), kernel, extents, *tables)

    def thread_on_device(self, kernel: Kernel) -> ThreadRunner | str | None:
        """Return a kernel on the device, or why the device does not take it; None if the CPU is the device."""
        programs = self._programs()
        if programs is None:
            return None
        module = programs.kernel(kernel.name)
        if isinstance(module, str):
            return module
        entries = {e.mode: e for e in programs.entries if e.kernel == kernel.name}
        return ThreadRunner(module, F32, entries, input_table(kernel), result_table(kernel))

    def launch_on_device(self, kernel: Kernel, extents: Extents) -> LaunchOnDevice | str | None:
        """Return the same launch by launch."""
        held = self.on_device(kernel.name)
        if held is None or isinstance(held, str):
            return held
        module, points = held
        tables = launch_inputs(kernel, extents), launch_results(kernel, extents)
        return LaunchOnDevice(module, _by_mode(points), kernel, extents, *tables)

    def launch_by_runtime(self, kernel: Kernel, extents: Extents) -> LaunchOnDevice | None:
        """Return a kernel in float32 on the CPU, launched by the runtime as for users; None if it does not compile."""
        held = self.holding(kernel.name, f64=False)
        if held is None:
            return None
        module = DeviceModule(RowDevice(1, F32), loaded_program(*held))
        tables = launch_inputs(kernel, extents), launch_results(kernel, extents)
        return LaunchOnDevice(module, _by_mode(held[1]), kernel, extents, *tables)

    def on_device(self, *kernels: str) -> tuple[DeviceModule, Points] | str | None:
        """Return the program on the device that holds some kernels, with their entry points."""
        programs = self._programs()
        if programs is None:
            return None
        points = [e for e in programs.entries if e.kernel in kernels]
        module = programs.module(symbols(points))
        return module if isinstance(module, str) else (module, points)

    def _programs(self) -> DevicePrograms | None:
        if self._device is None and self._files.device is not None:
            self._device = DevicePrograms(self._files.device)
        return self._device

    def _entries(self, kernel: Kernel, *, f64: bool) -> tuple[KernelModule, Points]:
        """Return the entry points of a kernel, which may be in several libraries; the first one of each mode."""
        result: dict[Mode, tuple[int, list[EntryPoint]]] = {}
        for number, library in enumerate(self._files.f64 if f64 else self._files.f32):
            points = [entry for entry in library.entries if entry.kernel == kernel.name]
            for mode in {point.mode for point in points} - result.keys():
                result[mode] = (number, [point for point in points if point.mode is mode])
        numbers = {number for number, _ in result.values()} or {0}
        every = [point for _, points in result.values() for point in points]
        if len(numbers) == 1:
            return self._module(*numbers, f64=f64), every
        modules = {p.name: self._module(number, f64=f64) for number, points in result.values() for p in points}
        return SeparateModules(modules), every

    def _module(self, number: int, *, f64: bool) -> CpuModule:
        if (f64, number) not in self._modules:
            library = (self._files.f64 if f64 else self._files.f32)[number]
            self._modules[f64, number] = load_module(library.data, library.reflection)
        return self._modules[f64, number]


def _by_mode(points: Iterable[EntryPoint]) -> dict[Mode, tuple[EntryPoint, ...]]:
    points = tuple(points)
    return {mode: tuple(e for e in points if e.mode is mode) for mode in dict.fromkeys(e.mode for e in points)}
