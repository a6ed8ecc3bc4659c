"""The bytes of arguments of captured launches, and arguments that a CUDA graph can't hold. No GPU is needed.

``tests/devices/cuda_graph.py`` captures and replays on a GPU.
"""

from __future__ import annotations

import ctypes
import struct
from types import SimpleNamespace
from typing import TYPE_CHECKING, Any

import numpy as np
import pytest

import slangad as sa
from slangad import Each, Tensor, Uniform
from slangad.compiler.api.torch import refuse_uncaptured
from slangad.compiler.errors.diagnostics import ToolchainError
from slangad.compiler.runtime.arrays.modes import RunMode
from slangad.compiler.runtime.arrays.prepare import InputError
from slangad.compiler.runtime.device import cuda_capture
from slangad.compiler.runtime.device.cuda_calls import PreparedLaunches
from slangad.compiler.runtime.device.cuda_capture import CapturedLaunches, EntryCode, packed
from slangad.compiler.runtime.device.model import KernelLaunch
from slangad.compiler.runtime.device.tensors import TensorBuffer
from slangad.compiler.runtime.device.zeroing import ZERO_ENTRY, zero_launches

if TYPE_CHECKING:
    from collections.abc import Mapping


@sa.kernel
def scaled(x: Each[float], w: Tensor[float, 1], s: Uniform[float]) -> Each[float]:
    return s * x * w[0]


def layout(offset: int, size: int, scalar: str, kind: str = "scalar") -> Any:
    """Return a variable of reflection at some bytes."""
    type_ = SimpleNamespace(scalar_type=SimpleNamespace(name=scalar), kind=SimpleNamespace(name=kind))
    whole = SimpleNamespace(size=size, type=type_)
    whole.unwrap_array = lambda: whole
    return SimpleNamespace(offset=offset, type_layout=whole)


PLACES: Mapping[str, Any] = {
    "count": layout(0, 8, "uint32", "vector"),
    "s": layout(8, 4, "float32"),
    "half": layout(12, 2, "float16"),
    "x": layout(16, 16, "none", "resource"),
    "m": layout(32, 16, "float32", "matrix"),
}


def test_packed__numbers_and_buffers__lie_where_reflection_says() -> None:
    memory = SimpleNamespace(data_ptr=lambda: 0x7F00_1234_5678, numel=lambda: 42)
    buffer = TensorBuffer(memory, np.dtype("f4"), 42)
    found = packed({"count": [7, 9], "s": 0.5, "half": 1.5, "x": buffer, "removed": 3}, PLACES, "scaled")
    assert found[:32] == struct.pack("<IIfexxQQ", 7, 9, 0.5, 1.5, 0x7F00_1234_5678, 42)
    assert len(found) == 48


def test_packed__a_matrix_a_texture_or_a_struct__is_refused() -> None:
    for values in ({"m": [[1.0, 2.0], [3.0, 4.0]]}, {"x": object()}, {"s": {"a": 1.0}}):
        with pytest.raises(ToolchainError, match="of scaled is a texture, a matrix or a struct passed by value"):
            packed(values, PLACES, "scaled")


def test_refuse_uncaptured__arrays_of_the_host_and_numbers_of_the_gpu__are_named() -> None:
    gpu, signature = SimpleNamespace(device=SimpleNamespace(type="cuda")), scaled.on("cpu").signature
    refuse_uncaptured(signature, RunMode.BACKWARD, {"x": gpu, "w": gpu, "s": 2.0, "cotangent.result": gpu})
    with pytest.raises(InputError) as caught:
        refuse_uncaptured(signature, RunMode.BACKWARD, {"x": np.zeros(3), "w": gpu, "s": gpu})
    assert [one.message for one in caught.value.diagnostics] == [
        "scaled can't be captured in a CUDA graph: x is not on the GPU",
        "scaled can't be captured in a CUDA graph: s is on the GPU and is passed by value",
    ]


class RecordingDriver:
    """A driver that keeps the arguments of launches and the variables of modules as they are when they start."""

    def __init__(self) -> None:
        self.started: list[tuple[Any, ...]] = []
        self.cleared: list[tuple[int, ...]] = []
        self.waits = 0

    def cuLaunchKernel(self, function: Any, *rest: Any) -> int:
        *sizes, _, stream, _, extra = rest
        data = ctypes.string_at(extra[1], ctypes.c_size_t.from_address(extra[3]).value)
        self.started.append((function.value, [one.value for one in sizes], stream.value, data))
        return 0

    def cuMemcpyHtoDAsync_v2(self, target: Any, source: Any, size: Any, stream: Any) -> int:
        self.started.append((target.value, bytes(source)[: size.value], stream.value))
        return 0

    def cuMemsetD8Async(self, *arguments: ctypes._SimpleCData[int]) -> int:
        self.cleared.append(tuple(one.value for one in arguments))
        return 0

    def cuCtxSynchronize(self) -> int:
        self.waits += 1
        return 0


