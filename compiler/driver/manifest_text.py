"""Lay out a manifest as text. A build without changes needs nothing else: it imports no description of kernels."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Final

from slangad import __version__

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

Record = dict[str, object]
SCHEMA: Final = 1
FILE_NAME: Final = "manifest.json"
"""The name of a run's manifest."""
REFLECTION: Final = ".reflection.json"
"""The ending of an artefact's reflection, after the artefact's name."""
_ONE_LINE: Final = 8
"""From this depth on (a parameter of an entry point) a record is one line."""


def manifest_text(
    inputs: Sequence[str], targets: Sequence[str], toolchain: Mapping[str, str], build: Record | None = None
) -> str:
    """Return the manifest of inputs, given their records as texts (see ``record_text``).

    ``build`` belongs to the manifest of one input: see ``up_to_date``.
    """
    fields = {
        "schema": SCHEMA,
        "slangad": __version__,
        "toolchain": dict(toolchain),
        "targets": list(targets),
        **({"build": build} if build else {}),
    }
    lines = [f" {json.dumps(name)}: {json.dumps(value, ensure_ascii=False)}," for name, value in fields.items()]
    return "\n".join(("{", *lines, ' "inputs": [', ",\n".join(f"  {text}" for text in inputs), " ]", "}", ""))


def record_text(record: Record) -> str:
    """Return the record of one input as it stands in a manifest."""
    return _layout(record, 2)


def _layout(value: object, depth: int) -> str:
    """Return readable JSON: innermost values are one line each."""
    if depth >= _ONE_LINE or not _is_nested(value):
        return json.dumps(value, ensure_ascii=False)
    inner, outer = "\n" + " " * (depth + 1), "\n" + " " * depth
    if isinstance(value, dict):
        items = (f"{json.dumps(name, ensure_ascii=False)}: {_layout(part, depth + 1)}" for name, part in value.items())
        return "{" + inner + f",{inner}".join(items) + outer + "}"
    assert isinstance(value, list)  # noqa: S101  (JSON has no other containers)
    return "[" + inner + f",{inner}".join(_layout(part, depth + 1) for part in value) + outer + "]"


def _is_nested(value: object) -> bool:
    """Return True if a value holds lists or dicts."""
    parts = value.values() if isinstance(value, dict) else value if isinstance(value, list) else ()
    return any(isinstance(part, dict | list) for part in parts)
