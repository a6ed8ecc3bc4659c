"""``--emit functions``: Slang that other programs import, without kernels and globals."""

from __future__ import annotations

import re
import runpy
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import pytest
from support.devices import device_of

import slangad as sa

if TYPE_CHECKING:
    from .conftest import Project

pytestmark = pytest.mark.toolchain

SAMPLES = Path(__file__).resolve().parent.parent.parent / "samples"
RENDERER = """
import brdf_functions;

[Differentiable]
float lit(Material m, no_diff float3 view, no_diff float3 light)
{
    return dot(shade(m, view, light), float3(1.0, 2.0, 3.0));
}
"""
INPUTS = {"albedo": [0.8, 0.4, 0.2], "roughness": 0.6, "metallic": 0.3}
VIEW, LIGHT = (0.0, 0.6, 0.8), (0.6, 0.0, 0.8)
STEP = 1e-3


def _differences() -> dict[str, Any]:
    """Return the derivatives of the renderer's function by differences of the description, which Python executes."""
    brdf = runpy.run_path(str(SAMPLES / "quickstart/brdf.py"))

    def lit(albedo: list[float], roughness: float, metallic: float) -> float:
        material = brdf["Material"](sa.float3(*albedo), roughness, metallic)
        colour = brdf["shade"](material, sa.float3(*VIEW), sa.float3(*LIGHT))
        return float(colour.x + 2.0 * colour.y + 3.0 * colour.z)

    def slope(name: str, part: int | None = None) -> float:
        ends = []
        for step in (-STEP, STEP):
            moved: Any = {**INPUTS, "albedo": [*INPUTS["albedo"]]}  # type: ignore[misc]
            if part is None:
                moved[name] += step
            else:
                moved[name][part] += step
            ends.append(lit(**moved))
        return (ends[1] - ends[0]) / (2.0 * STEP)

    scalars = {name: slope(name) for name in ("roughness", "metallic")}
    return {"albedo": [slope("albedo", k) for k in range(3)], **scalars}


@pytest.mark.parametrize("device", ["cpu", "vulkan"])
def test_functions__imported_by_a_renderer__have_their_derivatives(project: Project, cxx: object, device: str) -> None:
    name = device_of(device).name
    project.run("compile", str(SAMPLES / "quickstart/brdf.py"), "--emit", "functions", "-o", "gen")
    written = {"brdf.d", "brdf.manifest.json", "brdf_functions.slang", "manifest.json", "slangad.slang"}
    assert project.files("gen").keys() == written
    project.write("renderer.slang", RENDERER)
    given = {**{f"m.{key}": value for key, value in INPUTS.items()}, "view": VIEW, "light": LIGHT}
    np.savez(project.folder / "in.npz", **{key: np.array([value], np.float32) for key, value in given.items()})
    run = ("run", "renderer.slang:lit", "-I", "gen", "--device", name, "-i", "in.npz", "-o", "out.npz")
    project.run(*run, "--mode", "backward")
    with np.load(project.folder / "out.npz") as found:
        for key, expected in _differences().items():
            np.testing.assert_allclose(found[f"grad.m.{key}"][0], expected, rtol=1e-3, err_msg=key)


@pytest.mark.parametrize("sample", ["quickstart/brdf", "splats/splats", "texture_fit/texture_fit", "mlp/mlp"])
def test_functions__of_a_sample__compile_without_kernels_and_globals(project: Project, sample: str) -> None:
    project.run("compile", str(SAMPLES / f"{sample}.py"), "--emit", "functions", "-o", "gen")
    name = f"{Path(sample).name}_functions"
    text = (project.folder / f"gen/{name}.slang").read_text(encoding="utf-8")
    assert not re.search(r"shader\(|Buffer<|^uniform ", text, re.MULTILINE)
    head = f"import {name};\n\n[Differentiable]\nfloat twice(float x)\n{{\n    return 2.0 * x;\n}}\n"
    project.write("renderer.slang", head)
    project.run("compile", "renderer.slang", "-I", "gen", "-t", "spirv", "-t", "cuda")
    (kernel,) = project.manifest()["inputs"][0]["kernels"]
    assert {parameter["shared"] for entry in kernel["entry_points"] for parameter in entry["parameters"]} == {False}


def test_functions__beside_a_loop_for_tiles__have_none_of_its_pieces(project: Project) -> None:
    project.run("compile", str(SAMPLES / "splats/splats.py"), "--emit", "functions", "-o", "gen")
    text = (project.folder / "gen/splats_functions.slang").read_text(encoding="utf-8")
    assert re.findall(r"^\w+ (\w+)\(", text, re.MULTILINE) == ["spacing", "weight"]
    assert "struct" not in text
