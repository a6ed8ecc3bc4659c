"""Tensors and textures in bodies: ``w[i, j]``, ``w.shape``, ``t.sample(uv)``, ``t.load(i, j)``, ``t.size``, stores.

The name of a memory is not a value. Only the forms here, ``len``, and parameters with the same memory take
it.
"""

from __future__ import annotations

import ast
from typing import TYPE_CHECKING, Final

from slangad.compiler.frontends.lowering.constants import static_int
from slangad.compiler.frontends.lowering.conversions import coerce, strong
from slangad.compiler.frontends.reading.problems import Rejected, did_you_mean
from slangad.compiler.ir.nodes import Binary, Cast, Const, Construct, Expr, Extent, NoDiff, Read, Sample, Var
from slangad.compiler.ir.types import (
    FLOAT,
    INT,
    UINT,
    WEAK_INT,
    Tensor,
    Texture,
    Tuple,
    Type,
    Vector,
    carries_gradient,
    show,
    strengthen,
)

if TYPE_CHECKING:
    from collections.abc import Sequence

    from slangad.compiler.errors.spans import Span
    from slangad.compiler.frontends.lowering.context import Context
    from slangad.compiler.frontends.reading.signatures import Parameter

_METHODS: Final = {"sample": ("uv",), "load": ("row", "column")}


def memory(ctx: Context, node: ast.expr) -> Var | None:
    """Return the tensor or texture that an expression names; None for other expressions."""
    if isinstance(node, ast.Name) and isinstance(ctx.params.get(node.id), (Tensor, Texture)):
        return Var(node.id, ctx.params[node.id], ctx.span(node))
    return None


def not_a_value(ctx: Context, source: Var) -> Rejected:
    """Report the name of a memory in place of a value."""
    return ctx.error(
        "SA040",
        source.span,
        f"'{source.name}' is {_a(source.type)}, not a value",
        label="the whole memory",
        help=_usage(source),
    )


def _a(type_: Type) -> str:
    word = show(type_).partition("[")[0]
    return f"{'an' if word[:1] in 'IO' else 'a'} {word}"


def _usage(source: Var) -> str:
    if isinstance(source.type, Texture):
        return f"take a value: {source.name}.sample(uv)"
    indices = ", ".join("ijkl"[: source.type.rank]) if isinstance(source.type, Tensor) else ""
    if isinstance(source.type, Tensor) and not source.type.reads:
        return f"store into an element: {source.name}[{indices}] = …"
    return f"take an element: {source.name}[{indices}]"


def element(ctx: Context, node: ast.Subscript, source: Var) -> Expr:
    """Lower ``w[i, j]`` as a read."""
    type_ = source.type
    if isinstance(type_, Texture):
        help_ = f"write {source.name}.load(row, column), or {source.name}.sample(uv)"
        raise ctx.error("SA040", ctx.span(node), "a texture has no elements", help=help_)
    assert isinstance(type_, Tensor)  # noqa: S101  (one of the two)
    if not type_.reads:
        raise ctx.error(
            "SA040",
            ctx.span(node),
            f"'{source.name}' is an OutTensor and can't be read",
            label="read here",
            help="keep the value in a local, or make it an InOutTensor",
        )
    return _read(ctx, Read(source, _indices(ctx, node, source, type_.rank), type_.element, ctx.span(node)))


def target(ctx: Context, node: ast.Subscript, source: Var) -> Read:
    """Lower ``w[i, j]`` as the target of a store."""
    type_ = source.type
    if not isinstance(type_, Tensor) or not type_.writes:
        raise ctx.error(
            "SA040",
            ctx.span(node),
            f"'{source.name}' is {_a(type_)} and can't be written",
            label="written here",
            help="write into an OutTensor, or an InOutTensor if it is read too",
        )
    return Read(source, _indices(ctx, node, source, type_.rank), type_.element, ctx.span(node))


def refuse_partial_store(ctx: Context, node: ast.Attribute | ast.Subscript) -> None:
    """Report a store into a part of an element, or into ``shape`` or ``size``.

    Raises:
        Rejected: if it is one.
    """
    inner: ast.expr = node.value
    while isinstance(inner, (ast.Attribute, ast.Subscript)):
        source = memory(ctx, inner.value) if isinstance(inner, ast.Subscript) else None
        if source is not None and isinstance(source.type, Tensor):
            raise ctx.error(
                "SA040",
                ctx.span(node),
                f"only whole elements of '{source.name}' can be stored",
                label="a part of an element",
                help=f"make the whole value first: {ast.unparse(inner)} = {show(source.type.element)}(…)",
            )
        inner = inner.value
    source = memory(ctx, inner)
    if source is not None:
        raise ctx.error("SA034", ctx.span(node), "this can't be assigned to", help=_usage(source))


def _read(ctx: Context, value: Read | Sample) -> Expr:
    """Return a value from a memory; in functions ``no_diff`` parameters cut its derivative."""
    assert isinstance(value.source, Var)  # noqa: S101  (memories are parameters)
    name = value.source.name
    passive = not ctx.in_kernel and any(p.name == name and p.no_diff for p in ctx.signature.params)
    return NoDiff(value, value.type, value.span) if passive and carries_gradient(value.type) else value


