"""An exact sum is rounded once, at its end. WebGPU adds the halves of a word, Vulkan and CUDA add whole words."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cache
from typing import TYPE_CHECKING, Final

import numpy as np
import pytest
from support.devices import device_of, lacking
from support.nearest import SMALLEST, in_smallest, nearest_sum

from slangad.compiler.emit.library import EXACT, TENSORS, library_text
from slangad.compiler.emit.model import EXACT_WORDS
from slangad.compiler.ir.targets import LONG_ATOMICS, TILES
from slangad.compiler.runtime.device.slangpy_device import macros_of
from slangad.compiler.toolchain.jobs.request import CompileJob

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    import numpy.typing as npt
    import wgpu

    from slangad.compiler.toolchain.session import Toolchain

    Floats = npt.NDArray[np.float32]
    Words = npt.NDArray[np.uint32]

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
    vector<float, LANES> value;
    for (int k = 0; k < LANES; ++k)
        value[k] = values[LANES * at.x + k];
    uint first = LANES * (at.x % 2);
    uint noted = 0;
    ADD;
}

[shader("compute")] [numthreads(1, 1, 1)]
void total(
    uint3 at : SV_DispatchThreadID,
    uniform RWStructuredBuffer<sa.ExactWord> totals,
    uniform RWStructuredBuffer<float> result)
{
    result[at.x] = sa.take_exact(totals, at.x, LANES, 2);
}
"""
ADDITIONS: Final = {
    "scalar": (1, "noted = sa.scatter_exactly(totals, 2 * LANES, noted, first, value[0])"),
    "float2": (2, "noted = sa.scatter_exactly<2>(totals, 2 * LANES, noted, first, value)"),
    "float3": (3, "noted = sa.scatter_exactly<3>(totals, 2 * LANES, noted, first, value)"),
    "float4": (4, "noted = sa.scatter_exactly<4>(totals, 2 * LANES, noted, first, value)"),
    "threads": (
        3,
        """sa.Together<4> sums = { { 0, value[0], value[1], value[2] }, 0, 0, false };
    noted = sa.scatter_exactly<4, 1, 3>(totals, 2 * LANES, noted, first, sums)""",
    ),
    "waves": (
        3,
        """for (uint k = 0; k < 4; ++k)
    {
        sa.Together<4> sums = { {}, k > 0 ? value[k - 1] : 1, k, true };
        noted = sa.scatter_exactly<4, 1, 3>(totals, 2 * LANES, noted, first, sums);
    }""",
    ),
}
"""Ways to add, each with the number of components: the last two are those of loops that a group runs for a tile."""
COUNT: Final = 64 * 60
LAST: Final = EXACT_WORDS // 2 - 1
"""The plane that begins with notes of those that threads added to, beside the upper halves of its words."""
NOTED: Final = 8
"""The bits of a note below those of planes."""


