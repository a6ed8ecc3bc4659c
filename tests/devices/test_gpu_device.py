"""GPU devices by themselves: buffers, many launches in one submission, programs and names of every kind."""

from __future__ import annotations

import gc
import os
import signal
import threading
import time
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np
import pytest
from support.limits import small_files

import slangad as sa
from slangad.compiler.emit.model import EmittedModule, EntryPoint, Mode
from slangad.compiler.errors.diagnostics import ToolchainError
from slangad.compiler.runtime.device.choice import is_software
from slangad.compiler.runtime.device.model import BuildOptions, KernelLaunch
from slangad.compiler.runtime.device.segments import free_addresses
from slangad.compiler.runtime.device.slangpy_device import GpuDevice, bound_of
from slangad.compiler.runtime.device.zeroing import ZERO, ZERO_ENTRY, is_whole, zero_launches

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from slangad.compiler.runtime.device.model import Device

pytestmark = pytest.mark.toolchain
F4 = np.dtype("f4")
TEXT = """
uniform float gain;

[shader("compute")] [numthreads(64, 1, 1)]
void scale(uint3 t : SV_DispatchThreadID, uniform uint n, uniform RWStructuredBuffer<float> x)
{ if (t.x < n) x[t.x] = gain * x[t.x]; }

[shader("compute")] [numthreads(64, 1, 1)]
void shift(uint3 t : SV_DispatchThreadID, uniform uint n, uniform StructuredBuffer<float> x,
    uniform RWStructuredBuffer<float> y)
{ if (t.x < n) y[t.x] = x[(t.x + 1) % n] + 1.0; }
"""
_TURNS = 1 << 15
"""Iterations of the loop below. Mesa before 23 ends every loop of a software adapter after 65,535."""
SLOW = """
[shader("compute")] [numthreads(64, 1, 1)]
void scale(uint3 t : SV_DispatchThreadID, uniform uint n, uniform uint turns, uniform RWStructuredBuffer<float> x)
{
    float s = 1.0;
    for (uint i = 0; i < turns; i++) s = sin(s * 1.1) + 0.5;
    if (t.x < n) x[t.x] = s;
}

[shader("compute")] [numthreads(64, 1, 1)]
void shift(uint3 t : SV_DispatchThreadID) {}
"""
DOUBLE = """
import slangad as sa
from slangad import Each, Param, Sum

@sa.kernel
def double(x: Each[float], by: Param[float]) -> Sum[float]:
    return x * by
"""
NAMES = """
import slangad as sa
from slangad import Each, Uniform

@sa.kernel
def odd(
    vars: Each[float], queue: Uniform[float], thread_count: Each[float], command_encoder: Uniform[int]
) -> Each[float]:
    return vars * queue + thread_count * float(command_encoder)
"""


def module(text: str) -> EmittedModule:
    points = tuple(EntryPoint(name, name, Mode.FORWARD, (64, 1, 1), 1, ()) for name in ("scale", "shift"))
    return EmittedModule("test.slang", text, {}, points, {}, ())


def test_download__interrupted__does_not_wait_for_what_runs(gpu: Device) -> None:
    if gpu.name == "cuda":
        pytest.skip("asking whether a submission is done waits for it on cuda")
    program = gpu.load(module(SLOW), BuildOptions(), ("scale",))
    x = gpu.buffer(F4, 64)

    def started(side: int) -> float:
        gpu.submit([KernelLaunch(program, "scale", (64 * side, side, 1), {"n": 64, "x": x, "turns": _TURNS})])
        return time.perf_counter()

    started(1)
    x.download()  # the driver has compiled the kernel
    side, taken = 1, 0.0
    while taken < 0.4:
        side *= 2
        begun = started(side)
        x.download()
        taken = time.perf_counter() - begun
    strike = threading.Timer(0.1, os.kill, (os.getpid(), signal.SIGINT))
    begun = started(side)
    strike.start()
    with pytest.raises(KeyboardInterrupt):
        x.download()
    heard = time.perf_counter() - begun
    assert np.isfinite(x.download()).all()
    assert heard < 0.5 * (time.perf_counter() - begun)


def test_submit__many_launches__run_in_order(gpu: Device) -> None:
    program = gpu.load(module(TEXT), BuildOptions(), ("scale", "shift"))
    n = 100_000
    x, y = gpu.buffer(F4, n), gpu.buffer(F4, n)
    x.upload(np.arange(n, dtype=np.float32))
    scale = KernelLaunch(program, "scale", (n, 1, 1), {"n": n, "x": x, "gain": 2.0}, frozenset({"gain"}))
    there = KernelLaunch(program, "shift", (n, 1, 1), {"n": n, "x": x, "y": y})
    back = KernelLaunch(program, "shift", (n, 1, 1), {"n": n, "x": y, "y": x})
    gpu.submit([scale, scale, there, back, scale])
    expected = np.arange(n, dtype=np.float32) * 4.0
    expected = (np.roll(np.roll(expected, -1) + 1.0, -1) + 1.0) * 2.0
    np.testing.assert_array_equal(x.download(), expected)


