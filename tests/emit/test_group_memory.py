"""The memory of a group in texts for APIs that allow 32 KB of it: products of matrices, sums and a scattered table."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

import pytest

from slangad.compiler.emit import emit_module
from slangad.compiler.emit.model import symbols
from slangad.compiler.frontends import load
from slangad.compiler.passes import run_passes
from slangad.compiler.toolchain.jobs.request import CompileJob

if TYPE_CHECKING:
    from pathlib import Path

    from slangad.compiler.toolchain.session import Toolchain

pytestmark = pytest.mark.toolchain
TEXT = """
import slangad as sa
from slangad import Each, NoDiff, Param, Sum, float2, float3

Grid = sa.nn.HashGrid(levels=8, features=2, table=1 << 14, base=16, growth=1.5)
Net = sa.nn.MLP([16, 64, 64, 3], activation="relu", precision="{precision}")


@sa.struct
class Field:
    grid: Grid
    net: Net


@sa.kernel
def loss(at: Each[float2], target: NoDiff[Each[float3]], field: Param[Field], scale: Param[float3]) -> Sum[float]:
    colour = field.net(field.grid(at))
    return sa.nn.l2(scale * float3(colour[0], colour[1], colour[2]), target)
"""
DECLARED = {
    "metal": re.compile(r"^ *threadgroup array<(\w+), int\((\d+)\)> *\w+;", re.MULTILINE),
    "hlsl": re.compile(r"^static groupshared (\w+) +\w+\[int\((\d+)\)\];", re.MULTILINE),
}
BYTES = {"float4": 16, "float": 4, "uint": 4}
ALLOWED = 32768


@pytest.mark.parametrize("precision", ["float", "half"])
@pytest.mark.parametrize("target", [*DECLARED])
def test_memory_of_a_group__on_metal_and_direct3d__is_at_most_32_kilobytes(
    toolchain: Toolchain, tmp_path: Path, target: str, precision: str
) -> None:
    file = tmp_path / "net.py"
    file.write_text(TEXT.format(precision=precision), encoding="utf-8")
    emitted = emit_module(run_passes(load(file)))
    libraries = tuple(emitted.libraries.items())
    entries = symbols(emitted.entry_points)
    job = CompileJob(emitted.file_name, emitted.text, entries, (target,), modules=libraries)
    (result,) = toolchain.compile([job])
    used = {}
    for artefact in result.artefacts:
        arrays = DECLARED[target].findall(artefact.text)
        assert len(arrays) == len(re.findall(r"\bthreadgroup array<[^*\n]*;|\bgroupshared .*\];", artefact.text))
        used[artefact.entry] = sum(BYTES[type_] * int(count) for type_, count in arrays)
    assert used["loss_backward"] > ALLOWED // 2
    assert {entry: size for entry, size in used.items() if size > ALLOWED} == {}
