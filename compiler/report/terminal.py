"""Diagnostics in colour: the pieces of the plain text rendering go in, rich texts for a console come out."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from rich.text import Text

from slangad.compiler.report.text import Reader, Role, lines_of

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from slangad.compiler.diagnostics import Diagnostic

STYLES: Final[dict[Role, str]] = {
    "plain": "",
    "place": "bold",
    "error": "bold red",
    "warning": "bold yellow",
    "note": "bold cyan",
    "message": "bold",
    "gutter": "blue",
    "caret": "bold red",
    "help": "bold",
}


def texts_of(diagnostics: Iterable[Diagnostic], read: Reader | None = None) -> Iterator[Text]:
    """One text per line of the diagnostics, the same words as ``report.text`` has."""
    for diagnostic in diagnostics:
        for line in lines_of(diagnostic, read):
            yield Text.assemble(*((piece.text, STYLES[piece.role]) for piece in line))
