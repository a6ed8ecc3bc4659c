"""Locate the programs and libraries that some targets need besides Slang, and say how to install them."""

from __future__ import annotations

import ctypes
import os
import shutil
import sys
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from collections.abc import Callable

    from slangad.compiler.ir.targets import Target


@dataclass(frozen=True, slots=True)
class Tool:
    """Something Slang calls to finish a target.

    Attributes:
        name: The name in messages.
        find: Returns its path, or ``None``; takes no time worth mentioning.
        remedy: One line: how to get it.
        argument: The slangc option that takes its directory, empty when Slang finds it by itself.
        described: Returns a found path as ``slangad doctor`` prints it.
    """

    name: str
    find: Callable[[], Path | None]
    remedy: str
    argument: str = ""
    described: Callable[[Path], str] = str


def find_cxx_compiler() -> Path | None:
    """Return the C++ compiler Slang itself would call."""
    names = ("cl",) if sys.platform == "win32" else ("g++", "clang++", "c++")
    return next((Path(path) for name in names if (path := shutil.which(name))), None)


def find_dxc() -> Path | None:
    """Return the DirectX shader compiler's library."""
    name = {"win32": "dxcompiler.dll", "darwin": "libdxcompiler.dylib"}.get(sys.platform, "libdxcompiler.so")
    return _library(("SLANGAD_DXC",), (name,))


def find_nvrtc() -> Path | None:
    """Return NVIDIA's run-time compiler library, from a toolkit or from NVIDIA's Python packages."""
    pattern = "nvrtc64_*.dll" if sys.platform == "win32" else "libnvrtc.so*"
    return _library(("SLANGAD_NVRTC", "CUDA_PATH", "CUDA_HOME"), (pattern,))


def nvrtc_version(library: Path) -> tuple[int, int] | None:
    """Return the version of a library of NVRTC, such as (13, 0), or ``None`` if it can't be loaded."""
    major, minor = ctypes.c_int(), ctypes.c_int()
    try:
        failed = ctypes.CDLL(str(library)).nvrtcVersion(ctypes.byref(major), ctypes.byref(minor))
    except (OSError, AttributeError):
        return None
    return None if failed else (major.value, minor.value)


def described_nvrtc(library: Path) -> str:
    """Return the path of NVRTC with its version: before 13.1 it has a fault (docs/slang-notes.md)."""
    version = nvrtc_version(library)
    if version is None:
        return str(library)
    fault = ": before 13.1, a few kernels with nested loops over arrays are wrong where the cuda device uses it"
    return f"{library}, version {version[0]}.{version[1]}{fault if version < (13, 1) else ''}"


def _library(variables: tuple[str, ...], patterns: tuple[str, ...]) -> Path | None:
    for folder in _folders(variables):
        for pattern in patterns:
            files = sorted(folder.glob(pattern))
            if files:
                return files[0]
    return None


def _folders(variables: tuple[str, ...]) -> list[Path]:
    named = [Path(value) for name in variables if (value := os.environ.get(name))]
    inside = ("", "..", "bin", "lib64", "lib")
    places = [folder / name for folder in named for name in inside]
    search = "PATH" if sys.platform == "win32" else "LD_LIBRARY_PATH"
    places += [Path(entry) for entry in os.environ.get(search, "").split(os.pathsep) if entry]
    for entry in sys.path:
        places += sorted(Path(entry).glob("nvidia/*/lib")) if entry.endswith("site-packages") else []
    places += [Path(place) for place in _SYSTEM_FOLDERS]
    return [place for place in places if place.is_dir()]


_SYSTEM_FOLDERS = (
    "/usr/local/cuda/lib64",
    "/usr/lib/x86_64-linux-gnu",
    "/usr/lib/aarch64-linux-gnu",
    "/usr/lib64",
    "/usr/local/lib",
    "/usr/lib",
)

TOOLS: Final = {
    "nvrtc": Tool(
        "NVRTC (NVIDIA's run-time compiler)",
        find_nvrtc,
        "install the CUDA toolkit, or `pip install nvidia-cuda-nvrtc`, or set SLANGAD_NVRTC to the folder of its "
        "library; or compile the cuda target and run nvcc on it",
        "-nvrtc-path",
        described_nvrtc,
    ),
    "dxc": Tool(
        "DXC (the DirectX shader compiler)",
        find_dxc,
        "install the DirectX Shader Compiler (github.com/microsoft/DirectXShaderCompiler) and set SLANGAD_DXC to its "
        "library; or compile the hlsl target and run dxc on it",
        "-dxc-path",
    ),
    "c++": Tool(
        "a C++ compiler",
        find_cxx_compiler,
        "install g++ or clang++ (on Windows: the Visual Studio build tools)",
    ),
}
"""The tools by the names in the table of targets."""


def tool_of(target: Target) -> Tool | None:
    """Return the tool that a target needs besides Slang, if it needs one."""
    return TOOLS.get(target.tool)
