"""Find the pointers in a Slang text. The copy has a struct in their place, which knows how many elements there are."""

from __future__ import annotations

import re
from itertools import accumulate
from typing import TYPE_CHECKING, Final

from slangad.compiler.slang_text.global_parameters import POINTER

if TYPE_CHECKING:
    from collections.abc import Collection, Iterator, Sequence

    from slangad.compiler.slang_text.bodies import SlangSource
    from slangad.compiler.slang_text.tokens import Token

_SHIM: Final = "CheckPointer"
_STEPS: Final = {"<": 1, ">": -1}
_BUILTIN: Final = re.compile(
    r"(?:float|half|double|u?int|bool)(?:(?:8|16|32|64)_t)?[1-4]?(?:x[1-4])?|vector|matrix|Atomic"
)
_DECLARED: Final = re.compile(r"\b(?:struct|enum|class|typealias|typename)\s+(\w+)|\btypedef\b[^;]*\b(\w+)\s*;")
_WRITTEN: Final = re.compile(rf"\b{POINTER}\s*<|[\w>]\*\s+\w+\s*[;,)]|[\w>]\s+\*\w+\s*[;,)]")


def has_pointers(text: str) -> bool:
    """Return True if a text seems to declare pointers."""
    return bool(_WRITTEN.search(text))


def pointers(source: SlangSource, kept: Collection[str]) -> Iterator[tuple[int, int, str]]:
    """Yield the pointer types of a text as offsets, with the text in their place. Pointers to ``kept`` structs stay."""
    declared = {name for pair in _DECLARED.findall(source.text) for name in pair if name}
    tokens, offsets = source.tokens, source.offsets
    for k, token in enumerate(tokens):
        if token.text == POINTER and tokens[k + 1].text == "<":
            depths = [*accumulate(_STEPS.get(token.text, 0) for token in tokens[k + 1 :])]
            last = k + 1 + depths.index(0) if 0 in depths else k
            if last > k and tokens[k + 2].text not in kept:
                commas = (n for n in range(k + 2, last) if tokens[n].text == "," and depths[n - k - 1] == 1)
                yield offsets[k], offsets[k] + len(POINTER), _SHIM
                yield offsets[next(commas, last)], offsets[last], ""
        elif token.text == "*" and k:
            start = _type_before(tokens, k, declared)
            if start is not None and tokens[start].text not in kept:
                yield offsets[start], offsets[start], f"{_SHIM}<"
                yield offsets[k], offsets[k] + 1, ">"


def _type_before(tokens: Sequence[Token], star: int, declared: Collection[str]) -> int | None:
    """Return the first token of the type in front of a star; None if that is a value."""
    k = star - 1
    if tokens[k].text == ">":
        depth = 1
        while k > 0 and depth:
            k -= 1
            depth -= _STEPS.get(tokens[k].text, 0)
        k -= 1
    is_type = tokens[k].kind == "word" and (tokens[k].text in declared or _BUILTIN.fullmatch(tokens[k].text))
    return k if is_type and k >= 0 else None
