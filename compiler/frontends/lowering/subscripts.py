"""Parts of values: fields, swizzles, entries, rows."""

from __future__ import annotations

import ast
from typing import TYPE_CHECKING, Final

from slangad.compiler.frontends.lowering.constants import static_int
from slangad.compiler.frontends.lowering.conversions import strong
from slangad.compiler.frontends.lowering.memories import element, memory
from slangad.compiler.frontends.reading.problems import did_you_mean
from slangad.compiler.ir.nodes import Const, Construct, Expr, Extent, Index, Member, Swizzle
from slangad.compiler.ir.types import (
    INT,
    UINT,
    WEAK_INT,
    Array,
    DiffPair,
    Matrix,
    Struct,
    Tuple,
    Type,
    Vector,
    show,
    strengthen,
)

if TYPE_CHECKING:
    from slangad.compiler.frontends.lowering.context import Context

_SETS: Final = ("xyzw", "rgba")


def member(ctx: Context, node: ast.Attribute, value: Expr) -> Expr:
    """Lower ``value.name``."""
    span = ctx.locations.after(node.value, len(node.attr))
    match value.type:
        case Struct(fields=fields, name=struct):
            for field in fields:
                if field.name == node.attr and isinstance(value, Construct) and value.args:
                    return value.args[fields.index(field)]
                if field.name == node.attr:
                    return Member(value, node.attr, field.type, ctx.span(node))
            if ctx.scope.method(value.type, node.attr) is not None:
                raise ctx.error("SA026", span, f"'{node.attr}' is a method", help=f"call it: .{node.attr}(…)")
            raise ctx.error(
                "SA011",
                span,
                f"'{struct}' has no field '{node.attr}'",
                label="no such field",
                help=did_you_mean(node.attr, [f.name for f in fields]) or f"it has {', '.join(f.name for f in fields)}",
            )
        case Vector(element, size):
            components = swizzle_components(node.attr, size)
            if components is None:
                raise ctx.error(
                    "SA011",
                    span,
                    f"{show(value.type)} has no component '{node.attr}'",
                    label="no such component",
                    help=f"its components are {', '.join('xyzw'[:size])}",
                )
            if (
                isinstance(value, Construct)
                and value.args
                and isinstance(value.args[0], Extent)
                and len(components) == 1
            ):
                return value.args["xyzw".index(components)]
            type_: Type = element if len(components) == 1 else Vector(element, len(components))
            return Swizzle(value, components, type_, ctx.span(node))
        case DiffPair(primal) if node.attr in ("p", "d"):
            return Member(value, node.attr, primal, ctx.span(node))
        case other:
            note = "a differential pair has .p and .d" if isinstance(other, DiffPair) else ""
            raise ctx.error("SA011", span, f"{show(strengthen(other))} has no member '{node.attr}'", help=note)


def _are_extents(value: Construct, components: str) -> bool:
    """Return True if it is one component of a texture's size."""
    return len(components) == 1 and len(value.args) > 1 and all(isinstance(a, Extent) for a in value.args)


def swizzle_components(name: str, size: int) -> str | None:
    """Return ``xyz`` for ``rgb``; None if a vector of this size has no such swizzle."""
    if not 1 <= len(name) <= 4:
        return None
    for letters in _SETS:
        if all(c in letters[:size] for c in name):
            return "".join("xyzw"[letters.index(c)] for c in name)
    return None


def subscript(ctx: Context, node: ast.Subscript) -> Expr:
    """Lower ``value[i]``, ``matrix[i, j]`` and ``tensor[i, j]``."""
    source = memory(ctx, node.value)
    if source is not None:
        return element(ctx, node, source)
    value = ctx.expr(node.value)
    if isinstance(node.slice, ast.Tuple):
        for part in node.slice.elts:
            value = _entry(ctx, node, value, part)
        return value
    return _entry(ctx, node, value, node.slice)


def _entry(ctx: Context, node: ast.Subscript, value: Expr, index_node: ast.expr) -> Expr:
    size, element = _shape(ctx, node, value)
    index = ctx.expr(index_node)
    span = ctx.span(index_node)
    static = static_int(index)
    if static is not None:
        if not -size <= static < size:
            raise ctx.error(
                "SA025",
                span,
                f"index {static} is outside {show(value.type)}, which has {size} entries",
                label=f"0 to {size - 1}",
            )
        static = static + size if static < 0 else static
        if isinstance(value.type, Tuple) and isinstance(value, Construct):
            return value.args[static]
        if isinstance(value.type, Tuple):
            return Member(value, f"item{static}", value.type.elements[static], ctx.span(node))
        return Index(value, Const(static, INT, span), element, ctx.span(node))
    if isinstance(value.type, Tuple):
        raise ctx.error("SA025", span, "the index into several results must be a constant")
    if index.type not in (INT, UINT, WEAK_INT):
        raise ctx.error(
            "SA025",
            span,
            f"an index must be an int, not {show(strengthen(index.type))}",
            label=show(strengthen(index.type)),
            help="convert with int(…), which truncates",
        )
    index = strong(ctx, index)
    return Index(value, index, element, ctx.span(node))


def _shape(ctx: Context, node: ast.Subscript, value: Expr) -> tuple[int, Type]:
    match value.type:
        case Array(element, size):
            return size, element
        case Vector(element, size):
            return size, element
        case Matrix(element, rows, columns):
            return rows, Vector(element, columns)
        case Tuple(elements):
            return len(elements), elements[0]
        case other:
            raise ctx.error(
                "SA025",
                ctx.span(node.value),
                f"{show(strengthen(other))} can't be indexed",
                label=show(strengthen(other)),
            )
