"""Let one group add up the gradients of each block of the domain, where blocks have elements of their own.

    buffer fit.coeffs: tensor<float, 3> together   ->   buffer fit.coeffs: tensor<float, 3> block of (16, 16)
        coeffs[i // 16, j // 16, k]                         a group has a block of 16 x 16 at a time

No other group adds to these elements: a thread of the group adds the sum to the gradient, without atomics. Where blocks
are single threads (``w[8 * i + k]``), each thread does so by itself, as with all elements that it has alone.
``disjoint_elements`` has the proof.

Kernels that multiply matrices in groups keep their ways. Kernels in which other tensors add up in tiles have no blocks
of several threads: a group may run a loop for such a tile.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Final

from slangad.compiler.ir import nodes as ir
from slangad.compiler.ir.types import FLOAT, HALF, Tensor, count_scalars
from slangad.compiler.passes.disjoint_elements import disjoint_elements

if TYPE_CHECKING:
    from collections.abc import Iterator

_MOST_SCALARS: Final = 64
"""Scalars of a block. A thread has a sum of each. More: threads need more registers."""
_MOST_ELEMENTS: Final = 1024
"""Elements of the domain in a block: four for each thread of a group. More: there are fewer groups at work."""
_IN_ANY_ORDER: Final = (ir.Accumulation.TOGETHER, ir.Accumulation.SCATTER)


def sum_blocks(module: ir.Module) -> ir.Module:
    """Return the module with the tensors whose gradients are sums of blocks, and why those of others are not."""
    made = {buffer.key: buffer for kernel in module.kernels for buffer in _of_kernel(module, kernel)}
    return replace(module, buffers=tuple(made.get(b.key, b) for b in module.buffers)) if made else module


@dataclass(frozen=True, slots=True)
class _Tensor:
    """A tensor of which blocks may have elements of their own; or ``why`` they do not, or can't use it."""

    buffer: ir.Buffer
    blocks: tuple[int, ...] = ()
    axes: tuple[ir.BlockAxis, ...] = ()
    why: str = ""

    @property
    def is_of_thread(self) -> bool:
        """Return True if the blocks are single threads."""
        return math.prod(self.blocks) == 1

    def made(self) -> ir.Buffer:
        """Return the buffer with its way."""
        buffer = self.buffer
        if self.why:
            return replace(buffer, why=f"{buffer.why}; not block: {self.why}")
        if self.is_of_thread:
            return replace(buffer, accumulation=ir.Accumulation.OWN, why="")
        return replace(buffer, accumulation=ir.Accumulation.BLOCK, why="", block=self.blocks, block_axes=self.axes)


def _of_kernel(module: ir.Module, kernel: ir.Kernel) -> Iterator[ir.Buffer]:
    """Yield the tensors of a kernel that change."""
    buffers = [b for b in module.buffers if b.kernel == kernel.name]
    together = any(b.accumulation.is_matrix for b in buffers) or kernel.in_step
    found = [t for b in buffers if _may_change(b) and (t := _tensor(module, kernel, b, together=together))]
    blocks = next((t.blocks for t in found if not t.why and not t.is_of_thread), ())
    alike = {t.buffer.key for t in found if not t.why and t.blocks == blocks}
    others = any(b.accumulation is ir.Accumulation.TOGETHER and b.key not in alike for b in buffers)
    for tensor in found:
        if tensor.why or tensor.is_of_thread:
            yield tensor.made()
        elif tensor.blocks != blocks:
            yield replace(tensor, why=f"another tensor has blocks of {_shown(blocks)}").made()
        else:
            yield replace(tensor, why="tiles add up another tensor together" if others else "").made()


def _may_change(buffer: ir.Buffer) -> bool:
    """Return True for a tensor of floats or halfs that threads read, and to whose gradient they add in any order."""
    type_ = buffer.type
    if buffer.accumulation not in _IN_ANY_ORDER or buffer.added or not isinstance(type_, Tensor) or type_.writes:
        return False
    return {*count_scalars(type_.element)} <= {FLOAT, HALF}


def _tensor(module: ir.Module, kernel: ir.Kernel, buffer: ir.Buffer, *, together: bool) -> _Tensor | None:
    """Return what is known of a tensor; nothing if it is not indexed by blocks of several threads."""
    found = disjoint_elements(module, kernel, buffer.key)
    if isinstance(found, str):
        return _Tensor(buffer, why=found) if found and buffer.accumulation is ir.Accumulation.TOGETHER else None
    elements, tile = math.prod(found.blocks), kernel.tile
    scalars = math.prod(axis.extent for axis in found.axes) * count_scalars(buffer.type.element).total()
    shown, why = _shown(found.blocks), ""
    if together:
        why = "the threads of a group compute together"
    elif elements > 1 and tile == ():
        why = "the kernel asks for rows"
    elif elements > _MOST_ELEMENTS:
        why = f"blocks of {shown} have more than {_MOST_ELEMENTS} elements"
    elif elements > 1 and scalars > _MOST_SCALARS:
        why = f"a block has {scalars} numbers of it, more than {_MOST_SCALARS}"
    elif elements > 1 and tile and any(block % extent for block, extent in zip(found.blocks, tile, strict=True)):
        why = f"a tile of {_shown(tile)} is not inside a block of {shown}"
    return _Tensor(buffer, found.blocks, found.axes, why)


def _shown(extents: tuple[int, ...]) -> str:
    return " x ".join(map(str, extents))
