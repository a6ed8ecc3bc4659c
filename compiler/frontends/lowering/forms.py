"""Constructs with special rules: ``sa.no_diff``, ``sa.bwd_diff(g)(…)``, ``len``, ``sa.zeros`` and others."""

from __future__ import annotations

import ast
from typing import TYPE_CHECKING, Final

from slangad.compiler.frontends.lowering import memories
from slangad.compiler.frontends.lowering.conversions import coerce, retype, strong
from slangad.compiler.frontends.lowering.entities import Entity, FormEntity, FunctionEntity, RefusedEntity, TypeEntity
from slangad.compiler.frontends.reading.signatures import MISSING, CallSignature, Parameter, gradient_types
from slangad.compiler.ir import nodes as ir
from slangad.compiler.ir import types
from slangad.compiler.lang.decorators.groups import GROUP_OPERATIONS

if TYPE_CHECKING:
    from collections.abc import Callable

    from slangad.compiler.frontends.lowering.context import Context
    from slangad.compiler.frontends.reading.problems import Rejected

LOOP_FORMS: Final = {"range", "sa_range", "group_range", "enumerate", "zip", "reversed"}


def form(ctx: Context, node: ast.Call, name: str) -> ir.Expr:
    """Lower a call of a form that is an expression."""
    handler = _FORMS.get(name)
    if handler is not None:
        return handler(ctx, node)
    if name in LOOP_FORMS:
        raise ctx.error("SA026", ctx.span(node.func), f"'{ast.unparse(node.func)}' is allowed only in a for loop")
    if name == "max_iters":
        raise misplaced_bound(ctx, node)
    if name in ("bwd_diff", "fwd_diff"):
        raise ctx.error("SA026", ctx.span(node.func), f"sa.{name}(g) must be called", help=f"write sa.{name}(g)(…)")
    if name == "barrier":
        raise ctx.error("SA026", ctx.span(node.func), "sa.barrier() must be a separate statement")
    if name == "Shared":
        help_ = "row = sa.Shared[float, 64]()"
        raise ctx.error("SA033", ctx.span(node.func), "sa.Shared needs its type and size", help=help_)
    if name == "static_assert":
        raise ctx.error("SA026", ctx.span(node.func), "sa.static_assert must be a separate statement")
    raise ctx.error("SA026", ctx.span(node.func), f"'{name}' can't be used here")


def misplaced_bound(ctx: Context, node: ast.Call) -> Rejected:
    """Report an ``sa.max_iters`` that does not stand first in a ``while`` condition."""
    return ctx.error(
        "SA021",
        ctx.span(node.func),
        "sa.max_iters must come first in a while condition",
        help="write: while sa.max_iters(32) and condition:",
    )


def single_argument(ctx: Context, node: ast.Call, name: str) -> ast.expr:
    """Return the only argument of a form.

    Raises:
        Rejected: when there isn't exactly one.
    """
    if len(node.args) != 1 or node.keywords:
        raise ctx.error(
            "SA015", ctx.span(node.func), f"{name}(…) takes 1 argument, not {len(node.args) + len(node.keywords)}"
        )
    return node.args[0]


def _no_diff(ctx: Context, node: ast.Call) -> ir.Expr:
    value = strong(ctx, ctx.expr(single_argument(ctx, node, "no_diff")))
    return ir.NoDiff(value, value.type, ctx.span(node)) if types.carries_gradient(value.type) else value


def _copy(ctx: Context, node: ast.Call) -> ir.Expr:
    return ctx.copy(ctx.expr(single_argument(ctx, node, "copy")))


def _len(ctx: Context, node: ast.Call) -> ir.Expr:
    argument = single_argument(ctx, node, "len")
    extent = memories.length(ctx, argument)
    if extent is not None:
        return extent
    value = ctx.expr(argument)
    match value.type:
        case types.Array(size=size) | types.Vector(size=size):
            return ir.Const(size, types.WEAK_INT, ctx.span(node))
        case types.Matrix(rows=rows):
            return ir.Const(rows, types.WEAK_INT, ctx.span(node))
        case types.Tuple(elements):
            return ir.Const(len(elements), types.WEAK_INT, ctx.span(node))
        case other:
            raise ctx.error("SA014", ctx.span(node.args[0]), f"{types.show(types.strengthen(other))} has no length")


def _zeros(ctx: Context, node: ast.Call) -> ir.Expr:
    from slangad.compiler.frontends.lowering.constructors import zero

    return zero(ctx.annotation(single_argument(ctx, node, "zeros")))


