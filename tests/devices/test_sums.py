"""Sums by type of number: one file may have all of them, and integers are exact, on every device."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np
import pytest

from slangad.compiler.api.program import read_program
from slangad.compiler.driver.inputs import parse_inputs
from slangad.compiler.driver.model import Options
from slangad.compiler.emit import emit_module
from slangad.compiler.emit.model import Mode, symbols
from slangad.compiler.errors.diagnostics import ToolchainError
from slangad.compiler.frontends import load
from slangad.compiler.ir.targets import ALWAYS
from slangad.compiler.passes import run_passes
from slangad.compiler.runtime.arrays.modes import RunMode
from slangad.compiler.runtime.arrays.prepare import prepare
from slangad.compiler.runtime.pipeline.run_kernel import Run
from slangad.compiler.toolchain.jobs.request import CompileJob

if TYPE_CHECKING:
    from slangad.compiler.api.load import LoadedFile
    from slangad.compiler.runtime.device.model import Device
    from slangad.compiler.toolchain.session import Toolchain

pytestmark = pytest.mark.toolchain

DESCRIBED = Path(__file__).with_name("sums.py")
COUNT = 100_003


def test_sums__of_float_and_of_double_in_one_file__are_each_as_exact_as_their_type(kernels: LoadedFile) -> None:
    x = np.random.default_rng(0).uniform(0.5, 1.5, COUNT)
    single = kernels.singles.backward(x.astype(np.float32), 2.0)
    assert float(single.result) == pytest.approx(2.0 * x.sum(), rel=1e-6)
    assert float(single.grad["a"]) == pytest.approx(x.sum(), rel=1e-6)
    if kernels.doubles.device == "webgpu":
        with pytest.raises(ToolchainError, match=r"SA253.*doubles needs double"):
            kernels.doubles.backward(x, 2.0)
        pytest.skip("WebGPU has no double")
    double = kernels.doubles.backward(x, 2.0)
    assert float(double.result) == pytest.approx(2.0 * x.sum(), rel=1e-14)
    assert float(double.grad["a"]) == pytest.approx(x.sum(), rel=1e-14)


@pytest.mark.parametrize("count", [0, 1, 257, COUNT])
def test_sums__of_integers__wrap_around_and_lose_nothing(kernels: LoadedFile, count: int) -> None:
    rng = np.random.default_rng(count)
    n = rng.integers(-(2**31), 2**31, count).astype(np.int32)
    m = rng.integers(0, 2**32, count).astype(np.uint32)
    first, second, third = kernels.whole.forward(n, m).result
    assert first == n.sum(dtype=np.int32)
    assert second == m.sum(dtype=np.uint32)
    assert third.tolist() == [n.sum(dtype=np.int32), (n + n).sum(dtype=np.int32)]


def test_sums__of_integers_and_of_floats_in_one_kernel__are_kept_apart(kernels: LoadedFile) -> None:
    rng = np.random.default_rng(7)
    n = rng.integers(-(2**31), 2**31, COUNT).astype(np.int32)
    x = rng.uniform(0.5, 1.5, COUNT).astype(np.float32)
    exact = x.astype(np.float64)
    out = kernels.mixed.backward(n, x, 3.0)
    assert out.result[0] == n.sum(dtype=np.int32)
    assert float(out.result[1]) == pytest.approx(3.0 * exact.sum(), rel=1e-6)
    assert float(out.result[2]) == pytest.approx(9.0 * exact.mean(), rel=1e-6)
    assert float(out.grad["a"]) == pytest.approx(exact.sum() + 6.0 * exact.mean(), rel=1e-6)
    np.testing.assert_allclose(out.grad["x"], np.full(COUNT, 3.0 + 9.0 / COUNT), rtol=1e-6)


def test_sums__that_are_few__are_added_up_by_the_last_group_of_a_device_that_has_it(gpu: Device) -> None:
    (described,) = parse_inputs((f"{DESCRIBED}:singles",))
    program = read_program(described, Options())
    plan = program.plans["singles"]
    x = np.random.default_rng(0).uniform(0.5, 1.5, COUNT)
    prepared = prepare(plan.signature, RunMode.BACKWARD, {"x": x.astype(np.float32), "a": np.float32(2.0)})
    loaded = program.load_on(gpu, plan.entry_names(RunMode.BACKWARD))
    with Run(gpu, loaded, plan, prepared) as run:
        run.add(Mode.BACKWARD)
        launched = [launch.entry for launch in run.launches]
        for _ in range(3):  # each launch leaves the count of groups at zero
            gpu.submit(run.launches)
        found = dict(run.results())
    assert launched == ["singles_backward", *([] if gpu.has_last_group else ["singles_backward_totals"])]
    assert gpu.has_last_group == (gpu.name in ("cuda", "vulkan"))
    assert float(found["result"]) == pytest.approx(2.0 * x.sum(), rel=1e-6)
    assert float(found["grad.a"]) == pytest.approx(3 * x.sum(), rel=1e-6)


@pytest.mark.parametrize("bits", [0xFFFFFFFF, 0x7FC00000, 0x80000000, 0])
def test_sums__that_are_nan_or_zero__arrive_at_the_last_group(kernels: LoadedFile, bits: int) -> None:
    value = np.uint32([bits]).view(np.float32)
    out = kernels["singles"].backward(x=np.tile(value, COUNT), a=np.float32(2.0))
    expected = float(value[0])
    assert [float(out.result), float(out.grad["a"])] == pytest.approx([expected, expected], nan_ok=True)


@pytest.mark.parametrize(("kernel", "shape"), [("300", (COUNT,)), ("17_19", (317, 211)), ("18_18", (317, 211))])
def test_sums__in_groups_of_any_size__are_all_there(kernels: LoadedFile, kernel: str, shape: tuple[int, ...]) -> None:
    x = np.random.default_rng(1).uniform(0.5, 1.5, shape).astype(np.float32)
    a, b = np.float32([1.0, 2.0, 3.0]), np.float32([0.5, -1.0, 2.0])
    out = kernels[f"products_{kernel}"].backward(x=x, a=a, b=b)
    total = x.sum(dtype=np.float64)
    assert [float(v) for v in out.result] == pytest.approx([a @ b * total, a @ a * total / x.size], rel=1e-5)
    assert out.grad["a"] == pytest.approx(b * total + 2 * a * total / x.size, rel=1e-5)
    assert out.grad["b"] == pytest.approx(a * total, rel=1e-5)


def test_sums__every_target_that_has_their_types__compiles_without_a_word(toolchain: Toolchain) -> None:
    emitted = emit_module(run_passes(load(DESCRIBED)))
    modules = tuple(emitted.libraries.items())
    wide = ("spirv", "cuda", "cpp", "glsl", "hlsl")
    for targets in (wide, tuple(target for target in ALWAYS if target not in wide)):
        entries = symbols(e for e in emitted.entry_points if e.kernel != "doubles" or targets == wide)
        job = CompileJob(emitted.file_name, emitted.text, entries, targets, modules=modules)
        (result,) = toolchain.compile([job])
        assert [m.text for m in result.messages] == []
        assert [d.message for d in result.diagnostics] == []
        assert len(result.artefacts) == len(job.units())
