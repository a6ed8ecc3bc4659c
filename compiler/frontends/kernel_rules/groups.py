"""SA033: a group computes together where not all of its threads come by."""

from __future__ import annotations

from typing import TYPE_CHECKING

from slangad.compiler.errors.diagnostics import Diagnostic
from slangad.compiler.ir import nodes as ir
from slangad.compiler.ir.group_operations import computes_together, declares_shared
from slangad.compiler.ir.walk import evaluated, statements, stmt_exprs
from slangad.compiler.passes.classify_accesses import conditions_of

if TYPE_CHECKING:
    from slangad.compiler.errors.spans import Span
    from slangad.compiler.frontends.reading.problems import Problems


def check_groups(kernel: ir.Kernel, function: ir.Function, problems: Problems) -> None:
    """Report operations of the group that some of its threads may not reach."""
    if not computes_together(function):
        return
    top = {id(stmt) for stmt in statements(function)}
    for stmt, under in conditions_of(kernel, function):
        fits = all(b % size == 0 for b, size in zip(under.blocks, kernel.group_size, strict=False))
        if isinstance(stmt, ir.Barrier) and not fits:
            help_ = "call it outside of the branch or loop"
            problems.add(_refusal("sa.barrier", stmt.span, f"{under.why} decides", help_))
        if isinstance(stmt, ir.Let) and declares_shared(stmt) and id(stmt) not in top:
            message, help_ = f"'{stmt.name}' is declared in a branch or loop", "declare it at the top of the kernel"
            problems.add(Diagnostic("SA033", message, stmt.span, "", help_))
        parts = [part for expr in stmt_exprs(stmt) for part in evaluated(expr)]
        for operation, certain in ((e, certain) for e, certain in parts if isinstance(e, ir.GroupOperation)):
            if certain and fits:
                continue
            why = "an operand that is evaluated under a condition" if fits else f"{under.why} decides"
            help_ = "call it before the branch or loop, and use its value there"
            problems.add(_refusal(f"sa.{operation.name}", operation.span, why, help_))


def _refusal(word: str, where: Span, why: str, help_: str) -> Diagnostic:
    return Diagnostic("SA033", f"not all threads of a group come by {word}", where, why, help_)
