"""List the items whose boxes overlap each tile of a grid: the meaning of ``sa.bin``, with numpy."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from slangad.compiler.lang.errors import DescriptionError

if TYPE_CHECKING:
    from collections.abc import Sequence

    import numpy.typing as npt

    Array = npt.NDArray[Any]


@dataclass(frozen=True, slots=True)
class TileLists:
    """The lists of all tiles, one after the other in ``order``.

    Attributes:
        start: The place of each tile's first item in ``order``.
        count: The number of items of each tile in ``order``.
        order: Items: tile after tile, by depth within a tile, then by number. Unused places are 0.
        needed: The length that holds all lists. Where ``order`` is shorter, the last tiles lose items.
    """

    start: Array
    count: Array
    order: Array
    needed: int


def tile_lists(lower: Array, upper: Array, depth: Array | None, tiles: tuple[int, ...], capacity: int) -> TileLists:
    """Return the lists of tiles.

    Args:
        lower: The first tile of each item's box along each axis, item after item.
        upper: The tile after its last one. Boxes are cut at the edges of the grid.
        depth: The key of each item within a tile, ascending; NaN comes last. None keeps the order of the items.
        tiles: The number of tiles along each axis.
        capacity: The length of ``order``.
    """
    low, high = (box.reshape(-1, len(tiles)).astype(np.int64) for box in (lower, upper))
    low = np.clip(low, 0, tiles)
    extents = np.clip(high, low, tiles) - low
    sizes = extents.prod(axis=1)
    items = np.arange(len(low)) if depth is None else np.argsort(depth, kind="stable")
    listed = np.repeat(items, sizes[items])
    ends = np.cumsum(sizes[items])
    within = np.arange(len(listed)) - np.repeat(ends - sizes[items], sizes[items])
    tile, stride = np.zeros(len(listed), np.int64), 1
    for axis in reversed(range(len(tiles))):
        extent = extents[listed, axis]
        tile += stride * (low[listed, axis] + within % extent)
        within //= extent
        stride *= tiles[axis]
    counts = np.bincount(tile, minlength=math.prod(tiles))
    last = np.minimum(np.cumsum(counts), capacity)
    start = np.concatenate([[0], last[:-1]]).astype(np.int64) if len(last) else last
    order = np.zeros(capacity, np.int32)
    kept = min(len(listed), capacity)
    narrow = tile.astype(np.min_scalar_type(math.prod(tiles)))  # numpy sorts short integers by radix
    order[:kept] = listed[np.argsort(narrow, kind="stable")[:kept]]
    first, count = (array.astype(np.int32).reshape(tiles) for array in (start, last - start))
    return TileLists(first, count, order, len(listed))


def bin_in_python(
    lower: object, upper: object, depth: object, tiles: int | Sequence[int], capacity: int
) -> tuple[Array, Array, Array]:
    """Run ``sa.bin`` on arrays.

    Raises:
        DescriptionError: The arrays or sizes do not fit together, or the lists need more than ``capacity`` places.
    """
    grid = (tiles,) if isinstance(tiles, int) else tuple(int(extent) for extent in tiles)
    if not 1 <= len(grid) <= 3 or min(*grid, capacity) < 0:
        raise DescriptionError(f"sa.bin has tiles={tiles!r} and capacity={capacity!r}", "tiles=(4, 6), capacity=100")
    boxes = [np.asarray(one) for one in (lower, upper)]
    count = boxes[0].shape[:1]
    wanted = count if len(grid) == 1 else (*count, len(grid))
    keys = None if depth is None else np.asarray(depth)
    if any(box.shape != wanted for box in boxes) or (keys is not None and keys.shape != count):
        found = ", ".join(str(one.shape) for one in (*boxes, *([] if keys is None else [keys])))
        message = f"sa.bin takes boxes of shape (n, {len(grid)}) and depths of shape (n,), not {found}"
        raise DescriptionError(message, "each item has one number for each axis of tiles=")
    if any(box.dtype.kind not in "iu" for box in boxes):
        raise DescriptionError("the boxes of sa.bin are integers: numbers of tiles", "int(sa.floor(x / 16.0))")
    lists = tile_lists(boxes[0], boxes[1], keys, grid, capacity)
    if lists.needed > capacity:
        raise DescriptionError(*overflow(lists.needed, capacity))
    return lists.start, lists.count, lists.order


def overflow(needed: int, capacity: int) -> tuple[str, str]:
    """Return the message about lists that are too long, and its remedy."""
    message = f"the lists of sa.bin need {needed} places, and its capacity is {capacity}"
    return message, f"capacity={needed} or more, or smaller boxes"
