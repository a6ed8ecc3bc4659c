"""Locations where mistakes hide: corners, near zero, near each other, rare integers, literals of float64 twins."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from slangad.compiler.report.model import Verdict

if TYPE_CHECKING:
    from check.conftest import Checked

HEAD = """
import slangad as sa
from slangad import Each, Mean, NoDiff, Uniform, float2, float3, uint

"""
WRONG = {
    "a small number": """
@sa.differentiable
def f(x: float) -> float:
    return x * x * 1e6

@f.backward
def f_bwd(x, d_out):
    return (0.0 if abs(x) < 1e-6 else 2e6 * x) * d_out
""",
    "a short vector": """
@sa.differentiable
def f(v: float3) -> float:
    return sa.sqrt(sa.dot(v, v) + 1e-8)

@f.backward
def f_bwd(v, d_out):
    size = f(v)
    if size < 1e-3:
        return float3(0.0)
    return v / size * d_out
""",
    "numbers close to each other": """
@sa.differentiable
def f(a: float, b: float) -> float:
    return a * b

@f.backward
def f_bwd(a, b, d_out):
    if abs(a - b) < 1e-4 and a != b:
        return 0.0, 0.0
    return b * d_out, a * d_out
""",
    "a corner": """
@sa.differentiable
def f(uv: float2) -> float:
    return uv.x * uv.y

@f.backward
def f_bwd(uv, d_out):
    if uv.x >= 1.0 and uv.y <= -1.0:
        return float2(0.0)
    return uv.yx * d_out
""",
    "below zero": """
@sa.differentiable
def f(x: float, k: NoDiff[int]) -> float:
    return x if k < 0 else x * x

@f.backward
def f_bwd(x, k, d_out):
    return 2.0 * x * d_out
""",
    "the last unsigned": """
@sa.differentiable
def f(x: float, k: NoDiff[uint]) -> float:
    return x * x

@f.backward
def f_bwd(x, k, d_out):
    return d_out if k == uint(4294967295) else 2.0 * x * d_out
""",
}
PAIRS = """
@sa.differentiable
def wrong(x: float) -> float:
    return x * x

@wrong.backward
def wrong_bwd(x, d_out):
    return 3.0 * x * d_out

@sa.differentiable
def ramp(a: float) -> float:
    return a * a if a > 0.0 else 0.0

@ramp.forward
def ramp_fwd(a):
    if a.p <= 0.0:
        return 0.0, 0.0
    return a.p * a.p, 2.0 * a.p * a.d
"""
CONSTANT = """
@sa.kernel
def scaled(x: Each[float], dt: Uniform[float]) -> Mean[float]:
    return x * x * ((dt - 0.05) * 1e6 + 1.0)

@sa.pipeline(optimizer=sa.Adam(lr=0.01))
def whole(x: Each[float]) -> Mean[float]:
    return scaled(x, 0.05)
"""


@pytest.mark.parametrize("name", WRONG)
def test_check__wrong_in_a_place_that_the_text_tells_of__fails(checked: Checked, name: str) -> None:
    (result,) = checked(HEAD + WRONG[name]).values()
    assert result.verdict is Verdict.FAIL


def test_check__a_forward_function_that_returns_literals__has_a_twin(checked: Checked) -> None:
    results = checked(HEAD + PAIRS)
    assert results["ramp"].verdict in (Verdict.PASS, Verdict.KINK_OK)
    assert results["wrong"].verdict is Verdict.FAIL


def test_check__a_constant_that_a_pipeline_passes_on__is_the_float_that_is_launched(checked: Checked) -> None:
    result = checked(HEAD + CONSTANT, only=("whole",))["whole"]
    assert result.verdict is Verdict.PASS
