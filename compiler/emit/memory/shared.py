"""Print the memory that a group of threads shares: a global of the group, and functions that read and write it.

``row`` of kernel ``blur`` becomes ``blur_row``, with ``blur_row_read(i)`` and ``blur_row_write(i, value)``. Reverse
mode has an adjoint beside it: a read adds to its element, a write takes it. Barriers stay between them.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING

from slangad.compiler.emit.memory.buffers import components_of
from slangad.compiler.emit.memory.tensors import MemoryNames, print_attributes
from slangad.compiler.emit.model import Mode
from slangad.compiler.emit.text.literals import literal
from slangad.compiler.ir import types

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from slangad.compiler.emit.model import EntryParameter
    from slangad.compiler.emit.text.names import NameScope
    from slangad.compiler.emit.text.types import TypeSpeller
    from slangad.compiler.emit.text.writer import Writer
    from slangad.compiler.ir.nodes import Kernel, Module, SharedMemory


def name_shared(scope: NameScope, memory: SharedMemory) -> MemoryNames:
    """Return names for all parts that a group's memory may need."""
    stem = f"{memory.kernel}_{memory.name}"
    words = ("", "_at", "_read", "_write", "_adjoint", "_tangent")
    values, at, read, write, adjoint, tangent = (scope.fresh(f"{stem}{word}") for word in words)
    return MemoryNames(values, "", at, read, "", write, adjoint, "", tangent, "", "", "", "", "")


