"""The limit on nesting in a body: lowering, passes and the emitter recurse over it, and Python's stack is finite."""

from __future__ import annotations

import ast
from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from collections.abc import Sequence

    from slangad.compiler.frontends.reading.locations import SourceLocations
    from slangad.compiler.frontends.reading.problems import Problems

MAX_DEPTH: Final = 100


def is_too_deep(body: Sequence[ast.stmt], locations: SourceLocations, problems: Problems) -> bool:
    """Report nesting that is too deep for recursion over the tree. The search itself does not recurse."""
    waiting: list[tuple[ast.AST, int]] = [(stmt, 1) for stmt in body]
    while waiting:
        node, depth = waiting.pop()
        if depth > MAX_DEPTH and isinstance(node, (ast.stmt, ast.expr)):
            problems.error(
                "SA004",
                locations.span(node),
                f"this is nested more than {MAX_DEPTH} deep",
                help="compute parts of it in separate statements",
            )
            return True
        below = depth + _levels(node)
        waiting.extend((child, below) for child in ast.iter_child_nodes(node))
    return False


def _levels(node: ast.AST) -> int:
    """Return the number of levels of a node in the IR: many operands are nested two by two."""
    match node:
        case ast.BoolOp(values=operands) | ast.Call(func=ast.Name(id="max" | "min"), args=operands):
            return max(1, len(operands) - 1)
        case ast.Call(func=ast.Attribute(attr="max" | "min"), args=operands):
            return max(1, len(operands) - 1)
        case ast.Compare(ops=ops):
            return len(ops)
        case _:
            return 1
