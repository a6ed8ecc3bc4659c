"""Define one class for each memory: entry-point parameters, loads before the call, stores after it."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Final

from slangad.compiler.emit.memory.buffers import (
    Accessors,
    BufferLeaf,
    buffer_leaves,
    comes_apart,
    element_type_of,
    scalar_of,
)
from slangad.compiler.emit.model import EntryParameter, Mode, ParameterRole
from slangad.compiler.emit.print.differentials import spell_differential, zero_differential
from slangad.compiler.ir import types

if TYPE_CHECKING:
    from collections.abc import Iterator

    from slangad.compiler.emit.print.context import ModuleNames
    from slangad.compiler.emit.text.names import NameScope
    from slangad.compiler.emit.text.writer import Writer
    from slangad.compiler.ir.nodes import KernelParam, KernelResult


_SUFFIXES: Final = {
    ParameterRole.GRADIENT: ("grad",),
    ParameterRole.COTANGENT: ("cotangent",),
    ParameterRole.TANGENT: ("tangent",),
    ParameterRole.RESULT_TANGENT: ("tangent",),
}


@dataclass(frozen=True, slots=True)
class KernelScope:
    """Shared state of one entry point's parameters: names, and the load and store functions of the module.

    ``together`` is the number of threads that take turns together; 0 if each goes its own way.
    """

    names: ModuleNames
    locals: NameScope
    accessors: Accessors
    dims: int = 1
    element: str = ""
    together: int = 0

    def buffer(self, value: str, leaf: BufferLeaf, role: ParameterRole) -> str:
        """Return the name of a buffer: ``m_albedo_grad``."""
        words = [value, *(str(step) for step in leaf.path), *_SUFFIXES.get(role, ())]
        key = " ".join((role.value, *words))
        if key not in self.locals:
            self.locals.give(key, "_".join(words))
        return self.locals[key]

    def local(self, wanted: str, of: str = "") -> str:
        """Return the name of a local of the entry point, the same each time; parameters are named before the first.

        Locals ``of`` different things have different names.
        """
        key = f"{of} {wanted}"
        if key not in self.locals:
            self.locals.give(key, wanted)
        return self.locals[key]

    @property
    def index(self) -> str:
        """The element of this thread; ``0`` in the scope of values that all threads share."""
        return self.element or self.local("i")

    @property
    def shared(self) -> KernelScope:
        """The scope for values that there is one of for all threads."""
        return replace(self, element="0")

    @property
    def axes(self) -> int:
        """Axes of the buffers before those of one value."""
        return 0 if self.element else self.dims

    def counters(self, leaf: BufferLeaf) -> list[str]:
        """Return a loop counter per array of structs on the way to a leaf."""
        return [self.local("jklm"[level]) for level in range(len(leaf.outer))]

    def entry_index(self, leaf: BufferLeaf) -> str:
        """Return the index of the leaf's entry in its buffer."""
        index = self.index
        for counter, extent in zip(self.counters(leaf), leaf.outer, strict=True):
            start = f"({index}) * {extent}" if " " in index else f"{index} * {extent}"
            index = counter if index == "0" else f"{start} + {counter}"
        return index


def buffer_parameter(
    scope: KernelScope, value: str, leaf: BufferLeaf, role: ParameterRole, *, writes: bool
) -> EntryParameter:
    """Return the entry-point parameter that is the buffer of a leaf."""
    kind = "RWStructuredBuffer" if writes else "StructuredBuffer"
    return EntryParameter(
        name=scope.buffer(value, leaf, role),
        role=role,
        parameter=value,
        path=leaf.path,
        scalar=leaf.scalar,
        shape=leaf.shape,
        type=f"{kind}<{types.show(element_type_of(leaf.type))}>",
        access="write" if writes else "read",
        axes=scope.axes,
    )


def field_path(scope: KernelScope, type_: types.Type, leaf: BufferLeaf, counters: list[str]) -> str:
    """Return the path from a value to a leaf in Slang: ``.inner.albedo`` or ``[j].center``."""
    text, at, loops = "", type_, iter(counters)
    for step in leaf.steps:
        if step is None and isinstance(at, types.Array):
            text, at = f"{text}[{next(loops)}]", at.element
        elif isinstance(at, types.Struct) and step is not None:
            text += f".{scope.names.field(at, step)}"
            at = next(f.type for f in at.fields if f.name == step)
    return text


