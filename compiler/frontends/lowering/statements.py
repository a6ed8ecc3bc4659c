"""Statements of a body: assignments, branches, returns. They track the names that are set on every path."""

from __future__ import annotations

import ast
from typing import TYPE_CHECKING

from slangad.compiler.frontends.lowering import loops
from slangad.compiler.frontends.lowering.assignments import assign_name, assign_statement
from slangad.compiler.frontends.lowering.conversions import coerce, strong
from slangad.compiler.frontends.lowering.entities import FormEntity
from slangad.compiler.frontends.lowering.operators import condition
from slangad.compiler.frontends.reading.problems import Rejected
from slangad.compiler.ir import nodes as ir
from slangad.compiler.ir import types

if TYPE_CHECKING:
    from collections.abc import Sequence

    from slangad.compiler.errors.spans import Span
    from slangad.compiler.frontends.lowering.context import Context


def block(ctx: Context, body: Sequence[ast.stmt]) -> tuple[ir.Stmt, ...]:
    """Lower a block; statements after a ``return``, ``break`` or ``continue`` are checked and left out."""
    done: list[ir.Stmt] = []
    for node in body:
        reachable = ctx.reachable
        comments = ctx.comments_before(node.lineno)
        try:
            lowered = statement(ctx, node)
        except Rejected:
            _poison(ctx, node)
            continue
        if reachable:
            done.extend(comments)
            done.extend(lowered)
        ctx.reachable = ctx.reachable and reachable
    return tuple(done)


def _poison(ctx: Context, node: ast.stmt) -> None:
    """Count the targets of a rejected statement as set, with an unknown type."""
    for inner in ast.walk(node):
        if isinstance(inner, ast.Name) and isinstance(inner.ctx, ast.Store):
            ctx.inferred.setdefault(inner.id, None)
            ctx.assigned |= {inner.id}
    if isinstance(node, ast.Return):
        ctx.reachable = False


def statement(ctx: Context, node: ast.stmt) -> Sequence[ir.Stmt]:
    """Lower one statement to one or several.

    Raises:
        Rejected: after the problem was reported.
    """
    match node:
        case ast.Assign() | ast.AugAssign() | ast.AnnAssign():
            return assign_statement(ctx, node)
        case ast.If():
            return _if(ctx, node)
        case ast.For():
            return loops.for_loop(ctx, node)
        case ast.While():
            return loops.while_loop(ctx, node)
        case ast.Return():
            return _return(ctx, node)
        case ast.Break():
            return _break(ctx, node)
        case ast.Continue():
            ctx.loops[-1].continues.extend([ctx.assigned] if ctx.reachable else [])
            ctx.aliases.jump("continue")
            ctx.reachable = False
            return [ir.Continue(ctx.span(node))]
        case ast.Pass():
            return []
        case ast.Expr():
            return _expression(ctx, node)
        case _:
            raise ctx.error("SA004", ctx.locations.keyword_span(node), "this statement is not supported")


def _break(ctx: Context, node: ast.Break) -> Sequence[ir.Stmt]:
    loop = ctx.loops[-1]
    loop.breaks.extend([ctx.assigned] if ctx.reachable else [])
    ctx.aliases.jump("break")
    ctx.reachable = False
    span = ctx.span(node)
    if loop.left_flag:
        return [assign_name(ctx, loop.left_flag, ir.Const(value=False, type=types.BOOL), span), ir.Break(span)]
    return [ir.Break(span)]


def _if(ctx: Context, node: ast.If) -> Sequence[ir.Stmt]:
    failed: Rejected | None = None
    test: ir.Expr | None = None
    try:
        test = condition(ctx, ctx.expr(node.test), node.test)
    except Rejected as rejected:
        failed = rejected
    if isinstance(test, ir.Const):
        return _known_branch(ctx, node, bool(test.value))
    before, reachable = ctx.assigned, ctx.reachable
    ctx.aliases.open()
    then = block(ctx, node.body)
    then_events = ctx.aliases.close()
    after_then, then_reaches = ctx.assigned, ctx.reachable
    ctx.assigned, ctx.reachable = before, reachable
    ctx.aliases.open()
    other = block(ctx, node.orelse)
    ctx.aliases.branch(then_events, ctx.aliases.close())
    after_other, other_reaches = ctx.assigned, ctx.reachable
    ctx.reachable = then_reaches or other_reaches
    if then_reaches and other_reaches:
        ctx.assigned = after_then & after_other
    elif then_reaches:
        ctx.assigned = after_then
    else:
        ctx.assigned = after_other
    if failed is not None or test is None:
        raise failed or Rejected("if")
    return [ir.If(test, then, other, ctx.locations.keyword_span(node))]


def _known_branch(ctx: Context, node: ast.If, taken: bool) -> Sequence[ir.Stmt]:  # noqa: FBT001  (which of the two)
    """Lower the branch that a constant selects. The other branch is ignored with its comments."""
    if not taken:
        ctx.comments_before((node.body[-1].end_lineno or node.lineno) + 1)
        return block(ctx, node.orelse)
    done = block(ctx, node.body)
    if node.orelse:
        ctx.comments_before((node.orelse[-1].end_lineno or node.lineno) + 1)
    return done