def test_load__entry_points_one_by_one__parse_a_module_once(gpu: Device, monkeypatch: pytest.MonkeyPatch) -> None:
    if gpu.name == "webgpu":
        pytest.skip("WGSL comes from the toolchain, which has a cache")
    parsed: list[str] = []
    read = GpuDevice._folder_of
    monkeypatch.setattr(
        GpuDevice, "_folder_of", lambda self, libraries: (parsed.append("read"), read(self, libraries))[1]
    )
    text = module(TEXT)
    wrong = replace(text, text="import nothing_of_this_name;")
    x, y = gpu.buffer(F4, 3), gpu.buffer(F4, 3)
    x.upload(np.array([1.0, 2.0, 3.0], np.float32))
    for expected in ([3.0, 4.0, 2.0], [5.0, 3.0, 4.0]):
        scale, shift = (gpu.load(text, BuildOptions(), (entry,)) for entry in ("scale", "shift"))
        gpu.submit([KernelLaunch(shift, "shift", (3, 1, 1), {"n": 3, "x": x, "y": y})])
        assert y.download().tolist() == expected
        gpu.submit([KernelLaunch(scale, "scale", (3, 1, 1), {"n": 3, "x": y, "gain": 1.0}, frozenset({"gain"}))])
        x, y = y, x
    assert parsed == ["read"]
    gpu.load(text, BuildOptions(defines=(("gain", "factor"),)), ("shift",))
    gpu.load(module(TEXT), BuildOptions(), ("shift",))
    assert parsed == ["read"] * 3
    for _ in range(2):
        with pytest.raises(ToolchainError):
            gpu.load(wrong, BuildOptions(), ("scale",))
    assert parsed == ["read"] * 5


def test_load__again__keeps_the_compiled_entry_points(gpu: Device) -> None:
    if not isinstance(gpu, GpuDevice):
        pytest.skip("its driver compiles at once, and has a cache")
    text = module(TEXT)
    first, again = (gpu.load(text, BuildOptions(), entries) for entries in (("scale",), ("scale", "shift")))
    assert again.kernels["scale"] is first.kernels["scale"]


@pytest.mark.parametrize(
    ("device", "group", "bound"),
    [
        *(("cuda", group, size) for group, size in (((257, 1, 1), 257), ((32, 32, 1), 1024), ((16, 16, 1), 0))),
        ("vulkan", (512, 1, 1), 0),
    ],
)
def test_bound__of_groups_that_may_not_fit_on_cuda__is_their_size(
    device: str, group: tuple[int, int, int], bound: int
) -> None:
    points = [
        EntryPoint("other", "k", Mode.FORWARD, (1024, 1, 1), 1, ()),
        EntryPoint("k", "k", Mode.FORWARD, group, 1, ()),
    ]
    assert bound_of(device, points, {"k"}) == bound


def test_buffer__filled__holds_one_number(gpu: Device) -> None:
    halfs = np.dtype("f2")
    for dtype, number in ((F4, 0.0), (F4, 2.5), (np.dtype("i4"), 3.0), (halfs, 0.5), (halfs, 0.0)):
        buffer = gpu.buffer(dtype, 33)
        buffer.upload(np.ones(33, dtype))
        buffer.fill(number)
        assert buffer.download().tolist() == [number] * 33
    assert gpu.buffer(F4, 0).download().shape == (0,)


@pytest.mark.parametrize("count", [1, 3, 20])
def test_submit__buffers_to_clear__are_zero_whatever_their_number_and_size(gpu: Device, count: int) -> None:
    sizes = [("f4", 7), ("f2", 3), ("f4", 300_001), ("f4", 0), ("f8", 5), ("f2", 4)]
    sizes = [size for size in sizes if gpu.name != "webgpu" or size[0] != "f8"]
    buffers = [gpu.buffer(np.dtype(name), size) for name, size in (sizes * count)[:count]]
    for _ in range(2):
        for buffer in buffers:
            buffer.upload(np.ones(buffer.count, buffer.dtype))
        gpu.submit([], buffers)
        assert all(not buffer.download().any() for buffer in buffers)


def test_zero_launches__for_more_buffers_than_one_takes__set_all_to_zero(gpu: Device) -> None:
    if gpu.name == "webgpu":
        pytest.skip("it has fewer buffers in a launch")
    program = gpu.load(ZERO, BuildOptions(), (ZERO_ENTRY,))
    buffers = [gpu.buffer(np.dtype(name), size) for name, size in (("f4", 0), ("f4", 300_001), ("f2", 6)) * 4]
    assert all(map(is_whole, buffers))
    assert not is_whole(gpu.buffer(np.dtype("f2"), 3))
    for buffer in buffers:
        buffer.upload(np.ones(buffer.count, buffer.dtype))
    launches = [*zero_launches(program, buffers)]
    gpu.submit(launches)
    assert len(launches) == 2
    assert all(not buffer.download().any() for buffer in buffers)


