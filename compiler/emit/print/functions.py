"""Print device functions: comment, attributes, signature, body."""

from __future__ import annotations

from itertools import chain, repeat
from typing import TYPE_CHECKING

from slangad.compiler.emit.print.context import ModuleNames, PrintContext
from slangad.compiler.emit.print.statements import Returner, print_body, print_return
from slangad.compiler.emit.text.intrinsics import spelling
from slangad.compiler.emit.text.names import NameScope
from slangad.compiler.ir import nodes as ir
from slangad.compiler.ir.calls import reached_in_order, value_callees
from slangad.compiler.ir.types import Struct, carries_gradient
from slangad.compiler.ir.walk import body_exprs, formula_keys, statements

if TYPE_CHECKING:
    from collections.abc import Iterator

    from slangad.compiler.emit.text.writer import Writer

DIRECTIONS = {"in": "", "out": "out ", "inout": "inout "}
_PREFER = {"recompute": "[PreferRecompute]", "checkpoint": "[PreferCheckpoint]"}
_RECOMPUTE_TOGETHER = "[PreferRecompute(SideEffectBehavior.Allow)]"
"""Of products that a group computes in its memory: its barriers are side effects to Slang, which warns."""


def new_context(names: ModuleNames, writer: Writer, function: ir.Function, dims: int = 0) -> PrintContext:
    """Return the context of a function: parameters get names first, and locals avoid names that the body uses."""
    exprs = tuple(body_exprs(statements(function)))
    called = {spelling(e) for e in exprs if isinstance(e, ir.Intrinsic)}
    locals_ = NameScope(tuple(_referred(names, function)), called)
    self_name = function.params[0].name if function.owner and not function.static else ""
    context = PrintContext(names, locals_, writer, self_name, dims, function.differentiable)
    for param in function.params:
        if param.name != self_name:
            locals_.give(param.name, param.name)
    return context


def _referred(names: ModuleNames, function: ir.Function) -> Iterator[str]:
    for expr in body_exprs(statements(function)):
        yield from _global_names(names, expr)
    if function.owner:
        yield names.structs[function.owner]


def _global_names(names: ModuleNames, expr: ir.Expr) -> Iterator[str]:
    if isinstance(expr.type, Struct):
        yield names.structs[expr.type.key]
    match expr:
        case ir.Call(function=key) | ir.ForwardCall(function=key):
            yield names.function_names[key]
        case ir.BackwardCall(function=key):
            yield names.gradients[key]
        case ir.ConstantRef(key):
            yield names.constants[key]
            yield from names.tables.get(key, ())
        case ir.Const(formula=formula):
            yield from (names.constants[key] for key in formula_keys(formula) if key in names.constants)
        case _:
            return


def thread_values(function: ir.Function) -> list[str]:
    """Return which of the thread's index and the domain the body of a kernel uses."""
    asked = {type(e) for e in body_exprs(statements(function))}
    return [name for node, name in ((ir.ThreadId, "thread_id"), (ir.ThreadCount, "thread_count")) if node in asked]


def print_doc(writer: Writer, doc: tuple[str, ...]) -> None:
    """Print a docstring as a comment."""
    for line in doc:
        writer.comment(line, "///")


def print_function(names: ModuleNames, writer: Writer, function: ir.Function, dims: int = 0) -> None:
    """Print an ordinary function."""
    if isinstance(function.body, ir.External):
        return
    ctx = new_context(names, writer, function, dims)
    print_doc(writer, function.doc)
    replaced = function.on_host in names.functions
    if replaced:
        _print_on_host(ctx, function)
    with writer.origin(function.span):
        for attribute in _attributes(names, function):
            writer.line(attribute)
        header = f"{names.spell(function.result)} {names.function_names[function.key]}"
        static = "static " if function.owner and function.static else ""
        writer.line(f"{static}{header}({', '.join(signature(ctx, function))})")
    print_block(ctx, function, print_return)
    if replaced:
        writer.line("#endif")


