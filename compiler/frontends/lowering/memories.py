"""Tensors and textures in bodies: ``w[i, j]``, ``w.shape``, ``t.sample(uv)``, ``t.load(i, j)``, ``t.size``, stores.

The name of a memory is not a value. Only the forms here, ``len``, and parameters with the same memory take
it.
"""

from __future__ import annotations

import ast
from typing import TYPE_CHECKING, Final

from slangad.compiler.frontends.lowering.constants import static_int
from slangad.compiler.frontends.lowering.conversions import coerce, strong
from slangad.compiler.frontends.lowering.entities import FormEntity
from slangad.compiler.frontends.reading.problems import Rejected, did_you_mean
from slangad.compiler.ir import nodes as ir
from slangad.compiler.ir import types

if TYPE_CHECKING:
    from collections.abc import Sequence

    from slangad.compiler.errors.spans import Span
    from slangad.compiler.frontends.lowering.context import Context
    from slangad.compiler.frontends.reading.signatures import Parameter

_SHARED_USAGE: Final = "row = sa.Shared[float, 64]()"
_METHODS: Final = {"sample": ("uv",), "load": ("row", "column")}


def memory(ctx: Context, node: ast.expr) -> ir.Var | None:
    """Return the tensor or texture that an expression names; None for other expressions."""
    if isinstance(node, ast.Name) and node.id in ctx.shared:
        return ir.Var(node.id, ctx.shared[node.id], ctx.span(node))
    if isinstance(node, ast.Name) and isinstance(ctx.params.get(node.id), (types.Tensor, types.Texture)):
        return ir.Var(node.id, ctx.params[node.id], ctx.span(node))
    return None


def not_a_value(ctx: Context, source: ir.Var) -> Rejected:
    """Report the name of a memory in place of a value."""
    return ctx.error(
        "SA040",
        source.span,
        f"'{source.name}' is {_a(source.type)}, not a value",
        label="the whole memory",
        help=_usage(source),
    )


def _a(type_: types.Type) -> str:
    word = types.show(type_).partition("[")[0]
    return f"{'an' if word[:1] in 'IO' else 'a'} {word}"


def _usage(source: ir.Var) -> str:
    if isinstance(source.type, types.Texture):
        return f"take a value: {source.name}.sample(uv)"
    indices = ", ".join("ijkl"[: source.type.rank]) if isinstance(source.type, types.Tensor) else ""
    if isinstance(source.type, types.Tensor) and not source.type.reads:
        return f"store into an element: {source.name}[{indices}] = …"
    return f"take an element: {source.name}[{indices}]"


def element(ctx: Context, node: ast.Subscript, source: ir.Var) -> ir.Expr:
    """Lower ``w[i, j]`` as a read."""
    type_ = source.type
    if isinstance(type_, types.Texture):
        help_ = f"write {source.name}.load(row, column), or {source.name}.sample(uv)"
        raise ctx.error("SA040", ctx.span(node), "a texture has no elements", help=help_)
    assert isinstance(type_, types.Tensor)  # noqa: S101  (one of the two)
    if not type_.reads:
        raise not_read(ctx, node, source)
    return _read(ctx, ir.Read(source, _indices(ctx, node, source, type_.rank), type_.element, ctx.span(node)))


def not_read(ctx: Context, node: ast.AST, source: ir.Var) -> Rejected:
    """Report a read of an OutTensor."""
    return ctx.error(
        "SA040",
        ctx.span(node),
        f"'{source.name}' is an OutTensor and can't be read",
        label="read here",
        help="keep the value in a local, or make it an InOutTensor; += and -= add to an OutTensor",
    )


def output(ctx: Context, node: ast.expr) -> ir.Var | None:
    """Return the OutTensor that an expression names; None for other expressions."""
    source = memory(ctx, node)
    if source is None or not isinstance(source.type, types.Tensor):
        return None
    return source if source.type.writes and not source.type.reads else None


def target(ctx: Context, node: ast.Subscript, source: ir.Var) -> ir.Read:
    """Lower ``w[i, j]`` as the target of a store."""
    type_ = source.type
    if not isinstance(type_, types.Tensor) or not type_.writes:
        raise ctx.error(
            "SA040",
            ctx.span(node),
            f"'{source.name}' is {_a(type_)} and can't be written",
            label="written here",
            help="write into an OutTensor, or an InOutTensor if it is read too",
        )
    return ir.Read(source, _indices(ctx, node, source, type_.rank), type_.element, ctx.span(node))


