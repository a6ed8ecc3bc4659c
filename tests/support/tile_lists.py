"""Lists that the elements of a tile share, and gradients beside those of float64 by complex steps."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from support.devices import near

if TYPE_CHECKING:
    from collections.abc import Callable

Arrays = dict[str, np.ndarray]
SHAPES = ((16, 16), (37, 50), (9, 40))
"""A tile; tiles that are cut off; a domain that has no whole tile."""


def lists(shape: tuple[int, int], number: int, rng: np.random.Generator) -> Arrays:
    """Return lists of all lengths, the longest with all items and more, for tiles of 16 x 16."""
    tiles = (-(-shape[0] // 16), -(-shape[1] // 16) + 1)
    first = np.zeros(tiles, np.int32)
    first[:, 1:] = np.cumsum(rng.integers(0, 2 * number, (tiles[0], tiles[1] - 1)), 1)
    return {"order": rng.integers(0, number, int(first.max()) + 1).astype(np.int32), "first": first}


def floats(rng: np.random.Generator, low: float, high: float, *shape: int) -> np.ndarray:
    return rng.uniform(low, high, shape).astype(np.float32)


def along(value: Callable[[Arrays], np.ndarray], given: Arrays, found: Arrays, rng: np.random.Generator) -> None:
    """Compare gradients with the derivatives of float64 along two directions in each input."""
    exact = {k: v.astype(np.float64) if v.dtype == np.float32 else v for k, v in given.items()}
    for name, gradient in found.items():
        for _ in range(2):
            direction = rng.standard_normal(exact[name].shape)
            wanted = value(exact | {name: exact[name] + 1e-30j * direction}).imag.sum() / 1e-30
            size = float(np.linalg.norm(gradient.astype(np.float64) * direction)) or 1.0
            near(np.array((gradient.astype(np.float64) * direction).sum()), np.array(wanted), size=size)


def least(x: np.ndarray, most: float) -> np.ndarray:
    return np.where(x.real < most, x, most)
