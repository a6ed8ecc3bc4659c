"""Products in half: what ``compile -v`` and the manifest say of them, and the code of each target."""

from __future__ import annotations

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

@sa.kernel
def wide(x: Each[Array[float, 65]], net: Param[Wide]) -> Each[Array[float, 3]]:
    return net(x)
"""
FLOAT = {"spirv-asm": "spvasm"} | {target: target for target in ("glsl", "hlsl", "metal", "wgsl", "cpp")}
FORMS = {"cuda": "half", **dict.fromkeys(FLOAT, "float")}


def test_compile__of_half__says_the_form_of_each_target_and_takes_it(project: Project) -> None:
    project.write("layers.py", LAYERS)
    targets = [word for target in FORMS for word in ("-t", target)]
    said = project.run("-v", "compile", "layers.py", *targets).stderr
    assert "products of half_matrix on cuda: half: 16 x 16 tiles on matrix units" in said
    assert "products of half_matrix on cpp: float: the CPU has no matrix units" in said
    assert "not in half: 3 x 65 is more than 64 rows or columns" in said
    kernels = {kernel["name"]: kernel for one in project.manifest()["inputs"] for kernel in one["kernels"]}
    assert {target: form.partition(":")[0] for target, form in kernels["narrow"]["products"].items()} == FORMS
    assert kernels["narrow"]["accumulation"]["net.w"] == "half_matrix"
    assert kernels["wide"]["products"] == {}
    assert kernels["wide"]["deciding"] == {"net.w": "3 x 65 is more than 64 rows or columns"}
    code = {name: data.decode() for name, data in project.files().items() if ".narrow.backward." in name}
    assert "ldmatrix" in code["layers.narrow.backward.cu"]
    assert "linalg_coopMatMulAdd" in code["layers.narrow.backward.cu"]
    for ending in FLOAT.values():
        text = code[f"layers.narrow.backward.{ending}"].lower()
        assert not [word for word in ("ldmatrix", "coopmat", "cooperative") if word in text]
