"""Find byte-address buffers, and what their elements are: floats or integers. The copy has arrays of words for them.

``asfloat(raw.Load(a))`` and ``raw.Store(a, asuint(v))`` become loads and stores of floats, as float64 needs them.
``sizeof(float)`` becomes its number, which stays the same in float64.
"""

from __future__ import annotations

import re
from dataclasses import replace
from typing import TYPE_CHECKING, Final

from slangad.compiler.check.memory.components import first_of_path
from slangad.compiler.slang_text.brackets import closing
from slangad.compiler.slang_text.global_parameters import BYTES

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    from slangad.compiler.slang_text.bodies import SlangSource
    from slangad.compiler.slang_text.global_parameters import GlobalParameter
    from slangad.compiler.slang_text.tokens import Token

_LOADS: Final = {"Load": "load_float", "Load2": "load_float2", "Load3": "load_float3", "Load4": "load_float4"}
_STORES: Final = frozenset({"Store", "Store2", "Store3", "Store4"})
_FROM_BITS: Final = "asfloat"
_TO_BITS: Final = "asuint"
_INTEGERS: Final = ("uint", "int")
_SIZED: Final = re.compile(r"(?:float|u?int)([234]?)")
_BYTES_OF_WORD: Final = 4
FLOAT: Final = "float"
INTEGER: Final = "uint"


def word_types(source: SlangSource) -> Mapping[str, str]:
    """Return the types of the words of byte-address buffers by name. It is empty for those that the copy can't have."""
    tokens = source.tokens
    names = {name.text for _, name in _declared(tokens)}
    result: dict[str, set[str]] = {name: set() for name in names}
    for k, token in enumerate(tokens):
        if token.text in names and k + 3 < len(tokens) and tokens[k + 1].text == ".":
            result[token.text].add(_type_of(tokens, k))
    bits = sum(token.text == _FROM_BITS for token in tokens)
    wrapped = sum(_is_from_bits(tokens, k) for k, token in enumerate(tokens) if token.text in names)
    return {name: _only(used - {""}, clear=bits == wrapped) for name, used in result.items()}


def _only(used: set[str], *, clear: bool) -> str:
    """Return the type of a buffer's words: ``clear`` is False if integers may be the bits of floats."""
    if used == {INTEGER}:
        return INTEGER if clear else ""
    return FLOAT if used <= {FLOAT} else ""


def typed(parameter: GlobalParameter, types: Mapping[str, str]) -> GlobalParameter:
    """Return memory with the type of its words if it is a byte-address buffer."""
    if parameter.kind not in BYTES:
        return parameter
    name = parameter.place.rpartition(".")[2].partition("[")[0] or parameter.name
    return replace(parameter, type=types.get(name, FLOAT))


def byte_accesses(source: SlangSource, types: Mapping[str, str]) -> Iterator[tuple[int, int, str]]:
    """Yield the offsets of changes in declarations of byte-address buffers and their uses, with the new text."""
    tokens, offsets = source.tokens, source.offsets
    for k, name in _declared(tokens):
        if types.get(name.text) == INTEGER:
            yield offsets[k] + len(tokens[k].text), offsets[k] + len(tokens[k].text), f"<{INTEGER}>"
    if types:
        yield from _sizes(source)
    for k, token in enumerate(tokens):
        if types.get(token.text) != FLOAT or k + 3 >= len(tokens) or tokens[k + 1].text != ".":
            continue
        method = tokens[k + 2]
        if _is_from_bits(tokens, k):
            start = first_of_path(tokens, k) - 2
            yield offsets[start], offsets[start] + len(_FROM_BITS), ""
            yield offsets[k + 2], offsets[k + 2] + len(method.text), _LOADS[method.text]
        elif (bits := _stored_bits(tokens, k)) is not None:
            yield offsets[k + 2], offsets[k + 2] + len(method.text), "store_float"
            yield offsets[bits], offsets[bits] + len(_TO_BITS), ""


def _sizes(source: SlangSource) -> Iterator[tuple[int, int, str]]:
    """Yield ``sizeof`` of numbers and vectors, with the number of bytes."""
    tokens, offsets = source.tokens, source.offsets
    for k in range(len(tokens) - 3):
        if [tokens[k].text, tokens[k + 1].text, tokens[k + 3].text] == ["sizeof", "(", ")"]:
            sized = _SIZED.fullmatch(tokens[k + 2].text)
            if sized:
                yield offsets[k], offsets[k + 3] + 1, str(_BYTES_OF_WORD * int(sized[1] or 1))


def _declared(tokens: Sequence[Token]) -> Iterator[tuple[int, Token]]:
    """Yield the types of byte-address buffers, each with a name that follows."""
    for k, token in enumerate(tokens[:-1]):
        if token.text in BYTES and tokens[k + 1].kind == "word":
            yield k, tokens[k + 1]


def _is_from_bits(tokens: Sequence[Token], k: int) -> bool:
    """Return True if a buffer stands in ``asfloat(raw.Load(a))``."""
    start = first_of_path(tokens, k)
    if start < 2 or [token.text for token in tokens[start - 2 : start]] != [_FROM_BITS, "("]:
        return False
    is_load = tokens[k + 2].text in _LOADS and tokens[k + 3].text == "("
    return is_load and closing(tokens, k + 3) + 1 == closing(tokens, start - 1)


def _stored_bits(tokens: Sequence[Token], k: int) -> int | None:
    """Return the token ``asuint`` of ``raw.Store(a, asuint(v))``; None for other uses of a buffer."""
    if tokens[k + 2].text not in _STORES or tokens[k + 3].text != "(":
        return None
    last = closing(tokens, k + 3)
    for n in range(k + 4, last):
        if tokens[n].text == _TO_BITS and tokens[n - 1].text == "," and closing(tokens, n + 1) + 1 == last:
            return n
    return None


def _type_of(tokens: Sequence[Token], k: int) -> str:
    """Return the type of the words that a use of a buffer reads or writes; empty if it does neither."""
    method, behind = tokens[k + 2].text, tokens[k + 3].text
    if _is_from_bits(tokens, k) or _stored_bits(tokens, k) is not None or method == "InterlockedAddF32":
        return FLOAT
    if behind == "<":
        return INTEGER if tokens[k + 4].text.startswith(_INTEGERS) else FLOAT
    if method.startswith("GetDimensions"):
        return ""
    return INTEGER
