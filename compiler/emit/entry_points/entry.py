"""Define an entry point while it is printed: its parts, its signature, and the parameters that all kinds share."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING, Protocol

from slangad.compiler.emit.memory.tensors import TensorPrinter
from slangad.compiler.emit.model import GROUPS_A_ROW, EntryParameter, Mode, ParameterRole, summing_group
from slangad.compiler.ir.targets import LAST_GROUP
from slangad.compiler.ir.types import UINT

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from slangad.compiler.emit.entry_points.memory_classes import ElementResult, KernelScope
    from slangad.compiler.emit.entry_points.primal_results import KeptResult
    from slangad.compiler.emit.entry_points.shared_values import SumPart
    from slangad.compiler.emit.entry_points.sums import Slots, SumGroup
    from slangad.compiler.emit.entry_points.tile_memory import PrintedTileLoop
    from slangad.compiler.emit.memory.blocks import BlockSums
    from slangad.compiler.emit.memory.matrices import MatrixSums
    from slangad.compiler.emit.text.writer import Writer
    from slangad.compiler.ir.nodes import Function, Kernel, Module


class MemoryPrinter(Protocol):
    """Memory that a kernel uses by name: a tensor, a texture, a probe."""

    @property
    def written(self) -> bool:
        """Return True if threads store in it or add to it."""

    @property
    def kept(self) -> int | None:
        """Its number among the buffers whose sums groups keep in shared memory; None if it is not one of them."""

    @property
    def together(self) -> bool:
        """True if the threads of a tile add to the same element of it at a time."""

    def used_by(self, module: Module, kernel: Kernel) -> bool:
        """Return True if the kernel needs it."""

    def parameters(self, mode: Mode) -> Iterator[EntryParameter]:
        """Return the parameters that the entry point of a mode needs for it."""

    def copies_parameters(self, mode: Mode) -> Iterable[tuple[EntryParameter, ...]]:
        """Return the parameters of each entry point that adds up copies of its gradient, or of additions to it."""


class ParameterPrinter(Protocol):
    """Printer of one kernel parameter: how a thread loads it, and where its gradient is stored."""

    @property
    def differentiable(self) -> bool:
        """Return True if it has a gradient."""

    def parameters(self, mode: Mode) -> Iterator[EntryParameter]:
        """Return the parameters that the entry point of a mode needs for it."""

    def prepare(self, writer: Writer, mode: Mode) -> None:
        """Print the statements before all elements of the thread."""

    def argument(self, writer: Writer, mode: Mode) -> str:
        """Print the statements before the call, and return the argument."""

    def finish(self, writer: Writer, mode: Mode) -> None:
        """Print the statements after the call."""


@dataclass(frozen=True, slots=True)
class PrintedEntry:
    """One entry point while it is printed; ``strided`` says that a thread works on a share of the elements.

    ``replayed`` says that a backward pass repeats what the kernel does, without its stores. ``matrices`` are those that
    the threads of a group multiply together: none of them leaves the group before the others. ``kept`` is there if
    reverse mode gives the primal result too. ``shares_loop`` says that groups run the kernel's loop for whole tiles if
    they walk in tiles, ``tile_loop`` what they then call.
    """

    kernel: Kernel
    function: Function
    mode: Mode
    name: str
    scope: KernelScope
    slots: Slots
    places: tuple[ParameterPrinter, ...]
    results: tuple[ElementResult | SumPart, ...]
    memory: tuple[MemoryPrinter, ...]
    replayed: bool = False
    matrices: tuple[MatrixSums, ...] = ()
    kept: KeptResult | None = None
    shares_loop: bool = False
    tile_loop: PrintedTileLoop | None = None

    @property
    def strided(self) -> bool:
        """Return True if groups share the domain: they add up, compute together, or run a loop for their tiles."""
        added = bool(self.slots.all) or bool(self.keepers) or self.copies or bool(self.blocks)
        return added or self.in_step or self.shares_loop

    @property
    def blocks(self) -> tuple[BlockSums, ...]:
        """The sums of tensors whose elements belong to the groups that walk the domain in blocks."""
        return blocks_of(self.memory, self.mode)

    @property
    def in_step(self) -> bool:
        """Return True if all threads of a group take every turn, because they compute together."""
        return bool(self.matrices) or self.kernel.in_step

    @property
    def tile(self) -> tuple[int, ...]:
        """The extents of the tiles in which groups walk the domain; none if they walk in rows, or multiply together."""
        if self.blocks:
            return self.blocks[0].buffer.block
        return self.kernel.tile or () if self.strided and not self.matrices else ()

    @property
    def keepers(self) -> tuple[MemoryPrinter, ...]:
        """The memory whose sums groups keep."""
        return tuple(part for part in self._added_by_groups if part.kept is not None)

    @property
    def copies(self) -> bool:
        """True if gradients go to tables that have many copies, of which each group adds to one."""
        return any(p.copied for part in self._added_by_groups for p in part.parameters(self.mode))

    @property
    def _added_by_groups(self) -> tuple[MemoryPrinter, ...]:
        """Scattered memory. Values that are added beside their tangents have no room in groups."""
        return () if self.mode is Mode.JVP else (*scattered(self.memory, self.mode),)

    @property
    def group(self) -> tuple[int, int, int]:
        """Thread-group extents as the device counts them: x is the domain's last axis; one axis for a share."""
        if self.tile_loop is not None:
            return self.tile_loop.threads(self.tile), 1, 1
        if self.kernel.in_step:
            return math.prod(self.kernel.group_size), 1, 1
        if self.strided:
            return summing_group(self.kernel.group_size), 1, 1
        x, y, z = (*reversed(self.kernel.group_size), 1, 1)[:3]
        return x, y, z


