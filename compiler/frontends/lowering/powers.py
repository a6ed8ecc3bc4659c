"""Integer powers of expressions: small functions that multiply, so that the base is computed once."""

from __future__ import annotations

from typing import Final

from slangad.compiler.ir import nodes as ir
from slangad.compiler.ir.types import Type, is_floating, show

_NAMES: Final = {2: "square", 3: "cube"}


def power_function(type_: Type, exponent: int) -> ir.Function:
    """Return the function for ``x ** exponent``, by repeated squaring; ``exponent`` is at least 2."""
    name = _NAMES.get(exponent, f"pow{exponent}")
    x = ir.Var("x", type_)
    steps, product = _squarings(x, exponent)
    return ir.Function(
        f"power:{exponent}:{show(type_)}",
        name,
        (ir.Param("x", type_),),
        type_,
        (*steps, ir.Return(product)),
        is_floating(type_),
    )


def _squarings(x: ir.Var, exponent: int) -> tuple[list[ir.Stmt], ir.Expr]:
    if exponent <= 3:
        product: ir.Expr = x
        for _ in range(exponent - 1):
            product = ir.Binary("*", product, x, x.type)
        return [], product
    steps: list[ir.Stmt] = []
    square, reached = x, 1
    result: ir.Expr | None = x if exponent & 1 else None
    while reached * 2 <= exponent:
        reached *= 2
        name = ir.Var(f"x{reached}", x.type)
        steps.append(ir.Assign(name, ir.Binary("*", square, square, x.type)))
        square = name
        if exponent & reached:
            result = square if result is None else ir.Binary("*", result, square, x.type)
    return steps, result or square
