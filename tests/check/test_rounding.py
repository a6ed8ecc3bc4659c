"""What rounding leaves of right gradients: terms that cancel out and hashes are not accused, small mistakes are."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

import numpy as np
import pytest

from slangad.compiler.check.reference.rounding import scatter, spread_by_weights, term_sizes
from slangad.compiler.check.tolerances import ULP64
from slangad.compiler.report.model import Leg, LegState, Verdict

if TYPE_CHECKING:
    import numpy.typing as npt
    from check.conftest import Checked

    Floats = npt.NDArray[np.float64]

CANCELLING = """
[Differentiable] float bernstein(float t)
{ float u = 1.0 - t; return u * u * u + 3.0 * u * u * t + 3.0 * u * t * t + t * t * t; }
[Differentiable] float unit(float3 v) { float3 n = normalize(v + float3(0.0, 0.0, 3.0)); return dot(n, n); }
[Differentiable] float weights(float a, float b)
{ float x = exp(a); float y = exp(b); return x / (x + y) + y / (x + y); }
[Differentiable] float squares(float x, float y)
{ float a = x + y; float b = x - y; return (a * a - b * b) - 4.0 * x * y; }
[Differentiable] float constants(float x, float y) { return 0.7 * x + 0.2 * x + 0.1 * x - x + y * y; }
[Differentiable] float thirds(float x) { return x - 1.0 / 3.0 * x * 3.0; }
[Differentiable] float inverses(float x) { return exp(log(x * x + 1.0)) - x * x; }
[Differentiable] float nothing(float x) { float a = abs(x) + 0.5; return pow(a, 3.0) - a * a * a; }
"""

KERNELS = """
import slangad as sa
from slangad import Each, Mean, NoDiff, Param, Sum, Tensor, float2


@sa.kernel
def hashed(y: Each[float], p: Param[float]) -> Sum[float]:
    if sa.frac(sa.sin(y * 127.1) * 43758.5453) > 0.5:
        return p * y
    return p * p


@sa.kernel
def scaled(y: NoDiff[Each[float]], p: Param[float]) -> Sum[float]:
    return p * p * sa.frac(sa.sin(y * 127.1) * 43758.5453)


@sa.kernel
def dropped(y: Each[float], u: NoDiff[Each[float2]], p: Param[float]) -> Mean[float]:
    if sa.frac(sa.sin(u.x * 12.9898 + u.y * 78.233) * 43758.5453) < 0.5:
        return 0.0
    return p * y * 2.0


@sa.kernel
def stepped(y: Each[float], p: Param[float]) -> Sum[float]:
    if sa.floor(y * 1e6) % 2.0 == 0.0:
        return p * y
    return p


@sa.kernel
def gathered(y: NoDiff[Each[float]], k: NoDiff[Each[int]], w: Tensor[float, 1], p: Param[float]) -> Sum[float]:
    if sa.frac(sa.sin(y * 127.1) * 43758.5453) > 0.5:
        return w[k] * p
    return w[k] * w[k]


@sa.kernel
def numbered(x: Each[float], p: Param[float]) -> Sum[float]:
    h = sa.frac(sa.sin(float(sa.thread_id()) * 12.9898) * 43758.5453)
    if h > 0.5:
        return x * h * p
    return p * x * x


@sa.kernel
def averaged(y: Each[float], p: Param[float]) -> Mean[float]:
    a = y + p
    b = y - p
    return (a * a - b * b) - 4.0 * y * p


@sa.kernel
def averaged_of(k: NoDiff[Each[int]], w: Tensor[float, 1], p: Param[float]) -> Mean[float]:
    a = w[k] + p
    b = w[k] - p
    return (a * a - b * b) - 4.0 * w[k] * p
