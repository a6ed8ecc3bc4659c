"""From a module that went through the passes to readable Slang; see ``slang.emit_module``."""

from __future__ import annotations

from slangad.compiler.emit.model import EmittedModule, EntryParameter, EntryPoint, Mode, ParameterRole
from slangad.compiler.emit.slang import emit_module

__all__ = ["EmittedModule", "EntryParameter", "EntryPoint", "Mode", "ParameterRole", "emit_module"]
