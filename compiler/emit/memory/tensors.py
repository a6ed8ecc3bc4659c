"""Print tensors: global buffers, and a function with its derivatives for each way to access them.

A tensor ``w`` of kernel ``fit`` becomes ``fit_w``, its extents, its gradient, and ``fit_w_read(i, j)``. A tensor that
is written becomes ``fit_w_write(i, j, value)``, and one that threads add to ``fit_w_add(i, j, value)``.
docs/decisions/memory.md describes how threads share the gradient.
"""

from __future__ import annotations

import math
from collections import Counter
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Final

from slangad.compiler.emit.memory.additions import print_addition
from slangad.compiler.emit.memory.buffers import buffer_scalar, components_of, element_type_of, shape_of
from slangad.compiler.emit.memory.matrices import print_times
from slangad.compiler.emit.model import COPIED_SCALARS, EXACT_WORDS, MANY_COPIES, EntryParameter, Mode, ParameterRole
from slangad.compiler.ir import types
from slangad.compiler.ir.memory_parts import scalar_count
from slangad.compiler.ir.nodes import Accumulation

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping, Sequence

    from slangad.compiler.emit.memory.blocks import BlockSums
    from slangad.compiler.emit.memory.buffers import Accessors
    from slangad.compiler.emit.memory.matrices import MatrixSums
    from slangad.compiler.emit.text.names import NameScope
    from slangad.compiler.emit.text.types import TypeSpeller
    from slangad.compiler.emit.text.writer import Writer
    from slangad.compiler.ir.nodes import Buffer, Kernel, Module


@dataclass(frozen=True, slots=True)
class MemoryNames:
    """The names of the parts of one tensor or texture in Slang; a ``passive`` one gets no gradient.

    ``sums`` are the totals of an output that threads add to, and ``tangent_sums`` those of its tangent; or what a
    thread adds to the elements of a block, between ``begin`` and ``end``. ``noted`` has what a thread keeps for each of
    its exact totals.
    """

    values: str
    extents: str
    at: str
    read: str
    read_as_float: str
    write: str
    gradient: str
    copies: str
    tangent: str
    filter: str
    sample: str
    times: str
    holder: str
    first: str
    passive: bool = field(default=False, kw_only=True)
    sums: str = field(default="", kw_only=True)
    tangent_sums: str = field(default="", kw_only=True)
    begin: str = field(default="", kw_only=True)
    end: str = field(default="", kw_only=True)
    noted: Mapping[str, str] = field(default_factory=dict, kw_only=True)


def name_memory(scope: NameScope, buffer: Buffer) -> MemoryNames:
    """Return names for all parts that a tensor or texture may need."""
    stem = "_".join((buffer.kernel, buffer.param, *buffer.path))
    summed = buffer.accumulation is Accumulation.SUM or buffer.accumulation.is_matrix
    gradient = "adjoint" if _writes(buffer) else "totals" if is_scattered(buffer) else "sums" if summed else "grad"
    write = "_add" if buffer.added else "_write"
    words = (
        "", "_extents", "_at", "_read", "_read_float", write, f"_{gradient}", "_copies", "_tangent", "_filter",
        "_sample", "_times", "_held", "_first",
    )  # fmt: skip
    names = MemoryNames(*(scope.fresh(f"{stem}{word}") for word in words), passive=buffer.no_diff)
    totals: tuple[str, ...] = (names.gradient,)
    if buffer.block:
        sums, begin, end = (scope.fresh(f"{stem}_{word}") for word in ("sums", "begin", "end"))
        return replace(names, sums=sums, begin=begin, end=end)
    if buffer.added:
        totals = (scope.fresh(f"{stem}_totals"), scope.fresh(f"{stem}_tangent_totals"))
        names = replace(names, sums=totals[0], tangent_sums=totals[1])
    return replace(names, noted={t: scope.fresh(f"{t}_noted") for t in totals}) if is_exact(buffer) else names


def _writes(buffer: Buffer) -> bool:
    return isinstance(buffer.type, types.Tensor) and buffer.type.writes


def is_scattered(buffer: Buffer) -> bool:
    """Return True if its gradient goes through totals, or the values that threads add to it."""
    ways = (Accumulation.SCATTER, Accumulation.TOGETHER, Accumulation.SHARED, Accumulation.EXACT)
    return buffer.accumulation in ways and (buffer.added or not _writes(buffer))


def is_exact(buffer: Buffer) -> bool:
    """Return True if its totals are sums without rounding."""
    return is_scattered(buffer) and buffer.accumulation is Accumulation.EXACT


