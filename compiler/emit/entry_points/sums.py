"""Plan the sums over all threads: the scalars that a kernel sums, their slots, and the buffers of the totals.

A sum of an entry point has a slot for every scalar of its ``Sum`` and ``Mean`` results, then of the gradients of its
``Param``s. The scalars of one leaf are adjacent, as in its buffer.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Final

from slangad.compiler.emit.entry_points.memory_classes import field_path
from slangad.compiler.emit.library import sums_namespace
from slangad.compiler.emit.memory.additions import print_addition
from slangad.compiler.emit.memory.buffers import BufferLeaf, buffer_leaves, components_of, shape_of
from slangad.compiler.emit.memory.tensors import SummedTensor, total_scalar
from slangad.compiler.emit.model import EntryParameter, ParameterRole
from slangad.compiler.ir import types

if TYPE_CHECKING:
    from collections.abc import Iterator

    from slangad.compiler.emit.entry_points.memory_classes import KernelScope
    from slangad.compiler.emit.memory.matrices import MatrixSums
    from slangad.compiler.emit.text.writer import Writer

_FEW: Final = 16
"""Totals. Up to this number, a thread adds up several elements at the same time."""
_INTEGERS: Final = (types.INT, types.UINT)


@dataclass(frozen=True, slots=True)
class SumSlot:
    """The sums of one leaf: its first slot, and the buffer that gets the totals.

    With ``mean``, the total is divided by the number of elements. With ``added``, it is added to the buffer's value.
    ``tensor`` is the tensor whose elements are summed, if it is no single value.
    """

    parameter: str
    role: ParameterRole
    leaf: BufferLeaf
    first: int
    mean: bool = False
    added: bool = False
    tensor: SummedTensor | None = None

    @property
    def count(self) -> int:
        """The number of its scalars."""
        count = components_of(self.leaf.type)
        for extent in self.leaf.outer:
            count *= extent
        return count

    @property
    def matrix(self) -> MatrixSums | None:
        """The sums that the threads of a group hold together; None if each thread has all its sums."""
        return self.tensor.matrix if self.tensor else None

    @property
    def scalar(self) -> types.Scalar:
        """The scalar type of its totals."""
        scalar = self.leaf.scalar
        return scalar if scalar in _INTEGERS else total_scalar(self.leaf.type)

    @property
    def whole(self) -> bool:
        """Return True if it is a sum of integers."""
        return self.leaf.scalar in _INTEGERS


@dataclass(frozen=True, slots=True)
class SumGroup:
    """The sums of an entry point that are added up in one type of number; ``word`` begins their names.

    Integers are added up as uints, because these wrap around on every target. The sums are the same.
    """

    slots: tuple[SumSlot, ...]
    word: str

    @property
    def count(self) -> int:
        """The number of scalars that are added up."""
        return sum(slot.count for slot in self.slots)

    @property
    def summed_scalars(self) -> int:
        """The number of scalars that each thread adds up by itself; they come first."""
        return sum(slot.count for slot in self.slots if not slot.matrix)

    @property
    def scalar(self) -> types.Scalar:
        """The type in which a thread adds up: double if any sum is double."""
        if self.slots[0].whole:
            return types.UINT
        return types.DOUBLE if any(slot.scalar == types.DOUBLE for slot in self.slots) else types.FLOAT

    @property
    def library(self) -> str:
        """The namespace of the functions that add up."""
        return sums_namespace(self.scalar)

    def named(self, what: str) -> str:
        """Return the name of something these sums have: ``sums``, ``integer_sums``."""
        return f"{self.word}_{what}" if self.word else what


class Slots:
    """The sums of an entry point, in the order of the requests for them; with ``together``, a group works in turns."""

    def __init__(self, *, together: bool = False) -> None:
        self.all: list[SumSlot] = []
        self._together = together

    @property
    def count(self) -> int:
        """The number of scalars that are added up."""
        return sum(slot.count for slot in self.all)

    @property
    def groups(self) -> tuple[SumGroup, ...]:
        """The sums by the type in which they are added up."""
        floating = tuple(slot for slot in self.all if not slot.whole)
        whole = tuple(slot for slot in self.all if slot.whole)
        groups = (SumGroup(floating, ""), SumGroup(whole, "integer" if floating else ""))
        return tuple(group for group in groups if group.slots)

    @property
    def side_by_side(self) -> bool:
        """Return True if a thread of the CPU has several sums of each total, so that additions do not wait."""
        return 0 < self.count <= _FEW and not self._together

    def add(
        self, parameter: str, role: ParameterRole, type_: types.Type, *, mean: bool = False, added: bool = False
    ) -> None:
        """Add the slots of a value; of gradients and tangents only those of parts that carry them."""
        for leaf in buffer_leaves(type_):
            if role is ParameterRole.RESULT or not leaf.no_diff:
                slot = SumSlot(parameter, role, leaf, 0, mean, added)
                before = sum(other.count for other in self.all if other.whole == slot.whole)
                self.all.append(replace(slot, first=before))

    def add_tensor(self, parameter: str, tensor: SummedTensor) -> None:
        """Add the slots of the gradient of a tensor's elements."""
        type_ = tensor.element
        for extent in reversed(tensor.reach):
            type_ = types.Array(type_, extent)
        self.add(parameter, ParameterRole.GRADIENT, type_, added=True)
        leaf = replace(self.all[-1].leaf, path=tensor.path)
        self.all[-1] = replace(self.all[-1], tensor=tensor, leaf=leaf)

    def of(self, parameter: str, role: ParameterRole) -> tuple[SumSlot, ...]:
        """Return the slots of one value."""
        return tuple(slot for slot in self.all if (slot.parameter, slot.role) == (parameter, role))

    def group_of(self, slot: SumSlot) -> SumGroup:
        """Return the group that a slot is in."""
        return next(group for group in self.groups if slot in group.slots)


