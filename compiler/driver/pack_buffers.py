"""Put the read-only buffers of a WGSL entry point that have one element type into one buffer.

    var<storage, read> view : array<f32>;      ->   var<storage, read> packed_0 : array<f32>;
    view[i]                                    ->   packed_0[block.view_at + u32(i)]

WebGPU guarantees 8 storage buffers. Entry points with more are packed, and all of them by ``--pack-buffers``. Packed
are inputs, tangents and cotangents: no launch writes them. The first elements are members of the uniform block;
reflection names them with the kind ``packed``.
"""

from __future__ import annotations

import json
import re
from dataclasses import replace
from typing import TYPE_CHECKING, Any, Final

from slangad.compiler.driver.requirements import WEBGPU_STORAGE_BUFFERS, limit_notes, requirements_of
from slangad.compiler.emit.model import ParameterRole

if TYPE_CHECKING:
    from collections.abc import Iterator

    from slangad.compiler.driver.model import CompiledInput, Output
    from slangad.compiler.emit.model import EntryPoint

_ROLES: Final = (ParameterRole.INPUT, ParameterRole.TANGENT, ParameterRole.COTANGENT)
_STRIDES: Final = {
    "f16": 2,
    **dict.fromkeys(("f32", "i32", "u32"), 4),
    **dict.fromkeys(("vec2<f32>", "vec2<i32>", "vec2<u32>"), 8),
    **dict.fromkeys(("vec4<f32>", "vec4<i32>", "vec4<u32>"), 16),
}
"""Bytes of the elements that are packed. Those of ``vec3`` are scalars in WGSL already."""
_DECLARED: Final = re.compile(r"@binding\((\d+)\) @group\(0\) var<storage, read> (\w+) : array<([\w<>]+)>;\n")
_WORD: Final = 4


def pack_buffers(compiled: CompiledInput, *, everywhere: bool) -> CompiledInput:
    """Return the input with the buffers of its WGSL packed, ``everywhere`` or in entry points with more than 8."""
    entries = {entry.symbol: entry for entry in compiled.slang.entries}
    reflections = {o.entry: o for o in compiled.outputs if o.kind == "reflection" and o.target == "wgsl"}
    made: dict[str, Output] = {}
    for code in compiled.outputs:
        if code.kind == "artefact" and code.target == "wgsl" and (everywhere or _has_many(code)):
            reflection = reflections[code.entry]
            program: dict[str, Any] = json.loads(reflection.data)
            text = _packed(code.data.decode(), entries[code.entry], program)
            made[code.name] = replace(code, data=text.encode())
            made[reflection.name] = replace(reflection, data=json.dumps(program).encode())
    outputs = tuple(made.get(output.name, output) for output in compiled.outputs)
    kept = (warning for warning in compiled.warnings if warning.code != "SA427")
    return replace(compiled, outputs=outputs, warnings=(*kept, *limit_notes(compiled.slang, outputs, packed=True)))


def _has_many(code: Output) -> bool:
    return (requirements_of(code).storage_buffers or 0) > WEBGPU_STORAGE_BUFFERS


def _packed(text: str, entry: EntryPoint, program: dict[str, Any]) -> str:
    """Return the code with its buffers packed, and write their new bindings into the reflection."""
    (reflected,) = program["entryPoints"]
    block = _block(text, (reflected.get("uniformBlock") or {}).get("index", -1))
    if block is None:
        return text
    instance, struct = block
    uniforms = [p["binding"] for p in reflected["parameters"] if p.get("binding", {}).get("kind") == "uniform"]
    end = max(b["offset"] + b["size"] for b in uniforms)
    end += -end % _WORD
    members = []
    for number, (type_, group) in enumerate(_groups(text, entry, reflected)):
        index = group[0][0]["index"]
        for binding, name in group:
            declared = f"@binding({binding['index']}) @group(0) var<storage, read> {name} : array<{type_}>;\n"
            pack = f"@binding({index}) @group(0) var<storage, read> packed_{number} : array<{type_}>;\n"
            text = text.replace(declared, pack if binding["index"] == index else "")
            text = _indexed(text, name, f"packed_{number}", f"{instance}.{name}_at")
            members.append(f"    @align(4) {name}_at : u32,\n")
            where = {"kind": "packed", "index": index, "offset": end, "size": _WORD}
            binding.update(where, elementStride=_STRIDES[type_])
            end += _WORD
    opened = text.index(f"struct {struct}\n")
    closed = text.index("}", opened)
    return text[:closed] + "".join(members) + text[closed:]


def _block(text: str, index: int) -> tuple[str, str] | None:
    """Return the variable and the type of the uniform block at a binding."""
    match = re.search(rf"@binding\({index}\) @group\(0\) var<uniform> (\w+) : (\w+);", text)
    return (match[1], match[2]) if match else None


def _groups(
    text: str, entry: EntryPoint, reflected: dict[str, Any]
) -> Iterator[tuple[str, list[tuple[dict[str, Any], str]]]]:
    """Yield element types with the bindings and variables that have them, where there are several."""
    wanted = {p.name for p in entry.parameters if p.role in _ROLES and p.access == "read" and not p.shared}
    bindings = {p["binding"]["index"]: p["binding"] for p in reflected["parameters"] if p["name"] in wanted}
    found: dict[str, list[tuple[dict[str, Any], str]]] = {}
    for index, name, type_ in _DECLARED.findall(text):
        only_indexed = len(re.findall(rf"\b{name}\b", text)) == 1 + len(re.findall(rf"\b{name}\[", text))
        if int(index) in bindings and type_ in _STRIDES and only_indexed:
            found.setdefault(type_, []).append((bindings[int(index)], name))
    yield from ((type_, sorted(group, key=_index)) for type_, group in found.items() if len(group) > 1)


def _index(bound: tuple[dict[str, Any], str]) -> int:
    index: int = bound[0]["index"]
    return index


def _indexed(text: str, name: str, pack: str, at: str) -> str:
    """Return the code with ``pack[at + u32(i)]`` in place of ``name[i]``."""
    for match in reversed(list(re.finditer(rf"\b{name}\[", text))):
        depth, end = 1, match.end()
        while depth:
            depth += {"[": 1, "]": -1}.get(text[end], 0)
            end += 1
        text = f"{text[: match.start()]}{pack}[{at} + u32({text[match.end() : end - 1]})]{text[end:]}"
    return text
