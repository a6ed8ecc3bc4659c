"""Rows for bools, choice, classification and bit patterns."""

# ruff: noqa: ARG005  (all functions of a row take the same arguments)

from __future__ import annotations

from slangad.compiler.ir.types import FLOAT, INT, UINT
from slangad.compiler.lang.intrinsics.model import IntrinsicRow as Row
from slangad.compiler.lang.intrinsics.rules import bits, choose, classify, reduce_bools

ROWS = (
    Row("select", ("condition", "a", "b"), choose, lambda np, condition, a, b: np.where(condition, a, b),
        "select", "a where the condition holds, else b, by component; both are evaluated.",
        partials=(
            None,
            lambda f, condition, a, b: f.where(condition, 1.0, 0.0),
            lambda f, condition, a, b: f.where(condition, 0.0, 1.0),
        ),
        typed="(condition: bool | _Bools, a: _S, b: _S | float) -> _S"),
    Row("any", ("v",), reduce_bools, lambda np, v: np.any(v, axis=-1), "any",
        "Whether any component holds.", differentiable=False,
        typed="(v: _Bools) -> bool"),
    Row("all", ("v",), reduce_bools, lambda np, v: np.all(v, axis=-1), "all",
        "Whether all components hold.", differentiable=False,
        typed="(v: _Bools) -> bool"),
    Row("isnan", ("x",), classify, lambda np, x: np.isnan(x), "isnan", "Whether x is not a number.",
        differentiable=False),
    Row("isinf", ("x",), classify, lambda np, x: np.isinf(x), "isinf", "Whether x is infinite.",
        differentiable=False),
    Row("isfinite", ("x",), classify, lambda np, x: np.isfinite(x), "isfinite",
        "Whether x is neither infinite nor not a number.", differentiable=False),
    Row("asfloat", ("x",), bits(FLOAT, ("int", "uint")), lambda np, x: x.view(np.float32), "asfloat",
        "The float with the bits of x.", differentiable=False),
    Row("asint", ("x",), bits(INT, ("float", "uint")), lambda np, x: x.view(np.int32), "asint",
        "The int with the bits of x.", differentiable=False),
    Row("asuint", ("x",), bits(UINT, ("float", "int")), lambda np, x: x.view(np.uint32), "asuint",
        "The uint with the bits of x.", differentiable=False),
)  # fmt: skip
