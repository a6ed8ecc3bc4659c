"""A part of a module: some of its kernels go in, the module without the others comes out.

Functions that use memory by name belong to the kernel whose memory it is: they go with it.
"""

from __future__ import annotations

import re
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Final

from slangad.compiler.ir.nodes import (
    BackwardCall,
    Call,
    ClipGradient,
    Custom,
    External,
    ForwardCall,
    SlangBody,
    Surrogate,
    Var,
)
from slangad.compiler.ir.walk import body_exprs, statements

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping

    from slangad.compiler.ir.nodes import Function, Kernel, Module

_WORD: Final = re.compile(r"[^\W\d]\w*")


def only(module: Module, kernels: Iterable[Kernel]) -> Module:
    """The module with these kernels, their memory, and all functions but those of other kernels and their memory."""
    kept = tuple(kernels)
    module = _without_threads(module, kept)
    names = {kernel.name for kernel in kept}
    foreign = {buffer.key for buffer in module.buffers if buffer.kernel not in names}
    if not foreign:
        return replace(module, kernels=kept)
    gone = using(module, foreign)
    return replace(
        module,
        kernels=kept,
        functions=tuple(function for function in module.functions if function.key not in gone),
        buffers=tuple(buffer for buffer in module.buffers if buffer.kernel in names),
    )


def _without_threads(module: Module, kept: tuple[Kernel, ...]) -> Module:
    """The module without what threads of other kernels do: it may ask for a thread's number, which nothing gives it."""
    others = {kernel.function for kernel in module.kernels} - {kernel.function for kernel in kept}
    others -= {key for function in module.functions for key in called_by(function, module.functions)}
    functions = (one for one in module.functions if one.key not in others and one.of not in others)
    return replace(module, functions=tuple(functions))


def using(module: Module, buffers: set[str]) -> set[str]:
    """The keys of the functions that use these buffers, those that call them, and the derivatives of both."""
    found: set[str] = set()
    while True:
        more = {
            function.key
            for function in module.functions
            if function.key not in found and (function.of in found or found & set(called_by(function, ())))
        }
        if not found:
            more = {function.key for function in module.functions if buffers & set(_named(function))}
        if not more:
            return found
        found |= more


def _named(function: Function) -> Iterator[str]:
    return (expr.name for expr in body_exprs(statements(function)) if isinstance(expr, Var))


def called_by(function: Function, functions: Iterable[Function]) -> Iterator[str]:
    """The keys of what a function calls or is differentiated by; one written in Slang calls those that it names."""
    if isinstance(function.body, SlangBody):
        words = set(_WORD.findall(function.body.text))
        yield from (one.key for one in functions if one.name in words)
    for expr in body_exprs(statements(function)):
        if isinstance(expr, (Call, BackwardCall, ForwardCall)):
            yield expr.function
    policy = function.derivative.of if isinstance(function.derivative, ClipGradient) else function.derivative
    if isinstance(policy, Custom):
        yield from (key for key in (policy.backward, policy.forward) if key)
    elif isinstance(policy, Surrogate):
        yield policy.function


def reached(functions: Mapping[str, Function], start: Iterable[str]) -> set[str]:
    """These functions and all that they call or are differentiated by."""
    found, fresh = set[str](), set(start)
    while fresh:
        found |= fresh
        mentioned = {key for name in fresh for key in called_by(functions[name], functions.values())}
        mentioned |= {key for key, function in functions.items() if function.of in fresh}
        fresh = {key for key in mentioned if key in functions} - found
    return found


def without_other_files(module: Module) -> Module:
    """A description without functions that none of its kernels uses, nor Slang files in which those stand.

    Text in Slang may use what is not told of, so that all files are kept beside it.
    """
    functions = {function.key: function for function in module.functions}
    used = reached(functions, {kernel.function for kernel in module.kernels})
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
