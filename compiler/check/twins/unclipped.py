"""Make twins of callers of clipped functions, without the clip.

Reverse mode through a clip is not linear, and a clipped gradient says nothing about the rest. So callers of a clipped
function, pipelines included, are checked without the clip in both modes. The clip is checked at its own function.
"""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from slangad.compiler.check.model.names import STANDING, TWIN
from slangad.compiler.check.twins.declared import reaching
from slangad.compiler.ir import nodes as ir
from slangad.compiler.ir.calls import policy_of
from slangad.compiler.ir.walk import map_exprs_of, rewrite

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping


def without_clips(module: ir.Module) -> tuple[ir.Module, frozenset[str]]:
    """Return the module, and the names of the kernels in it without clips."""
    functions = {function.key: function for function in module.functions}
    clipping = {function.key for function in module.functions if isinstance(function.derivative, ir.ClipGradient)}
    touched = reaching(functions, clipping)
    standing = {f"{STANDING}{key}" for key in clipping}
    loose = frozenset(k.name for k in module.kernels if k.function in touched - clipping - standing)
    if not loose:
        return module, loose
    twins = (twin for key in functions if key in touched for twin in _twins(functions[key], functions, touched))
    kernels = (replace(k, function=k.function + TWIN) if k.name in loose else k for k in module.kernels)
    return replace(module, functions=(*module.functions, *twins), kernels=tuple(kernels)), loose


def _twins(function: ir.Function, functions: Mapping[str, ir.Function], touched: set[str]) -> Iterator[ir.Function]:
    """Yield a function without clips, and its custom derivatives as those of that function."""

    def renamed(expr: ir.Expr) -> ir.Expr:
        if isinstance(expr, ir.Call) and expr.function in touched:
            return replace(expr, function=expr.function + TWIN)
        return expr

    policy = policy_of(function)
    if isinstance(policy, ir.Surrogate) and policy.function in touched:
        policy = ir.Surrogate(policy.function + TWIN)
    key = function.key + TWIN
    custom: dict[str, ir.Function] = {}
    if isinstance(policy, ir.Custom):
        keys = policy.backward, policy.forward
        custom = {k: functions[k] for k in keys if k is not None}
        policy = ir.Custom(*(None if k is None else k + TWIN for k in keys))
    made = map_exprs_of(function, lambda expr: rewrite(expr, renamed))
    yield replace(_free(made), key=key, derivative=policy)
    yield from (replace(_free(one), key=k + TWIN, of=key) for k, one in custom.items())


def _free(function: ir.Function) -> ir.Function:
    """Return a function with a unique name outside of structs."""
    owner = f"{function.owner.rpartition('.')[2]}_" if function.owner else ""
    return replace(function, name=f"{owner}{function.name}_unclipped", owner="", static=False)
