"""Integer powers of expressions: small functions that multiply, so that the base is computed once."""

from __future__ import annotations

from typing import Final

from slangad.compiler.ir.nodes import Assign, Binary, Expr, Function, Param, Return, Stmt, Var
from slangad.compiler.ir.types import Type, is_floating, show

_NAMES: Final = {2: "square", 3: "cube"}


def power_function(type_: Type, exponent: int) -> Function:
    """Return the function for ``x ** exponent``, by repeated squaring; ``exponent`` is at least 2."""
    name = _NAMES.get(exponent, f"pow{exponent}")
    x = Var("x", type_)
    steps, product = _squarings(x, exponent)
    return Function(
        f"power:{exponent}:{show(type_)}",
        name,
        (Param("x", type_),),
        type_,
        (*steps, Return(product)),
        is_floating(type_),
    )


def _squarings(x: Var, exponent: int) -> tuple[list[Stmt], Expr]:
    if exponent <= 3:
        product: Expr = x
        for _ in range(exponent - 1):
            product = Binary("*", product, x, x.type)
        return [], product
    steps: list[Stmt] = []
    square, reached = x, 1
    result: Expr | None = x if exponent & 1 else None
    while reached * 2 <= exponent:
        reached *= 2
        name = Var(f"x{reached}", x.type)
        steps.append(Assign(name, Binary("*", square, square, x.type)))
        square = name
        if exponent & reached:
            result = square if result is None else Binary("*", result, square, x.type)
    return steps, result or square
