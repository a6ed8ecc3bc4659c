"""Loops: each becomes a counted or conditional loop with a bound for Slang."""

from __future__ import annotations

import ast
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from slangad.compiler.frontends.lowering import operators
from slangad.compiler.frontends.lowering.assignments import assign_name, hold, store
from slangad.compiler.frontends.lowering.constants import static_int
from slangad.compiler.frontends.lowering.context import Context, LoopFlow
from slangad.compiler.frontends.lowering.entities import FormEntity, FunctionEntity
from slangad.compiler.frontends.lowering.forms import misplaced_bound
from slangad.compiler.frontends.lowering.loop_ranges import (
    LoopIterations,
    named_constant,
    range_iterations,
    whole_constant,
)
from slangad.compiler.frontends.reading.problems import Rejected
from slangad.compiler.ir import nodes as ir
from slangad.compiler.ir import types

if TYPE_CHECKING:
    from slangad.compiler.errors.spans import Span

Binder = Callable[[Context, ast.expr, ir.Var], Sequence[ir.Stmt]]


@dataclass(frozen=True, slots=True)
class Iteration:
    """The iterations of a ``for``, the function that binds the targets, and the statements before the loop."""

    iterations: LoopIterations
    bind: Binder
    counts: bool = False
    before: tuple[ir.Stmt, ...] = ()


def for_loop(ctx: Context, node: ast.For) -> Sequence[ir.Stmt]:
    """Lower ``for target in range(…)``, over values, ``enumerate``, ``zip``, ``reversed``."""
    ctx.bound_in_loop = _names_bound(node)
    try:
        iteration = iterate(ctx, node.iter)
        counter, direct = _counter(ctx, node, iteration)
    except Rejected:
        _check_anyway(ctx, node)
        raise
    span = ctx.locations.keyword_span(node)
    before = ctx.assigned
    flow, flag = _enter(ctx, node, span)
    bound: list[ir.Stmt] = []
    ctx.aliases.open()
    counted = {counter.name, *_steady_target(node)} if iteration.counts else {counter.name}
    values = iteration.iterations.values(ctx.intervals)
    ctx.intervals |= dict.fromkeys(counted, values) if values else {}
    if direct:
        ctx.assigned |= {counter.name}
        ctx.inferred[counter.name] = types.INT
        ctx.aliases.bind(counter.name)
    else:
        bound.extend(iteration.bind(ctx, node.target, counter))
    from slangad.compiler.frontends.lowering.statements import block

    inverse = _inverse(ctx, iteration.iterations.inverse)
    body = (*bound, *block(ctx, node.body))
    ctx.intervals = {name: known for name, known in ctx.intervals.items() if name not in counted}
    ctx.aliases.loop(ctx.aliases.close())
    iterations, held = _take_bounds_once(ctx, iteration.iterations, node)
    if iterations.exact == 0:
        flow.breaks, flow.continues, flow.left_flag = [], [], ""
    _leave(ctx, flow, before, runs=iterations.exact is not None and iterations.exact > 0, ends=True)
    if direct:
        ctx.assigned -= {counter.name}
    if iterations.exact == 0:
        return _otherwise(ctx, node.orelse, flow, span)
    loop = ir.For(
        counter.name,
        iterations.start,
        iterations.stop,
        iterations.step,
        iterations.limit,
        iterations.exact is None,
        iterations.unroll,
        body,
        span,
        keep=iterations.keep,
        inverse=inverse,
        limit_formula=iterations.limit_formula,
        together=iterations.together,
    )
    return [*iteration.before, *held, *flag, loop, *_otherwise(ctx, node.orelse, flow, span)]


def _inverse(ctx: Context, node: ast.expr | None) -> ir.Expr | None:
    """Return the call of the function that undoes an iteration: its arguments are the locals of its parameters' names.

    Raises:
        Rejected: if it is no function, or a local is not there.
    """
    from slangad.compiler.frontends.lowering.expressions import entity_of

    if node is None:
        return None
    entity = entity_of(ctx, node)
    if not isinstance(entity, FunctionEntity):
        raise ctx.error("SA026", ctx.span(node), "inverse takes a described function", help="pass the function itself")
    names: list[ast.expr] = [ast.copy_location(ast.Name(p.name, ast.Load()), node) for p in entity.signature.params]
    return ctx.expr(ast.copy_location(ast.Call(node, names, []), node))


