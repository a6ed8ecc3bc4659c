"""Clips in what others call: a module goes in, one whose callers of clipped functions know no clip comes out.

Reverse mode through a clip is not linear, and what is beyond the limit says nothing of the rest. So what calls a
clipped function is checked without the clip, in both modes; the clip itself is checked where it was declared.
"""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from slangad.compiler.check.chained import is_stage
from slangad.compiler.check.intent import reaching
from slangad.compiler.ir.nodes import Call, ClipGradient, Custom, Surrogate
from slangad.compiler.ir.walk import map_body_exprs, rewrite, statements

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from slangad.compiler.ir.nodes import Derivative, Expr, Function, Module

_TWIN = " unclipped"


def without_clips(module: Module) -> tuple[Module, frozenset[str]]:
    """The module, and the names of the kernels in it whose clips are left out."""
    functions = {function.key: function for function in module.functions}
    clipping = {function.key for function in module.functions if isinstance(function.derivative, ClipGradient)}
    touched = reaching(functions, clipping)
    if any(functions[key].owner for key in touched):
        return module, frozenset()
    loose = frozenset(
        kernel.name for kernel in module.kernels if kernel.function in touched - clipping and not is_stage(kernel)
    )
    if not loose:
        return module, loose
    twins = (twin for key in functions if key in touched for twin in _twins(functions[key], functions, touched))
    kernels = (replace(k, function=k.function + _TWIN) if k.name in loose else k for k in module.kernels)
    return replace(module, functions=(*module.functions, *twins), kernels=tuple(kernels)), loose


def _twins(function: Function, functions: Mapping[str, Function], touched: set[str]) -> Iterator[Function]:
    """A function without clips, and its own derivatives as those of that."""

    def renamed(expr: Expr) -> Expr:
        if isinstance(expr, Call) and expr.function in touched:
            return replace(expr, function=expr.function + _TWIN)
        return expr

    policy: Derivative = function.derivative
    if isinstance(policy, ClipGradient):
        policy = policy.of
    if isinstance(policy, Surrogate) and policy.function in touched:
        policy = Surrogate(policy.function + _TWIN)
    key = function.key + _TWIN
    own: dict[str, Function] = {}
    if isinstance(policy, Custom):
        keys = policy.backward, policy.forward
        own = {k: functions[k] for k in keys if k is not None}
        policy = Custom(*(None if k is None else k + _TWIN for k in keys))
    body = map_body_exprs(statements(function), lambda expr: rewrite(expr, renamed))
    yield replace(function, key=key, name=f"{function.name}_unclipped", body=body, derivative=policy)
    yield from (replace(one, key=k + _TWIN, name=f"{one.name}_unclipped", of=key) for k, one in own.items())