def refuse_partial_store(ctx: Context, node: ast.Attribute | ast.Subscript) -> None:
    """Report a store into a part of an element, or into ``shape`` or ``size``.

    Raises:
        Rejected: if it is one.
    """
    inner: ast.expr = node.value
    while isinstance(inner, (ast.Attribute, ast.Subscript)):
        source = memory(ctx, inner.value) if isinstance(inner, ast.Subscript) else None
        if source is not None and isinstance(source.type, types.Tensor):
            raise ctx.error(
                "SA040",
                ctx.span(node),
                f"only whole elements of '{source.name}' can be stored",
                label="a part of an element",
                help=f"make the whole value first: {ast.unparse(inner)} = {types.show(source.type.element)}(…)",
            )
        inner = inner.value
    source = memory(ctx, inner)
    if source is not None:
        raise ctx.error("SA034", ctx.span(node), "this can't be assigned to", help=_usage(source))


def _read(ctx: Context, value: ir.Read | ir.Sample) -> ir.Expr:
    """Return a value from a memory; in functions ``no_diff`` parameters cut its derivative."""
    assert isinstance(value.source, ir.Var)  # noqa: S101  (memories are parameters)
    name = value.source.name
    passive = not ctx.in_kernel and any(p.name == name and p.no_diff for p in ctx.signature.params)
    return ir.NoDiff(value, value.type, value.span) if passive and types.carries_gradient(value.type) else value


def _indices(ctx: Context, node: ast.Subscript, source: ir.Var, rank: int) -> tuple[ir.Expr, ...]:
    nodes = node.slice.elts if isinstance(node.slice, ast.Tuple) else [node.slice]
    if len(nodes) != rank:
        raise ctx.error(
            "SA025",
            ctx.span(node.slice),
            f"'{source.name}' takes {rank} {'index' if rank == 1 else 'indices'}, not {len(nodes)}",
            label=types.show(source.type),
            help=_usage(source),
        )
    return _places(ctx, nodes, source)


def _places(ctx: Context, nodes: Sequence[ast.expr], source: ir.Var) -> tuple[ir.Expr, ...]:
    lowered = ctx.exprs(nodes)
    return tuple(_place(ctx, e, ctx.span(n), source, k) for k, (e, n) in enumerate(zip(lowered, nodes, strict=True)))


def _place(ctx: Context, index: ir.Expr, span: Span, source: ir.Var, axis: int) -> ir.Expr:
    """Return an index as an int; constants below 0 count from the end."""
    static = static_int(index)
    formula = index.formula if isinstance(index, ir.Const) else None
    if static is not None and isinstance(source.type, types.Tensor) and source.type.is_shared:
        extent = source.type.extents[axis]
        if not -extent <= static < extent:
            label = types.show(source.type)
            raise ctx.error("SA025", span, f"index {static} is outside of '{source.name}'", label=label)
        return ir.Const(static % extent, types.INT, span, formula if static >= 0 else None)
    if static is not None:
        count = ir.Const(abs(static), types.INT, span, formula if static >= 0 else None)
        return (
            count if static >= 0 else ir.Binary("-", ir.Extent(source, axis, types.INT, span), count, types.INT, span)
        )
    if index.type not in (types.INT, types.UINT, types.WEAK_INT):
        shown = types.show(types.strengthen(index.type))
        raise ctx.error(
            "SA025", span, f"an index must be an int, not {shown}", label=shown,
            help="convert with int(…), which truncates",
        )  # fmt: skip
    index = strong(ctx, index)
    return ir.Cast(index, types.INT, span) if index.type == types.UINT else index


def member(ctx: Context, node: ast.Attribute, source: ir.Var) -> ir.Expr:
    """Lower ``w.shape``, several ints, and ``t.size``, an int2: width, height."""
    span = ctx.span(node)
    if isinstance(source.type, types.Tensor) and node.attr == "shape":
        extents = tuple(extent(source, axis, span) for axis in range(source.type.rank))
        return ir.Construct(extents, types.Tuple((types.INT,) * source.type.rank), span)
    if isinstance(source.type, types.Texture) and node.attr == "size":
        return ir.Construct(
            (ir.Extent(source, 1, types.INT, span), ir.Extent(source, 0, types.INT, span)),
            types.Vector(types.INT, 2),
            span,
        )
    raise _unknown(ctx, node, source)


def _unknown(ctx: Context, node: ast.Attribute, source: ir.Var) -> Rejected:
    texture = isinstance(source.type, types.Texture)
    known = ["sample", "load", "size"] if texture else ["shape"]
    shown = ".sample(uv), .load(row, column) and .size" if texture else ".shape"
    at = ctx.locations.after(node.value, len(node.attr))
    if node.attr in known:
        return ctx.error("SA026", at, f"'{node.attr}' must be called", help=f"a {types.show(source.type)} has {shown}")
    return ctx.error(
        "SA011", at, f"{types.show(source.type)} has no '{node.attr}'",
        help=did_you_mean(node.attr, known) or f"it has {shown}",
    )  # fmt: skip


