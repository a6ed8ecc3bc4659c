"""Give emitted C++ text internal linkage, except for its entry points, so that several texts link into one program.

Slang declares some functions of every text with external linkage, and names the parameters of every entry point
``EntryPointParams_0``. Before: ``Material_0 Material_x24init_0(…) { … }``. After: the same in ``namespace { … }``. The
functions that begin with ``SLANG_PRELUDE_EXPORT`` come last and stay outside.
"""

from __future__ import annotations

import re
from typing import Final

from slangad.compiler.toolchain.jobs.cpp_prelude import split_prelude

OPENED: Final = b"\n\nnamespace\n{"
CLOSED: Final = b"} // namespace\n\n"
_EXPORT: Final = re.compile(rb"^(?:// \[numthreads\([^\n]*\n)?SLANG_PRELUDE_EXPORT$", re.MULTILINE)
_EXPORTED: Final = b"SLANG_PRELUDE_EXPORT\n"
_GUARD: Final = b"#define SLANG_CPP_PRELUDE_H\n"
_QUIET: Final = b"""
#if defined(__GNUC__)
#pragma GCC diagnostic ignored "-Wunused-function"
#pragma GCC diagnostic ignored "-Wunused-parameter"
#pragma GCC diagnostic ignored "-Wtype-limits"
#endif
"""
"""Slang's prelude has functions that a text may not use, and its functions have parameters that they do not read. The
text has constants in place of generic arguments, so it may ask if an unsigned number is at least 0."""


def with_internal_linkage(code: bytes) -> bytes:
    """Return the text with an unnamed namespace around everything that is not exported, free of these warnings."""
    prelude, code_text = split_prelude(code)
    export = _EXPORT.search(code_text)
    if not prelude or export is None:
        return code
    inner, exported = code_text[: export.start()], code_text[export.start() :]
    return prelude.replace(_GUARD, _GUARD + _QUIET, 1) + OPENED + inner + CLOSED + exported


def without_linkage(code: bytes) -> bytes:
    """Return the own part of such a text without its namespace, and with nothing exported."""
    _, code_text = split_prelude(code)
    return code_text.removeprefix(OPENED).replace(CLOSED, b"", 1).replace(_EXPORTED, b"")
