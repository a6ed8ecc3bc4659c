"""Mark every end of a gradient with ``no_diff``, and refuse ends that the user did not ask for.

In a differentiated function, where ``table`` is not differentiable:

    table(x)                x carries gradient    ->  SA301
    table(k)                k carries none        ->  no_diff(table(k))
    no_diff(x * table(x))                         ->  no_diff(x * no_diff(table(x)))
    float3(k, k, 1.0)       k carries none        ->  no_diff(float3(k, k, 1.0))
    float3(k, x, x)         k is a parameter      ->  float3(no_diff(k), x, x)
    v = k; v.x = e          k carries none        ->  v = no_diff(k); v.x = e

Without the marks of the last three, reverse mode fails or the compiler crashes (docs/slang-notes.md). Elsewhere
``no_diff(x)`` is just ``x``: Slang allows it only where something is differentiated.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from slangad.compiler.errors.diagnostics import CompileError, Diagnostic
from slangad.compiler.ir import nodes as ir
from slangad.compiler.ir import types
from slangad.compiler.ir.gradient_flow import Carrying, is_differentiated, stops_gradient
from slangad.compiler.ir.walk import (
    children,
    map_blocks,
    map_children,
    map_exprs_of,
    map_functions,
    rewrite,
    root,
    statements,
    walk_stmts,
)

if TYPE_CHECKING:
    from collections.abc import Mapping


def mark_no_diff(module: ir.Module) -> ir.Module:
    """Wrap calls of functions that are not differentiated; parameters of kernels follow their memory.

    Raises:
        CompileError: when a gradient would end silently.
    """
    module = mark_kernel_params(module)
    functions = {f.key: f for f in module.functions}
    problems: list[Diagnostic] = []
    module = map_functions(module, lambda f: _function(f, functions, problems))
    if problems:
        raise CompileError(problems)
    return module


def mark_kernel_params(module: ir.Module) -> ir.Module:
    """Mark parameters in ``Uniform`` memory or with ``NoDiff``: they carry no gradient in the kernel's function."""
    passive = {
        k.function: {p.name for p in k.params if p.no_diff or p.memory is ir.Memory.UNIFORM} for k in module.kernels
    }
    return map_functions(
        module,
        lambda f: (
            replace(f, params=tuple(replace(p, no_diff=p.no_diff or p.name in passive[f.key]) for p in f.params))
            if f.key in passive
            else f
        ),
    )


def _function(function: ir.Function, functions: Mapping[str, ir.Function], problems: list[Diagnostic]) -> ir.Function:
    if not is_differentiated(function):
        return map_exprs_of(function, lambda e: rewrite(e, _without_no_diff))
    carrying = Carrying(function, functions)
    parts = {owner.name for stmt in walk_stmts(statements(function)) if (owner := _partly_stored(stmt))}
    passive = any(p.no_diff and types.carries_gradient(p.type) for p in function.params)
    function = map_exprs_of(function, _Marker(functions, carrying, problems, passive).mark)
    if not parts or not isinstance(function.body, tuple):
        return function
    return replace(function, body=_copied(function.body, parts, carrying))


def _partly_stored(stmt: ir.Stmt) -> ir.Var | None:
    """Return the local in a part of which a statement stores."""
    return root(stmt.target) if isinstance(stmt, ir.Assign) and not isinstance(stmt.target, ir.Var) else None


def _copied(body: tuple[ir.Stmt, ...], parts: set[str], carrying: Carrying) -> tuple[ir.Stmt, ...]:
    """Return a body with marks at values without gradient that a local starts as, and then changes in part."""
    done: list[ir.Stmt] = []
    for stmt in body:
        match stmt:
            case ir.Assign(target=ir.Var(name), value=ir.Var() as value) if (
                name in parts and types.carries_gradient(value.type) and not carrying.carries(value)
            ):
                done.append(replace(stmt, value=ir.NoDiff(value, value.type, value.span)))
            case _:
                done.append(map_blocks(stmt, lambda block: _copied(block, parts, carrying)))
    return tuple(done)


