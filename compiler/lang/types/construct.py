"""Constructors: ``float3(a.xy, z)``, ``Array[float, 2](x, y)``, ``Ball(center=c)``, ``sa.zeros(T)``."""

from __future__ import annotations

from collections.abc import Mapping
from contextvars import ContextVar
from typing import TYPE_CHECKING, Any, Final

import numpy as np

from slangad.compiler.ir import types
from slangad.compiler.lang.activation import running
from slangad.compiler.lang.types.annotations import ir_type
from slangad.compiler.lang.types.matrices import MatrixValue
from slangad.compiler.lang.types.pairs import PairValue
from slangad.compiler.lang.types.records import CLASSES, FieldRecord, StructRecord, record_of
from slangad.compiler.lang.types.tracing import Data, Traced, bottom, converted, copied, spread, stack, take
from slangad.compiler.lang.types.values import DTYPES, cast, cast_integer, class_of, convert, scalar, shown
from slangad.compiler.lang.types.vectors import VectorValue

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from slangad.compiler.lang.types.arrays import ArrayValue
    from slangad.compiler.lang.types.arrays import ArrayValue as _ArrayValue

IN_DERIVATIVE: Final[ContextVar[bool]] = ContextVar("slangad_in_derivative", default=False)
"""True while a custom derivative runs. Its gradients of structs omit the fields that have no gradient."""


def vector_data(type_: types.Vector, parts: Sequence[object]) -> Data:
    """Return the components of a vector from one number, one vector, or parts that add up to its size.

    Raises:
        TypeError: if the sizes differ.
    """
    if not parts:
        return np.zeros(type_.size, DTYPES[type_.element.name])
    if len(parts) == 1 and not isinstance(parts[0], VectorValue):
        (number,) = _scalars(type_, parts[0])
        return spread(_as_array(number), (type_.size,))
    if len(parts) == 1 and isinstance(parts[0], VectorValue) and len(parts[0]) == type_.size:
        return _cast_components(parts[0].data, type_.element)
    components = [c for part in parts for c in _scalars(type_, part)]
    if len(components) != type_.size:
        raise TypeError(f"{types.show(type_)} takes {type_.size} components, not {len(components)}")
    return _joined(components, (type_.size,), type_.element)


def matrix_data(type_: types.Matrix, parts: Sequence[object]) -> Data:
    """Return the entries of a matrix from one number, one matrix, its rows, or all its entries.

    Raises:
        TypeError: when they don't fit.
    """
    shape = (type_.rows, type_.columns)
    if not parts:
        return np.zeros(shape, DTYPES[type_.element.name])
    if len(parts) == 1 and isinstance(parts[0], MatrixValue):
        if bottom(parts[0].data).shape != shape:
            raise TypeError(f"{shown(parts[0])} does not become {types.show(type_)}")
        return _cast_components(parts[0].data, type_.element)
    if len(parts) == 1:
        (number,) = _scalars(type_, parts[0])
        return spread(_as_array(number), shape)
    return _joined([c for part in _rows(type_, parts) for c in _scalars(type_, part)], shape, type_.element)


def _rows(type_: types.Matrix, parts: Sequence[object]) -> Sequence[object]:
    rows = [p for p in parts if isinstance(p, VectorValue)]
    fits = len(parts) == type_.rows and all(len(r) == type_.columns for r in rows) and len(rows) == len(parts)
    if fits or (not rows and len(parts) == type_.rows * type_.columns):
        return parts
    raise TypeError(f"{types.show(type_)} takes {type_.rows} rows or {type_.rows * type_.columns} entries")


def _scalars(type_: types.Vector | types.Matrix, part: object) -> Iterator[Any]:
    """Yield the scalars of one part, converted to the element type."""
    if isinstance(part, VectorValue):
        data = _cast_components(part.data, type_.element)
        yield from (take(data, i) for i in range(len(part)))
        return
    try:
        yield cast(part, type_.element)
    except TypeError:
        raise TypeError(f"{types.show(type_)} is made of numbers and vectors, not {shown(part)}") from None


