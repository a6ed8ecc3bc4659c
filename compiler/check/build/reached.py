"""Cut the Slang files of a program down to what some kernels reach.

``f(float)``, ``f(half)`` and ``f(double)`` are equal in a float64 twin. One of them stays.
"""

from __future__ import annotations

import re
from functools import cached_property
from typing import TYPE_CHECKING, Final

from slangad.compiler.slang_text.bodies import SlangFunction
from slangad.compiler.slang_text.calls import function_at
from slangad.compiler.slang_text.parts import read_parts
from slangad.compiler.slang_text.reach import Reach
from slangad.compiler.slang_text.tokens import read_text, words_of

if TYPE_CHECKING:
    from collections.abc import Collection, Iterable, Iterator, Mapping

    from slangad.compiler.errors.spans import Span
    from slangad.compiler.slang_text.parts import Part, Parts

_FLOATS: Final = re.compile(r"\b(half|float|double)((?:[234](?:x[234])?)?)\b")
_DERIVATIVES: Final = frozenset({"bwd_diff", "fwd_diff", "__bwd_diff", "__fwd_diff"})
_ORDER: Final = ("float", "half", "double")
"""The overload with the first of these types stays, unless another one is checked."""


class ReachedTexts:
    """The Slang files of a program."""

    def __init__(self, files: Mapping[str, str], defines: Iterable[tuple[str, str]]) -> None:
        """Read the files. ``defines`` are macros that are defined outside of them."""
        self._parts = [read_parts(text, file) for file, text in files.items()]
        self._reach = Reach(self._parts, defines)

    def texts(self, main: str, spans: Iterable[Span] = (), *, f64: bool = False) -> dict[str, str]:
        """Return the files that a text reads, each with blanks for the parts that the text does not use.

        Args:
            main: The text. It imports or includes the first file.
            spans: The locations of the functions that it calls for a check.
            f64: True for a float64 twin.
        """
        without = self._equal_overloads([*self._at(spans)]) if f64 else ()
        return self._reach.slices(words_of(read_text(main).tokens), without)

    def is_replaced(self, span: Span) -> bool:
        """Return True if a float64 twin has another overload in place of the function at a location."""
        return any(part in self._replaced for part in self._at([span]))

    def calls_derivatives(self, span: Span) -> bool:
        """Return True if the function at a location names the derivative of a function."""
        return any(not _DERIVATIVES.isdisjoint(function.words) for function in self._at([span]))

    @cached_property
    def _replaced(self) -> list[Part]:
        return self._equal_overloads(())

    def _at(self, spans: Iterable[Span]) -> Iterator[SlangFunction]:
        functions = (function_at(file.source, span) for span in spans for file in self._parts)
        return (function for function in functions if function is not None)

    def _equal_overloads(self, checked: Collection[Part]) -> list[Part]:
        """Return the functions and extensions that a float64 twin has no place for. Those in ``checked`` stay."""
        groups: dict[str, dict[str, list[Part]]] = {}
        for file in self._parts:
            for part in file.every:
                for head in _heads(file, part):
                    groups.setdefault(_FLOATS.sub(r"double\2", head), {}).setdefault(head, []).append(part)
        several = (heads for heads in groups.values() if len(heads) > 1)
        gone: list[Part] = []
        for heads in several:
            stays = min(heads, key=lambda head: (not any(part in checked for part in heads[head]), _rank(head)))
            gone += (part for head, parts in heads.items() if head != stays for part in parts)
        return gone


def _heads(file: Parts, part: Part) -> Iterator[str]:
    """Yield the texts that distinguish a function from its overloads, or an extension from others."""
    if isinstance(part, SlangFunction):
        headers = [part.header]
    else:
        headers = file.source.headers_in(part.start, part.end - 1) if part.kind == "function" else []
        if part.kind == "extension":
            yield " ".join(file.source.text[part.start : part.end].partition("{")[0].split())
    for header in headers:
        if not header.generic:
            yield f"{'.'.join(header.path)} {header.name}{header.signature}"


def _rank(head: str) -> int:
    return min((_ORDER.index(word) for word, _ in _FLOATS.findall(head)), default=0)
