"""Name everything in Slang: keep the user's name, and change it only where Slang or a target forbids it.

Changed names are the same on every run, since names are assigned in module order. A keyword gets a trailing underscore,
and a second holder of a name gets ``_2``. Letters outside ASCII are spelled out: a Greek letter is its name, and an
accented letter loses the accent.
"""

from __future__ import annotations

import unicodedata
from typing import TYPE_CHECKING

from slangad.compiler.emit.text.keywords import BUILTIN_FUNCTIONS, WORDS

if TYPE_CHECKING:
    from collections.abc import Collection


def ascii_name(name: str) -> str:
    """Return the name in ASCII: Greek letters by name (``sigma``), accents dropped, the rest as ``u00e6``."""
    return "".join(_ascii_letter(letter) for letter in name)


def _ascii_letter(letter: str) -> str:
    if letter.isascii():
        return letter if letter.isalnum() or letter == "_" else "_"
    title = unicodedata.name(letter, "")
    if title.startswith("GREEK "):
        word = title.split(" LETTER ")[-1].split()[0].lower().replace("lamda", "lambda")
        return word.capitalize() if "CAPITAL" in title else word
    plain = "".join(c for c in unicodedata.normalize("NFKD", letter) if c.isascii())
    return plain if plain.isalnum() else f"u{ord(letter):04x}"


class NameScope:
    """The names taken in one scope; inner scopes avoid the names of the outer scopes that are passed to them.

    ``hidden`` has builtin functions that must stay visible: those that the scope calls, or all of them for a module.
    """

    def __init__(self, taken: Collection[str] = (), hidden: Collection[str] = BUILTIN_FUNCTIONS) -> None:
        self._taken = set(taken)
        self._reserved = WORDS.union(hidden)
        self._names: dict[str, str] = {}

    def give(self, key: str, wanted: str) -> str:
        """Return a name for ``key``: ``wanted``, or the nearest name that this scope allows."""
        name = self._free(wanted)
        self._names[key] = name
        return name

    def fresh(self, wanted: str) -> str:
        """Return a name for a declaration of the emitter."""
        return self._free(wanted)

    def __getitem__(self, key: str) -> str:
        return self._names[key]

    def __contains__(self, key: str) -> bool:
        return key in self._names

    def _free(self, wanted: str) -> str:
        name = ascii_name(wanted)
        if name in self._reserved:
            name += "_"
        free, number = name, 2
        while free in self._taken:
            free, number = f"{name}_{number}", number + 1
        self._taken.add(free)
        return free
