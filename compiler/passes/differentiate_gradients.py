"""Make gradients differentiable that are computed inside differentiated functions.

Slang cannot differentiate through ``bwd_diff(g)``. There a differentiable function computes the gradient instead: with
the body of the custom backward function of g, or by forward mode along each component.

    bwd_diff g(x, d)   ->   call g_gradient(x, d)      where gradient flows through the call
    bwd_diff g(x, d)   ->   unchanged                  elsewhere
"""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING

from slangad.compiler.ir import nodes as ir
from slangad.compiler.ir.build import fresh_keys
from slangad.compiler.ir.calls import callees_first, calls_in, value_callees
from slangad.compiler.ir.gradient_flow import Carrying, is_differentiated
from slangad.compiler.ir.walk import map_children, map_exprs_of
from slangad.compiler.passes.derivatives.derived import derived_backward
from slangad.compiler.passes.derivatives.maker import Maker

if TYPE_CHECKING:
    from slangad.compiler.ir.build import Fresh


def differentiate_gradients(module: ir.Module) -> ir.Module:
    """Make gradients inside differentiated functions differentiable."""
    state = _GradientFunctions({f.key: f for f in module.functions}, fresh_keys(module))
    waiting = [f.key for f in module.functions if is_differentiated(f)]
    while waiting:
        key = waiting.pop()
        state.functions[key] = _function(state.functions[key], state)
        waiting += state.woken
        state.woken.clear()
    return replace(module, functions=_in_order(module, state))


@dataclass(slots=True)
class _GradientFunctions:
    """The functions so far; ``made`` has the gradient function of each function by the key of the latter."""

    functions: dict[str, ir.Function]
    keys: Fresh
    made: dict[str, ir.Function] = field(default_factory=dict)
    woken: list[str] = field(default_factory=list)

    def gradient(self, key: str) -> ir.Function:
        """Return the function that gives the gradient of another as a value."""
        if key not in self.made:
            function = _gradient_function(self.functions[key], self)
            self.made[key] = self.functions[function.key] = function
            self.woken.append(function.key)
        return self.made[key]

    def differentiate(self, key: str, seen: set[str]) -> None:
        """Make the custom forward derivative of a function differentiable; if it has none, those of its callees."""
        function = self.functions[key]
        seen.add(key)
        if not isinstance(function.derivative, ir.Custom):
            for callee in sorted({*value_callees(function)} - seen):
                self.differentiate(callee, seen)
        elif function.derivative.forward is not None:
            forward = self.functions[function.derivative.forward]
            if not forward.differentiable:
                self.functions[forward.key] = replace(forward, differentiable=True)
                self.woken.append(forward.key)


def _function(function: ir.Function, state: _GradientFunctions) -> ir.Function:
    if not isinstance(function.body, tuple):
        return function
    carrying = Carrying(function, state.functions)
    for expr in calls_in(function):
        if isinstance(expr, ir.ForwardCall):
            state.differentiate(expr.function, set())
    return map_exprs_of(function, lambda e: _expr(e, carrying, state))


def _expr(expr: ir.Expr, carrying: Carrying, state: _GradientFunctions) -> ir.Expr:
    match expr:
        case ir.NoDiff():
            return expr
        case ir.BackwardCall(key, args, type_, span) if carrying.carries(expr):
            lowered = tuple(_expr(a, carrying, state) for a in args)
            return ir.Call(state.gradient(key).key, lowered, type_, span)
        case _:
            return map_children(expr, lambda e: _expr(e, carrying, state))


def _gradient_function(function: ir.Function, state: _GradientFunctions) -> ir.Function:
    maker = Maker(function, state.keys)
    custom = function.derivative
    if isinstance(custom, ir.Custom) and custom.backward is not None:
        source = state.functions[custom.backward]
    else:
        source = derived_backward(maker)
    seed = ir.Param(source.params[-1].name, source.params[-1].type)
    params = (*(replace(p, name=q.name) for p, q in zip(function.params, source.params, strict=False)), seed)
    return replace(
        source,
        key=state.keys.name(f"{function.key}:gradient"),
        name=f"{function.name}_gradient",
        params=params,
        differentiable=True,
        derivative=ir.Automatic(),
        role=ir.Role.PLAIN,
        of="",
    )


def _in_order(module: ir.Module, state: _GradientFunctions) -> tuple[ir.Function, ...]:
    """Return the functions in order. A gradient function follows its source, or precedes its first caller."""
    result: list[ir.Function] = []
    sources = {_source_key(state.functions[key]): f for key, f in state.made.items()}
    for function in module.functions:
        result.append(state.functions[function.key])
        if function.key in sources:
            result.append(state.functions[sources[function.key].key])
    return callees_first(result)


def _source_key(function: ir.Function) -> str:
    custom = function.derivative
    return custom.backward if isinstance(custom, ir.Custom) and custom.backward else function.key
