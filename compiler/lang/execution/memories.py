"""Tensors and textures in Python execution: numpy arrays as a thread sees them.

While a derivative is taken, a ``Trace`` follows reads and writes, so that gradients belong to addresses.
"""

from __future__ import annotations

import math
from collections import deque
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Final, Protocol

import numpy as np

from slangad.compiler.ir.types import INT, UINT, Tensor, Texture, Vector, show
from slangad.compiler.lang.execution.elements import (
    Index,
    Numbers,
    as_array,
    dtype_of,
    put_value,
    trailing_shape,
    value_at,
)
from slangad.compiler.lang.types.operators import binary
from slangad.compiler.lang.types.parts import position
from slangad.compiler.lang.types.tracing import bottom, converted, spread, take
from slangad.compiler.lang.types.values import convert, data_of, shape_of, wrapped
from slangad.compiler.lang.types.vectors import VECTOR_CLASSES, AnyVector

if TYPE_CHECKING:
    from slangad.compiler.lang.types.tracing import Data

_INTEGERS_READ: Final[deque[tuple[object, str, Index]]] = deque(maxlen=16)
"""The latest integers that threads read, with memory and index: an index out of range is often one of them."""


class Trace(Protocol):
    """Follows the accesses of one thread."""

    def read(self, name: str, place: Index, value: object) -> object:
        """Return a value that was read, with its dependency on the element."""

    def write(self, name: str, place: Index, value: object) -> None:
        """Record a value that was written."""

    def add(self, name: str, place: Index, value: object) -> None:
        """Record a value that was added to an element."""


@dataclass(frozen=True, slots=True)
class TensorArgument:
    """A tensor in a thread: ``w[i, j]``, ``w.shape``."""

    array: Numbers
    type: Tensor
    name: str
    trace: Trace | None = field(default=None, compare=False)
    sums: dict[Index, Numbers] = field(default_factory=dict, compare=False)

    @property
    def shape(self) -> tuple[object, ...]:
        """The size of each axis, as ints of the language."""
        return tuple(np.int32(n) for n in self.array.shape[: self.type.rank])

    def __len__(self) -> int:
        return int(self.array.shape[0])

    def __getitem__(self, index: object) -> object:
        if not self.type.reads:
            raise TypeError(f"{self.name} is an OutTensor and can't be read")
        place = self._place(index)
        value = value_at(self.array, place, self.type.element)
        if self.trace is not None:
            value = self.trace.read(self.name, place, value)
        if self.type.element in (INT, UINT):
            _INTEGERS_READ.append((value, self.name, place))
        return value

    def __setitem__(self, index: object, value: object) -> None:
        if not self.type.writes:
            raise TypeError(f"{self.name} is a Tensor and can't be written: make it an OutTensor")
        place, stored = self._place(index), convert(value, self.type.element)
        put_value(self.array, place, stored, self.type.element)
        if self.trace is not None:
            self.trace.write(self.name, place, stored)

    def add(self, operator: str, index: object, value: object) -> None:
        """Add to an element, or subtract, as all threads may. Floats are summed in float64; integers wrap around."""
        place, element = self._place(index), self.type.element
        zero = value_at(np.zeros((1, *trailing_shape(element)), dtype_of(element)), (0,), element)
        added = convert(binary(operator, zero, value), element)
        if self.trace is not None:
            self.trace.add(self.name, place, added)
        numbers, whole = np.asarray(bottom(data_of(added))), self.array.dtype.kind in "iu"
        with np.errstate(over="ignore"):
            start = self.sums.get(place, self.array[place])
            total = np.asarray(start, self.array.dtype if whole else np.float64) + numbers
            self.sums[place] = total
            self.array[place] = total

    def _place(self, index: object) -> Index:
        parts = index if isinstance(index, tuple) else (index,)
        if len(parts) != self.type.rank:
            raise TypeError(f"{self.name} takes {self.type.rank} indices, not {len(parts)}")
        return _place_in(self.name, parts, self.array.shape[: self.type.rank])


def _place_in(name: str, parts: tuple[object, ...], shape: tuple[int, ...]) -> Index:
    """Return an index of a memory.

    Raises:
        IndexError: It is outside. The message names the memory and, if it is known, the tensor that the index is from.
    """
    try:
        return tuple(position(part, size) for part, size in zip(parts, shape, strict=True))
    except IndexError:
        raise IndexError(_out_of_range(name, parts, shape)) from None


def _out_of_range(name: str, parts: tuple[object, ...], shape: tuple[int, ...]) -> str:
    sizes = ((axis, part, size) for axis, (part, size) in enumerate(zip(parts, shape, strict=True)))
    axis, part, size = next(one for one in sizes if not _fits(one[1], one[2]))
    held = f"indices 0 to {size - 1}" if size else "no entries"
    along = f" along axis {axis}" if len(shape) > 1 else ""
    read = next(((memory, place) for value, memory, place in _INTEGERS_READ if value is part), None)
    source = f"{_element(*read)} is {part}: " if read else ""
    found = f"{_element(name, parts)} is out of range: {name} has {held}{along}"
    return f"{found} ({source}give a larger {name}, or a smaller index)"


