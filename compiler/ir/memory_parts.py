"""The parts of a value that lie in memory one by one: arrays of numbers, vectors or matrices, and single ones."""

from __future__ import annotations

from dataclasses import dataclass, replace
from math import prod
from typing import TYPE_CHECKING

from slangad.compiler.ir.types import Array, Matrix, Struct, Tensor, Tuple, Type, Vector, carries_gradient

if TYPE_CHECKING:
    from collections.abc import Iterator


@dataclass(frozen=True, slots=True)
class MemoryPart:
    """A part of a value: the struct fields on the way to it, and arrays of an element without structs and arrays.

    ``arrays`` are the extents of all arrays on the way, outermost first. An entry of the part has one index for each.
    """

    path: tuple[str, ...]
    arrays: tuple[int, ...]
    element: Type
    no_diff: bool

    @property
    def extents(self) -> tuple[int, ...]:
        """The extents of the part as a tensor: a single number, vector or matrix is a tensor of one element."""
        return self.arrays or (1,)

    @property
    def tensor(self) -> Tensor:
        """The part as a tensor that is read."""
        return Tensor(self.element, len(self.extents))


def memory_parts(type_: Type) -> Iterator[MemoryPart]:
    """Yield the parts of a value, in the order of its fields.

    Raises:
        TypeError: The value has a tuple in it, which doesn't lie in memory.
    """
    yield from _parts(type_, MemoryPart((), (), type_, no_diff=False))


def _parts(type_: Type, at: MemoryPart) -> Iterator[MemoryPart]:
    match type_:
        case Struct(fields=fields):
            for field in fields:
                inner = replace(at, path=(*at.path, field.name), no_diff=at.no_diff or field.no_diff)
                yield from _parts(field.type, inner)
        case Array(element, size):
            yield from _parts(element, replace(at, arrays=(*at.arrays, size)))
        case Tuple():
            raise TypeError("a tuple does not lie in memory")
        case _:
            yield replace(at, element=type_, no_diff=at.no_diff or not carries_gradient(type_))


def extents_at(type_: Type, path: tuple[str, ...]) -> tuple[int, ...]:
    """Return the extents of the part at a path."""
    return next(part.extents for part in memory_parts(type_) if part.path == path)


def scalar_count(type_: Type) -> int:
    """Return the number of scalars of a value, without going through them one by one."""
    return sum(prod(part.arrays) * _scalars(part.element) for part in memory_parts(type_))


def _scalars(type_: Type) -> int:
    match type_:
        case Vector(size=size):
            return size
        case Matrix(rows=rows, columns=columns):
            return rows * columns
        case _:
            return 1
