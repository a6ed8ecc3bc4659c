"""Two elements of a row whose gradients lanes exchange: the sums of float64, on every device."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from support.devices import DEVICES, loaded, near

pytestmark = pytest.mark.toolchain

FILE = Path(__file__).with_name("pairs.py")
ROWS, COLUMNS = 5, 600
WIDTHS = {"one": 1, "two": 2, "three": 3, "four": 4}
PLACES = {
    "side by side": lambda rng, count: (rng.integers(0, COLUMNS - 1, count), 1),
    "far apart": lambda rng, count: (rng.integers(0, COLUMNS // 2, count), COLUMNS // 2),
    "one element": lambda rng, count: (rng.integers(0, COLUMNS, count), 0),
    "one pair of all": lambda _, count: (np.full(count, 7), 1),
}


def floats(rng: np.random.Generator, low: float, high: float, *shape: int) -> np.ndarray:
    return rng.uniform(low, high, shape).astype(np.float32)


@pytest.mark.parametrize("deterministic", [False, True], ids=["", "deterministic"])
@pytest.mark.parametrize("count", [1, 31, 70, 4099])
@pytest.mark.parametrize("places", PLACES)
@pytest.mark.parametrize("kernel", WIDTHS)
@pytest.mark.parametrize("device", DEVICES)
def test_pairs__of_any_elements__have_the_sums_of_float64(
    cxx: object, device: str, kernel: str, places: str, count: int, *, deterministic: bool
) -> None:
    rng = np.random.default_rng(count)
    j, step = PLACES[places](rng, count)
    i, k = np.full(count, 2) if places == "one pair of all" else rng.integers(0, ROWS, count), j + step
    g, width = floats(rng, -1, 1, count, 2), WIDTHS[kernel]
    w = floats(rng, -1, 1, ROWS, COLUMNS, *((width,) if width > 1 else ()))
    seed = floats(rng, -1, 1, count, *((width,) if width > 2 else ())) if kernel != "two" else np.float32(0.5)
    given = {"i": i.astype(np.int32), "j": j.astype(np.int32), "k": k.astype(np.int32), "g": g, "w": w}
    if kernel == "one":
        given["t"] = floats(rng, -1, 1, 2, ROWS, COLUMNS)
    found = loaded(FILE, device, deterministic=deterministic)[kernel].backward(**given, cotangent=seed).grad
    a, b, s = g[:, 0].astype(np.float64), g[:, 1].astype(np.float64), np.asarray(seed, np.float64)
    of = {"w": [(i, j, a), (i, k, b)], "t": [(i, j, b), (i, k, a)]}
    if kernel == "two":
        s = s * np.array([1.0, -1.0])
    if kernel == "three":
        of["w"].append((i, 0 * i, np.ones(count)))
    if kernel == "four":
        of["w"] += [(i, k, -0.5 * a), (i, j, -0.5 * b)]
    for name in given.keys() & of.keys():
        sums, sizes = np.zeros((2, *(ROWS, COLUMNS, width)[: 2 + (width > 1)]))
        for row, column, factor in of[name]:
            terms = factor.reshape(-1, *(1,) * (width > 1)) * s
            np.add.at(sums, (row, column), terms)
            np.add.at(sizes, (row, column), abs(terms))
        array = found[name][1] if name == "t" else found[name]
        near(array, sums, size=sizes, tolerance=2e-6)
