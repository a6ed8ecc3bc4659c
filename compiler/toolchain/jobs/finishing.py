"""Add to an artefact the text that Slang leaves to its own drivers, so that the artefact is complete."""

from __future__ import annotations

import re
from typing import Final

from slangad.compiler.toolchain.jobs.cpp_groups import with_groups
from slangad.compiler.toolchain.jobs.cpp_linkage import with_internal_linkage
from slangad.compiler.toolchain.jobs.cpp_prelude import with_whole_prelude

_TABLE: Final = re.compile(rb"^var<private> (\w+) : [^\n=]+ = ([^\n]+);$", re.MULTILINE)
_NEGATED: Final = re.compile(rb"\((?:(vec)|mat)[234x]+<(f32|f16|i32|u32)>\(0\) - ")
"""Slang's spelling of the negation of a vector or matrix, up to the operand."""
_HALF = b"#define SLANG_CUDA_ENABLE_HALF 1\n"


def finished(target: str, code: bytes) -> bytes:
    """Return the artefact's final bytes.

    CUDA code that uses half needs a macro, which Slang defines only when it calls NVRTC itself. C++ code
    needs what Slang's prelude lacks, and internal linkage. WGSL tables must not be made of other tables, which Slang
    shares between rows and wholes, and the operand of a negation needs parentheses.
    """
    if target == "wgsl":
        return _negated_as_a_whole(_spelled_out(code))
    if target == "cpp":
        return with_internal_linkage(with_groups(with_whole_prelude(code)))
    if target == "cuda" and b"__half" in code.rpartition(b"\n#endif")[2]:
        return _HALF + code
    return code


def _spelled_out(code: bytes) -> bytes:
    """Return the code with the entries of a table instead of its name wherever another table's start has the name."""
    tables: dict[bytes, bytes] = {}

    def start(match: re.Match[bytes]) -> bytes:
        name, old = match.groups()
        tables[name] = re.sub(rb"\b\w+\b", lambda word: tables.get(word[0], word[0]), old)
        return match[0].replace(old, tables[name])

    return _TABLE.sub(start, code)


def _negated_as_a_whole(code: bytes) -> bytes:
    """Return the code with negations of whole operands.

    Slang 2026.12 writes ``-(a + b)`` as ``(vec2<f32>(0) - a + b)``. A matrix has no constructor from one number, so it
    is multiplied.
    """
    for match in reversed([*_NEGATED.finditer(code)]):
        end = _end_of_parentheses(code, match.start())
        operand = code[match.end() : end - 1]
        whole = b"(" + operand + b")" if b" " in operand else operand
        sign = match[0] if match[1] else b"(-1.0h * " if match[2] == b"f16" else b"(-1.0f * "
        code = code[: match.start()] + sign + whole + code[end - 1 :]
    return code


def _end_of_parentheses(code: bytes, start: int) -> int:
    """Return the place after the parenthesis that closes the one at ``start``."""
    depth = 0
    for match in re.compile(rb"[()]").finditer(code, start):
        depth += 1 if match[0] == b"(" else -1
        if not depth:
            return match.end()
    return len(code)