def _diff_pair(ctx: Context, node: ast.Call) -> ir.Expr:
    if len(node.args) != 2 or node.keywords:
        raise ctx.error("SA015", ctx.span(node.func), "diff_pair takes a primal and a tangent")
    primal, tangent = ctx.exprs(node.args)
    primal = retype(ctx, primal, types.FLOAT) if isinstance(primal.type, types.Weak) else primal
    if not types.carries_gradient(primal.type):
        raise ctx.error(
            "SA014", ctx.span(node.args[0]), f"{types.show(primal.type)} has no gradient", label=types.show(primal.type)
        )
    tangent = coerce(ctx, tangent, primal.type, ctx.span(node.args[1]), what="the tangent", code="SA014")
    return ir.MakePair(primal, tangent, types.DiffPair(primal.type), ctx.span(node))


def _thread_axis(ctx: Context, node: ast.Call, name: str) -> int:
    from slangad.compiler.frontends.lowering.constants import static_int

    if not ctx.in_kernel:
        raise ctx.error(
            "SA036",
            ctx.span(node.func),
            f"sa.{name} is allowed only in the body of a kernel",
            help="take it in the kernel and pass it on as an int",
        )
    axis = static_int(ctx.expr(single_argument(ctx, node, name))) if node.args or node.keywords else 0
    if axis is None:
        raise ctx.error("SA036", ctx.span(node.args[0]), "the axis must be a constant")
    if not 0 <= axis < ctx.in_kernel:
        plural = "" if ctx.in_kernel == 1 else "s"
        count = {1: "two", 2: "three"}.get(axis)
        raise ctx.error(
            "SA036",
            ctx.span(node.args[0]),
            f"axis {axis} is outside the kernel's {ctx.in_kernel} dimension{plural}",
            help=ctx.problems.wording.dims.format(dims=axis + 1, count=count) if count else "",
        )
    return axis


def _thread_id(ctx: Context, node: ast.Call) -> ir.Expr:
    return ir.ThreadId(_thread_axis(ctx, node, "thread_id"), types.INT, ctx.span(node))


def _thread_count(ctx: Context, node: ast.Call) -> ir.Expr:
    return ir.ThreadCount(_thread_axis(ctx, node, "thread_count"), types.INT, ctx.span(node))


def _probe(ctx: Context, node: ast.Call) -> ir.Expr:
    if len(node.args) != 2 or node.keywords:
        raise ctx.error("SA015", ctx.span(node.func), "probe takes a name and a value", help='sa.probe("name", value)')
    name, value = node.args[0], strong(ctx, ctx.expr(node.args[1]))
    text = name.value if isinstance(name, ast.Constant) else None
    if not isinstance(text, str) or not text.isidentifier():
        raise ctx.error("SA043", ctx.span(name), "the name of a probe is a word in quotes", help='sa.probe("name", …)')
    if not types.is_floating(value.type):
        shown, help_ = types.show(value.type), "probe numbers, vectors and matrices of floating-point values"
        raise ctx.error("SA043", ctx.span(node.args[1]), f"a probe of {shown} records nothing", label=shown, help=help_)
    return ir.Probe(text, value, value.type, ctx.span(node))


def _group_operation(name: str) -> Callable[[Context, ast.Call], ir.Expr]:
    def lowered(ctx: Context, node: ast.Call) -> ir.Expr:
        if not ctx.in_kernel:
            raise ctx.error(
                "SA033",
                ctx.span(node.func),
                f"sa.{name} is allowed only in the body of a kernel",
                help="take it in the kernel and pass it on",
            )
        argument = single_argument(ctx, node, name)
        value = strong(ctx, ctx.expr(argument))
        if not isinstance(value.type, (types.Scalar, types.Vector)) or types.element_of(value.type) == types.BOOL:
            shown, help_ = types.show(value.type), "give it a number or a vector"
            raise ctx.error("SA033", ctx.span(argument), f"sa.{name} of {shown}", label=shown, help=help_)
        return ir.GroupOperation(name, value, 0, value.type, ctx.span(node))

    return lowered


_FORMS: Final[dict[str, Callable[[Context, ast.Call], ir.Expr]]] = {
    "no_diff": _no_diff,
    "copy": _copy,
    "len": _len,
    "zeros": _zeros,
    "diff_pair": _diff_pair,
    "thread_id": _thread_id,
    "thread_count": _thread_count,
    "probe": _probe,
    **{name: _group_operation(name) for name in GROUP_OPERATIONS},
}


def derivative_call(ctx: Context, node: ast.Call, maker: ast.Call) -> ir.Expr:
    """Lower ``sa.bwd_diff(g)(args…, d_out)`` and ``sa.fwd_diff(g)(pairs…)``."""
    from slangad.compiler.frontends.lowering.expressions import entity_of

    entity = entity_of(ctx, maker.func)
    if isinstance(entity, FormEntity) and entity.name in ("bwd_diff", "fwd_diff"):
        target = single_argument(ctx, maker, entity.name)
        signature, first = _differentiated(ctx, target, entity_of(ctx, target), entity.name)
        ctx.calls.setdefault(signature.key, ctx.span(target))
        if entity.name == "bwd_diff":
            return _backward(ctx, node, signature, first)
        return _forward(ctx, node, signature, first)
    if isinstance(entity, RefusedEntity):
        raise ctx.refused(entity, ctx.span(maker.func))
    raise ctx.error("SA026", ctx.span(maker), "the result of a call can't be called")


