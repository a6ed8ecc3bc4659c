"""Slang files for tests of the Slang front end, and the type of what loads them."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Protocol

if TYPE_CHECKING:
    from slangad.compiler.ir.nodes import Module

SHADERS = Path(__file__).parent.parent / "frontends" / "slang" / "shaders"


class Loader(Protocol):
    """Loads a Slang file by path, or a shader of this folder by name."""

    def __call__(self, name: str | Path, *specialize: str) -> Module:
        """Load it."""
