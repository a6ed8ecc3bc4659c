"""Which of slangad's own Slang modules an emitted file imports, and their text."""

from __future__ import annotations

from importlib.resources import files
from typing import Final

from slangad.compiler.emit.intrinsics import is_own
from slangad.compiler.ir.nodes import Intrinsic, Module
from slangad.compiler.ir.walk import body_exprs, statements

LIBRARY: Final = "slangad.slang"


def libraries_of(module: Module) -> dict[str, str]:
    """The library's file name and text, when any function calls into it."""
    uses = any(_calls_library(e) for f in module.functions for e in body_exprs(statements(f)))
    return {LIBRARY: library_text()} if uses else {}


def _calls_library(expr: object) -> bool:
    return isinstance(expr, Intrinsic) and is_own(expr.name)


def library_text() -> str:
    """The text of slangad's Slang library."""
    return (files("slangad") / "templates" / LIBRARY).read_text(encoding="utf-8")
