"""Between numpy arrays and values: elements of ``Each`` arguments and results, tensors, textures.

Domain axes come first in an array, then those of the element: a vector's components, a matrix' rows and columns, an
array's items. Structs are mappings of field names to arrays, and so are arrays of structs: of each field an array.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

from slangad.compiler.ir.types import Array, Matrix, Scalar, Struct, Type, Vector, show
from slangad.compiler.lang.annotations import Memory, TextureOptions
from slangad.compiler.lang.arrays import ArrayValue
from slangad.compiler.lang.construct import annotation_of
from slangad.compiler.lang.parts import position
from slangad.compiler.lang.struct import CLASSES
from slangad.compiler.lang.tracing import bottom
from slangad.compiler.lang.values import (
    DTYPES,
    class_of,
    convert,
    data_of,
    scalar,
    scalars_of,
    shape_of,
    wrapped,
)
from slangad.compiler.lang.vectors import VECTOR_CLASSES, VectorValue

Numbers = np.ndarray[Any, np.dtype[Any]]
Index = tuple[int, ...]


def trailing_shape(type_: Type) -> tuple[int, ...]:
    """The axes of one element."""
    if isinstance(type_, Array):
        return (type_.size, *trailing_shape(type_.element))
    return shape_of(type_)


def dtype_of(type_: Type) -> np.dtype[Any]:
    """The precision of an element's scalars."""
    while isinstance(type_, (Array, Vector, Matrix)):
        type_ = type_.element
    if not isinstance(type_, Scalar):
        raise TypeError(f"{show(type_)} is not made of numbers of one kind")
    return DTYPES[type_.name]


def as_array(value: object, type_: Type, what: str) -> Numbers:
    """An argument as an array of the element's precision.

    Raises:
        TypeError: when its numbers are of another kind.
        ValueError: when its last axes are not the element's.
    """
    array = np.asarray(value)
    wanted, trailing = dtype_of(type_), trailing_shape(type_)
    if not np.can_cast(array.dtype, wanted, "same_kind") and not (array.dtype.kind in "iu" and wanted.kind in "iu"):
        raise TypeError(f"{what} holds {array.dtype}, not {wanted}")
    if trailing and array.shape[-len(trailing) :] != trailing:
        raise ValueError(f"{what} has shape {array.shape}; the last axes of {show(type_)} are {trailing}")
    return array.astype(wanted, copy=False)


def value_at(array: Numbers, index: Index, type_: Type) -> object:
    """One element of an array as a value of its own."""
    part = array[index]
    if isinstance(type_, Scalar):
        return scalar(part, type_)
    if isinstance(type_, (Vector, Matrix)):
        return wrapped(part.copy(), type_)
    assert isinstance(type_, Array)  # noqa: S101  (dtype_of refused the rest)
    cls: Any = annotation_of(type_)
    return cls.of([value_at(part, (i,), type_.element) for i in range(type_.size)])


def put_value(array: Numbers, index: Index, value: object, type_: Type) -> None:
    """Stores one value as an element."""
    if isinstance(type_, Array):
        array[index] = np.array(list(scalars_of(value)), array.dtype).reshape(trailing_shape(type_))
    else:
        array[index] = bottom(data_of(value))


class EachArgument:
    """An ``Each`` argument: an array, or a mapping of fields to such arguments."""

    def __init__(self, value: object, type_: Type, what: str) -> None:
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
        """Its name and the axes before the element's."""
        if self.array is None:
            shapes = [f.domain() for f in self.fields.values()]
            return common_domain(shapes)
        return self.what, self.array.shape[: self.array.ndim - len(trailing_shape(self.type))]

    def at(self, index: Index) -> object:
        """The value one thread sees."""
        if self.array is not None:
            return value_at(self.array, index, self.type)
        return _with_fields(self.type, {name: argument.at(index) for name, argument in self.fields.items()})


