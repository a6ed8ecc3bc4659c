"""Cotangents and directions of every size: derivatives that are linear for usual ones only are found."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from slangad.compiler.report.model import Leg, LegState, Verdict

if TYPE_CHECKING:
    from check.conftest import Checked

TEXT = """
[BackwardDerivative(f_bwd)]
[ForwardDerivative(f_fwd)]
float f(float x, float y) {{ return x * y; }}
void f_bwd(inout DifferentialPair<float> x, inout DifferentialPair<float> y, float d) {{
    {reverse}
    x = diffPair(x.p, y.p * d);
    y = diffPair(y.p, x.p * d);
}}
DifferentialPair<float> f_fwd(DifferentialPair<float> x, DifferentialPair<float> y) {{
    float d = x.d * y.p + x.p * y.d;
    {forward}
    return diffPair(x.p * y.p, d);
}}
"""


@pytest.mark.parametrize(
    ("reverse", "forward", "told"),
    [
        ("if (abs(d) < 1e-4) d = 0.0;", "", "reverse mode is not linear: cotangents times 2^-20"),
        ("if (abs(d) > 1e4) d = sign(d) * 1e4;", "", "reverse mode is not linear: cotangents times 2^20"),
        ("", "if (abs(d) < 1e-4) d = 0.0;", "forward mode is not linear: directions times 2^-20"),
        ("", "d = clamp(d, -1e4, 1e4);", "forward mode is not linear: directions times 2^20"),
    ],
)
def test_check__a_derivative_that_is_linear_for_usual_sizes_only__fails(
    checked: Checked, reverse: str, forward: str, told: str
) -> None:
    result = checked(TEXT.format(reverse=reverse, forward=forward), ".slang")["f"]
    assert result.verdict is Verdict.FAIL
    failure = next(one for one in result.failures if one.leg is Leg.TRANSPOSE)
    assert failure.message.startswith(told)


def test_check__a_derivative_that_leaves_nothing_out_but_nothing__passes(checked: Checked) -> None:
    result = checked(TEXT.format(reverse="if (d == 0.0) return;", forward=""), ".slang")["f"]
    legs = {leg.leg: leg.state for leg in result.legs}
    assert legs[Leg.TRANSPOSE] is LegState.AGREES
    assert result.verdict is Verdict.PASS
