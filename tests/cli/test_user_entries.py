"""Compute entry points that a Slang file contains run and compile as they are."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
import pytest
from support.devices import device_of

if TYPE_CHECKING:
    from tests.cli.conftest import Project

pytestmark = pytest.mark.toolchain

TEXT = """
struct Settings { float gain; int count; }
StructuredBuffer<float> x;
RWStructuredBuffer<float> dx;
uniform Settings settings;
cbuffer Scene { float scale; float3 tint; }

[Differentiable]
float f(float x, no_diff float gain) { return x * x * gain; }

[shader("compute")]
[numthreads(64, 1, 1)]
void main(uint3 id : SV_DispatchThreadID, uniform float cotangent, RWStructuredBuffer<float3> colour)
{
    if (id.x >= settings.count) return;
    var p = diffPair(x[id.x], 0.0);
    bwd_diff(f)(p, settings.gain * scale, cotangent);
    dx[id.x] += p.d;
    colour[id.x] = p.d * tint;
}
"""
VALUES = {"settings.gain": 2.0, "settings.count": 3, "scale": 3.0, "tint": [1.0, 0.5, 0.25], "cotangent": 0.5}


@pytest.fixture
def words(project: Project) -> list[str]:
    """The command line that runs the entry point, without a device."""
    project.write("f.slang", TEXT)
    np.savez(project.folder / "in.npz", x=np.array([0.0, 1.0, 2.0], np.float32), dx=np.full(3, 10.0, np.float32))
    settings = [word for name, value in VALUES.items() for word in ("--set", f"{name}={value}")]
    return ["run", "f.slang:main", "-i", "in.npz", "-o", "out.npz", *settings]


@pytest.mark.parametrize("device", ["cpu", "vulkan"])
def test_run__an_entry_point_of_the_file__writes_its_buffers(
    project: Project, words: list[str], device: str, cxx: object
) -> None:
    del cxx
    device_of(device)
    project.run(*words, "--device", device)
    with np.load(project.folder / "out.npz") as results:
        assert set(results) == {"dx", "colour"}
        assert results["dx"].tolist() == [10.0, 16.0, 22.0]
        assert results["colour"].tolist() == [[0, 0, 0], [6, 3, 1.5], [12, 6, 3]]


def test_run__wrong_arguments_of_an_entry_point__are_all_named(project: Project, words: list[str], cxx: object) -> None:
    del cxx
    wrong = [word.replace("scale=3.0", "scales=3.0").replace("in.npz", "x.npz") for word in words]
    np.savez(project.folder / "x.npz", colour=np.zeros((3, 2), np.float32))
    said = project.run(*wrong, "--device", "cpu", code=1).stderr
    for words_ in ("x is missing", "scale is missing", "main has no parameter scales", "colour has the shape (3, 2)"):
        assert words_ in said
    assert "--mode does not apply" in project.run(*words, "--mode", "backward", code=2).stderr
