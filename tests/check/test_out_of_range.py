"""Floats without a range, at numbers of the program outside [-1, 1]: mistakes are found, and domains accuse nobody."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
import pytest

from slangad.compiler.check.model.columns import Column
from slangad.compiler.check.sampling.samples import constants_in, draw_outside
from slangad.compiler.ir.nodes import Range
from slangad.compiler.report.model import Verdict

if TYPE_CHECKING:
    from check.conftest import Checked

HEAD = "import slangad as sa\nfrom slangad import Each, NoDiff, Tensor, float2\n"
WRONG = """

@sa.differentiable
def above(x: float) -> float:
    if x > 2.0:
        return x - 1.0
    return 0.25 * x * x


@above.backward
def above_bwd(x, d_out):
    if x > 2.0:
        return 0.0 * d_out
    return 0.5 * x * d_out


@sa.differentiable
def below(x: float) -> float:
    if x < -40.0:
        return -x
    return x * x


@below.backward
def below_bwd(x, d_out):
    if x < -40.0:
        return d_out
    return 2.0 * x * d_out


@sa.differentiable
def clipped(x: float, y: float) -> float:
    return sa.min(x * y, 1.0)


@clipped.backward
def clipped_bwd(x, y, d_out):
    return y * d_out, x * d_out


@sa.differentiable
def long(v: float2) -> float:
    if sa.length(v) > 3.0:
        return sa.dot(v, v)
    return v.x


@long.backward
def long_bwd(v, d_out):
    if sa.length(v) > 3.0:
        return v * d_out
    return float2(1.0, 0.0) * d_out

"""
RIGHT = """

@sa.differentiable
def logarithm(x: float) -> float:
    return sa.log(3.0 - x)


@logarithm.backward
def logarithm_bwd(x, d_out):
    return -d_out / (3.0 - x)


@sa.differentiable
def steep(x: float) -> float:
    return sa.exp(705.0 * x)


@steep.backward
def steep_bwd(x, d_out):
    return 705.0 * sa.exp(705.0 * x) * d_out


@sa.differentiable
def angle(x: float) -> float:
    return sa.asin(x / 2.0)


@angle.backward
def angle_bwd(x, d_out):
    return d_out / sa.sqrt(4.0 - x * x)


@sa.differentiable
def falls(t: float) -> float:
    return 0.5 * 9.81 * t * t


@sa.differentiable
def hashed(x: float) -> float:
    return sa.frac(sa.sin(x * 127.1) * 43758.5453) * 0.5


@sa.differentiable
def million(x: float) -> float:
    return x / (1e6 + x * x)


@million.backward
def million_bwd(x, d_out):
    return d_out * (1e6 - x * x) / ((1e6 + x * x) * (1e6 + x * x))


@sa.differentiable
def moles(x: float) -> float:
    return x * x * 6.02e23


@sa.differentiable
def logistic(x: float) -> float:
    e = sa.exp(50.0 * x)
    return e / (1.0 + e) * 1000.0


@sa.differentiable
def power(x: float) -> float:
    return sa.pow(x + 2.0, 2.5)


@sa.differentiable
def root(x: float, y: float) -> float:
    return sa.sqrt(4.0 - x * x - y * y)


@sa.differentiable
def bounded(x: float) -> float:
    total = 0.0
    k = 0.0
    while sa.max_iters(5) and k < x * 4.0:
        total = total + x
        k = k + 1.0
    return total + x * 20.0


@bounded.backward
def bounded_bwd(x, d_out):
    return d_out * (20.0 + sa.clamp(sa.ceil(x * 4.0), 0.0, 5.0))


@sa.differentiable
def clamped(x: float) -> float:
    return sa.clamp(x, -2.0, 5.0) * x


@sa.differentiable
def hill(x: float, n: float) -> float:
    return 1.0 / (1.0 + sa.exp(-3.0 * (x - 2.0 * n)))


@hill.backward
def hill_bwd(x, n, d_out):
    e = sa.exp(-3.0 * (x - 2.0 * n))
    slope = 3.0 * e / ((1.0 + e) * (1.0 + e)) * d_out
    return slope, -2.0 * slope


@sa.differentiable
def bump(x: float) -> float:
    return sa.exp(-x * x * 100.0) * sa.cos(40.0 * x)


@sa.kernel
def gathered(x: Each[float], w: Tensor[float, 1], k: NoDiff[Each[int]]) -> Each[float]:
    return sa.sqrt(9.0 - w[k] * x) * 7.0