def for_each_entry(scope: KernelScope, writer: Writer, leaf: BufferLeaf, statement: str) -> None:
    """Print a statement inside loops over the arrays of structs on the way to a leaf."""
    counters = scope.counters(leaf)
    for level, (counter, extent) in enumerate(zip(counters, leaf.outer, strict=True)):
        with writer.indented(level):
            writer.line(f"for (uint {counter} = 0; {counter} < {extent}; ++{counter})")
    with writer.indented(len(counters)):
        writer.line(statement)


def load_value(scope: KernelScope, writer: Writer, type_: types.Type, value: str, role: ParameterRole) -> str:
    """Print loads of a value of a type from its buffers, and return the expression for it.

    Tangents and cotangents have buffers only for the leaves that carry gradient; the rest is zero.
    """
    leaves = [leaf for leaf in buffer_leaves(type_) if role is ParameterRole.INPUT or not leaf.no_diff]
    read = [buffer_parameter(scope, value, leaf, role, writes=False).name for leaf in leaves]
    if len(leaves) == 1 and not leaves[0].path:
        return scope.accessors.load(read[0], scope.index, type_)
    differential = role is not ParameterRole.INPUT
    spelled = spell_differential(scope.names, type_) if differential else scope.names.spell(type_)
    start = zero_differential(scope.names, type_) if differential else "{}"
    suffix = {ParameterRole.INPUT: "value", ParameterRole.TANGENT: "direction"}.get(role, "seed")
    local = scope.local(f"{value}_{suffix}")
    if not differential and scope.names.has_external(type_):
        writer.line(f"{scope.names.spell.declare(type_, local)};")
    else:
        writer.line(f"{spelled} {local} = {start};")
    for leaf, buffer in zip(leaves, read, strict=True):
        load = scope.accessors.load(buffer, scope.entry_index(leaf), leaf.type)
        target = f"{local}{field_path(scope, type_, leaf, scope.counters(leaf))}"
        for_each_entry(scope, writer, leaf, f"{target} = {load};")
    return local


def store_value(
    scope: KernelScope, writer: Writer, type_: types.Type, value: str, stored: str, role: ParameterRole
) -> None:
    """Print the stores of a value (the expression ``stored``) into its buffers."""
    for leaf in buffer_leaves(type_):
        if leaf.no_diff and role is not ParameterRole.RESULT:
            continue
        buffer = buffer_parameter(scope, value, leaf, role, writes=True).name
        part = f"{stored}{field_path(scope, type_, leaf, scope.counters(leaf))}"
        for_each_entry(scope, writer, leaf, scope.accessors.store(buffer, scope.entry_index(leaf), leaf.type, part))


_FEWEST_ENTRIES: Final = 8
"""Entries of an array from which on threads load and store those of a group together. Less are adjacent enough."""
_MOST_ENTRIES: Final = 1024
"""Entries of the longest such array. A group's memory has to hold one on every target."""


