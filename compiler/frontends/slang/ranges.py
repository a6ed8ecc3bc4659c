"""Read the ranges that comment lines above a function declare: ``// check: range m.roughness 0.1 1.0``."""

from __future__ import annotations

from typing import TYPE_CHECKING

from slangad.compiler.frontends.reading.directives import read_directives
from slangad.compiler.frontends.reading.parameter_paths import part_type
from slangad.compiler.slang_text.directives import directive_lines

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from slangad.compiler.frontends.reading.directives import Directives
    from slangad.compiler.frontends.reading.problems import Problems
    from slangad.compiler.ir.nodes import Range
    from slangad.compiler.ir.types import Type
    from slangad.compiler.slang_text.tokens import LineComment


def read_ranges(
    comments: Iterable[LineComment], file: str, types: dict[str, Type], problems: Problems
) -> tuple[Range, ...]:
    """Return the ranges that comments declare, and report the wrong ones. Other directives concern the check alone."""
    lines = (line for line in directive_lines(comments, file) if line.name == "range")
    return tuple(fitting_ranges(read_directives(lines, problems), types, problems))


def fitting_ranges(directives: Directives, types: dict[str, Type], problems: Problems) -> Iterator[Range]:
    """Yield the ranges of parameters with these types, and report the other ones."""
    for declared, span in directives.ranges:
        if part_type(problems, span, declared.path, types) is not None:
            yield declared
