"""Make products of arrays calls of functions with loops, the same that a user would write.

    y = w @ x        ->        y = mul(w, x)        fn mul(w: Array[Array[float, 3], 2], x: Array[float, 3]):
                                                        for i in 0 .. 2:
                                                            total = 0
                                                            for j in 0 .. 3:
                                                                total = total + w[i][j] * x[j]
                                                            y[i] = total

So a matrix in a large ``Param`` stays in memory, and ``find_products`` finds the product.
"""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from slangad.compiler.ir import nodes as ir
from slangad.compiler.ir.build import cast, fresh_keys, number
from slangad.compiler.ir.types import INT, Array, Type
from slangad.compiler.ir.walk import map_body_exprs, rewrite

if TYPE_CHECKING:
    from slangad.compiler.errors.spans import Span
    from slangad.compiler.ir.build import Fresh


def multiply_arrays(module: ir.Module) -> ir.Module:
    """Return the module with functions in place of its products of arrays."""
    made: dict[tuple[Type, Type], ir.Function] = {}
    keys = fresh_keys(module)

    def called(expr: ir.Expr) -> ir.Expr:
        match expr:
            case ir.Intrinsic("mul", (w, x), Array() as result):
                types = (w.type, x.type)
                if types not in made:
                    made[types] = _product(keys, w.type, x.type, result, expr.span)
                return ir.Call(made[types].key, (w, x), result, expr.span)
            case _:
                return expr

    functions = tuple(
        replace(f, body=map_body_exprs(f.body, lambda e: rewrite(e, called))) if isinstance(f.body, tuple) else f
        for f in module.functions
    )
    return replace(module, functions=(*made.values(), *functions)) if made else module


def _product(keys: Fresh, matrix: Type, vector: Type, result: Array, span: Span) -> ir.Function:
    """Return the function that multiplies; ``span`` is that of its first call."""
    assert isinstance(matrix, Array)  # noqa: S101  (the rule of the intrinsic takes no others)
    assert isinstance(matrix.element, Array)  # noqa: S101  (the same)
    w, x, y = ir.Var("w", matrix), ir.Var("x", vector), ir.Var("y", result)
    element = result.element
    i, j, total = ir.Var("i", INT), ir.Var("j", INT), ir.Var("total", element)
    entry = ir.Index(ir.Index(w, i, matrix.element), j, matrix.element.element)
    term = ir.Binary("*", cast(entry, element), ir.Index(x, j, element), element)
    body = (
        ir.Assign(total, number(0.0, element)),
        _over(span, j, matrix.element.size, ir.Assign(total, ir.Binary("+", total, term, element))),
        ir.Assign(ir.Index(y, i, element), total),
    )
    return ir.Function(
        keys.name("mul of arrays"), "mul", (ir.Param("w", matrix), ir.Param("x", vector)), result,
        (ir.Assign(y, ir.Construct((), result)), _over(span, i, matrix.size, *body), ir.Return(y)),
        doc=("The product of a matrix and a vector.",), prefer="recompute", span=span,
    )  # fmt: skip


def _over(span: Span, index: ir.Var, count: int, *body: ir.Stmt) -> ir.For:
    start, stop = ir.Const(0, INT), ir.Const(count, INT)
    return ir.For(index.name, start, stop, 1, count, bounded=False, unroll=False, body=body, span=span)
