"""Exact sums: what was added comes out rounded once. WebGPU adds the halves of a word, Vulkan and CUDA whole words."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

import numpy as np
import pytest
from support.devices import device_of, lacking
from support.nearest import SMALLEST, nearest_sum

from slangad.compiler.emit.library import EXACT, TENSORS, library_text
from slangad.compiler.emit.model import EXACT_WORDS
from slangad.compiler.ir.targets import LONG_ATOMICS
from slangad.compiler.toolchain.jobs.request import CompileJob

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    import numpy.typing as npt
    import wgpu

    from slangad.compiler.toolchain.session import Toolchain

    Floats = npt.NDArray[np.float32]
    Words = npt.NDArray[np.uint32]
    Added = Callable[[Floats, Words], tuple[np.float32, Words]]

pytestmark = pytest.mark.toolchain

SLANG = """
import slangad_exact;
import slangad_tensors;

[shader("compute")] [numthreads(64, 1, 1)]
void scatter(
    uint3 at : SV_DispatchThreadID,
    uint3 group : SV_GroupID,
    uniform StructuredBuffer<float> values,
    uniform RWStructuredBuffer<sa.Exact> totals)
{
    sa.group = group.x;
    sa.scatter_exactly(totals, at.x % 2, values[at.x]);
}

[shader("compute")] [numthreads(1, 1, 1)]
void total(uniform StructuredBuffer<sa.ExactWord> totals, uniform RWStructuredBuffer<float> result)
{
    result[0] = sa.exact_total<1>(totals, 0, 1, 2);
}
"""
COUNT = 64 * 60
NOTHING: Final = np.zeros(2 * EXACT_WORDS, np.uint32)
"""Two copies of a sum to which nothing was added."""


@pytest.fixture(scope="module", params=["webgpu", "vulkan", "cuda"])
def added(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Added:
    """Adds numbers, a thread each, to one of two copies that hold something: the sum, and what the copies hold then."""
    if request.param == "webgpu":
        return _on_webgpu(request.getfixturevalue("wgpu_device"), request.getfixturevalue("toolchain"))
    return _on_slangpy(request.param, tmp_path_factory.mktemp("exact"))


def _on_slangpy(name: str, folder: Path) -> Added:
    import slangpy

    handle = device_of(name).handle
    if slangpy.Feature.atomic_int64 not in handle.features:
        lacking(name, f"the {name} device does not add 64 bits at once")
    for library in (EXACT, TENSORS):
        (folder / library).write_text(library_text(library))
    options = slangpy.SlangCompilerOptions({"include_paths": [folder], "defines": {LONG_ATOMICS: ""}})
    session = handle.create_slang_session(options)
    module = session.load_module_from_source("exact", SLANG, folder / "exact.slang")
    scatter, total = (
        handle.create_compute_kernel(session.link_program([module], [module.entry_point(entry)]))
        for entry in ("scatter", "total")
    )

    def buffer(contents: Floats | Words) -> slangpy.Buffer:
        usage = slangpy.BufferUsage.shader_resource | slangpy.BufferUsage.unordered_access
        return handle.create_buffer(element_count=contents.size, struct_size=4, usage=usage, data=contents)

    def add(values: Floats, start: Words) -> tuple[np.float32, Words]:
        totals, result = buffer(start), buffer(np.zeros(1, np.float32))
        scatter.dispatch([len(values), 1, 1], values=buffer(values), totals=totals)
        total.dispatch([1, 1, 1], totals=totals, result=result)
        return result.to_numpy().view(np.float32)[0], totals.to_numpy().view(np.uint32)

    return add


def _on_webgpu(device: wgpu.GPUDevice, toolchain: Toolchain) -> Added:
    libraries = tuple((name, library_text(name)) for name in (EXACT, TENSORS))
    (found,) = toolchain.compile([CompileJob("exact.slang", SLANG, ("scatter", "total"), ("wgsl",), libraries)])
    assert not found.messages
    text = {artefact.entry: artefact.text for artefact in found.artefacts}
    shaders = text if len(text) == 2 else dict.fromkeys(("scatter", "total"), next(iter(text.values())))

    def add(values: Floats, start: Words) -> tuple[np.float32, Words]:
        usage = 0x80 | 0x8 | 0x4  # STORAGE, COPY_DST, COPY_SRC
        totals = device.create_buffer_with_data(data=start.tobytes(), usage=usage)
        result = device.create_buffer_with_data(data=bytes(4), usage=usage)
        given = device.create_buffer_with_data(data=values.tobytes(), usage=usage)
        for entry, buffers, groups in (("scatter", (given, totals), len(values) // 64), ("total", (totals, result), 1)):
            module = device.create_shader_module(code=shaders[entry])
            pipeline = device.create_compute_pipeline(layout="auto", compute={"module": module, "entry_point": entry})
            bound = [
                {"binding": i, "resource": {"buffer": b, "offset": 0, "size": b.size}} for i, b in enumerate(buffers)
            ]
            encoder = device.create_command_encoder()
            compute = encoder.begin_compute_pass()
            compute.set_pipeline(pipeline)
            compute.set_bind_group(0, device.create_bind_group(layout=pipeline.get_bind_group_layout(0), entries=bound))
            compute.dispatch_workgroups(groups)
            compute.end()
            device.queue.submit([encoder.finish()])
        read = device.queue.read_buffer
        return np.frombuffer(read(result), np.float32)[0], np.frombuffer(read(totals), np.uint32)

    return add


@pytest.mark.parametrize("spread", [0.0, 3.0, 20.0, 60.0, 120.0])
def test_exact_sum__of_any_spread__is_the_nearest_float(added: Added, spread: float) -> None:
    stream = np.random.default_rng(int(spread))
    values = (stream.normal(size=COUNT) * 2.0 ** stream.uniform(-spread, min(spread, 100.0), COUNT)).astype("f4")
    assert added(values, NOTHING)[0] == nearest_sum(values)
    values[::2] = -np.roll(values, -1)[::2]  # what is left of a sum that cancels out
    values[1] *= 1.0 + 2.0**-22
    assert added(values, NOTHING)[0] == nearest_sum(values)


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
def test_exact_sum__of_numbers_at_the_edge__is_right(added: Added, first: list[float], total: float | None) -> None:
    values = np.zeros(64, np.float32)
    values[: len(first)] = first
    expected = nearest_sum(values) if total is None else np.float32(total)
    np.testing.assert_array_equal(added(values, NOTHING)[0], expected)


@pytest.mark.parametrize("word", [0, 7, 14, 15])
def test_exact_sum__in_a_word_that_fills_up__is_taken_on_to_the_next(added: Added, word: int) -> None:
    full = (1 << 61) + (1 << 40)
    start = NOTHING.reshape(2, -1, 2).copy()
    start[:, word] = [[number & 0xFFFFFFFF, number >> 32 & 0xFFFFFFFF] for number in (full, -full)]
    stream = np.random.default_rng(word)
    digits = stream.integers(1 << 23, 1 << 24, COUNT) * stream.choice([-1, 1], COUNT)
    values = np.ldexp(digits, 16 * word + stream.integers(0, 14, COUNT) - SMALLEST).astype(np.float32)
    assert added(values, start.reshape(-1))[0] == nearest_sum(values)
    values[::2] = np.abs(values[::2])  # to the first copy, which is larger than it may be
    found, after = added(values, start.reshape(-1))
    assert found == nearest_sum(values)
    assert not np.array_equal(after.reshape(start.shape)[:, word + 1], start[:, word + 1])
