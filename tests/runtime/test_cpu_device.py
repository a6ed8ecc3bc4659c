"""The cpu device: buffers that both processes see, launches in order, crashes that stay in the worker."""

from __future__ import annotations

import gc
import os
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np
import pytest

from slangad.compiler.emit.model import EmittedModule
from slangad.compiler.errors.diagnostics import CompileError, ToolchainError
from slangad.compiler.runtime.device import cpu_device, segments
from slangad.compiler.runtime.device.cpu_device import CpuDevice
from slangad.compiler.runtime.device.cxx import build_shared_library
from slangad.compiler.runtime.device.model import BuildOptions, KernelLaunch, Sliced
from slangad.compiler.runtime.device.open import open_device
from slangad.compiler.runtime.device.segments import Segment, attach

if TYPE_CHECKING:
    from collections.abc import Iterator

pytestmark = pytest.mark.toolchain

TEXT = """
uniform float gain;
StructuredBuffer<float> unused;

[shader("compute")] [numthreads(64, 1, 1)]
void scale(uint3 t : SV_DispatchThreadID, uniform uint n, uniform RWStructuredBuffer<float> x)
{ if (t.x < n) x[t.x] = gain * x[t.x]; }

[shader("compute")] [numthreads(64, 1, 1)]
void shift(uint3 t : SV_DispatchThreadID, uniform uint n, uniform StructuredBuffer<float> x,
    uniform RWStructuredBuffer<float> y)
{ if (t.x < n) y[t.x] = x[(t.x + 1) % n] + 1.0; }

[shader("compute")] [numthreads(64, 1, 1)]
void wild(uint3 t : SV_DispatchThreadID, uniform uint64_t at, uniform RWStructuredBuffer<float> x) { x[at] = 1.0; }

[shader("compute")] [numthreads(64, 1, 1)]
void count(uint3 t : SV_DispatchThreadID, uniform uint n, uniform RWStructuredBuffer<double> totals)
{ if (t.x < n) totals[0] = totals[0] + 1.0; }
"""


def module(text: str = TEXT) -> EmittedModule:
    """A module as the emitter gives one; the device needs no more of its entry points than their names."""
    from slangad.compiler.emit.model import EntryPoint, Mode

    names = [line.split("(")[0].removeprefix("void ") for line in text.splitlines() if line.startswith("void ")]
    points = tuple(EntryPoint(name, name, Mode.FORWARD, (64, 1, 1), 1, ()) for name in names)
    return EmittedModule("test.slang", text, {}, points, {}, ())


@pytest.fixture
def device(cxx: object) -> Iterator[CpuDevice]:
    with CpuDevice() as opened:
        yield opened


F4 = np.dtype("f4")


def test_kernels__are_part_of_the_loops_over_their_groups(device: CpuDevice, monkeypatch: pytest.MonkeyPatch) -> None:
    """The C++ compiler then makes vector code of those: a call for each thread takes twenty times as long."""
    texts: list[bytes] = []

    def build(text: bytes, **options: object) -> bytes:
        texts.append(text)
        return build_shared_library(text, **options)  # type: ignore[arg-type]  # those of the device

    monkeypatch.setattr(cpu_device, "build_shared_library", build)
    program = device.load(module(), BuildOptions(), ("scale", "shift"))
    (text,) = texts
    for name in (b"scale", b"shift"):
        assert text.count(b"[[gnu::always_inline]] inline void _%s(" % name) == text.count(b"    _%s(" % name) == 1
    x = device.buffer(F4, 100)
    x.upload(np.arange(100, dtype=np.float32))
    device.submit([KernelLaunch(program, "scale", (100, 1, 1), {"n": 100, "x": x, "gain": 2.0}, shared={"gain"})])
    assert np.array_equal(x.download(), 2 * np.arange(100))


def test_submit__several_launches__see_what_came_before(device: CpuDevice) -> None:
    program = device.load(module(), BuildOptions(), ("scale", "shift"))
    n = 100_000
    x, y = device.buffer(F4, n), device.buffer(F4, n)
    x.upload(np.arange(n, dtype=np.float32))
    first = KernelLaunch(program, "scale", (n, 1, 1), {"n": n, "x": x, "gain": 2.0}, frozenset({"gain"}))
    device.submit([first, first, KernelLaunch(program, "shift", (n, 1, 1), {"n": n, "x": x, "y": y})])
    device.wait()
    np.testing.assert_array_equal(y.download(), 4.0 * np.roll(np.arange(n), -1) + 1.0)
    x.fill(3.0)
    assert x.download().tolist() == [3.0] * n
    assert x.take() is not None


