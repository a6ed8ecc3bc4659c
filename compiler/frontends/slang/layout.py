"""Convert types of Slang files to types of the IR, or give the reason why their values cannot lie in buffers."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Final

from slangad.compiler.ir import types
from slangad.compiler.slang_text.global_parameters import POINTER

if TYPE_CHECKING:
    from collections.abc import Mapping

    from slangad.compiler.frontends.slang.reflected import DeclaredParam, DeclaredStruct, Json

_NOISE: Final = re.compile(r", (?:DefaultDataLayout|Access\.\w+|AddressSpace\.\w+)\b")
_VECTOR: Final = re.compile(r"\bvector<(\w+),\s*(\d)>")
_MATRIX: Final = re.compile(r"\bmatrix<(\w+),\s*(\d),\s*(\d)>")
_TENSOR: Final = "TensorView"
_TENSORS: Final = frozenset({_TENSOR, "DiffTensorView"})
"""Tensors of PyTorch. A ``DiffTensorView`` is a struct with two ``TensorView``."""
_MANY: Final = 4096
"""Most entries of an array. Larger arrays make the text and the compile time of a kernel explode."""


class Unlaid(Exception):  # noqa: N818  (control flow, not an error users see)
    """The values of a type cannot lie in buffers. The text gives the reason, to follow the name of a parameter.

    Attributes:
        held: True if a field or what a pointer leads to is the reason: the check may set that in memory.
    """

    def __init__(self, reason: str, *, held: bool = False) -> None:
        super().__init__(reason)
        self.held = held


def type_of(record: Json, structs: Mapping[str, DeclaredStruct]) -> types.Type:
    """Return the IR's type for a reflected one.

    Raises:
        Unlaid: There is none.
    """
    match record["kind"]:
        case "scalar":
            return types.VOID if record["scalar"] == "void" else types.Scalar(record["scalar"])
        case "vector":
            if not 2 <= record["count"] <= 4:
                raise Unlaid(f"is a vector of {record['count']}")
            return types.Vector(types.Scalar(record["scalar"]), record["count"])
        case "matrix":
            return _matrix(record)
        case "array":
            if record["element"]["kind"] == "enum":
                raise Unlaid("is an array of enums")
            if not 0 < record["count"] <= _MANY:
                raise Unlaid(f"is an array of {record['count'] or 'unknown'} entries")
            return types.Array(type_of(record["element"], structs), record["count"])
        case "enum":
            return types.Scalar("int", tuple(f"{record['name']}.{case}" for case in record["cases"]))
        case "struct":
            return _struct(record["name"], structs)
        case _:
            name = shown_name(record["name"])
            reason = f"is {_article(name)}, which can't lie in a buffer of elements"
            raise Unlaid(reason, held=name.startswith(f"{POINTER}<"))


def shown_name(name: str) -> str:
    """Return a type's name as people write it: ``StructuredBuffer<float3>``, without default arguments."""
    shaped = _VECTOR.sub(r"\1\2", _MATRIX.sub(r"\1\2x\3", name))
    return _NOISE.sub("", shaped)


def _article(name: str) -> str:
    return f"an {name}" if name[:1] in "AEIOaeio" else f"a {name}"


def _matrix(record: Json) -> types.Matrix:
    rows, columns = record["rows"], record["columns"]
    if not (2 <= rows <= 4 and 2 <= columns <= 4):
        raise Unlaid(f"is a matrix of {rows} by {columns}")
    if record["scalar"] == "bool":
        raise Unlaid("is a matrix of bools")
    return types.Matrix(types.Scalar(record["scalar"]), rows, columns)


def _struct(name: str, structs: Mapping[str, DeclaredStruct]) -> types.Struct:
    """Return a struct. Its fields carry gradient if its Differential has them too."""
    struct = structs[name]
    if name.startswith("CoopVec<"):
        raise Unlaid(
            f"is {_article(shown_name(name))}, which no buffer has: take a vector or an array, and make it inside"
        )
    kind = name.partition("<")[0]
    if kind in _TENSORS:
        raise Unlaid(f"is {_article(shown_name(name))}, which can't lie in a buffer of elements", held=kind != _TENSOR)
    if not struct.fields and not struct.empty:
        raise Unlaid(f"is {_article(shown_name(name))}, which has no fields, or none that are known")
    if struct.inherits:
        raise Unlaid(f"is {_article(name)}, which inherits from another struct")
    differential = struct.differential or ()
    if not {*differential} <= {field.name for field in struct.fields}:
        raise Unlaid(f"is {_article(name)}, whose Differential has other fields than itself")
    return types.Struct(name, name, tuple(_field(name, field, differential, structs) for field in struct.fields))


def _field(
    owner: str, field: DeclaredParam, differential: tuple[str, ...], structs: Mapping[str, DeclaredStruct]
) -> types.Field:
    try:
        type_ = type_of(field.type, structs)
    except Unlaid as reason:
        raise Unlaid(f"is {_article(owner)}, whose field '{field.name}' {reason}", held=True) from None
    return types.Field(field.name, type_, field.no_diff or field.name not in differential)
