"""``sa.group_range`` has the values and gradients of ``sa.range``, also where a group runs a loop for a tile."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from support.devices import DEVICES, largest, loaded, near

from slangad.compiler.frontends import load
from slangad.compiler.passes import run_passes

FILE = Path(__file__).with_name("group_range.py")
SHAPE = (37, 50)
"""Tiles that are cut off."""


@pytest.fixture(scope="module")
def plain(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The same kernels with ``sa.range``."""
    path = tmp_path_factory.mktemp("plain") / "group_range.py"
    path.write_text(FILE.read_text().replace("sa.group_range", "sa.range"))
    return path


def given(kernel: str, count: int) -> dict[str, object]:
    rng = np.random.default_rng(count)
    number = 40
    if kernel == "alone":
        color, x = rng.uniform(0, 1, (number, 3)), rng.uniform(0, 1, 70)
        return {"color": color.astype(np.float32), "x": x.astype(np.float32), "count": count}
    return {
        "order": rng.integers(0, number, 250).astype(np.int32),
        "mean": (rng.uniform(0, 1, (number, 2)) * SHAPE[::-1]).astype(np.float32),
        "color": rng.uniform(0, 1, (number, 3)).astype(np.float32),
        "opacity": rng.uniform(0.1, 1.5, number).astype(np.float32),
        "gain": rng.uniform(0.5, 1.5, SHAPE).astype(np.float32),
        "count": count,
    }


@pytest.mark.toolchain
@pytest.mark.parametrize("device", DEVICES)
@pytest.mark.parametrize(("kernel", "count"), [("short", 11), ("short", 0), ("two", 150), ("alone", 12)])
def test_group_range__has_the_values_and_gradients_of_range(
    cxx: object, plain: Path, device: str, kernel: str, count: int
) -> None:
    arrays = given(kernel, count)
    kernels = [loaded(file, device)[kernel] for file in (FILE, plain)]
    value, expected = (one.forward(**arrays).result for one in kernels)
    near(value, expected, 1e-5, size=largest(expected))
    found, wanted = (one.backward(**arrays) for one in kernels)
    assert found.grad.keys() == wanted.grad.keys() != set()
    for name, gradient in wanted.grad.items():
        near(found.grad[name], gradient, 1e-4, size=largest(gradient))


def test_group_range__decides_which_loops_groups_run(plain: Path) -> None:
    assert [loop.kernel for loop in run_passes(load(FILE)).tile_loops] == ["short", "two"]
    assert not run_passes(load(plain)).tile_loops
