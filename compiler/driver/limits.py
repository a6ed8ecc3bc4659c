"""Read from an artefact which limits of a device it needs, under the names of WebGPU and Vulkan.

``{"maxComputeWorkgroupSizeX": 256, "maxComputeInvocationsPerWorkgroup": 256, "maxComputeWorkgroupStorageSize": 4096}``:
the device must have at least these. What an artefact needs none of is left out.
"""

from __future__ import annotations

import math
import re
import struct
from collections import Counter
from typing import TYPE_CHECKING, Any, Final

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping, Sequence

    from slangad.compiler.driver.model import Output

_WEBGPU: Final = {
    "x": "maxComputeWorkgroupSizeX",
    "y": "maxComputeWorkgroupSizeY",
    "z": "maxComputeWorkgroupSizeZ",
    "threads": "maxComputeInvocationsPerWorkgroup",
    "group_bytes": "maxComputeWorkgroupStorageSize",
    "storage": "maxStorageBuffersPerShaderStage",
    "textures": "maxSampledTexturesPerShaderStage",
    "samplers": "maxSamplersPerShaderStage",
    "descriptorTableSlot": "maxUniformBufferBindingSize",
}
_VULKAN: Final = {
    "x": "maxComputeWorkGroupSize[0]",
    "y": "maxComputeWorkGroupSize[1]",
    "z": "maxComputeWorkGroupSize[2]",
    "threads": "maxComputeWorkGroupInvocations",
    "group_bytes": "maxComputeSharedMemorySize",
    "storage": "maxPerStageDescriptorStorageBuffers",
    "textures": "maxPerStageDescriptorSampledImages",
    "samplers": "maxPerStageDescriptorSamplers",
    "descriptorTableSlot": "maxUniformBufferRange",
    "pushConstantBuffer": "maxPushConstantsSize",
}
_NAMES: Final[dict[str, dict[str, str]]] = {"wgsl": _WEBGPU, "spirv": _VULKAN, "glsl": _VULKAN}
"""The names of limits, by target, and by what is counted; blocks are counted by their kind."""

_SCALARS: Final = {"f16": 2, "float16_t": 2, "double": 8, "f64": 8, "int64_t": 8, "uint64_t": 8}
"""Bytes of scalars in WGSL and GLSL; the others have four."""
_GROUP: Final = {
    "wgsl": re.compile(r"@workgroup_size\((\d+), (\d+), (\d+)\)"),
    "glsl": re.compile(r"layout\(local_size_x = (\d+), local_size_y = (\d+), local_size_z = (\d+)\) in;"),
}
_COUNTED: Final = {
    "wgsl": {
        "storage": re.compile(r"^@binding\(\d+\) @group\(\d+\) var<storage", re.MULTILINE),
        "textures": re.compile(r"^@binding\(\d+\) @group\(\d+\) var \w+ : texture_", re.MULTILINE),
        "samplers": re.compile(r"^@binding\(\d+\) @group\(\d+\) var \w+ : sampler", re.MULTILINE),
    },
    "glsl": {
        "storage": re.compile(r"^layout\([^)]*\) (?:readonly )?buffer ", re.MULTILINE),
        "textures": re.compile(r"^(?:layout\([^)]*\)\s+)?uniform [iu]?(?:texture|sampler)\w+ ", re.MULTILINE),
        "samplers": re.compile(r"^(?:layout\([^)]*\)\s+)?uniform sampler ", re.MULTILINE),
    },
}
_WGSL_BLOCK: Final = 16
"""Bytes of whose multiples WebGPU counts a block and a variable of a group."""
_WGSL_SHARED: Final = re.compile(r"^var<workgroup> \w+ : (.+);", re.MULTILINE)
_WGSL_ARRAY: Final = re.compile(r"array<(.+), (?:[iu]32\()?(\d+)[iu]?\)?>")
_WGSL_VECTOR: Final = re.compile(r"(?:vec(\d)|mat(\d)x(\d))<(\w+)>")
_WGSL_FIELD: Final = re.compile(r"\w+ : (.+),")
_GLSL_SHARED: Final = re.compile(r"^shared (\w+)\s+\w+((?:\[\d+\])*);", re.MULTILINE)
_GLSL_VECTOR: Final = re.compile(r"(d|f16|i|u|b)?(?:vec(\d)|mat(\d)x(\d))")
_GLSL_FIELD: Final = re.compile(r"(\w+) \w+((?:\[\d+\])*);")

_WORD: Final = 4
_HEADER_WORDS: Final = 5
_OP_EXECUTION_MODE, _OP_POINTER, _OP_FUNCTION, _OP_VARIABLE = 16, 32, 54, 59
_LOCAL_SIZE: Final = 17
_RESOURCES: Final = {25: "textures", 26: "samplers", 27: "textures"}
"""What is counted of variables, by the operation that declares their type."""


def limits_of(artefact: Output, blocks: Sequence[Mapping[str, Any]]) -> dict[str, int]:
    """Return the limits that an artefact needs; none for targets whose devices have one set of limits.

    Args:
        artefact: The artefact.
        blocks: Its uniform blocks (see ``blocks``).
    """
    names = _NAMES.get(artefact.target)
    if names is None:
        return {}
    if artefact.target == "spirv":
        counts = _of_spirv(artefact.data)
    else:
        counts = _of_text(artefact.target, artefact.data.decode())
    for block in blocks:
        size = _up(block["size"], _WGSL_BLOCK) if artefact.target == "wgsl" else block["size"]
        counts[block["kind"]] = max(counts[block["kind"]], size)
    return {name: counts[what] for what, name in names.items() if counts[what]}


