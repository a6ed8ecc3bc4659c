"""Makefile dependency files, as make, ninja and CMake read them: files made and files they need become one text."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterable


def depfile_text(targets: Iterable[str], dependencies: Iterable[str]) -> str:
    """Return one rule: all targets depend on all dependencies."""
    made = " ".join(_escape(path) for path in dict.fromkeys(targets))
    lines = [f"{made}:", *(f"  {_escape(path)}" for path in dict.fromkeys(dependencies))]
    return " \\\n".join(lines) + "\n"


def _escape(path: str) -> str:
    """Escape what make and ninja give a meaning. Windows paths get ``/``, and keep the colon of their drive."""
    path = path.replace("\\", "/") if os.name == "nt" else path.replace(":", "\\:")
    return path.replace("$", "$$").replace("#", "\\#").replace(" ", "\\ ")