def _element(name: str, place: tuple[object, ...]) -> str:
    return f"{name}[{', '.join(map(str, place))}]"


def _fits(part: object, size: int) -> bool:
    try:
        position(part, size)
    except IndexError:
        return False
    return True


def tensor_argument(value: object, type_: Tensor, name: str) -> TensorArgument:
    """Return a tensor argument; a written tensor must be an array of the right precision.

    Raises:
        TypeError: when it isn't.
        ValueError: when its axes are not rank and element's.
    """
    array = as_array(value, type_.element, name)
    if type_.writes and array is not value:
        raise TypeError(f"{name} is written: pass a numpy array of {dtype_of(type_.element)}")
    if array.ndim != type_.rank + len(trailing_shape(type_.element)):
        raise ValueError(f"{name} has shape {array.shape}, its rank is {type_.rank}")
    return TensorArgument(array, type_, name)


@dataclass(frozen=True, slots=True)
class TextureArgument:
    """A texture in a thread; the last axis of the array before the texel's is x."""

    array: Numbers
    type: Texture
    name: str
    trace: Trace | None = field(default=None, compare=False)

    @property
    def size(self) -> object:
        """Width and height."""
        height, width = self.array.shape[:2]
        return VECTOR_CLASSES[Vector(INT, 2)](width, height)

    def load(self, row: object, column: object) -> object:
        """Return one texel."""
        return self._texel(_place_in(self.name, (row, column), self.array.shape[:2]))

    def sample(self, uv: AnyVector) -> object:
        """Return the filtered value at ``uv`` in [0, 1]."""
        height, width = self.array.shape[:2]
        x, y = (converted(take(uv.data, axis), np.float64) * float(n) for axis, n in ((0, width), (1, height)))
        if self.type.filter == "nearest":
            return self._texel(self._address(_floor(y), _floor(x)))
        top, left = _floor(y - 0.5), _floor(x - 0.5)
        down, right = y - (top + 0.5), x - (left + 0.5)
        rows = [_mixed(self._exact(top + r, left), self._exact(top + r, left + 1), right) for r in (0, 1)]
        return wrapped(converted(_mixed(rows[0], rows[1], down), dtype_of(self.type.element)), self.type.element)

    def _exact(self, row: int, column: int) -> Data:
        return converted(data_of(self._texel(self._address(row, column))), np.float64)

    def _texel(self, place: Index) -> object:
        value = value_at(self.array, place, self.type.element)
        return value if self.trace is None else self.trace.read(self.name, place, value)

    def _address(self, row: int, column: int) -> Index:
        return tuple(_inside(p, n, self.type.address) for p, n in zip((row, column), self.array.shape, strict=False))


def _floor(number: Data) -> int:
    """Return the integer part; 0 if it is not finite, because then the weights are not finite either."""
    plain = float(bottom(number))
    return math.floor(plain) if math.isfinite(plain) else 0


def _mixed(a: Data, b: Data, weight: Data) -> Data:
    weights = spread(weight, bottom(a).shape)
    return a * (1.0 - weights) + b * weights


def _inside(place: int, size: int, address: str) -> int:
    if address == "repeat":
        return place % size
    if address == "mirror":
        turned = place % (2 * size)
        return turned if turned < size else 2 * size - 1 - turned
    return min(max(place, 0), size - 1)


def texture_argument(value: object, type_: Texture, name: str) -> TextureArgument:
    """Return a texture argument.

    Raises:
        ValueError: when it has not two axes before the texel's.
    """
    array = as_array(value, type_.element, name)
    if array.ndim != 2 + len(shape_of(type_.element)):
        raise ValueError(f"{name} has shape {array.shape}, a texture has rows and columns")
    return TextureArgument(array, type_, name)


MemoryArgument = TensorArgument | TextureArgument


def passive(argument: MemoryArgument) -> MemoryArgument:
    """Return the same memory without dependencies."""
    return replace(argument, trace=None)


def memory_argument(value: object, type_: Tensor | Texture, name: str) -> MemoryArgument:
    """Return an argument for a parameter that is a tensor or texture: an array, or such a memory itself.

    Raises:
        TypeError: when it is another memory, or an array of something else.
        ValueError: when its shape is another.
    """
    if isinstance(value, (TensorArgument, TextureArgument)):
        if value.type != type_:
            raise TypeError(f"{show(value.type)} is not {show(type_)}")
        return value
    return tensor_argument(value, type_, name) if isinstance(type_, Tensor) else texture_argument(value, type_, name)
