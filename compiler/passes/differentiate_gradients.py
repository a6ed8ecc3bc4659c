"""Make gradients differentiable that are computed inside differentiated functions.

Slang cannot differentiate through ``bwd_diff(g)``. There a differentiable function computes the gradient instead: with
the body of the custom backward function of g, or by forward mode along each component.

    bwd_diff g(x, d)   ->   call g_gradient(x, d)      where gradient flows through the call
    bwd_diff g(x, d)   ->   unchanged                  elsewhere

Gradients that are not read are left out: forward mode runs once for each component.
"""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING

from slangad.compiler.ir import nodes as ir
from slangad.compiler.ir.build import fresh_keys
from slangad.compiler.ir.calls import callees_first, calls_in, value_callees
from slangad.compiler.ir.gradient_flow import Carrying, is_differentiated
from slangad.compiler.ir.types import Tuple
from slangad.compiler.ir.walk import map_children, map_exprs_of
from slangad.compiler.passes.derivatives import lower_derivatives
from slangad.compiler.passes.derivatives.derived import derived_backward
from slangad.compiler.passes.derivatives.maker import Maker
from slangad.compiler.passes.derivatives.wanted import only_wanted

if TYPE_CHECKING:
    from slangad.compiler.ir.build import Fresh


def differentiate_user_gradients(module: ir.Module) -> ir.Module:
    """Do it for the calls that users wrote, before other passes: their forward mode is expanded as written ones are."""
    if not any(
        is_differentiated(f) and any(isinstance(e, ir.BackwardCall) for e in calls_in(f)) for f in module.functions
    ):
        return module
    return differentiate_gradients(lower_derivatives(module))


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
    """The functions so far; ``made`` has gradient functions by the key of their function and what they give."""

    functions: dict[str, ir.Function]
    keys: Fresh
    made: dict[tuple[str, tuple[int, ...]], ir.Function] = field(default_factory=dict)
    woken: list[str] = field(default_factory=list)

    def gradient(self, key: str, wanted: tuple[int, ...] = ()) -> ir.Function:
        """Return the function that gives the gradient of another as a value; ``wanted`` has numbers, none for all."""
        if (key, wanted) not in self.made:
            function = _gradient_function(self.functions[key], wanted, self)
            self.made[key, wanted] = self.functions[function.key] = function
            self.woken.append(function.key)
        return self.made[key, wanted]

    def is_written(self, key: str) -> bool:
        """Return True if a user or a policy gives the gradients of a function, all in one body."""
        custom = self.functions[key].derivative
        return isinstance(custom, ir.Custom) and custom.backward is not None

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

    def some(call: ir.BackwardCall, wanted: tuple[int, ...]) -> ir.Expr | None:
        return _some(call, wanted, carrying, state)

    return map_exprs_of(only_wanted(function, some), lambda e: _expr(e, carrying, state))


def _some(
    call: ir.BackwardCall, wanted: tuple[int, ...], carrying: Carrying, state: _GradientFunctions
) -> ir.Expr | None:
    """Return a call for some gradients of another; None if its gradient is left to Slang or comes from one body."""
    if state.is_written(call.function) or not carrying.carries(call):
        return None
    made = state.gradient(call.function, wanted)
    return ir.Call(made.key, call.args, made.result, call.span)


def _expr(expr: ir.Expr, carrying: Carrying, state: _GradientFunctions) -> ir.Expr:
    match expr:
        case ir.NoDiff():
            return expr
        case ir.Member(ir.BackwardCall(type=Tuple()) as call, item) if some := _some(
            call, (int(item.removeprefix("item")),), carrying, state
        ):
            return _expr(some, carrying, state)
        case ir.BackwardCall(key, args, type_, span) if carrying.carries(expr):
            lowered = tuple(_expr(a, carrying, state) for a in args)
            return ir.Call(state.gradient(key).key, lowered, type_, span)
        case _:
            return map_children(expr, lambda e: _expr(e, carrying, state))


def _gradient_function(function: ir.Function, wanted: tuple[int, ...], state: _GradientFunctions) -> ir.Function:
    maker = Maker(function, state.keys)
    custom = function.derivative
    named = ""
    if isinstance(custom, ir.Custom) and custom.backward is not None:
        source = state.functions[custom.backward]
    else:
        some = tuple(maker.active[number] for number in wanted)
        named = "".join(f"_{p.name}" for p in some)
        source = derived_backward(maker, some or maker.active)
    seed = ir.Param(source.params[-1].name, source.params[-1].type)
    params = (*(replace(p, name=q.name) for p, q in zip(function.params, source.params, strict=False)), seed)
    return replace(
        source,
        key=state.keys.name(f"{function.key}:gradient{named}"),
        name=f"{function.name}_gradient{named}",
        params=params,
        differentiable=True,
        derivative=ir.Automatic(),
        role=ir.Role.PLAIN,
        of="",
    )


def _in_order(module: ir.Module, state: _GradientFunctions) -> tuple[ir.Function, ...]:
    """Return the functions in order. A gradient function follows its source, or precedes its first caller."""
    result: list[ir.Function] = []
    followers: dict[str, list[str]] = {}
    for (key, _), made in state.made.items():
        followers.setdefault(_source_key(state.functions[key]), []).append(made.key)
    for function in module.functions:
        keys = (function.key, *followers.get(function.key, ()))
        result += [state.functions[key] for key in keys]
    return callees_first(result)


def _source_key(function: ir.Function) -> str:
    custom = function.derivative
    return custom.backward if isinstance(custom, ir.Custom) and custom.backward else function.key
