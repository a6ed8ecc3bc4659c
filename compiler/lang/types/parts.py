"""Reads and writes of parts of values: components, swizzles, rows, entries, array items and fields."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any, Final

import numpy as np

from slangad.compiler.ir.types import Type, Vector, show
from slangad.compiler.lang.types.annotations import ir_type
from slangad.compiler.lang.types.construct import accepted
from slangad.compiler.lang.types.matrices import MatrixValue
from slangad.compiler.lang.types.records import record_of
from slangad.compiler.lang.types.tracing import Data, Traced, put, stack, take
from slangad.compiler.lang.types.values import adapted, class_of, convert, scalars_of, shown, try_type_of, wrapped
from slangad.compiler.lang.types.vectors import AnyVector, VectorValue

if TYPE_CHECKING:
    from slangad.compiler.lang.types.arrays import ArrayValue

_LETTERS: Final = ("xyzw", "rgba")
AnyMatrix = MatrixValue[Any, Any]


def position(index: object, size: int) -> int:
    """Return an index below ``size``. A negative literal counts from the end; a run-time number must not be negative.

    Raises:
        TypeError: when it is not an integer.
        IndexError: when it is outside.
    """
    if isinstance(index, bool) or not isinstance(index, (int, np.integer)):
        raise TypeError(f"an index must be an int, not {shown(index)}")
    literal = type(index) is int
    place = int(index)
    if literal and -size <= place < 0:
        return place + size
    if not 0 <= place < size:
        raise IndexError(f"index {place} is outside 0 to {size - 1}")
    return place


def places(name: str, size: int) -> list[int] | None:
    """Return the components that a swizzle names, None if a vector of this size has no such swizzle."""
    for letters in _LETTERS:
        if re.fullmatch(f"[{letters[:size]}]{{1,4}}", name):
            return [letters.index(c) for c in name]
    return None


def _places(vector: AnyVector, name: str) -> list[int]:
    components = places(name, len(vector))
    if components is None:
        raise AttributeError(f"{show(vector.slangad_type)} has no component {name!r}")
    return components


def swizzle(vector: AnyVector, name: str) -> object:
    """Return ``v.x`` or ``v.zyx``."""
    components = _places(vector, name)
    element = vector.slangad_type.element
    if len(components) == 1:
        return wrapped(take(vector.data, components[0]), element)
    if isinstance(vector.data, Traced):
        return class_of(Vector(element, len(components))).of(stack(*(take(vector.data, i) for i in components)))
    return class_of(Vector(element, len(components))).of(vector.data[components])


def set_swizzle(vector: AnyVector, name: str, value: object) -> None:
    """Store ``v.x = s`` or ``v.xz = w``.

    Raises:
        TypeError: when a component is named twice or the value does not fit.
    """
    components = _places(vector, name)
    if len(set(components)) != len(components):
        raise TypeError(f"{name!r} names a component twice and can't be assigned")
    element = vector.slangad_type.element
    wanted: Type = element if len(components) == 1 else Vector(element, len(components))
    _store(vector, components[0] if len(components) == 1 else components, _fitting(value, wanted))


def component(vector: AnyVector, index: object) -> object:
    """Return ``v[i]``."""
    return wrapped(take(vector.data, position(index, len(vector))), vector.slangad_type.element)


def set_component(vector: AnyVector, index: object, value: object) -> None:
    """Store ``v[i] = s``."""
    _store(vector, position(index, len(vector)), _fitting(value, vector.slangad_type.element))


def entry(matrix: AnyMatrix, index: object) -> object:
    """Return ``m[i]``, a row that stays part of the matrix, or ``m[i, j]``."""
    type_ = matrix.slangad_type
    if isinstance(index, tuple):
        row, column = _two(index)
        data = take(matrix.data, position(row, type_.rows), 0)
        return wrapped(take(data, position(column, type_.columns)), type_.element)
    row = position(index, type_.rows)
    data = take(matrix.data, row, 0) if isinstance(matrix.data, Traced) else matrix.data[row]
    return class_of(Vector(type_.element, type_.columns)).of(data)


def set_entry(matrix: AnyMatrix, index: object, value: object) -> None:
    """Store ``m[i] = row`` or ``m[i, j] = s``."""
    type_ = matrix.slangad_type
    if isinstance(index, tuple):
        row, column = _two(index)
        place = (position(row, type_.rows), position(column, type_.columns))
        _store(matrix, place, _fitting(value, type_.element))
        return
    _store(matrix, position(index, type_.rows), _fitting(value, Vector(type_.element, type_.columns)))


def _two(index: tuple[object, ...]) -> tuple[object, object]:
    if len(index) != 2:
        raise TypeError(f"a matrix takes one or two indices, not {len(index)}")
    return index[0], index[1]


def _fitting(value: object, wanted: Type) -> Data:
    """Return the components of a value as they are stored in a part; one number fills a part of several."""
    if isinstance(wanted, Vector) and not isinstance(value, VectorValue):
        raise TypeError(f"{shown(value)} is not {show(wanted)}")
    return adapted(convert(value, wanted), wanted)


def _store(target: AnyVector | AnyMatrix, index: Any, data: Data) -> None:  # noqa: ANN401  (as numpy takes it)
    if isinstance(target.data, Traced) or isinstance(data, Traced):
        object.__setattr__(target, "data", put(target.data, index, data))
    else:
        target.data[index] = data


def set_item(array: ArrayValue, index: object, value: object) -> None:
    """Store ``a[i] = value``."""
    array.items[position(index, array.size)] = convert(value, ir_type(array.element))


def set_field(struct: object, name: str, value: object) -> None:
    """Store ``m.name = value`` as the field's type.

    Raises:
        AttributeError: when there is no such field.
        TypeError: when the value does not fit.
    """
    record = record_of(type(struct))
    assert record is not None  # noqa: S101  (only structs store fields this way)
    for field in record.fields:
        if field.name == name:
            struct.__dict__[name] = convert(accepted(value, field.type), field.type)
            return
    raise AttributeError(f"{record.name} has no field {name!r}")


def same(a: object, b: object) -> bool:
    """Return True if two structs or arrays have one type and equal numbers."""
    return try_type_of(a) == try_type_of(b) and list(scalars_of(a)) == list(scalars_of(b))
