"""Emit the functions and structs of a module without its kernels, for programs in Slang that import them.

    brdf.py: Material, shade(m, light), kernel fit(…)   ->   brdf_functions.slang: Material, shade and its derivatives

Functions that use the memory of a kernel are left out: tensors and textures are globals in Slang. So are functions with
probes, whose gradients go to a global buffer, and the pieces of loops that groups run for tiles.
"""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from slangad.compiler.emit.module import emit_module
from slangad.compiler.ir.calls import callees, callers
from slangad.compiler.ir.nodes import Probe
from slangad.compiler.ir.subset import only
from slangad.compiler.ir.walk import body_exprs, statements

if TYPE_CHECKING:
    from slangad.compiler.emit.model import EmittedModule
    from slangad.compiler.ir.nodes import Module


def emit_functions(module: Module, file_name: str) -> EmittedModule:
    """Return the Slang of a module's functions, after all passes."""
    pieces = {key for loop in module.tile_loops for key in loop.functions}
    module = only(module, ())
    functions = {function.key: function for function in module.functions}
    probing = {f.key for f in module.functions if any(isinstance(e, Probe) for e in body_exprs(statements(f)))}
    gone = callers(functions, probing | (pieces & functions.keys()), lambda function: (*callees(function), function.of))
    kept = tuple(function for function in module.functions if function.key not in gone)
    return emit_module(replace(module, functions=kept, file_name=file_name))
