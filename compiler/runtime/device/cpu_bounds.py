"""Add checks of indices into arrays, vectors and matrices to emitted C++ text.

Slang's C++ reads whatever lies beside an array. Where ``slangad_watches`` is set, such an index becomes 0 and
``slangad_left`` is set; otherwise nothing changes. An index outside a buffer always becomes 0, so that no launch
crashes because of it.
"""

from __future__ import annotations

import re
from typing import Final

_HEAD: Final = b"""#include <stddef.h>
static bool slangad_watches = false, slangad_left = false;
static inline size_t slangad_index(size_t index, size_t count)
{
    if (index < count || !slangad_watches) return index;
    slangad_left = true;
    return 0;
}
#define SLANG_BOUND_CHECK(index, count) index = (index < count) ? index : 0;
#define SLANG_BOUND_CHECK_FIXED_ARRAY(index, count) index = slangad_index(index, count);
"""
_STRUCT: Final = re.compile(rb"(?=^struct (?:Vector<T, [234]>|Matrix)$)", re.MULTILINE)
_ROWS: Final = b"Vector<T, COLS> rows[ROWS];", b"FixedArray<Vector<T, COLS>, ROWS> rows;"
_OPERATOR: Final = re.compile(rb"(operator\[\]\(size_t index\)(?: const)? \{ )return ")


def with_watched_bounds(source: bytes) -> bytes:
    """Return the ``cpp`` target's output, prelude and all, with indices that can be noticed."""
    first, *structs = _STRUCT.split(source)
    return _HEAD + first + b"".join(map(_watched, structs))


def _watched(struct: bytes) -> bytes:
    """Return the text from the struct of a vector or matrix on, with a check of each index."""
    number = re.match(rb"struct Vector<T, (\d)>", struct)
    if number is None:
        return struct.replace(*_ROWS, 1)
    return _OPERATOR.sub(rb"\1index = slangad_index(index, " + number[1] + rb"); return ", struct, count=2)