@dataclass(frozen=True, slots=True)
class EachParam:
    """One element per thread; its gradient is one element per thread.

    ``waits`` is a local where its gradient waits for another part, ``part`` one that has such a part.
    """

    scope: KernelScope
    param: KernelParam
    waits: str = ""
    part: str = ""

    @property
    def differentiable(self) -> bool:
        """Return True if it has a gradient."""
        return not self.param.no_diff and types.carries_gradient(self.param.type)

    def parameters(self, mode: Mode) -> Iterator[EntryParameter]:
        """Yield the input buffers, then those of the gradient or the tangent."""
        name = self.param.name
        for leaf in buffer_leaves(self.param.type):
            yield buffer_parameter(self.scope, name, leaf, ParameterRole.INPUT, writes=False)
        if mode is Mode.FORWARD or not self.differentiable:
            return
        role = ParameterRole.GRADIENT if mode is Mode.BACKWARD else ParameterRole.TANGENT
        for leaf in buffer_leaves(self.param.type):
            if not leaf.no_diff:
                yield buffer_parameter(self.scope, name, leaf, role, writes=mode is Mode.BACKWARD)

    def prepare(self, writer: Writer, mode: Mode) -> None:
        """Do nothing."""

    def argument(self, writer: Writer, mode: Mode) -> str:
        """Load the element; a pair where derivatives are wanted."""
        value = self._load(writer, ParameterRole.INPUT)
        if mode is Mode.FORWARD or not self.differentiable:
            return value
        if mode is Mode.JVP:
            return f"diffPair({value}, {self._load(writer, ParameterRole.TANGENT)})"
        pair = self._pair()
        writer.line(f"DifferentialPair<{self.scope.names.spell.generic(self.param.type)}> {pair} = diffPair({value});")
        return pair

    def finish(self, writer: Writer, mode: Mode) -> None:
        """Store the gradient; all threads of a group at the same time if the element is a vector of a turn."""
        if mode is not Mode.BACKWARD or not self.differentiable:
            return
        if self.is_vector:
            writer.line(f"sa.store_vectors{self._vector(ParameterRole.GRADIENT)}, {self._pair()}.d);")
            return
        gradient = f"{self._pair()}.d"
        if self.waits:
            writer.line(f"{self.waits} = {gradient};")
            return
        if self.part:
            type_ = self.scope.names.spell.generic(self.param.type)
            writer.line(f"{self.part} = {type_}.dadd({self.part}, {gradient});")
            gradient = self.part
        store_value(self.scope, writer, self.param.type, self.param.name, gradient, ParameterRole.GRADIENT)

    @property
    def is_vector(self) -> bool:
        """Return True if the threads of a group load and store their elements together."""
        match self.param.type:
            case types.Array(types.FLOAT, size):
                return self.scope.together > 0 and _FEWEST_ENTRIES <= size <= _MOST_ENTRIES
            case _:
                return False

    def _load(self, writer: Writer, role: ParameterRole) -> str:
        """Return the element or its tangent."""
        if not self.is_vector:
            return load_value(self.scope, writer, self.param.type, self.param.name, role)
        local = self.scope.local(f"{self.param.name}_{'value' if role is ParameterRole.INPUT else 'direction'}")
        declared = self.scope.names.spell.declare(self.param.type, local)
        writer.line(f"{declared} = sa.load_vectors{self._vector(role)});")
        return local

    def _vector(self, role: ParameterRole) -> str:
        """Return the sizes and first arguments of the functions that load and store vectors of a turn."""
        (leaf,) = buffer_leaves(self.param.type)
        buffer = buffer_parameter(self.scope, self.param.name, leaf, role, writes=role is ParameterRole.GRADIENT).name
        assert isinstance(self.param.type, types.Array)  # noqa: S101  (is_vector)
        sizes = f"<{self.param.type.size}, {self.scope.together}>"
        return f"{sizes}({buffer}, {self.scope.local('turns')}, {self.scope.local('turn')}"

    def _pair(self) -> str:
        return self.scope.local(f"{self.param.name}_pair")


@dataclass(frozen=True, slots=True)
class UniformParam:
    """One value for all threads, without gradient.

    WGSL has no bools and no rows of halfs in uniforms. So bools are ``uint``, as in buffers, and matrices and arrays of
    half are ``float``. A struct with one of these is passed field by field.
    Arrays are copied entry by entry, because derivatives that read them in the uniform's memory are invalid WGSL.
    """

    scope: KernelScope
    param: KernelParam

    @property
    def differentiable(self) -> bool:
        """Return False."""
        return False

    def parameters(self, mode: Mode) -> Iterator[EntryParameter]:  # noqa: ARG002  (the same in every mode)
        """Return the value as a parameter, or one for each field of a struct that is passed field by field."""
        for leaf in buffer_leaves(self.param.type):
            entry = _entry_leaf(leaf)
            sent = _sent_type(entry) if self._is_apart else self.param.type
            yield EntryParameter(
                name=self._name(leaf),
                role=ParameterRole.UNIFORM,
                parameter=self.param.name,
                path=leaf.path,
                scalar=_sent_scalar(entry) if self._is_apart else leaf.scalar,
                shape=leaf.shape,
                type=self.scope.names.spell(sent),
                access="value",
                axes=0,
            )

    def prepare(self, writer: Writer, mode: Mode) -> None:
        """Do nothing."""

    def argument(self, writer: Writer, mode: Mode) -> str:  # noqa: ARG002  (the same in every mode)
        """Return the value itself, or a local copy of it."""
        type_, names = self.param.type, self.scope.names
        leaves = [_entry_leaf(leaf) for leaf in buffer_leaves(type_)]
        if len(leaves) == 1 and not leaves[0].steps:
            return self._read(leaves[0])
        if not self._is_apart and not any(leaf.outer for leaf in leaves):
            return self._name(leaves[0])
        local = self.scope.local(f"{self.param.name}_value")
        start = "" if names.has_external(type_) else " = {}"
        writer.line(f"{names.spell.declare(type_, local)}{start};")
        for leaf in leaves:
            target = f"{local}{field_path(self.scope, type_, leaf, self.scope.counters(leaf))}"
            for_each_entry(self.scope, writer, leaf, f"{target} = {self._read(leaf)};")
        return local

    def finish(self, writer: Writer, mode: Mode) -> None:
        """Do nothing."""

    @property
    def _is_apart(self) -> bool:
        return comes_apart(self.param.type)

    def _read(self, leaf: BufferLeaf) -> str:
        counters = self.scope.counters(leaf)
        if not self._is_apart:
            return f"{self._name(leaf)}{field_path(self.scope, self.param.type, leaf, counters)}"
        entry = f"{self._name(leaf)}{''.join(f'[{c}]' for c in counters)}"
        if _sent_scalar(leaf) == scalar_of(leaf.type):
            return entry
        return (
            f"{entry} != 0" if scalar_of(leaf.type) == types.BOOL else f"{self.scope.names.spell(leaf.type)}({entry})"
        )

    def _name(self, leaf: BufferLeaf) -> str:
        if self._is_apart:
            return self.scope.buffer(self.param.name, leaf, ParameterRole.UNIFORM)
        key = self.param.name
        if key not in self.scope.locals:
            self.scope.locals.give(key, key)
        return self.scope.locals[key]


