"""List the blocks of uniforms of an artefact: where each is bound, and where every scalar in it lies.

``{"scope": "entry_point", "kind": "descriptorTableSlot", "index": 0, "size": 16, "members": [{"parameter": "m",
"path": [], "scalar": "float32", "offset": 0, "shape": [3, 3], "strides": [16, 4]}]}``: row i, column j of ``m`` lies at
``16 * i + 4 * j``.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

from slangad.compiler.toolchain.jobs.reflection import block_kinds

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    Json = Mapping[str, Any]
    Record = dict[str, object]

_BYTES: Final = {
    **dict.fromkeys(("int8", "uint8"), 1),
    **dict.fromkeys(("int16", "uint16", "float16"), 2),
    **dict.fromkeys(("int64", "uint64", "float64"), 8),
}
"""Bytes of scalars; the others have four."""
_LARGE_ROWS: Final = ("wgsl", "hlsl", "dxil")
"""Targets whose matrices have rows at multiples of 16 bytes."""
_ROW: Final = 16
_AT: Final[Json] = {"kind": "scalar", "scalarType": "uint32"}
"""The type of the first element of a buffer that is packed."""
_FOUR: Final = 4


def blocks_of(target: str, program: Json) -> list[Record]:
    """Return the blocks of an artefact's one entry point, from Slang's reflection."""
    of_module, of_entry = block_kinds(target)
    entry: Json = next(iter(program.get("entryPoints", ())), {})
    blocks = (
        _block(target, "module", {"kind": of_module, "index": 0}, program),
        _block(target, "entry_point", entry.get("uniformBlock") or {"kind": of_entry, "index": 0}, entry),
    )
    return [block for block in blocks if block["members"]]


def _block(target: str, scope: str, binding: Json, of: Json) -> Record:
    uniforms = [p for p in of.get("parameters", ()) if p.get("binding", {}).get("kind") in ("uniform", "packed")]
    end = max((p["binding"]["offset"] + p["binding"].get("size", 0) for p in uniforms), default=0)
    types = (_AT if p["binding"]["kind"] == "packed" else p["type"] for p in uniforms)
    members = [
        member
        for p, type_ in zip(uniforms, types, strict=True)
        for member in _members(target, p["name"], (), p["binding"]["offset"], type_)
    ]
    return {"scope": scope, "kind": binding["kind"], "index": binding["index"], "size": end, "members": members}


def _members(
    target: str, name: str, path: tuple[str, ...], offset: int, type_: Json, outer: tuple[tuple[int, int], ...] = ()
) -> Iterator[Record]:
    """Yield the parts of a parameter without structs; ``outer`` has extents and strides of the arrays around."""
    match type_["kind"]:
        case "struct":
            for field in type_["fields"]:
                place = offset + field["binding"]["offset"]
                yield from _members(target, name, (*path, field["name"]), place, field["type"], outer)
        case "array":
            axis = type_["elementCount"], type_.get("uniformStride") or _size(target, type_["elementType"])
            yield from _members(target, name, path, offset, type_["elementType"], (*outer, axis))
        case "matrix":
            axis = type_["rowCount"], _row(target, type_)
            inner = {"kind": "vector", "elementCount": type_["columnCount"], "elementType": type_["elementType"]}
            yield from _members(target, name, path, offset, inner, (*outer, axis))
        case "vector":
            axis = type_["elementCount"], _size(target, type_["elementType"])
            yield from _members(target, name, path, offset, type_["elementType"], (*outer, axis))
        case kind:
            yield {
                "parameter": name,
                "path": list(path),
                "scalar": type_.get("scalarType", kind if kind != "resource" else "buffer"),
                "offset": offset,
                "shape": [extent for extent, _ in outer],
                "strides": [stride for _, stride in outer],
            }


def _row(target: str, matrix: Json) -> int:
    """Return the bytes from one row of a matrix to the next."""
    size, columns = _size(target, matrix["elementType"]), int(matrix["columnCount"])
    if target in _LARGE_ROWS:
        return _ROW
    return size * (_FOUR if target == "metal" and columns > 2 else columns)


def _size(target: str, type_: Json) -> int:
    match type_["kind"]:
        case "scalar":
            return _BYTES.get(type_["scalarType"], _FOUR)
        case "vector":
            return int(type_["elementCount"]) * _size(target, type_["elementType"])
        case "matrix":
            return int(type_["rowCount"]) * _row(target, type_)
        case "array":
            return int(type_["elementCount"]) * (type_.get("uniformStride") or _size(target, type_["elementType"]))
        case _:
            fields = type_.get("fields", ())
            return max((f["binding"]["offset"] + f["binding"].get("size", 0) for f in fields), default=0)
