"""Put the files that a Slang file imports or includes into its text, so that memory has one type in all of them."""

from __future__ import annotations

import re
from bisect import bisect_left, bisect_right
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

from slangad.compiler.check.memory.pointers import has_pointers
from slangad.compiler.check.memory.wrappers import SHIMS
from slangad.compiler.slang_text.bodies import read_source
from slangad.compiler.slang_text.declarations import declarations_of
from slangad.compiler.slang_text.global_parameters import global_parameters

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping, Sequence

    from slangad.compiler.slang_text.bodies import SlangSource

_IMPORT: Final = re.compile(
    r'^[ \t]*(?:(?:public|__exported)\s+)*(?:import|__include)\s+"?([\w./-]+)"?\s*;', re.MULTILINE
)
_INCLUDE: Final = re.compile(r'^[ \t]*#[ \t]*include[ \t]*["<]([^">\n]+)[">][^\n]*$', re.MULTILINE)
_MODULE: Final = re.compile(r'^[ \t]*(?:module|implementing)\s+[\w."-]+\s*;', re.MULTILINE)
_DEFINE: Final = re.compile(r"^[ \t]*#[ \t]*define[ \t]+(\w+)[^\n]*(?:(?<=\\)\n[^\n]*)*", re.MULTILINE)
_SLANGPY: Final = re.compile(r"^\s*(?:module|implementing)\s+\"?slangpy\b", re.MULTILINE)
"""Found in the files of slangpy's own module, which stay an import."""
_WORD: Final = re.compile(r"\b[A-Za-z_]\w*")
_NOT_LINE_END: Final = re.compile(r"[^\n]")
_Declared = dict[tuple[str, str, str], tuple[int, int, tuple[str, ...]]]
_FUNCTION: Final = "a function"
_MEMORY: Final = re.compile(rf"\b(?:{'|'.join(SHIMS)})\b")


def whole_text(text: str, others: Mapping[str, str]) -> str:
    """Return a text with the files behind its imports at the end, if memory or a global parameter is in one of them.

    Args:
        text: The text.
        others: The texts of the files that it imports or includes.
    """
    texts = _inlined(others)
    return _Inliner(texts).whole(_MODULE.sub("", text)) if texts else text


def without_inlined(paths: Iterable[str], others: Mapping[str, str]) -> tuple[str, ...]:
    """Return paths of imports without those whose files `whole_text` puts into the text."""
    inliner = _Inliner(_inlined(others))
    return tuple(path for path in paths if inliner.meant(path) is None)


def _inlined(others: Mapping[str, str]) -> dict[str, str]:
    """Return the files that become parts of the text; none if no memory or global parameter is in them."""
    texts = {file: other for file, other in others.items() if not _SLANGPY.search(other)}
    return texts if any(_has_memory(other, file) for file, other in texts.items()) else {}


def _has_memory(text: str, file: str) -> bool:
    return (
        bool(_MEMORY.search(text))
        or has_pointers(text)
        or any(True for _ in global_parameters(read_source(text, file)))
    )


@dataclass(frozen=True, slots=True)
class _Unit:
    """The text of a module, with what it includes, and the macros that it and its includes define."""

    text: str
    macros: frozenset[str]


class _Inliner:
    """Collects the texts of files. Each is taken once."""

    def __init__(self, files: Mapping[str, str]) -> None:
        self._files = files
        self._behind: list[_Unit] = []
        self._read: set[str] = set()

    def whole(self, text: str) -> str:
        """Return a text with all that it imports behind it."""
        return "\n".join(_joined([_Unit(self._text(text), self._macros(text)), *self._behind]))

    def _text(self, text: str) -> str:
        """Return a text without imports of the files and with the text of its includes."""
        text = _IMPORT.sub(self._imported, text)
        return _INCLUDE.sub(self._included, text)

    def _imported(self, match: re.Match[str]) -> str:
        file = self.meant(match[1]) or self.meant(match[1].replace(".", "/"))
        if file is None:
            return match[0]
        if file not in self._read:
            self._read.add(file)
            text = _MODULE.sub("", self._files[file])
            self._behind.append(_Unit(self._text(text), self._macros(text)))
        return "\n" * match[0].count("\n")

    def _included(self, match: re.Match[str]) -> str:
        file = self.meant(match[1])
        if file is None:
            return match[0]
        if file in self._read:
            return ""
        self._read.add(file)
        return self._text(self._files[file])

    def _macros(self, text: str, within: frozenset[str] = frozenset()) -> frozenset[str]:
        """Return the macros that a text and the files that it includes define."""
        files = {file for match in _INCLUDE.finditer(text) if (file := self.meant(match[1])) and file not in within}
        own = frozenset(match[1] for match in _DEFINE.finditer(text))
        return own.union(*(self._macros(self._files[file], within | files) for file in files))

    def meant(self, written: str) -> str | None:
        """Return the file that an import or inclusion means; None if it is none of those known."""
        ending = "/" + _alike(re.sub(r"^(?:\.{1,2}/)+", "", written))
        return next((file for file in self._files if f"/{_alike(file)}".endswith(ending)), None)


