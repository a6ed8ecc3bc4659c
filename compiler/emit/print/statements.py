"""Print statements: declarations, assignments, branches, bounded loops, returns."""

from __future__ import annotations

from collections.abc import Callable
from typing import Final

from slangad.compiler.emit.print.context import PrintContext
from slangad.compiler.emit.print.expressions import PRECEDENCE, memory_names, print_args, print_expr, print_initial
from slangad.compiler.errors.exhaustive import assert_never
from slangad.compiler.ir import nodes as ir
from slangad.compiler.ir.types import Matrix

Returner = Callable[[PrintContext, ir.Return], None]
"""A printer of returns; derivative functions store into their pairs instead."""

_PLAIN: Final = {ir.Break: "break;", ir.Continue: "continue;", ir.Barrier: "sa.barrier(0.0);"}
_COMPOUND: Final = ("+", "-", "*", "/")


def print_body(ctx: PrintContext, body: tuple[ir.Stmt, ...], returner: Returner) -> None:
    """Print the statements of a block."""
    for stmt in body:
        with ctx.writer.origin(stmt.span):
            _print(ctx, stmt, returner)


def print_return(ctx: PrintContext, stmt: ir.Return) -> None:
    """Print an ordinary return."""
    ctx.writer.write("return")
    if stmt.value is not None:
        ctx.writer.write(" ")
        print_expr(ctx, stmt.value)
    ctx.writer.end(";")


def _print(ctx: PrintContext, stmt: ir.Stmt, returner: Returner) -> None:
    match stmt:
        case ir.Let():
            _let(ctx, stmt)
        case ir.Assign(target, value):
            _assign(ctx, target, value)
        case ir.If():
            _if(ctx, stmt, returner)
        case ir.For():
            _for(ctx, stmt, returner)
        case ir.While():
            raise AssertionError("a while loop was not bounded")
        case ir.Break() | ir.Continue() | ir.Barrier():
            ctx.writer.line(_PLAIN[type(stmt)])
        case ir.Return():
            returner(ctx, stmt)
        case ir.Comment(text):
            ctx.writer.comment(text)
        case _:
            assert_never(stmt)


def _let(ctx: PrintContext, stmt: ir.Let) -> None:
    ctx.writer.write(ctx.names.spell.declare(stmt.type, ctx.local(stmt.name)))
    if stmt.value is not None:
        ctx.writer.write(" = ")
        print_initial(ctx, stmt.value)
    ctx.writer.end(";")


def _assign(ctx: PrintContext, target: ir.Expr, value: ir.Expr) -> None:
    if isinstance(target, ir.Read):
        ctx.writer.write(memory_names(ctx, target.source).write)
        print_args(ctx, (*target.indices, value))
        ctx.writer.end(";")
        return
    print_expr(ctx, target)
    op, value = _compound(target, value)
    ctx.writer.write(f" {op} ")
    print_expr(ctx, value)
    ctx.writer.end(";")


def _compound(target: ir.Expr, value: ir.Expr) -> tuple[str, ir.Expr]:
    """Return ``x += y`` for ``x = x + y``."""
    match value:
        case ir.Binary(op=op, left=left, right=right) if op in _COMPOUND and left == target:
            if not isinstance(value.type, Matrix):
                return f"{op}=", right
    return "=", value


def _if(ctx: PrintContext, stmt: ir.If, returner: Returner) -> None:
    braces = _needs_braces(stmt, returner)
    ctx.writer.write("if (")
    print_expr(ctx, stmt.condition)
    ctx.writer.end(")")
    _branch(ctx, stmt.then, returner, braces=braces)
    match stmt.other:
        case ():
            return
        case (ir.If() as nested,):
            ctx.writer.write("else ")
            with ctx.writer.origin(nested.span):
                _if(ctx, nested, returner)
        case other:
            ctx.writer.line("else")
            _branch(ctx, other, returner, braces=braces)


def _needs_braces(stmt: ir.If, returner: Returner) -> bool:
    """Return True if any branch of a sequence of ``else if`` is more than one plain statement."""
    for branch in (stmt.then, stmt.other):
        match branch:
            case () | (ir.Assign() | ir.Break() | ir.Continue(),):
                continue
            case (ir.Return(),) if returner is print_return:
                continue
            case (ir.If() as nested,) if branch is stmt.other and not _needs_braces(nested, returner):
                continue
            case _:
                return True
    return not stmt.then


def _branch(ctx: PrintContext, body: tuple[ir.Stmt, ...], returner: Returner, *, braces: bool) -> None:
    with ctx.writer.block() if braces else ctx.writer.indented():
        print_body(ctx, body, returner)


def _for(ctx: PrintContext, stmt: ir.For, returner: Returner) -> None:
    """Print a loop. A limit above its iterations has a form in which Slang does not count them and warn."""
    turns = _iterations(stmt)
    roomy = turns is not None and stmt.limit > len(turns)
    if stmt.unroll:
        ctx.writer.line("[ForceUnroll]")
    elif roomy:
        ctx.writer.line(f"[MaxIters({stmt.limit})] // the longest loop of the nest: reverse mode needs one size")
    name = ctx.local(stmt.variable)
    ctx.writer.write(f"for ({ctx.names.spell(stmt.start.type)} {name} = ")
    print_expr(ctx, stmt.start)
    if roomy and turns is not None:
        ctx.writer.write(f"; {name} != ")
        end = turns.start + len(turns) * turns.step
        print_expr(ctx, stmt.stop if end == turns.stop else ir.Const(end, stmt.stop.type))
    else:
        ctx.writer.write(f"; {name} {'<' if stmt.step > 0 else '>'} ")
        print_expr(ctx, stmt.stop, PRECEDENCE["<"] + 1)
    ctx.writer.end(f"; {_advance(name, stmt.step)})")
    with ctx.writer.block():
        print_body(ctx, stmt.body, returner)


def _iterations(stmt: ir.For) -> range | None:
    """Return the values of the loop variable, if the bounds are constant."""
    match stmt:
        case ir.For(start=ir.Const(value=start), stop=ir.Const(value=stop), step=step):
            return range(int(start), int(stop), step)
        case _:
            return None


def _advance(name: str, step: int) -> str:
    if abs(step) == 1:
        return f"{'++' if step > 0 else '--'}{name}"
    return f"{name} {'+' if step > 0 else '-'}= {abs(step)}"
