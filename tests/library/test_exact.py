"""Exact sums on WebGPU, which has atomics of integers only: what was added comes out rounded once."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
import pytest
from support.nearest import nearest_sum

from slangad.compiler.emit.library import EXACT, TENSORS, library_text
from slangad.compiler.emit.model import EXACT_WORDS
from slangad.compiler.toolchain.jobs.request import CompileJob

if TYPE_CHECKING:
    import wgpu

    from slangad.compiler.toolchain.session import Toolchain

pytestmark = pytest.mark.toolchain

SLANG = """
import slangad_exact;

[shader("compute")] [numthreads(64, 1, 1)]
void scatter(
    uint3 at : SV_DispatchThreadID,
    uniform StructuredBuffer<float> values,
    uniform RWStructuredBuffer<sa.Exact> totals)
{
    sa.scatter_exactly(totals, at.x % 2, values[at.x]);
}

[shader("compute")] [numthreads(1, 1, 1)]
void total(uniform StructuredBuffer<sa.ExactWord> totals, uniform RWStructuredBuffer<float> result)
{
    result[0] = sa.exact_total(totals, 0, 1, 2);
}
"""
COUNT = 64 * 60


@pytest.fixture(scope="module")
def shaders(toolchain: Toolchain) -> dict[str, str]:
    """The WGSL of both entry points."""
    libraries = tuple((name, library_text(name)) for name in (EXACT, TENSORS))
    job = CompileJob("exact.slang", SLANG, ("scatter", "total"), ("wgsl",), libraries)
    (result,) = toolchain.compile([job])
    assert not result.messages
    text = {artefact.entry: artefact.text for artefact in result.artefacts}
    return text if len(text) == 2 else dict.fromkeys(("scatter", "total"), next(iter(text.values())))


def added(device: wgpu.GPUDevice, shaders: dict[str, str], values: np.ndarray) -> np.float32:
    """The sum of numbers that a thread each adds to one of two copies."""
    usage = 0x80 | 0x8 | 0x4  # STORAGE, COPY_DST, COPY_SRC
    totals = device.create_buffer_with_data(data=bytes(4 * 2 * EXACT_WORDS), usage=usage)
    result = device.create_buffer_with_data(data=bytes(4), usage=usage)
    given = device.create_buffer_with_data(data=values.astype("f4").tobytes(), usage=usage)
    for entry, buffers, groups in (("scatter", (given, totals), len(values) // 64), ("total", (totals, result), 1)):
        module = device.create_shader_module(code=shaders[entry])
        pipeline = device.create_compute_pipeline(layout="auto", compute={"module": module, "entry_point": entry})
        bound = [{"binding": i, "resource": {"buffer": b, "offset": 0, "size": b.size}} for i, b in enumerate(buffers)]
        encoder = device.create_command_encoder()
        compute = encoder.begin_compute_pass()
        compute.set_pipeline(pipeline)
        compute.set_bind_group(0, device.create_bind_group(layout=pipeline.get_bind_group_layout(0), entries=bound))
        compute.dispatch_workgroups(groups)
        compute.end()
        device.queue.submit([encoder.finish()])
    found: np.float32 = np.frombuffer(device.queue.read_buffer(result), np.float32)[0]
    return found


@pytest.mark.parametrize("spread", [0.0, 3.0, 20.0, 60.0, 120.0])
def test_exact_sum__on_webgpu__is_the_nearest_float(
    wgpu_device: wgpu.GPUDevice, shaders: dict[str, str], spread: float
) -> None:
    stream = np.random.default_rng(int(spread))
    values = (stream.normal(size=COUNT) * 2.0 ** stream.uniform(-spread, min(spread, 100.0), COUNT)).astype("f4")
    assert added(wgpu_device, shaders, values) == nearest_sum(values)
    values[::2] = -np.roll(values, -1)[::2]  # what is left of a sum that cancels out
    values[1] *= 1.0 + 2.0**-22
    assert added(wgpu_device, shaders, values) == nearest_sum(values)


@pytest.mark.parametrize(
    ("first", "total"),
    [
        ([1e-45, 1e-45, -1e-38], None),
        ([3e38, 3e38, 3e38, -3e38, -3e38], None),
        ([3e38, 3e38], np.inf),
        ([-np.inf, 1.0], -np.inf),
        ([-np.inf, 1.0, np.inf], np.nan),
    ],
)
def test_exact_sum__of_numbers_at_the_edge__is_right(
    wgpu_device: wgpu.GPUDevice, shaders: dict[str, str], first: list[float], total: float | None
) -> None:
    values = np.zeros(64, np.float32)
    values[: len(first)] = first
    expected = nearest_sum(values) if total is None else np.float32(total)
    np.testing.assert_array_equal(added(wgpu_device, shaders, values), expected)