def print_head(
    writer: Writer,
    name: str,
    group: tuple[int, int, int],
    values: list[str],
    parameters: tuple[EntryParameter, ...],
    last: tuple[EntryParameter, ...] = (),
) -> None:
    """Print the attributes and the signature of an entry point; ``last`` are the parameters of its last group."""
    writer.line('[shader("compute")]')
    writer.line(f"[numthreads({', '.join(str(size) for size in group)})]")
    shown = {p.name: f"uniform {p.type} {p.name}" for p in parameters}
    lines = [*values, *shown.values()]
    writer.line(f"void {name}(")
    with writer.indented():
        for line in lines[:-1]:
            writer.line(f"{line},")
        writer.line(f"{lines[-1]}{'' if last else ')'}")
    if last:
        writer.line(f"#if defined({LAST_GROUP})")
        with writer.indented():
            for p in last:
                writer.line(f", uniform {p.type} {p.name}")
        writer.line("#endif")
        with writer.indented():
            writer.line(")")


def domain_parameter(entry: PrintedEntry) -> EntryParameter:
    """Return the extents of the domain."""
    dims = entry.kernel.dims
    return EntryParameter(
        name=entry.scope.local("count" if dims == 1 else "domain"),
        role=ParameterRole.DOMAIN,
        parameter="",
        path=(),
        scalar=UINT,
        shape=() if dims == 1 else (dims,),
        type="uint" if dims == 1 else f"uint{dims}",
        access="value",
        axes=0,
    )


def parts_parameter(entry: PrintedEntry) -> EntryParameter:
    """Return the number of partial sums."""
    name = entry.scope.local("parts")
    return EntryParameter(name, ParameterRole.PARTS, "", (), UINT, (), "uint", "value", axes=0)


def partials_parameter(entry: PrintedEntry, group: SumGroup, *, writes: bool) -> EntryParameter:
    """Return the parameter of the scratch memory for partial sums of one type."""
    return EntryParameter(
        entry.scope.local(group.named("partials")), ParameterRole.PARTIALS, "", (), group.scalar, (group.count,),
        f"{'RW' if writes else ''}StructuredBuffer<{group.scalar.name}>", "write" if writes else "read",
    )  # fmt: skip


def arrived_parameter(entry: PrintedEntry, group: SumGroup) -> EntryParameter:
    """Return the parameter of the scratch memory through which groups know which of them is the last one."""
    return EntryParameter(
        entry.scope.local("arrived"), ParameterRole.ARRIVED, "", (), UINT, (group.count + 1,),
        "RWStructuredBuffer<uint>", "add",
    )  # fmt: skip


def blocks_of(memory: Iterable[MemoryPrinter], mode: Mode) -> tuple[BlockSums, ...]:
    """Return the sums of tensors whose elements belong to blocks of the domain; only backward mode adds up."""
    if mode is not Mode.BACKWARD:
        return ()
    return tuple(part.block for part in memory if isinstance(part, TensorPrinter) and part.block)


def scattered(memory: Iterable[MemoryPrinter], mode: Mode) -> Iterator[MemoryPrinter]:
    """Yield the tensors and textures whose gradients, or values that are added, go through totals in a mode."""
    for part in memory:
        if any(p.role is ParameterRole.TOTALS and p.is_used for p in part.parameters(mode)):
            yield part


def element_count(entry: PrintedEntry) -> str:
    """Return the number of elements of the domain."""
    if entry.kernel.dims == 1:
        return entry.scope.local("count")
    domain = entry.scope.local("domain")
    return " * ".join(f"{domain}.{axis}" for axis in "xyz"[: entry.kernel.dims])


def print_flat(writer: Writer, index: str, thread: str, group: int, depth: int = 1) -> None:
    """Print the number of a thread along one axis that continues in rows; along z it is as deep as a group."""
    row = f"({thread}.y * {depth} + {thread}.z)" if depth > 1 else f"{thread}.y"
    rows = f"({GROUPS_A_ROW} * {group}) + {thread}.x; // rows of {GROUPS_A_ROW} groups"
    writer.line(f"uint {index} = {row} * {rows}")
