"""The manifest keeps to its schema and is enough to launch: buffers, launches, blocks, features and limits."""

from __future__ import annotations

import json
import math
import re
from pathlib import Path
from typing import TYPE_CHECKING, Any

import jsonschema
import pytest

from slangad.compiler.driver.manifest_schema import manifest_schema

if TYPE_CHECKING:
    from tests.cli.conftest import Project

pytestmark = pytest.mark.toolchain

ROOT = Path(__file__).parents[2]
NOT_COMPILED = ("neural_image.py", "neural_material.py", "launch.py", "four_spheres.py")
SAMPLES = sorted(p for p in (ROOT / "samples").glob("*/*.py") if p.name not in NOT_COMPILED)
TARGETS = ("-t", "wgsl", "-t", "spirv", "-t", "cpp")


def _artefact(entry: dict[str, Any], target: str) -> dict[str, Any]:
    return next(artefact for artefact in entry["artefacts"] if artefact["target"] == target)


def test_schema__printed__is_the_one_that_holds(project: Project) -> None:
    printed = json.loads(project.run("schema", "manifest").stdout)
    jsonschema.Draft202012Validator.check_schema(printed)
    assert printed == json.loads(json.dumps(manifest_schema()))


def test_manifest__of_every_sample__keeps_to_the_schema(project: Project) -> None:
    devices = [ROOT / "tests/devices" / f"{name}.py" for name in ("uniforms", "kinds")]
    validator = jsonschema.Draft202012Validator(manifest_schema(closed=True))
    for file in (*SAMPLES, *devices):
        targets = ("-t", "cpp") if file.stem == "kinds" else TARGETS  # which computes in double
        targets += ("-t", "glsl") if file.stem in {"texture_fit", "splats", "uniforms"} else ()
        project.run("compile", str(file), *targets, "--mode", "backward", "--emit", "header", "--emit", "artefacts")
        manifest = project.manifest()
        validator.validate(manifest)
        for entry in (entry for kernel in manifest["inputs"][0]["kernels"] for entry in kernel["entry_points"]):
            _assert_limits(entry)
        assert all(kernel["modes"] for kernel in manifest["inputs"][0]["kernels"] if kernel["entry_points"])


def _assert_limits(entry: dict[str, Any]) -> None:
    """Compare limits that are read from different code of one entry point."""
    limits = {artefact["target"]: artefact["limits"] for artefact in entry["artefacts"]}
    if "spirv" not in limits:
        return
    storage = "maxPerStageDescriptorStorageBuffers"
    spirv, glsl = limits["spirv"], limits.get("glsl", limits["spirv"])
    assert {**spirv, storage: 0} == {**glsl, storage: 0}
    assert spirv.get(storage, 0) <= glsl.get(storage, 0)  # SPIR-V has no buffers that are unused
    assert spirv["maxComputeWorkGroupInvocations"] == math.prod(entry["group_size"])
    assert limits["wgsl"]["maxComputeInvocationsPerWorkgroup"] == math.prod(entry["group_size"])
    shared = [
        one.get(name, 0)
        for one, name in (
            (spirv, "maxComputeSharedMemorySize"),
            (limits["wgsl"], "maxComputeWorkgroupStorageSize"),
        )
    ]
    # WGSL has no waves: sums of a group take a place for each of its threads.
    assert shared[0] <= shared[1] <= 16384


def test_manifest__blocks__lie_as_the_code_declares_them(project: Project) -> None:
    project.run("compile", str(ROOT / "tests/devices/uniforms.py:weigh"), *TARGETS, "--mode", "forward")
    (entry,) = project.manifest()["inputs"][0]["kernels"][0]["entry_points"]
    wgsl = _artefact(entry, "wgsl")
    assert "shader-f16" in wgsl["features"]
    code = (project.folder / "build" / wgsl["file"]).read_text()
    assert f"fn {wgsl['entry']}(" in code
    (block,) = wgsl["blocks"]
    assert f"@binding({block['index']}) @group(0) var<uniform>" in code
    assert wgsl["storage_buffers"] == len(re.findall(r"var<storage", code))
    declared = re.search(r"struct EntryPointParams_std140_0\s*\{(.*?)\};?\n", code, re.DOTALL)
    assert declared is not None
    offsets = {member["parameter"]: member["offset"] for member in reversed(block["members"])}
    assert len(offsets) == len(re.findall(r"^\s+@align", declared[1], re.MULTILINE))
    m = next(member for member in block["members"] if member["parameter"] == "m")
    assert (m["shape"], m["strides"]) == ([3, 3], [16, 4])
    tight = next(member for member in _artefact(entry, "spirv")["blocks"][0]["members"] if member["parameter"] == "m")
    assert (tight["shape"], tight["strides"]) == ([3, 3], [12, 4])
    assert "Float16" in _artefact(entry, "spirv")["features"]


