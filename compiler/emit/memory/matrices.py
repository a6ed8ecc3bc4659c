"""Print products with a matrix in memory, and the sums of its gradient that the threads of a group hold together.

A tensor ``w`` of kernel ``fit`` whose uses are all products becomes ``fit_w_times(x)``, with derivatives of its own:
``gradients`` for ``w`` and ``x`` (templates/slangad_linear.slang).
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
    from slangad.compiler.ir.layers import Layer, Resident
    from slangad.compiler.ir.nodes import Buffer, Kernel

_MOST_VECTORS: Final = 8
"""Vectors for which a thread computes some rows at a time, a power of two. It keeps their sums in registers."""
_MOST_SHARED: Final = 512
"""Blocks of four entries that fit into the group's memory on every target (STAGE of templates/slangad_linear.slang)."""


_MOST_OF_WAVE: Final = 4
"""Tiles of 16 x 8 of a tensor's gradient of which each wave has all on CUDA. A thread holds four numbers of each."""


class MatrixNames(NamedTuple):
    """Names in Slang: values, tangents, what a thread holds, the product, and the type that reaches what is held."""

    values: str
    tangent: str
    sums: str
    times: str
    holder: str


class EntryNames(NamedTuple):
    """Names in Slang: the function that is applied to a vector before the product, and its derivatives."""

    plain: str
    backward: str
    forward: str


