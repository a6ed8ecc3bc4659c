"""Pack uniforms for WebGPU by Slang's reflection of their types, in the layout std140.

Entries of arrays, rows of matrices and structs begin at multiples of 16 bytes.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

from slangad.compiler.runtime.device.layout import SCALARS

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from slangad.compiler.runtime.device.layout import Json

_ROW: Final = 16
"""Bytes from one row of a matrix to the next; blocks are made of as many."""


def packed(parameters: Sequence[Json], values: Mapping[str, object]) -> bytes:
    """Return a block with the values of some parameters, each at its offset.

    Args:
        parameters: Slang's reflection of each, those that are no uniforms among them.
        values: Numbers, lists and mappings by name; those of no parameter are left out, what has none is zero.
    """
    uniforms = [p for p in parameters if p.get("binding", {}).get("kind") == "uniform"]
    end = max((p["binding"]["offset"] + p["binding"]["size"] for p in uniforms), default=0)
    block = bytearray(-(-max(1, end) // _ROW) * _ROW)
    for parameter in (p for p in uniforms if p["name"] in values):
        _put(block, parameter["binding"]["offset"], parameter["type"], values[parameter["name"]])
    return bytes(block)


def _put(block: bytearray, at: int, type_: Json, value: Any) -> None:  # noqa: ANN401  (a number, list or mapping)
    match type_["kind"]:
        case "struct":
            for field in type_["fields"]:
                _put(block, at + field["binding"]["offset"], field["type"], value[field["name"]])
        case "array":
            for number in range(type_["elementCount"]):
                _put(block, at + number * type_["uniformStride"], type_["elementType"], value[number])
        case "matrix":
            for row in range(type_["rowCount"]):
                _store(block, at + row * _ROW, type_["elementType"], value[row])
        case "vector":
            _store(block, at, type_["elementType"], value)
        case _:
            _store(block, at, type_, value)


def _store(block: bytearray, at: int, scalar: Json, value: object) -> None:
    """Store one scalar, or several next to each other."""
    import numpy as np

    data = np.asarray(value, SCALARS[scalar["scalarType"]]).tobytes()
    block[at : at + len(data)] = data
