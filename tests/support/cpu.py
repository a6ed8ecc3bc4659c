"""Runs emitted kernels on the CPU, and compares their gradients with differences of a float64 twin of the program."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from slangad.compiler.emit import EmittedModule, EntryPoint, Mode, ParameterRole, emit_module
from slangad.compiler.emit.library import DOUBLE, library_text
from slangad.compiler.emit.model import symbols
from slangad.compiler.passes import run_passes
from slangad.compiler.runtime.device.cpu_kernels import CpuModule, build_module
from slangad.compiler.toolchain.jobs.request import CompileJob
from support.compiled import compiled

if TYPE_CHECKING:
    from collections.abc import Mapping
    from pathlib import Path

    import numpy.typing as npt

    from slangad.compiler.emit import EntryParameter
    from slangad.compiler.ir.nodes import Module

    Values = npt.NDArray[np.generic]
    Arrays = Mapping[str, Values]
    Slot = tuple[ParameterRole, str, tuple[str | int, ...]]
    Slots = Mapping[Slot, Values]

DTYPES = {"float": np.float32, "double": np.float64, "half": np.float16, "int": np.int32, "uint": np.uint32}
TWIN = "".join(f"#define float{s} double{s}\n" for s in ("", "2", "3", "4", "2x2", "3x3", "4x4", "2x3", "3x2", "2x4"))


@dataclass(frozen=True)
class Program:
    """An emitted module, built for the CPU."""

    emitted: EmittedModule
    device: CpuModule
    wide: bool = False

    def entry(self, kernel: str, mode: Mode) -> EntryPoint:
        """An entry point of a kernel."""
        return next(e for e in self.emitted.entry_points if (e.kernel, e.mode) == (kernel, mode))

    def run_slots(self, kernel: str, mode: Mode, given: Slots, shape: tuple[int, ...]) -> dict[Slot, Values]:
        """As ``run``, with what a buffer holds in the place of its name, which may differ from mode to mode."""
        entry = self.entry(kernel, mode)
        names = {p.name: slot(p) for p in entry.parameters if p.role is not ParameterRole.DOMAIN}
        found = self.run(kernel, mode, {n: given[s] for n, s in names.items() if s in given}, shape)
        return {names[name]: value for name, value in found.items()}

    def run(self, kernel: str, mode: Mode, given: Arrays, shape: tuple[int, ...]) -> dict[str, npt.NDArray[np.generic]]:
        """Runs one entry point over a domain; ``given`` are values of buffers and uniforms by name; gives the rest."""
        entry = self.entry(kernel, mode)
        buffers: dict[str, npt.NDArray[np.generic]] = {}
        uniforms: dict[str, object] = {}
        written = {}
        for p in entry.parameters:
            dtype = np.float64 if self.wide and p.scalar.name == "float" else DTYPES.get(p.scalar.name, np.uint32)
            if p.role is ParameterRole.DOMAIN:
                uniforms[p.name] = shape[0] if len(shape) == 1 else np.array(shape, np.uint32)
            elif p.access == "value":
                uniforms[p.name] = given[p.name]
            elif p.access == "read":
                buffers[p.name] = np.ascontiguousarray(given[p.name], dtype).reshape(-1)
            else:
                unwritten = np.nan if np.issubdtype(dtype, np.floating) else 77
                buffers[p.name] = np.full(int(np.prod(shape)) * p.components, unwritten, dtype)
                written[p.name] = (*shape, *p.shape)
        threads = tuple(reversed(shape)) + (1,) * (3 - len(shape))
        self.device.launch(entry.symbol, threads, buffers, uniforms, workers=1)
        return {name: buffers[name].reshape(extents) for name, extents in written.items()}


def build(module: Module, *, wide: bool = False) -> Program:
    """Emits a front end's module and builds it; ``wide`` with double for float."""
    return build_emitted(emit_module(run_passes(module)), wide=wide)


def build_beside(emitted: EmittedModule, folder: Path, *, wide: bool = False) -> Program:
    """Builds an emitted module that imports files of a folder; ``wide`` with double for float in them too."""
    names = _built(emitted, wide=wide)
    macros = tuple(tuple(line.split()[1:]) for line in TWIN.splitlines()) if wide else ()
    job = CompileJob(
        emitted.file_name, emitted.text, names, ("cpp",), include_dirs=(str(folder),), defines=macros, whole=True
    )
    result = compiled(job)
    assert result.ok, (result.messages, result.diagnostics)
    return Program(emitted, build_module(result.artefacts[0].data, result.reflection_text("cpp"), optimization=0), wide)


def build_emitted(emitted: EmittedModule, *, wide: bool = False) -> Program:
    """Builds an emitted module."""
    text = TWIN + emitted.text.replace("import slangad;", "import slangad_double;") if wide else emitted.text
    names = _built(emitted, wide=wide)
    modules = (*emitted.libraries.items(), (DOUBLE, library_text(DOUBLE)))
    job = CompileJob(emitted.file_name, text, names, ("cpp",), modules=modules, whole=True)
    result = compiled(job)
    assert not result.messages, result.messages
    assert result.ok, result.diagnostics
    return Program(emitted, build_module(result.artefacts[0].data, result.reflection_text("cpp"), optimization=0), wide)