"""

SMALL = """
[BackwardDerivative(faint_bwd)] [Differentiable] float faint(float x, float y)
{ float a = x + y; float b = x - y; return (a * a - b * b) - 4.0 * x * y + y; }
void faint_bwd(inout DifferentialPair<float> x, inout DifferentialPair<float> y, float d)
{ x = diffPair(x.p, 1e-6 * d); y = diffPair(y.p, d); }
"""

VERSINE = "(1.0 - cos(x)) / (x * x)"
VERSINE_SLOPE = "(sin(x) * x - 2.0 * (1.0 - cos(x))) / (x * x * x)"
LOST = f"""
[Differentiable] float versine(float x) {{ return abs(x) < 1e-3 ? 0.5 - x * x / 24.0 : {VERSINE}; }}
[Differentiable] float unguarded(float x) {{ return {VERSINE}; }}
[Differentiable] float halved(float x) {{ return (1.0 - cos(x)) / x; }}
[Differentiable] float growth(float x) {{ return abs(x) < 1e-5 ? 1.0 + 0.5 * x : (exp(x) - 1.0) / x; }}
// range: x 1e-3 1
[Differentiable] float tangent(float x) {{ return (tan(x) - x) / (x * x * x); }}
"""
OWN = """
{before}[BackwardDerivative({name}_bwd)] [Differentiable] float {name}(float x) {{ return {value}; }}
void {name}_bwd(inout DifferentialPair<float> p, float d) {{ float x = p.p; p = diffPair(p.p, d * ({slope})); }}
"""
LOST_OWN = {
    "versine": ("", VERSINE, VERSINE_SLOPE),
    "growth": ("", "(exp(x) - 1.0) / x", "(exp(x) * x - (exp(x) - 1.0)) / (x * x)"),
    "tangent": (
        "// range: x 1e-3 1\n",
        "(tan(x) - x) / (x * x * x)",
        "((1.0 / (cos(x) * cos(x)) - 1.0) * x - 3.0 * (tan(x) - x)) / (x * x * x * x)",
    ),
}
MISTAKES = {"factor": "1.001 * ({})", "faint": "1.00002 * ({})", "sign": "-({})", "term": "({}) + 1e-4"}
WRONG = "".join(
    OWN.format(name=f"{name}_{kind}", before=before, value=value, slope=mistake.format(slope))
    for name, (before, value, slope) in LOST_OWN.items()
    for kind, mistake in MISTAKES.items()
)
WRONG += OWN.format(name="dropped", before="", value=VERSINE, slope="sin(x) / (x * x)")
WRONG += OWN.format(
    name="hashed",
    before="",
    value=VERSINE,
    slope=f"({VERSINE_SLOPE}) * (frac(sin(x * 127.1) * 43758.5453) > 0.5 ? 1.01 : 1.0)",
)
PLATEAUS = "// range: x 1e-4 1e-3\n[Differentiable] float f(float x) { return (1.0 - cos(x)) / (x * x); }\n"
QUOTIENT = """
// range: x 1 1.001
// range: y 1 1.001
[Differentiable] float g(float x, float y) { return (sqrt(1.0 + x) - sqrt(1.0 + y)) / (x - y); }
"""

NARROW = """
import slangad as sa
from slangad import Each, Mean, NoDiff, Tensor


@sa.differentiable
def square(x: float) -> float:
    return x * x


@square.backward
def square_bwd(x, d_out):
    if x > 0.61 and x < 0.6115:
        return 2.002 * x * d_out
    return 2.0 * x * d_out


@sa.kernel
def summed(y: Each[float], q: Tensor[float, 1], k: NoDiff[Each[int]]) -> Mean[float]:
    return square(y * q[k])
"""


CELLS = """
import slangad as sa


@sa.differentiable
def noise(x: float) -> float:
    q = x * 4.0
    i = sa.floor(q)
    a = sa.frac(sa.sin(i * 78.233) * 43758.5453)
    b = sa.frac(sa.sin((i + 1.0) * 78.233) * 43758.5453)
    return sa.lerp(a, b, q - i)


@sa.differentiable
def smooth(x: float) -> float:
    q = x * 8.0
    i = sa.floor(q)
    f = q - i
    a = sa.frac(sa.sin(i * 127.1) * 43758.5453)
    b = sa.frac(sa.sin((i + 1.0) * 127.1) * 43758.5453)
    return sa.lerp(a, b, f * f * (3.0 - 2.0 * f))
"""


@pytest.mark.parametrize("seed", range(4))
def test_check__noise_of_hashed_cells__is_not_imprecise(checked: Checked, seed: int) -> None:
    results = checked(CELLS, seed=seed)
    accused = {name: result.reason for name, result in results.items() if result.verdict.bad}
    assert len(results) == 2
    assert not accused


def test_check__terms_that_cancel_to_zero__are_not_accused(checked: Checked) -> None:
    results = checked(CANCELLING, ".slang", samples=64)
    accused = {name: result.reason for name, result in results.items() if result.verdict.bad}
    assert len(results) == 8
    assert not accused


def test_check__a_small_derivative_where_there_is_none__fails_in_float64(checked: Checked) -> None:
    result = checked(SMALL, ".slang")["faint"]
    assert result.verdict is Verdict.FAIL
    assert next(leg for leg in result.legs if leg.leg is Leg.REVERSE).state is LegState.DISAGREES


def test_check__kernels_that_round_to_another_branch__are_not_accused(checked: Checked) -> None:
    results = checked(KERNELS, samples=16)
    accused = {name: result.reason for name, result in results.items() if result.verdict.bad}
    assert len(results) == 8
    assert not accused


def test_check__what_underflows_in_float32__is_imprecise(checked: Checked) -> None:
    text = "[Differentiable] float f(float x, float y) { return ((x * 1e-30) * y) * 1e-20 * 1e30 * 1e20; }\n"
    assert checked(text, ".slang")["f"].verdict is Verdict.PRECISION


DEGENERATE_IN_FLOAT32 = """
[Differentiable]
float free(float x, float y, no_diff float z)
{
    float c = 1048576.0 + z * z;
    float t = 1.0 / (c * c * c * c * c * c * c * c); // 0 in float32
    return x * x * x * x / (x * x + t) + y * y * y * y / (y * y + t);
}

