"""Make the copy of a Slang text in which global parameters are variables and buffers are arrays.

Lines stay where they are. Columns do not.
"""

from __future__ import annotations

from itertools import groupby
from typing import TYPE_CHECKING, Final

from slangad.compiler.emit.library import library_text

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from slangad.compiler.slang_text.bodies import SlangSource
    from slangad.compiler.slang_text.global_parameters import GlobalParameter

_LIBRARY: Final = "slangad_check_memory.slang"
_TYPES: Final = {
    "StructuredBuffer": "CheckMemory",
    "RWStructuredBuffer": "CheckMemory",
    "RasterizerOrderedStructuredBuffer": "CheckMemory",
    "Buffer": "CheckMemory",
    "RWBuffer": "CheckMemory",
    "Atomic": "CheckAtomic",
}
"""Types of memory, with those in their place."""
_FUNCTIONS: Final = {"InterlockedAdd": "check_interlocked_add"}


def copy_of(source: SlangSource, parameters: Sequence[GlobalParameter], added: Sequence[str]) -> str:
    """Return the copy of a text with more declarations at its end."""
    text = source.text
    for start, end, put in sorted((*_declarations(text, parameters), *_words(source, parameters)), reverse=True):
        text = text[:start] + put + text[end:]
    return "\n".join((text, library_text(_LIBRARY), *added))


def _declarations(text: str, parameters: Sequence[GlobalParameter]) -> Iterator[tuple[int, int, str]]:
    """Yield the declarations of global parameters, with those of variables in their place."""
    for start, group in groupby(parameters, key=lambda one: one.start):
        ones = [*group]
        end = ones[0].end + 1
        variables = " ".join(f"static {_type(one)} {one.name};" for one in ones)
        yield start, end, variables + "\n" * text.count("\n", start, end)


def _type(one: GlobalParameter) -> str:
    if not one.memory:
        return one.type
    return f"CheckMemory<{f'CheckAtomic<{one.element}>' if one.is_atomic else one.type}>"


def _words(source: SlangSource, parameters: Sequence[GlobalParameter]) -> Iterator[tuple[int, int, str]]:
    """Yield the words for memory outside of these declarations, with those in their place."""
    tokens = source.tokens
    for k, (token, offset) in enumerate(zip(tokens, source.offsets, strict=True)):
        behind = tokens[k + 1].text if k + 1 < len(tokens) else ""
        put = (_TYPES if behind == "<" else _FUNCTIONS if behind == "(" else {}).get(token.text)
        is_member = k > 0 and tokens[k - 1].text == "."
        if put and not is_member and not any(one.start <= offset <= one.end for one in parameters):
            yield offset, offset + len(token.text), put
