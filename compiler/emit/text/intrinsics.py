"""Spell intrinsics in Slang, from the table of intrinsics."""

from __future__ import annotations

from typing import Final

from slangad.compiler.lang.intrinsics import INTRINSICS

OWN_PREFIX: Final = "sa::"
"""The namespace of slangad's own Slang library."""

_INTERNAL: Final = {"at": "sa::at", "element": "sa::element", "with": "sa::with", "divide": "sa::div"}
"""Operations that only passes and the printer use."""


def spelling(name: str) -> str:
    """Return the text before the parenthesis."""
    return _INTERNAL[name] if name in _INTERNAL else INTRINSICS[name].slang


def is_own(name: str) -> bool:
    """Return True if it comes from slangad's library."""
    return spelling(name).startswith(OWN_PREFIX)