def _steady_target(node: ast.For) -> set[str]:
    """Return the loop variable if the body does not change it."""
    stored = {n.id for part in node.body for n in ast.walk(part) if isinstance(n, ast.Name) and _is_store(n)}
    return {node.target.id} - stored if isinstance(node.target, ast.Name) else set()


def _is_store(node: ast.Name) -> bool:
    return isinstance(node.ctx, ast.Store)


def _check_anyway(ctx: Context, node: ast.For | ast.While) -> None:
    """Report errors inside a loop whose head was rejected; targets count as set, their type is unknown."""
    from slangad.compiler.frontends.lowering.statements import block

    before, reachable = ctx.assigned, ctx.reachable
    if isinstance(node, ast.For):
        targets = [n.id for n in ast.walk(node.target) if isinstance(n, ast.Name)]
        ctx.assigned |= {*targets}
        for name in targets:
            ctx.inferred.setdefault(name, None)
    ctx.loops.append(LoopFlow())
    ctx.aliases.open()
    block(ctx, node.body)
    ctx.aliases.close()
    ctx.loops.pop()
    ctx.assigned, ctx.reachable = before, reachable
    block(ctx, node.orelse)
    ctx.assigned, ctx.reachable = before, reachable


def _names_bound(node: ast.For) -> frozenset[str]:
    inside = (n for part in (node.target, *node.body) for n in ast.walk(part))
    return frozenset(n.id for n in inside if isinstance(n, ast.Name) and isinstance(n.ctx, ast.Store))


def _take_bounds_once(
    ctx: Context, iterations: LoopIterations, node: ast.For
) -> tuple[LoopIterations, Sequence[ir.Stmt]]:
    """Keep bounds that the body may change in locals, since Python computes them before the first iteration."""
    stored = _names_bound(node)
    held: list[ir.Stmt] = []

    def once(bound: ir.Expr, wish: str) -> ir.Expr:
        if isinstance(bound, ir.Const) or (isinstance(bound, ir.Var) and bound.name not in stored):
            return bound
        stmt, local = hold(ctx, bound, wish, bound.span)
        held.append(stmt)
        return local

    return replace(iterations, start=once(iterations.start, "start"), stop=once(iterations.stop, "stop")), held


def while_loop(ctx: Context, node: ast.While) -> Sequence[ir.Stmt]:
    """Lower ``while sa.max_iters(n) and condition``."""
    from slangad.compiler.frontends.lowering.statements import block

    span = ctx.locations.keyword_span(node)
    before = ctx.assigned
    ctx.aliases.open()
    try:
        bound, test_nodes = _bound(ctx, node)
        tests = operators.conditions(ctx, test_nodes)
    except Rejected:
        ctx.aliases.close()
        _check_anyway(ctx, node)
        raise
    test: ir.Expr = tests[0] if tests else ir.Const(value=True, type=types.BOOL, span=span)
    for other in tests[1:]:
        test = ir.Binary("&&", test, other, types.BOOL, ctx.span(node.test))
    flow, flag = _enter(ctx, node, span)
    body = block(ctx, node.body)
    ctx.aliases.loop(ctx.aliases.close())
    endless = isinstance(test, ir.Const) and test.value is True
    _leave(ctx, flow, before, runs=False, ends=not endless)
    loop = ir.While(test, int(bound.value), body, span, limit_formula=bound.formula)
    return [*flag, loop, *_otherwise(ctx, node.orelse, flow, span)]


def _enter(ctx: Context, node: ast.For | ast.While, span: Span) -> tuple[LoopFlow, Sequence[ir.Stmt]]:
    """Open a loop; one with ``else`` and ``break`` gets a flag that is true if it ran to its end."""
    flow = LoopFlow()
    flag: list[ir.Stmt] = []
    if node.orelse and _breaks(node.body):
        flow.left_flag = ctx.fresh("completed")
        flag.append(assign_name(ctx, flow.left_flag, ir.Const(value=True, type=types.BOOL, span=span), span))
    ctx.loops.append(flow)
    return flow, flag


