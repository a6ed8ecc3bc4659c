"""Convert Slang's reflection of the ``cpp`` target to numpy dtypes with the bytes of the emitted C++ structs."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

    import numpy as np

    Json = Mapping[str, Any]

SCALARS = {
    "bool": "?",
    "int8": "i1",
    "uint8": "u1",
    "int16": "i2",
    "uint16": "u2",
    "int32": "i4",
    "uint32": "u4",
    "int64": "i8",
    "uint64": "u8",
    "float16": "f2",
    "float32": "f4",
    "float64": "f8",
}
"""Slang's scalar types and numpy's codes for them."""

BUFFERS = ("structuredBuffer", "byteAddressBuffer")


@dataclass(frozen=True, slots=True)
class Block:
    """The parameters of an entry point, or of a module, as C++ has them in one struct of type ``dtype``.

    Attributes:
        parameters: Slang's reflection of them.
        names: Their names.
        elements: The element types of the buffers.
        offsets: Where a buffer's address lies in the struct; its count of elements comes next.
        writable: The names of buffers that may be written.
    """

    parameters: tuple[Json, ...]
    dtype: np.dtype[Any]
    names: frozenset[str]
    elements: Mapping[str, np.dtype[Any]]
    offsets: Mapping[str, int]
    writable: frozenset[str]


def block_of(parameters: Iterable[Json], *, some: bool = False) -> Block:
    """Return the block of those parameters that take room in it.

    Args:
        parameters: Slang's reflection of them.
        some: True if those that cannot be passed to the CPU (textures) only get room in it: globals,
            which are there whether an entry point reads them or not.

    Raises:
        NotImplementedError: One cannot be passed to the CPU.
    """
    bound = [p for p in parameters if "binding" in p]
    passable = tuple(p for p in bound if not some or _is_passable(p["type"]))
    buffers = [p for p in passable if p["type"]["kind"] == "resource" and p["type"]["baseShape"] in BUFFERS]
    end = max((int(p["binding"]["offset"]) + int(p["binding"].get("size", 0)) for p in bound), default=0)
    return Block(
        passable,
        struct_dtype(passable, end),
        frozenset(p["name"] for p in passable),
        {p["name"]: element_dtype(p["type"]) for p in buffers},
        {p["name"]: int(p["binding"]["offset"]) for p in buffers},
        frozenset(p["name"] for p in buffers if p["type"].get("access") == "readWrite"),
    )


def _is_passable(type_: Json) -> bool:
    try:
        dtype_of(type_)
    except NotImplementedError:
        return False
    return True


def dtype_of(type_: Json) -> np.dtype[Any]:
    """Return the numpy type with the layout the emitted C++ gives a Slang type.

    Vectors and arrays are subarrays, matrices are (rows, columns), structs have named fields; a buffer is its address
    and its element count, a constant buffer its address.

    Raises:
        NotImplementedError: The type cannot be passed to the CPU (a texture, say).
    """
    import numpy as np

    match type_["kind"]:
        case "scalar":
            return np.dtype(SCALARS[type_["scalarType"]])
        case "vector":
            return np.dtype((dtype_of(type_["elementType"]), (type_["elementCount"],)))
        case "matrix":
            return np.dtype((dtype_of(type_["elementType"]), (type_["rowCount"], type_["columnCount"])))
        case "array":
            return np.dtype((dtype_of(type_["elementType"]), (type_["elementCount"],)))
        case "struct":
            return struct_dtype(type_["fields"])
        case "constantBuffer":
            return np.dtype("u8")
        case "resource" if type_["baseShape"] in BUFFERS:
            return np.dtype([("data", "u8"), ("count", "u8")])
        case _:
            raise NotImplementedError(f"a {type_.get('baseShape', type_['kind'])} cannot be passed to the CPU")


def struct_dtype(fields: Sequence[Json], size: int = 0) -> np.dtype[Any]:
    """Return the dtype of a struct whose fields carry their offsets, of at least ``size`` bytes, with C++ padding."""
    import numpy as np

    types = [dtype_of(field["type"]) for field in fields]
    offsets = [int(field["binding"]["offset"]) for field in fields]
    end = max((offset + kind.itemsize for offset, kind in zip(offsets, types, strict=True)), default=0)
    end = max(end, size)
    align = max((alignment(kind) for kind in types), default=1)
    return np.dtype(
        {
            "names": [field["name"] for field in fields],
            "formats": types,
            "offsets": offsets,
            "itemsize": max(1, -(-end // align) * align),
        }
    )


def alignment(kind: np.dtype[Any]) -> int:
    """Return the alignment in bytes of the C++ type of this dtype: that of its largest scalar."""
    if kind.subdtype:
        return alignment(kind.subdtype[0])
    if kind.fields:
        return max(alignment(field[0]) for field in kind.fields.values())
    return kind.itemsize


def element_dtype(buffer: Json) -> np.dtype[Any]:
    """Return the dtype of one element of a buffer."""
    import numpy as np

    return dtype_of(buffer["resultType"]) if "resultType" in buffer else np.dtype("u1")
