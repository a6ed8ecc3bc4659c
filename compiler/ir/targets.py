"""Define every compile target once: name, extension, arguments of slangc, needed tool, and what it lacks.

The argument builder, the command line, descriptions, settings and ``doctor`` follow this table.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from collections.abc import Collection

SCALAR_LAYOUT = ("-fvk-use-scalar-layout",)
"""Buffers and uniforms packed as in C, CUDA and numpy, so that one host layout serves Vulkan, CUDA and the CPU."""

MMA: Final = "SLANGAD_MMA"
"""The macro of CUDA devices from compute capability 8.0 on, whose matrix units multiply numbers of 11 bits."""

TILES: Final = "SLANGAD_TILES"
"""The macro of Vulkan devices with products of 16 x 16 tiles in half, with sums in float, by waves of 32 threads.

A launch defines it; SPIR-V has it where it is asked for, since it says nothing of devices.
"""

CONVERSIONS: Final = "SLANGAD_CONVERSIONS"
"""The macro of those that make a tile of factors of one of sums without memory (VK_NV_cooperative_matrix2)."""

SIMDGROUPS: Final = "SLANGAD_SIMDGROUPS"
"""The macro by which a user asks for products of 8 x 8 tiles of floats in Metal, by simdgroups of 32 threads.

No launch defines it: no Metal compiler and no GPU has seen such a text.
"""

ASKED: Final = {TILES: ("spirv", "spirv-asm"), CONVERSIONS: ("spirv", "spirv-asm"), SIMDGROUPS: ("metal",)}
"""The targets that heed a macro of a device where a user asks for it. Others never see it."""

NO_MMA: Final = "SLANGAD_NO_MMA"
"""The macro by which a user asks for CUDA code without matrix units."""

VECTOR_ATOMICS: Final = "SLANGAD_VECTOR_ATOMICS"
"""The macro of CUDA devices from compute capability 9.0 on: they add vectors of two and four floats to memory at once.

A launch defines it; CUDA text has it where it is asked for, since it says nothing of devices.
"""

LONG_ATOMICS: Final = "SLANGAD_LONG_ATOMICS"
"""The macro of devices that add 64 bits to memory at once: CUDA's, and those of Vulkan that say so."""

LAST_GROUP: Final = "SLANGAD_LAST_GROUP"
"""The macro of devices on which the last group of a kernel adds up its few totals, so that no second launch has to.

A launch defines it on CUDA, and on software devices. On other devices of Vulkan it was measured with barriers of memory
only, which it no longer has: they made all reads of a kernel slower (benchmarks/RESULTS.md).
"""

ROLLED: Final = "SLANGAD_ROLLED"
"""The macro of software devices, on which the loops of products of matrices stay loops.

A launch defines it. Drivers that compile for a CPU take long for each barrier and each iteration that is written out.
"""

UNROLLED: Final = "SLANGAD_UNROLLED"
"""The macro by which tests ask for products as on a GPU on software devices."""

NOT_FINITE: Final = "table with inf or nan"
"""No type, but there is no way to write it: constants that are not finite, except plain floats."""
TRANSCENDENTAL: Final = "exponential, logarithm, power or angle function of double"
"""SPIR-V's and Direct3D's take half and float; Slang writes them for double all the same, and drivers take that."""
ROOTS: Final = "root, rounding, remainder or geometric function of double"
"""Direct3D's take half and float, to which its compiler converts doubles."""


@dataclass(frozen=True, slots=True)
class Target:
    """One output format.

    Attributes:
        name: The name after ``-t`` of slangad and ``-target`` of slangc.
        extension: File name ending, with its dot.
        is_text: True if the code is text.
        title: Half a line for listings: whose format it is.
        arguments: The arguments of slangc besides ``-target name``.
        tool: A program or library that Slang calls for it, a key of ``TOOLS``; empty when Slang needs nothing else.
        whole: True if one artefact can hold all entry points of a job.
        macros: The features of its devices, as macros of slangad's Slang libraries.
        lacks: Scalar types, and functions of them, that it has no counterpart of.
    """

    name: str
    extension: str
    is_text: bool
    title: str
    arguments: tuple[str, ...] = ()
    tool: str = ""
    whole: bool = True
    macros: tuple[str, ...] = ()
    lacks: tuple[str, ...] = ()