@dataclass(frozen=True)
class Adder:
    """Adds numbers on a device: each thread adds a vector to one of two copies.

    ``run`` takes the numbers and what both copies hold, and returns the sums, what the copies held before the sums were
    taken away, and what they held afterwards.
    """

    lanes: int
    run: Callable[[Floats, Words], tuple[Floats, Words, Words]]

    @property
    def nothing(self) -> Words:
        """Two copies to which nothing was added, by word, copy, component and half."""
        return np.zeros((EXACT_WORDS // 2, 2, self.lanes, 2), np.uint32)

    def sums(self, values: Floats) -> Floats:
        """The sums of numbers for each component."""
        return self.run(values, self.nothing)[0]


@pytest.fixture(scope="module", params=["webgpu", "vulkan", "vulkan-halves", "cuda", "cuda-halves"])
def vector_adder(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Callable[[str], Adder]:
    """Gives the one that adds in a way, the key of one of ``ADDITIONS``; its kernels are compiled once."""
    return cache(lambda way: _adder(request, tmp_path_factory, request.param, way))


@pytest.fixture(scope="module")
def adder(vector_adder: Callable[[str], Adder]) -> Adder:
    """One that adds scalars."""
    return vector_adder("scalar")


def _adder(request: pytest.FixtureRequest, folders: pytest.TempPathFactory, place: str, way: str) -> Adder:
    lanes, call = ADDITIONS[way]
    text = SLANG.replace("ADD", call).replace("LANES", str(lanes))
    if place == "webgpu":
        device, toolchain = request.getfixturevalue("wgpu_device"), request.getfixturevalue("toolchain")
        return Adder(lanes, _on_webgpu(device, toolchain, text, lanes))
    name, _, halves = place.partition("-")
    return Adder(lanes, _on_slangpy(name, folders.mktemp("exact"), text, lanes, whole=not halves))


def _on_slangpy(
    name: str, folder: Path, text: str, lanes: int, *, whole: bool
) -> Callable[[Floats, Words], tuple[Floats, Words, Words]]:
    import slangpy

    device = device_of(name)
    handle = device.handle
    macros = dict.fromkeys(macros_of(name, device.adapter, device.abilities), "")
    if whole and LONG_ATOMICS not in macros:
        lacking(name, f"the {name} device does not add 64 bits at once")
    macros = {macro: "" for macro in macros if macro != TILES and (whole or macro != LONG_ATOMICS)}
    for library in (EXACT, TENSORS):
        (folder / library).write_text(library_text(library))
    session = handle.create_slang_session(slangpy.SlangCompilerOptions({"include_paths": [folder], "defines": macros}))
    module = session.load_module_from_source("exact", text, folder / "exact.slang")
    scatter, total = (
        handle.create_compute_kernel(session.link_program([module], [module.entry_point(entry)]))
        for entry in ("scatter", "total")
    )

    def buffer(contents: Floats | Words) -> slangpy.Buffer:
        usage = slangpy.BufferUsage.shader_resource | slangpy.BufferUsage.unordered_access
        flat = np.ascontiguousarray(contents).reshape(-1)
        return handle.create_buffer(element_count=flat.size, struct_size=4, usage=usage, data=flat)

    def add(values: Floats, start: Words) -> tuple[Floats, Words, Words]:
        def held() -> Words:
            return totals.to_numpy().view(np.uint32).reshape(start.shape)

        totals, result = buffer(start), buffer(np.zeros(lanes, np.float32))
        scatter.dispatch([len(values), 1, 1], values=buffer(values), totals=totals)
        added = held()
        total.dispatch([lanes, 1, 1], totals=totals, result=result)
        return result.to_numpy().view(np.float32), added, held()

    return add


def _on_webgpu(
    device: wgpu.GPUDevice, toolchain: Toolchain, text: str, lanes: int
) -> Callable[[Floats, Words], tuple[Floats, Words, Words]]:
    libraries = tuple((name, library_text(name)) for name in (EXACT, TENSORS))
    job = CompileJob("exact.slang", text, ("scatter", "total"), ("wgsl",), libraries)
    (found,) = toolchain.compile([job])
    assert not found.messages
    shaders = {artefact.entry: artefact.text for artefact in found.artefacts}
    if len(shaders) == 1:
        shaders = dict.fromkeys(("scatter", "total"), next(iter(shaders.values())))

    pipelines = {
        entry: device.create_compute_pipeline(
            layout="auto", compute={"module": device.create_shader_module(code=code), "entry_point": entry}
        )
        for entry, code in shaders.items()
    }

    def add(values: Floats, start: Words) -> tuple[Floats, Words, Words]:
        usage = 0x80 | 0x8 | 0x4  # STORAGE, COPY_DST, COPY_SRC
        totals = device.create_buffer_with_data(data=start.tobytes(), usage=usage)
        result = device.create_buffer_with_data(data=bytes(4 * lanes), usage=usage)
        given = device.create_buffer_with_data(data=values.tobytes(), usage=usage)
        launches = (("scatter", (given, totals), len(values) // 64), ("total", (totals, result), lanes))
        held = []
        for entry, buffers, groups in launches:
            pipeline = pipelines[entry]
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
            held.append(np.frombuffer(device.queue.read_buffer(totals), np.uint32).reshape(start.shape))
        return np.frombuffer(device.queue.read_buffer(result), np.float32), *held

    return add


@pytest.mark.parametrize("spread", [0.0, 3.0, 20.0, 60.0, 120.0])
def test_exact_sum__of_any_spread__is_the_nearest_float(adder: Adder, spread: float) -> None:
    stream = np.random.default_rng(int(spread))
    values = (stream.normal(size=COUNT) * 2.0 ** stream.uniform(-spread, min(spread, 100.0), COUNT)).astype("f4")
    assert adder.sums(values)[0] == nearest_sum(values)
    values[::2] = -np.roll(values, -1)[::2]  # what is left of a sum that cancels out
    values[1] *= 1.0 + 2.0**-22
    assert adder.sums(values)[0] == nearest_sum(values)


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
def test_exact_sum__of_numbers_at_the_edge__is_right(adder: Adder, first: list[float], total: float | None) -> None:
    values = np.zeros(64, np.float32)
    values[: len(first)] = first
    expected = nearest_sum(values) if total is None else np.float32(total)
    np.testing.assert_array_equal(adder.sums(values)[0], expected)


@pytest.mark.parametrize("word", [0, 7, 14, 15])
@pytest.mark.parametrize("way", ADDITIONS)
def test_exact_sum__in_a_word_that_fills_up__is_moved_to_the_next(
    vector_adder: Callable[[str], Adder], way: str, word: int
) -> None:
    adder = vector_adder(way)
    full = (1 << 61) + (1 << 40)
    start = adder.nothing
    start[word] = np.array([[[number & 0xFFFFFFFF, number >> 32 & 0xFFFFFFFF]] for number in (full, -full)])
    start[LAST, 0, 0, 0] = 1 << word + NOTED
    stream = np.random.default_rng(word)
    digits = stream.integers(1 << 23, 1 << 24, (4 * COUNT, adder.lanes))
    places = 16 * word + stream.integers(0, 14, digits.shape) - SMALLEST
    values = np.ldexp(digits, places).astype(np.float32)
    values[1::2] = -np.roll(values, 1, 0)[1::2]  # the first copy grows, the second falls
    values[1] /= 2
    found, added, after = adder.run(values, start)
    expected = [nearest_sum(column) for column in values.T]
    assert np.isfinite(expected).all()
    np.testing.assert_array_equal(found, expected)
    for lane in range(adder.lanes):
        wanted = [
            sum(map(in_smallest, values[copy::2, lane])) + (full, -full)[copy] * 2 ** (16 * word) for copy in (0, 1)
        ]
        assert [held(added[:, copy, lane]) for copy in (0, 1)] == wanted
        assert added[word + 1, :, lane, word + 1 == LAST :].any()
    assert not after[:LAST].any()
    assert not after[LAST, :, :, 1].any()


def held(words: Words) -> int:
    """The number that the words of a sum hold, in units of the smallest float."""
    lower, upper = words.astype(object).T
    signed = [int(low) + (int(high) << 32) - (int(high) >> 31 << 64) for low, high in zip(lower, upper, strict=True)]
    *places, last = signed
    return sum(number << 16 * k for k, number in enumerate(places)) + (last >> 32 << 288)
