"""Kernels with every memory, on the CPU device against Python: results, gradients and tangents of the same program."""

from __future__ import annotations

import runpy
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Any

import numpy as np

from slangad.compiler.api.program import RunnableProgram, read_program
from slangad.compiler.driver.inputs import Input
from slangad.compiler.driver.model import Options
from slangad.compiler.emit.model import symbols
from slangad.compiler.lang.execution.gradients import backward, jvp
from slangad.compiler.lang.types.arrays import ArrayValue
from slangad.compiler.lang.types.copies import zeros
from slangad.compiler.lang.types.records import record_of
from slangad.compiler.lang.types.values import map_floating
from slangad.compiler.runtime.arrays.modes import RunMode
from slangad.compiler.runtime.arrays.prepare import prepare
from slangad.compiler.runtime.pipeline.run_kernel import run_kernel
from support.devices import device_of

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping
    from pathlib import Path

    from slangad.compiler.runtime.device.model import DeviceProgram

    Arrays = dict[str, np.ndarray]
    Rng = np.random.Generator


def flat(name: str, value: Any) -> Iterator[tuple[str, np.ndarray]]:
    """A value as named arrays, fields of structs one by one."""
    if record_of(type(value)) is not None:
        for field, part in vars(value).items():
            yield from flat(f"{name}.{field}", part)
    elif isinstance(value, dict):
        for field, part in value.items():
            yield from flat(f"{name}.{field}", part)
    else:
        yield name, _numbers(value)


def _numbers(value: object) -> np.ndarray:
    return np.stack([_numbers(v) for v in value]) if isinstance(value, ArrayValue) else np.asarray(value)


def named(values: Mapping[str, object], prefix: str = "") -> Arrays:
    """Named arrays of several values, with a prefix before each name."""
    return {f"{prefix}{key}": part for name, value in values.items() for key, part in flat(name, value)}


@dataclass(frozen=True)
class Case:
    """A file's kernels, in Python and on the CPU."""

    python: Mapping[str, Any]
    program: RunnableProgram

    def run(self, kernel: str, mode: RunMode, given: Arrays) -> Arrays:
        """Runs a kernel on the device."""
        plan = self.program.plans[kernel]
        return run_kernel(device_of("cpu"), self._loaded, plan, mode, prepare(plan.signature, mode, given))

    @cached_property
    def _loaded(self) -> DeviceProgram:
        """All its kernels, compiled once."""
        return self.program.load_on(device_of("cpu"), symbols(self.program.emitted.entry_points))

    def check(self, kernel: str, args: Mapping[str, object], rng: Rng, *, tolerance: float) -> None:
        """Asserts that both sides agree in every mode, for cotangents and tangents drawn at random."""
        python, inputs = self.python[kernel], named(args)
        plain = backward(python, args)
        tangents = {name: like(args[name], rng) for name in plain.derivatives}
        cotangents = {name: like(value, rng) for name, value in plain.results.items()}
        found = self.run(kernel, RunMode.FORWARD, inputs)
        _agree(found, named(plain.results), tolerance, "results")
        found = self.run(kernel, RunMode.BACKWARD, {**inputs, **named(cotangents, "cotangent.")})
        _agree(found, named(backward(python, args, cotangents).derivatives, "grad."), tolerance, "gradients")
        found = self.run(kernel, RunMode.JVP, {**inputs, **named(tangents, "tangent.")})
        _agree(found, named(jvp(python, args, tangents).derivatives, "jvp."), tolerance, "tangents")


def drawn(of: Case, struct: str, rng: Rng) -> object:
    """A struct of a case's file, every number of it drawn at random."""
    return like(zeros(of.python[struct]), rng)


def like(value: Any, rng: Rng) -> object:
    """A value of the same type and shape with other floating-point numbers."""
    if isinstance(value, (np.ndarray, float)):
        return rng.uniform(0.2, 0.9, np.shape(value)).astype(np.float32)
    return map_floating(value, lambda data: np.asarray(rng.uniform(0.2, 0.9, data.shape)).astype(data.dtype)[()])


def _agree(found: Arrays, wanted: Arrays, tolerance: float, what: str) -> None:
    for name, expected in wanted.items():
        if name in found or np.any(expected):
            scale = float(np.abs(np.asarray(expected, np.float64)).max(initial=1.0))
            message = f"{what}: {name}"
            np.testing.assert_allclose(found[name], expected, rtol=tolerance, atol=tolerance * scale, err_msg=message)
    assert found.keys() & wanted.keys() or not wanted, f"{what}: {sorted(found)} and {sorted(wanted)}"


def case(path: Path) -> Case:
    """Loads a description on both sides."""
    return Case(runpy.run_path(str(path), run_name="described"), read_program(Input(path), Options(targets=("cpp",))))
