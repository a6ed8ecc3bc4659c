"""Products in half: what ``compile -v`` and the manifest say of them, and the code of each target."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

import pytest

if TYPE_CHECKING:
    from conftest import Project

pytestmark = pytest.mark.toolchain

LAYERS = """
import slangad as sa
from slangad import Array, Each, Param

Narrow = sa.nn.Linear(16, 16, precision="half")
Wide = sa.nn.Linear(65, 3, precision="half")

@sa.kernel
def narrow(x: Each[Array[float, 16]], net: Param[Narrow]) -> Each[Array[float, 16]]:
    return net(x)

@sa.kernel(group_size=512)
def wide(x: Each[Array[float, 65]], net: Param[Wide]) -> Each[Array[float, 3]]:
    return net(x)
"""
FLOAT = {"spirv-asm": "spvasm"} | {target: target for target in ("glsl", "hlsl", "metal", "wgsl", "cpp")}
FORMS = {"cuda": "half", **dict.fromkeys(FLOAT, "float")}


def test_compile__of_half__says_the_form_of_each_target_and_takes_it(project: Project) -> None:
    project.write("layers.py", LAYERS)
    targets = [word for target in FORMS for word in ("-t", target)]
    said = project.run("-v", "compile", "layers.py", *targets).stderr
    assert "products of half_matrix on cuda: half: on matrix units" in said
    assert "products of half_matrix on cpp: float: the CPU has no matrix units" in said
    assert "not in half: the kernel's groups have 512 threads, more than 256" in said
    kernels = {kernel["name"]: kernel for one in project.manifest()["inputs"] for kernel in one["kernels"]}
    assert {target: form.partition(":")[0] for target, form in kernels["narrow"]["products"].items()} == FORMS
    assert kernels["narrow"]["accumulation"]["net.w"] == "half_matrix"
    assert kernels["wide"]["products"]["cuda"].startswith("float, each as three products")
    assert kernels["wide"]["deciding"] == {"net.w": "the kernel's groups have 512 threads, more than 256"}
    code = {name: data.decode() for name, data in project.files().items() if ".narrow.backward." in name}
    assert "ldmatrix" in code["layers.narrow.backward.cu"]
    assert "cvt.rn.f16x2.f32" in code["layers.narrow.backward.cu"]
    assert "redux.sync.max.s32" in code["layers.narrow.backward.cu"]
    for ending in FLOAT.values():
        text = code[f"layers.narrow.backward.{ending}"].lower()
        assert not [word for word in ("ldmatrix", "mma.sync", "coopmat", "cooperative") if word in text]


def test_compile__for_devices_without_matrix_units__has_none_and_says_so(project: Project) -> None:
    project.write("layers.py", LAYERS)
    project.run("compile", "layers.py", "-t", "cuda", "-D", "SLANGAD_NO_MMA")
    code = {name: data.decode() for name, data in project.files().items() if name.endswith(".cu")}
    assert len(code) > 1
    assert [name for name, text in code.items() if "m16n8k8" in text or "redux.sync" in text] == []
    kernels = {kernel["name"]: kernel for one in project.manifest()["inputs"] for kernel in one["kernels"]}
    assert kernels["narrow"]["products"]["cuda"].startswith("float: ")


DEEP = """
import slangad as sa
from slangad import Array, Each, Param

Net = sa.nn.MLP([16, 64, 64, 3], "tanh", precision="{precision}")

@sa.kernel
def deep(x: Each[Array[float, 16]], net: Param[Net]) -> Each[Array[float, 3]]:
    return net(x)
"""


@pytest.mark.parametrize(
    ("precision", "units", "macros"),
    [
        ("half", 64, ["SLANGAD_TILES"]),
        ("float", 64, ["SLANGAD_TILES"]),
        ("half", 128, ["SLANGAD_TILES", "SLANGAD_CONVERSIONS"]),
    ],
)
def test_compile__of_tiles_for_vulkan__has_no_private_memory_of_a_group(
    project: Project, precision: str, units: int, macros: list[str]
) -> None:
    project.write("deep.py", DEEP.format(precision=precision).replace("64, 64", f"{units}, {units}"))
    targets = ("-t", "spirv-asm", "-t", "glsl", "-t", "cuda")
    defined = [f"-D{macro}" for macro in macros]
    said = project.run("-v", "compile", "deep.py", *targets, *defined, "--mode", "backward").stderr
    assert "on spirv-asm: half: on" in said or "on spirv-asm: float, from 33 rows" in said
    text = project.files()["deep.deep.backward.spvasm"].decode()
    assert ("OpCooperativeMatrixConvertNV" in text) == ("SLANGAD_CONVERSIONS" in macros)
    shared = set(re.findall(r"^(%\w+) = OpTypePointer Workgroup ", text, re.MULTILINE))
    made = re.findall(r"^(%\w+) = Op(?:Access\w+|Variable) (%\w+)", text, re.MULTILINE)
    places = {name for name, type_ in made if type_ in shared}
    for use in ("OpLoad %\\w+", "OpStore", "OpCooperativeMatrixLoadKHR %\\w+", "OpCooperativeMatrixStoreKHR"):
        used = [rest for place, rest in re.findall(rf"{use} (%\w+)(.*)", text) if place in places]
        assert used, use
        assert [rest for rest in used if "NonPrivatePointer" not in rest] == []


def test_compile__of_a_matrix_that_is_too_large_for_tiles__takes_no_minutes(project: Project) -> None:
    project.write(
        "digits.py", DEEP.format(precision="float").replace("16, 64, 64, 3", "784, 48, 3").replace("16]", "784]")
    )
    project.run(
        "compile", "digits.py", "-t", "spirv", "-D", "SLANGAD_TILES", "--mode", "backward", "--time-limit", "60"
    )
    assert "digits.deep.backward.spv" in project.files()
