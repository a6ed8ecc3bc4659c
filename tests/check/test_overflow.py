"""Derivatives near the end of the numbers: overflow accuses nobody, a derivative that is infinite by mistake does."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from slangad.compiler.report.model import Verdict

if TYPE_CHECKING:
    from check.conftest import Checked

OVERFLOWS = """
import slangad as sa


@sa.differentiable
def overflow(x: float) -> float:
    return sa.exp(705.0 * x)


@sa.differentiable
def on_its_way(x: float) -> float:
    y = sa.exp(705.0 * x)
    return y * 1e-30 * 1e-30 * 1e-30


@sa.differentiable
def both_sides(x: float) -> float:
    return sa.exp(709.0 * x) + sa.exp(-709.0 * x)
"""
INFINITE = """
import slangad as sa


@sa.differentiable
def infinite(x: float) -> float:
    return x * x


@infinite.backward
def infinite_bwd(x, d_out):
    if x > 0.3:
        return d_out / (x - x)
    return 2.0 * x * d_out
"""


@pytest.mark.parametrize("seed", range(3))
def test_check__derivatives_that_overflow__are_not_wrong(checked: Checked, seed: int) -> None:
    results = checked(OVERFLOWS, seed=seed)
    wrong = {name: result.reason for name, result in results.items() if result.verdict is Verdict.FAIL}
    assert len(results) == 3
    assert not wrong


def test_check__an_infinite_derivative_of_what_is_smooth__fails(checked: Checked) -> None:
    result = checked(INFINITE)["infinite"]
    assert result.verdict is Verdict.FAIL
    assert result.failures[0].expected is not None
    assert abs(result.failures[0].expected) < 3.0
