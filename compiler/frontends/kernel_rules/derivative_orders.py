"""Refuse derivatives of derivatives that Slang cannot compile, at the outermost one.

Slang 2026.12 crashes on reverse mode of a function that takes ``bwd_diff`` itself, and on third derivatives in reverse
mode. It compiles third derivatives in forward mode only of arithmetic. A kernel's own gradient adds one order.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from slangad.compiler.errors.exhaustive import assert_never
from slangad.compiler.ir import nodes as ir
from slangad.compiler.ir.calls import AnyCall, callees, calls_in
from slangad.compiler.ir.walk import blocks, body_exprs, children, statements, stmt_exprs

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping

    from slangad.compiler.frontends.reading.problems import Problems

_MOST: Final = 2
"""The highest order of derivative that Slang compiles. A larger value lets programs through on which Slang crashes."""


def refuse_higher_orders(
    functions: Mapping[str, ir.Function], kernels: Iterable[ir.Kernel], problems: Problems
) -> None:
    """Report derivatives of derivatives that Slang crashes on."""
    taken = [e for f in functions.values() for e in calls_in(f) if not isinstance(e, ir.Call)]
    if not taken:
        return
    _refuse_nested_backward(taken, functions, problems)
    orders = _Orders(functions)
    for expr in taken:
        called = functions[expr.function]
        third = orders.of(called.key, 0) <= _MOST < orders.of(called.key, 1)
        if third and (isinstance(expr, ir.BackwardCall) or not _is_arithmetic(called.key, functions, set())):
            problems.error(
                "SA037",
                expr.span,
                f"'{called.name}' contains second derivatives",
                label="a third derivative",
                help="Slang differentiates at most twice: write one of the derivatives by hand",
            )
    for kernel in kernels:
        _refuse_kernel(functions[kernel.function], orders, problems)


def _refuse_kernel(function: ir.Function, orders: _Orders, problems: Problems) -> None:
    if not function.differentiable or not orders.of(function.key, 0) <= _MOST < orders.of(function.key, 1):
        return
    blamed = max(calls_in(function), key=lambda use: orders.of_use(use, 1))
    problems.error(
        "SA037",
        blamed.span,
        f"the gradient of kernel '{function.name}' is a third derivative",
        label="contains second derivatives",
        help=f"no_diff alone is not enough: move it to {problems.wording.not_differentiated} and call that in no_diff",
    )


def _refuse_nested_backward(
    taken: Iterable[ir.BackwardCall | ir.ForwardCall], functions: Mapping[str, ir.Function], problems: Problems
) -> None:
    for expr in taken:
        if isinstance(expr, ir.BackwardCall) and _takes_backward(expr.function, functions, set()):
            problems.error(
                "SA037",
                expr.span,
                f"'{functions[expr.function].name}' uses bwd_diff",
                label="reverse mode of reverse mode",
                help="Slang can't differentiate reverse mode in reverse: use sa.fwd_diff for the inner derivative",
            )


def _takes_backward(key: str, functions: Mapping[str, ir.Function], seen: set[str]) -> bool:
    """Return True if differentiating a function would differentiate a ``bwd_diff``; custom derivatives stop it."""
    function = functions[key]
    if key in seen or isinstance(function.derivative, ir.Custom):
        return False
    seen.add(key)
    return any(
        isinstance(expr, ir.BackwardCall)
        or (isinstance(expr, ir.Call) and _takes_backward(expr.function, functions, seen))
        for expr in _active_exprs(statements(function))
    )


def _active_exprs(body: tuple[ir.Stmt, ...]) -> Iterator[ir.Expr]:
    """Yield every expression of a body that is not inside ``no_diff``."""
    for stmt in body:
        for expr in stmt_exprs(stmt):
            yield from _active(expr)
        for block in blocks(stmt):
            yield from _active_exprs(block)


def _active(expr: ir.Expr) -> Iterator[ir.Expr]:
    if not isinstance(expr, ir.NoDiff):
        yield expr
        for child in children(expr):
            yield from _active(child)


def _is_arithmetic(key: str, functions: Mapping[str, ir.Function], seen: set[str]) -> bool:
    """Return True if a function and its callees use operators only, no function of Slang."""
    function = functions[key]
    if key in seen:
        return True
    seen.add(key)
    if function.derivative != ir.Automatic() or not isinstance(function.body, tuple):
        return False
    intrinsics = any(isinstance(expr, ir.Intrinsic) for expr in body_exprs(statements(function)))
    return not intrinsics and all(_is_arithmetic(key, functions, seen) for key in callees(function))


class _Orders:
    """The highest order of derivative that Slang needs inside a function that is differentiated some times.

    Slang differentiates all differentiable callees of a differentiable function, also inside ``no_diff``.
    """

    def __init__(self, functions: Mapping[str, ir.Function]) -> None:
        self._functions = functions
        self._known: dict[tuple[str, int], int] = {}

    def of(self, key: str, times: int) -> int:
        """Return the order reached if a function is differentiated ``times`` times; not exact above the limit."""
        if times > _MOST:
            return times
        known = self._known.get((key, times))
        if known is None:
            self._known[key, times] = times
            known = self._known[key, times] = self._of(self._functions[key], times)
        return known

    def of_use(self, use: AnyCall, times: int) -> int:
        """Return the order reached in the callees of a function that is differentiated ``times`` times."""
        if not isinstance(use, ir.Call):
            return self.of(use.function, times + 1)
        return self.of(use.function, times if self._is_differentiated(use.function) else 0)

    def _is_differentiated(self, key: str) -> bool:
        function = self._functions[key]
        return function.differentiable or function.derivative != ir.Automatic()

    def _of(self, function: ir.Function, times: int) -> int:
        if times:
            match function.derivative:
                case ir.Custom(backward=backward, forward=forward):
                    order = forward or backward
                    return self.of(order, times - 1) if order is not None else times
                case ir.FiniteDifference():
                    return max(times - 1, self._in_body(function, times - 1))
                case ir.StraightThrough():
                    return times - 1
                case ir.Surrogate(function=other) | ir.ClipGradient(of=ir.Surrogate(function=other)):
                    return self.of(other, times)
                case ir.Automatic() | ir.ClipGradient() | ir.Subgradient():
                    pass
                case _:
                    assert_never(function.derivative)
        return max(times, self._in_body(function, times))

    def _in_body(self, function: ir.Function, times: int) -> int:
        return max((self.of_use(use, times) for use in calls_in(function)), default=0)