def spread_fields(type_: Type) -> dict[str, Type]:
    """The fields of a struct; of an array of structs each field as an array. Nothing for other types."""
    if isinstance(type_, Array):
        return {name: Array(field, type_.size) for name, field in spread_fields(type_.element).items()}
    return {f.name: f.type for f in type_.fields} if isinstance(type_, Struct) else {}


def _with_fields(type_: Type, fields: Mapping[str, Any]) -> object:
    """A struct of these fields, or an array of structs of what the items of these are."""
    if isinstance(type_, Array):
        cls: Any = annotation_of(type_)
        rows = [{name: items[i] for name, items in fields.items()} for i in range(type_.size)]
        return cls.of([_with_fields(type_.element, row) for row in rows])
    assert isinstance(type_, Struct)  # noqa: S101  (only structs have fields)
    made: object = object.__new__(CLASSES[type_])
    made.__dict__.update(fields)
    return made


def _field_of(value: Any, name: str, type_: Type) -> object:  # noqa: ANN401  (a struct, or an array of them)
    """The field of a struct, or of each item, as a value of the type that ``spread_fields`` tells."""
    if not isinstance(value, ArrayValue):
        return getattr(value, name)
    assert isinstance(type_, Array)  # noqa: S101  (as spread_fields made it)
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
    """The one shape of several arguments.

    Raises:
        ValueError: naming two that disagree.
    """
    name, shape = shapes[0]
    for other, found in shapes[1:]:
        if found != shape:
            raise ValueError(f"{name} has {shape} elements, {other} has {found}")
    return name, shape


class EachResult:
    """An ``Each`` result being filled."""

    def __init__(self, type_: Type, domain: Index) -> None:
        self.type = type_
        self.fields: dict[str, EachResult] = {}
        self.array: Numbers | None = None
        spread = spread_fields(type_)
        if spread:
            self.fields = {name: EachResult(field, domain) for name, field in spread.items()}
        else:
            self.array = np.zeros((*domain, *trailing_shape(type_)), dtype_of(type_))

    def put(self, index: Index, value: object) -> None:
        """Stores what one thread returned."""
        if self.array is not None:
            put_value(self.array, index, value, self.type)
        for name, result in self.fields.items():
            result.put(index, _field_of(value, name, result.type))

    def finish(self) -> object:
        """The array, or a mapping of fields to arrays."""
        return self.array if self.array is not None else {n: r.finish() for n, r in self.fields.items()}


class SumResult:
    """A ``Sum`` or ``Mean`` result, added up in float64."""

    def __init__(self, type_: Type, domain: Index, *, mean: bool) -> None:
        self.type = type_
        self.count = int(np.prod(domain)) if mean else 1
        self.total = np.zeros(trailing_shape(type_), np.float64 if dtype_of(type_).kind == "f" else np.int64)

    def put(self, _: Index, value: object) -> None:
        """Adds what one thread returned."""
        self.total = self.total + np.array(list(scalars_of(value))).reshape(self.total.shape)

    def finish(self) -> object:
        """The sum or mean, 0 of no threads."""
        total = self.total / max(self.count, 1) if self.count != 1 else self.total
        return value_at(np.asarray(total)[None].astype(dtype_of(self.type)), (0,), self.type)


Result = EachResult | SumResult


@dataclass(frozen=True, slots=True)
class TensorArgument:
    """A tensor as a thread sees it: ``w[i, j]``, ``w.shape``."""

    array: Numbers
    type: Type
    rank: int
    readable: bool
    writable: bool
    name: str

    @property
    def shape(self) -> tuple[object, ...]:
        """The size of each axis, as ints of the language."""
        return tuple(np.int32(n) for n in self.array.shape[: self.rank])

    def __getitem__(self, index: object) -> object:
        if not self.readable:
            raise TypeError(f"{self.name} is an OutTensor and can't be read")
        return value_at(self.array, self._places(index), self.type)

    def __setitem__(self, index: object, value: object) -> None:
        if not self.writable:
            raise TypeError(f"{self.name} is a Tensor and can't be written: make it an OutTensor")
        put_value(self.array, self._places(index), convert(value, self.type), self.type)

    def _places(self, index: object) -> Index:
        parts = index if isinstance(index, tuple) else (index,)
        if len(parts) != self.rank:
            raise TypeError(f"{self.name} takes {self.rank} indices, not {len(parts)}")
        return tuple(position(p, n) for p, n in zip(parts, self.array.shape, strict=False))


