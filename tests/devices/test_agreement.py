"""Kernels on GPU devices compute what they compute on the CPU: results, gradients, tangents and products of them.

Software Vulkan in CI; every device slangpy finds otherwise.
"""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np
import pytest
from support.covering import share
from support.devices import GPUS, device_of

from slangad.compiler.api.program import read_program
from slangad.compiler.driver.inputs import Input
from slangad.compiler.driver.model import Options
from slangad.compiler.runtime.arrays.modes import RunMode
from slangad.compiler.runtime.arrays.prepare import prepare
from slangad.compiler.runtime.pipeline.random_inputs import draw_missing
from slangad.compiler.runtime.pipeline.run_kernel import KernelPlan, run_kernel
from slangad.compiler.toolchain.cache import default_cache

if TYPE_CHECKING:
    from slangad.compiler.runtime.arrays.signature import KernelSignature

ROOT = Path(__file__).parents[2]
SAMPLES = [ROOT / "samples" / name for name in ("network/mlp.py", "quickstart/brdf.py", "root/kepler.py")]
FILES = [*sorted((ROOT / "tests" / "emit" / "described").glob("*.py")), *SAMPLES]
DOMAINS = {1: (70,), 2: (7, 10), 3: (2, 5, 7)}


def inputs(signature: KernelSignature, mode: RunMode) -> dict[str, object]:
    """A value for everything: floats clear of kinks, integers that can be any index, tensors of extents five."""
    rng = np.random.default_rng(3)
    domain = DOMAINS[signature.dims]
    given: dict[str, object] = {}
    for value in signature.parameters:
        shape = domain if value.per_element else (5,) * value.axes
        for part in value.parts:
            if part.scalar.name in ("half", "float", "double"):
                given[part.key] = rng.uniform(0.2, 0.8, (*shape, *part.shape)).astype(part.dtype)
            elif part.scalar.name != "bool":
                given[part.key] = rng.integers(0, 2, (*shape, *part.shape)).astype(part.dtype)
    return draw_missing(signature, mode, given, domain, 3)


@pytest.mark.toolchain
@pytest.mark.both_drivers
@pytest.mark.parametrize("name", GPUS)
@pytest.mark.parametrize("file", FILES, ids=lambda f: f"{f.parent.name}/{f.stem}")
def test_device__every_kernel__agrees_with_the_cpu(name: str, file: Path, cxx: object) -> None:
    gpu, cpu = device_of(name), device_of("cpu")
    program = read_program(Input(file), Options(targets=(), cache=default_cache()))
    first, shares = share(name)
    every = [*program.plans.values()]
    plans = every[(first + len(file.stem)) % shares :: shares] or every
    modes_of = {
        plan.signature.name: [mode for mode in RunMode if all(plan.entries[step] for step in mode.steps)]
        for plan in plans
    }
    entries = {e for plan in plans for mode in modes_of[plan.signature.name] for e in plan.entry_names(mode)}
    loaded = [(device, program.load_on(device, entries)) for device in (cpu, gpu)]
    for plan in plans:
        modes = modes_of[plan.signature.name]
        for mode in modes:
            prepared = prepare(plan.signature, mode, inputs(plan.signature, mode), DOMAINS[plan.signature.dims])
            wanted, found = (run_kernel(device, module, plan, mode, prepared) for device, module in loaded)
            assert list(found) == list(wanted)
            for key, expected in wanted.items():
                close(found[key], expected, f"{plan.signature.name} {mode.value}: {key}", plan)


def close(found: np.ndarray, expected: np.ndarray, what: str, plan: KernelPlan) -> None:
    filtered = any(value.texture is not None for value in plan.signature.parameters)
    tolerance = 2e-2 if expected.dtype == np.float16 or filtered else 1e-3
    scale = max(1.0, float(np.abs(np.nan_to_num(expected.astype(np.float64))).max(initial=0.0)))
    np.testing.assert_allclose(
        found.astype(np.float64), expected.astype(np.float64), rtol=tolerance, atol=tolerance * scale, err_msg=what
    )
