"""What Slang prints with ``-enable-machine-readable-diagnostics`` becomes ``SlangMessage`` values.

Each printed line holds code, severity, file, line, column, end line, end column and text between tabs. Lines of
severity ``note`` and ``span`` belong to the message before them.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

_FIELDS = 8


@dataclass(frozen=True, slots=True)
class SlangMessage:
    """One thing Slang said, at a place in the Slang text.

    Lines and columns count from 1, the end column is exclusive; 0 means no place. ``notes`` are the places and remarks
    Slang adds.
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

    @property
    def is_error(self) -> bool:
        """Whether it stops the compile."""
        return self.severity not in ("warning", "note", "span")


def parse_messages(output: str) -> tuple[SlangMessage, ...]:
    """Read all messages of one compile."""
    messages: list[SlangMessage] = []
    for line in output.splitlines():
        found = _parse_line(line)
        if found is None:
            continue
        if found.severity in ("note", "span") and messages:
            messages[-1] = _with_note(messages[-1], found)
        else:
            messages.append(found)
    return tuple(messages)


def _parse_line(line: str) -> SlangMessage | None:
    fields = line.split("\t", _FIELDS - 1)
    if len(fields) < _FIELDS:
        return SlangMessage(0, "error", "", 0, 0, 0, 0, line.strip()) if line.strip() else None
    digits = fields[0].lstrip("E")
    row, column, end_row, end_column = (int(field) if field.isdigit() else 0 for field in fields[3:7])
    return SlangMessage(
        int(digits) if digits.isdigit() else 0, fields[1], fields[2], row, column, end_row, end_column, fields[7]
    )


def _with_note(message: SlangMessage, note: SlangMessage) -> SlangMessage:
    return replace(message, notes=(*message.notes, note))