// check: range x -1 1
// check: range y -1 1
[Differentiable]
float declared(float x, float y, no_diff float z) { return free(x, y, z); }

// check: range x 1 2
[BackwardDerivative(overflowing_bwd)]
float overflowing(float x, float y) { return x * y; }
void overflowing_bwd(inout DifferentialPair<float> x, inout DifferentialPair<float> y, float d)
{
    float z = exp(88.8 * abs(y.p)); // infinite in float32 from 0.9992
    x = diffPair(x.p, d * y.p * (z / z));
    y = diffPair(y.p, d * x.p);
}
"""


def test_check__nan_in_float32_alone__is_unguarded_at_degenerate_inputs_without_a_range(checked: Checked) -> None:
    results = checked(DEGENERATE_IN_FLOAT32, ".slang")
    assert results["free"].verdict is Verdict.UNGUARDED
    assert re.search(r"in float32 is not finite at .*[xy] = (z = )?0, .*where float64 is", results["free"].reason)
    assert [results[name].verdict for name in ("declared", "overflowing")] == [Verdict.PRECISION] * 2


@pytest.mark.parametrize("seed", range(2))
def test_check__a_narrow_mistake__is_never_called_imprecise(checked: Checked, seed: int) -> None:
    assert checked(NARROW, seed=seed, samples=16, only=("summed",))["summed"].verdict in (Verdict.FAIL, Verdict.PASS)


def test_check__derivatives_whose_own_terms_cancel__are_imprecise_in_float32_at_most(checked: Checked) -> None:
    results = checked(LOST, ".slang", seed=2)
    accused = {name: result.reason for name, result in results.items() if result.verdict.bad}
    accused = {name: reason for name, reason in accused.items() if results[name].verdict is not Verdict.PRECISION}
    assert len(results) == 5
    assert not accused


def test_check__mistakes_larger_than_the_scatter__fail(checked: Checked) -> None:
    results = checked(WRONG, ".slang")
    missed = {name: result.verdict for name, result in results.items() if result.verdict is not Verdict.FAIL}
    assert len(results) == 14
    assert not missed


def test_check__a_slope_between_two_steps_of_rounding__is_expected_nowhere(checked: Checked) -> None:
    result = checked(PLATEAUS, ".slang", seed=20)["f"]
    assert result.verdict is Verdict.INCONCLUSIVE, result.reason
    told = [sample.jacobian.expected[0][0] for sample in result.samples if sample.jacobian is not None]
    assert all(not abs(entry) > 1.0 for entry in told)


def test_check__quotients_near_their_singularity__have_no_kink_there(checked: Checked) -> None:
    assert checked(QUOTIENT, ".slang", seed=2)["g"].verdict in (Verdict.PASS, Verdict.KINK_OK)


STAIRS = """
// range: p -1e-4 1e-4
[Differentiable] float guarded(float x, float p) { if (x * x < 1e-8) return p; return p * cos(x); }
// range: x -50 50
[Differentiable] float softplus(float x) { return log(1.0 + exp(x)); }
// range: x -36 -30
[Differentiable] float low(float x) { return log(1.0 + exp(x)); }
// range: x -36 -30
[BackwardDerivative(doubled_bwd)] float doubled(float x) { return log(1.0 + exp(x)); }
void doubled_bwd(inout DifferentialPair<float> x, float d) { x = diffPair(x.p, 2.0 * d / (1.0 + exp(-x.p))); }
// range: x -36 -30
[BackwardDerivative(gross_bwd)] float gross(float x) { return log(1.0 + exp(x)); }
void gross_bwd(inout DifferentialPair<float> x, float d) { x = diffPair(x.p, 1e-9 * d); }
// range: p -1e-4 1e-4
[BackwardDerivative(flat_bwd)] float flat(float x, float p) { if (x * x < 1e-8) return p; return p * cos(x); }
void flat_bwd(inout DifferentialPair<float> x, inout DifferentialPair<float> p, float d)
{ float s = -sin(x.p) * p.p * d; p = diffPair(p.p, x.p * x.p < 1e-8 ? d : cos(x.p) * d); x = diffPair(x.p, s); }
"""


def test_check__steps_of_rounding__are_no_reference(checked: Checked) -> None:
    found = {name: result.verdict for name, result in checked(STAIRS, ".slang").items()}
    assert found.pop("guarded") is Verdict.PASS
    assert found.pop("softplus") is Verdict.PASS
    assert found == {
        "low": Verdict.INCONCLUSIVE,
        "doubled": Verdict.INCONCLUSIVE,
        "gross": Verdict.FAIL,
        "flat": Verdict.FAIL,
    }


def test_scatter__of_noise__is_a_few_times_as_large() -> None:
    rows, columns, widths = np.full((20, 1), 0.3), np.zeros(20, np.int64), np.ones(20)
    found = scatter(lambda r: np.sin(r) + 1e-6 * np.sin(1e9 * r), rows, columns, widths)
    assert 2e-6 < np.median(found) < 2e-5


@pytest.mark.parametrize("reach", [(0.3, 1.0), (0.3, 0.301), (0.2999, 0.3001), (0.29, 0.3), (0.3, 0.3)])
def test_scatter__of_a_mistake_in_one_stretch__is_smaller_than_the_mistake(reach: tuple[float, float]) -> None:
    rows, columns, widths = np.full((1, 1), 0.3), np.zeros(1, np.int64), np.ones(1)
    found = scatter(lambda r: np.where((r >= reach[0]) & (r <= reach[1]), 1.0, 0.0), rows, columns, widths)
    assert found.max() < 0.1


@pytest.mark.parametrize("size", [1.0, 1e6])
def test_rounding__of_terms_that_cancel__is_as_large_as_they_are(size: float) -> None:
    def jacobian(_: Floats, c: Floats) -> Floats:
        return ((c * 0.7 + c * 0.2 + c * 0.1 - c) * size / c)[:, None]

    found = term_sizes(jacobian, np.zeros((50, 1)), 1, np.random.default_rng(0))
    assert 0.1 * size < np.median(found) < 10.0 * size


def test_rounding__of_what_is_not_linear__stays_small() -> None:
    far = spread_by_weights(lambda _, w: w * w, np.zeros((50, 1)), np.ones((50, 1)), ULP64, np.random.default_rng(0))
    assert far.max() < 1e-12


def test_check__derivatives_smaller_than_rounding_of_a_constant__accuse_nobody(checked: Checked) -> None:
    text = """
