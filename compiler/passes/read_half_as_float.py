"""Read elements of half as float where they are converted at once, so that their cotangents are float.

    float(w[i, j]) * x        ->   w[i, j]::float * x
    float2(table[k])               table[k]::float2
    float(v[i].x)                  v[i]::float2.x
    w[i] * w[j]                    unchanged: halfs

The cotangent of a half is a half. A thread's part of a mean over 2^18 elements is below the normal range of half, and
loses digits or becomes zero before it is added up. The derivative of a read as float adds a float to the gradient,
whose sums are float. The values are the same: a half converts to float without rounding.
"""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from slangad.compiler.ir import nodes as ir
from slangad.compiler.ir.types import Tensor, half_as_float, is_floating
from slangad.compiler.ir.walk import map_exprs_of, map_functions, rewrite

if TYPE_CHECKING:
    from collections.abc import Container


def read_half_as_float(module: ir.Module) -> ir.Module:
    """Return the module with reads of type float in place of conversions of reads."""
    halfs = {b.key for b in module.buffers if _is_half(b)}
    if not halfs:
        return module
    return map_functions(module, lambda f: map_exprs_of(f, lambda e: rewrite(e, lambda x: _converted(x, halfs))))


def _is_half(buffer: ir.Buffer) -> bool:
    """Return True for a tensor of halfs that gets a gradient and is only read."""
    if buffer.no_diff or not isinstance(buffer.type, Tensor) or buffer.type.writes:
        return False
    return half_as_float(buffer.type.element) != buffer.type.element


def _converted(expr: ir.Expr, halfs: Container[str]) -> ir.Expr:
    """Return a conversion of an element, or of a part of one, as a read of type float."""
    if not isinstance(expr, ir.Cast) or not is_floating(expr.type):
        return expr
    read = _as_float(expr.operand, halfs)
    if read is None:
        return expr
    return read if read.type == expr.type else replace(expr, operand=read)


def _as_float(expr: ir.Expr, halfs: Container[str]) -> ir.Expr | None:
    """Return an element, or a part of one, from a read of type float; None for other expressions."""
    match expr:
        case ir.Read(source=ir.Var(key), type=type_) if key in halfs:
            return replace(expr, type=half_as_float(type_))
        case ir.Index(value=value) | ir.Swizzle(value=value):
            read = _as_float(value, halfs)
            return replace(expr, value=read, type=half_as_float(expr.type)) if read else None
        case _:
            return None
