"""Replace wave operations and barriers, which the CPU lacks, by what they are for one active lane.

A wave may have one active lane: the others have returned, or a condition is false for them. So a right program is right
then. Operations that read other lanes by their number stay.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from collections.abc import Collection

LANES: Final = "slangad_check_lanes.slang"
"""The library with the replacements."""
_SCOPES: Final = ("Group", "Device", "All")
OPERATIONS: Final = {
    **{f"WaveActive{name}": "check_lane_value" for name in ("Sum", "Product", "Min", "Max", "AllTrue", "AnyTrue")},
    **{f"WaveActiveBit{name}": "check_lane_value" for name in ("And", "Or", "Xor")},
    "WaveReadLaneFirst": "check_lane_value",
    "WaveActiveAllEqual": "check_lane_true",
    "WaveActiveBallot": "check_lane_ballot",
    "WaveActiveCountBits": "check_lane_count",
    "WavePrefixCountBits": "check_lane_none",
    "WavePrefixSum": "check_lane_zero",
    "WavePrefixProduct": "check_lane_one",
    "WaveGetLaneIndex": "check_lane_index",
    "WaveGetLaneCount": "check_lane_size",
    "WaveIsFirstLane": "check_lane_first",
    **{f"{one}MemoryBarrier{sync}": "check_lane_barrier" for one in _SCOPES for sync in ("", "WithGroupSync")},
}
"""Functions of Slang, with those in their place."""
_ON_GPUS: Final = re.compile(r"Wave[A-Z]\w*|Quad[A-Z]\w*|dd[xy](?:_coarse|_fine)?|fwidth")
"""Operations that only GPUs have."""
_USED: Final = re.compile(rf"(?<![.\w])({'|'.join(OPERATIONS)})\b")


def in_one_lane(text: str) -> str:
    """Return a Slang text in which the operations of the table are those of one lane."""
    return _USED.sub(lambda found: OPERATIONS[found[1]], text)


def uses_lanes(text: str) -> bool:
    """Return True if a Slang text has an operation of the table."""
    return _USED.search(text) is not None


def lane_note(words: Collection[str]) -> str:
    """Return what a report says of code with some words; an empty text if they name no operation of several threads."""
    lost = sorted(word for word in words if word not in OPERATIONS and _ON_GPUS.fullmatch(word))
    if lost:
        return f"only GPUs have {', '.join(lost)}"
    used = sorted(OPERATIONS.keys() & words)
    return f"other threads: {', '.join(used)} {'run' if len(used) > 1 else 'runs'} with one active lane" if used else ""
