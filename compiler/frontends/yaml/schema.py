"""The table of sections as a JSON Schema (draft 2020-12), for editors and for programs that write descriptions."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from slangad.compiler.errors.exhaustive import assert_never
from slangad.compiler.frontends.yaml.sections import TABLE
from slangad.compiler.frontends.yaml.shape import (
    Choice,
    Either,
    Flag,
    Integer,
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

if TYPE_CHECKING:
    from collections.abc import Iterator

Json = dict[str, object]

_HEAD: Final[Json] = {
    "$schema": "https://json-schema.org/draft/2020-12/schema",
    "title": "slangad description",
}


def json_schema(table: ShapeTable = TABLE) -> Json:
    """Return a schema with the loader's structure: sections, keys, kinds of values, names, bounds."""
    definitions = {name: _shape(shape) for name, shape in table.definitions.items()}
    return {**_HEAD, **_shape(table.root), "$defs": definitions}


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
        case Text(pattern=pattern, or_number=or_number):
            schema: Json = {"type": ["string", "number"] if or_number else "string"}
            return {**schema, "pattern": pattern} if pattern else schema
        case Choice(words):
            return {"enum": list(words)}
        case Integer(low, high):
            return {"type": "integer", **_bounds("minimum", low), **_bounds("maximum", high)}
        case Number(positive):
            return {"type": "number", **({"exclusiveMinimum": 0} if positive else {})}
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
        "properties": {key.name: {"description": key.doc, **_shape(key.shape)} for key in shape.keys},
        "additionalProperties": False,
        **({"required": required} if required else {}),
        **dict(_choice(shape)),
        **dict(_exclusions(shape)),
        **({"allOf": [_condition(when) for when in shape.when]} if shape.when else {}),
    }


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
