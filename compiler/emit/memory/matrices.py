"""Print products with a matrix in memory, and the sums of its gradient that the threads of a group hold together.

A tensor ``w`` of kernel ``fit`` whose uses are all products becomes ``fit_w_times(x)``, with derivatives of its own:
``times_transposed`` for ``x``, ``add_outer`` for ``w`` (templates/slangad_linear.slang).
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final, NamedTuple

from slangad.compiler.emit.model import Mode, summing_group
from slangad.compiler.ir.nodes import Accumulation
from slangad.compiler.ir.types import FLOAT, Array

if TYPE_CHECKING:
    from slangad.compiler.emit.text.types import TypeSpeller
    from slangad.compiler.emit.text.writer import Writer
    from slangad.compiler.ir.nodes import Buffer, Kernel

_MOST_VECTORS: Final = 8
"""Vectors for which a thread computes some rows at a time, a power of two. It keeps their sums in registers."""
_MOST_SHARED: Final = 512
"""Blocks of four entries that fit into the group's memory on every target (STAGE of templates/slangad_linear.slang)."""


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
        is_bias: True of the biases of products, which are matrices of one column.
        bias: The biases that are added to the products; None without.
        in_half: True if the factors of products are halfs where a target has matrix units for them.
    """

    names: MatrixNames
    rows: int
    columns: int
    before: tuple[int, ...]
    group: int
    is_bias: bool = False
    bias: MatrixSums | None = None
    in_half: bool = False

    @property
    def count(self) -> int:
        """The number of matrices."""
        return math.prod(self.before)

    @property
    def _grid(self) -> tuple[int, int, int, int]:
        """Blocks of four by four along a row and along a column, those of a thread, and threads that share one."""
        across, down = -(-self.columns // 4), -(-self.rows // 4)
        return across, down, -(-across * down // self.group), max(1, min(self.group, _MOST_SHARED) // (across * down))

    @property
    def _column(self) -> tuple[int, int]:
        """Blocks of four along a column, and threads that share one."""
        down = self._grid[1]
        return down, max(1, min(self.group, _MOST_SHARED) // down)

    def _tile(self, rows: int) -> tuple[int, int]:
        """Return of how many blocks of four rows, and for how many vectors, a thread computes the product at a time."""
        vectors = 1
        while vectors < _MOST_VECTORS and 4 * vectors < rows:
            vectors *= 2
        blocks = 2 if rows > 4 * vectors == 4 * _MOST_VECTORS else 1
        fits = self.group % (8 * vectors) == 0 and self.group + 4 * blocks * vectors <= _MOST_SHARED
        return (blocks, vectors) if fits else (1, 1)

    @property
    def held(self) -> tuple[int, int]:
        """The sums of a thread: blocks of four where a group works together, scalars where a thread is alone."""
        _, down, blocks, _ = self._grid
        together = -(-down // self.group) if self.is_bias else 4 * blocks
        return together * self.count, self.rows * self.columns * self.count

    def product(self, function: str, *arguments: str) -> str:
        """Return the call that multiplies a vector by a matrix of a buffer or its transpose."""
        tile = self._tile(self.columns if function == "times_transposed" else self.rows)
        sizes = (self.rows, self.columns, *tile, self.group)
        return f"sa.{function}{self._half}<{', '.join(map(str, sizes))}>({', '.join(arguments)})"

    @property
    def _half(self) -> str:
        return "_half" if self.in_half else ""

    @property
    def _held_size(self) -> str:
        together, alone = self.held
        return f"sa.ALONE * {alone} + (1 - sa.ALONE) * {together}"

    def print_declaration(self, writer: Writer) -> None:
        """Print the declaration of a thread's sums, and the type by which the library reaches them."""
        writer.line("// What a thread adds up of the gradient; alone, as on the CPU, all of it.")
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

    def _place(self, which: str) -> str:
        """Return the place of the first number that a thread holds of matrix ``which``."""
        together, alone = (size // self.count for size in self.held)
        return "0" if which == "0" else f"int({which}) * (sa.ALONE * {alone} + (1 - sa.ALONE) * {together})"

    def print_addition(self, writer: Writer, which: str, bias_which: str, columns: str, rows: str) -> None:
        """Print the addition of the outer product of two vectors to matrix ``which``, and of ``rows`` to a bias."""
        function, holders, places, shared = "add_outer", [self.names.holder], [self._place(which)], []
        if self.bias is not None:
            function = "add_outer_and_rows"
            holders.append(self.bias.names.holder)
            places.append(self.bias._place(bias_which))
            shared.append(self._column[1])
        sizes = (*holders, self.count, self.rows, self.columns, *self._grid, *shared, self.group)
        given = ", ".join((*places, columns, rows))
        writer.line(f"sa.{function}{self._half}<{', '.join(map(str, sizes))}>({given});")

    def print_store(self, writer: Writer, partials: str, first: int, group: str, parts: str) -> None:
        """Print the store of partial sums from a total on."""
        function, grid = ("rows", self._column) if self.is_bias else ("outer", (self.columns, *self._grid))
        sizes = ", ".join(map(str, (self.names.holder, self.rows, *grid, self.count, self.group)))
        writer.line(f"sa.store_{function}<{sizes}>({partials}, {first}, {group}, {parts});")


def matrix_sums(
    buffer: Buffer, kernel: Kernel, names: MatrixNames, *, is_bias: bool, bias: MatrixSums | None
) -> MatrixSums:
    """Return what a thread holds of the gradient of a buffer whose uses are all products, or their biases."""
    rows, columns = buffer.reach
    in_rows = not is_bias and buffer.extents[-2:] == buffer.reach
    before = buffer.extents[:-2] if in_rows else buffer.extents[:-1]
    in_half = buffer.accumulation is Accumulation.HALF_MATRIX
    return MatrixSums(names, rows, columns, before, summing_group(kernel.group_size), is_bias, bias, in_half)


def print_times(writer: Writer, matrix: MatrixSums, spell: TypeSpeller, modes: tuple[Mode, ...]) -> None:
    """Print the product with its derivatives."""
    names = matrix.names
    name, vector, product = names.times, Array(FLOAT, matrix.columns), Array(FLOAT, matrix.rows)
    letters = "ijkl"[: len(matrix.before)]
    which = _which(letters, matrix.before)
    at = _start(which, matrix.rows * matrix.columns)
    values, tangents = [names.values, at, "x"], [names.tangent, at, "x.p"]
    plain, bias_which = "times", ""
    if matrix.bias:
        added = "mnpq"[: len(matrix.bias.before)]
        bias_which = _which(added, matrix.bias.before)
        letters += added
        plain, bias_at = "times_plus", _start(bias_which, matrix.rows)
        values += [matrix.bias.names.values, bias_at]
        tangents += [matrix.bias.names.tangent, bias_at]
    indices = "".join(f"int {letter}, " for letter in letters)
    pair = f"DifferentialPair<{spell.generic(vector)}> x"
    writer.line(f"[ForwardDerivative({name}_fwd)]")
    writer.line(f"[BackwardDerivative({name}_bwd)]")
    writer.line(f"{spell(product)} {name}({indices}{spell.declare(vector, 'x')})")
    with writer.block():
        writer.line(f"return {matrix.product(plain, *values)};")
    writer.gap()
    writer.line(f"DifferentialPair<{spell.generic(product)}> {name}_fwd({indices}{pair})")
    with writer.block():
        writer.line(f"{spell.declare(product, 'tangent')} = {matrix.product('times', names.values, at, 'x.d')};")
        if Mode.JVP in modes:
            writer.line(f"{spell.declare(product, 'own')} = {matrix.product(plain, *tangents)};")
            writer.line(f"for (int n = 0; n < {matrix.rows}; ++n)")
            with writer.indented():
                writer.line("tangent[n] += own[n];")
        values[2] = "x.p"
        writer.line(f"return diffPair({matrix.product(plain, *values)}, tangent);")
    writer.gap()
    writer.line(f"void {name}_bwd({indices}inout {pair}, {spell.declare(product, 'd_out')})")
    with writer.block():
        if Mode.BACKWARD in modes:
            matrix.print_addition(writer, which, bias_which, "x.p", "d_out")
        writer.line(f"x = diffPair(x.p, {matrix.product('times_transposed', names.values, at, 'd_out')});")


def _start(which: str, size: int) -> str:
    """Return the index of the first entry of matrix or bias ``which``."""
    return "0" if which == "0" else f"({which}) * {size}" if " " in which else f"{which} * {size}"


def _which(letters: str, before: tuple[int, ...]) -> str:
    """Return the number of a matrix or bias in Slang, from its indices and the extents of these."""
    text = ""
    for letter, extent in zip(letters, before, strict=True):
        inner = f"({text})" if " " in text else text
        text = f"{inner} * {extent} + uint({letter})" if text else f"uint({letter})"
    return text or "0"
