"""Read what SPIR-V loads."""

from __future__ import annotations

import struct


def longest_load(code: bytes) -> int:
    """Return the bytes of the largest value that a module loads as a whole."""
    words = struct.unpack(f"<{len(code) // 4}I", code)
    sizes: dict[int, int] = {}
    constants: dict[int, int] = {}
    longest, at = 0, 5
    while at < len(words):
        operation, operands = words[at] & 0xFFFF, words[at + 1 : at + (words[at] >> 16)]
        match operation, operands:
            case 20, (made,):  # OpTypeBool
                sizes[made] = 4
            case ((21 | 22), (made, width, *_)):  # OpTypeInt, OpTypeFloat
                sizes[made] = width // 8
            case ((23 | 24), (made, of, count)):  # OpTypeVector, OpTypeMatrix
                sizes[made] = sizes[of] * count
            case 28, (made, of, length):  # OpTypeArray
                sizes[made] = sizes[of] * constants.get(length, 1)
            case 30, (made, *fields):  # OpTypeStruct
                sizes[made] = sum(sizes.get(field, 4) for field in fields)
            case 43, (_, made, value, *_):  # OpConstant
                constants[made] = value
            case 61, (type_, *_):  # OpLoad
                longest = max(longest, sizes.get(type_, 0))
            case _:
                pass
        at += words[at] >> 16
    return longest
