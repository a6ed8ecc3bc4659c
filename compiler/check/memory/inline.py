"""Put the files that a Slang file imports or includes into its text, so that memory has one type in all of them."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Final

from slangad.compiler.check.memory.pointers import has_pointers
from slangad.compiler.check.memory.wrappers import SHIMS
from slangad.compiler.slang_text.bodies import read_source
from slangad.compiler.slang_text.global_parameters import global_parameters

if TYPE_CHECKING:
    from collections.abc import Mapping

_IMPORT: Final = re.compile(
    r'^[ \t]*(?:(?:public|__exported)\s+)*(?:import|__include)\s+"?([\w./-]+)"?\s*;', re.MULTILINE
)
_INCLUDE: Final = re.compile(r'^[ \t]*#[ \t]*include[ \t]*["<]([^">\n]+)[">][^\n]*$', re.MULTILINE)
_MODULE: Final = re.compile(r'^[ \t]*(?:module|implementing)\s+[\w."-]+\s*;', re.MULTILINE)
_SLANGPY: Final = re.compile(r"^\s*(?:module|implementing)\s+\"?slangpy\b", re.MULTILINE)
"""Found in the files of slangpy's own module, which stay an import."""
_MEMORY: Final = re.compile(rf"\b(?:{'|'.join(SHIMS)})\b")


def whole_text(text: str, others: Mapping[str, str]) -> str:
    """Return a text with the files behind its imports at the end, if memory or a global parameter is in one of them.

    Args:
        text: The text.
        others: The texts of the files that it imports or includes.
    """
    texts = {file: other for file, other in others.items() if not _SLANGPY.search(other)}
    if not any(_has_memory(other, file) for file, other in texts.items()):
        return text
    return _Inliner(texts).whole(_MODULE.sub("", text))


def _has_memory(text: str, file: str) -> bool:
    return (
        bool(_MEMORY.search(text))
        or has_pointers(text)
        or any(True for _ in global_parameters(read_source(text, file)))
    )


class _Inliner:
    """Collects the texts of files. Each is taken once."""

    def __init__(self, files: Mapping[str, str]) -> None:
        self._files = files
        self._behind: list[str] = []
        self._read: set[str] = set()

    def whole(self, text: str) -> str:
        """Return a text with all that it imports behind it."""
        return "\n".join((self._text(text), *self._behind))

    def _text(self, text: str) -> str:
        """Return a text without imports of the files and with the text of its includes."""
        text = _IMPORT.sub(self._imported, text)
        return _INCLUDE.sub(self._included, text)

    def _imported(self, match: re.Match[str]) -> str:
        file = self._meant(match[1]) or self._meant(match[1].replace(".", "/"))
        if file is None:
            return match[0]
        if file not in self._read:
            self._read.add(file)
            text = self._text(_MODULE.sub("", self._files[file]))
            self._behind.append(text)
        return "\n" * match[0].count("\n")

    def _included(self, match: re.Match[str]) -> str:
        file = self._meant(match[1])
        if file is None:
            return match[0]
        if file in self._read:
            return ""
        self._read.add(file)
        return self._text(self._files[file])

    def _meant(self, written: str) -> str | None:
        """Return the file that an import or inclusion means; None if it is none of those known."""
        ending = "/" + _alike(re.sub(r"^(?:\.{1,2}/)+", "", written))
        return next((file for file in self._files if f"/{_alike(file)}".endswith(ending)), None)


def _alike(path: str) -> str:
    """Return a path in the form in which Slang compares names of modules and files."""
    return path.replace("\\", "/").removesuffix(".slang").replace("_", "-")
