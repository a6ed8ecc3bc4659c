"""Let one group add up the gradients of each block of the domain, where blocks have elements of their own.

    buffer fit.coeffs: tensor<float, 3> together   ->   buffer fit.coeffs: tensor<float, 3> block
        coeffs[i // 16, j // 16, k]                         a group has a block of 16 x 16 at a time

No other group adds to these elements: a thread of the group adds the sum to the gradient, without atomics. Where blocks
are single threads (``w[8 * i + k]``), each thread does so by itself, as with all elements that it has alone.
``disjoint_elements`` has the proof.

Kernels stay as they are if they multiply matrices in groups, or if other tensors add up in tiles: their loops may then
be run for a whole tile.
"""

from __future__ import annotations

import math
from dataclasses import replace
from typing import TYPE_CHECKING, Final

from slangad.compiler.ir import nodes as ir
from slangad.compiler.ir.types import FLOAT, HALF, Tensor, count_scalars
from slangad.compiler.passes.disjoint_elements import Disjoint, count_of, disjoint_elements

if TYPE_CHECKING:
    from collections.abc import Iterator

_MOST_SCALARS: Final = 64
"""Scalars of a block. A thread has a sum of each. More: threads need more registers."""
_MOST_ELEMENTS: Final = 1024
"""Elements of the domain in a block: four for each thread of a group. More: there are fewer groups at work."""
_IN_ANY_ORDER: Final = (ir.Accumulation.TOGETHER, ir.Accumulation.SCATTER)


def sum_blocks(module: ir.Module) -> ir.Module:
    """Return the module with the tensors whose gradients are sums of blocks."""
    made = {buffer.key: buffer for kernel in module.kernels for buffer in _of_kernel(module, kernel)}
    if not made:
        return module
    return replace(module, buffers=tuple(made.get(buffer.key, buffer) for buffer in module.buffers))


def _of_kernel(module: ir.Module, kernel: ir.Kernel) -> Iterator[ir.Buffer]:
    """Yield the tensors of a kernel that change."""
    buffers = [b for b in module.buffers if b.kernel == kernel.name]
    if kernel.in_step or any(b.accumulation.is_matrix for b in buffers):
        return
    found = {b.key: (b, d) for b in buffers if (d := _disjoint(module, kernel, b)) is not None}
    for buffer, disjoint in found.values():
        if math.prod(disjoint.blocks) == 1:
            yield replace(buffer, accumulation=ir.Accumulation.OWN, why="")
    shared = {key: (b, d) for key, (b, d) in found.items() if math.prod(d.blocks) > 1}
    blocks = next((d.blocks for _, d in shared.values()), ())
    alike = {key: pair for key, pair in shared.items() if pair[1].blocks == blocks}
    if any(b.accumulation is ir.Accumulation.TOGETHER and b.key not in alike for b in buffers):
        return
    if not all(block % extent == 0 for block, extent in zip(blocks, kernel.tile or blocks, strict=True)):
        return
    for buffer, disjoint in alike.values():
        yield replace(
            buffer, accumulation=ir.Accumulation.BLOCK, why="", block=blocks, block_axes=disjoint.axes
        )


def _disjoint(module: ir.Module, kernel: ir.Kernel, buffer: ir.Buffer) -> Disjoint | None:
    """Return the elements of a tensor that blocks have for themselves, if groups can add them up."""
    type_ = buffer.type
    if buffer.accumulation not in _IN_ANY_ORDER or buffer.added or not isinstance(type_, Tensor) or type_.writes:
        return None
    scalars = count_scalars(type_.element)
    if not {*scalars} <= {FLOAT, HALF}:
        return None
    found = disjoint_elements(module, kernel, buffer.key)
    if isinstance(found, str) or math.prod(found.blocks) > _MOST_ELEMENTS:
        return None
    if math.prod(found.blocks) > 1 and (kernel.tile == () or count_of(found.axes) * scalars.total() > _MOST_SCALARS):
        return None
    return found
