"""Values and derivatives of intrinsics at the edges of their definition: forward, reverse and Python say the same."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
import pytest
from support.cpu import build

from slangad.compiler.emit import Mode
from slangad.compiler.frontends import load
from slangad.compiler.frontends.python.load import load_file

if TYPE_CHECKING:
    from pathlib import Path

STEP = """
import slangad as sa
from slangad import Each


@sa.differentiable
def ramp(low: float, high: float, x: float) -> float:
    return sa.smoothstep(low, high, x)


@sa.kernel
def k(low: Each[float], high: Each[float], x: Each[float]) -> Each[float]:
    return ramp(low, high, x)
"""


@pytest.mark.toolchain
def test_smoothstep__between_equal_ends__is_a_step_without_slope(tmp_path: Path) -> None:
    path = tmp_path / "ramp.py"
    path.write_text(STEP, encoding="utf-8")
    x, ends, ones = np.array([0.3, 0.5, 0.8]), np.full(3, 0.5), np.ones(3)
    given = {"low": ends, "high": ends, "x": x}
    program = build(load(path))
    assert program.run("k", Mode.FORWARD, given, (3,))["result"].tolist() == [0.0, 0.0, 1.0]
    back = program.run("k", Mode.BACKWARD, {**given, "result_cotangent": ones}, (3,))
    assert all(not gradient.any() for gradient in back.values())
    tangents = {f"{name}_tangent": ones for name in given}
    assert not program.run("k", Mode.JVP, {**given, **tangents}, (3,))["result_tangent"].any()
    import slangad as sa

    ramp = vars(load_file(path).module)["ramp"]
    assert [float(ramp(0.5, 0.5, value)) for value in x] == [0.0, 0.0, 1.0]
    assert all([*map(float, sa.bwd_diff(ramp)(0.5, 0.5, value, 1.0))] == [0.0, 0.0, 0.0] for value in x)