def test_prepared_launches__started_again__have_new_addresses_and_values(monkeypatch: pytest.MonkeyPatch) -> None:
    driver, device = RecordingDriver(), CapturedLaunches(SimpleNamespace())  # type: ignore[arg-type]
    monkeypatch.setattr(cuda_capture, "cuda_driver", lambda: driver)
    shared = {"w": layout(0, 16, "none", "resource")}
    code = EntryCode(7, (256, 1, 1), PLACES, shared, variable=99, bytes_of_variable=16)
    monkeypatch.setattr(device, "code_of", lambda *_: code)
    memory = [SimpleNamespace(data_ptr=lambda: 1, numel=lambda size=size: size) for size in (42, 5)]
    x, w = (TensorBuffer(one, np.dtype("f4"), one.numel()) for one in memory)
    bindings = {"count": [7, 9], "s": 0.5, "half": 1.5, "x": x, "w": w, "removed": x}
    launch = KernelLaunch(SimpleNamespace(), "scaled", (300, 1, 1), bindings, frozenset({"w"}))  # type: ignore[arg-type]
    prepared = PreparedLaunches(device, [(launch, SimpleNamespace())], [x, w], [(1, 20)])  # type: ignore[list-item]
    prepared.start([0x1000, 0x2000], stream=3)
    prepared.set_value(0, "s", 2.5)
    prepared.start([0x3000, 0x4000], stream=3)
    own = [struct.pack("<IIfexxQQ", 7, 9, s, 1.5, address, 42) for s, address in ((0.5, 0x1000), (2.5, 0x3000))]
    variables = [one for one in driver.started if one[0] == 99]
    assert variables == [(99, struct.pack("<QQ", address, 5), 3) for address in (0x2000, 0x4000)]
    starts = [one for one in driver.started if one[0] == 7]
    assert [(sizes, stream, data[:32]) for _, sizes, stream, data in starts] == [
        ([2, 1, 1, 256, 1, 1], 3, block) for block in own
    ]
    assert driver.cleared == [(0x2000, 0, 20, 3), (0x4000, 0, 20, 3)]
    assert driver.waits == 0
    prepared.start([0x1000, 0x2000], stream=4)  # the variable may still be read in the other stream
    device.enter(None)  # and so before launches of slangpy
    device.enter(None)
    assert driver.waits == 2


def test_prepared_launches__with_buffers_to_set_to_zero__start_with_a_launch_for_all(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    driver, device = RecordingDriver(), CapturedLaunches(SimpleNamespace())  # type: ignore[arg-type]
    monkeypatch.setattr(cuda_capture, "cuda_driver", lambda: driver)
    code = EntryCode(7, (256, 1, 1), PLACES, {}, variable=0, bytes_of_variable=0)
    places = {"threads": layout(0, 4, "uint32")}
    for n in range(8):
        places |= {
            f"buffer{n}": layout(8 + 24 * n, 16, "none", "resource"),
            f"count{n}": layout(24 + 24 * n, 4, "uint32"),
        }
    zero = EntryCode(8, (256, 1, 1), places, {}, variable=0, bytes_of_variable=0)
    monkeypatch.setattr(device, "code_of", lambda _, entry: zero if entry == ZERO_ENTRY else code)
    memory = [SimpleNamespace(data_ptr=lambda: 1, numel=lambda size=size: size) for size in (42, 5)]
    x, w = (TensorBuffer(one, np.dtype("f4"), one.numel()) for one in memory)
    launch = KernelLaunch(SimpleNamespace(), "scaled", (300, 1, 1), {"count": [7, 9], "s": 0.5, "half": 1.5, "x": x})  # type: ignore[arg-type]
    clearing = [(one, SimpleNamespace()) for one in zero_launches(SimpleNamespace(), [x, w])]  # type: ignore[arg-type]
    prepared = PreparedLaunches(device, [(launch, SimpleNamespace())], [x, w], [], clearing)  # type: ignore[list-item,arg-type]
    prepared.start([0x1000, 0x2000], stream=3)
    (first, sizes, _, data), then = driver.started
    assert (first, sizes, then[0]) == (8, [1, 1, 1, 256, 1, 1], 7)
    told = [struct.unpack_from("<QQI", data, 8 + 24 * n) for n in range(8)]
    assert told == [(0x1000, 42, 42), (0x2000, 5, 5), *[(0x2000, 5, 0)] * 6]
    assert driver.cleared == []
