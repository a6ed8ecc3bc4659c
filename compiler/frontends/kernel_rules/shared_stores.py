"""SA048: several threads of a kernel store to one element.

Only certain cases are reported: every thread reaches the store, the indices do not depend on some axis of the domain,
and the threads along that axis have different inputs.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from slangad.compiler.errors.diagnostics import Diagnostic
from slangad.compiler.frontends.kernel_rules.in_place import LocalExpressions, read_exprs
from slangad.compiler.ir import nodes as ir
from slangad.compiler.ir.walk import statements, walk, walk_stmts

if TYPE_CHECKING:
    from collections.abc import Iterator

    from slangad.compiler.frontends.reading.problems import Problems


def check_shared_stores(kernel: ir.Kernel, function: ir.Function, problems: Problems) -> None:
    """Report the first store of each tensor that is certain to hit one element from several threads."""
    body = statements(function)
    read = [node for stmt in walk_stmts(body) for expr in read_exprs(stmt) for node in walk(expr)]
    thread_axes = {node.axis for node in read if isinstance(node, ir.ThreadId)}
    if any(param.memory is ir.Memory.EACH for param in kernel.params):
        thread_axes = {*range(kernel.dims)}
    in_place = {node.source.name for node in read if isinstance(node, ir.Read) and isinstance(node.source, ir.Var)}
    left = {p.name for p in kernel.params if p.memory.is_written} - in_place
    known = LocalExpressions(kernel, function)
    for target, counters in _certain(body, known, frozenset()):
        assert isinstance(target.source, ir.Var)  # noqa: S101  (stores are into parameters)
        axes = _told_apart(target, known, counters)
        missing = None if axes is None else next((axis for axis in sorted(thread_axes) if axis not in axes), None)
        if missing is None or target.source.name not in left:
            continue
        left.discard(target.source.name)
        problems.add(_refusal(kernel, target, target.source.name, missing))


def _refusal(kernel: ir.Kernel, target: ir.Read, name: str, axis: int) -> Diagnostic:
    shown = f"sa.thread_id({axis})" if kernel.dims > 1 else "sa.thread_id()"
    return Diagnostic(
        "SA048",
        f"several threads store to one element of '{name}'",
        target.span,
        f"the same for every {shown}",
        f"make {shown} part of an index; to add up values of threads, write += or return a Sum or Mean",
    )


def _certain(
    body: tuple[ir.Stmt, ...], known: LocalExpressions, counters: frozenset[str]
) -> Iterator[tuple[ir.Read, frozenset[str]]]:
    """Yield the stores that all threads reach, with the counters of the loops around them."""
    for stmt in body:
        if any(isinstance(inner, (ir.Return, ir.Break, ir.Continue)) for inner in walk_stmts((stmt,))):
            return
        match stmt:
            case ir.Assign(target=ir.Read(source=ir.Var()) as target) if not stmt.adds:
                yield target, counters
            case ir.For(variable=name, start=start, stop=stop, body=inner) if known.is_fixed(
                known.known(start)
            ) and known.is_fixed(known.known(stop)):
                yield from _certain(inner, known, counters | {name})
            case _:
                continue


def _told_apart(target: ir.Read, known: LocalExpressions, counters: frozenset[str]) -> set[int] | None:
    """Return the axes whose ids are in the indices; None if another value may differ between threads."""
    axes: set[int] = set()
    for index in target.indices:
        for node in _leaves(known.known(index)):
            if isinstance(node, ir.ThreadId):
                axes.add(node.axis)
            elif not known.is_fixed(node) and not (isinstance(node, ir.Var) and node.name in counters):
                return None
    return axes


def _leaves(expr: ir.Expr) -> Iterator[ir.Expr]:
    if isinstance(expr, ir.Binary):
        yield from _leaves(expr.left)
        yield from _leaves(expr.right)
    else:
        yield expr
