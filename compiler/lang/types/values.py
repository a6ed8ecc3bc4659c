"""Values at run time: their types, implicit conversions, explicit casts, copies.

Scalars are numpy scalars (``bool`` is Python's), or ``Traced`` while a derivative is taken. Python's own ints and
floats are literals, which take the type of their context. Vectors, matrices, arrays and structs are instances of
their classes, several results a tuple.
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any, Final

import numpy as np

from slangad.compiler.errors.exhaustive import assert_never
from slangad.compiler.ir import types
from slangad.compiler.lang.types.annotations import ir_type
from slangad.compiler.lang.types.arrays import ArrayValue
from slangad.compiler.lang.types.matrices import MATRIX_CLASSES, MatrixValue
from slangad.compiler.lang.types.pairs import PairValue
from slangad.compiler.lang.types.records import record_of
from slangad.compiler.lang.types.tracing import Data, Traced, bottom, converted, copied, spread
from slangad.compiler.lang.types.vectors import VECTOR_CLASSES, AnyVector, VectorValue

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

DTYPES: Final[dict[str, np.dtype[Any]]] = {
    "half": np.dtype(np.float16),
    "float": np.dtype(np.float32),
    "double": np.dtype(np.float64),
    "int": np.dtype(np.int32),
    "uint": np.dtype(np.uint32),
    "bool": np.dtype(np.bool_),
}
_TYPES: Final[dict[np.dtype[Any], types.Scalar]] = {
    DTYPES[t.name]: t for t in (types.HALF, types.FLOAT, types.DOUBLE, types.INT, types.UINT, types.BOOL)
} | {np.dtype(np.int64): types.INT}  # fmt: skip
_OF_CLASS: Final[dict[type, types.Type]] = {
    int: types.WEAK_INT,
    float: types.WEAK_FLOAT,
    bool: types.BOOL,
    **{dtype.type: type_ for dtype, type_ in _TYPES.items()},
}
LIMITS: Final = {"int": (-(2**31), 2**31 - 1), "uint": (0, 2**32 - 1)}


def type_of(value: object) -> types.Type:
    """Return the type of a value; literals are ``Weak``.

    Raises:
        TypeError: when it is no value of the language.
    """
    type_ = try_type_of(value)
    if type_ is None:
        raise TypeError(f"a {type(value).__name__} is not a value of the language")
    return type_


def try_type_of(value: object) -> types.Type | None:
    """Return the type of a value, None if it is not a value of the language."""
    known = _OF_CLASS.get(type(value))
    if known is not None:
        return known
    if isinstance(value, Traced):
        return _TYPES[value.dtype]
    if isinstance(value, (VectorValue, MatrixValue)):
        return value.slangad_type
    return _type_of_group(value)


def _type_of_group(value: object) -> types.Type | None:
    if isinstance(value, ArrayValue):
        return ir_type(type(value))
    if isinstance(value, PairValue):
        return types.DiffPair(type_of(value.p))
    if isinstance(value, tuple):
        parts = [try_type_of(v) for v in value]
        return types.Tuple(tuple(p for p in parts if p is not None)) if None not in parts else None
    if value is None:
        return types.VOID
    record = record_of(type(value))
    return record.type if record is not None else None


def shown(value: object) -> str:
    """Return the type of a value in words, for messages."""
    type_ = try_type_of(value)
    return types.show(type_) if type_ is not None else type(value).__name__


# --- numbers ---------------------------------------------------------------------------------------------------------


def scalar(data: Any, type_: types.Scalar) -> object:  # noqa: ANN401  (a Python or numpy number, or traced)
    """Return a strong scalar of a type from a number that fits it."""
    if type_.name == "bool":
        return bool(data)
    if type(data) is DTYPES[type_.name].type:
        return data
    if isinstance(data, Traced):
        return converted(data, DTYPES[type_.name]) if data.dtype != DTYPES[type_.name] else data
    if type_.name in LIMITS:
        return _integer(int(data), type_)
    with np.errstate(all="ignore"):
        return DTYPES[type_.name].type(data)


def _integer(number: int, type_: types.Scalar) -> object:
    low, high = LIMITS[type_.name]
    if not low <= number <= high:
        raise OverflowError(f"{number} does not fit {type_.name}")
    return DTYPES[type_.name].type(number)


def implicit(value: object, type_: types.Scalar) -> object:
    """Return a scalar after an implicit conversion: literals to any number, ``int`` to floating.

    Raises:
        TypeError: when a conversion must be written.
    """
    inferred = try_type_of(value)
    if inferred == type_:
        return scalar(value, type_)
    floating = type_.name in ("half", "float", "double")
    if inferred == types.WEAK_INT and type_ != types.BOOL:
        return scalar(value, type_)
    if floating and inferred in (types.WEAK_FLOAT, types.INT):
        return scalar(value, type_)
    raise TypeError(f"{shown(value)} does not become {type_.name} by itself: write {_written(type_)}(…)")


def _written(type_: types.Scalar) -> str:
    return type_.name if type_.name in ("float", "int", "bool") else f"sa.{type_.name}"


def cast(value: object, type_: types.Scalar) -> object:
    """Return a scalar after an explicit conversion: ``float(x)``, ``int(x)`` (truncates), ``bool(x)``, ``sa.uint(x)``.

    Raises:
        TypeError: when the value is no scalar.
        OverflowError: when a float is outside the integer type.
        ValueError: when NaN becomes an integer.
    """
    if isinstance(value, np.generic) and value.dtype not in _TYPES:
        value = value.item()
    if not isinstance(value, (bool, int, float, np.generic, Traced)):
        raise TypeError(f"{_written(type_)}() takes a number, not {shown(value)}")
    if type_ == types.BOOL:
        return bool(_plain(value) != 0)
    if type_.name not in LIMITS:
        return scalar(value, type_)
    return cast_integer(_plain(value), type_)


def _plain(value: Any) -> Any:  # noqa: ANN401  (a scalar)
    number = bottom(value) if isinstance(value, Traced) else value
    return number.item() if isinstance(number, (np.generic, np.ndarray)) else number


def cast_integer(number: float | bool, type_: types.Scalar) -> object:  # noqa: FBT001  (a value of the language)
    """Return a number truncated into an integer type; ints become uints, and back, by their bits."""
    if isinstance(number, float):
        if math.isnan(number) or math.isinf(number):
            kind = ValueError if math.isnan(number) else OverflowError
            raise kind(f"{number} has no value as {type_.name}")
        return _integer(math.trunc(number), type_)
    wrapped = int(number) & 0xFFFFFFFF
    if type_ == types.UINT:
        return np.uint32(wrapped)
    if not -(2**31) <= int(number) <= 2**32 - 1:
        raise OverflowError(f"{number} does not fit int")
    return np.int32(wrapped - 2**32 if wrapped >= 2**31 else wrapped)


# --- any value -------------------------------------------------------------------------------------------------------


def class_of(type_: types.Vector | types.Matrix) -> type[AnyVector] | type[MatrixValue[Any, Any]]:
    """Return the class of a vector or matrix type."""
    return VECTOR_CLASSES[type_] if isinstance(type_, types.Vector) else MATRIX_CLASSES[type_]


def shape_of(type_: types.Type) -> tuple[int, ...]:
    """Return the shape of a value's components."""
    match type_:
        case types.Vector(size=size):
            return (size,)
        case types.Matrix(rows=rows, columns=columns):
            return (rows, columns)
        case _:
            return ()


