"""Read a report from its JSON document: the inverse of ``check_json``, from the types of the model."""

from __future__ import annotations

import json
from dataclasses import fields, is_dataclass
from enum import Enum
from types import NoneType, UnionType
from typing import Any, Literal, Union, get_args, get_origin, get_type_hints

from slangad.compiler.errors.spans import NOWHERE, Span
from slangad.compiler.report.model import SCHEMA, Report


def read_report(text: str) -> Report:
    """Return the report of a JSON document.

    Raises:
        ValueError: The text is no report of this schema.
    """
    try:
        content = json.loads(text)
    except json.JSONDecodeError as error:
        message = f"line {error.lineno}, column {error.colno}: {error.msg}"
        raise ValueError(message) from None
    if not isinstance(content, dict) or content.get("schema") != SCHEMA or "results" not in content:
        message = f"it is no report of `slangad check --format json` with 'schema': {SCHEMA}"
        raise ValueError(message)
    tools = [[tool["name"], tool["version"]] for tool in content.get("toolchain", [])]
    try:
        report = _value(Report, {**content, "toolchain": tools})
    except (AttributeError, KeyError, TypeError, ValueError) as error:
        message = f"a field has another form: {error}"
        raise ValueError(message) from None
    assert isinstance(report, Report)  # noqa: S101  (asked for)
    return report


def _value(kind: Any, content: Any) -> object:  # noqa: ANN401  (types of the model, values of JSON)
    """Return a JSON value as one of the model."""
    origin, arguments = get_origin(kind), get_args(kind)
    if origin in (Union, UnionType):
        return _one_of(arguments, content)
    if origin is Literal:
        return content
    if origin is tuple:
        if len(arguments) == 2 and arguments[1] is ...:
            return tuple(_value(arguments[0], one) for one in content)
        return tuple(_value(type_, one) for type_, one in zip(arguments, content, strict=True))
    if kind is Span:
        return NOWHERE if content is None else Span(**content)
    if is_dataclass(kind):
        hints = get_type_hints(kind)
        known = [field.name for field in fields(kind) if field.name in content]
        return kind(**{name: _value(hints[name], content[name]) for name in known})  # type: ignore[operator]  # a class
    if isinstance(kind, type) and issubclass(kind, Enum):
        return kind(content)
    return float(content) if kind is float else content


def _one_of(kinds: tuple[Any, ...], content: Any) -> object:  # noqa: ANN401  (as above)
    """Return a value of one of several types: an optional one, or a number."""
    if content is None and NoneType in kinds:
        return None
    types_ = [kind for kind in kinds if kind is not NoneType]
    if len(types_) == 1:
        return _value(types_[0], content)
    return float(content) if isinstance(content, str) else content
