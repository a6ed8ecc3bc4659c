"""The stage of pipelines that makes lists: ``sa.bin``."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from slangad.compiler.lang.decorators.python_execution import python_execution

if TYPE_CHECKING:
    from collections.abc import Sequence

    import numpy.typing as npt


def bin(  # noqa: A001  (reads sa.bin)
    lower: object, upper: object, depth: object = None, *, tiles: int | Sequence[int], capacity: int
) -> tuple[npt.NDArray[Any], npt.NDArray[Any], npt.NDArray[Any]]:
    """List the items whose boxes overlap each tile of a grid: a stage of a pipeline, without a gradient.

    ``order[start[i, j] + k]`` is the item number ``k`` of tile ``i, j``, for ``k`` below ``count[i, j]``.

    Args:
        lower: The first tile of each item's box: ``int``, ``int2`` or ``int3``, with one number for each axis.
        upper: The tile after the last one, in the same form. Parts of boxes outside the grid are left out.
        depth: A float for each item: those of a tile are in ascending order, equal ones by number, NaN last.
        tiles: The number of tiles along each of one to three axes.
        capacity: The length of ``order``. It holds the lists of all tiles; unused places are 0.

    Returns:
        ``start`` and ``count``, an ``int`` for each tile, and ``order``, an ``int`` for each place.

    Raises:
        DescriptionError: The arrays do not fit together, or the lists need more than ``capacity`` places.
    """
    made: tuple[npt.NDArray[Any], npt.NDArray[Any], npt.NDArray[Any]]
    made = python_execution().bin_items(lower, upper, depth, tiles, capacity)
    return made


__all__ = ["bin"]