_WAVES: Final = ("SLANGAD_FILTERS", "SLANGAD_WAVES")
_METAL: Final = ("SLANGAD_FILTERS", "SLANGAD_FLOAT_ATOMICS", "SLANGAD_WAVES")
_GLSL: Final = (*_METAL, "SLANGAD_GROUP_ATOMICS")
_CUDA: Final = ("SLANGAD_FLOAT_ATOMICS", "SLANGAD_GROUP_ATOMICS", "SLANGAD_WAVES", MMA, LONG_ATOMICS)
_WEBGPU: Final = ("SLANGAD_FILTERS", "SLANGAD_GROUP_ATOMICS")
_CPU: Final = ("SLANGAD_HOST",)

_APART: Final = ("-Xnvvm", "-Xopt", "-Xnvvm", "-disable-reuse-local-memory")
"""NVRTC before 13.1 gives two arrays of a thread one place, though both are in use: docs/slang-notes.md.

Versions 12.1 to 13.5 take these arguments.
"""

_ROWS = (
    Target(
        "spirv",
        ".spv",
        is_text=False,
        title="Vulkan, binary",
        arguments=SCALAR_LAYOUT,
        macros=_GLSL,
        lacks=(TRANSCENDENTAL,),
    ),
    Target(
        "spirv-asm",
        ".spvasm",
        is_text=True,
        title="Vulkan, disassembled",
        arguments=SCALAR_LAYOUT,
        macros=_GLSL,
        lacks=(TRANSCENDENTAL,),
    ),
    Target(
        "glsl",
        ".glsl",
        is_text=True,
        title="Vulkan GLSL",
        arguments=SCALAR_LAYOUT,
        whole=False,
        macros=_GLSL,
        lacks=(TRANSCENDENTAL,),
    ),
    Target("hlsl", ".hlsl", is_text=True, title="Direct3D source", macros=_WAVES, lacks=(TRANSCENDENTAL, ROOTS)),
    Target("metal", ".metal", is_text=True, title="Metal source", macros=_METAL, lacks=("double",)),
    Target(
        "wgsl",
        ".wgsl",
        is_text=True,
        title="WebGPU source",
        macros=_WEBGPU,
        lacks=("double", NOT_FINITE),
    ),
    Target("cuda", ".cu", is_text=True, title="CUDA source", macros=_CUDA),
    Target("cpp", ".cpp", is_text=True, title="C++ source, runs on the CPU", macros=_CPU),
    Target(
        "ptx",
        ".ptx",
        is_text=True,
        title="CUDA, assembled by NVRTC",
        arguments=("-Xnvrtc...", *_APART, "-X."),
        tool="nvrtc",
        macros=_CUDA,
    ),
    Target(
        "dxil",
        ".dxil",
        is_text=False,
        title="Direct3D 12",
        arguments=("-profile", "sm_6_6"),
        tool="dxc",
        whole=False,
        macros=_WAVES,
        lacks=(TRANSCENDENTAL, ROOTS),
    ),
    Target("shader-sharedlib", ".so", is_text=False, title="shared library for the CPU", tool="c++", macros=_CPU),
)

TARGETS: dict[str, Target] = {row.name: row for row in _ROWS}

ALWAYS = tuple(row.name for row in _ROWS if not row.tool)
"""Targets that work wherever slangad is installed."""

_OTHER_WORDS: Final = {
    "vulkan": "spirv or glsl",
    "opengl": "glsl",
    "d3d12": "hlsl or dxil",
    "directx": "hlsl or dxil",
    "dx12": "hlsl or dxil",
    "webgpu": "wgsl",
    "cpu": "cpp or shader-sharedlib",
    "c++": "cpp",
    "nvidia": "cuda or ptx",
    "metallib": "metal",
    "gpu": "auto",
    "spirv": "vulkan",
    "wgsl": "webgpu",
    "cpp": "cpu",
    "hlsl": "d3d12",
    "ptx": "cuda",
}
"""Targets by the words for devices and graphics APIs, and devices by the words for targets."""


def macros_for(target: str, defined: Collection[str]) -> tuple[str, ...]:
    """Return the macros of a target, with matrix units or without as a user's macros ask for them."""
    macros = tuple(macro for macro in TARGETS[target].macros if macro != MMA or NO_MMA not in defined)
    return (*macros, *(macro for macro, heed in ASKED.items() if macro in defined and target in heed))


def meant_by(word: str, known: Collection[str]) -> str:
    """Return the known names that another word stands for, such as "spirv or glsl"; empty if there are none."""
    names = _OTHER_WORDS.get(word.lower(), "")
    return names if any(name in known for name in names.split(" or ")) else ""
