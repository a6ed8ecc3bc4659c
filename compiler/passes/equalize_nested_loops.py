"""Give nested loops one limit, so that Slang has room for the values that reverse mode keeps.

Slang 2026.12 keeps the values that reverse mode needs, one for each iteration; for nested loops in an array of arrays.
The size of that array has the outer loop first, but its index has the inner loop first (docs/slang-notes.md). If the
limits of the loops differ, values overwrite each other or lie outside of the array, and gradients are silently wrong.
So every loop of such a nest gets the limit of the longest:

    for i in 0 .. 2: for j in 0 .. 5: body    ->    for i in 0 .. 2 limit 5: for j in 0 .. 5: body
"""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from slangad.compiler.ir.gradient_flow import is_differentiated
from slangad.compiler.ir.nodes import For
from slangad.compiler.ir.walk import blocks, map_blocks, map_functions, statements

if TYPE_CHECKING:
    from collections.abc import Iterator

    from slangad.compiler.ir.build import Block
    from slangad.compiler.ir.nodes import Function, Module, Stmt


def equalize_nested_loops(module: Module) -> Module:
    """Give the loops of each nest that Slang differentiates one limit."""
    return map_functions(module, _function)


def _function(function: Function) -> Function:
    if not is_differentiated(function) or not isinstance(function.body, tuple):
        return function
    return replace(function, body=_block(statements(function)))


def _block(body: Block) -> Block:
    return tuple(_outermost(stmt) for stmt in body)


def _outermost(stmt: Stmt) -> Stmt:
    """Return a statement that only unrolled loops contain; Slang unrolls these before it differentiates."""
    if not isinstance(stmt, For) or stmt.unroll:
        return map_blocks(stmt, _block)
    return _widened(stmt, max(_limits(stmt)))


def _limits(stmt: Stmt) -> Iterator[int]:
    if isinstance(stmt, For) and not stmt.unroll:
        yield stmt.limit
    for block in blocks(stmt):
        for inner in block:
            yield from _limits(inner)


def _widened(stmt: Stmt, limit: int) -> Stmt:
    inner = map_blocks(stmt, lambda block: tuple(_widened(s, limit) for s in block))
    return replace(inner, limit=limit) if isinstance(inner, For) and not inner.unroll else inner
