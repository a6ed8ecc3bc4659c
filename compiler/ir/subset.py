"""Reduce a module to some of its kernels. Functions that use the memory of a removed kernel are removed, too."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

from slangad.compiler.ir.calls import callees, callers, reached
from slangad.compiler.ir.nodes import External, SlangBody, ThreadCount, ThreadId, Var
from slangad.compiler.ir.walk import body_exprs, statements

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from slangad.compiler.ir.nodes import Function, Kernel, Module


def only(module: Module, kernels: Iterable[Kernel]) -> Module:
    """Return the module with these kernels and their memory, without the functions of other kernels."""
    kept = tuple(kernels)
    module = _without_threads(module, kept)
    names = {kernel.name for kernel in kept}
    module = replace(module, tile_loops=tuple(loop for loop in module.tile_loops if loop.kernel in names))
    foreign = {memory.key for memory in module.named_memory if memory.kernel not in names}
    if not foreign:
        return replace(module, kernels=kept)
    gone = using(module, foreign)
    return replace(
        module,
        kernels=kept,
        functions=tuple(function for function in module.functions if function.key not in gone),
        buffers=tuple(buffer for buffer in module.buffers if buffer.kernel in names),
        shared=tuple(memory for memory in module.shared if memory.kernel in names),
    )


def _without_threads(module: Module, kept: tuple[Kernel, ...]) -> Module:
    """Return the module without the threads of other kernels, and of none: only those of a kernel have numbers."""
    numbered = {function.key for function in module.functions if _reads_thread_numbers(function)}
    others = numbered.union(kernel.function for kernel in module.kernels) - {kernel.function for kernel in kept}
    others -= {key for function in module.functions for key in callees(function, module.functions)}
    functions = (one for one in module.functions if one.key not in others and one.of not in others)
    return replace(module, functions=tuple(functions))


def _reads_thread_numbers(function: Function) -> bool:
    return any(isinstance(expr, (ThreadCount, ThreadId)) for expr in body_exprs(statements(function)))


def using(module: Module, buffers: set[str]) -> set[str]:
    """Return the keys of the functions that use these buffers, of their callers, and of the derivatives of both."""
    start = {function.key for function in module.functions if buffers & set(_named(function))}
    functions = {function.key: function for function in module.functions}
    return callers(functions, start, lambda function: (*callees(function), function.of))


def _named(function: Function) -> Iterator[str]:
    return (expr.name for expr in body_exprs(statements(function)) if isinstance(expr, Var))


def without_other_files(module: Module) -> Module:
    """Return a description without unused functions and without the Slang files of unused functions.

    Text in Slang may use any name, so a description with bodies in Slang keeps all files.
    """
    functions = {function.key: function for function in module.functions}
    start = {kernel.function for kernel in module.kernels}.union(*(loop.functions for loop in module.tile_loops))
    used = reached(functions, start)
    bodies = [functions[key].body for key in used]
    if any(isinstance(body, SlangBody) for body in bodies):
        return module
    files = {Path(body.file).resolve() for body in bodies if isinstance(body, External)}
    folder = Path(module.source).absolute().parent
    return replace(
        module,
        functions=tuple(function for function in module.functions if function.key in used),
        slang_imports=tuple(path for path in module.slang_imports if (folder / path).resolve() in files),
    )