def _entry_leaf(leaf: BufferLeaf) -> BufferLeaf:
    """Return the leaf with the arrays it consists of among those on the way to it."""
    while isinstance(leaf.type, types.Array):
        outer, steps = (*leaf.outer, leaf.type.size), (*leaf.steps, None)
        leaf = replace(leaf, outer=outer, steps=steps, type=leaf.type.element)
    return leaf


def _sent_type(leaf: BufferLeaf) -> types.Type:
    """Return the type of the parameter that brings an entry leaf, in arrays."""
    type_, scalar = leaf.type, _sent_scalar(leaf)
    type_ = replace(type_, element=scalar) if isinstance(type_, (types.Vector, types.Matrix)) else scalar
    for extent in reversed(leaf.outer):
        type_ = types.Array(type_, extent)
    return type_


def _sent_scalar(leaf: BufferLeaf) -> types.Scalar:
    """Return the scalar in which an entry leaf is passed: bools are ``uint``, halfs in rows ``float``."""
    scalar = scalar_of(leaf.type)
    if scalar == types.BOOL:
        return types.UINT
    return types.FLOAT if scalar == types.HALF and (leaf.outer or isinstance(leaf.type, types.Matrix)) else scalar


@dataclass(frozen=True, slots=True)
class ElementResult:
    """One result of a kernel; ``access`` selects it in the function's result: nothing, or ``._0`` of a tuple."""

    scope: KernelScope
    result: KernelResult
    access: str

    @property
    def differentiable(self) -> bool:
        """Return True if it can have a cotangent."""
        return types.carries_gradient(self.result.type)

    def parameters(self, mode: Mode) -> Iterator[EntryParameter]:
        """Yield the cotangent's buffers, or the result's, then those of its tangent."""
        if mode is not Mode.BACKWARD:
            yield from self._buffers(ParameterRole.RESULT, writes=True)
        if mode is not Mode.FORWARD:
            role = ParameterRole.COTANGENT if mode is Mode.BACKWARD else ParameterRole.RESULT_TANGENT
            yield from self._buffers(role, writes=mode is Mode.JVP)

    def _buffers(self, role: ParameterRole, *, writes: bool) -> Iterator[EntryParameter]:
        for leaf in buffer_leaves(self.result.type):
            if role is ParameterRole.RESULT or not leaf.no_diff:
                yield buffer_parameter(self.scope, self.result.name, leaf, role, writes=writes)

    def prepare(self, writer: Writer, mode: Mode) -> None:
        """Do nothing."""

    def seed(self, writer: Writer) -> str:
        """Load the cotangent."""
        return load_value(self.scope, writer, self.result.type, self.result.name, ParameterRole.COTANGENT)

    def store(self, writer: Writer, value: str) -> None:
        """Store the result; ``value`` is the function's result."""
        self._store(writer, f"{value}{self.access}", ParameterRole.RESULT)

    def store_tangent(self, writer: Writer, tangent: str) -> None:
        """Store the tangent of the result."""
        if self.differentiable:
            self._store(writer, f"{tangent}{self.access}", ParameterRole.RESULT_TANGENT)

    def _store(self, writer: Writer, stored: str, role: ParameterRole) -> None:
        store_value(self.scope, writer, self.result.type, self.result.name, stored, role)
