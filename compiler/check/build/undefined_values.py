"""Make values that a program never stores visible: Slang's C++ has 0 for them, and GPUs have anything.

``float z; use(z);`` becomes ``double z_0 = {};`` in C++, and -5e303 here. A variable that only some branches store
becomes ``double z_0;``, which the C++ compiler fills (see ``runtime.device.cxx``). ``= {}`` in a Slang text becomes
other C++.
"""

from __future__ import annotations

import re
import struct
from typing import Final

from slangad.compiler.toolchain.jobs.cpp_prelude import split_prelude

UNSTORED: Final[float] = struct.unpack("d", b"\xfe" * 8)[0]
"""The float64 of a variable that is never stored, about -5e303, in code that g++ builds; other compilers have NaN."""
_UNDEFINED: Final = re.compile(rb"^( +)([\w:<>,* ]+?) +(\w+_\d+) = \{\};$", re.MULTILINE)
_MAKER: Final = (
    b"\nnamespace slangad_check { template<typename T> T undefined() { T value; "
    b"for (size_t k = 0; k < sizeof(T); ++k) reinterpret_cast<unsigned char*>(&value)[k] = 0xfe; return value; } }"
)


def with_undefined_shown(code: bytes) -> bytes:
    """Return Slang's C++ text with a large number for each value that is never stored."""
    prelude, text = split_prelude(code)
    changed, count = _UNDEFINED.subn(rb"\1\2 \3 = slangad_check::undefined<\2>();", text)
    return prelude + _MAKER + changed if count else code
