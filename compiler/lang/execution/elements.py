"""Elements of numpy arrays as values: ``Each`` arguments, ``Each`` results and sums.

Domain axes come first in an array, then those of the element: a vector's components, a matrix' rows and columns, an
array's items. Structs are mappings of field names to arrays, and so are arrays of structs: of each field an array.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from slangad.compiler.ir import types
from slangad.compiler.lang.types.arrays import ArrayValue
from slangad.compiler.lang.types.construct import annotation_of
from slangad.compiler.lang.types.records import CLASSES
from slangad.compiler.lang.types.tracing import bottom
from slangad.compiler.lang.types.values import (
    DTYPES,
    data_of,
    scalar,
    scalars_of,
    shape_of,
    wrapped,
)

Numbers = np.ndarray[Any, np.dtype[Any]]
Index = tuple[int, ...]


def trailing_shape(type_: types.Type) -> tuple[int, ...]:
    """Return the axes of one element."""
    if isinstance(type_, types.Array):
        return (type_.size, *trailing_shape(type_.element))
    return shape_of(type_)


def dtype_of(type_: types.Type) -> np.dtype[Any]:
    """Return the precision of an element's scalars."""
    while isinstance(type_, (types.Array, types.Vector, types.Matrix)):
        type_ = type_.element
    if not isinstance(type_, types.Scalar):
        raise TypeError(f"{types.show(type_)} is not made of numbers of one kind")
    return DTYPES[type_.name]


def as_array(value: object, type_: types.Type, what: str) -> Numbers:
    """Return an argument as an array of the element's precision.

    Raises:
        TypeError: when its numbers are of another kind.
        ValueError: when its last axes are not the element's.
    """
    array = np.asarray(value)
    wanted, trailing = dtype_of(type_), trailing_shape(type_)
    if not np.can_cast(array.dtype, wanted, "same_kind") and not (array.dtype.kind in "iu" and wanted.kind in "iu"):
        raise TypeError(f"{what} holds {array.dtype}, not {wanted}")
    if trailing and array.shape[-len(trailing) :] != trailing:
        raise ValueError(f"{what} has shape {array.shape}; the last axes of {types.show(type_)} are {trailing}")
    return array.astype(wanted, copy=False)


def value_at(array: Numbers, index: Index, type_: types.Type) -> object:
    """Return one element of an array as a value that shares nothing with the array."""
    part = array[index]
    if isinstance(type_, types.Scalar):
        return scalar(part, type_)
    if isinstance(type_, (types.Vector, types.Matrix)):
        return wrapped(part.copy(), type_)
    assert isinstance(type_, types.Array)  # noqa: S101  (dtype_of refused the rest)
    cls: Any = annotation_of(type_)
    return cls.of([value_at(part, (i,), type_.element) for i in range(type_.size)])


def put_value(array: Numbers, index: Index, value: object, type_: types.Type) -> None:
    """Store one value as an element."""
    if isinstance(type_, types.Array):
        array[index] = np.array(list(scalars_of(value)), array.dtype).reshape(trailing_shape(type_))
    else:
        array[index] = bottom(data_of(value))


class EachArgument:
    """An ``Each`` argument: an array, or a mapping of fields to such arguments."""

    def __init__(self, value: object, type_: types.Type, what: str) -> None:
        self.type = type_
        self.what = what
        self.fields: dict[str, EachArgument] = {}
        self.array: Numbers | None = None
        spread = spread_fields(type_)
        if spread:
            self.fields = {n: EachArgument(_field(value, n, what), t, f"{what}.{n}") for n, t in spread.items()}
        else:
            self.array = as_array(value, type_, what)

    def domain(self) -> tuple[str, tuple[int, ...]]:
        """Return its name and the axes before the element's."""
        if self.array is None:
            shapes = [f.domain() for f in self.fields.values()]
            return common_domain(shapes)
        return self.what, self.array.shape[: self.array.ndim - len(trailing_shape(self.type))]

    def at(self, index: Index) -> object:
        """Return the value one thread sees."""
        if self.array is not None:
            return value_at(self.array, index, self.type)
        return _with_fields(self.type, {name: argument.at(index) for name, argument in self.fields.items()})


