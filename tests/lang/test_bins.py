"""``sa.bin`` in Python: the lists of any boxes are those of a loop over tiles and items, and misfits are refused."""

from __future__ import annotations

import itertools

import numpy as np
import pytest

import slangad as sa
from slangad import Each, Tensor


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
        ({"tiles": (2, 2, 2)}, r"lower of sa.bin has shape \(3, 2\), not \(3, 3\)"),
        ({"tiles": 2}, r"lower of sa.bin has shape \(3, 2\), not \(3,\)"),
        ({"upper": [[0, 0]]}, r"upper of sa.bin has shape \(1, 2\), not \(3, 2\)"),
        ({"depth": [1.0]}, r"depth of sa.bin has shape \(1,\), and lower has 3 items"),
        ({"upper": [[1.0, 2.0]] * 3}, "upper of sa.bin holds float64, and boxes are numbers of tiles"),
        ({"tiles": (2, -1)}, r"sa.bin has tiles=\(2, -1\) and capacity=9"),
        ({"tiles": ()}, r"sa.bin has tiles=\(\) and capacity=9"),
    ],
)
def test_bin__what_does_not_fit__is_refused(changed: dict[str, object], message: str) -> None:
    given = {"lower": [[0, 0], [0, 1], [0, 0]], "upper": [[1, 2], [2, 2], [2, 2]], "depth": np.zeros(3)}
    with pytest.raises(sa.DescriptionError, match=message):
        sa.bin(**{**given, "tiles": (2, 2), "capacity": 9, **changed})


@sa.kernel
def drawn(
    x: Tensor[float, 1], start: Tensor[int, 2], count: Tensor[int, 2], order: Tensor[int, 1], seen: Each[float]
) -> Each[float]:
    light = seen
    for k in sa.range(count[0, 1], max_iters=9):
        light += x[order[start[0, 1] + k]]
    return light


@pytest.mark.parametrize(
    ("changed", "message"),
    [
        ({"order": [0, 1]}, r"order\[2\] is out of range: order has indices 0 to 1 \(give a larger order, or"),
        ({"order": [0, 1, 5, 1]}, r"x\[5\] is out of range: x has indices 0 to 2 \(order\[2\] is 5: give a larger x"),
        ({"order": [0, 1, -1, 1]}, r"x\[-1\] is out of range: x has indices 0 to 2 \(order\[2\] is -1: "),
        ({"count": [[2, 3]]}, r"order\[4\] is out of range: order has indices 0 to 3"),
        ({"start": [[0]]}, r"start\[0, 1\] is out of range: start has indices 0 to 0 along axis 1"),
        ({"x": np.zeros(0, np.float32)}, r"x\[2\] is out of range: x has no entries \(order\[2\] is 2: "),
    ],
)
def test_drawing__with_wrong_lists__names_the_tensor(changed: dict[str, object], message: str) -> None:
    given: dict[str, object] = {
        "x": np.ones(3, np.float32),
        "start": [[0, 2]],
        "count": [[2, 2]],
        "order": [0, 1, 2, 1],
    }
    lists = {name: array if name == "x" else np.array(array, np.int32) for name, array in {**given, **changed}.items()}
    with pytest.raises(IndexError, match=message):
        drawn(seen=np.zeros(1, np.float32), **lists)


def test_drawing__with_lists_of_another_type__names_the_tensor() -> None:
    start, count, order = sa.bin([0, 0], [2, 1], tiles=2, capacity=3)
    with pytest.raises(TypeError, match="order holds float32, not int32"):
        drawn(np.ones(3, np.float32), start[None], count[None], order.astype(np.float32), np.zeros(1, np.float32))