def method(ctx: Context, node: ast.Call, func: ast.Attribute, source: ir.Var) -> ir.Expr:
    """Lower ``t.sample(uv)`` and ``t.load(row, column)``."""
    at = ctx.locations.after(func.value, len(func.attr))
    if not isinstance(source.type, types.Texture) or func.attr not in _METHODS:
        if func.attr in ("shape", "size"):
            raise ctx.error("SA026", at, f"'{func.attr}' is not a method", help=f"write .{func.attr} without brackets")
        raise _unknown(ctx, func, source)
    nodes = _arguments(ctx, node, at, func.attr)
    if func.attr == "load":
        return _read(ctx, ir.Read(source, _places(ctx, nodes, source), source.type.element, ctx.span(node)))
    uv = coerce(ctx, ctx.expr(nodes[0]), types.Vector(types.FLOAT, 2), ctx.span(nodes[0]), what="'uv'", code="SA014")
    return _read(ctx, ir.Sample(source, uv, source.type.element, ctx.span(node)))


def _arguments(ctx: Context, node: ast.Call, at: Span, name: str) -> list[ast.expr]:
    wanted = _METHODS[name]
    arguments = dict(zip(wanted, node.args, strict=False))
    for keyword in node.keywords:
        if keyword.arg in wanted and keyword.arg not in arguments:
            arguments[keyword.arg] = keyword.value
    if len(arguments) != len(wanted) or len(node.args) + len(node.keywords) != len(wanted):
        raise ctx.error("SA015", at, f"{name} takes {' and '.join(wanted)}", help=f"write .{name}({', '.join(wanted)})")
    return [arguments[w] for w in wanted]


def length(ctx: Context, node: ast.expr) -> ir.Expr | None:
    """Lower ``len(w)``, the size of the first axis; None if it is not a tensor."""
    source = memory(ctx, node)
    if source is None or not isinstance(source.type, types.Tensor):
        return None
    return extent(source, 0, ctx.span(node))


def extent(source: ir.Var, axis: int, span: Span) -> ir.Expr:
    """Return the size of a tensor along an axis."""
    assert isinstance(source.type, types.Tensor)  # noqa: S101  (callers ask)
    if source.type.is_shared:
        return ir.Const(source.type.extents[axis], types.INT, span)
    return ir.Extent(source, axis, types.INT, span)


def declare_shared(ctx: Context, target: ast.expr, value: ast.Call) -> ir.Stmt | None:
    """Lower ``row = sa.Shared[float, 64]()``; return None for other calls."""
    from slangad.compiler.frontends.lowering.expressions import entity_of

    if not isinstance(value.func, ast.Subscript) or entity_of(ctx, value.func.value) != FormEntity("Shared"):
        return None
    span = ctx.span(value)
    if not ctx.in_kernel:
        raise ctx.error("SA033", span, "sa.Shared is allowed only in the body of a kernel")
    parts = value.func.slice.elts if isinstance(value.func.slice, ast.Tuple) else [value.func.slice]
    sizes = [static_int(ctx.expr(part)) for part in parts[1:]]
    if value.args or value.keywords or not 1 <= len(sizes) <= 3 or not isinstance(target, ast.Name):
        raise ctx.error("SA033", span, "sa.Shared takes a type and one to three sizes", help=_SHARED_USAGE)
    element = ctx.annotation(parts[0])
    held = types.element_of(element) if isinstance(element, (types.Scalar, types.Vector)) else None
    if held not in (types.FLOAT, types.INT, types.UINT):
        shown = types.show(element)
        raise ctx.error("SA033", ctx.span(parts[0]), f"sa.Shared of {shown}", help="it holds floats, ints, and vectors")
    known = tuple(size for size in sizes if size is not None and size > 0)
    if len(known) < len(sizes):
        raise ctx.error("SA033", span, "the sizes of sa.Shared are positive constants", help=_SHARED_USAGE)
    if target.id in ctx.shared or target.id in ctx.assigned:
        raise ctx.error("SA033", span, f"'{target.id}' is something else before", help="use another name")
    type_ = types.Tensor(element, len(known), reads=True, writes=True, extents=known)
    ctx.shared[target.id] = type_
    return ir.Let(target.id, type_, None, span)


def argument(ctx: Context, name: str, param: Parameter, node: ast.expr) -> ir.Expr:
    """Return the argument of a parameter that is a memory.

    Raises:
        Rejected: when the argument is another, or none.
    """
    source = memory(ctx, node)
    if source is not None and source.type == param.type:
        return source
    shown = types.show(source.type if source is not None else types.strengthen(ctx.expr(node).type))
    help_ = "pass the parameter itself" if source is None else f"make the parameter of {name} a {shown}"
    if isinstance(source, ir.Var) and isinstance(source.type, types.Tensor) and source.type.writes:
        help_ = f"read what {name} needs and pass the values"
    raise ctx.error(
        "SA014", ctx.span(node), f"argument '{param.name}' of {name} must be {types.show(param.type)}, not {shown}",
        label=shown, help=help_,
    )  # fmt: skip