def _as_array(number: Any) -> Data:  # noqa: ANN401  (a scalar of the language)
    if isinstance(number, Traced):
        return number
    return np.asarray(number)


def _joined(components: Sequence[Any], shape: tuple[int, ...], element: types.Scalar) -> Data:
    if not any(isinstance(c, Traced) for c in components):
        return np.array(components, DTYPES[element.name]).reshape(shape)
    if len(shape) == 1:
        return stack(*(_as_array(c) for c in components))
    width = shape[1]
    rows = [stack(*(_as_array(c) for c in components[i : i + width])) for i in range(0, len(components), width)]
    return stack(*rows, axis=0)


def _cast_components(data: Data, element: types.Scalar) -> Data:
    """Return components converted by ``cast``."""
    numbers = bottom(data)
    dtype = DTYPES[element.name]
    if numbers.dtype == dtype:
        return copied(data)
    if element == types.BOOL:
        return np.not_equal(numbers, 0)
    if dtype.kind in "iu":
        return np.array([cast_integer(n, element) for n in numbers.ravel().tolist()], dtype).reshape(numbers.shape)
    return converted(data, dtype)


def array_items(cls: type[_ArrayValue], items: Sequence[object]) -> list[object]:
    """Return the items of an array: zeros, as many as it has, or one that is repeated.

    Raises:
        TypeError: when the number or a type is wrong.
    """
    element = ir_type(cls.element)
    if not items:
        return [zero(element) for _ in range(cls.size)]
    if len(items) == 1:
        items = [*items] * cls.size
    if len(items) != cls.size:
        raise TypeError(f"{types.show(ir_type(cls))} takes {cls.size} items, none, or one to repeat, not {len(items)}")
    return [convert(accepted(item, element), element) for item in items]


def zeros(annotation: object) -> object:
    """Return the zero value of an annotated type."""
    return zero(ir_type(annotation))


def zero(type_: types.Type) -> object:
    """Return the value of a type whose numbers are all 0 and bools all false."""
    match type_:
        case types.Scalar():
            return scalar(0, type_)
        case types.Vector() | types.Matrix():
            return class_of(type_)()
        case types.Array(element, size):
            made: object = _array_class(element, size)()
            return made
        case types.Struct():
            return _zero_struct(CLASSES[type_])
        case types.Tuple(elements):
            return tuple(zero(e) for e in elements)
        case types.DiffPair(primal):
            return PairValue(zero(primal), zero(primal))
        case types.Void():
            return None
        case _:
            raise TypeError(f"{types.show(type_)} has no zero")


def _array_class(element: types.Type, size: int) -> type[ArrayValue]:
    from slangad.compiler.lang.types.arrays import array_class

    return array_class(annotation_of(element), size)


def annotation_of(type_: types.Type) -> object:
    """Return the annotation of a type that values are stored as."""
    match type_:
        case types.Scalar(name):
            from slangad.compiler.lang.types import scalars

            return {"float": float, "int": int, "bool": bool}.get(name) or getattr(scalars, name)
        case types.Vector() | types.Matrix():
            return class_of(type_)
        case types.Array(element, size):
            return _array_class(element, size)
        case types.Struct():
            return CLASSES[type_]
        case _:
            raise TypeError(f"{types.show(type_)} is not stored")


def _zero_struct(cls: type) -> object:
    record = record_of(cls)
    assert record is not None  # noqa: S101  (only struct classes are registered)
    made: object = object.__new__(cls)
    for field in record.fields:
        made.__dict__[field.name] = zero(field.type)
    return made


