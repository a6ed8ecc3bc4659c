"""Domains with more groups along an axis than a launch takes: every element has its thread, and only one."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np
import pytest
from support.devices import near

if TYPE_CHECKING:
    from slangad.compiler.api.load import LoadedFile

pytestmark = pytest.mark.toolchain

DESCRIBED = Path(__file__).with_name("thin.py")
LONG = 65_535 * 8 + 1
"""One row more than groups of eight reach."""
LINE = 65_535 * 64 + 1000
"""More elements than one row of groups of 64 has."""


def plane() -> np.ndarray:
    return np.random.default_rng(0).uniform(0.5, 1.5, (LONG, 2)).astype(np.float32)


@pytest.mark.parametrize("axis", [0, 1])
def test_domain__more_groups_than_an_axis_takes__goes_on_in_rows(kernels: LoadedFile, axis: int) -> None:
    x = np.moveaxis(plane(), 0, axis)
    weight = 1 + np.arange(x.shape[1], dtype=np.float32)
    near(kernels.square.forward(x).result, x * x * weight, 1e-6)
    near(kernels.square.backward(x).grad["x"], 2 * x * weight, 1e-6)


@pytest.mark.parametrize("axis", [0, 1, 2])
def test_domain__of_three_axes_with_too_many_groups__has_each_element_once(kernels: LoadedFile, axis: int) -> None:
    x = np.moveaxis(np.zeros((65_535 * 2 + 3, 1, 3), np.float32), 0, axis)
    places = np.stack(np.meshgrid(*map(np.arange, x.shape), indexing="ij"), axis=-1)
    np.testing.assert_array_equal(kernels.box.forward(x, np.zeros((1, 1), np.float32)).result, places)
    assert float(kernels.box.backward(x, np.zeros((1, 1), np.float32)).grad["w"][0, 0]) == x.size


def test_domain__of_a_sum__has_no_such_limit(kernels: LoadedFile) -> None:
    x = plane()
    exact = (x.astype(np.float64) ** 2 * [1, 2]).sum()
    assert float(kernels.total.forward(x).result) == pytest.approx(exact, rel=1e-6)


def test_domain__of_one_axis__goes_on_in_rows(kernels: LoadedFile) -> None:
    x = np.random.default_rng(1).uniform(0.5, 1.5, LINE).astype(np.float32)
    np.testing.assert_array_equal(kernels.line.forward(x).result, x * x)