"""
SLANG = """
[Differentiable] float bounded(float x)
{ float t = 0.0; [MaxIters(5)] for (int k = 0; k < int(x * 4.0); ++k) t += x; return t + 20.0 * x; }
[Differentiable] float indexed(float x)
{ float a[3] = { x, 2.0 * x, x * x }; return a[int(abs(x) * 1.5)] * 100.0; }
"""


@pytest.mark.parametrize("seed", range(2))
def test_check__mistakes_beyond_the_default_range__fail(checked: Checked, seed: int) -> None:
    results = checked(HEAD + WRONG, seed=seed)
    assert {name: r.verdict for name, r in results.items()} == dict.fromkeys(
        ("above", "below", "clipped", "long"), Verdict.FAIL
    )
    for result in results.values():
        assert len(result.samples) == result.counts.drawn
        assert [sample.number for sample in result.samples] == list(range(len(result.samples)))


@pytest.mark.parametrize("seed", range(3))
def test_check__domains_and_constants__accuse_nobody(checked: Checked, seed: int) -> None:
    results = checked(HEAD + RIGHT, seed=seed)
    right = (Verdict.PASS, Verdict.KINK_OK)
    accused = {n: (r.verdict, r.reason) for n, r in results.items() if r.verdict not in right and n != "steep"}
    assert len(results) == 15
    assert results["steep"].verdict is Verdict.UNGUARDED  # infinite at x == 1, which has no declared range
    assert not accused
    assert any("exceeds its bound" in note.message for note in results["bounded"].notes)


def test_check__slang_beyond_bounds_of_loops_and_arrays__accuses_nobody(checked: Checked) -> None:
    results = checked(SLANG, ".slang")
    assert {name: r.verdict.bad for name, r in results.items()} == {"bounded": False, "indexed": False}


def test_check__a_declared_range__is_never_left(checked: Checked) -> None:
    text = (HEAD + WRONG).replace(
        "@sa.differentiable\ndef above", '@sa.differentiable(ranges={"x": (-1, 1)})\ndef above'
    )
    result = checked(text, only=("above",))["above"]
    assert result.verdict is Verdict.PASS
    assert all(abs(sample.inputs[0].value) <= 1.0 for sample in result.samples)


def test_draw_outside__of_many_inputs_and_numbers__is_bounded() -> None:
    columns = [Column(f"x{k}", "float", differentiable=True) for k in range(40)]
    samples = draw_outside(columns, (Range("x0", 0.0, 1.0),), 0, "f", (2.0, 6.02e23, 1e5, -7.0, 0.5))
    assert 0 < len(samples.rows) <= 100
    assert np.abs(samples.rows).max() <= 1.5e5
    assert (np.abs(samples.rows) > 1.0).any(axis=1).all()
    assert samples.rows[:, 0].min() >= 0.0


def test_constants__of_a_long_text__are_first_those_that_are_compared() -> None:
    many = " + ".join(f"{k}.5 * x" for k in range(20))
    found = constants_in(f"{many}; if (x > 77.0 || -88.0f >= x) return 99;")
    assert found[:2] == (77.0, 88.0)
    assert len(found) == 12
    assert constants_in("x > 3.0 ? 1.0 * x : 2.0") == (3.0, 1.0, 2.0)
    assert constants_in("a < 1.0f / 255.0f")[0] == float(np.float32(1.0 / 255.0))


NAMED = """
static const float LIMIT = 87.0f;
static const float LEVEL = 3.0f / 255.0f;
#define STEP 41.0

void limited_bwd(inout DifferentialPair<float> x, float d) { x = diffPair(x.p, exp(x.p) * d); }
[BackwardDerivative(limited_bwd)]
float limited(float x) { return exp(clamp(x, -LIMIT, LIMIT)); }

void limited_right_bwd(inout DifferentialPair<float> x, float d)
{
    x = diffPair(x.p, abs(x.p) < LIMIT ? exp(x.p) * d : 0.0);
}
[BackwardDerivative(limited_right_bwd)]
float limited_right(float x) { return exp(clamp(x, -LIMIT, LIMIT)); }

void narrow_bwd(inout DifferentialPair<float> x, float d)
{
    x = diffPair(x.p, abs(x.p - LEVEL) < 1e-5 ? 0.0 : 2.0 * x.p * d);
}
[BackwardDerivative(narrow_bwd)]
float narrow(float x) { return x * x; }

[BackwardDerivative(stepped_bwd)]
float stepped(float x) { return x > STEP ? 2.0 * x : x + STEP; }
void stepped_bwd(inout DifferentialPair<float> x, float d) { x = diffPair(x.p, d); }
"""


def test_check__named_numbers_of_a_function_and_its_derivative__are_tried(checked: Checked) -> None:
    results = checked(NAMED, ".slang")
    wrong = {name for name, one in results.items() if one.verdict is Verdict.FAIL}
    assert wrong == {"limited", "narrow", "stepped"}
    assert results["limited_right"].verdict.right
