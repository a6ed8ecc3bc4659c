"""Find how tokens of a Slang text belong together: brackets, statements, steps to a stored part, stores.

Every function takes tokens and an index into them. None of them fails, whatever the text is.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from collections.abc import Sequence

    from slangad.compiler.slang_text.tokens import Token

CLOSING_OF: Final = {"(": ")", "[": "]", "{": "}"}
"""The closing bracket of each opening one."""
_CLOSING: Final = frozenset(CLOSING_OF.values())
BEFORE_VALUES: Final = frozenset({"return", "no_diff", "else", "case", "do", "in", "is", "as"})
"""Words that stand before values and are no types."""


def closing(tokens: Sequence[Token], index: int) -> int:
    """Return the token that closes the bracket at ``index``.

    Return ``index`` if no bracket opens there, and the last token if the bracket never closes.
    """
    if index >= len(tokens) or tokens[index].text not in CLOSING_OF:
        return index
    depth = 0
    for position in range(index, len(tokens)):
        text = tokens[position].text
        depth += (text in CLOSING_OF) - (text in _CLOSING)
        if not depth:
            return position
    return len(tokens) - 1


def are_closed(tokens: Sequence[Token]) -> bool:
    """Return True if every bracket closes and none closes that was not open."""
    waiting: list[str] = []
    for token in tokens:
        if token.text in CLOSING_OF:
            waiting.append(CLOSING_OF[token.text])
        elif token.text in _CLOSING and (not waiting or waiting.pop() != token.text):
            return False
    return not waiting


def until(tokens: Sequence[Token], *marks: str) -> Sequence[Token]:
    """Return the tokens before the first of some marks."""
    return tokens[: next((k for k, token in enumerate(tokens) if token.text in marks), len(tokens))]


def body_of(tokens: Sequence[Token], name: int) -> int | None:
    """Return the brace that opens the body of the function whose name is at ``name``; None for a declaration."""
    position = name
    while position < len(tokens) and tokens[position].text not in ("{", ";"):
        position = closing(tokens, position) + 1
    return position if position < len(tokens) and tokens[position].text == "{" else None


def end_of_statement(tokens: Sequence[Token], index: int) -> int:
    """Return the last token of a statement, which may be a loop or a branch with a block."""
    k = index
    while k < len(tokens) and tokens[k].text != ";":
        k = closing(tokens, k)
        if tokens[k].text == "}":
            return k
        k += 1
    return min(k, len(tokens) - 1)


def is_declared(tokens: Sequence[Token], index: int) -> bool:
    """Return True if a word is the name of a variable at its declaration."""
    before = tokens[index - 1]
    return before.kind == "word" and before.text not in BEFORE_VALUES


def steps_behind(tokens: Sequence[Token], index: int) -> tuple[list[int], int]:
    """Return the first tokens of fields, components and indices behind a variable, and the token behind the last."""
    steps: list[int] = []
    k = index + 1
    while k + 1 < len(tokens) and tokens[k].text in (".", "["):
        steps.append(k)
        k = k + 2 if tokens[k].text == "." else closing(tokens, k) + 1
    return steps, k


def is_stored(tokens: Sequence[Token], index: int) -> bool:
    """Return True if a variable, or a part of it, is assigned to."""
    _, k = steps_behind(tokens, index)
    mark = "".join(token.text for token in tokens[k : k + 2])
    return mark in ("+=", "-=", "*=", "/=") or (mark.startswith("=") and mark != "==")


def written(tokens: Sequence[Token]) -> str:
    """Return tokens as people write them: ``m[i].x``, without spaces around brackets and points."""
    text = " ".join(token.text for token in tokens)
    text = re.sub(r"(?<=[(\[.]) | (?=[)\].,])", "", text)
    return re.sub(r"(?<=\w) (?=[(\[])", "", text)
