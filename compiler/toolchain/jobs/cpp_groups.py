"""Let the threads of a group run in step in emitted C++ text, where they compute together.

Before: ``void _fit_forward(void* place, …) { … slangad_groups::enter(…) … }``. After: that function has another name,
and one of this name runs it for all threads of a group, each on a stack of its own (templates/slangad_groups.hpp).
Slang declares what was ``groupshared`` as locals of the entry point, to which all functions have pointers. These become
references to memory that the threads share.
"""

from __future__ import annotations

import itertools
import re
from functools import lru_cache
from importlib.resources import files
from typing import Final

GUARD: Final = b"#define SLANG_CPP_PRELUDE_H\n"
_ENTERS: Final = re.compile(rb"slangad_groups::enter\([^;]*?\b(\d+)U\)*;")
"""The call with which a thread begins; the last argument is the number of threads."""
_ENTRY: Final = re.compile(
    rb"^void _(\w+)(\(void\* \w+, void\* \w+, void\* \w+\)\n\{\n.*?^\}\n)", re.MULTILINE | re.DOTALL
)
_SHARED: Final = re.compile(rb"^( +)(\S.*\S) +(\w+);(\n +\(&kernelContext_\d+\)->\w+ = &\3;)$", re.MULTILINE)
_RUN: Final = b"""
void _%(name)s(void* place, void* parameters, void* globals)
{
    slangad_groups::run<ComputeThreadVaryingInput>(%(threads)d, _%(name)s_thread, place, parameters, globals);
}
"""


@lru_cache(maxsize=1)
def groups_text() -> bytes:
    """Return the C++ text that runs the threads of a group."""
    return (files("slangad") / "templates" / "slangad_groups.hpp").read_bytes()


def with_groups(code: bytes) -> bytes:
    """Return the text with entry points that run whole groups, where one of them needs it."""
    if b"slangad_groups::enter(" not in code:
        return code
    return _ENTRY.sub(_in_step, code).replace(GUARD, GUARD + groups_text(), 1)


def _in_step(match: re.Match[bytes]) -> bytes:
    name, rest = match.groups()
    enters = _ENTERS.search(rest)
    if enters is None:
        return match[0]
    numbers = itertools.count()
    rest = _SHARED.sub(lambda found: _one_for_all(found, next(numbers)), rest)
    return b"void _" + name + b"_thread" + rest + _RUN % {b"name": name, b"threads": int(enters[1])}


def _one_for_all(match: re.Match[bytes], number: int) -> bytes:
    """Return the declaration of the same memory for all threads of the group."""
    indent, type_, local, use = match.groups()
    return b"%s%s& %s = slangad_groups::shared<%s >(%d);%s" % (indent, type_, local, type_, number, use)
