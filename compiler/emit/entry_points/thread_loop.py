"""Print the loop of a thread over its share of the elements, and the store of its sums.

With few totals, a thread works on rows of adjacent elements. On the CPU each element of a row has sums of its own, so
that additions do not wait for each other. On a GPU several elements are read at a time, if the only outputs are sums.
"""

from __future__ import annotations

import math
from contextlib import contextmanager
from functools import reduce
from typing import TYPE_CHECKING, Final

from slangad.compiler.emit.entry_points.calls import print_call
from slangad.compiler.emit.entry_points.tile_loop import elements_one_by_one, flat_index
from slangad.compiler.emit.memory.shared import SharedPrinter
from slangad.compiler.emit.model import ParameterRole
from slangad.compiler.emit.print.functions import thread_values

if TYPE_CHECKING:
    from collections.abc import Iterator

    from slangad.compiler.emit.entry_points.entry import PrintedEntry
    from slangad.compiler.emit.text.writer import Writer

_READ_AHEAD: Final = 4
"""Fewer leave an H200 waiting for memory, more take registers for nothing (benchmarks/RESULTS.md)."""


def _print_keep(entry: PrintedEntry, writer: Writer) -> None:
    """Print the call that makes room for sums of groups. It takes the smallest number of copies of their tensors."""
    lane, parts = entry.scope.local("lane"), entry.keepers
    if any(not part.together for part in parts):
        names = (p.name for part in parts for p in part.parameters(entry.mode) if p.role is ParameterRole.COPIES)
        copies = reduce(lambda found, name: f"min({found}, {name})", names)
        writer.line(f"sa.keep_sums<{entry.group[0]}>({lane}, {copies});")
    elif parts:
        writer.line(f"sa.keep_together<{entry.group[0]}>({lane});")


def print_share(entry: PrintedEntry, writer: Writer) -> None:
    """Print the loop over the thread's share of the elements, and the store of its sums."""
    local, size = entry.scope.local, entry.group[0]
    ways = "[{}.WAYS]" if entry.slots.side_by_side else ""
    for group in (group for group in entry.slots.groups if group.summed_scalars):
        extents = f"[{group.summed_scalars}]{ways.format(group.library)}"
        writer.line(f"{group.library}.Sum {local(group.named('sums'))}{extents} = {{}};")
    _print_tensors(entry, writer, "{own} = 0;")
    _print_keep(entry, writer)
    if not entry.in_step and not entry.tile:
        names = (f"{local('thread')}.x", local("count"), local("parts"))
        library, share = _library(entry), local("share")
        made = f"rows<{size}>({', '.join(names)}, {_row(entry)})" if ways else f"share<{size}>({', '.join(names)})"
        writer.line(f"{library}.Share {share} = {library}.{made};")
    with (
        _iterations(entry, writer)
        if entry.matrices
        else _blocks(entry, writer)
        if entry.kernel.in_step
        else _own_blocks(entry, writer)
        if entry.blocks
        else _tiles(entry, writer)
        if entry.tile
        else _elements(entry, writer)
    ):
        if entry.kernel.dims > 1 and thread_values(entry.function) and not entry.tile and not entry.kernel.in_step:
            _print_id(entry, writer)
        print_call(entry, writer)
    for part in entry.keepers:
        totals = next(p for p in part.parameters(entry.mode) if p.role is ParameterRole.TOTALS)
        kept = "together" if part.together else "sums"
        writer.line(f"sa.give_{kept}<{size}>({totals.name}, {part.kept}, {local('lane')});")
    _print_tensors(entry, writer, "{sums} += {own};")
    for group in (group for group in entry.slots.groups if group.summed_scalars):
        sums = local(group.named("sums"))
        if entry.kernel.in_step:
            writer.line(f"sa.join<{size}, {group.summed_scalars}, {group.library}.Sum>({sums});")
        merged = f"{group.library}.merged({sums})" if entry.slots.side_by_side else sums
        place = (f"{local('thread')}.x", local("lane"), local("parts"), str(group.count))
        arguments = (local(group.named("partials")), merged, *place)
        writer.line(f"{group.library}.store_sums<{size}>({', '.join(arguments)});")
    for slot in entry.slots.all:
        if slot.matrix:
            group, number = entry.slots.group_of(slot), f"{local('group')}.x"
            first = f"{number} * {group.count}" + (f" + {slot.first}" if slot.first else "")
            slot.matrix.print_store(writer, local(group.named("partials")), first, number, local("parts"))