@dataclass(frozen=True, slots=True)
class SharedPrinter:
    """The memory of a group. It prints its declarations and functions; entry points clear it in every turn."""

    memory: SharedMemory
    names: MemoryNames
    spell: TypeSpeller

    @property
    def written(self) -> bool:
        """Return False: nobody sees what a backward pass leaves in it."""
        return False

    @property
    def kept(self) -> None:
        """Return None: it has no gradient outside of its group."""

    @property
    def together(self) -> bool:
        """Return False."""
        return False

    def used_by(self, module: Module, kernel: Kernel) -> bool:  # noqa: ARG002  (a probe has to ask the module)
        """Return True if it belongs to a kernel."""
        return kernel.name == self.memory.kernel

    def parameters(self, mode: Mode) -> Iterator[EntryParameter]:  # noqa: ARG002  (none in any)
        """Yield nothing: callers do not see it."""
        yield from ()

    def copies_parameters(self, mode: Mode) -> Iterable[tuple[EntryParameter, ...]]:  # noqa: ARG002  (none in any)
        """Return no parameters."""
        return ()

    @property
    def _element(self) -> types.Type:
        return self.memory.type.element

    @property
    def _count(self) -> int:
        return math.prod(self.memory.type.extents)

    def _flows(self, modes: tuple[Mode, ...], mode: Mode) -> bool:
        return mode in modes and types.carries_gradient(self._element)

    @property
    def _indices(self) -> str:
        return ", ".join(f"int {name}" for name in "ijk"[: self.memory.type.rank])

    @property
    def _place(self) -> str:
        """Return the element's number."""
        return "i" if self.memory.type.rank == 1 else f"{self.names.at}({', '.join('ijk'[: self.memory.type.rank])})"

    @property
    def _zero(self) -> str:
        element = self._element
        return literal(0, element) if isinstance(element, types.Scalar) else f"{self.spell(element)}(0)"

    def print_clear(self, writer: Writer, mode: Mode, lane: str, counter: str, threads: int) -> None:
        """Print the loop that clears it for a turn; a thread clears its share."""
        cleared = [self.names.values]
        cleared += [self.names.tangent] if self._flows((mode,), Mode.JVP) else []
        writer.line(f"for (uint {counter} = {lane}; {counter} < {self._count}; {counter} += {threads})")
        with writer.block():
            for name in cleared:
                writer.line(f"{name}[{counter}] = {self._zero};")
        if self._flows((mode,), Mode.BACKWARD):
            count = self._count * components_of(self._element)
            writer.line(f"for (uint {counter} = {lane}; {counter} < {count}; {counter} += {threads})")
            with writer.indented():
                writer.line(f"sa.take_held({self.names.gradient}[{counter}]);")

    def print(self, writer: Writer, modes: tuple[Mode, ...]) -> None:
        """Print the declarations for some modes, then the functions."""
        writer.gap()
        writer.line(f"// {self.memory.name} of {self.memory.kernel}: {types.show(self.memory.type)}.")
        element = self.spell(self._element)
        writer.line(f"groupshared {element} {self.names.values}[{self._count}];")
        if self._flows(modes, Mode.JVP):
            writer.line(f"groupshared {element} {self.names.tangent}[{self._count}];")
        if self._flows(modes, Mode.BACKWARD):
            count = self._count * components_of(self._element)
            writer.line(f"groupshared sa.Held {self.names.gradient}[{count}];")
        if self.memory.type.rank > 1:
            self._print_at(writer)
        derived = self._flows(modes, Mode.BACKWARD) or self._flows(modes, Mode.JVP)
        self._print_read(writer, modes, derived=derived)
        self._print_write(writer, modes, derived=derived)

    def _print_at(self, writer: Writer) -> None:
        text = "i"
        for axis, extent in enumerate(self.memory.type.extents[1:], 1):
            text = f"{f'({text})' if ' ' in text else text} * {extent} + {'ijk'[axis]}"
        writer.gap()
        with writer.accessor(f"int {self.names.at}({self._indices})"):
            writer.line(f"return {text};")

    def _print_read(self, writer: Writer, modes: tuple[Mode, ...], *, derived: bool) -> None:
        name, place = self.names.read, self._place
        writer.gap()
        if derived:
            print_attributes(writer, name)
            writer.line("[PreferCheckpoint]")
        with writer.accessor(f"{self.spell(self._element)} {name}({self._indices})"):
            writer.line(f"return {self.names.values}[{place}];")
        if not derived:
            return
        tangent = f"{self.names.tangent}[{place}]" if self._flows(modes, Mode.JVP) else self._zero
        writer.accessor_gap()
        with writer.accessor(f"DifferentialPair<{self.spell.generic(self._element)}> {name}_fwd({self._indices})"):
            writer.line(f"return diffPair({self.names.values}[{place}], {tangent});")
        writer.accessor_gap()
        with writer.accessor(f"void {name}_bwd({self._indices}, {self.spell.declare(self._element, 'd_out')})"):
            if self._flows(modes, Mode.BACKWARD):
                writer.line("if (!sa.present)")
                with writer.indented():
                    writer.line("return;")
                for index, part in self._parts("d_out"):
                    writer.line(f"sa.add_held({self.names.gradient}[{index}], {part});")

    def _parts(self, value: str) -> Iterator[tuple[str, str]]:
        """Yield the number of each scalar of the element among those of all, and that scalar of a value."""
        count, place = components_of(self._element), self._place
        if isinstance(self._element, types.Scalar):
            yield place, value
            return
        for k in range(count):
            yield f"{count} * {place} + {k}", f"{value}.{'xyzw'[k]}"

    def _print_write(self, writer: Writer, modes: tuple[Mode, ...], *, derived: bool) -> None:
        name, place = self.names.write, self._place
        writer.gap()
        if derived:
            print_attributes(writer, name)
        writer.line(f"void {name}({self._indices}, {self.spell.declare(self._element, 'value')})")
        with writer.block():
            writer.line("if (sa.present)")
            with writer.indented():
                writer.line(f"{self.names.values}[{place}] = value;")
        if not derived:
            return
        pair = f"DifferentialPair<{self.spell.generic(self._element)}> value"
        writer.gap()
        writer.line(f"void {name}_fwd({self._indices}, {pair})")
        with writer.block():
            writer.line("if (!sa.present)")
            with writer.indented():
                writer.line("return;")
            writer.line(f"{self.names.values}[{place}] = value.p;")
            if self._flows(modes, Mode.JVP):
                writer.line(f"{self.names.tangent}[{place}] = value.d;")
        writer.gap()
        writer.line(f"void {name}_bwd({self._indices}, inout {pair})")
        with writer.block():
            if self._flows(modes, Mode.BACKWARD):
                writer.line(f"{self.spell.declare(self._element, 'd')} = {self._zero};")
                writer.line("if (sa.present)")
                with writer.block():
                    for index, part in self._parts("d"):
                        writer.line(f"{part} = sa.take_held({self.names.gradient}[{index}]);")
                writer.line("value = diffPair(value.p, d);")
