"""Check kernels with their helper functions: unique names of probes, in-place tensors, shared stores, additions."""

from __future__ import annotations

from typing import TYPE_CHECKING

from slangad.compiler.errors.diagnostics import Diagnostic
from slangad.compiler.frontends.kernel_rules.additions import check_additions
from slangad.compiler.frontends.kernel_rules.groups import check_groups
from slangad.compiler.frontends.kernel_rules.in_place import check_in_place
from slangad.compiler.frontends.kernel_rules.shared_stores import check_shared_stores
from slangad.compiler.ir.calls import needed_first, reached_in_order
from slangad.compiler.ir.nodes import Probe
from slangad.compiler.ir.walk import body_exprs, statements

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping

    from slangad.compiler.errors.spans import Span
    from slangad.compiler.frontends.reading.problems import Problems
    from slangad.compiler.ir.nodes import Function, Kernel


def check_kernels(functions: Mapping[str, Function], kernels: Iterable[Kernel], problems: Problems) -> None:
    """Report errors of kernels together with their helper functions."""
    for kernel in kernels:
        _check_names(kernel, functions, problems)
        check_in_place(kernel, functions[kernel.function], problems)
        check_shared_stores(kernel, functions[kernel.function], problems)
        check_additions(functions[kernel.function], problems)
        check_groups(kernel, functions[kernel.function], problems)


def _check_names(kernel: Kernel, functions: Mapping[str, Function], problems: Problems) -> None:
    first: dict[str, Span] = {}

    def needed(function: Function) -> Iterator[str]:
        return (key for key, _ in needed_first(function, functions))

    for function in reached_in_order(functions, kernel.function, needed):
        for expr in body_exprs(statements(function)):
            if not isinstance(expr, Probe):
                continue
            known = first.setdefault(expr.name, expr.span)
            if known != expr.span:
                problems.add(
                    Diagnostic(
                        "SA043",
                        f"kernel '{kernel.name}' has two probes named '{expr.name}'",
                        expr.span,
                        "the second",
                        "give each probe its own name",
                        (f"the other one is at {known.file}:{known.line}:{known.column}",),
                    )
                )