def _print_on_host(ctx: PrintContext, function: ir.Function) -> None:
    """Print the function as it is on the CPU, where another takes its place."""
    names, writer, other = ctx.names, ctx.writer, ctx.names.functions[function.on_host]
    given = [ctx.local(param.name) for param in function.params[: len(other.params)]]
    writer.line("#if defined(SLANGAD_HOST) && !defined(SLANGAD_REPLAY)")
    if function.differentiable:
        writer.line("[Differentiable]")
    shown = ", ".join(signature(ctx, function))
    writer.line(f"{names.spell(function.result)} {names.function_names[function.key]}({shown})")
    with writer.block():
        name = names.function_names[other.key]
        called = f"return {name}({', '.join(given)});"
        writer.line(called if function.differentiable else f"return {{}}; // not read: {name} is the loop on the CPU")
    writer.line("#else")


def print_block(ctx: PrintContext, function: ir.Function, returner: Returner, head: tuple[str, ...] = ()) -> None:
    """Print a body in braces, after the lines of ``head``."""
    with ctx.writer.block():
        for line in head:
            ctx.writer.line(line)
        if isinstance(function.body, ir.SlangBody):
            words = chain(function.body.words, repeat(()))
            for line, places in zip(function.body.text.split("\n"), words, strict=False):
                _print_slang(ctx.writer, line, places)
        else:
            print_body(ctx, statements(function), returner)


def _print_slang(writer: Writer, line: str, places: tuple[ir.SlangWord, ...]) -> None:
    """Print a line of a user's Slang unchanged."""
    at = 0
    for word in places:
        writer.write(line[at : word.start])
        with writer.origin(word.span):
            writer.write(line[word.start : word.end])
        at = word.end
    if line[at:]:
        writer.write(line[at:])
    writer.end_unbroken()


def _attributes(names: ModuleNames, function: ir.Function) -> Iterator[str]:
    match function.derivative:
        case ir.Custom(backward, forward):
            if forward:
                yield f"[ForwardDerivative({names.function_names[forward]})]"
            if backward:
                yield f"[BackwardDerivative({names.function_names[backward]})]"
        case ir.Automatic():
            if function.differentiable:
                yield "[Differentiable]"
                if function.owner and not function.static and not differentiable(function.params[0]):
                    yield "[NoDiffThis]"
        case _:
            raise AssertionError(f"{function.key}: policy {function.derivative} was not lowered")
    if function.prefer:
        together = function.prefer == "recompute" and _multiplies_together(names, function)
        yield _RECOMPUTE_TOGETHER if together else _PREFER[function.prefer]


def _multiplies_together(names: ModuleNames, function: ir.Function) -> bool:
    """Return True if a function's products of a group are all that could be a side effect: it runs no user's Slang."""
    run = [*reached_in_order(names.functions, function.key, value_callees)]
    linear = any(isinstance(expr, ir.Linear) for one in run for expr in body_exprs(statements(one)))
    return linear and not any(isinstance(one.body, (ir.SlangBody, ir.External)) for one in run)


def signature(ctx: PrintContext, function: ir.Function) -> list[str]:
    """Return the parameters as text, without the object of a method."""
    shown = function.params[1:] if ctx.self_name else function.params
    threads = thread_values(function) if ctx.dims else []
    type_ = "int" if ctx.dims == 1 else f"int{ctx.dims}"
    return [*(parameter(ctx, p) for p in shown), *(f"{type_} {ctx.local(f' {name}')}" for name in threads)]


def parameter(ctx: PrintContext, param: ir.Param) -> str:
    """Return one parameter: ``no_diff float3 v``."""
    no_diff = "no_diff " if param.no_diff and carries_gradient(param.type) else ""
    return f"{no_diff}{DIRECTIONS[param.direction]}{ctx.names.spell.declare(param.type, ctx.local(param.name))}"


def differentiable(param: ir.Param) -> bool:
    """Return True if a parameter carries gradient."""
    return not param.no_diff and carries_gradient(param.type)