def _breaks(body: Sequence[ast.stmt]) -> bool:
    """Return True if the body has a ``break`` of this loop."""
    for node in body:
        if isinstance(node, ast.Break):
            return True
        if isinstance(node, ast.If) and (_breaks(node.body) or _breaks(node.orelse)):
            return True
        if isinstance(node, (ast.For, ast.While)) and _breaks(node.orelse):
            return True
    return False


def _leave(ctx: Context, flow: LoopFlow, before: frozenset[str], *, runs: bool, ends: bool) -> None:
    """Close a loop and update the names that are set. ``runs``: it runs at least once; ``ends``: it can end."""
    ctx.loops.pop()
    if ends:
        iteration_ends = [*flow.continues, *([ctx.assigned] if ctx.reachable else [])]
        flow.ended = before if not runs else frozenset.intersection(*iteration_ends) if iteration_ends else None
    _after(ctx, [*flow.breaks, *([flow.ended] if flow.ended is not None else [])], before)
    if flow.left_flag:
        ctx.assigned |= {flow.left_flag}


def _after(ctx: Context, endings: list[frozenset[str]], before: frozenset[str]) -> None:
    ctx.reachable = bool(endings)
    ctx.assigned = frozenset.intersection(*endings) if endings else before


def _otherwise(ctx: Context, orelse: list[ast.stmt], flow: LoopFlow, span: Span) -> Sequence[ir.Stmt]:
    """Lower the ``else`` of a loop, which runs if the loop ended by itself."""
    from slangad.compiler.frontends.lowering.statements import block

    if not orelse:
        return []
    before = ctx.assigned
    if not flow.left_flag:
        return block(ctx, orelse)
    ctx.reachable = flow.ended is not None
    ctx.assigned = before if flow.ended is None else flow.ended | {flow.left_flag}
    ctx.aliases.open()
    then = block(ctx, orelse)
    ctx.aliases.branch(ctx.aliases.close(), ())
    _after(ctx, [*(b | {flow.left_flag} for b in flow.breaks), *([ctx.assigned] if ctx.reachable else [])], before)
    return [ir.If(ir.Var(flow.left_flag, types.BOOL, span), then, (), span)]


def _counter(ctx: Context, node: ast.For, iteration: Iteration) -> tuple[ir.Var, bool]:
    """Return the loop variable: the user's name if only the loop sets it and nothing reads it afterwards."""
    span = ctx.span(node.target)
    if iteration.counts and isinstance(node.target, ast.Name) and node.target.id in ctx.private_counters:
        return ir.Var(node.target.id, types.INT, span), True
    if not isinstance(node.target, (ast.Name, ast.Tuple)):
        raise ctx.error("SA034", span, "a loop variable must be a name", help="for i in …: then assign i")
    return ir.Var(ctx.fresh("turn"), types.INT, span), False


def iterate(ctx: Context, node: ast.expr) -> Iteration:
    """Return the iterations of a ``for``.

    Raises:
        Rejected: if it has no known bound.
    """
    from slangad.compiler.frontends.lowering.expressions import entity_of

    if isinstance(node, ast.Call) and not isinstance(node.func, (ast.Call, ast.Subscript)):
        entity = entity_of(ctx, node.func)
        if isinstance(entity, FormEntity) and entity.name in _FORMS:
            return _FORMS[entity.name](ctx, node, entity.name)
    return _over_value(ctx, node)


def _over_range(ctx: Context, node: ast.Call, name: str) -> Iteration:
    def bind(ctx: Context, target: ast.expr, counter: ir.Var) -> Sequence[ir.Stmt]:
        return store(ctx, target, counter, counter.span)

    iterations = replace(range_iterations(ctx, node, name), together=name == "group_range")
    return Iteration(iterations, bind, counts=True)


