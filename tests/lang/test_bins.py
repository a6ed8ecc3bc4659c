"""``sa.bin`` in Python: the lists of any boxes are those of a loop over tiles and items, and misfits are refused."""

from __future__ import annotations

import itertools

import numpy as np
import pytest

import slangad as sa


@pytest.mark.parametrize("seed", range(12))
def test_bin__any_boxes__lists_what_a_loop_finds(seed: int) -> None:
    rng = np.random.default_rng(seed)
    tiles = [(5,), (4, 3), (3, 2, 4)][seed % 3]
    count = [0, 1, 40][seed % 4 % 3]
    lower = rng.integers(-3, 6, (count, len(tiles)))
    upper = lower + rng.integers(-1, 5, lower.shape)
    depth = rng.choice(np.float32([-np.inf, -1.5, -0.0, 0.0, 1.0, 1e-40, np.inf, np.nan]), count)
    expected, starts = [], []
    for tile in itertools.product(*map(range, tiles)):
        inside = [n for n in range(count) if all(lower[n] <= tile) and all(tile < upper[n])]
        starts.append(len(expected))
        expected += sorted(inside, key=lambda n: (np.isnan(depth[n]), 0 if np.isnan(depth[n]) else depth[n], n))
    boxes = (lower[:, 0], upper[:, 0]) if len(tiles) == 1 else (lower, upper)
    start, counts, order = sa.bin(*boxes, depth, tiles=tiles, capacity=len(expected) + 2)
    assert start.shape == counts.shape == tiles
    assert start.reshape(-1).tolist() == starts
    assert counts.reshape(-1).tolist() == np.diff([*starts, len(expected)]).tolist()
    assert order.tolist() == [*expected, 0, 0]
    by_number = sa.bin(*boxes, tiles=tiles, capacity=len(expected))
    again = sa.bin(*boxes, np.zeros(count), tiles=tiles, capacity=len(expected))
    assert all((a == b).all() for a, b in zip(by_number, again, strict=True))


@pytest.mark.parametrize(
    ("changed", "message"),
    [
        ({"capacity": 7}, r"the lists of sa.bin need 8 places, and its capacity is 7 \(capacity=8 or more"),
        ({"tiles": (2, 2, 2)}, r"boxes of shape \(n, 3\) and depths of shape \(n,\), not \(3, 2\), \(3, 2\), \(3,\)"),
        ({"depth": [1.0]}, r"not \(3, 2\), \(3, 2\), \(1,\)"),
        ({"upper": [[1.0, 2.0]] * 3}, "the boxes of sa.bin are integers"),
        ({"tiles": (2, -1)}, r"sa.bin has tiles=\(2, -1\) and capacity=9"),
        ({"tiles": ()}, r"sa.bin has tiles=\(\) and capacity=9"),
    ],
)
def test_bin__what_does_not_fit__is_refused(changed: dict[str, object], message: str) -> None:
    given = {"lower": [[0, 0], [0, 1], [0, 0]], "upper": [[1, 2], [2, 2], [2, 2]], "depth": np.zeros(3)}
    with pytest.raises(sa.DescriptionError, match=message):
        sa.bin(**{**given, "tiles": (2, 2), "capacity": 9, **changed})
