"""Slices: the numbers from which a report draws a function and its derivative along an input."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from slangad.compiler.check import tolerances as tol
from slangad.compiler.report.model import Verdict

if TYPE_CHECKING:
    from check.conftest import Checked

PROGRAM = """
import slangad as sa
from slangad import float2


@sa.differentiable(ranges={"x": (0.5, 2.0)})
def cube(x: float, p: float2) -> float:
    return x * x * x + p.x * p.y


@cube.backward
def cube_bwd(x, p, d_out):
    return 2.0 * x * x * d_out, float2(p.y, p.x) * d_out


@sa.differentiable
def bent(x: float) -> float:
    return sa.abs(x)
"""


def test_slices__a_wrong_and_a_bent_function__have_slopes_that_show_it(checked: Checked) -> None:
    results = checked(PROGRAM)
    cube, bent = results["cube"], results["bent"]
    assert (cube.verdict, bent.verdict) == (Verdict.FAIL, Verdict.KINK_OK)
    wrong, right = cube.slices  # one for x, one for p: the input of the failure comes first
    assert (wrong.column, right.column[:2]) == ("x", "p.")
    x = np.array(wrong.positions)
    assert (x[0], x[-1]) == (0.5, 2.0)
    assert wrong.at in wrong.positions
    sample = cube.samples[wrong.sample]
    inputs = {value.path: value.value for value in sample.inputs}
    np.testing.assert_allclose(wrong.values, x**3 + inputs["p.x"] * inputs["p.y"], rtol=1e-12)
    np.testing.assert_allclose(wrong.found, 2 * x**2, rtol=1e-12)
    for slopes in (wrong.below, wrong.above):
        np.testing.assert_allclose(slopes, 3 * x**2, rtol=3 * tol.SLICE_STEP)
    np.testing.assert_allclose(right.found, right.below, atol=1e-9)

    (kink,) = bent.slices
    at = kink.positions.index(0.0)
    assert kink.at == 0.0
    assert (round(kink.below[at], 9), round(kink.above[at], 9)) == (-1.0, 1.0)
    jacobian = bent.samples[kink.sample].jacobian
    assert jacobian is not None
    np.testing.assert_allclose((jacobian.low, jacobian.high), (((-1.0,),), ((1.0,),)), rtol=1e-6)