def _over_value(ctx: Context, node: ast.expr) -> Iteration:
    value = ctx.expr(node)
    size, element = _entries(ctx, node, value)
    before: tuple[ir.Stmt, ...] = ()
    if not _stays(ctx, value):
        stmt, value = hold(ctx, value, "values", ctx.span(node))
        before = (stmt,)

    def bind(ctx: Context, target: ast.expr, counter: ir.Var) -> Sequence[ir.Stmt]:
        return store(ctx, target, ir.Index(value, counter, element, counter.span), counter.span)

    return Iteration(LoopIterations.counted(size, ctx.span(node)), bind, before=before)


def _stays(ctx: Context, value: ir.Expr) -> bool:
    """Return True if entries can be read in each iteration: the loop does not bind the value."""
    while isinstance(value, ir.Member):
        value = value.value
    return isinstance(value, ir.ConstantRef) or (isinstance(value, ir.Var) and value.name not in ctx.bound_in_loop)


def _entries(ctx: Context, node: ast.expr, value: ir.Expr) -> tuple[int, types.Type]:
    match value.type:
        case types.Array(element, size):
            return size, element
        case types.Vector(element, size):
            return size, element
        case types.Matrix(element, rows, columns):
            return rows, types.Vector(element, columns)
        case other:
            raise ctx.error(
                "SA021",
                ctx.span(node),
                f"{types.show(types.strengthen(other))} can't be looped over",
                label=types.show(types.strengthen(other)),
                help="loop over range(…), an array, enumerate(…), zip(…) or reversed(…)",
            )


def _over_enumerate(ctx: Context, node: ast.Call, name: str) -> Iteration:
    start = 0
    for keyword in node.keywords:
        if keyword.arg != "start":
            raise ctx.error("SA015", ctx.span(node.func), f"{name} has no parameter '{keyword.arg}'")
        start = whole_constant(ctx, keyword.value, "start")
    if not 1 <= len(node.args) <= 2:
        raise ctx.error("SA015", ctx.span(node.func), "enumerate takes a range or array")
    if len(node.args) == 2:
        start = whole_constant(ctx, node.args[1], "start")
    inner = _static(ctx, node.args[0], iterate(ctx, node.args[0]))

    def bind(ctx: Context, target: ast.expr, counter: ir.Var) -> Sequence[ir.Stmt]:
        first, second = _pair(ctx, target)
        number = _iteration_index(inner.iterations, counter)
        if start:
            number = ir.Binary("+", number, ir.Const(start, types.INT, counter.span), types.INT, counter.span)
        return [*store(ctx, first, number, counter.span), *inner.bind(ctx, second, counter)]

    return Iteration(inner.iterations, bind, before=inner.before)


def _iteration_index(iterations: LoopIterations, counter: ir.Var) -> ir.Expr:
    """Return the index, from 0, of the iteration of a counter."""
    start = static_int(iterations.start) or 0
    number: ir.Expr = counter
    if start:
        number = ir.Binary("-", number, ir.Const(start, types.INT, counter.span), types.INT, counter.span)
    return (
        number
        if iterations.step == 1
        else ir.Binary("/", number, ir.Const(iterations.step, types.INT, counter.span), types.INT, counter.span)
    )


def _pair(ctx: Context, target: ast.expr) -> tuple[ast.expr, ast.expr]:
    if not isinstance(target, ast.Tuple) or len(target.elts) != 2:
        raise ctx.error("SA034", ctx.span(target), "enumerate gives two values: for i, x in enumerate(…)")
    return target.elts[0], target.elts[1]


def _static(ctx: Context, node: ast.expr, inner: Iteration) -> Iteration:
    if inner.iterations.exact is None:
        raise _length_unknown(ctx, node, "count with for i in sa.range(…, max_iters=…), and compute all else from i")
    return inner


def _length_unknown(ctx: Context, node: ast.expr, help_: str) -> Rejected:
    return ctx.error("SA021", ctx.span(node), "this needs a length that is known when the file is loaded", help=help_)


