"""Print the sums of a tensor of which every block of the domain has elements of its own.

``coeffs[i // 16, j // 16, k]`` of kernel ``fit``, with ``k`` from 0 to 7, has eight elements for a block of 16 x 16:

    fit_coeffs_begin(int2(block));                      // a group begins a block: all sums are zero
    fit_coeffs_sums[k] += d_out;                        // reverse mode of a read
    fit_coeffs_end(lane);                               // the group adds up, and adds to the gradient
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING

from slangad.compiler.emit.memory.additions import print_addition
from slangad.compiler.emit.memory.buffers import components_of

if TYPE_CHECKING:
    from collections.abc import Sequence

    from slangad.compiler.emit.text.writer import Writer
    from slangad.compiler.ir.nodes import BlockAxis, Buffer
    from slangad.compiler.ir.types import Type


@dataclass(frozen=True, slots=True)
class BlockNames:
    """Names that the functions of a block use: those of the tensor, and those of the block."""

    gradient: str
    extents: str
    at: str
    first: str
    sums: str
    begin: str
    end: str


@dataclass(frozen=True, slots=True)
class BlockSums:
    """The sums of the elements of a block; ``group`` has the threads of a group."""

    buffer: Buffer
    names: BlockNames
    group: int

    @property
    def _size(self) -> int:
        """The scalars of an element."""
        return components_of(self.buffer.type.element)

    @property
    def _count(self) -> int:
        """The scalars of a block."""
        return math.prod(axis.extent for axis in self.buffer.block_axes) * self._size

    @property
    def _rank(self) -> int:
        return len(self.buffer.block_axes)

    @property
    def _counts_blocks(self) -> bool:
        """True if the elements of a block depend on the number of blocks along an axis."""
        return any(step.across for axis in self.buffer.block_axes for step in axis.steps)

    def print_state(self, writer: Writer) -> None:
        """Print what a thread keeps for a block."""
        writer.line(f"static {_ints(self._rank)} {self.names.first}; // the first element of the group's block")
        writer.line(f"static sa.Sum {self.names.sums}[{self._count}]; // what the thread adds to those of the block")

    def print_sum(self, writer: Writer, type_: Type) -> None:
        """Print the addition of ``d_out``, of a type, to the thread's sum of an element."""
        place, firsts = "", _parts(self.names.first, self._rank)
        for name, first, axis in zip("ijkl", firsts, self.buffer.block_axes, strict=False):
            if axis.extent > 1:
                offset = f"{name} - {first}" if axis.steps or axis.low else name
                place = f"{_grouped(place)} * {axis.extent} + {offset}" if place else offset
        if place and self._size > 1:
            place = f"{self._size} * {_grouped(place)}"
        if " + " in place or self._size > 1:
            writer.line(f"int at = {place or 0};")
            place = "at"
        print_addition(writer, (self.names.sums, ""), place or "0", type_, "d_out", str)

    def print_call(self, writer: Writer, block: str, blocks: str) -> None:
        """Print the call that begins a block; ``blocks`` is how many there are along each axis."""
        ints = _ints(len(self.buffer.block))
        numbers = [block, *([blocks] if self._counts_blocks else [])]
        writer.line(f"{self.names.begin}({', '.join(f'{ints}({number})' for number in numbers)});")

    def print_functions(self, writer: Writer) -> None:
        """Print the functions that begin and end a block."""
        ints = _ints(len(self.buffer.block))
        writer.gap()
        writer.line(f"void {self.names.begin}({ints} block{f', {ints} blocks' if self._counts_blocks else ''})")
        with writer.block():
            writer.line(f"{self.names.first} = {_vector(list(map(self._first, self.buffer.block_axes)))};")
            if self._count > 1:
                writer.line(f"for (int k = 0; k < {self._count}; ++k)")
            with writer.indented(1 if self._count > 1 else 0):
                writer.line(f"{self.names.sums}[{'k' if self._count > 1 else 0}] = 0;")
        writer.gap()
        writer.comment("Adds the sums of the group to the gradient of its block: no other group does.")
        writer.line(f"void {self.names.end}(uint lane)")
        with writer.block():
            sizes = ", ".join(map(str, (self.group, min(self.group, math.prod(self.buffer.block)), self._count)))
            writer.line(f"for (uint round = 0; round < sa.block_rounds<{sizes}>(); ++round)")
            with writer.block():
                writer.line(f"sa.NumberedTotal total = sa.block_total<{sizes}>({self.names.sums}, lane, round);")
                offsets = self._offsets()
                more = f" + {_vector(offsets)}" if {*offsets} != {"0"} else ""
                writer.line(f"{_ints(self._rank)} at = {self.names.first}{more};")
                writer.line(f"if (total.which < {self._count} && {self._inside})")
                with writer.indented():
                    writer.line(f"{self.names.gradient}[{self._place}] += total.sum;")

    def _first(self, axis: BlockAxis) -> str:
        """Return the first element of a block along an axis of the tensor."""
        dims = len(self.buffer.block)
        numbers, counts = _parts("block", dims), _parts("blocks", dims)
        terms = []
        for step in reversed(axis.steps):
            factors = [str(step.times)] if step.times > 1 else []
            terms.append(" * ".join((*factors, *(counts[a] for a in step.across), numbers[step.axis])))
        if axis.low or not terms:
            terms.append(str(axis.low))
        return " + ".join(terms).replace("+ -", "- ")

    def _offsets(self) -> list[str]:
        """Return the place of the scalar with the number ``total.which`` in the block, along each axis."""
        element = f"int(total.which) / {self._size}" if self._size > 1 else "int(total.which)"
        every = inside = math.prod(axis.extent for axis in self.buffer.block_axes)
        found = []
        for axis in self.buffer.block_axes:
            before, inside = inside, inside // axis.extent
            part = f"{element} / {inside}" if inside > 1 else element
            found.append("0" if axis.extent == 1 else f"{part} % {axis.extent}" if before < every else part)
        return found

    @property
    def _inside(self) -> str:
        """The condition that the tensor has the element ``at``."""
        extents = _vector(list(map(str, self.buffer.extents)), "uint") if self.buffer.extents else self.names.extents
        return f"uint(at) < {extents}" if self._rank == 1 else f"all(uint{self._rank}(at) < {extents})"

    @property
    def _place(self) -> str:
        """The number of the scalar in the gradient."""
        at = "at" if self._rank == 1 else f"{self.names.at}({', '.join(_parts('at', self._rank))})"
        return f"{self._size} * {at} + int(total.which) % {self._size}" if self._size > 1 else at


def _ints(count: int) -> str:
    return "int" if count == 1 else f"int{count}"


def _parts(vector: str, count: int) -> list[str]:
    """Return the components of a vector, or a number itself."""
    return [vector] if count == 1 else [f"{vector}.{letter}" for letter in "xyzw"[:count]]


def _vector(parts: Sequence[str], scalar: str = "int") -> str:
    return parts[0] if len(parts) == 1 else f"{scalar}{len(parts)}({', '.join(parts)})"


def _grouped(text: str) -> str:
    return f"({text})" if " " in text else text
