"""Locate an argument that a decorator, a policy or ``sa.extern`` refused, inside its call."""

from __future__ import annotations

import ast
import linecache
from typing import TYPE_CHECKING

from slangad.compiler.frontends.reading.locations import Places

if TYPE_CHECKING:
    from collections.abc import Iterator

    from slangad.compiler.errors.spans import Span
    from slangad.compiler.lang.errors import Argument


def place_of_argument(argument: Argument, call: Span) -> Span:
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
    places = Places(call.file, text)
    found = [*_candidates(argument, call, tree, places)]
    return min(found)[1] if found else call


def _candidates(argument: Argument, call: Span, tree: ast.Module, places: Places) -> Iterator[tuple[bool, Span]]:
    """Yield the arguments of calls that begin in the line, first those of the call that begins exactly there."""
    for node in ast.walk(tree):
        if isinstance(node, ast.Call) and node.lineno == call.line:
            elsewhere = places.span(node).column != call.column
            if argument.position is not None and _name(node.func) == argument.callee:
                yield from ((elsewhere, places.span(a)) for a in node.args[argument.position : argument.position + 1])
            for keyword in node.keywords:
                if keyword.arg == argument.name:
                    yield elsewhere, _of_keyword(keyword, places, argument)


def _of_keyword(keyword: ast.keyword, places: Places, argument: Argument) -> Span:
    if not argument.unknown:
        return places.span(keyword.value)
    start = places.span(keyword)
    return places.point(start.line, start.column, len(argument.name))


def _name(func: ast.expr) -> str:
    match func:
        case ast.Attribute(attr=name) | ast.Name(id=name):
            return name
        case _:
            return ""
