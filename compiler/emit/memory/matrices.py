"""Print products with a matrix in memory, and the sums of its gradient that the threads of a group hold together.

A tensor ``w`` of kernel ``fit`` whose uses are all products becomes ``fit_w_times(x)``, with derivatives of its own:
``times_transposed`` for ``x``, ``add_outer`` for ``w`` (templates/slangad_linear.slang).
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final, NamedTuple

from slangad.compiler.emit.model import Mode, summing_group
from slangad.compiler.ir.types import FLOAT, Array

if TYPE_CHECKING:
    from slangad.compiler.emit.text.types import TypeSpeller
    from slangad.compiler.emit.text.writer import Writer
    from slangad.compiler.ir.nodes import Buffer, Kernel

_MOST_BLOCKS: Final = 16
"""Blocks of four entries. A thread keeps this many of a vector in registers at a time."""


class MatrixNames(NamedTuple):
    """Names in Slang: values, tangents, what a thread holds, the product, and the type that reaches what is held."""

    values: str
    tangent: str
    sums: str
    times: str
    holder: str


@dataclass(frozen=True, slots=True)
class MatrixSums:
    """The matrices of one tensor, and what a thread holds of their gradients.

    Attributes:
        names: The names of its parts.
        rows: The rows of a matrix.
        columns: Its columns.
        before: The extents of the axes before the matrix.
        group: The threads of a group.
    """

    names: MatrixNames
    rows: int
    columns: int
    before: tuple[int, ...]
    group: int

    @property
    def count(self) -> int:
        """The number of matrices."""
        return math.prod(self.before)

    @property
    def _chunks(self) -> tuple[int, int]:
        """Blocks of a chunk of a row, and chunks of a row."""
        blocks = -(-self.columns // 4)
        chunks = -(-blocks // _MOST_BLOCKS)
        return -(-blocks // chunks), chunks

    @property
    def _grid(self) -> tuple[int, int, int]:
        """Blocks of four by four along a row and along a column, and those of a thread."""
        across, down = math.prod(self._chunks), -(-self.rows // 4)
        return across, down, -(-across * down // self.group)

    @property
    def held(self) -> tuple[int, int]:
        """What a thread holds: blocks of four where a group works together, scalars where a thread is alone."""
        return 4 * self._grid[2] * self.count, self.rows * self.columns * self.count

    def product(self, function: str, matrix: str, at: str, vector: str) -> str:
        """Return the call that multiplies a vector by a matrix of a buffer or its transpose."""
        sizes = (self.rows, self.columns, *self._chunks, self.group)
        return f"sa.{function}<{', '.join(map(str, sizes))}>({matrix}, {at}, {vector})"

    @property
    def _held_size(self) -> str:
        together, alone = self.held
        return f"sa.ALONE * {alone} + (1 - sa.ALONE) * {together}"

    def print_declaration(self, writer: Writer) -> None:
        """Print the declaration of what a thread holds, and the type by which the library reaches it."""
        writer.line(f"static sa.Held {self.names.sums}[{self._held_size}];")
        writer.gap()
        writer.line(f"struct {self.names.holder} : sa.IHeld")
        with writer.block():
            writer.line(f"static sa.Held get(int at) {{ return {self.names.sums}[at]; }}")
            writer.line(f"static void set(int at, sa.Held value) {{ {self.names.sums}[at] = value; }}")

    def print_zeros(self, writer: Writer, counter: str) -> None:
        """Print the zeros that a thread begins with."""
        writer.line(f"for (int {counter} = 0; {counter} < {self._held_size}; ++{counter})")
        with writer.indented():
            writer.line(f"{self.names.sums}[{counter}] = 0;")

    def print_addition(self, writer: Writer, which: str, columns: str, rows: str) -> None:
        """Print the addition of the outer product of two vectors to matrix ``which``."""
        together, alone = (size // self.count for size in self.held)
        size = f"(sa.ALONE * {alone} + (1 - sa.ALONE) * {together})"
        place = "0" if which == "0" else f"int({which}) * {size}"
        sizes = ", ".join(map(str, (self.names.holder, self.rows, self.columns, *self._grid, self.group)))
        writer.line(f"sa.add_outer<{sizes}>({place}, {columns}, {rows});")

    def print_store(self, writer: Writer, partials: str, first: int, group: str, parts: str) -> None:
        """Print the store of partial sums from a total on."""
        sizes = ", ".join(map(str, (self.names.holder, self.rows, self.columns, *self._grid, self.count, self.group)))
        writer.line(f"sa.store_outer<{sizes}>({partials}, {first}, {group}, {parts});")


def matrix_sums(buffer: Buffer, kernel: Kernel, names: MatrixNames) -> MatrixSums:
    """Return what a thread holds of the gradient of a buffer whose uses are all products."""
    rows, columns = buffer.reach
    before = buffer.extents[:-2] if buffer.extents[-2:] == buffer.reach else buffer.extents[:-1]
    return MatrixSums(names, rows, columns, before, summing_group(kernel.group_size))


def print_times(writer: Writer, matrix: MatrixSums, spell: TypeSpeller, modes: tuple[Mode, ...]) -> None:
    """Print the product with its derivatives."""
    names = matrix.names
    name, vector, product = names.times, Array(FLOAT, matrix.columns), Array(FLOAT, matrix.rows)
    indices = "".join(f"int {letter}, " for letter in "ijkl"[: len(matrix.before)])
    which = _which(matrix)
    size = matrix.rows * matrix.columns
    at = "0" if which == "0" else f"({which}) * {size}" if " " in which else f"{which} * {size}"
    pair = f"DifferentialPair<{spell.generic(vector)}> x"
    writer.line(f"[ForwardDerivative({name}_fwd)]")
    writer.line(f"[BackwardDerivative({name}_bwd)]")
    writer.line(f"{spell(product)} {name}({indices}{spell.declare(vector, 'x')})")
    with writer.block():
        writer.line(f"return {matrix.product('times', names.values, at, 'x')};")
    writer.gap()
    writer.line(f"DifferentialPair<{spell.generic(product)}> {name}_fwd({indices}{pair})")
    with writer.block():
        writer.line(f"{spell.declare(product, 'tangent')} = {matrix.product('times', names.values, at, 'x.d')};")
        if Mode.JVP in modes:
            writer.line(f"{spell.declare(product, 'own')} = {matrix.product('times', names.tangent, at, 'x.p')};")
            writer.line(f"for (int n = 0; n < {matrix.rows}; ++n)")
            with writer.indented():
                writer.line("tangent[n] += own[n];")
        writer.line(f"return diffPair({matrix.product('times', names.values, at, 'x.p')}, tangent);")
    writer.gap()
    writer.line(f"void {name}_bwd({indices}inout {pair}, {spell.declare(product, 'd_out')})")
    with writer.block():
        if Mode.BACKWARD in modes:
            matrix.print_addition(writer, which, "x.p", "d_out")
        writer.line(f"x = diffPair(x.p, {matrix.product('times_transposed', names.values, at, 'd_out')});")


def _which(matrix: MatrixSums) -> str:
    """Return the number of a matrix in Slang, from its indices."""
    text = ""
    for letter, extent in zip("ijkl", matrix.before, strict=False):
        inner = f"({text})" if " " in text else text
        text = f"{inner} * {extent} + uint({letter})" if text else f"uint({letter})"
    return text or "0"
