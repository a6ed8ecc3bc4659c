"""Write a gradient check as JSON, with every number of every verdict.

Fields are the model's, with some derived ones: ``ok``, ``counts``, ``ratio``, ``difference``. JSON has no NaN and no
infinity: they are the strings of ``NOT_FINITE``. ``report.check_schema`` describes it all.
"""

from __future__ import annotations

import json
from dataclasses import fields, is_dataclass
from enum import Enum
from functools import cache
from math import isfinite
from typing import TYPE_CHECKING, Any, Final

from slangad.compiler.errors.spans import Span
from slangad.compiler.report.figures import encodable
from slangad.compiler.report.model import Failure, Jacobian, Report, Verdict

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable

NOT_FINITE: Final = ("NaN", "Infinity", "-Infinity")
DERIVED: Final[dict[type, tuple[str, ...]]] = {
    Report: ("ok", "coverage", "problems"),
    Failure: ("ratio",),
    Jacobian: ("difference",),
}
"""Properties of the model that are written beside its fields."""


_NESTED: Final = (dict, list)
_DEEPEST: Final = 4
"""The depth of a sample, a leg or a failure of a result: each is one line, so that files are small."""
_ENCODED: Final = json.JSONEncoder(ensure_ascii=False, allow_nan=False).encode


def check_json(report: Report) -> str:
    """Return the report as one JSON document that ends in a newline."""
    parts: list[str] = []
    _write(check_values(report), 0, parts.append)
    return "".join(parts) + "\n"


def check_values(report: Report) -> dict[str, object]:
    """Return the report as values that ``json`` can write."""
    values = json_value(report)
    assert isinstance(values, dict)  # noqa: S101  (a dataclass becomes one)
    values["toolchain"] = [{"name": encodable(name), "version": encodable(text)} for name, text in report.toolchain]
    values["counts"] = {verdict.value: report.count(verdict) for verdict in Verdict}
    return {"schema": values.pop("schema"), "ok": values.pop("ok"), **values}


def json_value(value: object) -> object:
    """Return a value of the model as one of JSON; a place that is nowhere is null."""
    kind: Any = type(value)
    return _converter(kind)(value)


@cache
def _converter(kind: type) -> Callable[[Any], object]:
    """Return how values of a type become those of JSON."""
    if issubclass(kind, Enum):
        return lambda value: value.value
    if issubclass(kind, str):
        return encodable
    if issubclass(kind, float):
        return _number
    if issubclass(kind, tuple):
        return _list
    if not is_dataclass(kind):
        return lambda value: value
    names = (*(field.name for field in fields(kind)), *DERIVED.get(kind, ()))
    return lambda value: (
        None if kind is Span and not value.line else {name: json_value(getattr(value, name)) for name in names}
    )


def _list(values: tuple[Any, ...]) -> list[object]:
    return [one if type(one) is float and isfinite(one) else json_value(one) for one in values]


def _number(value: float) -> object:
    if isfinite(value):
        return float(value)
    if value != value:  # noqa: PLR0124  (NaN)
        return NOT_FINITE[0]
    return NOT_FINITE[1] if value > 0 else NOT_FINITE[2]


def _write(value: object, depth: int, write: Callable[[str], None]) -> None:
    """Write JSON with each list of plain values, and each value below ``_DEEPEST``, on one line."""
    nested: Iterable[tuple[str, object]]
    if isinstance(value, dict) and value and depth < _DEEPEST:
        opening, closing = "{}"
        nested = ((f"{_ENCODED(name)}: ", item) for name, item in value.items())
    elif isinstance(value, list) and depth < _DEEPEST and any(isinstance(item, _NESTED) for item in value):
        opening, closing = "[]"
        nested = (("", item) for item in value)
    else:
        write(_ENCODED(value))
        return
    for name, item in nested:
        write(f"{opening}\n{'  ' * (depth + 1)}{name}")
        _write(item, depth + 1, write)
        opening = ","
    write(f"\n{'  ' * depth}{closing}")