def spread_fields(type_: types.Type) -> dict[str, types.Type]:
    """Return the fields of a struct, or each field of an array of structs as an array; none for other types."""
    if isinstance(type_, types.Array):
        return {name: types.Array(field, type_.size) for name, field in spread_fields(type_.element).items()}
    return {f.name: f.type for f in type_.fields} if isinstance(type_, types.Struct) else {}


def _with_fields(type_: types.Type, fields: Mapping[str, Any]) -> object:
    """Return a struct of these fields, or an array of structs of the items of these fields."""
    if isinstance(type_, types.Array):
        cls: Any = annotation_of(type_)
        rows = [{name: items[i] for name, items in fields.items()} for i in range(type_.size)]
        return cls.of([_with_fields(type_.element, row) for row in rows])
    assert isinstance(type_, types.Struct)  # noqa: S101  (only structs have fields)
    made: object = object.__new__(CLASSES[type_])
    made.__dict__.update(fields)
    return made


def _field_of(value: Any, name: str, type_: types.Type) -> object:  # noqa: ANN401  (a struct, or an array of them)
    """Return a field of a struct or of each item, as a value of the type that ``spread_fields`` returns."""
    if not isinstance(value, ArrayValue):
        return getattr(value, name)
    assert isinstance(type_, types.Array)  # noqa: S101  (as spread_fields made it)
    cls: Any = annotation_of(type_)
    return cls.of([_field_of(item, name, type_.element) for item in value])


def _field(value: object, name: str, what: str) -> object:
    if not isinstance(value, Mapping):
        raise TypeError(f"{what} is a mapping of field names to arrays, not {type(value).__name__}")
    if name in value:
        return value[name]
    nested = {k.removeprefix(f"{name}."): v for k, v in value.items() if k.startswith(f"{name}.")}
    if not nested:
        raise TypeError(f"{what} misses field {name}")
    return nested


def common_domain(shapes: list[tuple[str, tuple[int, ...]]]) -> tuple[str, tuple[int, ...]]:
    """Return the one shape of several arguments.

    Raises:
        ValueError: if two disagree, with their names.
    """
    name, shape = shapes[0]
    for other, other_shape in shapes[1:]:
        if other_shape != shape:
            raise ValueError(f"{name} has {shape} elements, {other} has {other_shape}")
    return name, shape


class EachResult:
    """An ``Each`` result being filled."""

    def __init__(self, type_: types.Type, domain: Index) -> None:
        self.type = type_
        self.fields: dict[str, EachResult] = {}
        self.array: Numbers | None = None
        spread = spread_fields(type_)
        if spread:
            self.fields = {name: EachResult(field, domain) for name, field in spread.items()}
        else:
            self.array = np.zeros((*domain, *trailing_shape(type_)), dtype_of(type_))

    def put(self, index: Index, value: object) -> None:
        """Store what one thread returned."""
        if self.array is not None:
            put_value(self.array, index, value, self.type)
        for name, result in self.fields.items():
            result.put(index, _field_of(value, name, result.type))

    def finish(self) -> object:
        """Return the array, or a mapping of fields to arrays."""
        return self.array if self.array is not None else {n: r.finish() for n, r in self.fields.items()}


class SumResult:
    """A ``Sum`` or ``Mean`` result, added up in float64."""

    def __init__(self, type_: types.Type, domain: Index, *, mean: bool) -> None:
        self.type = type_
        self.count = int(np.prod(domain)) if mean else 1
        self.total = np.zeros(trailing_shape(type_), np.float64 if dtype_of(type_).kind == "f" else np.int64)

    def put(self, _: Index, value: object) -> None:
        """Add the value that one thread returned."""
        self.total = self.total + np.array(list(scalars_of(value))).reshape(self.total.shape)

    def finish(self) -> object:
        """Return the sum or mean, 0 if there are no threads."""
        total = self.total / max(self.count, 1) if self.count != 1 else self.total
        return value_at(np.asarray(total)[None].astype(dtype_of(self.type)), (0,), self.type)


Result = EachResult | SumResult
