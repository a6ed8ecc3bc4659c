"""Read the ranges that comment lines above a function declare: ``// check: range m.roughness 0.1 1.0``."""

from __future__ import annotations

from typing import TYPE_CHECKING

from slangad.compiler.frontends.reading.directives import read_directives
from slangad.compiler.frontends.reading.parameter_paths import part_type, steps_of
from slangad.compiler.slang_text.directives import directive_lines

if TYPE_CHECKING:
    from collections.abc import Collection, Iterable, Iterator

    from slangad.compiler.frontends.reading.directives import Directives
    from slangad.compiler.frontends.reading.problems import Problems
    from slangad.compiler.ir.nodes import Range
    from slangad.compiler.ir.types import Type
    from slangad.compiler.slang_text.directives import DirectiveLine
    from slangad.compiler.slang_text.tokens import LineComment


def read_ranges(
    comments: Iterable[LineComment],
    file: str,
    types: dict[str, Type],
    problems: Problems,
    outer: Collection[str] = (),
) -> tuple[Range, ...]:
    """Return the ranges that comments declare, and report the wrong ones. Other directives concern the check alone.

    Args:
        comments: The comment lines above a function.
        file: The name of the file in spans.
        types: The types of the parameters by name.
        problems: Receives what is wrong.
        outer: The globals of the file. Ranges of these are left to the check.
    """
    lines = (line for line in directive_lines(comments, file) if line.name == "range")
    lines_inside = (line for line in lines if not _is_outer(line, types, outer))
    return tuple(fitting_ranges(read_directives(lines_inside, problems), types, problems))


def _is_outer(line: DirectiveLine, types: dict[str, Type], outer: Collection[str]) -> bool:
    name = steps_of(line.words[1][0])[:1] if len(line.words) > 1 else []
    return any(one in outer and one not in types for one in name)


def fitting_ranges(directives: Directives, types: dict[str, Type], problems: Problems) -> Iterator[Range]:
    """Yield the ranges of parameters with these types, and report the other ones."""
    for declared, span in directives.ranges:
        if part_type(problems, span, declared.path, types) is not None:
            yield declared