def tensor_argument(value: object, memory: Memory, type_: Type, name: str) -> TensorArgument:
    """A tensor argument; what is written must already be an array of the right precision.

    Raises:
        TypeError: when it isn't.
        ValueError: when its axes are not rank and element's.
    """
    writable = memory.memory != "tensor"
    array = as_array(value, type_, name)
    if writable and array is not value:
        raise TypeError(f"{name} is written: pass a numpy array of {dtype_of(type_)}")
    if array.ndim != memory.rank + len(trailing_shape(type_)):
        raise ValueError(f"{name} has shape {array.shape}, its rank is {memory.rank}")
    return TensorArgument(array, type_, memory.rank, memory.memory != "out_tensor", writable, name)


@dataclass(frozen=True, slots=True)
class TextureArgument:
    """A texture as a thread sees it; the last axis of the array before the texel's is x."""

    array: Numbers
    type: Type
    options: TextureOptions

    @property
    def size(self) -> object:
        """Width and height."""
        height, width = self.array.shape[:2]
        return VECTOR_CLASSES[Vector(Scalar("int"), 2)](width, height)

    def load(self, row: object, column: object) -> object:
        """One texel."""
        height, width = self.array.shape[:2]
        return value_at(self.array, (position(row, height), position(column, width)), self.type)

    def sample(self, uv: VectorValue[Any, Any]) -> object:
        """The filtered value at ``uv`` in [0, 1]."""
        height, width = self.array.shape[:2]
        x, y = (float(c) * n for c, n in zip(bottom(uv.data).tolist(), (width, height), strict=True))
        if self.options.filter == "nearest":
            return self._value(self._texel(int(np.floor(y)), int(np.floor(x))))
        left, top = np.floor(x - 0.5), np.floor(y - 0.5)
        right_weight, bottom_weight = x - 0.5 - left, y - 0.5 - top
        rows = [
            self._texel(int(top) + r, int(left)) * (1 - right_weight)
            + self._texel(int(top) + r, int(left) + 1) * right_weight
            for r in (0, 1)
        ]
        return self._value(rows[0] * (1 - bottom_weight) + rows[1] * bottom_weight)

    def _texel(self, row: int, column: int) -> Numbers:
        height, width = self.array.shape[:2]
        return np.asarray(self.array[self._address(row, height), self._address(column, width)], np.float64)

    def _address(self, place: int, size: int) -> int:
        if self.options.address == "repeat":
            return place % size
        if self.options.address == "mirror":
            turned = place % (2 * size)
            return turned if turned < size else 2 * size - 1 - turned
        return min(max(place, 0), size - 1)

    def _value(self, texel: Numbers) -> object:
        numbers = np.asarray(texel).astype(dtype_of(self.type))
        return class_of(self.type).of(numbers) if isinstance(self.type, Vector) else scalar(numbers, self.type)  # type: ignore[arg-type]  # texels are scalars or vectors


def texture_argument(value: object, memory: Memory, type_: Type, name: str) -> TextureArgument:
    """A texture argument.

    Raises:
        ValueError: when it has not two axes before the texel's.
    """
    array = as_array(value, type_, name)
    if array.ndim != 2 + len(trailing_shape(type_)):
        raise ValueError(f"{name} has shape {array.shape}, a texture has rows and columns")
    return TextureArgument(array, type_, memory.options or TextureOptions())
