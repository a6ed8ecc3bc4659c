"""Locate functions: in the file itself, in a part of its module, or in an included file."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING

from slangad.compiler.frontends.slang.arguments import Surroundings
from slangad.compiler.frontends.slang.generics import example_of, tokens_of
from slangad.compiler.frontends.slang.imports import SourceText
from slangad.compiler.slang_text.calls import is_backward_alone
from slangad.compiler.slang_text.conditions import hidden_lines
from slangad.compiler.slang_text.files import text_of
from slangad.compiler.slang_text.headers import Header, Scan, scan_text, whole_file
from slangad.compiler.slang_text.search import textual_files

if TYPE_CHECKING:
    from collections.abc import Collection, Iterable, Iterator, Mapping

    from slangad.compiler.errors.spans import Span
    from slangad.compiler.frontends.slang.arguments import Row
    from slangad.compiler.frontends.slang.reflected import DeclaredFunction


@dataclass(frozen=True, slots=True)
class FunctionLocation:
    """The location of a function. There is no ``header`` if a macro made the function or the scan missed it."""

    span: Span
    header: Header | None = None


class SourceFiles:
    """The text of a module: the file itself, its parts, and its other dependencies, scanned on demand.

    Args:
        text: The text of the file itself.
        main: The scan of that text.
        dependencies: The paths of its dependencies. The file itself may be among them.
        included: True if functions of included files are kernels, too.
        defines: Macros that are defined outside of the files.
    """

    def __init__(
        self,
        text: SourceText,
        main: Scan,
        dependencies: Iterable[str],
        *,
        included: bool = False,
        defines: Iterable[tuple[str, str]] = (),
    ) -> None:
        main_path = Path(main.file).resolve()
        self.text = text
        self.main = main
        self._included = included
        self._others = [path for path in dependencies if Path(path).resolve() != main_path]
        self._scanned: dict[str, Scan] = {}
        self._defines = dict(defines)
        self._hidden: dict[str, frozenset[int]] = {}

    @property
    def text_scans(self) -> Iterator[Scan]:
        """The scans of all files of the module's text: the file, its parts, and included files."""
        yield self.main
        yield from self._scans(textual_files(self.text.path, self._others))

    @property
    def kernel_scans(self) -> Iterator[Scan]:
        """The scans of the files whose functions are kernels."""
        return (scan for scan in self.text_scans if self._included or scan is self.main or scan.is_part)

    @property
    def unreflected(self) -> Iterator[Header]:
        """The differentiable methods that reflection omits."""
        return (header for scan in self.kernel_scans for header in scan.unreflected)

    def macros(self) -> Iterator[str]:
        """Yield every macro that one of the files defines."""
        for scan in (self.main, *self._scans()):
            yield from (name for name, _ in scan.defines)

    @property
    def other_texts(self) -> list[SourceText]:
        """The dependencies of the file with their text."""
        return [SourceText(Path(path), text_of(path)) for path in self._others]

    def text_of(self, scan: Scan) -> str:
        """Return the text of a scan."""
        return self.text.text if scan is self.main else text_of(scan.file)

    def place(self, function: DeclaredFunction, which: tuple[int, int] = (0, 1)) -> FunctionLocation | None:
        """Return the location of a function, None if an included file declares it; ``which`` is as in ``Scan.find``."""
        names = tuple(param.name for param in function.params)
        types = tuple(param.type_name for param in function.params)
        name = function.name if function.name.isidentifier() else f"operator{function.name}"
        generic = function.pattern.endswith("<>")
        hidden = ((scan, self._hidden_lines(scan)) for scan in self.kernel_scans)
        headers_of_name = [
            scan.find(name, function.path, names, which, types=types, generic=generic, hidden=lines)
            for scan, lines in hidden
        ]
        headers = [header for header in headers_of_name if header is not None]

        def likeness(header: Header) -> tuple[bool, bool, int]:
            return header.path == function.path, header.params == names, header.has_types(types)

        header = max(headers, key=likeness, default=None)
        if header is not None:
            return FunctionLocation(header.span, header)
        if any(scan.find(name, function.path, names) for scan in self._scans()):
            return None
        return FunctionLocation(self.main.words.get(name, whole_file(self.main.file)))

    def _hidden_lines(self, scan: Scan) -> frozenset[int]:
        """Return the lines of a file that conditions hide."""
        if scan.file not in self._hidden:
            others = (other for other in (self.main, *self._scans()) if other is not scan)
            foreign = {name for other in others for name, _ in other.defines}
            self._hidden[scan.file] = hidden_lines(scan.directives, self._defines, foreign)
        return self._hidden[scan.file]

    def example(self, pattern: str, place: FunctionLocation) -> str:
        """Return the name of the generic function there with suitable arguments."""
        return example_of(pattern, self._own_span(place), self.surroundings.texts)

    def candidates(self, pattern: str, place: FunctionLocation) -> tuple[dict[str, Row], dict[str, Row]]:
        """Return instances of the generic function there, as ``Surroundings.candidates`` does."""
        return self.surroundings.candidates(pattern, self._own_span(place))

    def lacking(self, pattern: str, place: FunctionLocation) -> tuple[str, ...]:
        """Return the interfaces in the parameters of the generic function there to which no type conforms."""
        return tuple(self.surroundings.lacking(pattern, self._own_span(place)))

    def _own_span(self, place: FunctionLocation) -> Span | None:
        return place.span if place.header and place.span.file == self.main.file else None

    @cached_property
    def surroundings(self) -> Surroundings:
        """The facts about generic arguments in the file and its dependencies."""
        return Surroundings(tokens_of([self.text.text, *(one.text for one in self.other_texts)]))

    @cached_property
    def without_forward(self) -> Mapping[str, str]:
        """Functions whose forward mode Slang gets wrong or lacks, each with the cause, by their plain names.

        The causes are functions with a backward derivative alone. Their callers inherit the fault unless they have a
        custom forward derivative.
        """
        scans = (self.main, *self._scans())
        further = [pair for scan in scans for pair in scan.derivatives_of.items()]
        headers = [
            (header, {*header.attributes}.union(*(words for name, words in further if name == header.name)))
            for scan in scans
            for header in scan.headers
        ]
        origin = {h.called: h.called for h, words in headers if is_backward_alone(words)}
        automatic = [h for h, words in headers if "ForwardDerivative" not in words]
        while grown := [h for h in automatic if h.called not in origin and not h.calls.isdisjoint(origin)]:
            origin.update((h.called, origin[min(h.calls & origin.keys())]) for h in grown)
        return origin

    def lost_forward(self, header: Header) -> str:
        """Return a callee for which Slang gets the forward mode of a function wrong; empty if there is none."""
        lost = () if "ForwardDerivative" in header.attributes else header.calls & self.without_forward.keys()
        return min((self.without_forward[name] for name in lost), default="")

    def _scans(self, among: Collection[str] | None = None) -> Iterator[Scan]:
        for path in self._others if among is None else [path for path in self._others if path in among]:
            if path not in self._scanned:
                self._scanned[path] = scan_text(text_of(path), shown(path))
            yield self._scanned[path]


def shown(path: str) -> str:
    """Return a path as reports show it: relative if it lies below the working directory."""
    full = Path(path)
    return full.relative_to(Path.cwd()).as_posix() if full.is_relative_to(Path.cwd()) else path