def data_of(value: object) -> Any:  # noqa: ANN401  (a Python or numpy number, an array, or traced)
    """Return the components of a scalar, vector or matrix."""
    return value.data if isinstance(value, (VectorValue, MatrixValue)) else value


def wrapped(data: Any, type_: types.Type) -> object:  # noqa: ANN401  (numbers or traced, of the type's precision)
    """Return a scalar, vector or matrix with these components."""
    if isinstance(type_, (types.Vector, types.Matrix)):
        return class_of(type_).of(data)
    assert isinstance(type_, types.Scalar)  # noqa: S101  (only numbers have components)
    return scalar(data, type_)


def adapted(value: object, type_: types.Type) -> Data:
    """Return the components of a number converted to ``type_``, a join of its type, and spread over the shape."""
    data = data_of(value)
    element = type_ if isinstance(type_, types.Scalar) else getattr(type_, "element")  # noqa: B009  (vectors and matrices)
    dtype = DTYPES[element.name]
    if isinstance(data, (bool, int, float)):
        data = np.asarray(scalar(data, element))
    elif data.dtype != dtype:
        data = converted(data, dtype)
    shape = shape_of(type_)
    return spread(data, shape) if shape else data


def convert(value: object, type_: types.Type) -> object:
    """Return a copy of a value as a declared type, for bindings, arguments and results.

    Raises:
        TypeError: when it does not convert by itself.
    """
    match type_:
        case types.Scalar():
            return implicit(value, type_)
        case types.Weak():
            return value
        case types.Tuple(elements):
            if not isinstance(value, tuple) or len(value) != len(elements):
                raise TypeError(f"{shown(value)} is not {types.show(type_)}")
            return tuple(convert(v, t) for v, t in zip(value, elements, strict=True))
        case types.DiffPair(primal):
            if not isinstance(value, PairValue):
                raise TypeError(
                    f"{shown(value)} is not {types.show(type_)}: make one with sa.diff_pair(value, tangent)"
                )
            return PairValue(convert(value.p, primal), convert(value.d, primal))
        case (
            types.Vector()
            | types.Matrix()
            | types.Array()
            | types.Struct()
            | types.Tensor()
            | types.Texture()
            | types.Void()
        ):
            if try_type_of(value) != type_:
                found, right = shown(value), types.show(type_)
                again = f"the {right} that it was defined with: define it again too" if found == right else right
                raise TypeError(f"{found} is not {again}")
            return copy(value)
        case _:
            assert_never(type_)


