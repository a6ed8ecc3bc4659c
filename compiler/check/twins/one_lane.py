"""Replace wave operations and barriers, which the CPU lacks, by those of a library.

A lane runs alone in its wave, as if the others had returned. The library can also run several. Operations that read
other lanes by their number stay.
"""

from __future__ import annotations

import re
from itertools import count
from typing import TYPE_CHECKING, Final

from slangad.compiler.emit.library import library_text

if TYPE_CHECKING:
    from collections.abc import Collection

LANES: Final = "slangad_check_lanes.slang"
"""The library with the replacements."""
LANES_OF_WAVE: Final = 3
"""The lanes of a wave that runs several. The library has the same number."""
_SCOPES: Final = ("Group", "Device", "All")
_BARRIERS: Final = {
    f"{one}MemoryBarrier{sync}": "check_lane_barrier" for one in _SCOPES for sync in ("", "WithGroupSync")
}
_ALIKE: Final = {"WaveReadLaneFirst": "check_lane_value"}
_NUMBERED: Final = {
    "WaveActiveSum": "check_lane_sum",
    "WaveActiveProduct": "check_lane_product",
    "WaveActiveBitXor": "check_lane_xor",
    "WaveActiveBallot": "check_lane_ballot",
    "WaveActiveCountBits": "check_lane_count",
    "WavePrefixCountBits": "check_lane_count_before",
    "WavePrefixSum": "check_lane_sum_before",
    "WavePrefixProduct": "check_lane_product_before",
    "WaveIsFirstLane": "check_lane_first",
}
"""Operations whose results depend on the active lanes. Those in their place take a number first."""
OPERATIONS: Final = {
    **{f"WaveActive{name}": "check_lane_value" for name in ("Min", "Max", "AllTrue", "AnyTrue", "BitAnd", "BitOr")},
    "WaveActiveAllEqual": "check_lane_true",
    "WaveGetLaneIndex": "check_lane_index",
    "WaveGetLaneCount": "check_lane_size",
    **_ALIKE,
    **_NUMBERED,
    **_BARRIERS,
}
"""Functions of Slang, with those in their place."""
_ON_GPUS: Final = re.compile(r"Wave[A-Z]\w*|Quad[A-Z]\w*|dd[xy](?:_coarse|_fine)?|fwidth")
"""Operations that only GPUs have."""
_USED: Final = re.compile(rf"(?<![.\w])({'|'.join(OPERATIONS)})\b(\s*<[\w\s,]*>)?(\s*\(\s*(\))?)?")

_SITES: Final = re.compile(r"(check_lane_sites = )\d+;")
"""The number of operations that the library tells apart."""


def in_one_lane(text: str) -> str:
    """Return a Slang text in which the operations of the table are those of the library."""
    numbers = count()

    def put(found: re.Match[str]) -> str:
        name, types, opening, closing = found[1], found[2] or "", found[3] or "", found[4]
        if name not in _NUMBERED or not opening:
            return f"{OPERATIONS[name]}{types}{opening}"
        return f"{OPERATIONS[name]}{types}({next(numbers)}u{')' if closing else ', '}" + "\n" * opening.count("\n")

    return _USED.sub(put, text)


def lanes_library(text: str) -> str:
    """Return the library for a Slang text, which tells as many operations apart as the text has."""
    sites = sum(found[1] in _NUMBERED for found in _USED.finditer(text))
    return _SITES.sub(rf"\g<1>{max(sites, 1)};", library_text(LANES))


def uses_lanes(text: str) -> bool:
    """Return True if a Slang text has an operation of the table."""
    return _USED.search(text) is not None


def joins_lanes(words: Collection[str]) -> bool:
    """Return True if code with some words depends on its lane, or on what other lanes hold."""
    return any(_ON_GPUS.fullmatch(word) and word not in _ALIKE for word in words)


def lane_note(words: Collection[str], *, waving: bool = False) -> str:
    """Return what a report says of code with some words; an empty text if they name no operation of several threads.

    Args:
        words: The words.
        waving: True if gradients are also those of a wave.
    """
    lost = sorted(word for word in words if word not in OPERATIONS and _ON_GPUS.fullmatch(word))
    if lost:
        return f"only GPUs have {', '.join(lost)}"
    used = sorted(OPERATIONS.keys() & words)
    lanes = f"one active lane, gradients with {LANES_OF_WAVE} too" if waving else "one active lane"
    return f"other threads: {', '.join(used)} {'run' if len(used) > 1 else 'runs'} with {lanes}" if used else ""
