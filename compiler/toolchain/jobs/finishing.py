"""Add to an artefact the text that Slang leaves to its own drivers, so that the artefact is complete."""

from __future__ import annotations

import re
from typing import Final

from slangad.compiler.toolchain.jobs.cpp_linkage import with_internal_linkage
from slangad.compiler.toolchain.jobs.cpp_prelude import with_whole_prelude

_TABLE: Final = re.compile(rb"^var<private> (\w+) : [^\n=]+ = ([^\n]+);$", re.MULTILINE)
_HALF = b"#define SLANG_CUDA_ENABLE_HALF 1\n"


def finished(target: str, code: bytes) -> bytes:
    """Return the artefact's final bytes.

    CUDA code that uses half needs a macro, which Slang defines only when it calls NVRTC itself. C++ code
    needs what Slang's prelude lacks, and internal linkage. WGSL tables must not be made of other tables, which Slang
    shares between rows and wholes.
    """
    if target == "wgsl":
        return _spelled_out(code)
    if target == "cpp":
        return with_internal_linkage(with_whole_prelude(code))
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
