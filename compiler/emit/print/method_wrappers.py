"""Print wrappers of functions that Slang cannot differentiate by their names, or that take other values than kernels.

``bwd_diff(S.at)`` takes the first method ``at``, whatever its arguments are. So kernels differentiate a function that
calls the right overload. Parameters of differentiable structs without gradient get ``no_diff`` there.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from slangad.compiler.emit.model import Mode
from slangad.compiler.emit.print.functions import DIRECTIONS, differentiable
from slangad.compiler.emit.text.names import NameScope
from slangad.compiler.ir.nodes import External
from slangad.compiler.ir.types import VOID, Struct, carries_gradient

if TYPE_CHECKING:
    from collections.abc import Mapping

    from slangad.compiler.emit.print.context import ModuleNames
    from slangad.compiler.emit.text.writer import Writer
    from slangad.compiler.ir.nodes import Function, Module, Param


def name_wrappers(module: Module, scope: NameScope) -> dict[str, str]:
    """Return the names of the wrappers, by the keys of the methods that they call."""
    return {
        function.key: scope.fresh(re.sub(r"\W+", "_", function.body.symbol).strip("_"))
        for function in module.functions
        if isinstance(function.body, External) and (function.body.ambiguous or function.body.call)
    }


def print_wrappers(names: ModuleNames, writer: Writer, module: Module, modes: Mapping[str, tuple[Mode, ...]]) -> None:
    """Print the wrappers that kernels differentiate."""
    for kernel in module.kernels:
        body = names.functions[kernel.function].body
        plain = isinstance(body, External) and not body.call
        derived = {*modes[kernel.name]} - ({Mode.FORWARD} if plain else set())
        if derived and kernel.function in names.wrappers:
            writer.gap()
            with writer.origin(kernel.span):
                writer.line("[ForwardDifferentiable]" if derived == {Mode.JVP} else "[Differentiable]")
                _print_wrapper(names, writer, names.functions[kernel.function])


def _print_wrapper(names: ModuleNames, writer: Writer, function: Function) -> None:
    scope = NameScope((*names.taken, *names.structs.values(), *names.wrappers.values()), ())
    named = [(param, scope.fresh(param.name)) for param in function.params]
    shown = ", ".join(_parameter(names, param, name) for param, name in named)
    writer.line(f"{names.spell(function.result)} {names.wrappers[function.key]}({shown})")
    with writer.block():
        arguments = [name for _, name in named]
        called = names.function_names[function.key]
        if isinstance(function.body, External) and function.body.call:
            writer.line(f"return {function.body.call.format(*arguments)};")
            return
        if function.owner:
            called = f"{arguments.pop(0)}.{names.method(function)}"
        returned = "" if function.result == VOID else "return "
        writer.line(f"{returned}{called}({', '.join(arguments)});")


def _parameter(names: ModuleNames, param: Param, name: str) -> str:
    may_flow = carries_gradient(param.type) or isinstance(param.type, Struct)
    no_diff = "no_diff " if may_flow and not differentiable(param) else ""
    return f"{no_diff}{DIRECTIONS[param.direction]}{names.spell.declare(param.type, name)}"