def _differentiated(
    ctx: Context, node: ast.expr, entity: Entity | None, name: str
) -> tuple[CallSignature, tuple[Parameter, ...]]:
    """Return the function inside ``bwd_diff`` or ``fwd_diff`` and the parameter of its object, if it is a method."""
    if isinstance(entity, FunctionEntity):
        return entity.signature, ()
    if isinstance(node, ast.Attribute):
        from slangad.compiler.frontends.lowering.calls import find_method
        from slangad.compiler.frontends.lowering.expressions import entity_of

        owner = entity_of(ctx, node.value)
        if isinstance(owner, TypeEntity):
            from slangad.compiler.ir.types import Struct

            if isinstance(owner.type, Struct):
                signature = find_method(ctx, owner.type, node.attr, ctx.locations.after(node.value, len(node.attr)))
                return signature, () if signature.static else (Parameter("self", owner.type),)
    raise ctx.error("SA026", ctx.span(node), f"sa.{name} takes a described function", help="pass the function itself")


def _require_differentiable(ctx: Context, node: ast.Call, signature: CallSignature) -> None:
    if not signature.differentiable:
        raise ctx.error(
            "SA028",
            ctx.span(node.func),
            f"'{signature.name}' is not differentiable",
            help=ctx.problems.wording.differentiable,
        )
    source = next((p for p in signature.params if isinstance(p.type, (types.Tensor, types.Texture))), None)
    if source is not None:
        raise ctx.error(
            "SA044",
            ctx.span(node.func),
            f"'{signature.name}' takes a {types.show(source.type)}, so its derivative can't be called",
            help="put the differentiable part into a function of the values that are read",
        )


def _backward(ctx: Context, node: ast.Call, signature: CallSignature, first: tuple[Parameter, ...]) -> ir.Expr:
    from slangad.compiler.frontends.lowering.calls import bind_arguments

    _require_differentiable(ctx, node, signature)
    params = (*first, *signature.params)
    gradients = gradient_types(params)
    if not gradients:
        raise ctx.error("SA028", ctx.span(node.func), f"'{signature.name}' has no differentiable parameter")
    cotangent = Parameter("d_out", signature.result)
    plain = tuple(Parameter(p.name, p.type, p.no_diff, MISSING) for p in params)
    args = bind_arguments(ctx, node, f"bwd_diff({signature.name})", (*plain, cotangent), node.args, node.keywords)
    type_ = gradients[0] if len(gradients) == 1 else types.Tuple(gradients)
    return ir.BackwardCall(signature.key, args, type_, ctx.span(node))


def _forward(ctx: Context, node: ast.Call, signature: CallSignature, first: tuple[Parameter, ...]) -> ir.Expr:
    from slangad.compiler.frontends.lowering.calls import match_arguments

    _require_differentiable(ctx, node, signature)
    params = (*first, *signature.params)
    paired = tuple(
        Parameter(
            p.name,
            p.type if p.no_diff or not types.carries_gradient(p.type) else types.DiffPair(p.type),
            p.no_diff,
            p.default,
        )
        for p in params
    )
    arguments = match_arguments(ctx, node, f"fwd_diff({signature.name})", paired, node.args, node.keywords)
    args: list[ir.Expr] = []
    for param in paired:
        if param.name not in arguments:
            raise ctx.error("SA015", ctx.span(node.func), f"fwd_diff({signature.name}) needs {param.name}")
        value = ctx.expr(arguments[param.name])
        args.append(_pair_argument(ctx, value, param, arguments[param.name]))
    return ir.ForwardCall(signature.key, tuple(args), types.DiffPair(signature.result), ctx.span(node))


def _pair_argument(ctx: Context, value: ir.Expr, param: Parameter, node: ast.expr) -> ir.Expr:
    wanted = param.type
    if isinstance(wanted, types.DiffPair) and isinstance(value, ir.MakePair) and value.type != wanted:
        primal = coerce(ctx, value.primal, wanted.primal, ctx.span(node), what=f"the primal of '{param.name}'")
        tangent = coerce(ctx, value.tangent, wanted.primal, ctx.span(node), what=f"the tangent of '{param.name}'")
        return ir.MakePair(primal, tangent, wanted, value.span)
    if isinstance(wanted, types.DiffPair) and not isinstance(value.type, types.DiffPair):
        raise ctx.error(
            "SA014",
            ctx.span(node),
            f"argument '{param.name}' must be a differential pair",
            label=types.show(types.strengthen(value.type)),
            help="write sa.diff_pair(x, dx)",
        )
    return coerce(ctx, value, wanted, ctx.span(node), what=f"argument '{param.name}'", code="SA014")
