"""C++ that is rejected: Slang's text and what the compiler says go in, the text without what is rejected comes out.

What Slang makes of one function may be no C++, and the rest of its text is right. Functions in which an error lies are
taken out, and so are those that call them, entry points last: the rest is compiled without asking Slang again.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from collections.abc import Iterator

_AT: Final = re.compile(r"^.*?\.cpp[:(](\d+)", re.MULTILINE)
_ERROR: Final = re.compile(r"\berror(?: \w+)?: *(.+)")
_NAME: Final = re.compile(r"\b(\w+)\(")
_WORDS: Final = re.compile(r"\w+")
_END: Final = b"\n#endif"
"""The last line of Slang's prelude, and of nothing after it."""


@dataclass(frozen=True, slots=True)
class _Part:
    """A function or something else at the top of a text: its lines, counted from 0; ``name`` of a function only."""

    start: int
    stop: int
    name: str
    words: frozenset[str]


def without_faults(code: bytes, said: str) -> tuple[bytes, frozenset[str]] | None:
    """The text without functions that a compiler rejects, and their names; none if it rejects something else.

    Lines stay what they are: those of functions that are left out are empty.

    Args:
        code: Slang's C++ text.
        said: What the compiler says of it.
    """
    lines = code.decode("utf-8", "replace").split("\n")
    own = code[: code.rfind(_END) + len(_END)].count(b"\n") + 1
    places = {int(number) - 1 for number in _AT.findall(said)}
    parts = list(_parts(lines, own))
    faulty = {part for part in parts if any(part.start <= place < part.stop for place in places)}
    if not faulty or not all(part.name for part in faulty):
        return None
    gone = _with_callers(parts, {part.name for part in faulty})
    for part in parts:
        if part.name in gone:
            lines[part.start : part.stop] = [""] * (part.stop - part.start)
    return "\n".join(lines).encode(), frozenset(gone)


def first_error(said: str) -> str:
    """What a compiler objects to first, without the place, which is in a text that nobody sees."""
    found = _ERROR.search(said)
    return (found[1] if found else said.strip().partition("\n")[0]).strip()


def _with_callers(parts: list[_Part], names: set[str]) -> set[str]:
    """Functions and all that call them, directly or not."""
    gone, fresh = set(names), set(names)
    while fresh:
        fresh = {
            part.name for part in parts if part.name and part.name not in gone and not part.words.isdisjoint(fresh)
        }
        gone |= fresh
    return gone


def _parts(lines: list[str], first: int) -> Iterator[_Part]:
    """What stands at the top of a text from a line on: as Slang writes it, it ends with its first line or a brace."""
    start = first
    while start < len(lines):
        head = lines[start]
        stop = start + 1
        if head[:1].isidentifier():
            while stop < len(lines) and not head.endswith(";") and not lines[stop - 1].startswith("}"):
                stop += 1
            text = "\n".join(lines[start:stop])
            named = None if head.startswith("struct") or head.endswith(";") else _NAME.search(text)
            yield _Part(start, stop, named[1] if named else "", frozenset(_WORDS.findall(text)))
        start = stop