def test_submit__sliced_buffers__are_seen_by_one_worker_each(device: CpuDevice) -> None:
    program = device.load(module(), BuildOptions(), ("count",))
    copies = device.copies(10, 1)
    totals = device.buffer(np.dtype("f8"), copies)
    totals.fill(0.0)
    n = 1_000_000
    device.submit([KernelLaunch(program, "count", (n, 1, 1), {"n": n, "totals": Sliced(totals, copies)})])
    assert totals.download().sum() == n


def test_submit__crash__is_an_error_and_buffers_survive_it(device: CpuDevice) -> None:
    program = device.load(module(), BuildOptions(), ("wild", "scale"))
    x = device.buffer(F4, 64)
    x.fill(5.0)
    with pytest.raises(ToolchainError, match=r"SA248.*kernel wild crashed \(SIGSEGV\)"):
        device.submit([KernelLaunch(program, "wild", (1, 1, 1), {"at": 2**50, "x": x})])
    device.submit([KernelLaunch(program, "scale", (64, 1, 1), {"n": 64, "x": x, "gain": 2.0})])
    assert x.download().tolist() == [10.0] * 64


def test_load__that_takes_too_long__is_not_called_a_kernel(cxx: object) -> None:
    with CpuDevice(limit=1e-4) as slow:
        program = slow.load(module(), BuildOptions(), ("scale",))
        x = slow.buffer(F4, 64)
        with pytest.raises(ToolchainError, match=r"SA248.*: loading test.slang did not end within 0.0001 s on the CPU"):
            slow.submit([KernelLaunch(program, "scale", (64, 1, 1), {"n": 64, "x": x, "gain": 2.0})])


def test_submit__missing_parameter__is_told(device: CpuDevice) -> None:
    program = device.load(module(), BuildOptions(), ("scale",))
    with pytest.raises(KeyError, match="x given but no parameter, or the reverse"):
        device.submit([KernelLaunch(program, "scale", (1, 1, 1), {"n": 1, "gain": 1.0})])


def test_load__text_that_slang_rejects__is_an_error_of_the_program(device: CpuDevice) -> None:
    wrong = '[shader("compute")] [numthreads(64, 1, 1)]\nvoid wrong() { nonsense(); }\n'
    with pytest.raises(CompileError, match="nonsense"):
        device.load(module(wrong), BuildOptions(), ("wrong",))


def test_buffer__more_than_there_is__is_refused_before_it_is_taken(
    device: CpuDevice, monkeypatch: pytest.MonkeyPatch
) -> None:
    with pytest.raises(ToolchainError, match=r"SA251.*too little memory on cpu: 4.0 TiB more are needed; .* are free"):
        device.buffer(F4, 1 << 40)
    monkeypatch.setattr(cpu_device, "free_memory", lambda: None)
    monkeypatch.setattr(segments, "_reserve", _full)
    with pytest.raises(ToolchainError, match="SA251"):
        device.buffer(F4, 64)


def _full(file: int, size: int) -> None:
    raise OSError(28, os.strerror(28))


def test_segment__closed__leaves_arrays_valid() -> None:
    segment = Segment(4096)
    view = np.frombuffer(attach(segment.place, 4096), np.uint8)
    np.frombuffer(segment.memory, np.uint8)[7] = 42
    assert view[7] == 42
    segment.close()
    segment.close()
    assert segment.closed
    assert view[7] == 42
    del segment
    gc.collect()
    assert view[7] == 42


def test_segment__without_nameless_files__has_one_that_goes(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(segments, "_nameless", lambda: None)
    segment = Segment(100)
    place = Path(segment.place)
    assert place.exists()
    attach(segment.place, 100)[3] = 9
    assert segment.memory[3] == 9
    segment.close()
    assert not place.exists()


@pytest.mark.skipif(not hasattr(os, "fork"), reason="there is no fork here")
def test_segment__closed_in_a_fork__leaves_its_file_to_the_parent(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(segments, "_nameless", lambda: None)
    segment = Segment(100)
    pid = os.fork()
    if pid == 0:
        segment.close()
        os._exit(0)
    os.waitpid(pid, 0)
    assert Path(segment.place).exists()
    segment.close()


def test_open__unknown_name__lists_the_devices() -> None:
    with pytest.raises(ToolchainError, match=r"SA250.*no device 'tpu'"):
        open_device("tpu")