def _indices(ctx: Context, node: ast.Subscript, source: Var, rank: int) -> tuple[Expr, ...]:
    nodes = node.slice.elts if isinstance(node.slice, ast.Tuple) else [node.slice]
    if len(nodes) != rank:
        raise ctx.error(
            "SA025",
            ctx.span(node.slice),
            f"'{source.name}' takes {rank} {'index' if rank == 1 else 'indices'}, not {len(nodes)}",
            label=show(source.type),
            help=_usage(source),
        )
    return _places(ctx, nodes, source)


def _places(ctx: Context, nodes: Sequence[ast.expr], source: Var) -> tuple[Expr, ...]:
    lowered = ctx.exprs(nodes)
    return tuple(_place(ctx, e, ctx.span(n), source, k) for k, (e, n) in enumerate(zip(lowered, nodes, strict=True)))


def _place(ctx: Context, index: Expr, span: Span, source: Var, axis: int) -> Expr:
    """Return an index as an int; constants below 0 count from the end."""
    static = static_int(index)
    if static is not None:
        count = Const(abs(static), INT, span)
        return count if static >= 0 else Binary("-", Extent(source, axis, INT, span), count, INT, span)
    if index.type not in (INT, UINT, WEAK_INT):
        found = show(strengthen(index.type))
        raise ctx.error(
            "SA025", span, f"an index must be an int, not {found}", label=found,
            help="convert with int(…), which truncates",
        )  # fmt: skip
    index = strong(ctx, index)
    return Cast(index, INT, span) if index.type == UINT else index


def member(ctx: Context, node: ast.Attribute, source: Var) -> Expr:
    """Lower ``w.shape``, several ints, and ``t.size``, an int2: width, height."""
    span = ctx.span(node)
    if isinstance(source.type, Tensor) and node.attr == "shape":
        extents = tuple(Extent(source, axis, INT, span) for axis in range(source.type.rank))
        return Construct(extents, Tuple((INT,) * source.type.rank), span)
    if isinstance(source.type, Texture) and node.attr == "size":
        return Construct((Extent(source, 1, INT, span), Extent(source, 0, INT, span)), Vector(INT, 2), span)
    raise _unknown(ctx, node, source)


def _unknown(ctx: Context, node: ast.Attribute, source: Var) -> Rejected:
    texture = isinstance(source.type, Texture)
    known = ["sample", "load", "size"] if texture else ["shape"]
    shown = ".sample(uv), .load(row, column) and .size" if texture else ".shape"
    at = ctx.locations.after(node.value, len(node.attr))
    if node.attr in known:
        return ctx.error("SA026", at, f"'{node.attr}' must be called", help=f"a {show(source.type)} has {shown}")
    return ctx.error(
        "SA011", at, f"{show(source.type)} has no '{node.attr}'",
        help=did_you_mean(node.attr, known) or f"it has {shown}",
    )  # fmt: skip


def method(ctx: Context, node: ast.Call, func: ast.Attribute, source: Var) -> Expr:
    """Lower ``t.sample(uv)`` and ``t.load(row, column)``."""
    at = ctx.locations.after(func.value, len(func.attr))
    if not isinstance(source.type, Texture) or func.attr not in _METHODS:
        if func.attr in ("shape", "size"):
            raise ctx.error("SA026", at, f"'{func.attr}' is not a method", help=f"write .{func.attr} without brackets")
        raise _unknown(ctx, func, source)
    nodes = _arguments(ctx, node, at, func.attr)
    if func.attr == "load":
        return _read(ctx, Read(source, _places(ctx, nodes, source), source.type.element, ctx.span(node)))
    uv = coerce(ctx, ctx.expr(nodes[0]), Vector(FLOAT, 2), ctx.span(nodes[0]), what="'uv'", code="SA014")
    return _read(ctx, Sample(source, uv, source.type.element, ctx.span(node)))


def _arguments(ctx: Context, node: ast.Call, at: Span, name: str) -> list[ast.expr]:
    wanted = _METHODS[name]
    given = dict(zip(wanted, node.args, strict=False))
    for keyword in node.keywords:
        if keyword.arg in wanted and keyword.arg not in given:
            given[keyword.arg] = keyword.value
    if len(given) != len(wanted) or len(node.args) + len(node.keywords) != len(wanted):
        raise ctx.error("SA015", at, f"{name} takes {' and '.join(wanted)}", help=f"write .{name}({', '.join(wanted)})")
    return [given[w] for w in wanted]


def length(ctx: Context, node: ast.expr) -> Expr | None:
    """Lower ``len(w)``, the size of the first axis; None if it is not a tensor."""
    source = memory(ctx, node)
    if source is None or not isinstance(source.type, Tensor):
        return None
    return Extent(source, 0, INT, ctx.span(node))


def argument(ctx: Context, name: str, param: Parameter, given: ast.expr) -> Expr:
    """Return the argument of a parameter that is a memory.

    Raises:
        Rejected: when the argument is another, or none.
    """
    source = memory(ctx, given)
    if source is not None and source.type == param.type:
        return source
    found = show(source.type if source is not None else strengthen(ctx.expr(given).type))
    help_ = "pass the parameter itself" if source is None else f"make the parameter of {name} a {found}"
    if isinstance(source, Var) and isinstance(source.type, Tensor) and source.type.writes:
        help_ = f"read what {name} needs and pass the values"
    raise ctx.error(
        "SA014", ctx.span(given), f"argument '{param.name}' of {name} must be {show(param.type)}, not {found}",
        label=found, help=help_,
    )  # fmt: skip