def _row(entry: PrintedEntry) -> int:
    """Return how many elements a GPU thread reads at a time. Stores of neighbouring threads should be adjacent."""
    parts = (*entry.places, *entry.results, *entry.memory)
    stored = (p for part in parts for p in part.parameters(entry.mode) if p.access in ("write", "add", "change"))
    return 1 if any(stored) else _READ_AHEAD


def _print_tensors(entry: PrintedEntry, writer: Writer, line: str) -> None:
    """Print a line for each sum of elements of tensors: reading adds to ``own``, and ``sums`` is stored."""
    way = "[0]" if entry.slots.side_by_side else ""
    for slot in entry.slots.all:
        if slot.tensor is None:
            continue
        if slot.matrix:
            if "sums" not in line:
                slot.matrix.print_zeros(writer, entry.scope.local("k"))
            continue
        k, sums = entry.scope.local("k"), entry.scope.local(entry.slots.group_of(slot).named("sums"))
        place = f"{slot.first} + {k}" if slot.first else k
        writer.line("[ForceUnroll]")
        writer.line(f"for (int {k} = 0; {k} < {slot.count}; ++{k})")
        with writer.indented():
            writer.line(line.format(own=f"{slot.tensor.sums}[{k}]", sums=f"{sums}[{place}]{way}"))


@contextmanager
def _iterations(entry: PrintedEntry, writer: Writer) -> Iterator[None]:
    """Yield the loop over the elements in which all threads of a group take every turn."""
    local, i, turn = entry.scope.local, entry.scope.index, entry.scope.local("turn")
    turns, arguments = local("turns"), ", ".join((f"{local('group')}.x", local("count"), local("parts")))
    writer.line(f"sa.Turns {turns} = sa.turns<{entry.group[0]}>({arguments});")
    writer.line(f"for (uint {turn} = {turns}.first; {turn} < {turns}.last; {turn} += {turns}.step)")
    with writer.block():
        writer.line(f"bool {local('active')} = {turns}.has({turn});")
        writer.line(f"uint {i} = {turns}.element({turn});")
        yield


@contextmanager
def _blocks(entry: PrintedEntry, writer: Writer) -> Iterator[None]:
    """Yield the loop in which a group takes a block of the domain after the other, all threads every turn."""
    local, dims = entry.scope.local, entry.kernel.dims
    domain, turn, blocks = local("count" if dims == 1 else "domain"), local("turn"), local("blocks")
    lane = local("lane")
    extents = ", ".join(str(size) for size in entry.kernel.group_size)
    writer.line(f"sa.Blocks {blocks} = sa.blocks<{extents}>({domain}, {local('group')}.x, {local('parts')});")
    writer.line(f"for (uint {turn} = {blocks}.first; {turn} < {blocks}.last; {turn} += {blocks}.step)")
    with writer.block():
        place = local("place") if dims == 1 else local("id")
        type_ = "uint" if dims == 1 else f"uint{dims}"
        writer.line(f"{type_} {place} = sa.in_block<{extents}>({turn}, {lane}, {domain});")
        is_active = f"all({place} < {domain})" if dims > 1 else f"{place} < {domain}"
        writer.line(f"bool {local('active')} = {is_active}; // the others only take part in what the group does")
        writer.line(f"sa.present = {local('active')};")
        if dims == 1:
            writer.line(f"uint {entry.scope.index} = min({place}, {domain} - 1);")
        else:
            writer.line(f"{place} = min({place}, {domain} - 1);")
            writer.line(f"uint {entry.scope.index} = {flat_index(place, domain, dims)};")
        shared = [part for part in entry.memory if isinstance(part, SharedPrinter)]
        if shared:
            writer.line("sa.meet(); // nobody is in the last turn")
            for part in shared:
                part.print_clear(writer, entry.mode, lane, local("k"), entry.group[0])
            writer.line("sa.meet();")
        yield


