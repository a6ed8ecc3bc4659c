"""Locate an argument that a decorator, a policy or ``sa.extern`` refused, inside its call."""

from __future__ import annotations

import ast
import linecache
from typing import TYPE_CHECKING

from slangad.compiler.frontends.reading.locations import SourceLocations

if TYPE_CHECKING:
    from collections.abc import Iterator

    from slangad.compiler.errors.spans import Span
    from slangad.compiler.lang.errors import Argument


def location_of_argument(argument: Argument, call: Span) -> Span:
    """Return the location of an argument; that of its call if the source does not show it.

    Args:
        argument: The argument.
        call: The call, or the line it begins in.
    """
    linecache.checkcache(call.file)
    text = "".join(linecache.getlines(call.file))
    try:
        tree = ast.parse(text)
    except (SyntaxError, ValueError, RecursionError):
        return call
    locations = SourceLocations(call.file, text)
    candidates = [*_candidates(argument, call, tree, locations)]
    return min(candidates)[1] if candidates else call


def _candidates(
    argument: Argument, call: Span, tree: ast.Module, locations: SourceLocations
) -> Iterator[tuple[bool, Span]]:
    """Yield the arguments of calls that begin in the line, first those of the call that begins exactly there."""
    for node in ast.walk(tree):
        if isinstance(node, ast.Call) and node.lineno == call.line:
            elsewhere = locations.span(node).column != call.column
            if argument.position is not None and _name(node.func) == argument.callee:
                yield from (
                    (elsewhere, locations.span(a)) for a in node.args[argument.position : argument.position + 1]
                )
            for keyword in node.keywords:
                if keyword.arg == argument.name:
                    yield elsewhere, _of_keyword(keyword, locations, argument)


def _of_keyword(keyword: ast.keyword, locations: SourceLocations, argument: Argument) -> Span:
    if not argument.unknown:
        return locations.span(keyword.value)
    start = locations.span(keyword)
    return locations.point(start.line, start.column, len(argument.name))


def _name(func: ast.expr) -> str:
    match func:
        case ast.Attribute(attr=name) | ast.Name(id=name):
            return name
        case _:
            return ""
