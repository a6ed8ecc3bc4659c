"""Print the group's memory for what a tile shares in the iterations of a loop, and the function that fills it.

groupshared SplatsShared splats_shared[64];
void splats_load(SplatsEntry entry, int first, uint lane)               // each thread reads for one iteration
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING

from slangad.compiler.emit.entry_points.primal_results import KeptResult, print_kept_result
from slangad.compiler.emit.print.functions import print_doc
from slangad.compiler.ir.types import Struct
from slangad.compiler.passes.share_tiles import ELEMENTS

if TYPE_CHECKING:
    from collections.abc import Callable

    from slangad.compiler.emit.print.context import ModuleNames
    from slangad.compiler.emit.text.writer import Writer
    from slangad.compiler.ir.nodes import Param, TileLoop


@dataclass(frozen=True, slots=True)
class PrintedTileLoop:
    """A loop of a tile with the names of its group memory, of the function that fills it, and of the kept result."""

    loop: TileLoop
    memory: str
    load: str
    kept: KeptResult | None

    def threads(self, tile: tuple[int, ...]) -> int:
        """Return the threads of a group, which has one tile at a time."""
        return math.prod(tile) // ELEMENTS


def print_tile_memory(
    names: ModuleNames,
    writer: Writer,
    loop: TileLoop,
    tile: tuple[int, ...],
    fresh: Callable[[str], str],
    *,
    kept: bool,
) -> PrintedTileLoop:
    """Print the group's memory, the function that fills it, and the one that keeps the result of ``rest``."""
    rest, take = names.functions[loop.rest], names.functions[loop.take]
    stem = take.name.removesuffix("_take")
    memory, load = fresh(f"{stem}_shared"), fresh(f"{stem}_load")
    found = PrintedTileLoop(loop, memory, load, print_kept_result(names, writer, rest, 0, fresh) if kept else None)
    threads = found.threads(tile)
    shared, entry = names.spell(take.result), names.spell(names.functions[loop.enter].result)
    call = f"{names.call(take)}({', '.join(('k', *fields_of_entry(names, loop, take.params[1:], 'entry')))})"
    writer.gap()
    writer.line("#if defined(SLANGAD_WAVES)")
    writer.gap()
    writer.line(f"groupshared {shared} {found.memory}[{threads}];")
    writer.gap()
    print_doc(writer, ("Each thread reads what the tile shares in one of the next iterations, for its group.",))
    writer.line(f"void {found.load}({entry} entry, int first, uint lane)")
    with writer.block():
        writer.line("int k = first + int(lane);")
        writer.line("GroupMemoryBarrierWithGroupSync();")
        writer.line(f"if (k < entry.{field_of(names, loop.enter, 1)})")
        with writer.indented():
            writer.line(f"{found.memory}[lane] = {call};")
        writer.line("GroupMemoryBarrierWithGroupSync();")
    writer.gap()
    writer.line("#endif")
    return found


def fields_of_entry(names: ModuleNames, loop: TileLoop, params: tuple[Param, ...], entry: str) -> list[str]:
    """Return what an element gave to the loop for parameters of the functions of an iteration."""
    type_ = names.functions[loop.enter].result
    return [f"{entry}.{names.field(type_, param.name)}" for param in params]


def field_of(names: ModuleNames, function: str, number: int) -> str:
    """Return the name of a field of the struct that a function returns."""
    type_ = names.functions[function].result
    assert isinstance(type_, Struct)  # noqa: S101  (as the pass makes it)
    return names.field(type_, type_.fields[number].name)
