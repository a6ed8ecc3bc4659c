"""Parse the messages that Slang prints, and convert them to diagnostics at the user's locations.

With ``-enable-machine-readable-diagnostics`` each printed line holds code, severity, file, line, column, end line, end
column and text between tabs. Lines of severity ``note`` and ``span`` belong to the message before them. The first span
gives the details of the message.
"""

from __future__ import annotations

import re
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from slangad.compiler.errors.diagnostics import Diagnostic, Severity
from slangad.compiler.errors.spans import NOWHERE, Span
from slangad.compiler.toolchain.messages.translations import translation_of

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable

    Locate = Callable[[str, int, int], Span | None]

_FIELDS = 8
_CEASED = 40003
"""Slang's 'compilation ceased', which says nothing beside the errors before it."""

_FAILED_IMPORT = re.compile(r"import of module .* failed because of a compilation error")
"""The message at the import, after the errors inside the module. It adds no information."""

COMMAND_LINE = "command line"
"""The file of messages about arguments."""
_NOISE = "For assistance, file an issue"
_UNIT_CODES = range(36100, 36120)
"""Checks of an entry point against one target's abilities."""


@dataclass(frozen=True, slots=True)
class SlangMessage:
    """One message of Slang, at a location in the Slang text.

    Lines and columns count from 1, the end column is exclusive; 0 means no place. ``notes`` are the further places and
    remarks Slang adds. ``targets`` are those it came up for, none if it came up before any.
    """

    code: int
    severity: str
    file: str
    line: int
    column: int
    end_line: int
    end_column: int
    text: str
    notes: tuple[SlangMessage, ...] = ()
    targets: tuple[str, ...] = ()

    @property
    def is_error(self) -> bool:
        """Return True if it stops the compile."""
        return self.severity not in {"warning", "note", "span"}

    @property
    def span(self) -> Span:
        """The location in the Slang text."""
        return Span(self.file, self.line, self.column, self.end_line, self.end_column) if self.line else NOWHERE


def parse_messages(output: str) -> tuple[SlangMessage, ...]:
    """Read all messages of one compile."""
    messages: list[SlangMessage] = []
    early: list[SlangMessage] = []
    for message in map(_parse_line, output.splitlines()):
        if message is None:
            continue
        if message.severity not in {"note", "span"}:
            messages.append(replace(message, notes=tuple(early)))
            early = []
        elif messages:
            messages[-1] = _with_note(messages[-1], message)
        else:
            early.append(message)
    return tuple(messages)


def is_about_one_unit(message: SlangMessage) -> bool:
    """Return True if another target or entry point of the same text may be fine."""
    return message.is_error and message.code in _UNIT_CODES


def to_diagnostics(messages: Iterable[SlangMessage], locate: Locate) -> list[Diagnostic]:
    """Convert Slang's messages to diagnostics at locations that the user can edit.

    Args:
        messages: Messages with positions in the Slang text.
        locate: Maps a file, line and column of emitted Slang to the user's place, if the place came from one.
    """
    options = list(messages)
    kept = [message for message in options if not _only_follows(message)] or options
    return [_diagnostic(message, locate) for message in kept]


def _only_follows(message: SlangMessage) -> bool:
    """Return True if a message only says that there were errors before it."""
    return message.code == _CEASED or (message.is_error and _FAILED_IMPORT.match(message.text) is not None)


def _diagnostic(message: SlangMessage, locate: Locate) -> Diagnostic:
    severity = Severity.ERROR if message.is_error else Severity.WARNING
    translation = translation_of(message.code, message.text, is_error=message.is_error)
    place = next((m for m in (message, *message.notes) if m.line), message)
    span = locate(place.file, place.line, place.column) if place.line else None
    notes = [] if message.text in translation.text else [f"Slang says: {message.text} [{message.code}]"]
    if message.targets:
        notes.append(f"while generating code for {', '.join(message.targets)}")
    if span is not None:
        notes.append(f"in the Slang text: {place.span}")
    notes += [_note(note) for note in message.notes if note.text and not note.text.startswith(_NOISE)]
    return Diagnostic(
        translation.code,
        translation.text,
        span or place.span,
        help=translation.help,
        notes=tuple(dict.fromkeys(notes)),
        severity=severity,
    )


def _note(note: SlangMessage) -> str:
    return f"{note.span}: {note.text}" if note.line else note.text


def _parse_line(line: str) -> SlangMessage | None:
    fields = line.split("\t", _FIELDS - 1)
    if len(fields) < _FIELDS:
        return SlangMessage(0, "note", "", 0, 0, 0, 0, line.strip()) if line.strip() else None
    digits = fields[0].lstrip("E")
    row, column, end_row, end_column = (int(field) if field.isdigit() else 0 for field in fields[3:7])
    code = int(digits) if digits.isdigit() else 0
    return SlangMessage(code, fields[1], fields[2], row, column, end_row, end_column, fields[7].strip())


def _with_note(message: SlangMessage, note: SlangMessage) -> SlangMessage:
    """Add a note; the span at the message's own place takes the place of the message's general text."""
    if note.severity == "span" and note.text and not message.notes and note.span == message.span:
        return replace(message, text=note.text.rstrip("."))
    return replace(message, notes=(*message.notes, note))