def _over_zip(ctx: Context, node: ast.Call, name: str) -> Iteration:
    if not node.args or node.keywords:
        raise ctx.error("SA015", ctx.span(node.func), f"{name} takes ranges or arrays")
    inners = [_static(ctx, a, iterate(ctx, a)) for a in node.args]
    inverse = next(filter(None, (i.iterations.inverse for i in inners)), None)
    if inverse is not None:
        message = f"the loop over {name} takes no inverse"
        raise ctx.error("SA015", ctx.span(inverse), message, help="count with sa.range")
    iterations = LoopIterations.counted(min(i.iterations.exact or 0 for i in inners), ctx.span(node))
    iterations = replace(iterations, together=any(i.iterations.together for i in inners))

    def bind(ctx: Context, target: ast.expr, counter: ir.Var) -> Sequence[ir.Stmt]:
        if not isinstance(target, ast.Tuple) or len(target.elts) != len(inners):
            raise ctx.error("SA034", ctx.span(target), f"zip gives {len(inners)} values here")
        done: list[ir.Stmt] = []
        for part, inner in zip(target.elts, inners, strict=True):
            at, index = _at_iteration(ctx, inner, counter)
            done.extend([*at, *inner.bind(ctx, part, index)])
        return done

    return Iteration(iterations, bind, before=tuple(s for i in inners for s in i.before))


def _at_iteration(ctx: Context, inner: Iteration, counter: ir.Var) -> tuple[Sequence[ir.Stmt], ir.Var]:
    """Return the counter of ``inner`` in the iteration with the index ``counter`` (from 0)."""
    start, step = static_int(inner.iterations.start) or 0, inner.iterations.step
    if (start, step) == (0, 1):
        return [], counter
    value: ir.Expr = counter
    if step != 1:
        value = ir.Binary("*", value, ir.Const(step, types.INT, counter.span), types.INT, counter.span)
    if start:
        value = ir.Binary("+", value, ir.Const(start, types.INT, counter.span), types.INT, counter.span)
    stmt, held = hold(ctx, value, "at", counter.span)
    assert isinstance(held, ir.Var)  # noqa: S101  (hold gives a local)
    return [stmt], held


def _over_reversed(ctx: Context, node: ast.Call, name: str) -> Iteration:
    if len(node.args) != 1 or node.keywords:
        raise ctx.error("SA015", ctx.span(node.func), f"{name} takes one range or array")
    inner = iterate(ctx, node.args[0])
    iterations = inner.iterations.reversed()
    if iterations is None:
        raise _length_unknown(ctx, node.args[0], "count down: for i in sa.range(last, first - 1, -step, max_iters=…)")
    return replace(inner, iterations=iterations)


_FORMS: dict[str, Callable[[Context, ast.Call, str], Iteration]] = {
    "range": _over_range,
    "sa_range": _over_range,
    "group_range": _over_range,
    "enumerate": _over_enumerate,
    "zip": _over_zip,
    "reversed": _over_reversed,
}


def _is_bound(ctx: Context, node: ast.Call) -> bool:
    from slangad.compiler.frontends.lowering.expressions import entity_of

    return not isinstance(node.func, (ast.Call, ast.Subscript)) and entity_of(ctx, node.func) == FormEntity("max_iters")


def _bound(ctx: Context, node: ast.While) -> tuple[ir.Const, list[ast.expr]]:
    """Return the bound and the remaining conditions of a ``while``."""
    tests = (
        list(node.test.values)
        if isinstance(node.test, ast.BoolOp) and isinstance(node.test.op, ast.And)
        else [node.test]
    )
    bounds = [t for t in tests if isinstance(t, ast.Call) and _is_bound(ctx, t)]
    if bounds and bounds[0] is tests[0]:
        first = bounds[0]
        if len(first.args) != 1 or first.keywords:
            raise ctx.error("SA015", ctx.span(first.func), "max_iters takes one number")
        bound = named_constant(ctx, first.args[0], "the bound")
        if bound.value < 1:
            raise ctx.error("SA021", ctx.span(first.args[0]), "the bound must be at least 1")
        return bound, tests[1:]
    if bounds:
        raise misplaced_bound(ctx, bounds[0])
    raise ctx.error(
        "SA021",
        ctx.locations.keyword_span(node),
        "a while loop needs a bound",
        label="unbounded",
        help=f"write: while sa.max_iters(32) and {ast.unparse(node.test)}:",
    )
