"""Parts of values: fields, swizzles, entries, rows."""

from __future__ import annotations

import ast
from typing import TYPE_CHECKING, Final

from slangad.compiler.frontends.lowering.constants import static_int
from slangad.compiler.frontends.lowering.conversions import strong
from slangad.compiler.frontends.lowering.memories import element, memory
from slangad.compiler.frontends.reading.problems import did_you_mean
from slangad.compiler.ir import nodes as ir
from slangad.compiler.ir import types

if TYPE_CHECKING:
    from slangad.compiler.frontends.lowering.context import Context

_SETS: Final = ("xyzw", "rgba")


def member(ctx: Context, node: ast.Attribute, value: ir.Expr) -> ir.Expr:
    """Lower ``value.name``."""
    span = ctx.locations.after(node.value, len(node.attr))
    match value.type:
        case types.Struct(fields=fields, name=struct):
            for field in fields:
                if field.name == node.attr and isinstance(value, ir.Construct) and value.args:
                    return value.args[fields.index(field)]
                if field.name == node.attr:
                    return ir.Member(value, node.attr, field.type, ctx.span(node))
            if ctx.scope.method(value.type, node.attr) is not None:
                raise ctx.error("SA026", span, f"'{node.attr}' is a method", help=f"call it: .{node.attr}(…)")
            raise ctx.error(
                "SA011",
                span,
                f"'{struct}' has no field '{node.attr}'",
                label="no such field",
                help=did_you_mean(node.attr, [f.name for f in fields]) or f"it has {', '.join(f.name for f in fields)}",
            )
        case types.Vector(element, size):
            components = swizzle_components(node.attr, size)
            if components is None:
                raise ctx.error(
                    "SA011",
                    span,
                    f"{types.show(value.type)} has no component '{node.attr}'",
                    label="no such component",
                    help=f"its components are {', '.join('xyzw'[:size])}",
                )
            if (
                isinstance(value, ir.Construct)
                and value.args
                and isinstance(value.args[0], ir.Extent)
                and len(components) == 1
            ):
                return value.args["xyzw".index(components)]
            type_: types.Type = element if len(components) == 1 else types.Vector(element, len(components))
            return ir.Swizzle(value, components, type_, ctx.span(node))
        case types.DiffPair(primal) if node.attr in ("p", "d"):
            return ir.Member(value, node.attr, primal, ctx.span(node))
        case other:
            note = "a differential pair has .p and .d" if isinstance(other, types.DiffPair) else ""
            raise ctx.error(
                "SA011", span, f"{types.show(types.strengthen(other))} has no member '{node.attr}'", help=note
            )


def swizzle_components(name: str, size: int) -> str | None:
    """Return ``xyz`` for ``rgb``; None if a vector of this size has no such swizzle."""
    if not 1 <= len(name) <= 4:
        return None
    for letters in _SETS:
        if all(c in letters[:size] for c in name):
            return "".join("xyzw"[letters.index(c)] for c in name)
    return None


def _extent(ctx: Context, node: ast.Subscript) -> ir.Expr | None:
    """Return ``table.shape[k]`` of an array, a known number; None for other subscripts."""
    if not (isinstance(node.value, ast.Attribute) and node.value.attr == "shape"):
        return None
    if memory(ctx, node.value.value) is not None:
        return None
    inner: types.Type = ctx.expr(node.value.value).type
    shape: list[int] = []
    while isinstance(inner, types.Array):
        shape.append(inner.size)
        inner = inner.element
    axis = static_int(ctx.expr(node.slice))
    if not shape or axis is None:
        return None
    if not -len(shape) <= axis < len(shape):
        raise ctx.error("SA015", ctx.span(node.slice), f"there is no axis {axis}: it has {len(shape)}")
    return ir.Const(shape[axis], types.WEAK_INT, ctx.span(node))


def subscript(ctx: Context, node: ast.Subscript) -> ir.Expr:
    """Lower ``value[i]``, ``matrix[i, j]`` and ``tensor[i, j]``."""
    source = memory(ctx, node.value)
    if source is not None:
        return element(ctx, node, source)
    extent = _extent(ctx, node)
    if extent is not None:
        return extent
    value = ctx.expr(node.value)
    if isinstance(node.slice, ast.Tuple):
        for part in node.slice.elts:
            value = _entry(ctx, node, value, part)
        return value
    return _entry(ctx, node, value, node.slice)


def _entry(ctx: Context, node: ast.Subscript, value: ir.Expr, index_node: ast.expr) -> ir.Expr:
    size, element = _shape(ctx, node, value)
    index = ctx.expr(index_node)
    span = ctx.span(index_node)
    static = static_int(index)
    if static is not None:
        if not -size <= static < size:
            raise ctx.error(
                "SA025",
                span,
                f"index {static} is outside {types.show(value.type)}, which has {size} entries",
                label=f"0 to {size - 1}",
            )
        formula = index.formula if isinstance(index, ir.Const) and static >= 0 else None
        static %= size
        if isinstance(value.type, types.Tuple) and isinstance(value, ir.Construct):
            return value.args[static]
        if isinstance(value.type, types.Tuple):
            return ir.Member(value, f"item{static}", value.type.elements[static], ctx.span(node))
        return ir.Index(value, ir.Const(static, types.INT, span, formula), element, ctx.span(node))
    if isinstance(value.type, types.Tuple):
        first = types.show(types.strengthen(value.type.elements[0]))
        raise ctx.error(
            "SA025",
            span,
            "the index into a tuple must be a constant",
            help=f"an Array[{first}, {size}](…) takes any int, and so does a tuple that is a constant of the file",
        )
    if index.type not in (types.INT, types.UINT, types.WEAK_INT):
        raise ctx.error(
            "SA025",
            span,
            f"an index must be an int, not {types.show(types.strengthen(index.type))}",
            label=types.show(types.strengthen(index.type)),
            help="convert with int(…), which truncates",
        )
    index = strong(ctx, index)
    return ir.Index(value, index, element, ctx.span(node))


def _shape(ctx: Context, node: ast.Subscript, value: ir.Expr) -> tuple[int, types.Type]:
    match value.type:
        case types.Array(element, size):
            return size, element
        case types.Vector(element, size):
            return size, element
        case types.Matrix(element, rows, columns):
            return rows, types.Vector(element, columns)
        case types.Tuple(elements):
            return len(elements), elements[0]
        case other:
            raise ctx.error(
                "SA025",
                ctx.span(node.value),
                f"{types.show(types.strengthen(other))} can't be indexed",
                label=types.show(types.strengthen(other)),
            )
