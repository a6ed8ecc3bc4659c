"""Domains that are long along one axis: one axis and sums have no limit, several axes run or are refused with help."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np
import pytest

from slangad.compiler.diagnostics import CompileError

if TYPE_CHECKING:
    from slangad.compiler.calls import LoadedFile

pytestmark = pytest.mark.toolchain

DESCRIBED = Path(__file__).with_name("thin.py")
LONG = 65_535 * 8 + 1
"""One row more than groups of eight reach."""
LINE = 65_535 * 64 + 1000
"""More elements than one row of groups of 64 has."""


def plane() -> np.ndarray:
    return np.random.default_rng(0).uniform(0.5, 1.5, (LONG, 2)).astype(np.float32)


def test_domain__more_groups_than_an_axis_takes__runs_or_is_refused_with_help(kernels: LoadedFile) -> None:
    x = plane()
    if kernels.square.device == "cpu":
        np.testing.assert_array_equal(kernels.square.forward(x).result, x * x * np.float32([1, 2]))
        return
    with pytest.raises(CompileError) as raised:
        kernels.square.forward(x)
    (found,) = raised.value.diagnostics
    assert found.code == "SA414"
    assert "65536 groups of threads along axis 0" in found.message
    assert "group_size=(16, 1)" in found.help


def test_domain__group_that_is_long_enough__runs(kernels: LoadedFile) -> None:
    x = plane()
    np.testing.assert_array_equal(kernels.tall.forward(x).result, x * x * np.float32([1, 2]))
    near = kernels.tall.backward(x).grad["x"]
    np.testing.assert_allclose(near, 2 * x * np.float32([1, 2]), rtol=1e-6)


def test_domain__of_a_sum__has_no_such_limit(kernels: LoadedFile) -> None:
    x = plane()
    exact = (x.astype(np.float64) ** 2 * [1, 2]).sum()
    assert float(kernels.total.forward(x).result) == pytest.approx(exact, rel=1e-6)


def test_domain__of_one_axis__goes_on_in_rows(kernels: LoadedFile) -> None:
    x = np.random.default_rng(1).uniform(0.5, 1.5, LINE).astype(np.float32)
    np.testing.assert_array_equal(kernels.line.forward(x).result, x * x)