def _return(ctx: Context, node: ast.Return) -> Sequence[ir.Stmt]:
    span = ctx.locations.keyword_span(node)
    wanted = ctx.signature.result
    if node.value is None:
        if not isinstance(wanted, types.Void):
            raise ctx.error(
                "SA039", span, f"'return' needs a value of type {types.show(wanted)}", help="return a value"
            )
        ctx.reachable = False
        return [ir.Return(None, span)]
    value = ctx.expr(node.value, wanted)
    if isinstance(wanted, types.Void):
        raise ctx.error(
            "SA039",
            ctx.span(node.value),
            f"'{ctx.signature.name}' returns nothing",
            help=ctx.problems.wording.result.format(type=types.show(types.strengthen(value.type))),
        )
    _check_derivative_shape(ctx, value, wanted, node.value)
    result = returned(ctx, value, wanted, node.value)
    ctx.aliases.jump("return")
    ctx.reachable = False
    return [ir.Return(result, span)]


def _check_derivative_shape(ctx: Context, value: ir.Expr, wanted: types.Type, node: ast.expr) -> None:
    """Check the number of values that a custom derivative returns."""
    if ctx.role is ir.Role.FORWARD and not isinstance(value.type, types.DiffPair):
        if not isinstance(value.type, types.Tuple) or len(value.type.elements) != 2:
            message = "a forward derivative returns the value and its tangent"
            raise ctx.error("SA028", ctx.span(node), message, help="return value, tangent")
    elif ctx.role is ir.Role.BACKWARD:
        count = len(wanted.elements) if isinstance(wanted, types.Tuple) else 1
        parts = len(value.type.elements) if isinstance(value.type, types.Tuple) else 1
        if parts != count:
            raise ctx.error(
                "SA028",
                ctx.span(node),
                f"'{ctx.signature.name}' returns {parts} gradient{'' if parts == 1 else 's'}, not {count}",
                help="one per differentiable parameter, in order",
            )


def returned(ctx: Context, value: ir.Expr, wanted: types.Type, node: ast.expr) -> ir.Expr:
    """Return a returned value as the declared result; several are converted one by one."""
    span = ctx.span(node)
    if isinstance(wanted, types.Tuple) and isinstance(value, ir.Construct) and isinstance(value.type, types.Tuple):
        return _returned_tuple(ctx, value, wanted, node)
    if isinstance(wanted, types.DiffPair) and isinstance(value, ir.Construct) and isinstance(value.type, types.Tuple):
        nodes = node.elts if isinstance(node, ast.Tuple) else [node, node]
        parts = [returned(ctx, a, wanted.primal, n) for a, n in zip(value.args, nodes, strict=True)]
        return ir.MakePair(parts[0], parts[1], wanted, span)
    return coerce(ctx, value, wanted, span, what=f"the result of '{ctx.signature.name}'", code="SA039")


def _returned_tuple(ctx: Context, value: ir.Construct, wanted: types.Tuple, node: ast.expr) -> ir.Expr:
    if len(value.args) != len(wanted.elements):
        raise ctx.error(
            "SA039",
            ctx.span(node),
            f"'{ctx.signature.name}' returns {len(wanted.elements)} values, not {len(value.args)}",
            label=types.show(wanted),
        )
    nodes = node.elts if isinstance(node, ast.Tuple) else [node] * len(value.args)
    parts = [returned(ctx, a, t, n) for a, t, n in zip(value.args, wanted.elements, nodes, strict=True)]
    return ir.Construct(tuple(parts), wanted, value.span)


def _expression(ctx: Context, node: ast.Expr) -> Sequence[ir.Stmt]:
    """Lower an expression statement: a docstring, ``sa.static_assert`` or ``sa.barrier``."""
    from slangad.compiler.frontends.lowering.expressions import entity_of

    value = node.value
    if isinstance(value, ast.Constant) and isinstance(value.value, (str, type(...))):
        return []
    if isinstance(value, ast.Call) and not isinstance(value.func, (ast.Call, ast.Subscript)):
        entity = entity_of(ctx, value.func)
        if entity == FormEntity("static_assert"):
            _static_assert(ctx, value)
            return []
        if entity == FormEntity("barrier"):
            return [_barrier(ctx, value)]
    strong(ctx, ctx.expr(value))
    raise ctx.error("SA004", ctx.span(node), "the value of this expression is not used", help="assign or return it")


def _barrier(ctx: Context, node: ast.Call) -> ir.Stmt:
    if not ctx.in_kernel:
        raise ctx.error("SA033", ctx.span(node.func), "sa.barrier is allowed only in the body of a kernel")
    if node.args or node.keywords:
        raise ctx.error("SA015", ctx.span(node.func), "barrier takes no arguments")
    return ir.Barrier(ctx.span(node))


def _static_assert(ctx: Context, node: ast.Call) -> None:
    if not 1 <= len(node.args) <= 2:
        raise ctx.error("SA015", ctx.span(node.func), "static_assert takes a condition and a message")
    test = ctx.expr(node.args[0])
    if not isinstance(test, ir.Const) or test.type != types.BOOL:
        raise ctx.error("SA032", ctx.span(node.args[0]), "this is not known when the file is loaded")
    if not test.value:
        text = (
            node.args[1].value if len(node.args) > 1 and isinstance(node.args[1], ast.Constant) else "assertion failed"
        )
        raise ctx.error("SA032", ctx.span(node.args[0]), str(text), label="is false")


def finish(ctx: Context, body: tuple[ir.Stmt, ...], name_span: Span) -> None:
    """Check that a function with a result cannot reach its end."""
    if ctx.reachable and ctx.signature.result != types.VOID:
        ctx.error(
            "SA018",
            name_span,
            f"'{ctx.signature.name}' can reach its end without returning",
            label="not every path returns",
            help="add a return at the end" if body else "add a return",
        )
