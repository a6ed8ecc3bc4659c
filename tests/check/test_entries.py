"""Entries that are wrong at one location only: where value and slope vanish, at ties, at numbers of the text."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

import numpy as np
import pytest

from slangad.compiler.report.model import Verdict

if TYPE_CHECKING:
    from check.conftest import Checked

HEAD = "import slangad as sa\nfrom slangad import Array, float2\n\n\n"

NOT_FINITE = """
@sa.differentiable
def free(x: float, y: float) -> float:
    return x * x


@free.backward
def free_bwd(x, y, d_out):
    return 2.0 * x * d_out * (x / x), 0.0


@sa.differentiable(ranges={"x": (-1.0, 1.0)})
def declared(x: float, y: float) -> float:
    return x * x


@declared.backward
def declared_bwd(x, y, d_out):
    return 2.0 * x * d_out * (x / x), 0.0


@sa.differentiable
def vector(p: float2) -> float:
    return sa.dot(p, p)


@vector.backward
def vector_bwd(p, d_out):
    return p / sa.length(p) * 2.0 * sa.length(p) * d_out


@sa.differentiable
def ordinary(x: float) -> float:
    return x * abs(x)


@ordinary.backward
def ordinary_bwd(x, d_out):
    return 2.0 * sa.sqrt(x) * sa.sqrt(x) * d_out
"""


def test_check__nan_where_the_value_is_finite__is_unguarded_only_at_degenerate_inputs_without_a_range(
    checked: Checked,
) -> None:
    results = checked(HEAD + NOT_FINITE)
    verdicts = {name: result.verdict.value for name, result in results.items()}
    assert verdicts == {"free": "UNGUARDED", "declared": "FAIL", "vector": "UNGUARDED", "ordinary": "FAIL"}
    for name in ("free", "declared"):
        (failure, *_) = results[name].failures
        assert failure.column == "x"
        assert np.isnan(failure.found)
        assert failure.expected == pytest.approx(0.0, abs=1e-9)
    reason = results["vector"].reason
    assert "d result / d p.x in reverse mode is NaN at p.x = p.y = 0, where the value is finite" in reason
    assert "declare a range" in reason
    assert "guard the division" in reason
    assert "not a number" in results["ordinary"].reason
    unguarded = [sample.origin for sample in results["vector"].samples if sample.state.value == "unguarded"]
    assert unguarded == ["zero"]
    assert results["vector"].counts.unguarded == 1


@pytest.mark.parametrize(
    ("test", "gradient"),
    [("x == y", "0.0"), ("x == 0.5", "100.0")],
    ids=["tie", "number"],
)
def test_check__wrong_at_a_tie_or_a_number_of_the_text_alone__fails(checked: Checked, test: str, gradient: str) -> None:
    text = f"""
@sa.differentiable
def f(x: float, y: float) -> float:
    return x * x * y


@f.backward
def f_bwd(x, y, d_out):
    if {test}:
        return {gradient} * d_out, x * x * d_out
    return 2.0 * x * y * d_out, x * x * d_out
"""
    result = checked(HEAD + text)["f"]
    assert result.verdict is Verdict.FAIL
    assert result.failures[0].column == "x"


RIGHT = """
@sa.differentiable
def broken(x: float, y: float) -> float:
    return abs(x - y) * (x - y)


@sa.differentiable
def cases(x: float) -> float:
    return x * x if x < 0.5 else x - 0.25


@sa.differentiable
def flat(x: float, y: float) -> float:
    return x * x * x * y * y


@sa.differentiable
def hinge(x: float) -> float:
    return max(x, 0.0) * max(x, 0.0)


@sa.differentiable
def far(x: float, y: float) -> float:
    return sa.sin(1000.0 * (x - y)) * (x + y)
"""


def test_check__right_where_slopes_bend_or_vanish__passes(checked: Checked) -> None:
    verdicts = {name: result.verdict for name, result in checked(HEAD + RIGHT).items()}
    assert not {name: verdict for name, verdict in verdicts.items() if verdict.bad}, verdicts


TIES = """
@sa.differentiable
def both(x: float, y: float) -> float:
    return max(x, y)


@both.backward
def both_bwd(x, y, d_out):
    return d_out if x >= y else 0.0, d_out if y >= x else 0.0


@sa.differentiable
def halves(x: float, y: float) -> float:
    return max(x, y)


@halves.backward
def halves_bwd(x, y, d_out):
    if x == y:
        return 0.5 * d_out, 0.5 * d_out
    return d_out if x > y else 0.0, d_out if y > x else 0.0


@sa.differentiable
def one(x: float, y: float, z: float) -> float:
    return max(max(x, y), z) + abs(x - y) - min(y, z)


@sa.differentiable
def corner(p: float2) -> float:
    return abs(p.x) - abs(p.y)
"""


def test_check__gradients_at_a_tie__must_fit_together(checked: Checked) -> None:
    results = checked(HEAD + TIES)
    failure = results["both"].failures[0]
    assert results["both"].verdict is Verdict.KINK_BAD
    assert failure.message.startswith("d result / d x + d result / d y in reverse mode")
    assert (failure.found, failure.bounds) == (2.0, pytest.approx((1.0, 1.0)))
    assert {results[name].verdict for name in ("halves", "one", "corner")} == {Verdict.KINK_OK}


STAIRS = """
@sa.differentiable
def fine(x: float) -> float:
    return sa.floor(x * 1e8) / 1e8


