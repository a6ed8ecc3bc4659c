"""Print a module as readable Slang. ``module.emit_module`` is the entry."""

from __future__ import annotations

from typing import TYPE_CHECKING

from slangad.compiler.emit.model import EmittedModule, EntryParameter, EntryPoint, Mode, ParameterRole

if TYPE_CHECKING:
    from slangad.compiler.ir.nodes import Module


def emit_module(module: Module, *, flat_tables: bool = True) -> EmittedModule:
    """Return the module as Slang. The printer is imported when it is needed; ``model`` alone is light.

    ``flat_tables`` prints constant tables of tables as one array each. Without, C++ sees an index outside its row.
    """
    from slangad.compiler.emit.module import emit_module as print_module

    return print_module(module, flat_tables=flat_tables)


__all__ = ["EmittedModule", "EntryParameter", "EntryPoint", "Mode", "ParameterRole", "emit_module"]
