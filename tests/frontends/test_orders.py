"""How often a description may differentiate: third derivatives of arithmetic, in forward mode, are right."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
import pytest
from support.cpu import build

from slangad.compiler.emit import Mode
from slangad.compiler.frontends import load

if TYPE_CHECKING:
    from pathlib import Path

JERK = """
import slangad as sa
from slangad import Each, NoDiff


@sa.differentiable
def curve(x: float) -> float:
    return x * x * x * x / (x + 4.0)


@sa.differentiable
def slope(x: float) -> float:
    return sa.fwd_diff(curve)(sa.diff_pair(x, 1.0)).d


@sa.differentiable
def curvature(x: float) -> float:
    return sa.fwd_diff(slope)(sa.diff_pair(x, 1.0)).d


@sa.kernel
def jerk(x: NoDiff[Each[float]]) -> Each[float]:
    return sa.fwd_diff(curvature)(sa.diff_pair(x, 1.0)).d
"""


@pytest.mark.toolchain
def test_third_derivative__of_arithmetic_forwards__is_right(tmp_path: Path) -> None:
    path = tmp_path / "jerk.py"
    path.write_text(JERK, encoding="utf-8")
    x = np.array([-1.0, 0.5, 2.0])
    found = build(load(path)).run("jerk", Mode.FORWARD, {"x": x}, (3,))["result"]
    np.testing.assert_allclose(found, 6.0 - 6.0 * 256.0 / (x + 4.0) ** 4, rtol=1e-4)
