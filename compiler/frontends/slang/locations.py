"""Which file a function stands in, and where: its own file, a part of its module, or one that is merely included."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Final

from slangad.compiler.frontends.slang.generics import example_of
from slangad.compiler.frontends.slang.imports import SourceText
from slangad.compiler.slang_text.headers import Header, Scan, scan_text, whole_file

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping

    from slangad.compiler.errors.spans import Span
    from slangad.compiler.frontends.slang.reflected import DeclaredFunction

_HAS_FORWARD: Final = frozenset(
    {"Differentiable", "BackwardDifferentiable", "ForwardDerivative", "ForwardDifferentiable"}
)


@dataclass(frozen=True, slots=True)
class Place:
    """Where a function stands; without ``header`` a macro made it, or its head is written in an unforeseen way."""

    span: Span
    header: Header | None = None


class SourceFiles:
    """The text of a module: the file itself, its parts, and what else it depends on, scanned when needed.

    Args:
        text: The text of the file itself.
        main: What was found in that.
        dependencies: What it depends on, as paths; the file itself may be among them.
    """

    def __init__(self, text: SourceText, main: Scan, dependencies: Iterable[str]) -> None:
        own = Path(main.file).resolve()
        self.text = text
        self.main = main
        self._others = [path for path in dependencies if Path(path).resolve() != own]
        self._scanned: dict[str, Scan] = {}

    @property
    def own(self) -> Iterator[Scan]:
        """The file, and the files that are parts of its module."""
        yield self.main
        if "__include" in self.main.words:
            yield from (scan for scan in self._scans() if scan.is_part)

    def macros(self) -> Iterator[str]:
        """Every macro that one of the files defines."""
        yield from self.main.macros
        for scan in self._scans():
            yield from scan.macros

    @property
    def other_texts(self) -> list[SourceText]:
        """The text of what the file depends on."""
        return [SourceText(Path(path), _text_of(path)) for path in self._others]

    def place(self, function: DeclaredFunction, which: tuple[int, int] = (0, 1)) -> Place | None:
        """Where a function stands, None if in a file that is merely included; ``which`` as in ``Scan.find``."""
        names = tuple(param.name for param in function.params)
        name = function.name if function.name.isidentifier() else f"operator{function.name}"
        for scan in self.own:
            header = scan.find(name, function.path, names, which, generic=function.pattern.endswith("<>"))
            if header is not None:
                return Place(header.span, header)
        if any(scan.find(name, function.path, names) for scan in self._scans()):
            return None
        return Place(self.main.words.get(name, whole_file(self.main.file)))

    def example(self, pattern: str, place: Place) -> str:
        """The name of a generic function that stands there, with arguments that fit."""
        span = place.span if place.header and place.span.file == self.main.file else None
        return example_of(pattern, span, [self.text.text, *(one.text for one in self.other_texts)])

    @cached_property
    def without_forward(self) -> Mapping[str, str]:
        """Functions whose forward mode Slang gets wrong or lacks, each with the one to blame, by their plain names.

        Those are functions with a backward derivative alone, and whatever calls them and has no forward derivative of
        its own.
        """
        scans = (self.main, *self._scans())
        further = [pair for scan in scans for pair in scan.derivatives_of.items()]
        headers = [
            (header, {*header.attributes}.union(*(words for name, words in further if name == header.name)))
            for scan in scans
            for header in scan.headers
        ]
        found = {h.name: h.name for h, words in headers if "BackwardDerivative" in words and not words & _HAS_FORWARD}
        automatic = [h for h, words in headers if "ForwardDerivative" not in words]
        while grown := [h for h in automatic if h.name not in found and not h.calls.isdisjoint(found)]:
            found.update((h.name, found[min(h.calls & found.keys())]) for h in grown)
        return found

    def _scans(self) -> Iterator[Scan]:
        for path in self._others:
            if path not in self._scanned:
                self._scanned[path] = scan_text(_text_of(path), _shown(path))
            yield self._scanned[path]


def _text_of(path: str) -> str:
    try:
        return Path(path).read_text(encoding="utf-8", errors="replace")
    except OSError:
        return ""


def _shown(path: str) -> str:
    """A path as people here would write it: relative if it lies below the working directory."""
    full = Path(path)
    return full.relative_to(Path.cwd()).as_posix() if full.is_relative_to(Path.cwd()) else path
