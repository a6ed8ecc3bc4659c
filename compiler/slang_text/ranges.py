"""Find comment lines that declare where the check draws samples.

// range: m.roughness 0.1 1.0        ->        the words `m.roughness`, `0.1`, `1.0` with their locations
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

from slangad.compiler.errors.spans import Span

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from slangad.compiler.slang_text.tokens import LineComment

_RANGE: Final = re.compile(r"//+!?\s*range\s*:")
_WORD: Final = re.compile(r"\S+")


@dataclass(frozen=True, slots=True)
class RangeComment:
    """A comment line ``// range: …``: its location, and the words behind the colon with theirs."""

    span: Span
    words: tuple[tuple[str, Span], ...]


def range_comments(comments: Iterable[LineComment], file: str) -> Iterator[RangeComment]:
    """Yield the comments that declare a range, right or wrong."""
    for comment in comments:
        head = _RANGE.match(comment.text)
        if head is not None:
            words = _WORD.finditer(comment.text, head.end())
            yield RangeComment(
                _span(comment, 0, comment.text, file),
                tuple((word[0], _span(comment, word.start(), word[0], file)) for word in words),
            )


def _span(comment: LineComment, start: int, text: str, file: str) -> Span:
    column = comment.column + start
    return Span(file, comment.line, column, comment.line, column + len(text))
