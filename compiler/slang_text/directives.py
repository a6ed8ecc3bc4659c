"""Find comment lines that tell the check something about the function below them.

// check: tolerance 1e-3              ->        the words `tolerance`, `1e-3` with their locations
// range: m.roughness 0.1 1.0         ->        the words `range`, `m.roughness`, `0.1`, `1.0`
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

from slangad.compiler.errors.spans import Span

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from slangad.compiler.slang_text.tokens import LineComment

_HEAD: Final = re.compile(r"//+!?\s*(?:check\s*:|(range)\s*:)")
_WORD: Final = re.compile(r"\S+")


@dataclass(frozen=True, slots=True)
class DirectiveLine:
    """A line ``WORD …``: its location, and its words with theirs. The first word is the directive."""

    span: Span
    words: tuple[tuple[str, Span], ...]

    @property
    def name(self) -> str:
        """Its first word; empty if it has none."""
        return self.words[0][0] if self.words else ""


def directive_lines(comments: Iterable[LineComment], file: str) -> Iterator[DirectiveLine]:
    """Yield the comments that begin with ``check:`` or ``range:``, right or wrong."""
    for comment in comments:
        head = _HEAD.match(comment.text)
        if head is not None:
            occurrence = ((word.start(), word[0]) for word in _WORD.finditer(comment.text, head.end()))
            named = [(head.start(1), "range")] if head[1] else []
            words = tuple((text, _span(comment, at, text, file)) for at, text in (*named, *occurrence))
            yield DirectiveLine(_span(comment, 0, comment.text, file), words)


def _span(comment: LineComment, start: int, text: str, file: str) -> Span:
    column = comment.column + start
    return Span(file, comment.line, column, comment.line, column + len(text))
