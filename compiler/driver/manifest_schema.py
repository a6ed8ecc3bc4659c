"""Make the JSON Schema (draft 2020-12) of the manifest.

Programs should ignore keys that they don't know: within one ``schema`` number keys are only added.
"""

from __future__ import annotations

from typing import Final

from slangad.compiler.driver.manifest_text import SCHEMA
from slangad.compiler.emit.launch_plan import Grid, Start
from slangad.compiler.emit.model import Mode, ParameterRole, ThreadWork
from slangad.compiler.ir.targets import TARGETS

Schema = dict[str, object]

_TEXT: Final[Schema] = {"type": "string"}
_NUMBER: Final[Schema] = {"type": "integer", "minimum": 0}
_FLAG: Final[Schema] = {"type": "boolean"}
_HASH: Final[Schema] = {"type": "string", "pattern": "^[0-9a-f]{64}$"}
_TARGET: Final[Schema] = {"enum": list(TARGETS)}

_OPTIONAL: Final = ("build",)
"""Keys that not every manifest has."""


def manifest_schema(*, closed: bool = False) -> Schema:
    """Return the schema; ``closed`` allows no keys that it does not name, to test what writes manifests."""
    count = _list({"type": ["integer", "string"]}, "A product: a number, then domain, parts, extents:w or copies:w.")

    def record(description: str, **keys: Schema) -> Schema:
        required = [key for key in keys if key not in _OPTIONAL]
        shape: Schema = {"type": "object", "description": description, "properties": keys, "required": required}
        return shape | ({"additionalProperties": False} if closed else {})

    member = record(
        "A part of a uniform block without structs.",
        parameter=_TEXT,
        path=_list(_TEXT, "Fields on the way to it."),
        scalar=_TEXT,
        offset=_NUMBER,
        shape=_list(_NUMBER, "Extents."),
        strides=_list(_NUMBER, "Bytes from one element to the next, along each axis of the shape."),
    )
    block = record(
        "A uniform block.",
        scope={"enum": ["module", "entry_point"]},
        kind=_TEXT,
        index=_NUMBER,
        size=_NUMBER,
        members=_list(member, "Its parts."),
    )
    artefact = record(
        "The code of an entry point for one target.",
        target=_TARGET,
        file=_TEXT,
        sha256=_HASH,
        reflection=_TEXT,
        entry=_TEXT,
        features=_list(_TEXT, "What the device must support."),
        storage_buffers={"type": ["integer", "null"]},
        limits={
            "type": "object",
            "description": "The smallest limits that a device must have, under the names of WebGPU or Vulkan.",
            "additionalProperties": _NUMBER,
        },
        blocks=_list(block, "Its uniform blocks."),
    )
    parameter = record(
        "A parameter of an entry point.",
        name=_TEXT,
        role=_enum(ParameterRole),
        parameter=_TEXT,
        path=_list({"type": ["string", "integer"]}, "Struct fields and tuple indices on the way to it."),
        type=_TEXT,
        scalar=_TEXT,
        shape=_list(_NUMBER, "The axes of one element."),
        access={"enum": ["read", "write", "add", "change", "value", "texture", "unused"]},
        axes=_NUMBER,
        shared=_FLAG,
        bindings={"type": "object", "description": "Slang's binding, by target."},
    )
    entry = record(
        "An entry point.",
        name=_TEXT,
        function={"type": "string", "description": "Its function in the emitted Slang; several can share one."},
        mode=_enum(Mode),
        part=_TEXT,
        work=_enum(ThreadWork),
        totals=_NUMBER,
        dims=_NUMBER,
        group_size=_list(_NUMBER, "Threads of a group along x, y and z."),
        tile=_list(_NUMBER, "Extents of the tiles of the domain that groups walk; empty if they walk it in rows."),
        parameters=_list(parameter, "Its parameters."),
        artefacts=_list(artefact, "Its artefacts."),
    )
    bound = record("A use of a buffer.", entry_point=_TEXT, parameter=_TEXT)
    buffer = record(
        "A buffer of a mode.",
        key=_TEXT,
        role=_enum(ParameterRole),
        scalar=_TEXT,
        components=_NUMBER,
        scalars=count,
        start=_enum(Start),
        bound=_list(bound, "Where it is bound."),
    )
    launch = record("A launch.", entry_point=_TEXT, grid=_enum(Grid), count=count)
    mode = record(
        "A mode.",
        mode=_enum(Mode),
        buffers=_list(buffer, "Its buffers."),
        launches=_list(launch, "Its launches, in order."),
    )
    kernel = record(
        "A kernel.",
        name=_TEXT,
        accumulation={"type": "object", "additionalProperties": _TEXT},
        deciding={"type": "object", "additionalProperties": _TEXT},
        products={"type": "object", "additionalProperties": _TEXT, "description": "Forms of products, by target."},
        tensors={"type": "object", "additionalProperties": _NUMBER, "description": "Numbers of axes, by name."},
        modes=_list(mode, "Its modes."),
        entry_points=_list(entry, "Its entry points."),
    )
    file = record("A file that belongs to the input.", file=_TEXT, kind=_TEXT, sha256=_HASH)
    one = record(
        "An input.",
        path=_TEXT,
        sources=_list(record("A file that it depends on.", path=_TEXT, sha256=_HASH), "Itself first."),
        constants=_list(record("A constant.", name=_TEXT, value=_TEXT), "Constants of the description."),
        files=_list(file, "Slang, libraries, headers."),
        kernels=_list(kernel, "Its kernels."),
        pipelines={"type": "object", "additionalProperties": _list(_TEXT, "The pipeline's kernels.")},
        loops=_list({"type": "object"}, "How reverse mode gets the states of loops."),
        left_out=_list({"type": "object"}, "Functions that have no kernel."),
    )
    root = record(
        "The manifest of slangad compile.",
        schema={"const": SCHEMA},
        slangad=_TEXT,
        toolchain={"type": "object", "additionalProperties": _TEXT},
        targets=_list(_TARGET, "The targets of the run."),
        build={"type": "object", "description": "How slangad knows that files are up to date."},
        inputs=_list(one, "The inputs of the run."),
    )
    head: Schema = {
        "$schema": "https://json-schema.org/draft/2020-12/schema",
        "$id": "urn:slangad:schema:manifest",
        "title": "slangad manifest",
    }
    return head | root


def _list(items: Schema, description: str) -> Schema:
    return {"type": "array", "items": items, "description": description}


def _enum(kind: type[Mode] | type[ParameterRole] | type[ThreadWork] | type[Grid] | type[Start]) -> Schema:
    return {"enum": [member.value for member in kind]}