@dataclass(frozen=True, slots=True)
class MatrixSums:
    """The matrices of one tensor, and what a thread holds of their gradients.

    Attributes:
        names: The names of its parts.
        rows: The rows of a matrix.
        columns: Its columns; of a bias, those of the matrix.
        before: The extents of the axes before the matrix.
        group: The threads of a group.
        is_bias: True of the biases of products.
        bias: The biases that are added to the products; None without.
        in_half: True if the factors of products may be rounded to 11 bits, where a target has matrix units.
        before_product: The function that every vector goes through before the product; None without.
        takes_tiles: True if the threads of a wave hold the vectors as tiles (templates/slangad_linear_mma.slang).
        gives_tiles: True if they hold the products in that way.
        takes_rectified: True if the vectors are positive parts of products (templates/slangad_linear_rectified.slang).
        gives_rectified: True if the products are given as such.
        place: Where it stays in the memory of a group on Vulkan's matrix units, in blocks of four floats, or -1.
        room: The blocks that are left there for vectors.
        all_tiles: True if each wave has all tiles of the gradient, of which there are few.
    """

    names: MatrixNames
    rows: int
    columns: int
    before: tuple[int, ...]
    group: int
    is_bias: bool = False
    bias: MatrixSums | None = None
    in_half: bool = False
    before_product: EntryNames | None = None
    takes_tiles: bool = False
    gives_tiles: bool = False
    takes_rectified: bool = False
    gives_rectified: bool = False
    place: int = -1
    room: int = 0
    all_tiles: bool = False

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

    @property
    def _tiles(self) -> tuple[int, int]:
        """Tiles of 16 x 8 that a wave has of the gradient, along a column and along a row.

        All if they are few: then a wave needs no other wave's vectors. Else two if waves could have one each, since
        tiles side by side share what is read.
        """
        waves, across, down = max(1, self.group // 32), -(-self.columns // 8), -(-self.rows // 16)
        if self.all_tiles:
            return down, across
        most = 2 if across * down <= waves else 4
        wide = max(min(across, most), -(-across // waves))
        high = -(-down // (waves // -(-across // wide)))
        return max(high, min(down, most // wide)), wide

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
        high, wide = self._tiles
        together = max(-(-down // self.group), high) if self.is_bias else max(4 * blocks, high * wide)
        return together * self.count, self.rows * (1 if self.is_bias else self.columns) * self.count

    def product(self, function: str, *arguments: str) -> str:
        """Return the call that multiplies a vector by a matrix of a buffer, values or tangents, or its transpose."""
        tile = self._tile(self.columns if function == "times_transposed" else self.rows)
        place = self.place if arguments[0] == self.names.values else -1
        sizes = (self.rows, self.columns, *tile, self.group, *self._on_units, place)
        return f"sa.{function}<{', '.join(map(str, sizes))}>({', '.join(arguments)})"

    @property
    def _rectified(self) -> str:
        """How functions are called where vectors or products are positive parts; empty where neither are."""
        words = {(False, True): "to", (True, True): "between", (True, False): "from"}
        word = words.get((self.takes_rectified, self.gives_rectified))
        return f"_{word}_rectified" if word else ""

    def product_of_vector(self, at: str, vector: str, bias: tuple[str, ...]) -> str:
        """Return the call that multiplies a vector by a matrix of values, and adds a bias."""
        if not self._rectified:
            return self.product("times_plus" if bias else "times", self.names.values, at, vector, *bias)
        takes, gives, _ = self._on_units
        held = () if self.takes_rectified and self.gives_rectified else (gives if self.takes_rectified else takes,)
        sizes = (self.rows, self.columns, int(bool(bias)), *self._tile(self.rows), self.group, *held, self.place)
        given = (self.names.values, at, vector, *(bias or (self.names.values, "0")))
        return f"sa.times{self._rectified}<{', '.join(map(str, sizes))}>({', '.join(given)})"

    @property
    def _on_units(self) -> tuple[int, int, int]:
        """How products are computed on matrix units: as what vectors and products are held, and of how many terms."""
        return int(self.takes_tiles), int(self.gives_tiles), 1 if self.in_half else 3

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

    def gradients(self, which: str, bias_which: str, at: str, columns: str, rows: str) -> str:
        """Return the call that adds the outer product of two vectors to matrix ``which``, and ``rows`` to a bias.

        It returns the product of the transposed matrix, from index ``at`` on, with ``rows``.
        """
        bias = self.bias
        summed = [(self.names.holder, self.count, self._place(which))]
        if bias is not None:
            summed.append((bias.names.holder, bias.count, bias._place(bias_which)))
        elif self._rectified:  # one function with a bias and without: it takes the matrix twice
            summed.append((self.names.holder, self.count, "0"))
        holders, counts, places = zip(*summed, strict=True)
        shared = (self._column[1] if bias else 1,) if len(summed) > 1 else ()
        function = f"gradients{self._rectified}" if self._rectified else "gradients_and_rows" if bias else "gradients"
        is_biased = (int(bias is not None),) if self._rectified else ()
        on_units = self._on_units[:2] if self._rectified else self._on_units  # positive parts are in half
        sizes = (*holders, *is_biased, *counts, self.rows, self.columns, *self._grid, *shared, *self._tiles)
        units = (*self._tile(self.columns), self.group, *on_units, self.place, self.room)
        given = ", ".join((self.names.values, at, *places, columns, rows))
        return f"sa.{function}<{', '.join(map(str, (*sizes, *units)))}>({given})"

    def print_store(self, writer: Writer, partials: str, first: str, group: str, parts: str) -> None:
        """Print the store of partial sums from an index on."""
        function, grid = ("rows", self._column) if self.is_bias else ("outer", self._grid)
        each = self.held[0] // self.count
        counts = (self.rows, self.columns, *grid, *self._tiles, self.count, each, self.group, self._on_units[2])
        sizes = ", ".join(map(str, (self.names.holder, *counts)))
        writer.line(f"sa.store_{function}<{sizes}>({partials}, {first}, {group}, {parts});")


def matrix_sums(
    buffer: Buffer,
    kernel: Kernel,
    names: MatrixNames,
    layer: Layer,
    bias: MatrixSums | None,
    before: EntryNames | None,
    resident: Resident,
) -> MatrixSums:
    """Return what a thread holds of the gradient of a buffer whose uses are all products."""
    rows, columns = buffer.reach
    group = summing_group(kernel.group_size)
    return MatrixSums(
        names, rows, columns, _axes_before(buffer), group, bias=bias, in_half=_in_half(buffer), before_product=before,
        takes_tiles=layer.takes_tiles, gives_tiles=layer.gives_tiles, takes_rectified=layer.takes_rectified,
        gives_rectified=layer.gives_rectified, all_tiles=_are_few(buffer),
        place=resident.places.get(buffer.key, -1), room=resident.room,
    )  # fmt: skip


def bias_sums(buffer: Buffer, kernel: Kernel, names: MatrixNames, matrix: Buffer) -> MatrixSums:
    """Return what a thread holds of the gradient of a buffer that is the bias of the products with a matrix."""
    rows, columns = matrix.reach
    group = summing_group(kernel.group_size)
    return MatrixSums(
        names, rows, columns, buffer.extents[:-1], group,
        is_bias=True, in_half=_in_half(matrix), all_tiles=_are_few(matrix),
    )  # fmt: skip


def _axes_before(matrix: Buffer) -> tuple[int, ...]:
    """Return the extents of the axes before a matrix."""
    return matrix.extents[:-2] if matrix.extents[-2:] == matrix.reach else matrix.extents[:-1]


def _in_half(matrix: Buffer) -> bool:
    return matrix.accumulation is Accumulation.HALF_MATRIX


def _are_few(matrix: Buffer) -> bool:
    """Return True if each wave has all tiles of the sums of a tensor's outer products, in float."""
    rows, columns = matrix.reach
    return not _in_half(matrix) and -(-rows // 16) * -(-columns // 8) * math.prod(_axes_before(matrix)) <= _MOST_OF_WAVE


class _Times(NamedTuple):
    """Parts of a function that multiplies: the text of its indices, and where the matrix and its bias lie."""

    indices: str
    at: str
    which: str
    bias_which: str
    plain: str
    bias: tuple[str, ...]
    bias_tangent: tuple[str, ...]


class _Held(NamedTuple):
    """The type of vectors or products, in Slang: of a declaration, inside ``DifferentialPair<>``, and of its floats."""

    entries: Array
    is_rectified: bool
    spell: TypeSpeller

    @property
    def generic(self) -> str:
        """The type as an argument of a generic type."""
        return f"sa.Rectified<{self.entries.size}>" if self.is_rectified else self.spell.generic(self.entries)

    @property
    def result(self) -> str:
        """The type of a result."""
        return self.generic if self.is_rectified else self.spell(self.entries)

    def declare(self, name: str) -> str:
        """Return the declaration of a parameter."""
        return f"{self.generic} {name}" if self.is_rectified else self.spell.declare(self.entries, name)

    def floats(self, name: str, function: str) -> str:
        """Return its floats: ``entries``, or ``moved`` for tangents and cotangents."""
        return f"sa.{function}<{self.entries.size}>({name})" if self.is_rectified else name


def _times_of(matrix: MatrixSums) -> _Times:
    letters = "ijkl"[: len(matrix.before)]
    which, bias_which = _which(letters, matrix.before), ""
    bias: tuple[str, ...] = ()
    bias_tangent: tuple[str, ...] = ()
    if matrix.bias:
        added = "mnpq"[: len(matrix.bias.before)]
        bias_which = _which(added, matrix.bias.before)
        letters += added
        bias_at = _start(bias_which, matrix.rows)
        bias, bias_tangent = (matrix.bias.names.values, bias_at), (matrix.bias.names.tangent, bias_at)
    return _Times(
        "".join(f"int {letter}, " for letter in letters),
        _start(which, matrix.rows * matrix.columns), which, bias_which,
        "times_plus" if matrix.bias else "times", bias, bias_tangent,
    )  # fmt: skip


def print_times(writer: Writer, matrix: MatrixSums, spell: TypeSpeller, modes: tuple[Mode, ...]) -> None:
    """Print the product with its derivatives."""
    name, times = matrix.names.times, _times_of(matrix)
    vector = _Held(Array(FLOAT, matrix.columns), matrix.takes_rectified, spell)
    product = _Held(Array(FLOAT, matrix.rows), matrix.gives_rectified, spell)
    x = _before(matrix, "x")
    writer.line(f"[ForwardDerivative({name}_fwd)]")
    writer.line(f"[BackwardDerivative({name}_bwd)]")
    writer.line(f"{product.result} {name}({times.indices}{vector.declare('x')})")
    with writer.block():
        writer.line(f"return {matrix.product_of_vector(times.at, x, times.bias)};")
    writer.gap()
    _print_forward(writer, matrix, times, vector, product, modes)
    writer.gap()
    _print_backward(writer, matrix, times, vector, product, modes)


def _before(matrix: MatrixSums, x: str) -> str:
    """Return a vector after the function before the product; positive parts are after it already."""
    before = matrix.before_product
    return f"{before.plain}({x})" if before and not matrix.takes_rectified else x


def _print_forward(
    writer: Writer, matrix: MatrixSums, times: _Times, vector: _Held, product: _Held, modes: tuple[Mode, ...]
) -> None:
    names, before, at = matrix.names, matrix.before_product, times.at
    pair = f"DifferentialPair<{vector.generic}>"
    writer.line(f"DifferentialPair<{product.generic}> {names.times}_fwd({times.indices}{pair} x)")
    with writer.block():
        x = "x"
        if before and not vector.is_rectified:
            x = "entries"
            writer.line(f"{pair} {x} = {before.forward}(x);")
        primal = vector.floats(f"{x}.p", "entries")
        tangent = matrix.product("times", names.values, at, vector.floats(f"{x}.d", "moved"))
        declare = vector.spell.declare
        writer.line(f"{declare(product.entries, 'tangent')} = {tangent};")
        if Mode.JVP in modes:
            own = matrix.product(times.plain, names.tangent, at, primal, *times.bias_tangent)
            writer.line(f"{declare(product.entries, 'own')} = {own};")
            writer.line(f"for (int n = 0; n < {matrix.rows}; ++n)")
            with writer.indented():
                writer.line("tangent[n] += own[n];")
        result = matrix.product(times.plain, names.values, at, primal, *times.bias)
        if product.is_rectified:
            writer.line(f"{product.generic} positive = sa.rectified<{matrix.rows}>({result});")
            writer.line(f"return diffPair(positive, sa.gated<{matrix.rows}>(tangent, positive));")
        else:
            writer.line(f"return diffPair({result}, tangent);")


def _print_backward(
    writer: Writer, matrix: MatrixSums, times: _Times, vector: _Held, product: _Held, modes: tuple[Mode, ...]
) -> None:
    names, before = matrix.names, matrix.before_product
    pair = f"DifferentialPair<{vector.generic}>"
    writer.line(f"void {names.times}_bwd({times.indices}inout {pair} x, {product.declare('d_out')})")
    with writer.block():
        if Mode.BACKWARD in modes:
            gradient = matrix.gradients(times.which, times.bias_which, times.at, _before(matrix, "x.p"), "d_out")
        else:
            cotangents = product.floats("d_out", "moved")
            gradient = matrix.product("times_transposed", names.values, times.at, cotangents)
            if vector.is_rectified:
                gradient = f"sa.gated<{matrix.columns}>({gradient}, x.p)"
        applied = f"{before.backward}(x, {gradient});" if before and not vector.is_rectified else ""
        writer.line(applied or f"x = diffPair(x.p, {gradient});")


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
