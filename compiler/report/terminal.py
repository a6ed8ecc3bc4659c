"""Convert diagnostics and checks to rich texts in colour for a console, from the pieces of the plain text."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from rich.text import Text

from slangad.compiler.report.check_text import lines_of_check
from slangad.compiler.report.text import Reader, Role, lines_of

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from slangad.compiler.errors.diagnostics import Diagnostic
    from slangad.compiler.report.model import Report
    from slangad.compiler.report.text import Line

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
    "good": "bold green",
    "faint": "dim",
}


def texts_of(diagnostics: Iterable[Diagnostic], read: Reader | None = None) -> Iterator[Text]:
    """Yield one text per line of the diagnostics, the same words as ``report.text`` has."""
    for diagnostic in diagnostics:
        yield from map(text_of, lines_of(diagnostic, read))


def texts_of_check(report: Report, *, detail: bool = False) -> Iterator[Text]:
    """Yield one text per line of a check's report, the same words as ``report.check_text`` has."""
    yield from map(text_of, lines_of_check(report, detail=detail))


def text_of(line: Line) -> Text:
    """Return one line in colour."""
    return Text.assemble(*((piece.text, STYLES[piece.role]) for piece in line))
