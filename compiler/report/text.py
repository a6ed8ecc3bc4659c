"""Write diagnostics as styled lines of text, the last stage before a person reads them.

``render`` joins the pieces; the terminal report colours the same pieces, so both always say the same.
"""

from __future__ import annotations

import linecache
import re
import tokenize
import unicodedata
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Literal

if TYPE_CHECKING:
    from slangad.compiler.errors.diagnostics import Diagnostic
    from slangad.compiler.errors.spans import Span

Role = Literal["plain", "place", "error", "warning", "note", "message", "gutter", "caret", "help", "good", "faint"]
TAB_WIDTH = 4

_LINE_END = re.compile(r"\r\n|\r|\n")


@dataclass(frozen=True, slots=True)
class StyledText:
    """Some text of a line and the part it plays."""

    text: str
    role: Role = "plain"


Line = tuple[StyledText, ...]
Reader = Callable[[str], Sequence[str] | None]
"""Gives the lines of a file, or None when it can't be read."""


def render(diagnostics: Iterable[Diagnostic], read: Reader | None = None) -> str:
    """Return the diagnostics as text, one after another, each ending in a newline."""
    return "".join(
        "".join(piece.text for piece in line) + "\n"
        for diagnostic in diagnostics
        for line in lines_of(diagnostic, read)
    )


def lines_of(diagnostic: Diagnostic, read: Reader | None = None) -> Iterator[Line]:
    """Yield the lines of one diagnostic: header, excerpt, help and notes."""
    yield _header(diagnostic)
    excerpt = _excerpt(diagnostic.span, diagnostic.label, read or read_lines)
    yield from excerpt
    indent = " " * (len(str(diagnostic.span.end_line)) + 1 if excerpt else 2)
    for kind, text in (("help", diagnostic.help), *(("note", note) for note in diagnostic.notes)):
        yield from _remark(indent, kind, text)


def read_lines(path: str) -> tuple[str, ...] | None:
    """Return the lines of a source file or a notebook's cell as Python counts them, or None when it can't be read."""
    try:
        data = Path(path).read_bytes()
    except ValueError:  # a name with a NUL
        return None
    except OSError:
        return tuple(line.rstrip("\n") for line in linecache.getlines(path)) or None
    return tuple(_LINE_END.split(data.decode(_encoding(data), errors="replace")))


def _encoding(data: bytes) -> str:
    lines = iter(data.splitlines(keepends=True)[:2])
    try:
        return tokenize.detect_encoding(lambda: next(lines, b""))[0]
    except SyntaxError:
        return "utf-8"


def _header(diagnostic: Diagnostic) -> Line:
    span = diagnostic.span
    kind: Literal["error", "warning", "note"] = diagnostic.severity.value
    place = str(span) if span.line else span.file
    return (
        *((StyledText(f"{place}: ", "place"),) if place else ()),
        StyledText(f"{kind}[{diagnostic.code}]", kind),
        StyledText(f": {diagnostic.message}", "message"),
    )


def _remark(indent: str, kind: str, text: str) -> Iterator[Line]:
    """Yield a help or note; further lines of its text are indented below the first."""
    if not text:
        return
    first, *rest = text.splitlines()
    yield StyledText(f"{indent}= ", "gutter"), StyledText(f"{kind}: ", "help"), StyledText(first)
    for line in rest:
        yield (StyledText(" " * (len(indent) + 2) + line),)


def _excerpt(span: Span, label: str, read: Reader) -> list[Line]:
    """Return the source lines the span covers (of a long span the first and the last), each with carets below."""
    lines = read(span.file) if span.file and span.line else None
    if not lines or span.line > len(lines):
        return []
    last = min(max(span.line, span.end_line), len(lines))
    width = len(str(span.end_line))
    shown = range(span.line, last + 1) if last - span.line < 3 else (span.line, last)
    result: list[Line] = [(StyledText(" " * (width + 1) + "|", "gutter"),)]
    for number in shown:
        if number == last and last - span.line >= 3:
            result.append((StyledText("." * min(3, width + 1), "gutter"),))
        text = lines[number - 1]
        start, end = _columns(span, number, last, text)
        result.append((StyledText(f"{number:>{width}} | ", "gutter"), StyledText(display(text).rstrip())))
        carets = " " * _width(text[: start - 1]) + "^" * max(1, _width(text[start - 1 : end - 1]))
        tail = f" {label}" if label and number == last else ""
        result.append((StyledText(" " * (width + 1) + "| ", "gutter"), StyledText(carets + tail, "caret")))
    return result


def _columns(span: Span, number: int, last: int, text: str) -> tuple[int, int]:
    """Return the first column to underline in a line, and the one after the last."""
    indent = len(text) - len(text.lstrip())
    start = span.column if number == span.line else indent + 1
    end = span.end_column if number == span.end_line == last else len(text.rstrip()) + 1
    return max(1, min(start, len(text) + 1)), end


def display(text: str) -> str:
    """Return the text as it is shown: tabs become spaces, and nothing that steers a terminal reaches it."""
    return "".join(_shown(char) for char in text)


def _width(text: str) -> int:
    """Return the width of the text in terminal cells."""
    return sum(_cells(char) for char in display(text))


def _shown(char: str) -> str:
    if char == "\t":
        return " " * TAB_WIDTH
    return "\N{REPLACEMENT CHARACTER}" if unicodedata.category(char) in {"Cc", "Cf", "Cs"} else char


def _cells(char: str) -> int:
    if unicodedata.category(char) in {"Mn", "Me"}:
        return 0
    return 2 if unicodedata.east_asian_width(char) in {"W", "F"} else 1
