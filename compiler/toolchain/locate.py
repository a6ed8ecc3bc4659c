"""Locate the Slang compiler without loading it: the library in slangpy's package, or ``--slangc``."""

from __future__ import annotations

import importlib.util
import os
import re
import shutil
from pathlib import Path

from slangad.compiler.toolchain.messages.failures import failed

LIBRARY_VARIABLE = "SLANGAD_SLANG_LIBRARY"
_PATTERNS = ("libslang-compiler.so*", "libslang-compiler*.dylib", "slang-compiler.dll", "libslang.so*", "slang.dll")
_VERSION = re.compile(r"\d{4}\.\d+(\.\d+)*")


def find_library() -> Path:
    """Return the Slang compiler's shared library: ``$SLANGAD_SLANG_LIBRARY``, else the one in slangpy's package.

    Raises:
        ToolchainError: There is none.
    """
    named = os.environ.get(LIBRARY_VARIABLE)
    if named:
        if not Path(named).is_file():
            raise failed("SA244", f"{LIBRARY_VARIABLE} names {named}, which is not a file", help="correct or unset it")
        return Path(named)
    for folder in _package_folders():
        for pattern in _PATTERNS:
            for path in sorted(folder.glob(pattern)):
                return path
    raise failed(
        "SA244",
        "the Slang compiler was not found: slangpy is not installed, or its package has no Slang library",
        help="run `pip install slangpy`, or give an executable with --slangc",
    )


def slangpy_modules() -> tuple[str, ...]:
    """Return the folder with slangpy's own Slang modules, such as its tensors; nothing if there is none."""
    return tuple(str(folder / "slang") for folder in _package_folders() if (folder / "slang").is_dir())[:1]


def find_slangc(named: Path) -> Path:
    """Return the slangc executable a user named, by path or by a name on PATH.

    Raises:
        ToolchainError: It does not exist or can't be executed.
    """
    path = shutil.which(named)
    if path is None:
        raise failed("SA243", f"{named} is not a program that can be run", help="correct --slangc, or omit it")
    return Path(path)


def toolchain_record(slangc: Path | None) -> dict[str, str]:
    """Return the name and version of Slang for manifests, from names of files: equal on every machine."""
    if slangc is not None:
        return {"slangc": slangc.name}
    library = find_library()
    record = {"slang": _version_in(library.resolve().name)}
    for folder in _package_folders():
        for info in folder.parent.glob("slangpy-*.dist-info"):
            record["slangpy"] = info.name.removesuffix(".dist-info").partition("-")[2]
    return record


def _version_in(name: str) -> str:
    match = _VERSION.search(name)
    return match[0] if match else "unknown"


def _package_folders() -> list[Path]:
    """Return the folder of slangpy. ``find_spec`` of a top-level package does not run the package."""
    spec = importlib.util.find_spec("slangpy")
    return [Path(folder) for folder in (spec.submodule_search_locations or [])] if spec else []
