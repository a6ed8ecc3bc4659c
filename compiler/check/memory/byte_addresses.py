"""Find byte-address buffers, and their elements: floats, integers, or both. The copy has arrays of words for them.

``asfloat(raw.Load(a))`` and ``raw.Store(a, asuint(v))`` become loads and stores of floats, as float64 needs them.
``sizeof(float)`` becomes its number, which stays the same in float64.
"""

from __future__ import annotations

import re
from dataclasses import replace
from typing import TYPE_CHECKING, Final, NamedTuple

from slangad.compiler.check.memory.components import first_of_path
from slangad.compiler.check.memory.objects import spelled
from slangad.compiler.slang_text.brackets import closing
from slangad.compiler.slang_text.global_parameters import BYTES

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    from slangad.compiler.frontends.slang.reflected import DeclaredStruct, Json
    from slangad.compiler.slang_text.bodies import SlangSource
    from slangad.compiler.slang_text.global_parameters import GlobalParameter
    from slangad.compiler.slang_text.tokens import Token

_LOADS: Final = {"Load": "load_float", "Load2": "load_float2", "Load3": "load_float3", "Load4": "load_float4"}
_STORES: Final = frozenset({"Store", "Store2", "Store3", "Store4"})
_FROM_BITS: Final = "asfloat"
_TO_BITS: Final = "asuint"
_OF_INTEGERS: Final = re.compile(r"u?int(?:[1-4]|32_t)?")
_OF_FLOATS: Final = re.compile(r"float(?:[1-4]|32_t)?")
_WORD_SCALARS: Final = frozenset({"float", "int", "uint"})
_SIZED: Final = re.compile(r"(?:float|u?int)([234]?)")
_BYTES_OF_WORD: Final = 4
FLOAT: Final = "float"
INTEGER: Final = "uint"
WORD: Final = "CheckWord"
"""The type of a word that is read as a float or as an integer: both, side by side."""


class _Part(NamedTuple):
    """A part of a struct: its path, type, offset in words, and size in words. The size is 0 if no load can read it."""

    path: str
    type: str
    at: int
    size: int


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
    if used <= {FLOAT}:
        return FLOAT
    if not clear:
        return ""
    return INTEGER if used == {INTEGER} else WORD


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
        if (word := types.get(name.text)) in {INTEGER, WORD}:
            yield offsets[k] + len(tokens[k].text), offsets[k] + len(tokens[k].text), f"<{word}>"
    if types:
        yield from _sizes(source)
    for k, token in enumerate(tokens):
        if types.get(token.text) not in {FLOAT, WORD} or k + 3 >= len(tokens) or tokens[k + 1].text != ".":
            continue
        method = tokens[k + 2]
        if _is_from_bits(tokens, k):
            start = first_of_path(tokens, k) - 2
            yield offsets[start], offsets[start] + len(_FROM_BITS), ""
            yield offsets[k + 2], offsets[k + 2] + len(method.text), _LOADS[method.text]
        elif (bits := _stored_bits(tokens, k)) is not None:
            yield offsets[k + 2], offsets[k + 2] + len(method.text), "store_float"
            yield offsets[bits], offsets[bits] + len(_TO_BITS), ""


def word_readers(source: SlangSource, types: Mapping[str, str], structs: Mapping[str, DeclaredStruct]) -> Iterator[str]:
    """Yield extensions that read and write structs word by word: those that ``raw.Load<S>(a)`` and stores mention.

    Structs with other fields than 32-bit numbers, vectors, arrays and such structs are left out. Slang then refuses
    their loads in the copy.
    """
    tokens = source.tokens
    wanted = {
        tokens[k + 4].text
        for k, token in enumerate(tokens[:-4])
        if types.get(token.text) == WORD and tokens[k + 1].text == "." and tokens[k + 3].text == "<"
    }
    written: set[str] = set()
    while wanted:
        name = wanted.pop()
        if name in written or name not in structs:
            continue
        written.add(name)
        parts = [*_parts_of(name, structs)]
        if all(size for *_, size in parts):
            wanted |= {type_ for _, type_, _, _ in parts if type_ in structs}
            yield _reader(name, parts)


def _parts_of(name: str, structs: Mapping[str, DeclaredStruct]) -> Iterator[_Part]:
    """Yield the parts of a struct that one load reads."""
    at = 0
    for field in structs[name].fields:
        for path, record in _elements("." + field.name, field.type):
            size = _words_of(record, structs)
            yield _Part(path, spelled(record), at, size)
            at += size


def _elements(path: str, record: Json) -> Iterator[tuple[str, Json]]:
    """Yield the elements of an array, or a value that is none."""
    if record["kind"] != "array":
        yield path, record
        return
    for k in range(record["count"]):
        yield from _elements(f"{path}[{k}]", record["element"])


def _words_of(record: Json, structs: Mapping[str, DeclaredStruct]) -> int:
    """Return the number of words of a value; 0 if it has parts of another size."""
    if record["kind"] == "struct":
        fields = structs[record["name"]].fields if record["name"] in structs else ()
        sizes = [_words_of(one, structs) for field in fields for _, one in _elements("", field.type)]
        return sum(sizes) if all(sizes) else 0
    if record["kind"] not in {"scalar", "vector"} or record["scalar"] not in _WORD_SCALARS:
        return 0
    return int(record.get("count", 1))


def _reader(name: str, parts: Sequence[_Part]) -> str:
    reads = "".join(f" value{p} = check_read<{t}>(memory, word + {at});" for p, t, at, _ in parts)
    writes = "".join(f" check_write<{t}>(memory, word + {at}, value{p});" for p, t, at, _ in parts)
    head = "<M : ICheckWordMemory>(M memory, uint word"
    return (
        f"extension {name} : ICheckWords {{ static This read_words{head}) {{ This value;{reads} return value; }}"
        f" static void write_words{head}, This value) {{{writes} }} }}"
    )


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
        word = tokens[k + 6 if tokens[k + 4].text == "vector" else k + 4].text
        return INTEGER if _OF_INTEGERS.fullmatch(word) else FLOAT if _OF_FLOATS.fullmatch(word) else WORD
    if method.startswith("GetDimensions"):
        return ""
    return INTEGER
