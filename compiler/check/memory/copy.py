"""Make the copy of a Slang text in which global parameters are variables and buffers are arrays.

Lines stay where they are. Columns do not.
"""

from __future__ import annotations

import re
from itertools import groupby
from typing import TYPE_CHECKING, Final

from slangad.compiler.check.memory.components import ATOMIC
from slangad.compiler.check.memory.wrappers import SHIMS, shim_type
from slangad.compiler.check.twins.one_lane import in_one_lane, lanes_library, uses_lanes
from slangad.compiler.emit.library import library_text
from slangad.compiler.slang_text.global_parameters import MEMORY, POINTER

if TYPE_CHECKING:
    from collections.abc import Collection, Iterator, Sequence

    from slangad.compiler.slang_text.bodies import SlangFunction, SlangSource
    from slangad.compiler.slang_text.global_parameters import GlobalParameter

_LIBRARY: Final = "slangad_check_memory.slang"
_VISIBILITY: Final = frozenset({"public", "internal", "private"})
"""Words that the copy does without, since it has several files in one module."""
_IN_MODULE: Final = re.compile(r"^(?:module .*;|public )", re.MULTILINE)
"""Text that a library loses when it becomes a part of the copy."""
_ATOMIC: Final = "Atomic"
_FUNCTIONS: Final = {
    ATOMIC: "check_interlocked_add",
    "__atomic_add": "check_atomic_add",
    "cudaThreadIdx": "check_thread_index",
    "cudaBlockIdx": "check_block_index",
    "cudaBlockDim": "check_block_size",
}
"""Functions that the CPU lacks, with those in their place."""


def copy_of(
    source: SlangSource,
    parameters: Sequence[GlobalParameter],
    added: Sequence[str],
    changes: Sequence[tuple[int, int, str]] = (),
    removed: Collection[SlangFunction] = (),
) -> str:
    """Return the copy of a text with more declarations at its end.

    Args:
        source: The text.
        parameters: Its global parameters.
        added: The declarations.
        changes: Further changes of the text: the offsets of parts, and what to put in their place.
        removed: The functions to leave out.
    """
    text = source.text
    fixed = [*((one.start, one.end) for one in parameters), *((one.start, one.end) for one in removed)]
    changed = [*_words(source), *changes]
    free = (edit for edit in changed if not any(start <= edit[0] <= end for start, end in fixed))
    gone = ((f.start, f.end + 1, "\n" * text.count("\n", f.start, f.end)) for f in removed)
    for start, end, put in sorted((*_declarations(text, parameters), *free, *gone), reverse=True):
        text = text[:start] + put + text[end:]
    lanes = [_IN_MODULE.sub("", lanes_library(text))] if uses_lanes(text) else []
    return "\n".join((in_one_lane(text), library_text(_LIBRARY), *lanes, *added))


def _declarations(text: str, parameters: Sequence[GlobalParameter]) -> Iterator[tuple[int, int, str]]:
    """Yield the declarations of global parameters, with those of variables in their place."""
    for start, group in groupby(parameters, key=lambda one: one.start):
        ones = [*group]
        end = ones[0].end + 1
        variables = " ".join(f"static {shim_type(one)} {one.name};" for one in ones)
        yield start, end, variables + "\n" * text.count("\n", start, end)


def _words(source: SlangSource) -> Iterator[tuple[int, int, str]]:
    """Yield the words for memory, with those in their place."""
    tokens = source.tokens
    for k, (token, offset) in enumerate(zip(tokens, source.offsets, strict=True)):
        behind = tokens[k + 1].text if k + 1 < len(tokens) else ""
        put = _put(token.text, behind)
        is_member = k > 0 and tokens[k - 1].text == "."
        if put is not None and not is_member:
            yield offset, offset + len(token.text), put


def _put(word: str, behind: str) -> str | None:
    """Return the replacement of a word in the copy; None if the word stays."""
    if word in _VISIBILITY:
        return ""
    if behind == "(":
        return _FUNCTIONS.get(word)
    if word == _ATOMIC:
        return "CheckAtomic" if behind == "<" else None
    shim = SHIMS.get(word) if word != POINTER else None
    return shim.type if shim and (behind == "<" or MEMORY[word].element) else None