// check: range d 0 3
[Differentiable] float soft_edge(float d) { return 0.5 - 0.5 * tanh(d / 0.04); }

void leaking_bwd(inout DifferentialPair<float> x, float d) { x = diffPair(x.p, x.p < 0.0 ? 1e-9 * d : d); }
[BackwardDerivative(leaking_bwd)] float leaking(float x) { return max(x, 0.0); }
"""
    results = checked(text, ".slang")
    assert not results["soft_edge"].verdict.bad
    assert results["leaking"].verdict is Verdict.FAIL


def test_check__what_changes_near_zero_below_rounding__accuses_nobody(checked: Checked) -> None:
    text = """
[Differentiable] float shadowing(float a, float z)
{
    float t = a * a * 1e-34 / (z * z);
    return 1.0 / (1.0 + (sqrt(1.0 + t) - 1.0) * 0.5);
}
void tiny_bwd(inout DifferentialPair<float> x, float d) { x = diffPair(x.p, abs(x.p) < 1e-20 ? 0.0 : 2.0 * d); }
[BackwardDerivative(tiny_bwd)] float tiny(float x) { return 2.0 * x; }
"""
    results = checked(text, ".slang")
    assert results["shadowing"].verdict is not Verdict.FAIL, results["shadowing"].reason
    assert results["tiny"].verdict is Verdict.FAIL


def test_check__wrong_where_windows_as_wide_as_the_distance_to_zero_show_nothing__fails(checked: Checked) -> None:
    text = """
void near_end_bwd(inout DifferentialPair<float> x, float d)
{
    x = diffPair(x.p, d * (x.p > 0.9998 ? 1.25 : 1.0) / sqrt(1.0 - x.p * x.p));
}
// check: range x 0.999 1
[BackwardDerivative(near_end_bwd)] float near_end(float x) { return asin(x); }
void hash_bwd(inout DifferentialPair<float> x, float d) { x = diffPair(x.p, 0.0); }
[BackwardDerivative(hash_bwd)] float hash(float x) { return frac(sin(x) * 43758.5); }
"""
    assert {name: one.verdict for name, one in checked(text, ".slang").items()} == dict.fromkeys(
        ("near_end", "hash"), Verdict.FAIL
    )
