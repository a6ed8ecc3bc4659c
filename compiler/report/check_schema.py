"""Make the JSON Schema (draft 2020-12) of a check's report from the dataclasses of the model.

Made from the model's own types and docstrings, so that it can't fall behind. Programs should ignore fields they don't
know: within one ``schema`` number fields are only added.
"""

from __future__ import annotations

import re
from dataclasses import fields
from enum import Enum
from inspect import cleandoc
from types import NoneType, UnionType
from typing import Final, Literal, Union, get_args, get_origin, get_type_hints

from slangad.compiler.errors.spans import Span
from slangad.compiler.report.check_json import DERIVED, NOT_FINITE
from slangad.compiler.report.model import SCHEMA, Number, Report, Verdict

Schema = dict[str, object]

PLAIN: Final[dict[object, Schema]] = {
    str: {"type": "string"},
    bool: {"type": "boolean"},
    int: {"type": "integer"},
    float: {"$ref": "#/$defs/Number"},
}
NUMBER: Final[Schema] = {
    "description": "A number, or a string if it is not finite.",
    "anyOf": [{"type": "number"}, {"enum": list(NOT_FINITE)}],
}
_ATTRIBUTE: Final = re.compile(r"^ {4}(\w+): (.+(?:\n {8}.+)*)$", re.MULTILINE)


def check_schema(*, closed: bool = False) -> Schema:
    """Return the schema; ``closed`` allows nothing that it does not name, to test what writes the report."""
    definitions: dict[str, Schema] = {"Number": NUMBER}
    root = _record(Report, definitions, closed=closed)
    properties = root["properties"]
    required = root["required"]
    assert isinstance(properties, dict) and isinstance(required, list)  # noqa: S101, PT018  (made below)
    texts = {"name": PLAIN[str], "version": PLAIN[str]}
    tool = {"type": "object", "properties": texts, "required": list(texts)}
    properties["toolchain"] = {"type": "array", "items": tool}
    number = {"type": "integer", "minimum": 0}
    names = [verdict.value for verdict in Verdict]
    properties["counts"] = {"type": "object", "properties": dict.fromkeys(names, number), "required": names}
    required.append("counts")
    properties["schema"] = {"const": SCHEMA}
    head: Schema = {
        "$schema": "https://json-schema.org/draft/2020-12/schema",
        "$id": f"urn:slangad:schema:report:{SCHEMA}",
        "title": "slangad check --format json",
    }
    return {**head, **root, "$defs": dict(sorted(definitions.items()))}


def _record(cls: type, definitions: dict[str, Schema], *, closed: bool) -> Schema:
    """Return the schema of one dataclass; those it holds go into the definitions."""
    types = get_type_hints(cls)
    types = {field.name: types[field.name] for field in fields(cls)}
    types |= {name: _property_type(cls, name) for name in DERIVED.get(cls, ())}
    first, texts = _documented(cls)
    properties: Schema = {}
    for name, kind in types.items():
        schema = _of(kind, definitions, closed=closed)
        properties[name] = {"description": texts[name], **schema} if name in texts else schema
    record: Schema = {"type": "object", "description": first, "properties": properties, "required": list(types)}
    return {**record, "additionalProperties": False} if closed else record


def _property_type(cls: type, name: str) -> object:
    hints = get_type_hints(vars(cls)[name].fget)
    return hints["return"]


def _documented(cls: type) -> tuple[str, dict[str, str]]:
    """Return the first paragraph of a docstring and what it says about each attribute."""
    text = cleandoc(cls.__doc__ or "")
    documented = {name: " ".join(words.split()) for name, words in _ATTRIBUTE.findall(text)}
    return " ".join(text.split("\n\n")[0].split()), documented


def _of(kind: object, definitions: dict[str, Schema], *, closed: bool) -> Schema:
    """Return the schema of one type."""
    if kind == Number:
        return {"anyOf": [PLAIN[bool], PLAIN[float]]}
    if kind in PLAIN:
        return PLAIN[kind]
    origin, arguments = get_origin(kind), get_args(kind)
    if origin is Literal:
        return {"enum": list(arguments)}
    if origin in (Union, UnionType):
        rest = [_of(each, definitions, closed=closed) for each in arguments if each is not NoneType]
        return {"anyOf": [*rest, {"type": "null"}]}
    if origin is tuple:
        return _of_tuple(arguments, definitions, closed=closed)
    assert isinstance(kind, type), f"no schema for {kind}"  # noqa: S101  (the model is ours)
    if issubclass(kind, Enum):
        return {"enum": [member.value for member in kind]}
    if kind.__name__ not in definitions:
        definitions[kind.__name__] = {}
        definitions[kind.__name__] = _record(kind, definitions, closed=closed)
    reference: Schema = {"$ref": f"#/$defs/{kind.__name__}"}
    return {"anyOf": [reference, {"type": "null"}]} if kind is Span else reference


def _of_tuple(arguments: tuple[object, ...], definitions: dict[str, Schema], *, closed: bool) -> Schema:
    items = [_of(each, definitions, closed=closed) for each in arguments if each is not Ellipsis]
    if Ellipsis in arguments:
        return {"type": "array", "items": items[0]}
    return {"type": "array", "prefixItems": items, "minItems": len(items), "maxItems": len(items)}
