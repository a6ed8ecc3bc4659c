"""Read from an artefact what it needs of a device: its entry point's name, features, and numbers of buffers.

WGSL's ``enable f16;`` needs the feature ``shader-f16``. SPIR-V needs capabilities and extensions, GLSL extensions.
"""

from __future__ import annotations

import re
import struct
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

from slangad.compiler.driver.limits import declarations
from slangad.compiler.errors.diagnostics import Diagnostic, Severity

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence

    from slangad.compiler.driver.model import EmittedInput, Output

WEBGPU_STORAGE_BUFFERS: Final = 8
"""Storage buffers of an entry point that every WebGPU device has."""
_MAIN: Final = {"glsl": "main"}
"""Targets whose entry points all have one name."""
_FEATURES: Final = {"f16": "shader-f16", "subgroups": "subgroups"}
"""WebGPU's features, by the word after ``enable``."""
_ENABLED: Final = re.compile(rb"^enable ([\w, ]+);", re.MULTILINE)
_STORAGE: Final = re.compile(rb"^@binding\(\d+\) @group\(\d+\) var<storage", re.MULTILINE)
_EXTENSION: Final = re.compile(rb"^#extension (\w+) : require", re.MULTILINE)
_WGSL_ENTRY: Final = re.compile(rb"@compute\s+@workgroup_size\([^)]*\)\s+fn (\w+)")
_CPP_ENTRY: Final = re.compile(rb"^void (\w+)\(ComputeVaryingInput\*", re.MULTILINE)
"""Exported functions of C++ that run whole groups; the last one runs a range of groups, as entry points do."""
_OP_EXTENSION, _OP_CAPABILITY = 10, 17
_CAPABILITIES: Final = {
    1: "Shader",
    9: "Float16",
    10: "Float64",
    11: "Int64",
    12: "Int64Atomics",
    22: "Int16",
    39: "Int8",
    50: "ImageQuery",
    61: "GroupNonUniform",
    62: "GroupNonUniformVote",
    63: "GroupNonUniformArithmetic",
    64: "GroupNonUniformBallot",
    65: "GroupNonUniformShuffle",
    66: "GroupNonUniformShuffleRelative",
    4433: "StorageBuffer16BitAccess",
    4434: "UniformAndStorageBuffer16BitAccess",
    4435: "StoragePushConstant16",
    4448: "StorageBuffer8BitAccess",
    6033: "AtomicFloat32AddEXT",
    6034: "AtomicFloat64AddEXT",
}
"""Names of SPIR-V's capabilities; others are written as ``capability 4441``."""


@dataclass(frozen=True, slots=True)
class Requirements:
    """The requirements of an artefact.

    Attributes:
        entry: The name of its entry point in the artefact.
        features: Features of a WebGPU device, capabilities and extensions of SPIR-V, or extensions of GLSL.
        storage_buffers: Storage buffers that are bound, of WGSL; None for other targets.
    """

    entry: str
    features: tuple[str, ...] = ()
    storage_buffers: int | None = None


def requirements_of(artefact: Output) -> Requirements:
    """Return what an artefact needs."""
    entry, code = _MAIN.get(artefact.target, artefact.entry), artefact.data
    match artefact.target:
        case "wgsl":
            match = _WGSL_ENTRY.search(code)
            words = [word.strip().decode() for line in _ENABLED.findall(code) for word in line.split(b",")]
            features = tuple(_FEATURES.get(word, word) for word in words)
            return Requirements(match[1].decode() if match else entry, features, len(_STORAGE.findall(code)))
        case "glsl":
            return Requirements(entry, tuple(word.decode() for word in _EXTENSION.findall(code)))
        case "spirv":
            return Requirements(entry, tuple(_spirv(code)))
        case "cpp":
            return Requirements([entry.encode(), *_CPP_ENTRY.findall(code)][-1].decode())
        case _:
            return Requirements(entry)


def _spirv(code: bytes) -> Iterator[str]:
    """Yield the capabilities and extensions of a module."""
    for operation, operands in declarations(code):
        if operation == _OP_CAPABILITY:
            yield _CAPABILITIES.get(operands[0], f"capability {operands[0]}")
        elif operation == _OP_EXTENSION:
            yield struct.pack(f"<{len(operands)}I", *operands).rstrip(b"\0").decode()


def limit_notes(slang: EmittedInput, outputs: Sequence[Output], *, packed: bool = False) -> Iterable[Diagnostic]:
    """Yield a note for each kernel that needs more storage buffers than every WebGPU device has, ``packed`` or not."""
    needed = {
        output.entry: requirements_of(output).storage_buffers or 0
        for output in outputs
        if output.kind == "artefact" and output.target == "wgsl"
    }
    for kernel in slang.kernels:
        entries = [entry.symbol for entry in slang.entries if entry.kernel == kernel.name]
        most = max(entries, key=lambda name: needed.get(name, 0), default="")
        if needed.get(most, 0) > WEBGPU_STORAGE_BUFFERS:
            count = needed[most]
            message = f"{most} binds {count} storage buffers, and WebGPU guarantees {WEBGPU_STORAGE_BUFFERS}"
            help_ = f"request maxStorageBuffersPerShaderStage: {count} of the device"
            help_ = help_ if packed else f"leave out --no-pack-buffers, or {help_}"
            yield Diagnostic("SA427", message, kernel.span, severity=Severity.NOTE, help=help_)
