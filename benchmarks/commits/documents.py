"""JSON as lines that can be compared: what must be the same on one side, free text on the other."""

from __future__ import annotations

import hashlib
import json
import re
from dataclasses import dataclass, field

WORDING = frozenset(("message", "reason", "detail", "cause", "notes", "help", "label"))
"""Names of fields that hold free text, in diagnostics, reports and manifests. A list of texts is free text, too."""
DIGESTED = frozenset(("samples", "sample", "jacobian", "curve", "inputs"))
"""Names of fields that hold many numbers: each is one line with their hash."""
TIMES = frozenset(("seconds",))
_NUMBER = re.compile(r"\bSA\d+\b|(?<![\w.])[-+]?\d+(?:\.\d+)?(?:[eE][-+]?\d+)?(?!\w)")


@dataclass
class Document:
    """A part of what was recorded.

    Attributes:
        lines: What must be the same.
        wording: Free text by its place, of which only numbers and codes must be the same.
        numbers: How many numbers ``lines`` stand for.
    """

    lines: list[str] = field(default_factory=list)
    wording: dict[str, str] = field(default_factory=dict)
    numbers: int = 0

    def add(self, value: object, path: str = "", name: str = "") -> Document:
        """Add the lines of a JSON value, and return the document."""
        if isinstance(value, str) and name in WORDING:
            self.lines.append(f"{path}: {'(text)' if value else '(empty)'}")
            if value:
                self.wording[path] = value
        elif isinstance(value, list) and value and isinstance(value[0], dict | str):
            for number, item in enumerate(value):
                self._add_child(item, f"{path}[{number}]", name)
        elif isinstance(value, dict) and value:
            for key, item in value.items():
                self._add_child(0 if key in TIMES else item, f"{path}.{key}" if path else key, key)
        else:
            self.numbers += _count(value)
            self.lines.append(f"{path}: {json.dumps(value)}")
        return self

    def _add_child(self, value: object, path: str, name: str) -> None:
        if name in DIGESTED and isinstance(value, dict):
            inner = Document()
            for key, item in value.items():
                inner.add(item, key, key)
            self.wording |= {f"{path}.{place}": text for place, text in inner.wording.items()}
            self.numbers += inner.numbers
            whole = digest("\n".join(inner.lines).encode())
            self.lines.append(f"{path}: {inner.numbers} numbers, {whole[:12]}")
        else:
            self.add(value, path, name)

    @property
    def record(self) -> list[object]:
        """Itself as JSON."""
        return [self.lines, self.wording, self.numbers]


def digest(content: bytes) -> str:
    """Return a hash of bytes."""
    return hashlib.sha256(content).hexdigest()


def numbers_in(text: str) -> list[str]:
    """Return the numbers and diagnostic codes in a text, in order. Names such as float32 are no numbers."""
    return _NUMBER.findall(text)


def without_wording(text: str, wording: dict[str, str]) -> str:
    """Return a JSON text with its free text replaced, so that the rest can be compared byte for byte."""
    for words in sorted(set(wording.values()), key=len, reverse=True):
        text = text.replace(json.dumps(words, ensure_ascii=False), '"(text)"')
    return text


def _count(value: object) -> int:
    if isinstance(value, list):
        return sum(map(_count, value))
    return isinstance(value, int | float) and not isinstance(value, bool)
