"""List the items whose boxes overlap each tile of a grid: the meaning of ``sa.bin``, with numpy."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from slangad.compiler.lang.errors import DescriptionError

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    import numpy.typing as npt

    Array = npt.NDArray[Any]


@dataclass(frozen=True, slots=True)
class TileLists:
    """The lists of all tiles, one after the other in ``order``, for each row.

    Attributes:
        start: The place of each tile's first item in ``order``: rows, tiles.
        count: The number of items of each tile in ``order``: rows, tiles.
        order: Items: tile after tile, by depth within a tile, then by number: rows, capacity. Unused places are 0.
        needed: The length that holds all lists of a row. Where ``order`` is shorter, the last tiles lose items.
    """

    start: Array
    count: Array
    order: Array
    needed: Array


def tile_lists(lower: Array, upper: Array, depth: Array | None, tiles: tuple[int, ...], capacity: int) -> TileLists:
    """Return the lists of tiles of some rows; rows know nothing of each other.

    Args:
        lower: The first tile of each item's box along each axis, item after item, in rows.
        upper: The tile after its last one. Boxes are cut at the edges of the grid.
        depth: The key of each item within a tile, ascending; NaN comes last. None keeps the order of the items.
        tiles: The number of tiles along each axis.
        capacity: The length of ``order``.
    """
    rows, number, all_tiles = len(lower), lower.shape[1] // len(tiles), math.prod(tiles)
    low, high = (box.reshape(-1, len(tiles)).astype(np.int64) for box in (lower, upper))
    low = np.clip(low, 0, tiles)
    extents = np.clip(high, low, tiles) - low
    items = np.arange(rows * number)
    if depth is not None:
        items = (np.argsort(depth, axis=1, kind="stable") + number * np.arange(rows)[:, None]).reshape(-1)
    sizes = extents.prod(axis=1)[items]
    listed = np.repeat(items, sizes)
    within = np.arange(len(listed)) - np.repeat(np.cumsum(sizes) - sizes, sizes)
    tile, stride = np.zeros(len(listed), np.int64), 1
    for axis in reversed(range(len(tiles))):
        extent = extents[listed, axis]
        tile += stride * (low[listed, axis] + within % extent)
        within //= extent
        stride *= tiles[axis]
    tile += all_tiles * (listed // max(1, number))
    counts = np.bincount(tile, minlength=rows * all_tiles).reshape(rows, all_tiles)
    ends = np.cumsum(counts, axis=1)
    needed = counts.sum(axis=1)
    narrow = tile.astype(np.min_scalar_type(rows * all_tiles))  # numpy sorts short integers by radix
    listed = listed[np.argsort(narrow, kind="stable")]
    place = np.arange(len(listed)) - np.repeat(np.cumsum(needed) - needed, needed)
    row, kept = np.repeat(np.arange(rows), needed), place < capacity
    order = np.zeros((rows, capacity), np.int32)
    order[row[kept], place[kept]] = listed[kept] % max(1, number)
    start, last = (np.minimum(one, capacity).astype(np.int32).reshape(rows, *tiles) for one in (ends - counts, ends))
    return TileLists(start, last - start, order, needed)


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
    boxes = {"lower": np.asarray(lower), "upper": np.asarray(upper)}
    count = boxes["lower"].shape[:1]
    keys = None if depth is None else np.asarray(depth)
    _require(boxes, len(grid), count)
    if keys is not None and keys.shape != count:
        message = f"depth of sa.bin has shape {keys.shape}, and lower has {count[0] if count else 'no'} items"
        raise DescriptionError(message, "one number for each item")
    low, high = (box.reshape(1, -1) for box in boxes.values())
    lists = tile_lists(low, high, None if keys is None else keys[None], grid, capacity)
    if lists.needed[0] > capacity:
        raise DescriptionError(*overflow(int(lists.needed[0]), capacity))
    return lists.start[0], lists.count[0], lists.order[0]


def _require(boxes: Mapping[str, Array], axes: int, count: tuple[int, ...]) -> None:
    """Refuse boxes that are no integers, or not one for each of so many items.

    Raises:
        DescriptionError: It names the array.
    """
    wanted = count if axes == 1 else (*count, axes)
    for name, box in boxes.items():
        if box.shape != wanted:
            shown = f"({count[0] if count else 'n'},)" if axes == 1 else f"({count[0] if count else 'n'}, {axes})"
            message = f"{name} of sa.bin has shape {box.shape}, not {shown}"
            raise DescriptionError(message, "each item has one number for each axis of tiles=")
        if box.dtype.kind not in "iu":
            message = f"{name} of sa.bin holds {box.dtype}, and boxes are numbers of tiles"
            raise DescriptionError(message, f"np.floor({name} / 16).astype('int32') for tiles of 16")


def overflow(needed: int, capacity: int) -> tuple[str, str]:
    """Return the message about lists that are too long, and its remedy."""
    message = f"the lists of sa.bin need {needed} places, and its capacity is {capacity}"
    return message, f"capacity={needed} or more, or smaller boxes"
