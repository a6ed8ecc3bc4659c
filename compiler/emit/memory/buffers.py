"""Lay out values in buffers: one buffer for each struct field, scalars in order, element by element.

A ``float3`` parameter ``light`` is a ``StructuredBuffer<float>`` with component ``k`` of element ``i`` at ``3 * i +
k``, so that every target agrees on the stride. Scalars and 32-bit vectors of 2 and 4 components keep their type.
Bools are ``uint``. The generated functions ``load_float3`` and ``store_float3`` convert.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING

from slangad.compiler.ir import types

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from slangad.compiler.emit.text.names import NameScope
    from slangad.compiler.emit.text.writer import Writer


@dataclass(frozen=True, slots=True)
class BufferLeaf:
    """A part of a value that has a buffer of its own.

    Attributes:
        path: Struct fields (and tuple indices) from the value to the part.
        outer: Extents of the arrays of structs that contain the part, outermost first.
        steps: The path in Slang, with ``None`` where an array of structs is indexed.
        type: The part's type: no struct in it.
        no_diff: True if it carries no gradient.
    """

    path: tuple[str | int, ...]
    outer: tuple[int, ...]
    steps: tuple[str | None, ...]
    type: types.Type
    no_diff: bool

    @property
    def scalar(self) -> types.Scalar:
        """The scalar the buffer holds."""
        return buffer_scalar(self.type)

    @property
    def shape(self) -> tuple[int, ...]:
        """The trailing axes of one element."""
        return (*self.outer, *shape_of(self.type))


def buffer_leaves(type_: types.Type) -> Iterator[BufferLeaf]:
    """Yield the buffers a value needs, in field order."""
    yield from _leaves(type_, BufferLeaf((), (), (), type_, no_diff=False))


def _leaves(type_: types.Type, at: BufferLeaf) -> Iterator[BufferLeaf]:
    match type_:
        case types.Struct(fields=fields):
            for f in fields:
                inner = BufferLeaf((*at.path, f.name), at.outer, (*at.steps, f.name), f.type, at.no_diff or f.no_diff)
                yield from _leaves(f.type, inner)
        case types.Array(element, size) if _has_struct(element):
            inner = BufferLeaf(at.path, (*at.outer, size), (*at.steps, None), element, at.no_diff)
            yield from _leaves(element, inner)
        case types.Tuple():
            raise TypeError("tuples have a buffer per element")
        case _:
            yield BufferLeaf(at.path, at.outer, at.steps, type_, at.no_diff or not types.carries_gradient(type_))


def _has_struct(type_: types.Type) -> bool:
    return isinstance(type_, types.Struct) or (isinstance(type_, types.Array) and _has_struct(type_.element))


def shape_of(type_: types.Type) -> tuple[int, ...]:
    """Return the trailing axes of one value in a buffer."""
    match type_:
        case types.Vector(size=size):
            return (size,)
        case types.Matrix(rows=rows, columns=columns):
            return (rows, columns)
        case types.Array(element, size):
            return (size, *shape_of(element))
        case _:
            return ()


def components_of(type_: types.Type) -> int:
    """Return the number of scalars of a value in a buffer."""
    return math.prod(shape_of(type_))


def scalar_of(type_: types.Type) -> types.Scalar:
    """Return the scalar type of a value without structs."""
    while isinstance(type_, types.Array):
        type_ = type_.element
    element = types.element_of(type_)
    if element is None:
        raise TypeError(f"{types.show(type_)} does not lie in one buffer")
    return element


def buffer_scalar(type_: types.Type) -> types.Scalar:
    """Return the scalar a buffer of a type holds; ``uint`` for bools."""
    scalar = scalar_of(type_)
    return types.UINT if scalar == types.BOOL else scalar


def comes_apart(type_: types.Type) -> bool:
    """Return True if a uniform is passed field by field, because some fields need another type.

    WGSL has no bools there, and no rows of halfs; slangpy takes no matrices of them.
    """
    return any(_is_resent(leaf.type) for leaf in buffer_leaves(type_))


def _is_resent(type_: types.Type) -> bool:
    scalar = scalar_of(type_)
    return scalar == types.BOOL or (scalar == types.HALF and isinstance(type_, (types.Array, types.Matrix)))


def element_type(type_: types.Type) -> types.Type:
    """Return the element type of a part's buffer: the part's if all targets agree on its stride, else its scalar."""
    if isinstance(type_, types.Vector) and type_.size in (2, 4) and type_.element.name in ("float", "int", "uint"):
        return type_
    return buffer_scalar(type_)


def chosen_case(cases: Sequence[str], number: str) -> str:
    """Return the expression for the case of an enum that an integer selects."""
    tests = (f"uint({number}) % {len(cases)} == {k} ? {case} : " for k, case in enumerate(cases[:-1]))
    return f"({''.join(tests)}{cases[-1]})"


class Accessors:
    """The functions by which a module's kernels use buffers. Every requested function is printed.

    ``load`` reads a part and ``store`` writes it. ``add`` adds to the buffer's value. ``take`` reads a part and stores
    zero.
    """

    def __init__(self, scope: NameScope) -> None:
        self._scope = scope
        self._names: dict[tuple[str, types.Type], str] = {}

    def load(self, buffer: str, index: str, type_: types.Type, *, written: bool = False) -> str:
        """Return an expression that reads a part; ``written`` says that the buffer is one that kernels may write."""
        if isinstance(type_, types.Scalar) and type_.cases:
            return chosen_case(type_.cases, f"{buffer}[{index}]")
        if element_type(type_) == type_:
            return f"{buffer}[{index}]"
        if type_ == types.BOOL:
            return f"{buffer}[{index}] != 0"
        return f"{self._name('load_written' if written else 'load', type_)}({buffer}, {index})"

    def store(self, buffer: str, index: str, type_: types.Type, value: str) -> str:
        """Return a statement that writes a part."""
        if isinstance(type_, types.Scalar) and type_.cases:
            return f"{buffer}[{index}] = int({value});"
        if element_type(type_) == type_:
            return f"{buffer}[{index}] = {value};"
        if type_ == types.BOOL:
            return f"{buffer}[{index}] = uint({value});"
        return f"{self._name('store', type_)}({buffer}, {index}, {value});"

    def add(self, buffer: str, index: str, type_: types.Type, value: str) -> str:
        """Return a statement that adds to a part."""
        if element_type(type_) == type_:
            return f"{buffer}[{index}] += {value};"
        return f"{self._name('add', type_)}({buffer}, {index}, {value});"

    def take(self, buffer: str, index: str, type_: types.Type) -> str:
        """Return an expression that reads a part and stores zero."""
        return f"{self._name('take', type_)}({buffer}, {index})"

    def _name(self, verb: str, type_: types.Type) -> str:
        if (verb, type_) not in self._names:
            if isinstance(type_, types.Array):
                self._touch(verb, type_.element)
            self._names[verb, type_] = self._scope.fresh(f"{verb}_{_word(type_)}")
        return self._names[verb, type_]

    def _touch(self, verb: str, type_: types.Type) -> None:
        if verb == "take" or (element_type(type_) != type_ and type_ != types.BOOL):
            self._name(verb, type_)

    def print_functions(self, writer: Writer) -> None:
        """Print every requested function."""
        for (verb, type_), name in tuple(self._names.items()):
            writer.gap()
            if verb in ("store", "add"):
                self._print_store(writer, type_, name, verb)
            else:
                self._print_load(writer, type_, name, verb)

    def _print_load(self, writer: Writer, type_: types.Type, name: str, verb: str) -> None:
        kind = "StructuredBuffer" if verb == "load" else "RWStructuredBuffer"
        writer.line(f"{_plain(type_)} {name}({kind}<{types.show(element_type_of(type_))}> source, uint i)")
        with writer.block():
            if isinstance(type_, types.Array):
                self._print_load_entries(writer, type_, verb)
                return
            if verb == "take":
                _print_take(writer, type_)
                return
            test = " != 0" if types.element_of(type_) == types.BOOL else ""
            parts = [f"source[{index}]{test}" for _, index in _entries(type_)]
            writer.line(f"return {types.show(type_)}({', '.join(parts)});")

    def _print_load_entries(self, writer: Writer, type_: types.Array, verb: str) -> None:
        index = f"{type_.size} * i + k"
        entry = (
            self.take("source", index, type_.element)
            if verb == "take"
            else self.load("source", index, type_.element, written=verb == "load_written")
        )
        writer.line(f"{_plain(type_)} value;")
        writer.line(f"for (uint k = 0; k < {type_.size}; ++k)")
        with writer.indented():
            writer.line(f"value[k] = {entry};")
        writer.line("return value;")

    def _print_store(self, writer: Writer, type_: types.Type, name: str, verb: str) -> None:
        holds = types.show(element_type_of(type_))
        writer.line(f"void {name}(RWStructuredBuffer<{holds}> target, uint i, {_plain(type_)} value)")
        with writer.block():
            if isinstance(type_, types.Array):
                put = self.store if verb == "store" else self.add
                writer.line(f"for (uint k = 0; k < {type_.size}; ++k)")
                with writer.indented():
                    writer.line(put("target", f"{type_.size} * i + k", type_.element, "value[k]"))
                return
            for entry, index in _entries(type_):
                value = f"uint(value{entry})" if types.element_of(type_) == types.BOOL else f"value{entry}"
                writer.line(f"target[{index}] {'=' if verb == 'store' else '+='} {value};")


def _print_take(writer: Writer, type_: types.Type) -> None:
    """Print a function that returns the value in ``source`` and stores zero there."""
    indices = ["i"] if element_type(type_) == type_ else [index for _, index in _entries(type_)]
    parts = ", ".join(f"source[{index}]" for index in indices)
    writer.line(f"{types.show(type_)} value = {parts if len(indices) == 1 else f'{types.show(type_)}({parts})'};")
    zero = f"{types.show(type_)}(0)" if len(indices) == 1 else "0"
    for index in indices:
        writer.line(f"source[{index}] = {zero};")
    writer.line("return value;")


def element_type_of(type_: types.Type) -> types.Type:
    """Return the element type of the buffer of a possibly nested array."""
    while isinstance(type_, types.Array):
        type_ = type_.element
    return element_type(type_)


def _plain(type_: types.Type) -> str:
    return f"{_plain(type_.element)}[{type_.size}]" if isinstance(type_, types.Array) else types.show(type_)


def _word(type_: types.Type) -> str:
    return f"{_word(type_.element)}_{type_.size}" if isinstance(type_, types.Array) else types.show(type_)


def _entries(type_: types.Type) -> Iterator[tuple[str, str]]:
    """Yield each scalar of a vector or matrix with its index in the buffer."""
    match type_:
        case types.Vector(size=size):
            for k in range(size):
                yield f".{'xyzw'[k]}", _place(size, k)
        case types.Matrix(rows=rows, columns=columns):
            for row in range(rows):
                for column in range(columns):
                    yield f"[{row}][{column}]", _place(rows * columns, row * columns + column)
        case _:
            raise TypeError(f"{types.show(type_)} has no entries")


def _place(stride: int, offset: int) -> str:
    return f"{stride} * i + {offset}" if offset else f"{stride} * i"
