"""Recognise Slang files by their names."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from pathlib import Path

SLANG: Final = ".slang"
"""The ending of files that Slang finds for ``import``."""
SLANG_ENDINGS: Final = (SLANG, ".slangh", ".slangi", ".hlsli", ".hlsl")
"""The endings of files that are read as Slang."""


def is_slang(file: Path | str) -> bool:
    """Return True if a file is read as Slang."""
    return str(file).endswith(SLANG_ENDINGS)