def _joined(units: Sequence[_Unit]) -> Iterator[str]:
    """Yield the texts of modules for one text in which each has its own macros.

    A module does not see macros of another one, and may declare again what another one declares. The first module's
    macros hold at the end again, unless one of them has several definitions.
    """
    known: frozenset[str] = frozenset()
    declared = [_declared(read_source(unit.text, "")) for unit in units]
    unsure = frozenset().union(*(unit.macros for unit in units)) | _with_several_meanings(declared)
    for number, unit in enumerate(units):
        own = {match[1] for match in _DEFINE.finditer(unit.text)}
        words = {*_WORD.findall(unit.text)}
        gone = sorted(name for name in known & words if name in own or name not in unit.macros)
        yield from (f"#undef {name}" for name in gone)
        known = (known - {*gone}) | own
        yield _without_repeated(unit.text, declared[number], declared[:number], unsure)
    yield from _first_again(units)


def _first_again(units: Sequence[_Unit]) -> Iterator[str]:
    """Yield the macros of the first module that others use otherwise."""
    first: dict[str, list[str]] = {}
    for match in _DEFINE.finditer(units[0].text):
        first.setdefault(match[1], []).append(match[0])
    others = {word for unit in units[1:] for word in _WORD.findall(unit.text)}
    for name, texts in first.items():
        if name in others and len(texts) == 1:
            yield from (f"#undef {name}", texts[0])


def _without_repeated(text: str, own: _Declared, before: Sequence[_Declared], unsure: frozenset[str]) -> str:
    """Return the text of a module without what an earlier one declares with the same tokens.

    A declaration with a word that may mean something else in the other module stays. Then Slang refuses the text, and
    nothing is checked that does not run.
    """
    for key, (start, end, tokens) in sorted(own.items(), key=lambda item: -item[1][0]):
        if unsure.isdisjoint(tokens) and any(tokens == one[key][2] for one in before if key in one):
            text = text[:start] + _NOT_LINE_END.sub(" ", text[start : end + 1]) + text[end + 1 :]
    return text


def _with_several_meanings(declared: Sequence[_Declared]) -> frozenset[str]:
    """Return the names that two modules declare otherwise: with another text, other types, or one of several alone."""
    meanings: dict[str, set[frozenset[tuple[object, ...]]]] = {}
    for one in declared:
        of_name: dict[str, set[tuple[object, ...]]] = {}
        for (kind, name, signature), (_, _, tokens) in one.items():
            of_name.setdefault(name.split(".")[-1], set()).add((kind, signature, tokens))
        for name, meaning in of_name.items():
            meanings.setdefault(name, set()).add(frozenset(meaning))
    return frozenset(name for name, several in meanings.items() if len(several) > 1)


def _declared(source: SlangSource) -> _Declared:
    """Return the functions and other declarations of a text outside of structs: each with its place and its tokens."""
    declarations = [one for one in declarations_of(source) if not one.brings_in]
    functions = [f for f in source.functions if not any(one.start <= f.start <= one.end for one in declarations)]
    placed = {(one.kind, one.name, ""): (one.start, one.end) for one in declarations if one.kind != "extension"}
    placed |= {(_FUNCTION, one.name, one.header.signature): (one.start, one.end) for one in functions}
    return {key: (start, end, _tokens(source, start, end)) for key, (start, end) in placed.items()}


def _tokens(source: SlangSource, start: int, end: int) -> tuple[str, ...]:
    first, behind = bisect_left(source.offsets, start), bisect_right(source.offsets, end)
    return tuple(token.text for token in source.tokens[first:behind])


def _alike(path: str) -> str:
    """Return a path in the form in which Slang compares names of modules and files."""
    return path.replace("\\", "/").removesuffix(".slang").replace("_", "-")