@contextmanager
def _own_blocks(entry: PrintedEntry, writer: Writer) -> Iterator[None]:
    """Yield the loop in which a group takes blocks that have elements of tensors of their own, and adds these up."""
    local, dims, i = entry.scope.local, entry.kernel.dims, entry.scope.index
    domain = local("count" if dims == 1 else "domain")
    walk, turn, block, lane, n = (local(word) for word in ("walk", "turn", "block", "lane", "n"))
    type_, sizes = "uint" if dims == 1 else f"uint{dims}", ", ".join(map(str, (entry.group[0], *entry.tile)))
    extents = ", ".join(map(str, entry.tile))
    writer.line(f"sa.Walk {walk} = sa.walk_blocks<{sizes}>({domain}, {local('group')}.x, {lane}, {local('parts')});")
    writer.line(f"for (uint {turn} = {walk}.first; {turn} < {walk}.last; {turn} += {walk}.step)")
    with writer.block():
        writer.line(f"{type_} {block} = sa.block_of<{sizes}>({turn}, {lane}, {domain});")
        for sums in entry.blocks:
            sums.print_call(writer, block, f"sa.block_counts<{extents}>({domain})")
        writer.line(f"for (uint {n} = 0; {n} < sa.block_elements<{entry.group[0]}, {math.prod(entry.tile)}>(); ++{n})")
        with writer.block():
            id_ = i if dims == 1 else local("id")
            writer.line(f"{type_} {id_} = sa.place_in_block<{sizes}>({block}, {lane}, {n});")
            writer.line(f"if ({f'{id_} >= {domain}' if dims == 1 else f'any({id_} >= {domain})'})")
            with writer.indented():
                writer.line("continue;")
            if dims > 1:
                writer.line(f"uint {i} = {flat_index(id_, domain, dims)};")
            yield
        for sums in entry.blocks:
            writer.line(f"{sums.names.end}({lane});")


@contextmanager
def _tiles(entry: PrintedEntry, writer: Writer) -> Iterator[None]:
    """Yield the loop in which a group takes a tile of the domain after the other, each thread an element."""
    local, i = entry.scope.local, entry.scope.index
    walk, turn, id_, domain, lane = (local(word) for word in ("walk", "turn", "id", "domain", "lane"))
    threads = entry.group[0] if entry.tile_loop is None else math.prod(entry.tile)
    sizes = ", ".join(str(size) for size in (threads, *entry.tile))
    writer.line(f"sa.Walk {walk} = sa.walk<{sizes}>({domain}, {local('group')}.x, {lane}, {local('parts')});")
    writer.line(f"for (uint {turn} = {walk}.first; {turn} < {walk}.last; {turn} += {walk}.step)")
    with writer.block(), _places_in_tile(entry, writer) as place:
        writer.line(f"uint{entry.kernel.dims} {id_} = sa.place<{sizes}>({turn}, {place}, {domain});")
        writer.line(f"if (any({id_} >= {domain}))")
        with writer.indented():
            writer.line("continue;")
        writer.line(f"uint {i} = {flat_index(id_, domain, entry.kernel.dims)};")
        yield


@contextmanager
def _places_in_tile(entry: PrintedEntry, writer: Writer) -> Iterator[str]:
    """Yield the place in its tile of the thread's element, or of one of its elements."""
    if entry.tile_loop is None:
        yield entry.scope.local("lane")
        return
    with elements_one_by_one(entry, writer, entry.tile_loop) as place:
        yield place


def _library(entry: PrintedEntry) -> str:
    """Return the namespace of the functions that compute a thread's share."""
    return entry.slots.groups[0].library if entry.slots.all else "sa"


@contextmanager
def _elements(entry: PrintedEntry, writer: Writer) -> Iterator[None]:
    """Yield the loop over the elements."""
    share, i = entry.scope.local("share"), entry.scope.index
    if not entry.slots.side_by_side:
        writer.line(f"for (uint {i} = {share}.first; {i} < {share}.last; {i} += {share}.step)")
        with writer.block():
            yield
        return
    row, way = entry.scope.local("row"), entry.scope.local("way")
    writer.line(f"for (uint {row} = {share}.first; {row} < {share}.last; {row} += {share}.step)")
    with writer.block():
        writer.line(f"for (int {way} = 0; {way} < {share}.ways({row}); ++{way})")
        with writer.block():
            writer.line(f"int {i} = int({row}) + {way};")
            yield


def _print_id(entry: PrintedEntry, writer: Writer) -> None:
    """Print the thread's position in the domain, from the number of its element."""
    i, id_, domain, dims = entry.scope.index, entry.scope.local("id"), entry.scope.local("domain"), entry.kernel.dims
    if dims == 2:
        writer.line(f"uint2 {id_} = uint2({i} / {domain}.y, {i} % {domain}.y);")
    else:
        row = f"{i} / {domain}.z"
        writer.line(f"uint3 {id_} = uint3({row} / {domain}.y, {row} % {domain}.y, {i} % {domain}.z);")
