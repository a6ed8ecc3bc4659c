"""Find the kernels whose threads compute together in their group, and say how many threads that has.

    kernel softmax(x: each float) groups of 64          kernel softmax(...) in step
        largest = group group_max 0(x)            ->        largest = group group_max 64(x)

In such a kernel a group takes a block of the domain at a time, and every thread takes every turn. Blocks have the
extents of the group, which are those of a ``tile=`` without ``group_size=`` already.
"""

from __future__ import annotations

import math
from dataclasses import replace
from functools import partial

from slangad.compiler.ir import nodes as ir
from slangad.compiler.ir.types import Tensor
from slangad.compiler.ir.walk import body_exprs, map_exprs_of, rewrite, statements, walk_stmts


def size_groups(module: ir.Module) -> ir.Module:
    """Return the module with the sizes of groups in their operations, and the kernels that have any in step."""
    functions = {f.key: f for f in module.functions}
    kernels = []
    for kernel in module.kernels:
        function = functions.get(kernel.function)
        if function is None or not computes_together(function):
            kernels.append(kernel)
            continue
        size = math.prod(kernel.group_size)
        functions[function.key] = map_exprs_of(function, partial(_sized, size))
        kernels.append(replace(kernel, in_step=True, tile=()))
    if tuple(kernels) == module.kernels:
        return module
    return replace(module, kernels=tuple(kernels), functions=tuple(functions[f.key] for f in module.functions))


def computes_together(function: ir.Function) -> bool:
    """Return True if the threads of a group work together in a function."""
    body = statements(function)
    shares = any(isinstance(s, ir.Barrier) or declares_shared(s) for s in walk_stmts(body))
    return shares or any(isinstance(e, ir.GroupOperation) for e in body_exprs(body))


def declares_shared(stmt: ir.Stmt) -> bool:
    """Return True for a declaration of memory that the threads of a group share."""
    return isinstance(stmt, ir.Let) and isinstance(stmt.type, Tensor)


def _sized(size: int, expr: ir.Expr) -> ir.Expr:
    return rewrite(expr, lambda part: replace(part, size=size) if isinstance(part, ir.GroupOperation) else part)
