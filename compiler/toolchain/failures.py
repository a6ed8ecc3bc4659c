"""Diagnostics about what stands around Slang: a missing or failing tool, a crash, a time limit. One function each."""

from __future__ import annotations

from slangad.compiler.diagnostics import Diagnostic, ToolchainError


def failed(code: str, message: str, help: str = "", notes: tuple[str, ...] = ()) -> ToolchainError:  # noqa: A002  (as in Diagnostic)
    """An error of one diagnostic without a place, ready to be raised."""
    return ToolchainError([Diagnostic(code, message, help=help, notes=notes)])
