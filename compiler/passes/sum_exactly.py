"""Make scattered gradients independent of the order of additions, for ``--deterministic``.

    buffer fit.w: tensor<float, 1> scatter   ->   buffer fit.w: tensor<float, 1> exact

Sums over all threads are repeatable already, and so are sums of integers and the work of a single thread. The gradient
of a written element comes from the one thread that stored it. Values that threads add to an output are sums, too.
Loops that a group runs for a tile add up in their waves first, in a fixed order. docs/decisions/memory.md describes
exact sums. The driver refuses gradients of memory that a group shares (``driver.unordered_sums``).
"""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Final

from slangad.compiler.ir.nodes import Accumulation
from slangad.compiler.ir.types import Tensor, carries_gradient

if TYPE_CHECKING:
    from slangad.compiler.ir.nodes import Buffer, Module

_IN_ANY_ORDER: Final = (Accumulation.SCATTER, Accumulation.SHARED, Accumulation.TOGETHER)


def sum_exactly(module: Module) -> Module:
    """Return the module with exact sums for every gradient of a buffer that threads add to in any order."""
    return replace(module, buffers=tuple(map(_exact, module.buffers)))


def _exact(buffer: Buffer) -> Buffer:
    stored = isinstance(buffer.type, Tensor) and buffer.type.writes and not buffer.added
    whole = isinstance(buffer.type, Tensor) and not carries_gradient(buffer.type)
    if stored or whole or buffer.accumulation not in _IN_ANY_ORDER:
        return buffer
    return replace(buffer, accumulation=Accumulation.EXACT)
