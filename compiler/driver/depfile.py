"""Write Makefile dependency files for make, ninja and CMake."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterable


CONTINUED = " \\"
"""The end of a line whose rule goes on in the next line."""


def depfile_text(targets: Iterable[str], dependencies: Iterable[str]) -> str:
    """Return one rule: all targets depend on all dependencies."""
    made = escaped("\0".join(dict.fromkeys(targets))).replace("\0", " ")  # one text: there are many
    lines = [f"{made}:", *(f"  {escaped(path)}" for path in dict.fromkeys(dependencies))]
    return f"{CONTINUED}\n".join(lines) + "\n"


def escaped(path: str) -> str:
    """Return a path with escapes for make and ninja. Windows paths get ``/``, and keep the colon of their drive."""
    path = path.replace("\\", "/") if os.name == "nt" else path.replace(":", "\\:")
    return path.replace("$", "$$").replace("#", "\\#").replace(" ", "\\ ")
