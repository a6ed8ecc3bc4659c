"""Replace ``fwd_diff`` by tangent functions where Slang differentiates it and would crash.

Slang differentiates ``fwd_diff(g)`` in reverse mode if g and its callees take numbers alone. It crashes on functions of
vectors, arrays and structs (docs/slang-notes.md).

    (fwd_diff g(pair(x, dx))).d   ->   call g_tangent(x, dx)      in a differentiated function, g takes a vector
    (fwd_diff g(pair(x, dx))).p   ->   call g(x)
    fwd_diff g(pair(x, dx))       ->   unchanged                  elsewhere
    a = fwd_diff g(…); use(a.d)   ->   a_d = call g_tangent(…); a_p = call g(…); use(a_d)

A parameter whose tangent is zero has none in ``g_tangent``: the weights of a network stay in memory.
"""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from slangad.compiler.ir import nodes as ir
from slangad.compiler.ir.build import fresh_keys, zero
from slangad.compiler.ir.calls import callees, callees_first, calls_in
from slangad.compiler.ir.gradient_flow import is_differentiated
from slangad.compiler.ir.types import DiffPair, Scalar
from slangad.compiler.ir.walk import map_children, map_exprs_of, root, statements, walk_stmts
from slangad.compiler.passes.derivatives import lower_derivatives
from slangad.compiler.passes.derivatives.split_pairs import split_pairs
from slangad.compiler.passes.derivatives.tangents import NoTangentError, Tangents

if TYPE_CHECKING:
    from collections.abc import Mapping


def expand_forward_mode(module: ir.Module) -> ir.Module:
    """Replace ``fwd_diff`` in differentiated functions; where there is no tangent function, it stays."""
    if not any(_crashing(f, {g.key: g for g in module.functions}) for f in module.functions):
        return module
    module = lower_derivatives(module)
    functions = {f.key: f for f in module.functions}
    tangents = Tangents(functions, fresh_keys(module), exact=True)
    expanded = [_function(f, _crashing(f, functions), tangents) for f in module.functions]
    return replace(module, functions=callees_first((*expanded, *tangents.made.values())))


def _crashing(function: ir.Function, functions: Mapping[str, ir.Function]) -> set[str]:
    """Return the functions whose forward mode a differentiated function takes, and Slang could not differentiate."""
    if not is_differentiated(function):
        return set()
    taken = {expr.function for expr in calls_in(function) if isinstance(expr, ir.ForwardCall)}
    return {key for key in taken if not _of_numbers(key, functions, set())}


def _of_numbers(key: str, functions: Mapping[str, ir.Function], seen: set[str]) -> bool:
    if key in seen:
        return True
    seen.add(key)
    function = functions[key]
    if not all(isinstance(p.type, Scalar) for p in function.params):
        return False
    return all(_of_numbers(callee, functions, seen) for callee in callees(function))


def _function(function: ir.Function, keys: set[str], tangents: Tangents) -> ir.Function:
    return _expanded(split_pairs(function), keys, tangents) if keys else function


def _expanded(function: ir.Function, keys: set[str], tangents: Tangents) -> ir.Function:
    zeros = _zeros(function)

    def expand(expr: ir.Expr) -> ir.Expr:
        match expr:
            case ir.Member(ir.ForwardCall(key, args), "p") if key in keys:
                return ir.Call(key, tuple(map(primal, args)), expr.type, expr.span)
            case ir.Member(ir.ForwardCall(key, args), "d") if key in keys:
                try:
                    moved = tangents.of(key, tuple(_moves(arg, zeros) for arg in args))
                except NoTangentError:
                    return map_children(expr, expand)
                changes = (tangent(arg) for arg in args if _moves(arg, zeros))
                return ir.Call(moved.key, (*map(primal, args), *changes), expr.type, expr.span)
            case _:
                return map_children(expr, expand)

    def primal(arg: ir.Expr) -> ir.Expr:
        match arg:
            case ir.MakePair(value, _):
                return expand(value)
            case _ if isinstance(arg.type, DiffPair):
                return ir.Member(expand(arg), "p", arg.type.primal, arg.span)
            case _:
                return expand(arg)

    def tangent(arg: ir.Expr) -> ir.Expr:
        if isinstance(arg, ir.MakePair):
            return expand(arg.tangent)
        assert isinstance(arg.type, DiffPair)  # noqa: S101  (the caller filters)
        return ir.Member(expand(arg), "d", arg.type.primal, arg.span)

    return map_exprs_of(function, expand)


def _moves(arg: ir.Expr, zeros: set[str]) -> bool:
    """Return True if an argument is a pair whose tangent is not known to be zero."""
    if not isinstance(arg.type, DiffPair):
        return False
    match arg:
        case ir.MakePair(_, ir.Var(name)):
            return name not in zeros
        case ir.MakePair(_, tangent):
            return not _is_zero(tangent)
        case _:
            return True


def _is_zero(value: ir.Expr) -> bool:
    """Return True if an expression is ``sa.zeros(T)`` or the number 0."""
    return value == zero(value.type)


def _zeros(function: ir.Function) -> set[str]:
    """Return the names of the locals to which nothing but zero is assigned. Passes declare locals later."""
    stores = [s for s in walk_stmts(statements(function)) if isinstance(s, (ir.Assign, ir.Let)) and s.value is not None]
    zeros: dict[str, bool] = {}
    for stmt in stores:
        target = ir.Var(stmt.name, stmt.type) if isinstance(stmt, ir.Let) else stmt.target
        whole = root(target)
        if whole is not None and stmt.value is not None:
            is_zero = isinstance(target, ir.Var) and _is_zero(stmt.value)
            zeros[whole.name] = is_zero and zeros.get(whole.name, True)
    return {name for name, is_zero in zeros.items() if is_zero} - {p.name for p in function.params}
