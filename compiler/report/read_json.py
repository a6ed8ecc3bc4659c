"""Read a report from its JSON document: the inverse of ``check_json``, from the types of the model."""

from __future__ import annotations

import json
from dataclasses import fields, is_dataclass
from enum import Enum
from functools import cache
from types import NoneType, UnionType
from typing import TYPE_CHECKING, Any, Union, get_args, get_origin, get_type_hints

from slangad.compiler.errors.spans import NOWHERE, Span
from slangad.compiler.report.model import SCHEMA, FileCost, Report

if TYPE_CHECKING:
    from collections.abc import Callable


def read_report(text: str) -> Report:
    """Return the report of a JSON document.

    Raises:
        ValueError: The text is no report of this schema.
    """
    content = _content(text)
    tools = [[tool["name"], tool["version"]] for tool in content.get("toolchain", [])]
    report: Report = _value(Report, {**content, "toolchain": tools})
    return report


def read_costs(text: str) -> tuple[FileCost, ...]:
    """Return the times of files from a JSON document, without reading the rest of its report.

    Raises:
        ValueError: The text is no report of this schema.
    """
    costs: tuple[FileCost, ...] = _value(tuple[FileCost, ...], _content(text).get("costs", ()))
    return costs


def _content(text: str) -> dict[str, Any]:
    try:
        content = json.loads(text)
    except json.JSONDecodeError as error:
        message = f"line {error.lineno}, column {error.colno}: {error.msg}"
        raise ValueError(message) from None
    if not isinstance(content, dict) or content.get("schema") != SCHEMA or "results" not in content:
        message = f"it is no report of `slangad check --format json` with 'schema': {SCHEMA}"
        raise ValueError(message)
    return content


def _value(kind: Any, content: Any) -> Any:  # noqa: ANN401  (types of the model, values of JSON)
    """Return a JSON value as one of the model."""
    try:
        return _reader(kind)(content)
    except (AttributeError, KeyError, TypeError, ValueError) as error:
        message = f"a field has another form: {error}"
        raise ValueError(message) from None


@cache
def _reader(kind: Any) -> Callable[[Any], object]:  # noqa: ANN401  (as above)
    """Return how values of JSON become those of a type of the model."""
    origin, arguments = get_origin(kind), get_args(kind)
    if origin in (Union, UnionType):
        return _one_of(arguments)
    if origin is tuple:
        return _tuple(arguments)
    if kind is Span:
        return lambda content: NOWHERE if content is None else Span(**content)
    if is_dataclass(kind):
        hints = get_type_hints(kind)
        of_fields = tuple((field.name, _reader(hints[field.name])) for field in fields(kind))
        return lambda content: kind(**{name: read(content[name]) for name, read in of_fields if name in content})  # type: ignore[operator]  # a class
    if isinstance(kind, type) and issubclass(kind, (Enum, float)):
        return kind
    return _same


def _tuple(kinds: tuple[Any, ...]) -> Callable[[Any], object]:
    if len(kinds) == 2 and kinds[1] is ...:
        read = _reader(kinds[0])
        return tuple if read is _same else lambda content: tuple(map(read, content))
    of_items = tuple(map(_reader, kinds))
    return lambda content: tuple(read(one) for read, one in zip(of_items, content, strict=True))


def _one_of(kinds: tuple[Any, ...]) -> Callable[[Any], object]:
    """Return the same for several types: an optional one, or a number."""
    types_ = [kind for kind in kinds if kind is not NoneType]
    read = _reader(types_[0]) if len(types_) == 1 else lambda one: float(one) if isinstance(one, str) else one
    if len(types_) == len(kinds):
        return read
    return lambda content: None if content is None else read(content)


def _same(content: object) -> object:
    return content
