"""What tokens of a Slang function are to each other: where brackets and statements end, what is declared and stored.

Tokens and a place among them go in. Nothing fails, whatever the text is.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from collections.abc import Sequence

    from slangad.compiler.slang_text.tokens import Token

_CLOSING: Final = {"(": ")", "[": "]", "{": "}"}
BEFORE_VALUES: Final = frozenset({"return", "no_diff", "else", "case", "do", "in", "is", "as"})
"""Words that stand before values, and are no types."""


def end_of_statement(tokens: Sequence[Token], index: int) -> int:
    """The last token of a statement, which may be a loop or a branch with a block."""
    k = index
    while k < len(tokens) and tokens[k].text != ";":
        k = closing(tokens, k)
        if tokens[k].text == "}":
            return k
        k += 1
    return min(k, len(tokens) - 1)


def closing(tokens: Sequence[Token], index: int) -> int:
    """The token that closes the bracket at ``index``; the same one if it is none."""
    depth = 0
    for k in range(index, len(tokens)) if tokens[index].text in _CLOSING else ():
        depth += (tokens[k].text in _CLOSING) - (tokens[k].text in _CLOSING.values())
        if not depth:
            return k
    return index


def is_declared(tokens: Sequence[Token], index: int) -> bool:
    """Whether a word is the name of a variable where that is declared."""
    before = tokens[index - 1]
    return before.kind == "word" and before.text not in BEFORE_VALUES


def steps_behind(tokens: Sequence[Token], index: int) -> tuple[list[int], int]:
    """Where the fields, components and indices behind a variable begin, and the token behind them all."""
    steps: list[int] = []
    k = index + 1
    while k + 1 < len(tokens) and tokens[k].text in (".", "["):
        steps.append(k)
        k = k + 2 if tokens[k].text == "." else closing(tokens, k) + 1
    return steps, k


def is_stored(tokens: Sequence[Token], index: int) -> bool:
    """Whether a variable, or a part of it, is what is assigned to."""
    _, k = steps_behind(tokens, index)
    mark = "".join(token.text for token in tokens[k : k + 2])
    return mark in ("+=", "-=", "*=", "/=") or (mark.startswith("=") and mark != "==")


def shown(tokens: Sequence[Token]) -> str:
    """Tokens as people would write them."""
    text = " ".join(token.text for token in tokens)
    text = re.sub(r"(?<=[(\[.]) | (?=[)\].,])", "", text)
    return re.sub(r"(?<=\w) (?=[(\[])", "", text)
