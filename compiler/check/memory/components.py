"""Find stores to single components of elements of memory, or of their fields: ``gradients[i].position[c] += d``.

Slang refuses them where a struct stands for the memory. The copy calls a function that takes the element and ``c``.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from slangad.compiler.slang_text.brackets import closing, end_of_statement, is_stored

if TYPE_CHECKING:
    from collections.abc import Collection, Iterator, Sequence

    from slangad.compiler.slang_text.bodies import SlangSource
    from slangad.compiler.slang_text.calls import FunctionCode
    from slangad.compiler.slang_text.tokens import Token

ATOMIC: Final = "InterlockedAdd"
_STORES: Final = {"=": "check_put_at", "+=": "check_add_at", "-=": "check_take_at"}
_NO_TYPES: Final = frozenset({"return", "else", "no_diff", "case", "do"})
_BEFORE: Final = frozenset({";", "{", "}", ")", "else"})


def component_stores(source: SlangSource, memory: Collection[str]) -> Iterator[tuple[int, int, str]]:
    """Yield the offsets of changes in stores to components of ``memory``, each with the new text."""
    tokens, offsets = source.tokens, source.offsets
    variables = {k for function in source.functions for k in _of_variables(tokens[: function.last], function.opening)}
    for k, token in enumerate(tokens):
        if token.text not in memory or k in variables or k + 1 >= len(tokens) or tokens[k + 1].text != "[":
            continue
        opening = _after_fields(tokens, closing(tokens, k + 1) + 1)
        if opening >= len(tokens) or tokens[opening].text != "[":
            continue
        last = closing(tokens, opening)
        start = first_of_path(tokens, k)
        operator, end = _operator(tokens, last + 1)
        if start > 1 and tokens[start - 1].text == "(" and tokens[start - 2].text == ATOMIC:
            yield offsets[opening], offsets[opening] + 1, ", "
            yield offsets[last], offsets[last] + 1, ""
        elif operator in _STORES and tokens[start - 1].text in _BEFORE:
            semicolon = next(n for n in range(end, len(tokens)) if tokens[n].text == ";")
            yield offsets[start], offsets[start], f"{_STORES[operator]}("
            yield offsets[opening], offsets[opening] + 1, ", "
            yield offsets[last], offsets[end - 1] + 1, ", "
            yield offsets[semicolon], offsets[semicolon], ")"


def _after_fields(tokens: Sequence[Token], index: int) -> int:
    """Return the token behind ``.a.b``."""
    while index + 1 < len(tokens) and tokens[index].text == "." and tokens[index + 1].kind == "word":
        index += 2
    return index


def _of_variables(tokens: Sequence[Token], opening: int) -> Iterator[int]:
    """Yield the words of a function's body that name variables that it declares: ``float3x3 m = …``."""
    declared: set[str] = set()
    for k in range(opening + 1, len(tokens) - 1):
        before, word, behind = tokens[k - 1], tokens[k], tokens[k + 1].text
        typed = before.kind == "word" and before.text not in _NO_TYPES and behind in ("=", ";", "[")
        if word.kind == "word" and (typed or word.text in declared):
            declared.add(word.text)
            yield k


def first_of_path(tokens: Sequence[Token], word: int) -> int:
    """Return the first token of a word with the objects in front of it: ``a.b.word``."""
    while word > 1 and tokens[word - 1].text == "." and tokens[word - 2].kind == "word":
        word -= 2
    return word


def _operator(tokens: Sequence[Token], index: int) -> tuple[str, int]:
    """Return the operator at a token, and the token behind it."""
    text, end = "", index
    while end < len(tokens) and tokens[end].kind != "word" and tokens[end].text in "+-*/=<>!" and len(text) < 2:
        text += tokens[end].text
        end += 1
    return (text, end) if text in _STORES else (text[:1], index + 1)


def chooses_atomic(code: FunctionCode) -> bool:
    """Return True if a condition chooses between plain stores to memory and atomic additions to the same memory."""
    tokens = code.tokens
    for k, token in enumerate(tokens):
        if token.text == "else" and tokens[k - 1].text == "}":
            branches = tokens[_opening(tokens, k - 1) : k], tokens[k : _end(tokens, k + 1) + 1]
            for one, other in (branches, branches[::-1]):
                plain = {t.text for n, t in enumerate(one) if t.kind == "word" and is_stored(one, n)}
                atomic = {t.text for t in other} if ATOMIC in {t.text for t in other} else set[str]()
                if plain & atomic:
                    return True
    return False


def _opening(tokens: Sequence[Token], last: int) -> int:
    return next((k for k in range(last, -1, -1) if tokens[k].text == "{" and closing(tokens, k) == last), last)


def _end(tokens: Sequence[Token], first: int) -> int:
    return closing(tokens, first) if tokens[first].text == "{" else end_of_statement(tokens, first)
