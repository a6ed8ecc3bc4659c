"""Reflection gives the bindings that the emitted code has."""

from __future__ import annotations

import json
import re
from typing import TYPE_CHECKING, Any

import pytest

if TYPE_CHECKING:
    from collections.abc import Callable

    from slangad.compiler.toolchain.jobs.request import CompileResult

pytestmark = pytest.mark.toolchain

GLOBALS = {
    "none": ("", "0.0"),
    "resources": ("StructuredBuffer<float> gT; RWStructuredBuffer<float> gR;", "gT[0] + gR[0]"),
    "uniform": ("uniform float gS;", "gS"),
    "both": ("StructuredBuffer<float> gT; uniform float gS;", "gT[0] + gS"),
    "buffer": ("cbuffer C { float gC; } uniform float gS;", "gC + gS"),
}
ENTRY = """
[shader("compute")] [numthreads(8, 1, 1)]
void {name}(uint3 t : SV_DispatchThreadID, {u} uniform StructuredBuffer<float> x, uniform RWStructuredBuffer<float> r)
{{ r[t.x] = x[t.x] + {use}; }}
"""
PATTERNS = {
    "spirv-asm": r"OpDecorate %entryPointParams_{name}(?:_\d+)? Binding (\d+)",
    "hlsl": r"entryPointParams_{name}_\d+ : register\(\w(\d+)\)",
    "metal": r"entryPointParams_{name}_\d+ \[\[buffer\((\d+)\)\]\]",
    "wgsl": r"@binding\((\d+)\) @group\(0\) var<[\w, ]+> entryPointParams_{name}_\d+ :",
}
BLOCKS = {
    "hlsl": r"cbuffer entryPointParams_\d+ : register\(b(\d+)\)",
    "metal": r"entryPointParams_\d+ \[\[buffer\((\d+)\)\]\]",
    "wgsl": r"@binding\((\d+)\) @group\(0\) var<uniform> entryPointParams_\d+ :",
}


def index_of(reflection: Any, name: str) -> int:
    (entry,) = reflection["entryPoints"]
    return int(next(p["binding"]["index"] for p in entry["parameters"] if p["name"] == name))


@pytest.mark.parametrize("plain", ["", "uniform float u,"])
@pytest.mark.parametrize("name", GLOBALS)
def test_reflection__globals_beside_entry_point__bindings_are_those_of_the_code(
    compile_slang: Callable[..., CompileResult], name: str, plain: str
) -> None:
    text, use = GLOBALS[name]
    source = text + ENTRY.format(name="f", u=plain, use=f"{use} + u" if plain else use)
    result = compile_slang(source, ("f",), tuple(PATTERNS))
    assert result.ok
    for target, pattern in PATTERNS.items():
        artefact, described = result.artefact(target, "f"), result.reflection_text(target, "f")
        assert artefact is not None
        assert described is not None
        reflection = json.loads(described)
        for parameter in ("x", "r"):
            found = re.findall(pattern.format(name=parameter), artefact.text)
            assert found == [str(index_of(reflection, parameter))], (target, parameter)
        (entry,) = reflection["entryPoints"]
        assert ("uniformBlock" in entry) == bool(plain)
        if plain and target in BLOCKS:
            assert re.findall(BLOCKS[target], artefact.text) == [str(entry["uniformBlock"]["index"])], target


@pytest.mark.parametrize("target", ["spirv-asm", "metal", "wgsl", "hlsl"])
def test_reflection__whole_program__counts_on_from_entry_to_entry(
    compile_slang: Callable[..., CompileResult], target: str
) -> None:
    entries = [ENTRY.format(name=name, u="uniform float u,", use="u + gS") for name in ("f", "g")]
    result = compile_slang("uniform float gS;" + "".join(entries), ("f", "g"), (target,), whole=True)
    described = result.reflection_text(target)
    assert described is not None
    for parameter in ("x", "r"):
        in_code = re.findall(PATTERNS[target].format(name=parameter), result.artefacts[0].text)
        told = [
            str(next(p["binding"]["index"] for p in entry["parameters"] if p["name"] == parameter))
            for entry in json.loads(described)["entryPoints"]
        ]
        assert sorted(in_code) == told


def test_reflection__entry_point_without_parameters__has_those_of_the_code(
    compile_slang: Callable[..., CompileResult],
) -> None:
    source = 'RWStructuredBuffer<float> r;\n[shader("compute")] [numthreads(1, 1, 1)] void idle() { r[0] = 1.0; }\n'
    result = compile_slang(source, ("idle",), tuple(PATTERNS))
    assert result.ok
    for target in PATTERNS:
        reflection = json.loads(result.reflection_text(target, "idle") or "")
        assert [one["name"] for one in reflection["entryPoints"]] == ["idle"]
        assert [one["name"] for one in reflection["parameters"]] == ["r"]
