"""Where the Slang compiler is, and which one, without loading it: the library in slangpy's package, or ``--slangc``.

The fingerprint goes into cache keys and must be had in microseconds: path, size and time of the file, not its contents.
"""

from __future__ import annotations

import hashlib
import importlib.util
import os
from pathlib import Path

from slangad.compiler.diagnostics import Diagnostic, ToolchainError

LIBRARY_VARIABLE = "SLANGAD_SLANG_LIBRARY"
_PATTERNS = ("libslang-compiler.so*", "libslang-compiler*.dylib", "slang-compiler.dll", "libslang.so*", "slang.dll")


def find_library() -> Path:
    """The Slang compiler's shared library: ``$SLANGAD_SLANG_LIBRARY``, else the one in slangpy's package.

    Raises:
        ToolchainError: There is none.
    """
    named = os.environ.get(LIBRARY_VARIABLE)
    if named:
        return _existing(Path(named))
    for folder in _package_folders():
        for pattern in _PATTERNS:
            for found in sorted(folder.glob(pattern)):
                return found
    raise ToolchainError(
        [
            Diagnostic(
                "SA244",
                "the Slang compiler was not found: slangpy is not installed, or its package has no Slang library",
                help="run `pip install slangpy`, or give an executable with --slangc",
            )
        ]
    )


def fingerprint(compiler: Path) -> str:
    """Tell one compiler file from another, by path, size and modification time."""
    status = compiler.stat()
    return hashlib.sha256(f"{compiler.resolve()}|{status.st_size}|{status.st_mtime_ns}".encode()).hexdigest()


def _existing(path: Path) -> Path:
    if not path.is_file():
        raise ToolchainError(
            [Diagnostic("SA244", f"{LIBRARY_VARIABLE} names {path}, which is not a file", help="correct or unset it")]
        )
    return path


def _package_folders() -> list[Path]:
    """Where slangpy lies; ``find_spec`` of a top-level package does not run the package."""
    spec = importlib.util.find_spec("slangpy")
    return [Path(folder) for folder in (spec.submodule_search_locations or [])] if spec else []
