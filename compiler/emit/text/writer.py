"""Write Slang text with indentation and braces, and map each stretch of text to its source span."""

from __future__ import annotations

from contextlib import contextmanager
from typing import TYPE_CHECKING

from slangad.compiler.emit.model import Mapped
from slangad.compiler.emit.text.line_breaks import WIDTH, LinePart, wrap
from slangad.compiler.errors.spans import NOWHERE, Span

if TYPE_CHECKING:
    from collections.abc import Iterator

INDENT = "    "


class Writer:
    """Collects text piece by piece; the only mutable thing in the emitter."""

    def __init__(self) -> None:
        self._lines: list[str] = []
        self._line = ""
        self._depth = 0
        self._mapped: list[Mapped] = []

    def write(self, text: str) -> None:
        """Append to the current line; indent it if it is empty."""
        if not self._line:
            self._line = INDENT * self._depth
        self._line += text

    def end(self, text: str = "") -> None:
        """Append and end the line."""
        if text:
            self.write(text)
        pieces = wrap(self._line.rstrip(), len(INDENT))
        if len(pieces) > 1:
            self._move_origins(pieces)
        self._lines += [piece.text.rstrip() for piece in pieces]
        self._line = ""

    def end_unbroken(self) -> None:
        """End the line without breaking it."""
        self._lines.append(self._line.rstrip())
        self._line = ""

    def _move_origins(self, pieces: list[LinePart]) -> None:
        """Correct the span map for a line that was broken."""
        line = len(self._lines) + 1
        for slot in range(len(self._mapped) - 1, -1, -1):
            mapped = self._mapped[slot]
            if mapped.line != line:
                break
            start_line, start = _moved(pieces, line, mapped.column)
            end_line, end = _moved(pieces, line, max(mapped.end_column - 1, 1))
            self._mapped[slot] = Mapped(start_line, start, end_line, end + 1, mapped.span)

    def line(self, text: str = "") -> None:
        """Write a whole line."""
        self.end(text)

    def comment(self, text: str, mark: str = "//") -> None:
        """Write a comment of one line; a backslash at its end would comment out the next."""
        self.end(f"{mark} {text.rstrip().rstrip(chr(92))}".rstrip())

    def gap(self) -> None:
        """Make sure one blank line comes next, except at the top and after an opening brace."""
        if self._lines and self._lines[-1] and not self._lines[-1].endswith("{"):
            self._lines.append("")

    @contextmanager
    def block(self, tail: str = "") -> Iterator[None]:
        """Write braces around the text of the context, one level deeper; ``tail`` follows the closing brace."""
        self.line("{")
        self._depth += 1
        yield
        self._depth -= 1
        self.line("}" + tail)

    @contextmanager
    def accessor(self, head: str) -> Iterator[None]:
        """Write a function around the text of the context, which maps to no source; in one line if that fits."""
        start = len(self._lines)
        self.line(head)
        with self.block():
            yield
        first, _, *body, _ = self._lines[start:]
        short = f"{first} {{ {body[0].strip()} }}" if len(body) == 1 else f"{first} {{}}"
        if first == INDENT * self._depth + head and len(body) <= 1 and len(short) <= WIDTH:
            self._lines[start:] = [short]

    def accessor_gap(self) -> None:
        """Make sure one blank line comes next, except after a function in one line."""
        if not self._lines or not self._lines[-1].endswith(("; }", "{}")):
            self.gap()

    @contextmanager
    def indented(self, levels: int = 1) -> Iterator[None]:
        """Yield one level deeper, without braces."""
        self._depth += levels
        yield
        self._depth -= levels

    @contextmanager
    def origin(self, span: Span) -> Iterator[None]:
        """Map the text of the context to ``span``."""
        if span == NOWHERE:
            yield
            return
        slot = len(self._mapped)
        line, column = self._position()
        self._mapped.append(Mapped(line, column, line, column, span))
        yield
        end_line, end_column = self._position()
        begun = self._mapped[slot]
        self._mapped[slot] = Mapped(begun.line, begun.column, end_line, end_column, span)

    def append(self, other: Writer) -> None:
        """Append the text of another writer, as whole lines without indentation."""
        self.gap()
        offset = len(self._lines)
        self._lines += other._lines
        self._mapped += [
            Mapped(m.line + offset, m.column, m.end_line + offset, m.end_column, m.span) for m in other._mapped
        ]

    def _position(self) -> tuple[int, int]:
        column = len(self._line) if self._line else len(INDENT) * self._depth
        return len(self._lines) + 1, column + 1

    @property
    def text(self) -> str:
        """The text so far, ending in a newline."""
        return "\n".join(self._lines) + "\n"

    @property
    def mapped(self) -> tuple[Mapped, ...]:
        """The span map, inner stretches after the outer ones."""
        return tuple(self._mapped)


def _moved(pieces: list[LinePart], line: int, column: int) -> tuple[int, int]:
    """Return the line and column to which a column (from 1) of an unbroken line has moved."""
    index = max(i for i, piece in enumerate(pieces) if piece.start < column)
    piece = pieces[index]
    return line + index, column - piece.start + piece.indent