def _without_no_diff(expr: ir.Expr) -> ir.Expr:
    return expr.value if isinstance(expr, ir.NoDiff) else expr


@dataclass(frozen=True, slots=True)
class _Marker:
    """Wraps the calls of one function."""

    functions: Mapping[str, ir.Function]
    carrying: Carrying
    problems: list[Diagnostic]
    takes_passive: bool

    def mark(self, expr: ir.Expr) -> ir.Expr:
        """Return the expression with every call that ends a gradient wrapped."""
        return self._mark(expr, ended=False)

    def _mark(self, expr: ir.Expr, *, ended: bool) -> ir.Expr:
        """Return the expression with marks. ``ended`` is True if an outer ``no_diff`` ends every gradient."""
        if isinstance(expr, ir.NoDiff):
            value = self._mark(expr.value, ended=True)
            return value if isinstance(value, ir.NoDiff) else replace(expr, value=value)
        marked = map_children(expr, lambda e: self._mark(e, ended=ended))
        match marked:
            case ir.Call(function=key) if stops_gradient(self.functions[key]):
                if not ended:
                    self._check(expr, self.functions[key])
                return ir.NoDiff(marked, marked.type, marked.span) if _needs_mark(marked) else marked
            case ir.BackwardCall():
                return ir.NoDiff(marked, marked.type, marked.span)
            case ir.Construct(args=args) if not ended and _is_mixed(args) and not self.carrying.carries(marked):
                return ir.NoDiff(marked, marked.type, marked.span)
            case ir.Construct(args=args, type=types.Vector()) if not ended and self.carrying.carries(marked):
                return replace(marked, args=tuple(map(self._ended, args)))
            case _:
                return marked

    def _ended(self, part: ir.Expr) -> ir.Expr:
        """Return a part of a vector with gradient; marked if it is a local without."""
        passive = self.takes_passive and isinstance(part, ir.Var) and types.is_floating(part.type)
        return ir.NoDiff(part, part.type, part.span) if passive and not self.carrying.carries(part) else part

    def _check(self, call: ir.Expr, callee: ir.Function) -> None:
        if not isinstance(call, ir.Call) or not types.carries_gradient(call.type):
            return
        lost = next((arg for arg in call.args if self.carrying.carries(arg)), None)
        if lost is not None or callee.reads:
            self.problems.append(
                Diagnostic(
                    "SA301",
                    f"the gradient is lost here: '{callee.name}' is not differentiated",
                    call.span,
                    label="not differentiated",
                    help="if this is intended, wrap the call in sa.no_diff(...); else decorate the function with "
                    "@sa.differentiable, or give it a derivative=",
                )
            )


def _is_mixed(args: tuple[ir.Expr, ...]) -> bool:
    """Return True if parts are values and constants. Without gradient, Slang's reverse mode fails on that."""
    constant = [_is_constant(arg) for arg in args]
    return any(constant) and not all(constant) and all(types.is_floating(arg.type) for arg in args)


def _is_constant(expr: ir.Expr) -> bool:
    """Return True if the Slang compiler knows the value."""
    if isinstance(expr, (ir.Const, ir.ConstantRef)):
        return True
    return isinstance(expr, (ir.Construct, ir.Unary, ir.Binary, ir.Cast)) and all(
        _is_constant(child) for child in children(expr)
    )


def _needs_mark(call: ir.Call) -> bool:
    """Return True if Slang requires ``no_diff``: if a floating-point argument is not a literal."""
    return any(not isinstance(arg, ir.Const) and _floats(arg.type) for arg in call.args)


def _floats(type_: types.Type) -> bool:
    match type_:
        case types.Array(element=element):
            return _floats(element)
        case types.Struct(fields=fields):
            return any(_floats(f.type) for f in fields)
        case types.DiffPair(primal):
            return _floats(primal)
        case _:
            return types.is_floating(type_)
