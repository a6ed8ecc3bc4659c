"""Paths into parameters, used by ranges: ``m.roughness``, ``v.x``, ``m[0][1]``.

``s.mean`` of an array ``s`` of structs is that field of every entry.
"""

from __future__ import annotations

import re
import unicodedata
from typing import TYPE_CHECKING, Final

from slangad.compiler.frontends.reading.problems import did_you_mean
from slangad.compiler.ir.types import Array, Matrix, Struct, Type, Vector, show

if TYPE_CHECKING:
    from slangad.compiler.errors.spans import Span
    from slangad.compiler.frontends.reading.problems import Problems

_STEP: Final = re.compile(r"\.?([^.\[\]]+)|\[([0-9]{1,9})\]")
_COMPONENTS: Final = ("xyzw", "rgba")


def normal(name: str) -> str:
    """Return a name as Python's parser reads it, so that names of documents and of bodies agree."""
    return unicodedata.normalize("NFKC", name)


def steps_of(path: str) -> list[str]:
    """Return the steps of a path: names, and indices in brackets."""
    return [normal(m[1]) if m[1] is not None else f"[{int(m[2])}]" for m in _STEP.finditer(path)]


def part_type(problems: Problems, span: Span, path: str, types: dict[str, Type]) -> Type | None:
    """Return the type of the part that a path names; None after a report."""
    name, *steps = steps_of(path)
    type_ = types.get(name)
    if type_ is None:
        near = did_you_mean(name[:64], types)
        problems.error(
            "SA064",
            span,
            f"there is no parameter '{name[:64]}'",
            help=near or f"there are {', '.join(types) or 'none'}",
        )
        return None
    for step in steps:
        inner = _step(type_, step)
        if inner is None:
            problems.error("SA064", span, f"{show(type_)} has no part '{step[:64]}'", help=_advice(type_))
            return None
        type_ = inner
    return type_


def _step(type_: Type, step: str) -> Type | None:
    index = int(step[1:-1]) if step.startswith("[") else None
    match type_:
        case Struct(fields=fields):
            return next((f.type for f in fields if f.name == step), None)
        case Vector(element, size):
            letters = [s[:size] for s in _COMPONENTS]
            return (
                element
                if (index is not None and index < size) or any(len(step) == 1 and step in s for s in letters)
                else None
            )
        case Matrix(element, rows, columns):
            return Vector(element, columns) if index is not None and index < rows else None
        case Array(element, size):
            if index is None:
                return _step(element, step) if isinstance(element, (Array, Struct)) else None
            return element if index < size else None
        case _:
            return None


def _advice(type_: Type) -> str:
    match type_:
        case Struct(fields=fields):
            return f"it has {', '.join(f.name for f in fields)}"
        case Vector(size=size):
            return f"it has {', '.join('xyzw'[:size])}"
        case Matrix(rows=rows):
            return f"its rows are [0] to [{rows - 1}]"
        case Array(size=size):
            return f"its entries are [0] to [{size - 1}]"
        case _:
            return "it is a single number"
