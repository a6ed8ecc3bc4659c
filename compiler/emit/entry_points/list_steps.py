"""The kernels that make the lists of ``sa.bin`` on a device: a radix sort of items by depth, then of pairs by tile.

    items by depth -> sizes of their boxes -> offsets (a scan) -> pairs (tile, item) -> pairs by tile -> start, count

Each thread of a sort or scan has a block of elements and walks it in order. So sorts are stable, nothing is added
atomically, and the lists are the same on every device.
"""

from __future__ import annotations

from string import Template
from textwrap import dedent, indent
from typing import Final

BLOCK: Final = 64
"""Elements of a thread in scans and sorts. Larger: fewer threads, each with more to do."""
DIGIT_BITS: Final = 4
"""Bits by which a pass of a sort sorts. Larger: fewer passes, and more counters for each thread."""
DIGITS: Final = 1 << DIGIT_BITS
KEY_BITS: Final = 32
AXES: Final = 3
"""Most axes of a grid."""


def _kind(parameters: str, body: str) -> tuple[str, str]:
    """Return a row of the table of kernels: its parameters, and what a thread does."""
    text = Template(body).substitute(block=BLOCK, digits=DIGITS, mask=DIGITS - 1)
    return parameters, indent(dedent(text).lstrip("\n"), "    ").replace("{", "{{").replace("}", "}}")


_BOX: Final = "V:uint axes, V:int tiles0, V:int tiles1, V:int tiles2, RO:int lower, RO:int upper, RO:int items"

LIST_KINDS: Final[dict[str, tuple[str, str]]] = {
    "list_number": _kind("RW:int items", "items[i] = int(i);\n"),
    "list_depth": _kind(
        "RO:T depth, RW:uint keys",
        """
        uint bits = asuint(depth[i]);
        uint magnitude = bits & 0x7fffffff;
        if (magnitude == 0)
            bits = 0;
        bool negative = (bits >> 31) != 0;
        keys[i] = magnitude > 0x7f800000 ? 0xffffffff : negative ? ~bits : bits | 0x80000000;
        """,
    ),
    "list_size": _kind(
        f"V:uint number, {_BOX}, RW:uint sizes",
        """
        sizes[i] = 0;
        if (i == number)
            return;
        int tiles[3] = { tiles0, tiles1, tiles2 };
        uint item = uint(items[i]);
        uint size = 1;
        for (uint axis = 0; axis < axes; axis++)
        {
            int low = clamp(lower[item * axes + axis], 0, tiles[axis]);
            size *= uint(clamp(upper[item * axes + axis], low, tiles[axis]) - low);
        }
        sizes[i] = size;
        """,
    ),
    "list_pair": _kind(
        f"V:uint number, V:uint none, {_BOX}, RO:uint offsets, RW:uint keys, RW:int listed",
        """
        keys[i] = none;
        listed[i] = 0;
        if (i >= offsets[number])
            return;
        uint from = 0, to = number;
        while (to - from > 1)
        {
            uint middle = (from + to) / 2;
            if (offsets[middle] <= i)
                from = middle;
            else
                to = middle;
        }
        int tiles[3] = { tiles0, tiles1, tiles2 };
        uint item = uint(items[from]);
        uint rest = i - offsets[from], stride = 1, tile = 0;
        for (int axis = int(axes) - 1; axis >= 0; axis--)
        {
            int low = clamp(lower[item * axes + axis], 0, tiles[axis]);
            uint extent = uint(clamp(upper[item * axes + axis], low, tiles[axis]) - low);
            tile += stride * (uint(low) + rest % extent);
            rest /= extent;
            stride *= uint(tiles[axis]);
        }
        keys[i] = tile;
        listed[i] = int(item);
        """,
    ),
    "list_range": _kind(
        "V:uint length, RO:uint keys, RW:int start, RW:int number",
        """
        uint ends[2];
        for (uint side = 0; side < 2; side++)
        {
            uint from = 0, to = length;
            while (from < to)
            {
                uint middle = (from + to) / 2;
                if (keys[middle] < i + side)
                    from = middle + 1;
                else
                    to = middle;
            }
            ends[side] = from;
        }
        start[i] = int(ends[0]);
        number[i] = int(ends[1] - ends[0]);
        """,
    ),
    "list_need": _kind(
        "V:uint number, RO:uint offsets, RW:uint needed", "needed[0] = max(needed[0], offsets[number]);\n"
    ),
    "scan_sum": _kind(
        "V:uint length, RO:uint values, RW:uint sums",
        """
        uint total = 0;
        for (uint at = i * $block; at < min((i + 1) * $block, length); at++)
            total = total > ~values[at] ? ~0u : total + values[at];
        sums[i] = total;
        """,
    ),
    "scan_apply": _kind(
        "V:uint length, RO:uint sums, RW:uint values",
        """
        uint total = sums[i];
        for (uint at = i * $block; at < min((i + 1) * $block, length); at++)
        {
            uint value = values[at];
            values[at] = total;
            total = total > ~value ? ~0u : total + value;
        }
        """,
    ),
    "digit_count": _kind(
        "V:uint length, V:uint shift, RO:uint keys, RW:uint counts",
        """
        uint found[$digits];
        for (uint digit = 0; digit < $digits; digit++)
            found[digit] = 0;
        for (uint at = i * $block; at < min((i + 1) * $block, length); at++)
            found[(keys[at] >> shift) & $mask]++;
        for (uint digit = 0; digit < $digits; digit++)
            counts[digit * count + i] = found[digit];
        """,
    ),
    "digit_move": _kind(
        "V:uint length, V:uint shift, RO:uint offsets, RO:uint keys, RO:int values, RW:uint keys_by, RW:int values_by",
        """
        uint places[$digits];
        for (uint digit = 0; digit < $digits; digit++)
            places[digit] = offsets[digit * count + i];
        for (uint at = i * $block; at < min((i + 1) * $block, length); at++)
        {
            uint digit = (keys[at] >> shift) & $mask;
            uint place = places[digit];
            keys_by[place] = keys[at];
            values_by[place] = values[at];
            places[digit] = place + 1;
        }
        """,
    ),
}
"""Each kind: its parameters and what a thread does. ``list_size`` has one thread more than there are items."""
