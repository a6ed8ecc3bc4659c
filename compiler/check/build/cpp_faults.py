"""Remove the functions that a C++ compiler rejects from Slang's C++ text.

Slang's text of one function may be invalid C++ while the rest is right. The functions with an error and their callers
are removed. The rest compiles without another run of Slang.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

from slangad.compiler.ir.calls import closure
from slangad.compiler.toolchain.jobs.cpp_prelude import split_prelude

if TYPE_CHECKING:
    from collections.abc import Iterator

_AT: Final = re.compile(r"^.*?\.cpp[:(](\d+)", re.MULTILINE)
_ERROR: Final = re.compile(r"\berror(?: \w+)?: *(.+)")
_NAME: Final = re.compile(r"\b(\w+)\(")
_WORDS: Final = re.compile(r"\w+")
_NAMESPACE: Final = "namespace"
"""The line that opens the namespace around all declarations. It is no declaration itself."""


@dataclass(frozen=True, slots=True)
class _CppPart:
    """A function or another declaration at the top of a text: its lines from 0 on. Only functions have a ``name``."""

    start: int
    stop: int
    name: str
    words: frozenset[str]


def without_faults(code: bytes, messages: str) -> tuple[bytes, frozenset[str]] | None:
    """Return the text without the functions that a compiler rejects, and their names; None if it rejects other code.

    The lines of removed functions become empty, so that line numbers stay.

    Args:
        code: Slang's C++ text.
        messages: The messages of the compiler.
    """
    lines = code.decode("utf-8", "replace").split("\n")
    first_line = split_prelude(code)[0].count(b"\n") + 1
    places = {int(number) - 1 for number in _AT.findall(messages)}
    parts = list(_parts(lines, first_line))
    faulty = {part for part in parts if any(part.start <= place < part.stop for place in places)}
    if not faulty or not all(part.name for part in faulty):
        return None
    gone = _with_callers(parts, {part.name for part in faulty})
    for part in parts:
        if part.name in gone:
            lines[part.start : part.stop] = [""] * (part.stop - part.start)
    return "\n".join(lines).encode(), frozenset(gone)


def first_error(messages: str, code: bytes = b"") -> str:
    """Return the first error of a compiler with the line that it is about, in place of its number."""
    match = _ERROR.search(messages)
    error = (match[1] if match else messages.strip().partition("\n")[0]).strip()
    places = _AT.findall(messages, 0, match.start()) if match else []
    lines = code.decode("utf-8", "replace").split("\n") if places else []
    line = lines[int(places[-1]) - 1].strip() if places and int(places[-1]) <= len(lines) else ""
    return f"{error}: {line}" if line else error


def _with_callers(parts: list[_CppPart], names: set[str]) -> set[str]:
    """Return functions and all their callers, direct or not."""
    return closure(names, lambda name: (part.name for part in parts if part.name and name in part.words))


def _parts(lines: list[str], first: int) -> Iterator[_CppPart]:
    """Yield the declarations at the top of a text. Slang ends each with its first line or a brace."""
    start = first
    while start < len(lines):
        head = lines[start]
        stop = start + 1
        if head[:1].isidentifier() and head != _NAMESPACE:
            while stop < len(lines) and not head.endswith(";") and not lines[stop - 1].startswith("}"):
                stop += 1
            text = "\n".join(lines[start:stop])
            named = None if head.startswith("struct") or head.endswith(";") else _NAME.search(text)
            yield _CppPart(start, stop, named[1] if named else "", frozenset(_WORDS.findall(text)))
        start = stop
