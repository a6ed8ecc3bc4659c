"""Emitted kernels on GPU devices compute what they compute on the CPU: results, gradients and tangents.

Software Vulkan in CI; every device slangpy finds otherwise.
"""

from __future__ import annotations

import os
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np
import pytest
from support.cpu import DTYPES, build

from slangad.compiler.diagnostics import ToolchainError
from slangad.compiler.emit import ParameterRole
from slangad.compiler.frontends import load
from slangad.compiler.runtime.gpu import GpuModule, load_on

if TYPE_CHECKING:
    from slangad.compiler.emit import EntryParameter, EntryPoint

ROOT = Path(__file__).parents[2]
FILES = [*sorted((ROOT / "tests" / "emit" / "described").glob("*.py")), *sorted((ROOT / "samples").glob("*/*.py"))]
DEVICES = ("vulkan", "cuda")
COUNT = 70


def loaded(device: str, file: Path) -> tuple[object, GpuModule]:
    program = build(load(file))
    try:
        return program, load_on(device, program.emitted)
    except ToolchainError as error:
        if device == "vulkan" and os.environ.get("SLANGAD_REQUIRE_TOOLCHAIN") == "1":
            pytest.fail(f"no Vulkan device: {error}")
        pytest.skip(f"no {device} device: {error}")


def given(parameter: EntryParameter, shape: tuple[int, ...], rng: np.random.Generator) -> np.ndarray | int | float:
    extents = (*shape, *parameter.shape) if parameter.access != "value" else parameter.shape
    if parameter.scalar.name in ("int", "uint"):
        return rng.integers(0, 2 if parameter.scalar.name == "uint" else 3, extents)
    return rng.uniform(0.2, 0.8, extents)


def inputs(entry: EntryPoint, shape: tuple[int, ...], rng: np.random.Generator) -> dict[str, object]:
    """A value for everything the entry point reads; a struct that goes as one parameter is a mapping of its parts."""
    read = [p for p in entry.parameters if p.access != "write" and p.role is not ParameterRole.DOMAIN]
    names = [p.name for p in read]
    values: dict[str, object] = {}
    for p in read:
        dtype = DTYPES.get(p.scalar.name, np.uint32)
        value = np.asarray(given(p, shape, rng), dtype)
        if names.count(p.name) == 1:
            values[p.name] = value
            continue
        place = values.setdefault(p.name, {})
        for step in p.path[:-1]:
            place = place.setdefault(step, {})
        place[p.path[-1]] = value
    return values


def plain(value: object) -> object:
    """The same value in Python's own lists and numbers."""
    return {k: plain(v) for k, v in value.items()} if isinstance(value, dict) else value.tolist()


@pytest.mark.toolchain
@pytest.mark.parametrize("device", DEVICES)
@pytest.mark.parametrize("file", FILES, ids=lambda f: f"{f.parent.name}/{f.stem}")
def test_device__every_entry_point__agrees_with_the_cpu(device: str, file: Path) -> None:
    program, gpu = loaded(device, file)
    rng = np.random.default_rng(3)
    for entry in program.emitted.entry_points:
        shape = (COUNT,) if entry.dims == 1 else (7, 10) if entry.dims == 2 else (2, 5, 7)
        values = inputs(entry, shape, rng)
        wanted = program.run(entry.kernel, entry.mode, values, shape)
        buffers: dict[str, np.ndarray] = {}
        uniforms: dict[str, object] = {}
        for p in entry.parameters:
            dtype = DTYPES.get(p.scalar.name, np.uint32)
            if p.role is ParameterRole.DOMAIN:
                uniforms[p.name] = shape[0] if len(shape) == 1 else list(shape)
            elif p.access == "value":
                uniforms[p.name] = plain(values[p.name])
            elif p.access == "read":
                buffers[p.name] = np.ascontiguousarray(values[p.name], dtype).reshape(-1)
            else:
                buffers[p.name] = np.zeros(wanted[p.name].size, dtype)
        gpu.launch(entry.name, (*reversed(shape), *[1] * (3 - len(shape))), buffers, uniforms)
        for name, expected in wanted.items():
            found = buffers[name].reshape(expected.shape)
            close(found, expected, f"{entry.name}: {name}")


def close(found: np.ndarray, expected: np.ndarray, what: str) -> None:
    tolerance = 2e-2 if expected.dtype == np.float16 else 1e-3
    scale = max(1.0, float(np.abs(np.nan_to_num(expected.astype(np.float64))).max(initial=0.0)))
    np.testing.assert_allclose(
        found.astype(np.float64), expected.astype(np.float64), rtol=tolerance, atol=tolerance * scale, err_msg=what
    )
