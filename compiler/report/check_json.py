"""Write a gradient check as JSON, with every number of every verdict.

Fields are the model's, with some derived ones: ``ok``, ``counts``, ``ratio``, ``difference``. JSON has no NaN and no
infinity: they are the strings of ``NOT_FINITE``. ``report.check_schema`` describes it all.
"""

from __future__ import annotations

import json
import math
from dataclasses import fields, is_dataclass
from enum import Enum
from typing import TYPE_CHECKING, Final

from slangad.compiler.errors.spans import Span
from slangad.compiler.report.figures import encodable
from slangad.compiler.report.model import Failure, Jacobian, Report, Verdict

if TYPE_CHECKING:
    from collections.abc import Iterator

NOT_FINITE: Final = ("NaN", "Infinity", "-Infinity")
DERIVED: Final[dict[type, tuple[str, ...]]] = {
    Report: ("ok", "coverage", "problems"),
    Failure: ("ratio",),
    Jacobian: ("difference",),
}
"""Properties of the model that are written beside its fields."""


def check_json(report: Report) -> str:
    """Return the report as one JSON document that ends in a newline."""
    return "".join(_written(check_values(report), "")) + "\n"


def check_values(report: Report) -> dict[str, object]:
    """Return the report as values that ``json`` can write."""
    values = json_value(report)
    assert isinstance(values, dict)  # noqa: S101  (a dataclass becomes one)
    values["toolchain"] = [{"name": encodable(name), "version": encodable(text)} for name, text in report.toolchain]
    values["counts"] = {verdict.value: report.count(verdict) for verdict in Verdict}
    return {"schema": values.pop("schema"), "ok": values.pop("ok"), **values}


def json_value(value: object) -> object:
    """Return a value of the model as one of JSON; a place that is nowhere is null."""
    if isinstance(value, Enum):
        return value.value
    if isinstance(value, str):
        return encodable(value)
    if isinstance(value, float):
        return float(value) if math.isfinite(value) else _named(value)
    if isinstance(value, tuple):
        return [json_value(item) for item in value]
    if isinstance(value, Span) and not value.line:
        return None
    if is_dataclass(value) and not isinstance(value, type):
        names = (*(field.name for field in fields(value)), *DERIVED.get(type(value), ()))
        return {name: json_value(getattr(value, name)) for name in names}
    return value


def _named(value: float) -> str:
    if math.isnan(value):
        return NOT_FINITE[0]
    return NOT_FINITE[1] if value > 0 else NOT_FINITE[2]


def _written(value: object, indent: str) -> Iterator[str]:
    """Return JSON with each list of plain values on one line, so that numbers are readable and files small."""
    deeper = indent + "  "
    if isinstance(value, dict) and value:
        opening, closing = "{", "}"
        items = [(f"{json.dumps(str(name))}: ", item) for name, item in value.items()]
    elif isinstance(value, list) and any(isinstance(item, dict | list) for item in value):
        opening, closing = "[", "]"
        items = [("", item) for item in value]
    else:
        yield json.dumps(value, ensure_ascii=False, allow_nan=False)
        return
    for number, (name, item) in enumerate(items):
        yield f"{opening if number == 0 else ','}\n{deeper}{name}"
        yield from _written(item, deeper)
    yield f"\n{indent}{closing}"
