"""The names of all compile targets, for descriptions that name some. ``toolchain.targets`` defines each."""

from __future__ import annotations

from typing import Final

TARGET_NAMES: Final = (
    "spirv", "spirv-asm", "glsl", "hlsl", "metal", "wgsl", "cuda", "cpp", "ptx", "dxil", "shader-sharedlib",
)  # fmt: skip