def print_additions(
    scope: KernelScope, writer: Writer, all_: Slots, value_of: tuple[str, ParameterRole], type_: types.Type, value: str
) -> None:
    """Add a value of a type to the thread's sums; ``value_of`` is the parameter or result and its role."""
    for slot in all_.of(*value_of):
        group = all_.group_of(slot)
        way = f"[{group.library}.side({scope.local('way')})]" if all_.side_by_side else ""
        sums = scope.local(group.named("sums"))
        counters = scope.counters(slot.leaf)
        place = str(slot.first)
        if counters:
            index, size = scope.shared.entry_index(slot.leaf), components_of(slot.leaf.type)
            step = f"({index}) * {size}" if size > 1 and " " in index else f"{index} * {size}" if size > 1 else index
            place = f"{slot.first} + {step}"
        part = f"{value}{field_path(scope, type_, slot.leaf, counters)}"
        for level, (counter, extent) in enumerate(zip(counters, slot.leaf.outer, strict=True)):
            with writer.indented(level):
                writer.line("[ForceUnroll]")
                writer.line(f"for (uint {counter} = 0; {counter} < {extent}; ++{counter})")
        with writer.indented(len(counters)):
            if counters:
                with writer.block():
                    print_addition(writer, (sums, way), place, slot.leaf.type, part, scope.local)
            else:
                print_addition(writer, (sums, way), place, slot.leaf.type, part, scope.local)


def total_parameters(scope: KernelScope, group: SumGroup) -> Iterator[EntryParameter]:
    """Yield the buffers that get the totals."""
    for slot in group.slots:
        tensor = slot.tensor
        yield EntryParameter(
            name=scope.buffer(slot.parameter, slot.leaf, slot.role),
            role=slot.role,
            parameter=slot.parameter,
            path=slot.leaf.path,
            scalar=slot.scalar,
            shape=shape_of(tensor.element) if tensor and tensor.extents else slot.leaf.shape,
            type=f"RWStructuredBuffer<{slot.scalar.name}>",
            access="add" if slot.added else "write",
            axes=len(tensor.reach) if tensor and tensor.extents else 0,
        )


def print_totals(scope: KernelScope, writer: Writer, group: SumGroup, which: str, total: str, count: str) -> None:
    """Print the store of a slot's total into its buffer."""
    for position, slot in enumerate(group.slots):
        last = position == len(group.slots) - 1
        if len(group.slots) > 1:
            branch = "if" if position == 0 else "else" if last else "else if"
            writer.line(branch if last else f"{branch} ({which} < {slot.first + slot.count})")
        index = "0" if slot.count == 1 else f"{which} - {slot.first}" if slot.first else which
        value = f"{total} / max({count}, 1)" if slot.mean else total
        if group.scalar != slot.scalar:
            value = f"{slot.scalar.name}({value})"
        buffer = scope.buffer(slot.parameter, slot.leaf, slot.role)
        if slot.tensor and slot.tensor.extents:
            with writer.block():
                addition = f"{buffer}[{{}}] += {value};"
                _print_element_total(scope, writer, slot.tensor, slot.tensor.extents, index, addition)
            continue
        with writer.indented(1 if len(group.slots) > 1 else 0):
            writer.line(f"{buffer}[{index}] {'+=' if slot.added else '='} {value};")


def _print_element_total(
    scope: KernelScope, writer: Writer, tensor: SummedTensor, parameter: EntryParameter, index: str, addition: str
) -> None:
    """Print the addition of a total to an element, if the tensor has it; ``addition`` takes the scalar's number.

    ``parameter`` holds the tensor's extents.
    """
    at, place, extents, rank = scope.local("at"), scope.local("place"), parameter.name, len(tensor.reach)
    size = components_of(tensor.element)
    writer.line(f"uint {at} = {index};")
    element = f"{at} / {size}" if size > 1 else at
    parts: list[str] = []
    for axis, extent in enumerate(tensor.reach):
        inner = math.prod(tensor.reach[axis + 1 :])
        part = f"{element} / {inner}" if inner > 1 else element
        parts.append(f"{part} % {extent}" if axis else part)
    made = parts[0] if rank == 1 else f"uint{rank}({', '.join(parts)})"
    writer.line(f"{parameter.type} {place} = {made};")
    flat = place if rank == 1 else f"{place}.x"
    for axis in range(1, rank):
        flat = f"{f'({flat})' if ' ' in flat else flat} * {extents}.{'xyzw'[axis]} + {place}.{'xyzw'[axis]}"
    if size > 1:
        flat = f"{f'({flat})' if ' ' in flat else flat} * {size} + {at} % {size}"
    writer.line(f"if ({f'{place} < {extents}' if rank == 1 else f'all({place} < {extents})'})")
    with writer.indented():
        writer.line(addition.format(flat))
