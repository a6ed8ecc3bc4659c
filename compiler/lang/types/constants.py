"""The type and numbers of a Python value bound as a constant, for the IR and for Python execution.

Python's own numbers and numpy's 64-bit scalars are literals. numpy computes with 64 bits by default. numpy arrays
are tables of ``float``, ``int`` or ``bool``.
"""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING

from slangad.compiler.ir import types

if TYPE_CHECKING:
    import numpy as np

Number = int | float | bool

_SCALARS = {
    "float16": types.HALF,
    "float32": types.FLOAT,
    "float64": types.DOUBLE,
    "int32": types.INT,
    "uint32": types.UINT,
    "bool": types.BOOL,
}
_ENTRIES = {
    "float16": types.HALF,
    "float32": types.FLOAT,
    "float64": types.FLOAT,
    "uint32": types.UINT,
    "bool": types.BOOL,
}


def constant_parts(value: object) -> tuple[types.Type, tuple[Number, ...]] | None:
    """Return type and scalars of a numpy value or a value of the language, in memory order; None for other objects."""
    if type(value) in (bool, int, float) or "numpy" not in sys.modules:
        return None
    import numpy as np

    if isinstance(value, np.generic):
        return _scalar_parts(value)
    if isinstance(value, np.ndarray):
        return _table_parts(value)
    return _value_parts(value)


def _scalar_parts(value: np.generic) -> tuple[types.Type, tuple[Number, ...]] | None:
    if value.dtype.name in ("float64", "int64", "uint64"):
        type_: types.Type | None = types.FLOAT if value.dtype.kind == "f" else types.INT
    else:
        type_ = _SCALARS.get(value.dtype.name, types.INT if value.dtype.kind in "iu" else None)
    return None if type_ is None else (type_, (value.item(),))


def _table_parts(value: np.ndarray) -> tuple[types.Type, tuple[Number, ...]] | None:
    element = _ENTRIES.get(value.dtype.name, types.INT if value.dtype.kind in "iu" else None)
    if element is None or value.ndim == 0 or value.size == 0:
        return None
    type_: types.Type = element
    for size in reversed(value.shape):
        type_ = types.Array(type_, size)
    return type_, tuple(value.ravel().tolist())


def _value_parts(value: object) -> tuple[types.Type, tuple[Number, ...]] | None:
    from slangad.compiler.lang.types.values import scalars_of, try_type_of

    type_ = try_type_of(value)
    if type_ is None or isinstance(type_, types.Scalar) or not any(True for _ in types.leaves(type_)):
        return None
    return type_, tuple(scalars_of(value))
