"""SA049: a kernel stores into an output tensor and adds to it, too.

The order of threads would decide whether an addition comes before or after the store.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from slangad.compiler.errors.diagnostics import Diagnostic
from slangad.compiler.ir import nodes as ir
from slangad.compiler.ir.walk import statements, walk_stmts

if TYPE_CHECKING:
    from collections.abc import Iterator

    from slangad.compiler.errors.spans import Span
    from slangad.compiler.frontends.reading.problems import Problems


def check_additions(function: ir.Function, problems: Problems) -> None:
    """Report the first store into each tensor that the kernel also adds to."""
    added = dict(_accesses(function, adds=True))
    for name, stored in dict(_accesses(function, adds=False)).items():
        if name in added:
            at = added[name]
            problems.add(
                Diagnostic(
                    "SA049",
                    f"'{name}' is added to elsewhere, so it can't be stored into",
                    stored,
                    "stored here",
                    "write += in both places, or use two OutTensors",
                    (f"added to at {at.file}:{at.line}:{at.column}",),
                )
            )


def _accesses(function: ir.Function, *, adds: bool) -> Iterator[tuple[str, Span]]:
    """Yield the tensors that a body stores into, or adds to, from the last statement to the first."""
    for stmt in reversed([*walk_stmts(statements(function))]):
        match stmt:
            case ir.Assign(target=ir.Read(source=ir.Var(name)), span=span) if stmt.adds is adds:
                yield name, span
            case _:
                continue