def is_copied(buffer: Buffer) -> bool:
    """Return True if groups keep no sums of it, but its totals have many copies: looking for a slot takes longer."""
    return buffer.accumulation is Accumulation.SCATTER and is_scattered(buffer) and _scalars(buffer) in _COPIED


_UNKEPT: Final = "sa.UNKEPT"
_KEPT: Final = 15
"""Tensors. Groups can keep sums of this many in a kernel (``PLACE_BITS`` of templates/slangad_tensors.slang)."""
_COPIED: Final = range(1 << 14, COPIED_SCALARS // MANY_COPIES + 1)
"""Scalars of a ``Param`` that has ``MANY_COPIES`` of its totals, and of which the slots of a group hold an eighth."""


def kept_buffers(module: Module) -> dict[str, int]:
    """Return the buffers whose sums a group of threads keeps in shared memory, by key, each with its number there.

    Elements that many threads access at different times come first. If all threads access one at a time, waves add up.
    Tables that have many copies take none of it.
    """
    numbers: dict[str, int] = {}
    taken: Counter[str] = Counter()
    for buffer in sorted(module.buffers, key=lambda b: b.accumulation is Accumulation.SHARED):
        kernel = buffer.kernel
        summed = types.carries_gradient(buffer.type) if buffer.added else has_gradient(buffer)
        kept = is_scattered(buffer) and not is_exact(buffer) and not is_copied(buffer)
        if kept and summed and taken[kernel] < _KEPT:
            numbers[buffer.key] = taken[kernel]
            taken[kernel] += 1
    return numbers


def _scalars(buffer: Buffer) -> int:
    """Return the number of scalars of an array of a ``Param``; 0 of memory whose extents are known at launch only."""
    is_array = isinstance(buffer.type, types.Tensor) and buffer.extents
    return math.prod(buffer.extents) * scalar_count(buffer.type.element) if is_array else 0


def scatter_call(buffer: Buffer, names: MemoryNames, totals: str, size: str, kept: int | None) -> str:
    """Return the start of a call that adds to the buffer's totals.

    Args:
        buffer: The buffer.
        names: The names of its parts.
        totals: The name of the totals.
        size: The number of scalars of all copies.
        kept: Its number if groups keep its sums.
    """
    if is_exact(buffer):
        noted = names.noted[totals]
        return f"{noted} = sa.scatter_exactly({totals}, {size}, {noted}"
    if not types.carries_gradient(buffer.type):
        return f"sa.scatter_integers({totals}"
    number = kept_number(buffer, kept)
    if buffer.accumulation is Accumulation.TOGETHER:
        return f"sa.scatter_together({totals}, {number}"
    return f"sa.scatter({totals}" if number == _UNKEPT else f"sa.scatter_kept({totals}, {number}"


def kept_number(buffer: Buffer, kept: int | None) -> str:
    """Return by what number additions know a buffer: that of one whose sums groups keep, or of others."""
    if kept is not None:
        return str(kept)
    return "sa.COPIED" if is_copied(buffer) else _UNKEPT


def has_gradient(buffer: Buffer) -> bool:
    """Return True if gradient flows into it, or out of the values that are stored in it."""
    return not buffer.no_diff and (_writes(buffer) or buffer.accumulation is not Accumulation.NONE)


def total_scalar(type_: types.Type) -> types.Scalar:
    """Return the scalar type of sums over threads: that of the type, float for half, and uint for int."""
    scalar = buffer_scalar(type_)
    if types.is_integral(scalar):
        return types.UINT
    return types.DOUBLE if scalar == types.DOUBLE else types.FLOAT


def print_noted(writer: Writer, names: MemoryNames, declared: Iterable[str]) -> None:
    """Print what a thread keeps for each of the exact totals that are declared."""
    for totals in declared:
        if totals in names.noted:
            writer.line(f"static uint {names.noted[totals]} = 0; // planes of the totals that the thread has noted")


def print_attributes(writer: Writer, name: str) -> None:
    """Print the attributes that name both derivatives of a generated function."""
    writer.line(f"[ForwardDerivative({name}_fwd)]")
    writer.line(f"[BackwardDerivative({name}_bwd)]")


def totals_parameters(buffer: Buffer, names: MemoryNames, shape: tuple[int, ...]) -> Iterator[EntryParameter]:
    """Return the parameters of a scattered gradient: its totals and the number of copies."""
    yield totals_parameter(buffer, names.gradient, shape)
    yield copies_parameter(buffer, names)


def totals_parameter(
    buffer: Buffer, name: str, shape: tuple[int, ...], role: ParameterRole = ParameterRole.TOTALS, access: str = "add"
) -> EntryParameter:
    """Return the totals of a gradient, of values, or of tangents."""
    integers = not types.carries_gradient(buffer.type)
    total = "Exact" if is_exact(buffer) else "IntegerTotal" if integers else "Total"
    return EntryParameter(
        name, role, buffer.param, buffer.path, *_totals_layout(buffer, shape), f"RWStructuredBuffer<sa.{total}>",
        access, axes=rank_of(buffer), shared=True, together=buffer.accumulation is Accumulation.TOGETHER,
        copied=is_copied(buffer),
    )  # fmt: skip


def copies_parameter(buffer: Buffer, names: MemoryNames) -> EntryParameter:
    """Return the number of copies of totals."""
    return EntryParameter(
        names.copies, ParameterRole.COPIES, buffer.param, buffer.path, types.UINT, (), "uint", "value", axes=0,
        shared=True,
    )  # fmt: skip


def _totals_layout(buffer: Buffer, shape: tuple[int, ...]) -> tuple[types.Scalar, tuple[int, ...]]:
    """Return the scalar type of totals, and the axes of those of one element."""
    shape = (*buffer.extents, *shape)
    if is_exact(buffer):
        return types.UINT, (*shape, EXACT_WORDS)
    return types.FLOAT if types.carries_gradient(buffer.type) else types.UINT, shape


_TOTALS_OF: Final = {
    ParameterRole.GRADIENT: (ParameterRole.TOTALS, "gradient"),
    ParameterRole.RESULT: (ParameterRole.TOTALS, "values"),
    ParameterRole.RESULT_TANGENT: (ParameterRole.TANGENT_TOTALS, "tangent"),
}
"""By role of the array that is made of totals: the role of the totals, and the array's name in Slang."""


def print_first(writer: Writer, names: MemoryNames) -> None:
    """Print where a group's copy of the totals begins: a thread keeps it, since it takes a remainder."""
    writer.line(f"static uint {names.first}; // the first element of the group's copy of the totals")


def copies_parameters(
    buffer: Buffer, scalar: types.Scalar, shape: tuple[int, ...], target: ParameterRole = ParameterRole.GRADIENT
) -> tuple[EntryParameter, ...]:
    """Return the parameters of the entry point that adds up copies: numbers of scalars and copies, totals, target."""
    totals_role, word = _TOTALS_OF[target]

    def value(word: str, role: ParameterRole) -> EntryParameter:
        return EntryParameter(word, role, buffer.param, buffer.path, types.UINT, (), "uint", "value", axes=0)

    def memory(
        word: str, role: ParameterRole, scalar: types.Scalar, shape: tuple[int, ...], type_: str, access: str
    ) -> EntryParameter:
        return EntryParameter(word, role, buffer.param, buffer.path, scalar, shape, type_, access, axes=rank_of(buffer))

    held = ("StructuredBuffer<uint>" if types.is_integral(scalar) else "StructuredBuffer<sa.Copied>", "read")
    held = ("RWStructuredBuffer<sa.ExactWord>", "change") if is_exact(buffer) else held
    added, shape_added = f"RWStructuredBuffer<{scalar.name}>", (*buffer.extents, *shape)
    return (
        value("count", ParameterRole.DOMAIN),
        value("copies", ParameterRole.COPIES),
        memory("totals", totals_role, *_totals_layout(buffer, shape), *held),
        memory(word, target, scalar, shape_added, added, "add"),
    )


def rank_of(buffer: Buffer) -> int:
    """Return the number of axes that are known at launch only."""
    if buffer.extents:
        return 0
    return buffer.type.rank if isinstance(buffer.type, types.Tensor) else 2


@dataclass(frozen=True, slots=True)
class SummedTensor:
    """A tensor of which all threads read the same few elements, the first ``reach`` along each axis.

    Attributes:
        sums: The name of a thread's sums, to which the derivative of reading adds.
        extents: The tensor's extents; None if they are known and all elements are summed.
        element: Their type.
        path: The fields from the parameter to the tensor.
        matrix: The sums that the threads of a group hold together, if each does not have sums of all elements.
    """

    sums: str
    extents: EntryParameter | None
    element: types.Type
    reach: tuple[int, ...]
    path: tuple[str, ...] = ()
    matrix: MatrixSums | None = None


@dataclass(frozen=True, slots=True)
class TensorPrinter:
    """One tensor. It prints its declarations and functions, and lists the parameters that entry points need for it.

    ``kept`` is its number among the tensors whose sums groups keep in shared memory; None if it is not one of them.
    ``matrix`` is there if all its uses are products. ``block`` is there if every element
    belongs to one group. ``in_step`` is True if threads without an element repeat another
    one's: they store and add nothing. ``read_types`` are the types in which elements are read: their own, and float for
    halfs.
    """

    buffer: Buffer
    tensor: types.Tensor
    names: MemoryNames
    spell: TypeSpeller
    accessors: Accessors
    kept: int | None = None
    matrix: MatrixSums | None = None
    block: BlockSums | None = None
    in_step: bool = False
    read_types: frozenset[types.Type] = frozenset()

    # --- what entry points need ---

    @property
    def together(self) -> bool:
        """Return True if the threads of a tile add to the same element at a time."""
        return self.buffer.accumulation is Accumulation.TOGETHER

    @property
    def _totals(self) -> tuple[str, ...]:
        """Return the names of its totals."""
        return (self.names.sums, self.names.tangent_sums) if self.buffer.added else (self.names.gradient,)

    def used_by(self, module: Module, kernel: Kernel) -> bool:  # noqa: ARG002  (a probe has to ask the module)
        """Return True if it belongs to a kernel."""
        return kernel.name == self.buffer.kernel

    def parameters(self, mode: Mode) -> Iterator[EntryParameter]:
        """Yield the buffers and values that the entry point of a mode uses."""
        if self.buffer.added and is_scattered(self.buffer):
            yield from self._added(mode)
            return
        yield self._values(mode)
        if not self.buffer.extents:
            yield self._parameter(
                self.names.extents, ParameterRole.EXTENTS, self._extents_type, "value", scalar=types.UINT
            )
        if mode is Mode.FORWARD or not has_gradient(self.buffer):
            return
        if mode is Mode.JVP:
            role = ParameterRole.TANGENT if self.tensor.reads else ParameterRole.RESULT_TANGENT
            yield self._parameter(self.names.tangent, role, self._kind, "change" if self.tensor.writes else "read")
        elif self.buffer.added:
            yield self._cotangent
        elif self.tensor.writes:
            yield self._parameter(self.names.gradient, ParameterRole.ADJOINT, self._written, "change")
        elif self.buffer.accumulation is Accumulation.SUM or self.buffer.accumulation.is_matrix:
            return
        elif is_scattered(self.buffer):
            yield from totals_parameters(self.buffer, self.names, shape_of(self.tensor.element))
        elif self.block is not None:
            yield self._parameter(
                self.names.gradient, ParameterRole.GRADIENT, "RWStructuredBuffer<float>", "add", scalar=types.FLOAT
            )
        else:
            scalar, kind = total_scalar(self._summed_element), _buffer_of(self._summed_element)
            yield self._parameter(self.names.gradient, ParameterRole.GRADIENT, kind, "add", scalar=scalar)

    def _added(self, mode: Mode) -> Iterator[EntryParameter]:
        """Yield the same for an output that threads add to through totals. Reverse mode reads its cotangent only."""
        shape = shape_of(self.tensor.element)
        access = "unused" if mode is Mode.BACKWARD else "add"
        yield self._parameter(self.names.extents, ParameterRole.EXTENTS, self._extents_type, "value", scalar=types.UINT)
        yield totals_parameter(self.buffer, self.names.sums, shape, access=access)
        yield copies_parameter(self.buffer, self.names)
        if has_gradient(self.buffer) and mode is Mode.BACKWARD:
            yield self._cotangent
        if has_gradient(self.buffer) and mode is Mode.JVP:
            yield totals_parameter(self.buffer, self.names.tangent_sums, shape, ParameterRole.TANGENT_TOTALS)

    @property
    def _cotangent(self) -> EntryParameter:
        """Return the cotangent of an output that threads add to."""
        return self._parameter(self.names.gradient, ParameterRole.ADJOINT, self._written.removeprefix("RW"), "read")

    def copies_parameters(self, mode: Mode) -> Iterator[tuple[EntryParameter, ...]]:
        """Yield the parameters of each entry point that adds up copies."""
        targets = [ParameterRole.GRADIENT]
        if self.buffer.added:
            targets = [ParameterRole.RESULT]
            targets += [ParameterRole.RESULT_TANGENT] if mode is Mode.JVP and has_gradient(self.buffer) else []
        scalar, shape = total_scalar(self.tensor.element), shape_of(self.tensor.element)
        scalar = buffer_scalar(self.tensor.element) if self.buffer.added else scalar
        for target in targets:
            yield copies_parameters(self.buffer, scalar, shape, target)

    @property
    def written(self) -> bool:
        """Return True if threads store in it or add to it."""
        return self.tensor.writes

    def _values(self, mode: Mode) -> EntryParameter:
        if not self.tensor.writes:
            return self._parameter(self.names.values, ParameterRole.INPUT, self._kind, "read")
        stored = mode is not Mode.BACKWARD
        access = "change" if stored else "read" if self.tensor.reads else "unused"
        role = ParameterRole.RESULT if stored or not self.tensor.reads else ParameterRole.INPUT
        return self._parameter(self.names.values, role, self._kind, access)

    def _parameter(
        self, name: str, role: ParameterRole, type_: str, access: str, *, scalar: types.Scalar | None = None
    ) -> EntryParameter:
        value = access == "value"
        return EntryParameter(
            name=name,
            role=role,
            parameter=self.buffer.param,
            path=self.buffer.path,
            scalar=scalar or buffer_scalar(self.tensor.element),
            shape=self._value_shape(role) if value else (*self.buffer.extents, *shape_of(self.tensor.element)),
            type=type_,
            access=access,
            axes=0 if value else rank_of(self.buffer),
            shared=True,
        )

    def _value_shape(self, role: ParameterRole) -> tuple[int, ...]:
        return (self.tensor.rank,) if role is ParameterRole.EXTENTS and self.tensor.rank > 1 else ()

    @property
    def _written(self) -> str:
        return _buffer_of(self.tensor.element)

    @property
    def _summed_element(self) -> types.Type:
        """Return the type of the sums of an element's gradient."""
        return types.half_as_float(self.tensor.element)

    @property
    def _kind(self) -> str:
        return self._written if self.tensor.writes else self._written.removeprefix("RW")

    @property
    def _extents_type(self) -> str:
        return "uint" if self.tensor.rank == 1 else f"uint{self.tensor.rank}"

    # --- text ---

    def print(self, writer: Writer, modes: tuple[Mode, ...]) -> None:
        """Print the declarations for some modes, then the functions."""
        declared = {p.name: p.type for mode in modes for p in self.parameters(mode)}
        writer.gap()
        what = types.show(self.tensor)
        writer.line(f"// {self.buffer.name} of {self.buffer.kernel}: {what}{self._gradient_note(modes)}")
        for name, type_ in declared.items():
            writer.line(f"{'' if 'Buffer' in type_ else 'uniform '}{type_} {name};")
        print_noted(writer, self.names, declared)
        if is_scattered(self.buffer) and any(totals in declared for totals in self._totals):
            print_first(writer, self.names)
        if Mode.BACKWARD in modes:
            self._print_sums_of_thread(writer)
        if self.matrix is not None:
            if Mode.BACKWARD in modes:
                self.matrix.print_declaration(writer)
            if not self.matrix.is_bias:
                writer.gap()
                print_times(writer, self.matrix, self.spell, modes)
            return
        if self.tensor.rank > 1:
            self._print_at(writer)
        for read_type in self._read_types():
            self._print_read(writer, modes, read_type)
        self._print_changes(writer, modes)

    def _print_changes(self, writer: Writer, modes: tuple[Mode, ...]) -> None:
        """Print the functions that change the tensor, or its gradient for a whole group."""
        if self.tensor.writes:
            self._print_write(writer, modes)
        if Mode.BACKWARD in modes and self.block is not None:
            self.block.print_functions(writer)

    def _print_sums_of_thread(self, writer: Writer) -> None:
        """Print what a thread keeps to add up the gradients of elements by itself."""
        if self.block is not None:
            self.block.print_state(writer)
        elif self.buffer.accumulation is Accumulation.SUM:
            count = math.prod((*self.buffer.reach, components_of(self.tensor.element)))
            scalar = "double" if total_scalar(self.tensor.element) == types.DOUBLE else "sa.Sum"
            writer.line(f"static {scalar} {self.names.gradient}[{count}];")

    def _gradient_note(self, modes: tuple[Mode, ...]) -> str:
        if self.buffer.added:
            return {
                Accumulation.OWN: ". Every element belongs to one thread, which adds to it.",
                Accumulation.SHARED: ". All threads add to the same elements.",
                Accumulation.EXACT: ". Threads add to any element, without rounding.",
            }.get(self.buffer.accumulation, ". Threads add to any element.")
        if Mode.BACKWARD not in modes or not has_gradient(self.buffer) or self.tensor.writes:
            return "."
        return {
            Accumulation.OWN: ". Every element of its gradient belongs to one thread.",
            Accumulation.BLOCK: ". Every element of its gradient belongs to one group, which adds it up.",
            Accumulation.SHARED: ". All threads add to the same elements of its gradient.",
            Accumulation.SUM: ". Every thread adds up the gradients of its few elements.",
            Accumulation.MATRIX: ". The threads of a group multiply by it, and add up its gradient, together.",
            Accumulation.HALF_MATRIX: ". The threads of a group multiply by it, in half or float, and add up together.",
            Accumulation.TOGETHER: ". The threads of a tile add to the same element of its gradient at a time.",
            Accumulation.EXACT: ". Threads add to any element of its gradient, without rounding.",
        }.get(self.buffer.accumulation, ". Threads add to any element of its gradient.")

    @property
    def _indices(self) -> str:
        return ", ".join(f"int {name}" for name in "ijkl"[: self.tensor.rank])

    @property
    def _place(self) -> str:
        """Return the element's number."""
        return self.place_of("ijkl"[: self.tensor.rank])

    def _extent(self, axis: int) -> str:
        """Return the number of elements along an axis, in Slang."""
        if self.buffer.extents:
            return str(self.buffer.extents[axis])
        return self.names.extents if self.tensor.rank == 1 else f"{self.names.extents}.{'xyzw'[axis]}"

    def _print_at(self, writer: Writer) -> None:
        text = "uint(i)"
        for axis in range(1, self.tensor.rank):
            text = f"({text})" if " " in text else text
            text = f"{text} * {self._extent(axis)} + uint({'ijkl'[axis]})"
        writer.gap()
        with writer.accessor(f"uint {self.names.at}({self._indices})"):
            writer.line(f"return {text};")

    def _read_types(self) -> Iterator[types.Type]:
        """Yield the types in which functions read elements."""
        if not self.tensor.reads:
            return
        if self.tensor.element in self.read_types or not self.read_types:
            yield self.tensor.element
        yield from (type_ for type_ in self.read_types if type_ != self.tensor.element)

    def _print_read(self, writer: Writer, modes: tuple[Mode, ...], type_: types.Type) -> None:
        """Print a function that reads an element, as float if the type says so, and its derivatives."""
        name = self.names.read if type_ == self.tensor.element else self.names.read_as_float
        derived = self._derived(modes)
        writer.gap()
        if derived:
            print_attributes(writer, name)
        if self.buffer.read_again:
            writer.line("[PreferRecompute]")
        with writer.accessor(f"{self.spell(type_)} {name}({self._indices})"):
            value = self._load_as(writer, self.names.values, type_, "value")
            writer.line(f"return {value};")
        if not derived:
            return
        writer.accessor_gap()
        with writer.accessor(f"DifferentialPair<{self.spell.generic(type_)}> {name}_fwd({self._indices})"):
            if Mode.JVP in modes:
                tangent = self._load_as(writer, self.names.tangent, type_, "tangent")
            else:
                writer.line(f"{self.spell.declare(type_, 'none')} = {{}};")
                tangent = "none"
            value = self._load_as(writer, self.names.values, type_, "value")
            writer.line(f"return diffPair({value}, {tangent});")
        writer.accessor_gap()
        with writer.accessor(f"void {name}_bwd({self._indices}, {self.spell.declare(type_, 'd_out')})"):
            if Mode.BACKWARD in modes:
                self.print_return_of_absent(writer)
                self._print_add(writer, type_)

    def _load_as(self, writer: Writer, buffer: str, type_: types.Type, local: str) -> str:
        """Return the load of an element, converted to a type of the same shape. An array is converted in a local."""
        loaded = self._load(buffer)
        return loaded if type_ == self.tensor.element else self._as_float(writer, loaded, local)

    def _as_float(self, writer: Writer, value: str, local: str) -> str:
        """Return an element of halfs as float; print a local for it if it is an array."""
        element = self.tensor.element
        if not isinstance(element, types.Array):
            return f"{self.spell(self._summed_element)}({value})"
        writer.line(f"{self.spell.declare(element, f'{local}_half')} = {value};")
        writer.line(f"{self.spell.declare(self._summed_element, local)};")
        _print_conversion(writer, element, f"{local}_half", local)
        return local

    def _load(self, buffer: str) -> str:
        return self.accessors.load(buffer, self._place, self.tensor.element, written=self.tensor.writes)

    def _derived(self, modes: tuple[Mode, ...]) -> bool:
        return has_gradient(self.buffer) and len(modes) > 0 and modes != (Mode.FORWARD,)

    def _print_add(self, writer: Writer, type_: types.Type) -> None:
        """Print the addition of ``d_out``, of a type, to the element's gradient."""
        if self.block is not None:
            self.block.print_sum(writer, type_)
        elif self.buffer.accumulation is Accumulation.SUM:
            self._print_sum(writer, type_)
        elif is_scattered(self.buffer):
            self._print_scattered(writer, {self.names.gradient: "d_out"}, self.kept, type_)
        else:
            added = "d_out" if type_ == self._summed_element else self._as_float(writer, "d_out", "d_float")
            writer.line(self.accessors.add(self.names.gradient, self._place, self._summed_element, added))

    def _print_sums(self, writer: Writer, added: dict[str, str], values: str, kept: int | None) -> None:
        """Print the addition of values to their totals, or to elements that belong to the thread."""
        element = self.tensor.element
        if not is_scattered(self.buffer):
            for target, value in zip((values, self.names.tangent), added.values(), strict=False):
                writer.line(self.accessors.add(target, self._place, element, value))
            return
        self._print_scattered(writer, added, kept, element)

    def _print_scattered(self, writer: Writer, added: dict[str, str], kept: int | None, type_: types.Type) -> None:
        """Print the addition of values of a type to their totals."""
        writer.line(f"uint at = {self.total_place(self._place)};")
        scalar = types.FLOAT if is_exact(self.buffer) else total_scalar(type_)
        for totals, value in added.items():
            call = scatter_call(self.buffer, self.names, totals, self.total_size, kept)
            print_scatter(writer, call, "at", type_, value, scalar)

    def print_pair(self, writer: Writer, added: Sequence[tuple[Sequence[str], str]]) -> None:
        """Print the addition of two values to the totals of elements, each with the indices of its element."""
        element, totals = self.tensor.element, self.names.gradient
        if is_exact(self.buffer):
            for indices, value in added:
                call = scatter_call(self.buffer, self.names, totals, self.total_size, self.kept)
                print_scatter(writer, call, self.total_place(self.place_of(indices)), element, value, types.FLOAT)
            return
        places = [f"{self.total_place(self.place_of(indices))}, {value}" for indices, value in added]
        number = kept_number(self.buffer, self.kept)
        writer.line(f"sa.scatter_two({totals}, {number}, {', '.join(places)});")

    def total_place(self, place: str) -> str:
        """Return the number of the first total of an element in the group's copy."""
        size = components_of(self.tensor.element)
        place = f"uint({place})" if self.tensor.rank == 1 else place
        first = self.names.first
        return f"{size} * ({first} + {place})" if size > 1 else f"{first} + {place}"

    @property
    def total_size(self) -> str:
        """Return the number of scalars of all copies of the totals."""
        size = components_of(self.tensor.element)
        factors = (*((str(size),) if size > 1 else ()), self.names.copies, self._element_count)
        return " * ".join(factors)

    def first_of(self, group: str) -> str:
        """Return the number of the first element of a group's copy of the totals."""
        return f"({group} % {self.names.copies}) * {self._element_count}"

    @property
    def _element_count(self) -> str:
        return " * ".join(self._extent(axis) for axis in range(self.tensor.rank))

    def place_of(self, indices: Sequence[str]) -> str:
        """Return the number of an element."""
        return indices[0] if self.tensor.rank == 1 else f"{self.names.at}({', '.join(indices)})"

    def load_at(self, indices: Sequence[str], *, tangent: bool = False) -> str:
        """Return the load of an element, or of its tangent."""
        buffer = self.names.tangent if tangent else self.names.values
        return self.accessors.load(buffer, self.place_of(indices), self.tensor.element)

    def _print_sum(self, writer: Writer, type_: types.Type) -> None:
        """Print the addition of ``d_out``, of a type, to the thread's sum of the element."""
        size, place = components_of(self.tensor.element), "i"
        for name, extent in zip("jkl", self.buffer.reach[1:], strict=False):
            place = f"{f'({place})' if ' ' in place else place} * {extent} + {name}"
        if size > 1:
            place = f"{size} * {f'({place})' if ' ' in place else place}"
        writer.line(f"int at = {place};")
        print_addition(writer, (self.names.gradient, ""), "at", type_, "d_out", str)

    @property
    def summed(self) -> SummedTensor | None:
        """Return the sums that entry points add up of it, if every thread has its own sums."""
        if self.buffer.accumulation is not Accumulation.SUM and not self.buffer.accumulation.is_matrix:
            return None
        extents = next((p for p in self.parameters(Mode.FORWARD) if p.role is ParameterRole.EXTENTS), None)
        reach = self.buffer.extents if self.matrix else self.buffer.reach
        sums = self.names.gradient
        return SummedTensor(sums, extents, self.tensor.element, reach, self.buffer.path, self.matrix)

    def _print_write(self, writer: Writer, modes: tuple[Mode, ...]) -> None:
        """Print the store into an element, or the addition to it. The derivative of an addition keeps the cotangent."""
        element, name, added = self.tensor.element, self.names.write, self.buffer.added
        derived = self._derived(modes)
        pair = f"DifferentialPair<{self.spell.generic(element)}> value"
        writer.gap()
        if derived:
            print_attributes(writer, name)
        with writer.accessor(f"void {name}({self._indices}, {self.spell.declare(element, 'value')})"):
            store = self._store(self.names.values, "value")
            self.print_return_of_absent(writer)
            if Mode.BACKWARD in modes:
                writer.line("if (sa.replay)" if added else "if (!sa.replay)")
                with writer.indented():
                    writer.line("return;" if added else store)
            elif not added:
                writer.line(store)
            if added:
                self._print_sums(writer, {self.names.sums: "value"}, self.names.values, self.kept)
        if not derived:
            return
        writer.accessor_gap()
        with writer.accessor(f"void {name}_fwd({self._indices}, {pair})"):
            self.print_return_of_absent(writer)
            tangent = Mode.JVP in modes
            if added:
                sums = {self.names.sums: "value.p", **({self.names.tangent_sums: "value.d"} if tangent else {})}
                self._print_sums(writer, sums, self.names.values, None)
            else:
                writer.line(self._store(self.names.values, "value.p"))
                if tangent:
                    writer.line(self._store(self.names.tangent, "value.d"))
        writer.accessor_gap()
        with writer.accessor(f"void {name}_bwd({self._indices}, inout {pair})"):
            if Mode.BACKWARD in modes:
                read = self.accessors.load if added else self.accessors.take
                given = read(self.names.gradient, self._place, element)
                writer.line(f"value = diffPair(value.p, {self._of_present(writer, given)});")

    def _of_present(self, writer: Writer, given: str) -> str:
        """Return what reverse mode gets of an element; zero in a thread without an element of the domain."""
        if not self.in_step:
            return given
        writer.line(f"{self.spell.declare(self.tensor.element, 'd')} = {{}};")
        writer.line("if (sa.present)")
        with writer.indented():
            writer.line(f"d = {given};")
        return "d"

    def print_return_of_absent(self, writer: Writer) -> None:
        """Print the return of a thread without an element."""
        if self.in_step:
            writer.line("if (!sa.present)")
            with writer.indented():
                writer.line("return;")

    def _store(self, buffer: str, value: str) -> str:
        return self.accessors.store(buffer, self._place, self.tensor.element, value)


def _buffer_of(element: types.Type) -> str:
    """Return the type of a buffer of elements that is written."""
    return f"RWStructuredBuffer<{types.show(element_type_of(element))}>"


def _print_conversion(writer: Writer, type_: types.Array, source: str, target: str) -> None:
    """Print the conversion of an array of halfs to one of floats, entry by entry."""
    counter = f"n{source.count('[')}"
    writer.line(f"for (int {counter} = 0; {counter} < {type_.size}; ++{counter})")
    with writer.block():
        entry, converted = f"{source}[{counter}]", f"{target}[{counter}]"
        if isinstance(type_.element, types.Array):
            _print_conversion(writer, type_.element, entry, converted)
        else:
            writer.line(f"{converted} = {types.show(types.half_as_float(type_.element))}({entry});")


def print_scatter(
    writer: Writer, call: str, at: str, type_: types.Type, value: str, added: types.Scalar = types.FLOAT
) -> None:
    """Print the addition of a value to totals. The call is open and takes several scalars from an index on."""
    match type_:
        case types.Scalar(name):
            writer.line(f"{call}, {at}, {value if name == added.name else f'{added.name}({value})'});")
        case types.Vector(element, size):
            vector = value if element == added else f"{added.name}{size}({value})"
            writer.line(f"{call}, {at}, {vector});")
        case types.Matrix(element, rows, columns):
            for row in range(rows):
                start = f"{at} + {row * columns}" if row else at
                print_scatter(writer, call, start, types.Vector(element, columns), f"{value}[{row}]", added)
        case types.Array(element, size):
            counter = f"n{value.count('[')}"
            writer.line(f"for (int {counter} = 0; {counter} < {size}; ++{counter})")
            with writer.block():
                step = components_of(element)
                start = f"{at} + {step} * {counter}" if step > 1 else f"{at} + {counter}"
                print_scatter(writer, call, start, element, f"{value}[{counter}]", added)
        case _:
            raise TypeError(f"{types.show(type_)} has no scalars in one buffer")
