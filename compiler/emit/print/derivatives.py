"""Print custom derivatives in Slang's form: with ``inout DifferentialPair<T>`` in backward, pairs in forward mode.

In the IR a backward function takes values and returns gradients. The printed function unpacks the primals it uses at
the top, and each return stores the gradients into the pairs.
"""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING

from slangad.compiler.emit.print.context import ModuleNames, PrintContext
from slangad.compiler.emit.print.differentials import differential_of, is_own_differential, spell_differential, value_of
from slangad.compiler.emit.print.expressions import print_expr
from slangad.compiler.emit.print.functions import differentiable, new_context, print_block, print_doc, print_function
from slangad.compiler.emit.text.names import NameScope
from slangad.compiler.ir import nodes as ir
from slangad.compiler.ir.types import Tuple, Type
from slangad.compiler.ir.walk import body_exprs, statements

if TYPE_CHECKING:
    from slangad.compiler.emit.text.writer import Writer


def print_any(names: ModuleNames, writer: Writer, function: ir.Function, dims: int = 0) -> None:
    """Print a function of any role; ``dims`` is that of the kernel whose body it is, or 0."""
    if function.role is ir.Role.BACKWARD:
        _print_backward(names, writer, function)
    else:
        print_function(names, writer, function, dims)


def gradient_params(function: ir.Function) -> tuple[ir.Param, ...]:
    """Return the parameters that get a gradient."""
    return tuple(p for p in function.params if differentiable(p))


def _print_backward(names: ModuleNames, writer: Writer, function: ir.Function) -> None:
    ctx = new_context(names, writer, function)
    primal = names.functions[function.of]
    pairs = _pair_names(ctx, function, primal)
    print_doc(writer, function.doc)
    with writer.origin(function.span):
        head = f"{'static ' if function.owner else ''}void {names.function_names[function.key]}"
        writer.line(f"{head}({', '.join(_signature(ctx, function, pairs))})")
    last = statements(function)[-1] if statements(function) else None

    def store(inner: PrintContext, stmt: ir.Return) -> None:
        _store(inner, stmt, list(pairs.values()))
        if stmt is not last:
            inner.writer.line("return;")

    print_block(ctx, function, store, _unpack(ctx, function, pairs))


def _pair_names(ctx: PrintContext, function: ir.Function, primal: ir.Function) -> dict[str, str]:
    """Return names of the pair parameters, by the derivative's own parameter names."""
    pairs = zip(function.params, primal.params, strict=False)
    return {p.name: ctx.locals.fresh(f"{ctx.local(p.name)}_pair") for p, of in pairs if differentiable(of)}


def _signature(ctx: PrintContext, function: ir.Function, pairs: dict[str, str]) -> list[str]:
    *params, d_out = function.params
    texts = []
    for param in params:
        name = ctx.local(param.name)
        if param.name in pairs:
            texts.append(f"inout DifferentialPair<{ctx.names.spell.generic(param.type)}> {pairs[param.name]}")
        else:
            texts.append(ctx.names.spell.declare(param.type, name))
    seed = ctx.local(d_out.name)
    if is_own_differential(d_out.type):
        texts.append(ctx.names.spell.declare(d_out.type, seed))
    else:
        texts.append(f"{spell_differential(ctx.names, d_out.type)} {seed}_differential")
    return texts


def _unpack(ctx: PrintContext, function: ir.Function, pairs: dict[str, str]) -> tuple[str, ...]:
    """Return declarations of the primals that the body reads, and of the cotangent if Slang's type for it differs."""
    used = {e.name for e in body_exprs(statements(function)) if isinstance(e, ir.Var)}
    lines = []
    for param in function.params[:-1]:
        if param.name in pairs and param.name in used:
            declared = ctx.names.spell.declare(param.type, ctx.local(param.name))
            lines.append(f"{declared} = {pairs[param.name]}.p;")
    d_out = function.params[-1]
    if not is_own_differential(d_out.type):
        seed = ctx.local(d_out.name)
        declared = ctx.names.spell.declare(d_out.type, seed)
        lines.append(f"{declared} = {ctx.names.from_differential}({seed}_differential);")
    return tuple(lines)


def _store(ctx: PrintContext, stmt: ir.Return, pairs: list[str]) -> None:
    if stmt.value is None or not pairs:
        return
    for pair, gradient in zip(pairs, _gradients(stmt.value, len(pairs)), strict=True):
        ctx.writer.write(f"{pair} = diffPair({pair}.p, ")
        differential_of(ctx, gradient.type, partial(print_expr, ctx, gradient))
        ctx.writer.end(");")


def _gradients(value: ir.Expr, count: int) -> tuple[ir.Expr, ...]:
    """Return the gradients one by one."""
    if isinstance(value.type, Tuple) and isinstance(value, ir.Construct) and len(value.args) == count:
        return value.args
    return (value,)


def print_gradient(names: ModuleNames, writer: Writer, function: ir.Function, result: Type) -> None:
    """Print a function that returns the gradients of another as values, for reverse mode inside an expression."""
    scope = NameScope((names.function_names[function.key],), ())
    params = [(p, scope.give(p.name, p.name)) for p in function.params]
    wanted = gradient_params(function)
    seed = scope.fresh("d_out")
    pairs = {p.name: scope.fresh(f"{scope[p.name]}_pair") for p in wanted}
    ctx = PrintContext(names, scope, writer)
    shown = [names.spell.declare(p.type, name) for p, name in params] + [names.spell.declare(function.result, seed)]
    print_doc(writer, (f"The gradient of {names.function_names[function.key]}, as a value.",))
    writer.line(f"{names.spell(result)} {names.gradients[function.key]}({', '.join(shown)})")
    with writer.block():
        for param in wanted:
            pair = f"DifferentialPair<{names.spell.generic(param.type)}>"
            writer.line(f"{pair} {pairs[param.name]} = diffPair({scope[param.name]});")
        _reverse_call(ctx, function, [pairs.get(p.name, name) for p, name in params], seed)
        _return_gradients(ctx, wanted, list(pairs.values()), result)


def _reverse_call(ctx: PrintContext, function: ir.Function, args: list[str], seed: str) -> None:
    ctx.writer.write(f"bwd_diff({ctx.names.reference(function)})({', '.join(args)}, ")
    differential_of(ctx, function.result, partial(ctx.writer.write, seed))
    ctx.writer.end(");")


def _return_gradients(ctx: PrintContext, wanted: tuple[ir.Param, ...], pairs: list[str], result: Type) -> None:
    several = len(pairs) != 1
    ctx.writer.write(f"return {ctx.names.spell(result)}(" if several else "return ")
    for position, (param, pair) in enumerate(zip(wanted, pairs, strict=True)):
        if position:
            ctx.writer.write(", ")
        value_of(ctx, param.type, partial(ctx.writer.write, f"{pair}.d"))
    ctx.writer.end(");" if several else ";")