def test_manifest__modes__name_buffers_with_sizes_and_launches_in_order(project: Project) -> None:
    project.run("compile", str(ROOT / "samples/texture_fit/texture_fit.py:fit"), "-t", "glsl", "--mode", "backward")
    (kernel,) = project.manifest()["inputs"][0]["kernels"]
    assert kernel["tensors"] == {"albedo": 2}
    (mode,) = kernel["modes"]
    launches = [(launch["entry_point"], launch["grid"], launch["count"]) for launch in mode["launches"]]
    assert launches == [
        ("fit_backward", "groups", [1, "parts"]),
        ("fit_backward_totals", "groups", [1]),
        ("fit_backward_albedo", "flat", [3, "extents:albedo"]),
    ]
    sizes = {buffer["key"]: (buffer["scalars"], buffer["start"]) for buffer in mode["buffers"]}
    assert sizes["seen"] == ([3, "domain"], "given")
    assert sizes["cotangent.result"] == ([1], "one")
    assert sizes["partials"] == ([5, "parts"], "any")
    assert sizes["totals.albedo"] == ([3, "extents:albedo", "copies:albedo"], "zero")
    assert sizes["grad.albedo"] == ([3, "extents:albedo"], "zero")
    assert sizes["probe.error"] == ([3, "domain"], "zero")
    assert {_artefact(entry, "glsl")["entry"] for entry in kernel["entry_points"]} == {"main"}


def test_manifest__gradients_of_several_tensors__share_a_function_and_its_artefacts(project: Project) -> None:
    project.run("compile", str(ROOT / "samples/splats/splats.py:render"), "-t", "wgsl", "-t", "spirv")
    (kernel,) = project.manifest()["inputs"][0]["kernels"]
    gathers = [entry for entry in kernel["entry_points"] if entry["work"] == "scalars"]
    tensors = ["centre", "width", "angle", "colour", "opacity"]
    assert [entry["name"] for entry in gathers] == [f"render_backward_{name}" for name in tensors]
    assert {entry["function"] for entry in gathers} == {"render_backward_gather"}
    assert {tuple(a["file"] for a in entry["artefacts"]) for entry in gathers} == {
        ("splats.render.backward.gather.wgsl", "splats.render.backward.gather.spv")
    }
    assert {_artefact(entry, "wgsl")["storage_buffers"] for entry in gathers} == {2}
    buffers = kernel["modes"][1]["buffers"]
    bound = {(use["entry_point"], use["parameter"]): b["key"] for b in buffers for use in b["bound"]}
    assert [bound[entry["name"], "gradient"] for entry in gathers] == [f"grad.{name}" for name in tensors]
    assert [bound[entry["name"], "totals"] for entry in gathers] == [f"totals.{name}" for name in tensors]


def test_compile__more_storage_buffers_than_webgpu_guarantees__is_a_note(project: Project) -> None:
    said = project.run("compile", str(ROOT / "samples/quickstart/brdf.py"), "-t", "wgsl", "--no-pack-buffers").stderr
    assert "note[SA427]: fit_jvp binds 11 storage buffers, and WebGPU guarantees 8" in said
    assert said.count("SA427") == 1
    for target in ("cuda", "wgsl"):
        assert "SA427" not in project.run("compile", str(ROOT / "samples/quickstart/brdf.py"), "-t", target).stderr
    (record,) = project.manifest()["inputs"][0]["kernels"]
    bound = [entry["artefacts"][0]["storage_buffers"] for entry in record["entry_points"]]
    assert bound == [7, 4, 3]  # forward needs no packing


def test_compile__packed_buffers_that_are_too_many_still__names_the_other_remedy_alone(project: Project) -> None:
    outs = [f"y{k}: OutTensor[float, 1]" for k in range(9)]
    head = f"from slangad import *\n\n@kernel\ndef many(x: Each[float], {', '.join(outs)}) -> None:\n"
    project.write("many.py", head + "".join(f"    y{k}[thread_id()] = x\n" for k in range(9)))
    said = project.run("compile", "many.py", "-t", "wgsl", "--mode", "forward", "--pack-buffers").stderr
    assert "many_forward binds 10 storage buffers" in said
    assert "= help: request maxStorageBuffersPerShaderStage: 10 of the device" in said
