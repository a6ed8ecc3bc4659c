"""Correct Slang's reflection JSON: the bindings of entry-point parameters become those of the code.

Slang counts the bindings of an entry point from zero. In the code, global uniforms and, in an artefact of several entry
points, the earlier entry points come first. Slang also omits the binding of the block with an entry point's uniforms;
it is added as ``uniformBlock``.
"""

from __future__ import annotations

import json
from typing import Any

Json = dict[str, Any]

_GLOBAL_BLOCK = {
    "spirv": "descriptorTableSlot",
    "spirv-asm": "descriptorTableSlot",
    "glsl": "descriptorTableSlot",
    "wgsl": "descriptorTableSlot",
    "hlsl": "constantBuffer",
    "dxil": "constantBuffer",
    "metal": "constantBuffer",
}
"""The kind of binding that the block of global uniforms takes; targets without bindings have none."""

_ENTRY_BLOCK = {**_GLOBAL_BLOCK, **dict.fromkeys(("spirv", "spirv-asm", "glsl"), "pushConstantBuffer")}


def block_kinds(target: str) -> tuple[str, str]:
    """Return the kinds of binding of the module's block and an entry point's; ``arguments`` where there is none."""
    return _GLOBAL_BLOCK.get(target, "arguments"), _ENTRY_BLOCK.get(target, "arguments")


def corrected(target: str, text: str) -> str:
    """Return the reflection JSON of an artefact for this target, with the bindings its code has."""
    if not text or target not in _GLOBAL_BLOCK:
        return text
    reflection = json.loads(text)
    if "entryPoints" not in reflection:
        return text
    taken = {_GLOBAL_BLOCK[target]: int(_has_uniforms(reflection))}
    for entry in reflection["entryPoints"]:
        _shift(entry, target, taken)
    return json.dumps(reflection, indent=2) + "\n"


def _shift(entry: Json, target: str, taken: dict[str, int]) -> None:
    """Move an entry point's bindings behind those that are taken, and count them as taken too."""
    bindings = [p["binding"] for p in _parameters(entry) if "index" in p.get("binding", ())]
    if _has_uniforms(entry):
        block = {"kind": _ENTRY_BLOCK[target], "index": 0}
        entry["uniformBlock"] = block
        bindings.append(block)
    before = dict(taken)
    for binding in bindings:
        kind = binding["kind"]
        if kind != "pushConstantBuffer":
            binding["index"] += before.get(kind, 0)
            taken[kind] = max(taken.get(kind, 0), binding["index"] + 1)


def _has_uniforms(of: Json) -> bool:
    return any(p.get("binding", {}).get("kind") == "uniform" for p in _parameters(of))


def _parameters(of: Json) -> list[Json]:
    """Return those of a program or an entry point; Slang has no word of them where there are none."""
    parameters: list[Json] = of.get("parameters", [])
    return parameters
