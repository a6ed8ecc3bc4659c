"""Diagnostics for programs: data goes in, values that ``json`` can write come out; every document says its schema."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    from slangad.compiler.errors.diagnostics import Diagnostic

SCHEMA = 1


def document(fields: Mapping[str, object]) -> str:
    """Return one JSON document with its schema number first, ending in a newline."""
    return json.dumps({"schema": SCHEMA, **fields}, indent=2, ensure_ascii=False) + "\n"


def diagnostic_records(diagnostics: Iterable[Diagnostic]) -> list[dict[str, object]]:
    """Return the diagnostics as JSON values, in order; a field that says nothing is left out."""
    return [_record(diagnostic) for diagnostic in diagnostics]


def _record(diagnostic: Diagnostic) -> dict[str, object]:
    span = diagnostic.span
    place: dict[str, object] = {
        "file": span.file,
        "line": span.line,
        "column": span.column,
        "end_line": span.end_line,
        "end_column": span.end_column,
    }
    fields: dict[str, object] = {
        "code": diagnostic.code,
        "severity": diagnostic.severity.value,
        "message": diagnostic.message,
        **(place if span.line else {"file": span.file}),
        "label": diagnostic.label,
        "help": diagnostic.help,
        "notes": list(diagnostic.notes),
    }
    return {name: value for name, value in fields.items() if value not in ("", [])}