def joined(value: object, type_: types.Type) -> object:
    """Return a copy of a value as a join of its type with another: elements convert and scalars spread."""
    if isinstance(type_, (types.Vector, types.Matrix)) and try_type_of(value) != type_:
        return wrapped(copied(adapted(value, type_)), type_)
    return convert(value, type_)


def copy(value: object) -> object:
    """Return an equal value that shares nothing with this one; literals become strong."""
    if isinstance(value, (VectorValue, MatrixValue, ArrayValue)):
        return value.__copy__()
    if isinstance(value, tuple):
        return tuple(copy(v) for v in value)
    if isinstance(value, PairValue):
        return PairValue(copy(value.p), copy(value.d))
    if type(value) is int:
        return scalar(value, types.INT)
    if type(value) is float:
        return scalar(value, types.FLOAT)
    record = record_of(type(value))
    return value if record is None else map_fields(value, lambda _, v: copy(v))


def map_fields(value: object, change: Callable[[str, Any], object]) -> object:
    """Return a struct of the same class with every field changed."""
    made = object.__new__(type(value))
    for name, old in vars(value).items():
        made.__dict__[name] = change(name, old)
    return made


# --- components in memory order --------------------------------------------------------------------------------------


def scalars_of(value: object) -> Iterator[int | float | bool]:
    """Yield every scalar of a value as a Python number, in memory order."""
    if isinstance(value, (VectorValue, MatrixValue)):
        yield from bottom(value.data).ravel().tolist()
    elif isinstance(value, (tuple, ArrayValue)):
        for item in value:
            yield from scalars_of(item)
    elif record_of(type(value)) is not None:
        for item in vars(value).values():
            yield from scalars_of(item)
    else:
        yield _plain(value)


def _same(value: object) -> object:
    return value


def map_floating(value: object, change: Callable[[Data], Data], keep: Callable[[object], object] = _same) -> object:
    """Return the same value with ``change`` applied to the components of every differentiable part, in memory order.

    Fields without gradient, integers and bools go through ``keep``.
    """
    if isinstance(value, (VectorValue, MatrixValue)):
        return type(value).of(change(value.data)) if value.data.dtype.kind == "f" else keep(value)
    if isinstance(value, tuple):
        return tuple(map_floating(v, change, keep) for v in value)
    if isinstance(value, ArrayValue):
        return type(value).of([map_floating(v, change, keep) for v in value.items])
    if isinstance(value, PairValue):
        return PairValue(map_floating(value.p, change, keep), map_floating(value.d, change, keep))
    if isinstance(value, (np.floating, Traced)):
        changed = change(value)  # type: ignore[arg-type]  # numpy scalars are components too
        return changed if isinstance(changed, Traced) else changed[()]
    record = record_of(type(value))
    if record is None:
        return keep(value)
    stays = {f.name for f in record.fields if f.no_diff}
    return map_fields(value, lambda name, v: keep(v) if name in stays else map_floating(v, change, keep))


def floating_parts(value: object) -> list[Data]:
    """Return the components of every differentiable part, in memory order."""
    parts: list[Data] = []

    def note(data: Data) -> Data:
        parts.append(data)
        return data

    map_floating(value, note)
    return parts


def zeroed(value: object) -> object:
    """Return a value of the same type with every number 0."""
    if isinstance(value, (VectorValue, MatrixValue)):
        return type(value)()
    if isinstance(value, tuple):
        return tuple(zeroed(v) for v in value)
    if isinstance(value, ArrayValue):
        return type(value).of([zeroed(v) for v in value.items])
    if isinstance(value, PairValue):
        return PairValue(zeroed(value.p), zeroed(value.d))
    if record_of(type(value)) is not None:
        return map_fields(value, lambda _, v: zeroed(v))
    type_ = try_type_of(value)
    return scalar(0, type_) if isinstance(type_, types.Scalar) else value