def test_buffer__more_than_there_is__is_refused(gpu: Device) -> None:
    with pytest.raises(ToolchainError, match="SA251"):
        gpu.buffer(F4, 1 << 42)


@pytest.fixture
def little_room() -> Iterator[Callable[[int], None]]:
    """Sets how many bytes more this process may map, until the test ends."""
    resource = pytest.importorskip("resource")
    before = resource.getrlimit(resource.RLIMIT_AS)

    def limit(size: int) -> None:
        used = int(Path("/proc/self/statm").read_text(encoding="ascii").split()[0]) * resource.getpagesize()
        resource.setrlimit(resource.RLIMIT_AS, (used + size, before[1]))

    yield limit
    resource.setrlimit(resource.RLIMIT_AS, before)


def test_memory__more_than_ulimit_leaves_a_driver_in_software__is_refused_before_it_is_taken(
    gpu: Device, little_room: Callable[[int], None]
) -> None:
    if gpu.name != "vulkan" or not is_software(gpu.adapter):
        pytest.skip("memory of its own, or no buffer as large as that")
    x = gpu.buffer(F4, 40_000_000)
    array = np.ones(40_000_000, np.float32)
    little_room(200 << 20)
    assert free_addresses() in range(150 << 20, (200 << 20) + 1)
    with pytest.raises(ToolchainError, match=r"SA251.*vulkan: 190.7 MiB more are needed; .* MiB are free"):
        gpu.buffer(F4, 50_000_000)
    for move in (lambda: x.upload(array), x.download):
        with pytest.raises(ToolchainError, match=r"SA251.*vulkan: 152.6 MiB more are needed"):
            move()


def test_load__text_the_device_does_not_take__says_why(gpu: Device) -> None:
    with pytest.raises(ToolchainError, match=f"SA249.*{gpu.name} rejected test.slang") as caught:
        gpu.load(module(TEXT.replace("gain *", "nonsense *")), BuildOptions(), ("scale",))
    assert any("nonsense" in note for note in caught.value.diagnostics[0].notes)


def test_load__modules_that_can_not_be_written__are_told_with_the_place(gpu: Device) -> None:
    if gpu.name == "webgpu":
        pytest.skip("it takes what the toolchain compiled")
    with small_files(100), pytest.raises(ToolchainError, match=r"SA255.*can't write temporary files in "):
        gpu.load(replace(module(TEXT), libraries={"lib.slang": 500 * "/"}), BuildOptions(), ("scale",))


def test_call__many_times__leaves_no_buffers_of_earlier_ones(gpu: Device, tmp_path: Path) -> None:
    (tmp_path / "double.py").write_text(DOUBLE, encoding="utf-8")
    double = sa.load(tmp_path / "double.py", gpu.name).double
    kind, alive = type(gpu.buffer(F4, 1)), []
    for _ in range(4):
        double.backward(np.ones(100, np.float32), 2.0)
        gc.collect()
        alive.append(sum(type(one) is kind for one in gc.get_objects()))
    assert alive == alive[:1] * 4


def test_call__parameters_named_like_slangpys_arguments__arrive(gpu: Device, tmp_path: Path) -> None:
    (tmp_path / "names.py").write_text(NAMES, encoding="utf-8")
    odd = sa.load(tmp_path / "names.py", gpu.name).odd
    x = np.arange(5, dtype=np.float32)
    np.testing.assert_array_equal(odd(x, 2.0, x, 10), 12.0 * x)


LARGE = """
import slangad as sa
from slangad import Array, Each, NoDiff, Param, Uniform

@sa.kernel
def sent(x: Each[float], u: Uniform[Array[float, 100]]) -> Each[float]:
    return x * u[99]

@sa.kernel
def kept(x: Each[float], u: NoDiff[Param[Array[float, 100]]]) -> Each[float]:
    return x * u[99]
"""


def test_uniforms__more_than_vulkan_takes__are_refused_in_words_of_our_own(
    gpu: Device, tmp_path: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "large.py").write_text(LARGE)
    kernels = sa.load(tmp_path / "large.py", device=gpu.name)
    x, u = np.ones(3, "f4"), np.full(100, 2.0, "f4")
    np.testing.assert_array_equal(kernels.kept(x, u), [2, 2, 2])
    if gpu.name != "vulkan":
        np.testing.assert_array_equal(kernels.sent(x, u), [2, 2, 2])
        return
    with pytest.raises(ToolchainError, match=r"SA254.* has 40\d bytes of uniforms, and vulkan takes \d+ here"):
        kernels.sent(x, u)
    assert "".join(capfd.readouterr()) == ""