def _of_text(target: str, text: str) -> Counter[str]:
    counts = Counter({what: len(pattern.findall(text)) for what, pattern in _COUNTED[target].items()})
    if group := _GROUP[target].search(text):
        counts.update(_sizes(*map(int, group.groups())))
    counts["group_bytes"] = sum(_wgsl_shared(text) if target == "wgsl" else _glsl_shared(text))
    return counts


def _sizes(x: int, y: int, z: int) -> dict[str, int]:
    return {"x": x, "y": y, "z": z, "threads": x * y * z}


def _wgsl_shared(text: str) -> Iterator[int]:
    """Yield the bytes of each variable in group memory, as WebGPU counts them."""
    return (_up(_wgsl_size(text, type_)[0], _WGSL_BLOCK) for type_ in _WGSL_SHARED.findall(text))


def _wgsl_size(text: str, type_: str) -> tuple[int, int]:
    """Return size and alignment of a type."""
    if array := _WGSL_ARRAY.fullmatch(type_):
        size, alignment = _wgsl_size(text, array[1])
        return _up(size, alignment) * int(array[2]), alignment
    if type_.startswith("atomic<"):
        return 4, 4
    if vector := _WGSL_VECTOR.fullmatch(type_):
        scalar, count = _SCALARS.get(vector[4], 4), int(vector[1] or vector[3])
        alignment = scalar * (count + count % 2)
        return (scalar * count if vector[1] else alignment * int(vector[2])), alignment
    struct_ = re.search(rf"^struct {re.escape(type_)}\s*\{{(.*?)\}}", text, re.MULTILINE | re.DOTALL)
    if struct_ is None:
        return _SCALARS.get(type_, 4), _SCALARS.get(type_, 4)
    end, largest = 0, 1
    for field in _WGSL_FIELD.findall(struct_[1]):
        size, alignment = _wgsl_size(text, field)
        end, largest = _up(end, alignment) + size, max(largest, alignment)
    return _up(end, largest), largest


def _glsl_shared(text: str) -> Iterator[int]:
    """Yield the bytes of each variable in group memory, without padding."""
    return (_glsl_size(text, type_) * _extents(extents) for type_, extents in _GLSL_SHARED.findall(text))


def _glsl_size(text: str, type_: str) -> int:
    if vector := _GLSL_VECTOR.fullmatch(type_):
        scalar = {"d": 8, "f16": 2}.get(vector[1] or "", 4)
        return scalar * int(vector[2] or int(vector[3]) * int(vector[4]))
    struct_ = re.search(rf"^struct {re.escape(type_)}\s*\{{(.*?)\}}", text, re.MULTILINE | re.DOTALL)
    if struct_ is None:
        return _SCALARS.get(type_, 4)
    return sum(_glsl_size(text, one) * _extents(extents) for one, extents in _GLSL_FIELD.findall(struct_[1]))


def _extents(text: str) -> int:
    return math.prod(int(extent) for extent in re.findall(r"\d+", text))


def _up(size: int, alignment: int) -> int:
    return -(-size // alignment) * alignment


def _of_spirv(code: bytes) -> Counter[str]:
    declared = tuple(declarations(code))
    sizes = _spirv_sizes(declared)
    pointed = {operands[0]: operands[2] for operation, operands in declared if operation == _OP_POINTER}
    resources = {operands[0]: _RESOURCES[operation] for operation, operands in declared if operation in _RESOURCES}
    counts: Counter[str] = Counter()
    for operation, operands in declared:
        if operation == _OP_EXECUTION_MODE and operands[1] == _LOCAL_SIZE:
            counts.update(_sizes(*operands[2:5]))
        elif operation == _OP_VARIABLE:
            of = pointed.get(operands[0], 0)
            match operands[2]:
                case 4:  # Workgroup
                    counts["group_bytes"] += sizes.get(of, _WORD)
                case 12:  # StorageBuffer
                    counts["storage"] += 1
                case _ if of in resources:
                    counts[resources[of]] += 1
                case _:
                    pass
    return counts


def declarations(code: bytes) -> Iterator[tuple[int, tuple[int, ...]]]:
    """Yield operations and operands of a module of SPIR-V before its functions."""
    words = struct.unpack(f"<{len(code) // _WORD}I", code)
    at = _HEADER_WORDS
    while at < len(words) and (length := words[at] >> 16):
        operation = words[at] & 0xFFFF
        if operation == _OP_FUNCTION:
            return
        yield operation, words[at + 1 : at + length]
        at += length


def _spirv_sizes(declared: Iterable[tuple[int, tuple[int, ...]]]) -> dict[int, int]:
    """Return the bytes of types, without padding."""
    sizes: dict[int, int] = {}
    constants: dict[int, int] = {}
    for operation, operands in declared:
        match operation, operands:
            case ((21 | 22), (made, width, *_)):  # OpTypeInt, OpTypeFloat
                sizes[made] = width // 8
            case ((23 | 24), (made, of, count)):  # OpTypeVector, OpTypeMatrix
                sizes[made] = sizes.get(of, _WORD) * count
            case 28, (made, of, length):  # OpTypeArray
                sizes[made] = sizes.get(of, _WORD) * constants.get(length, 1)
            case 30, (made, *fields):  # OpTypeStruct
                sizes[made] = sum(sizes.get(field, _WORD) for field in fields)
            case 43, (_, made, value, *_):  # OpConstant
                constants[made] = value
            case _:
                pass
    return sizes