def _built(emitted: EmittedModule, *, wide: bool) -> tuple[str, ...]:
    """The entry points that are built: of the twin those that run forward, since differences want no others."""
    return symbols(e for e in emitted.entry_points if not wide or e.mode is Mode.FORWARD)


@dataclass(frozen=True)
class Checker:
    """Compares derivatives of the program with central differences of its float64 twin."""

    program: Program
    twin: Program
    step: float = 1e-4

    def check(self, kernel: str, given: Arrays, *, seed: int = 1, tolerance: float = 2e-4) -> None:
        """Asserts that primal, reverse and forward mode of a kernel are right at the given inputs, for every thread.

        ``given`` goes by the names of the forward entry point.
        """
        rng = np.random.default_rng(seed)
        entry = self.program.entry(kernel, Mode.FORWARD)
        inputs: dict[Slot, Values] = {slot(p): given[p.name] for p in entry.parameters if p.name in given}
        first = next(p for p in entry.parameters if p.role is ParameterRole.INPUT)
        shape = np.shape(given[first.name])[: entry.dims]
        seeds = self._random(kernel, Mode.BACKWARD, ParameterRole.COTANGENT, shape, rng)
        directions = self._random(kernel, Mode.JVP, ParameterRole.TANGENT, shape, rng)
        plain = self.program.run_slots(kernel, Mode.FORWARD, inputs, shape)
        gradients = self.program.run_slots(kernel, Mode.BACKWARD, {**inputs, **seeds}, shape)
        moved = self.program.run_slots(kernel, Mode.JVP, {**inputs, **directions}, shape)
        for name, value in plain.items():
            np.testing.assert_allclose(moved[name], value, rtol=1e-5, atol=1e-6, err_msg=f"{kernel}: primal of jvp")
        for (_, *rest), value in gradients.items():
            wanted = self.gradient(kernel, inputs, seeds, (ParameterRole.INPUT, *rest), shape)
            close(value, wanted, tolerance, f"{kernel}: gradient of {rest}")
        along = sum(_total(gradients[(GRADIENT, *d[1:])] * value, shape) for d, value in directions.items())
        across = sum(_total(moved[(RESULT_TANGENT, *s[1:])] * value, shape) for s, value in seeds.items())
        close(np.asarray(across), np.asarray(along), tolerance, f"{kernel}: forward against reverse")

    def _random(
        self, kernel: str, mode: Mode, role: ParameterRole, shape: tuple[int, ...], rng: np.random.Generator
    ) -> dict[Slot, Values]:
        parameters = [p for p in self.program.entry(kernel, mode).parameters if p.role is role]
        return {slot(p): rng.normal(size=(*shape, *p.shape)) for p in parameters}

    def gradient(
        self, kernel: str, inputs: Slots, seeds: Slots, of: Slot, shape: tuple[int, ...]
    ) -> npt.NDArray[np.float64]:
        """The gradient of one input buffer by central differences."""
        start = np.asarray(inputs[of], np.float64).reshape(*shape, -1)
        found = np.zeros_like(start)
        for component in range(start.shape[-1]):
            sides = []
            for sign in (1.0, -1.0):
                moved = start.copy()
                moved[..., component] += sign * self.step
                sides.append(self.twin.run_slots(kernel, Mode.FORWARD, {**inputs, of: moved}, shape))
            for (_, *result), seed in seeds.items():
                high, low = (side[(ParameterRole.RESULT, *result)] for side in sides)
                found[..., component] += _total((high - low) * seed, shape) / (2.0 * self.step)
        return found.reshape(np.shape(inputs[of]))


def slot(parameter: EntryParameter) -> Slot:
    """What a parameter of an entry point holds."""
    return parameter.role, parameter.parameter, parameter.path


GRADIENT, RESULT_TANGENT = ParameterRole.GRADIENT, ParameterRole.RESULT_TANGENT


def checker(module: Module) -> Checker:
    """Builds a program and its twin."""
    emitted = emit_module(run_passes(module))
    return Checker(build_emitted(emitted), build_emitted(emitted, wide=True))


def close(found: npt.NDArray[np.generic], wanted: npt.NDArray[np.generic], tolerance: float, what: str) -> None:
    """Asserts agreement, relative to the largest value where that is above 1."""
    scale = max(1.0, float(np.abs(wanted).max(initial=0.0)))
    np.testing.assert_allclose(found, wanted, rtol=tolerance, atol=tolerance * scale, err_msg=what)


def _total(values: npt.NDArray[np.generic], shape: tuple[int, ...]) -> npt.NDArray[np.float64]:
    """The sum over the components of each element."""
    return np.asarray(values, np.float64).reshape(*shape, -1).sum(axis=-1)