def fill_struct(self: object, args: Sequence[object], kwargs: Mapping[str, object]) -> None:
    """Set the fields of a struct: positional and keyword arguments, then defaults.

    Raises:
        TypeError: as Python does for a wrong call, and when a value does not fit its field.
    """
    record = record_of(type(self))
    assert record is not None  # noqa: S101  (only struct classes have this constructor)
    values = _field_values(record, args, kwargs)
    for field in record.fields:
        value = values[field.name] if field.name in values else _default(record, field)
        try:
            self.__dict__[field.name] = convert(accepted(value, field.type), field.type)
        except (TypeError, OverflowError) as error:
            raise type(error)(f"field {field.name} of {record.name}: {error}") from None


def _field_values(record: StructRecord, args: Sequence[object], kwargs: Mapping[str, object]) -> dict[str, object]:
    names = [f.name for f in record.fields]
    if len(args) > len(names):
        raise TypeError(f"{record.name} takes {len(names)} values, not {len(args)}")
    arguments = dict(zip(names, args, strict=False))
    for name, value in kwargs.items():
        if name not in names:
            raise TypeError(f"{record.name} has no field {name}")
        if name in arguments:
            raise TypeError(f"{record.name} got field {name} twice")
        arguments[name] = value
    return arguments


def _default(record: StructRecord, field: FieldRecord) -> object:
    if field.default is not None:
        return field.default.make()
    if IN_DERIVATIVE.get() and (field.no_diff or not types.carries_gradient(field.type)):
        return zero(field.type)
    raise TypeError(f"{record.name} misses a value for field {field.name}")


def accepted(value: object, type_: types.Type) -> object:
    """Return an argument from the host as a value: numpy scalars of any width, sequences and arrays convert.

    Inside a run every value is one of the language, so nothing converts.
    """
    return value if running() else from_host(value, type_)


def from_host(value: object, type_: types.Type) -> object:
    """Return an argument from the host as a value, also inside a run."""
    match type_:
        case types.Tuple(elements) if isinstance(value, tuple) and len(value) == len(elements):
            return tuple(from_host(v, e) for v, e in zip(value, elements, strict=True))
        case types.Scalar() if isinstance(value, np.generic):
            return _number(value, type_)
        case types.Scalar() if isinstance(value, np.ndarray) and value.ndim == 0:  # a number in a file of numpy
            return _number(value.dtype.type(value), type_)
        case types.Vector() | types.Matrix() if isinstance(value, (list, tuple, np.ndarray)):
            return class_of(type_)(*np.asarray(value).ravel().tolist())
        case types.Struct(fields=fields) if isinstance(value, Mapping):
            parts = {f.name: f.type for f in fields}
            return CLASSES[type_](**{k: from_host(v, parts[k]) if k in parts else v for k, v in value.items()})
        case types.Array(element, size) if isinstance(value, (list, tuple, np.ndarray)) and len(value) == size:
            return _array_class(element, size)(*(from_host(v, element) for v in value))
        case types.Array(element, size) if isinstance(value, Mapping):  # of structs: an array for each field
            return _array_class(element, size)(*(from_host(_item(value, i, type_), element) for i in range(size)))
        case _:
            return value


def _item(fields: object, index: int, type_: types.Array) -> object:
    """Return an item of an array of structs, from a mapping of field names to arrays of all items."""
    if isinstance(fields, Mapping):
        return {name: _item(field, index, type_) for name, field in fields.items()}
    items = np.asarray(fields)
    if not items.ndim or len(items) != type_.size:
        raise ValueError(f"a field of {types.show(type_)} has shape {items.shape}; give it for all {type_.size} items")
    return items[index]


def _number(value: np.generic, type_: types.Scalar) -> object:
    """Return a numpy scalar; one of 64 bits as a Python number, since numpy computes with 64 bits by default."""
    if value.dtype == np.bool_:
        return bool(value)
    narrows = value.dtype in (np.float64, np.int64, np.uint64) and DTYPES[type_.name] != value.dtype
    return value.item() if narrows else value