@sa.differentiable
def finer(x: float) -> float:
    return sa.floor(x * 16777215.0) / 16777215.0


@sa.differentiable
def cut(x: float) -> float:
    return float(int(x * 1e7)) * 1e-7


@sa.differentiable
def finest(x: float) -> float:
    return sa.floor(x * 1e11) / 1e11


@sa.differentiable
def wrong(x: float) -> float:
    return sa.round(x * 1e7) * 1e-7 + x * 2.0


@wrong.backward
def wrong_bwd(x, d_out):
    return d_out
"""


def test_check__quantised_finely__is_right_with_a_slope_of_zero(checked: Checked) -> None:
    results = checked(HEAD + STAIRS)
    assert not {name: result.reason for name, result in results.items() if result.verdict.bad and name != "wrong"}
    assert results["wrong"].verdict is Verdict.FAIL


FADING = """
@sa.differentiable(ranges={"x": (0.0, 30.0)})
def f(x: float) -> float:
    return sa.exp(-x) * sa.exp2(-x)


@f.backward
def f_bwd(x, d_out):
    g = -d_out * sa.exp(-x) * sa.exp2(-x) * 1.6931472
    if x > 24.0:
        g = g * 1.25
    return g
"""


def test_check__wrong_only_where_gradients_have_faded__fails(checked: Checked) -> None:
    result = checked(HEAD + FADING, seed=1)["f"]
    assert result.verdict is Verdict.FAIL
    assert "1.25" in result.reason


FINE = """
[Differentiable]
float turned(float a, float b, float x, float y, float z)
{
    float r = sqrt(x * x + y * y + 1e-24);
    return r < 1e-20 ? 0.0 : a * x * atan2(r, z) / r + b;
}
"""


def test_check__structure_finer_than_the_screens_windows__is_in_the_expected_slope(checked: Checked) -> None:
    """Slang clamps the gradient of ``sqrt`` here. Wide windows take the small term for nothing."""
    (failure,) = checked(FINE, ".slang")["turned"].failures
    assert failure.sample is not None
    at = {one.path: float(one.value) for one in failure.sample.inputs}
    a, x, y, z = at["a"], at["x"], at["y"], at["z"]
    r = math.hypot(x, y, 1e-12)
    theta = math.atan2(r, z)
    radial = x / r * (z / (r * r + z * z) / r - theta / (r * r))
    assert failure.column == "x"
    assert failure.expected == pytest.approx(a * (theta / r + x * radial), abs=failure.error, rel=1e-6)
    assert failure.error < 1e-4


RIPPLE = """
[BackwardDerivative(NAME_bwd)] float NAME(float x) { return x + HEIGHT * sin(x / HEIGHT * 0.1); }
void NAME_bwd(inout DifferentialPair<float> x, float d) { x = diffPair(x.p, d); }
"""


def test_check__a_ripple_that_a_derivative_leaves_out__fails_unless_it_is_as_fine_as_float32(checked: Checked) -> None:
    """The slope of every ripple is 0.1. In a small range near 0, also the finest one is larger than rounding."""
    text = "".join(RIPPLE.replace("NAME", f"f{k}").replace("HEIGHT", f"1e-{k}") for k in (5, 6, 7))
    results = checked(text, ".slang", ranges=(("f7.x", 0.0, 1e-4),))
    assert {name: result.verdict for name, result in results.items()} == dict.fromkeys(("f5", "f6", "f7"), Verdict.FAIL)


COLOUR = """
[Differentiable]
float3 colour(float3 dir, float3 c0, float3 c1)
{
    float3 n = normalize(dir);
    return max(0.28 * c0 - 0.48 * n.y * c1 + 0.5, 0.0);
}

float3 halved(float3 dir, float3 c0)
{
    return max(normalize(dir) * c0 + 0.5, 0.0);
}

[BackwardDerivativeOf(halved)]
void halved_bwd(inout DifferentialPair<float3> dir, inout DifferentialPair<float3> c0, float3 d)
{
    float3 n = normalize(dir.p);
    float3 on = select(n * c0.p + 0.5 > 0.0, d, float3(0.0));
    float3 dn = on * c0.p;
    dir = diffPair(dir.p, (dn - n * dot(n, dn)) / length(dir.p));
    c0 = diffPair(c0.p, 0.5 * on * n);
}
"""


def test_check__result_that_hides_nan_on_its_way__accuses_no_finite_derivative_of_it(
    checked: Checked,
) -> None:
    results = checked(COLOUR, ".slang")
    assert results["colour"].verdict.value == "UNGUARDED"
    assert [failure.verdict.value for failure in results["colour"].failures] == ["UNGUARDED", "UNGUARDED"]
    assert {str(failure.found) for failure in results["colour"].failures} == {"nan"}
    assert results["halved"].verdict.value == "FAIL"
