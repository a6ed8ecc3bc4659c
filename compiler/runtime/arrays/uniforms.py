"""Convert the arrays of a parameter to lists and mappings, for values without a buffer.

Matrices stay arrays, as slangpy needs them.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, Final

from slangad.compiler.emit.memory.buffers import comes_apart
from slangad.compiler.emit.model import ParameterRole
from slangad.compiler.ir.types import Array, Matrix, Struct

if TYPE_CHECKING:
    import numpy.typing as npt

    from slangad.compiler.emit.model import EntryParameter, EntryPoint
    from slangad.compiler.ir.types import Type
    from slangad.compiler.runtime.arrays.array_keys import Slot
    from slangad.compiler.runtime.arrays.signature import KernelSignature, Path

    Arrays = Mapping[Path, npt.NDArray[Any]]

_AXES: Final = 2
"""The number of rows and columns of a matrix."""

FieldNames = Mapping[str, Mapping[str, str]]
"""By struct key, the names of its fields in the Slang."""


def uniform_value(
    parameter: EntryParameter,
    entry: EntryPoint,
    signature: KernelSignature,
    arrays: Mapping[Slot, npt.NDArray[Any]],
    fields: FieldNames,
) -> object:
    """Return the value to bind for a parameter: the whole value, or one part if parts are separate parameters."""
    value = next(v for v in signature.parameters if v.name == parameter.parameter)
    parts = {part.path: arrays[ParameterRole.UNIFORM, value.name, part.path] for part in value.parts}
    names = {p.name for p in entry.parameters if p.parameter == value.name and p.role is ParameterRole.UNIFORM}
    if len(names) == 1 and isinstance(_innermost(value.type), Struct) and not comes_apart(value.type):
        return _nested(value.type, (), (), parts, fields)
    return _plain(parts[parameter.path], _part_type(value.type, parameter.path))


def _innermost(type_: Type) -> Type:
    while isinstance(type_, Array):
        type_ = type_.element
    return type_


def _nested(type_: Type, path: Path, index: tuple[int, ...], parts: Arrays, fields: FieldNames) -> object:
    """Return a mapping for each struct, a list for each array; ``index`` selects the element of arrays of structs."""
    match type_:
        case Struct(key=key, fields=members):
            return {
                fields[key][member.name]: _nested(member.type, (*path, member.name), index, parts, fields)
                for member in members
            }
        case Array(element, size) if isinstance(_innermost(type_), Struct):
            return [_nested(element, path, (*index, number), parts, fields) for number in range(size)]
        case _:
            return _plain(parts[path][index], type_)


def _part_type(type_: Type, path: Path) -> Type:
    """Return the type of a part of a value; arrays of structs on the path are skipped."""
    for step in path:
        inner = _innermost(type_)
        assert isinstance(inner, Struct)  # noqa: S101  (only structs have parts)
        type_ = next(member.type for member in inner.fields if member.name == step)
    return type_


def _plain(array: npt.NDArray[Any], type_: Type) -> object:
    """Convert to Python numbers and lists (matrices are possible), with bools as 0 and 1."""
    array = array.astype("u4") if array.dtype == bool else array
    if isinstance(_innermost(type_), Matrix):
        return array if array.ndim == _AXES else [_plain(item, type_) for item in array]
    return array.tolist()
