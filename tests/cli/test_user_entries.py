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

WITHOUT_PARAMETERS = """
RWStructuredBuffer<float> result;

[ForwardDifferentiable]
float f(float x) { return x * x; }

[shader("compute")]
[numthreads(1, 1, 1)]
void main() { result[0] = fwd_diff(f)(diffPair(2.0, 1.0)).d; }
"""


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


def test_compile__entry_points_of_the_file__are_compiled_beside_its_kernels_or_alone(project: Project) -> None:
    project.write("f.slang", TEXT)
    ended = project.run("compile", "f.slang", "-t", "spirv", "-t", "hlsl")
    assert "2 kernels, 8 artefacts in build" in ended.stderr
    assert {"f.main.spv", "f.main.spv.reflection.json", "f.f.backward.hlsl", "f.main.hlsl"} <= set(project.files())
    assert b"void main(" in project.files()["f.main.hlsl"]
    (record,) = project.manifest()["inputs"]
    (own,) = (one for one in record["kernels"] if one["name"] == "main")
    assert own["entry_points"][0]["group_size"] == [64, 1, 1]
    project.run("compile", "f.slang:main", "-o", "alone")
    project.write("f.slang", f"{TEXT}// changed\n")
    project.run("compile", "f.slang:main", "-o", "alone")
    assert {name for name in project.files("alone") if name.endswith(".spv")} == {"f.main.spv"}
    project.run("compile", "f.slang", "--mode", "jvp", "-o", "jvp")
    assert {name for name in project.files("jvp") if name.endswith(".spv")} == {"f.f.jvp.spv"}


def test_compile__derivatives_of_an_entry_point__are_refused(project: Project) -> None:
    project.write("f.slang", TEXT)
    ended = project.run("compile", "f.slang:main", "--mode", "backward", "-o", "out", code=1)
    assert "error[SA417]: main has no backward mode: it is compiled as it is" in ended.stderr
    assert not (project.folder / "out").exists()


def test_compile__an_entry_point_that_slang_rejects__costs_only_itself(project: Project) -> None:
    bad = '[shader("compute")] [numthreads(8, 1, 1)] void bad(uint3 id : SV_DispatchThreadID) { dx[0] = nowhere(); }\n'
    waves = (
        "RWStructuredBuffer<double> sums;\n"
        '[shader("compute")] [numthreads(8, 1, 1)] void wide(uint3 id : SV_DispatchThreadID) { sums[id.x] = 1.0L; }\n'
    )
    project.write("f.slang", TEXT + waves)
    ended = project.run("compile", "f.slang", "-t", "spirv", "-t", "wgsl")
    assert "wide is left out for wgsl" in ended.stderr
    assert {"f.main.wgsl", "f.wide.spv"} <= set(project.files())
    project.write("only.slang", "RWStructuredBuffer<float> dx;\n" + bad)
    assert "nowhere" in project.run("compile", "only.slang", code=1).stderr
    project.write("only.slang", "RWStructuredBuffer<float> dx;\n" + bad.replace("nowhere()", "1.0"))
    assert "1 kernel, 1 artefact" in project.run("compile", "only.slang").stderr


@pytest.mark.parametrize("device", ["cpu", "vulkan"])
def test_run__an_entry_point_without_parameters__writes_its_buffers(project: Project, device: str, cxx: object) -> None:
    del cxx
    device_of(device)
    project.write("f.slang", WITHOUT_PARAMETERS)
    project.run("run", "f.slang:main", "--shape", "result=1", "-o", "out.npz", "--device", device)
    with np.load(project.folder / "out.npz") as results:
        assert results["result"].tolist() == [4.0]


def test_compile__an_entry_point_without_parameters__is_compiled(project: Project) -> None:
    project.write("f.slang", WITHOUT_PARAMETERS)
    project.run("compile", "f.slang:main", "-t", "spirv")
    assert [name for name in project.files() if name.endswith(".spv")] == ["f.main.spv"]


@pytest.mark.parametrize(
    ("name", "body", "remedy"),
    [
        ("step", "result[0] = 1.0;", "give the entry point another name"),
        ("main", "GroupMemoryBarrierWithGroupSync(); result[0] = 1.0;", "run it on a GPU: --device vulkan"),
    ],
)
def test_run__an_entry_point_that_slang_does_not_compile__has_a_remedy(
    project: Project, name: str, body: str, remedy: str, cxx: object
) -> None:
    del cxx
    head = 'RWStructuredBuffer<float> result;\n[shader("compute")]\n[numthreads(4, 1, 1)]\n'
    project.write("f.slang", f"{head}void {name}() {{ {body} }}\n")
    ended = project.run("run", f"f.slang:{name}", "--shape", "result=1", "--device", "cpu", code=1)
    assert remedy in ended.stderr


def test_run__a_name_close_to_an_entry_point__suggests_it(project: Project) -> None:
    project.write("f.slang", TEXT)
    assert "did you mean main?" in project.run("run", "f.slang:mian", code=1).stderr
