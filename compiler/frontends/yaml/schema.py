"""The table of sections as a JSON Schema (draft 2020-12), for editors and for programs that write descriptions."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Final

from slangad.compiler.errors.exhaustive import assert_never
from slangad.compiler.frontends.yaml.sections import TABLE, VERSION
from slangad.compiler.frontends.yaml.shape import (
    END,
    NAME,
    Choice,
    Either,
    Flag,
    Integer,
    Key,
    ListOf,
    MapOf,
    Named,
    Number,
    Record,
    Shape,
    ShapeTable,
    Text,
    When,
)
from slangad.compiler.frontends.yaml.type_words import PLACES, TENSORS
from slangad.compiler.frontends.yaml.words import types
from slangad.compiler.ir.nodes import Memory

if TYPE_CHECKING:
    from collections.abc import Iterator

Json = dict[str, object]

_HEAD: Final[Json] = {
    "$schema": "https://json-schema.org/draft/2020-12/schema",
    "$id": f"urn:slangad:schema:description:{VERSION}",
    "title": "slangad description",
    "examples": [
        {
            "slangad": VERSION,
            "functions": {"falloff": {"params": {"x": "float"}, "returns": "float", "expr": "exp(-x * x)"}},
            "kernels": {
                "fit": {
                    "params": {"x": "each float", "seen": "no_diff each float", "scale": "param float"},
                    "returns": "mean float",
                    "expr": "(scale * falloff(x) - seen) ** 2",
                }
            },
        }
    ],
}
_WORD: Final = NAME.removeprefix("^").removesuffix(END)
_MEMORIES: Final = ("no_diff", *PLACES)
_FORMS: Final = ("array", *TENSORS, Memory.TEXTURE2D.value)
_TYPE_PATTERN: Final = (
    rf"^\s*(?:(?:{'|'.join(_MEMORIES)})\s+)*(?:{_WORD}|(?:{'|'.join(_FORMS)})\s*<[^:;=(){{}}\[\]\"']+>)\s*{END}"
)
"""Words for memories, then the name of a type or struct, or one with parameters."""
_STORED: Final = ("float", "float2", "float3", "float4", "int", "uint")
"""Types that completion offers behind words for memories."""


def json_schema(table: ShapeTable = TABLE) -> Json:
    """Return a schema with the loader's structure: sections, keys, kinds of values, names, bounds."""
    definitions = {name: _shape(shape) for name, shape in table.definitions.items()}
    return {**_HEAD, **_shape(table.root), "$defs": {"type": _type_text(), **definitions}}


def _type_text() -> Json:
    """Return the schema of a type: the words that editors offer, and the pattern of all others, such as structs."""
    placed = [f"{memory} {type_}" for memory in PLACES for type_ in _STORED]
    constant = [f"no_diff {words}" for words in placed if words.startswith(Memory.EACH.value)]
    forms = ["array<float, 4>", *(f"{tensor}<float, {rank}>" for tensor in TENSORS for rank in (1, 2))]
    words = [*sorted(types()), *placed, *constant, *forms, "texture2d<float3>", "texture2d<float3, repeat>"]
    return {
        "description": "A type, after words for its memory: float3, no_diff each float3, tensor<float, 2>.",
        "type": "string",
        "anyOf": [{"enum": words}, {"pattern": _TYPE_PATTERN}],
    }


def _shape(shape: Shape) -> Json:
    match shape:
        case Record():
            return _record(shape)
        case Either(shapes):
            return {"anyOf": [_shape(s) for s in shapes]}
        case Named(name):
            return {"$ref": f"#/$defs/{name}"}
        case ListOf() | MapOf():
            return _collection(shape)
        case _:
            return _scalar(shape)


def _scalar(shape: Text | Choice | Integer | Number | Flag) -> Json:
    match shape:
        case Text(is_type=True):
            return {"$ref": "#/$defs/type"}
        case Text(pattern=pattern, or_number=or_number):
            schema: Json = {"type": ["string", "number"] if or_number else "string"}
            return {**schema, "pattern": pattern} if pattern else schema
        case Choice(words):
            return {"enum": list(words)}
        case Integer(low, high):
            return {"type": "integer", **_bounds("minimum", low), **_bounds("maximum", high)}
        case Number(bounds):
            low = None if bounds.low == -math.inf else int(bounds.low)
            below = None if bounds.below == math.inf else int(bounds.below)
            least = _bounds("exclusiveMinimum" if bounds.is_open else "minimum", low)
            return {"type": "number", **least, **_bounds("exclusiveMaximum", below)}
        case Flag(only):
            return {"type": "boolean"} if only is None else {"const": only}
        case _:
            assert_never(shape)


def _collection(shape: ListOf | MapOf) -> Json:
    if isinstance(shape, ListOf):
        bounds = {**_bounds("minItems", shape.low or None), **_bounds("maxItems", shape.high)}
        return {"type": "array", "items": _shape(shape.item), **bounds}
    inner = {"propertyNames": {"pattern": shape.keys}, "additionalProperties": _shape(shape.value)}
    if shape.low:
        return {"type": "object", **inner, "minProperties": shape.low}
    return {"type": ["object", "null"], **inner}


def _bounds(word: str, value: int | None) -> Json:
    return {} if value is None else {word: value}


def _record(shape: Record) -> Json:
    required = [key.name for key in shape.keys if key.required]
    return {
        "type": "object",
        "properties": {key.name: _key(key) for key in shape.keys},
        "additionalProperties": False,
        **({"required": required} if required else {}),
        **dict(_choice(shape)),
        **dict(_exclusions(shape)),
        **({"allOf": [_condition(when) for when in shape.when]} if shape.when else {}),
    }


def _key(key: Key) -> Json:
    default = {} if key.default is None else {"default": key.default}
    return {"description": key.doc, **_shape(key.shape), **default}


def _choice(shape: Record) -> Iterator[tuple[str, object]]:
    if shape.one_of:
        yield "oneOf", [{"required": [name]} for name in shape.one_of]
    if shape.some_of:
        full = {"type": "object", "minProperties": 1}
        yield "anyOf", [{"required": [name], "properties": {name: full}} for name in shape.some_of]


def _exclusions(shape: Record) -> Iterator[tuple[str, object]]:
    if shape.alone:
        yield "dependentSchemas", {name: {"properties": dict.fromkeys(others, False)} for name, others in shape.alone}


def _condition(when: When) -> Json:
    holds: Json = {"properties": {when.key: {"const": when.value}}}
    others = {**dict.fromkeys(when.never, False), **{name: _shape(shape) for name, shape, _ in when.then}}
    return {"if": holds if when.default else {**holds, "required": [when.key]}, "then": {"properties": others}}


__all__ = ["json_schema"]
