"""The bytes of arguments of captured launches, and arguments that a CUDA graph can't hold. No GPU is needed.

``tests/devices/cuda_graph.py`` captures and replays on a GPU.
"""

from __future__ import annotations

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
from slangad.compiler.runtime.device.cuda_capture import packed
from slangad.compiler.runtime.device.tensors import TensorBuffer

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
