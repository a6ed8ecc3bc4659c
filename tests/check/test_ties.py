"""Ties of inputs: what is the derivative of a place close by is right, what is none of a place close by is not."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

import numpy as np
import pytest

from slangad.compiler.check.kinks.ties import lies_between, tied_with
from slangad.compiler.check.model.columns import Column
from slangad.compiler.check.sampling.samples import draw
from slangad.compiler.ir.nodes import Range
from slangad.compiler.report.model import Verdict
from slangad.compiler.toolchain.cache import Cache

if TYPE_CHECKING:
    from pathlib import Path

    from check.conftest import Checked

RIGHT = """
[Differentiable]
float middle(float3 v)
{
    float a = v.x;
    float b = v.y;
    float c = v.z;
    if (a > b) { float t = a; a = b; b = t; }
    if (b > c) { float t = b; b = c; c = t; }
    if (a > b) { float t = a; a = b; b = t; }
    return b;
}

[Differentiable]
float sorted(float v[5])
{
    float a[5] = v;
    [ForceUnroll]
    for (int i = 0; i < 4; i++)
    {
        [ForceUnroll]
        for (int j = 0; j < 4; j++)
        {
            if (a[j] > a[j + 1]) { float t = a[j]; a[j] = a[j + 1]; a[j + 1] = t; }
        }
    }
    return a[0] + 4.0 * a[1] + 2.0 * a[2] + 3.0 * a[3];
}

[Differentiable]
float second(float4 v)
{
    float one = v.x;
    float two = v.y;
    if (two > one) { float t = one; one = two; two = t; }
    if (v.z > one) { two = one; one = v.z; } else if (v.z > two) { two = v.z; }
    if (v.w > one) { two = one; one = v.w; } else if (v.w > two) { two = v.w; }
    return two;
}

[Differentiable]
float trimmed(float3 v) { return v.x + v.y + v.z - max(v.x, max(v.y, v.z)) - min(v.x, min(v.y, v.z)); }

[Differentiable]
float limited(float x, no_diff float k) { return clamp(x, -k, k); }

[Differentiable]
float between(float x, no_diff float low, no_diff float high) { return clamp(x, low, high); }

[Differentiable]
float held(float x, no_diff float k) { return min(max(x, -k), k); }

[Differentiable]
float shrunk(float x, no_diff float w) { return x - clamp(x, -w, w); }
"""
PYTHON = """
import slangad as sa
from slangad import NoDiff, float3


@sa.differentiable
def trimmed(v: float3) -> float:
    return v.x + v.y + v.z - max(v.x, max(v.y, v.z)) - min(v.x, min(v.y, v.z))


@sa.differentiable
def limited(x: float, y: float, k: NoDiff[float]) -> float:
    return sa.clamp(x + y, -k, k)


@sa.differentiable
def held(x: float, k: NoDiff[float]) -> float:
    return min(max(x, -k), k)
"""
YAML = """
slangad: 1
functions:
  limited: {params: {x: float, k: no_diff float}, returns: float, body: "return clamp(x, -k, k)"}
  shrunk: {params: {x: float, w: no_diff float}, returns: float, body: "return x - clamp(x, -w, w)"}
"""


@pytest.mark.parametrize(("text", "suffix"), [(RIGHT, ".slang"), (PYTHON, ".py"), (YAML, ".yaml")])
def test_check__the_derivative_of_a_place_close_by_at_a_tie__passes(
    checked: Checked, tmp_path: Path, text: str, suffix: str
) -> None:
    for seed in range(3):
        results = checked(text, suffix, seed=seed, cache=Cache(tmp_path / "cache"))
        accused = {name: result.reason for name, result in results.items() if result.verdict.bad}
        assert not accused
        assert all(result.verdict is Verdict.KINK_OK for result in results.values())


OFFSETS = ("1e4", "1e6")
"""Values so large that rounding hides slopes close to a tie."""


def _raised(text: str, offset: str) -> str:
    """Functions whose value is larger by an offset."""
    return re.sub(r"return (.+?);", rf"return (\1) + {offset};", text)


@pytest.mark.parametrize("offset", OFFSETS)
def test_check__a_tie_of_large_values__accuses_no_derivative_of_a_place_close_by(checked: Checked, offset: str) -> None:
    results = checked(_raised(RIGHT, offset), ".slang")
    assert {name: result.verdict for name, result in results.items()} == dict.fromkeys(results, Verdict.KINK_OK)


ROW = """
float3 row_of(float3 v)
{
    bool x = (v.x <= v.y) != (v.x <= v.z);
    bool y = (v.y < v.x) != (v.y <= v.z);
    return x ? float3(1, 0, 0) : (y ? float3(0, 1, 0) : float3(0, 0, 1));
}
"""
MIDDLE = """
[BackwardDerivative(NAME_back)]
float NAME(float3 v) { return max(min(v.x, v.y), min(max(v.x, v.y), v.z)); }

void NAME_back(inout DifferentialPair<float3> v, float d)
{
    bool tie = v.p.x == v.p.y && v.p.y == v.p.z;
    v = diffPair(v.p, (tie ? ROW : row_of(v.p)) * d);
}
"""
LIMITED = """
[BackwardDerivative(NAME_back)]
float NAME(float x, no_diff float k) { return clamp(x, -k, k); }

void NAME_back(inout DifferentialPair<float> x, float k, float d)
{
    x = diffPair(x.p, abs(x.p) <= k ? (k == 0.0 ? ROW : 1.0) * d : 0.0);
}
"""
PRODUCT = """
[BackwardDerivative(NAME_back)]
float NAME(float a, float b, float c, float e) { return a * b * c * e; }

void NAME_back(
    inout DifferentialPair<float> a, inout DifferentialPair<float> b, inout DifferentialPair<float> c,
    inout DifferentialPair<float> e, float d)
{
    float s = ROW ? 3.0 : 1.0;
    float4 g = float4(s * b.p * c.p * e.p, a.p * c.p * e.p, a.p * b.p * e.p, a.p * b.p * c.p) * d;
    a = diffPair(a.p, g.x);
    b = diffPair(b.p, g.y);
    c = diffPair(c.p, g.z);
    e = diffPair(e.p, g.w);
}
"""
CLOSE_BY = {
    MIDDLE: ("float3(0, 1, 0)", "float3(0.25, 0.5, 0.25)"),
    LIMITED: ("1.0", "0.5"),
}
NOWHERE = {
    MIDDLE: ("float3(1, 1, 1)", "float3(1, 0, 1)", "float3(0, 3, 0)", "row_of(v.p) * 3.0"),
    LIMITED: ("3.0", "-1.0"),
    PRODUCT: (
        "a.p == b.p && b.p == c.p",
        "b.p == c.p && c.p == e.p",
        "a.p == b.p && b.p == c.p && c.p == e.p",
        "a.p == -b.p",
        "b.p == -e.p",
    ),
}


def _written(rows: dict[str, tuple[str, ...]]) -> str:
    """A file of functions with derivatives that are those rows at ties."""
    texts = [(text, row) for text, many in rows.items() for row in many]
    return ROW + "".join(text.replace("NAME", f"f{k}").replace("ROW", row) for k, (text, row) in enumerate(texts))


def test_check__a_row_close_by_or_a_mixture_at_a_tie__passes(checked: Checked) -> None:
    results = checked(_written(CLOSE_BY), ".slang")
    assert {name: result.verdict for name, result in results.items()} == dict.fromkeys(results, Verdict.KINK_OK)


def test_check__a_row_that_is_nowhere_close_by_at_a_tie__fails_at_every_seed(checked: Checked, tmp_path: Path) -> None:
    for seed in range(3):
        results = checked(_written(NOWHERE), ".slang", seed=seed, cache=Cache(tmp_path / "cache"))
        assert len(results) == sum(map(len, NOWHERE.values()))
        assert {name: result.verdict for name, result in results.items()} == dict.fromkeys(results, Verdict.FAIL)


RAISED = {"max(min(v.x, v.y), min(max(v.x, v.y), v.z))", "clamp(x, -k, k)", "a * b * c * e"}


@pytest.mark.parametrize(("rows", "expected"), [(CLOSE_BY, Verdict.KINK_OK), (NOWHERE, Verdict.FAIL)])
def test_check__rows_at_a_tie_of_large_values__are_judged_as_those_of_small_ones(
    checked: Checked, rows: dict[str, tuple[str, ...]], expected: Verdict
) -> None:
    text = _written(rows)
    for value in RAISED:
        text = text.replace(f"return {value};", f"return {value} + 1e6;")
    results = checked(text, ".slang")
    assert {name: result.verdict for name, result in results.items()} == dict.fromkeys(results, expected)


def _floats(names: str) -> tuple[Column, ...]:
    return tuple(Column(name, "float", differentiable=True) for name in names)


@pytest.mark.parametrize(("row", "total"), [("float3(0, 0, 0)", 0.0), ("float3(0.5, 0.5, 0.5)", 1.5)])
def test_check__a_row_at_a_tie_of_three_that_is_right_entry_by_entry__is_held_together(
    checked: Checked, row: str, total: float
) -> None:
    result = checked(_written({MIDDLE: (row,)}), ".slang")["f0"]
    assert result.verdict.bad
    (failure,) = (failure for failure in result.failures if failure.verdict is Verdict.KINK_BAD)
    assert failure.found == total
    assert failure.bounds == pytest.approx((1.0, 1.0))
    assert "d result / d v.x + d result / d v.y + d result / d v.z" in failure.message


def test_draw__few_floats__has_all_threes_and_opposite_pairs_in_their_ranges() -> None:
    ranges = (Range("a", 0.25, 2.0), Range("b", -2.0, 0.75))
    samples = draw(_floats("abcd"), ranges, 8, 0, "f", ())
    ties = {frozenset(np.flatnonzero(row == value)) for row in samples.rows for value in row}
    assert {frozenset(three) for three in ([0, 1, 2], [0, 1, 3], [0, 2, 3], [1, 2, 3], [0, 1, 2, 3])} <= ties
    opposite = {(i, k) for row in samples.rows for i in range(4) for k in range(i) if row[i] == -row[k] != 0.0}
    assert opposite == {(1, 0), (2, 0), (3, 0), (2, 1), (3, 1), (3, 2)}
    assert ((samples.rows[:, 0] >= 0.25) & (samples.rows[:, 1] <= 0.75)).all()


def test_draw__ranges_without_a_common_number__has_no_ties() -> None:
    samples = draw(_floats("abc"), (Range("a", 2.0, 3.0),), 8, 0, "f", ())
    assert not (np.abs(samples.rows[:, :1]) == np.abs(samples.rows[:, 1:])).any()


def test_tied_with__numbers_and_their_opposites__finds_them_also_without_gradient() -> None:
    row = np.array([0.5, 1.0, -0.5, 0.25, 0.5])
    tied = tied_with(row, np.array([0]), np.array([0, 1, 2, 3]))
    assert tied is not None
    assert list(tied) == [0, 2]
    assert tied_with(row, np.array([0, 3]), np.array([0, 1, 2, 3])) is None


def test_lies_between__corners_mixtures_and_what_is_beyond__tells_them_apart() -> None:
    corners = np.random.default_rng(1).permuted(np.tile(np.arange(5.0), (60, 1)), axis=1) * 1e3
    assert lies_between(corners[7] + 0.5, corners)
    assert lies_between(0.25 * corners[0] + 0.5 * corners[1] + 0.25 * corners[2], corners)
    assert lies_between(np.full(5, 2e3), corners)
    assert not lies_between(np.full(5, 2.1e3), corners)
    assert not lies_between(np.array([-100.0, 1100.0, 2e3, 3e3, 4e3]), corners)


RIGHT_TOGETHER = """
[BackwardDerivative(stepped_bwd)]
float stepped(float x, float y) { return x > 0.0 && y < 0.0 ? 1.0 - 5.0 * (x - y) : abs(x) + abs(y); }
void stepped_bwd(inout DifferentialPair<float> x, inout DifferentialPair<float> y, float d)
{
    float2 g = x.p > 0.0 && y.p < 0.0 ? float2(-5.0, 5.0) : float2(sign(x.p), sign(y.p));
    bool tie = x.p == 0.0 && y.p == 0.0;
    x = diffPair(x.p, (tie ? 0.9 : g.x) * d);
    y = diffPair(y.p, (tie ? -0.9 : g.y) * d);
}

[BackwardDerivative(rounded_bwd)]
float rounded(float3 p) { return floor(p.x * 16777216.0) / 16777216.0 + 0.5 * (p.y + p.z); }
void rounded_bwd(inout DifferentialPair<float3> p, float d) { p = diffPair(p.p, float3(1.0, 0.5, 0.5) * d); }

[Differentiable] float bent(float x) { return x / (1.0 - 1e6 * x); }
[Differentiable] float both(float x, float y) { return bent(clamp(x, -1.0, 0.0)) - 2.0 * bent(clamp(y, -1.0, 0.0)); }
"""


def test_check__entries_of_a_tie_that_are_right_together__pass(checked: Checked) -> None:
    """The function jumps along both inputs, has fine steps, or is bent strongly beside its kinks."""
    results = checked(RIGHT_TOGETHER, ".slang")
    verdicts = {name: results[name].verdict for name in ("stepped", "rounded", "both")}
    assert verdicts == {"stepped": Verdict.KINK_OK, "rounded": Verdict.PASS, "both": Verdict.KINK_OK}


TOGETHER = """
[BackwardDerivative(NAME_bwd)] float NAME(float x, float y) { return VALUE; }
void NAME_bwd(inout DifferentialPair<float> x, inout DifferentialPair<float> y, float d)
{
    float2 g = x.p == y.p ? float2(TIED) : FACTOR * (x.p > y.p ? float2(1.0, 0.0) : float2(0.0, 1.0));
    x = diffPair(x.p, g.x * d);
    y = diffPair(y.p, g.y * d);
}
"""
WRONG_TOGETHER = """
[BackwardDerivative(stepped_bwd)]
float stepped(float x, float y) { return x > 0.0 && y < 0.0 ? 1.0 - 5.0 * (x - y) : abs(x) + abs(y); }
void stepped_bwd(inout DifferentialPair<float> x, inout DifferentialPair<float> y, float d)
{
    float2 g = x.p > 0.0 && y.p < 0.0 ? float2(-5.0, 5.0) : float2(sign(x.p), sign(y.p));
    bool tie = x.p == 0.0 && y.p == 0.0;
    x = diffPair(x.p, (tie ? 6.0 : g.x) * d);
    y = diffPair(y.p, (tie ? -6.0 : g.y) * d);
}

[BackwardDerivative(rounded_bwd)]
float rounded(float3 p) { return floor(p.x * 16777216.0) / 16777216.0 + 0.5 * (p.y + p.z); }
void rounded_bwd(inout DifferentialPair<float3> p, float d)
{
    bool tie = p.p.x == p.p.y && p.p.y == p.p.z;
    p = diffPair(p.p, float3(1.0, 0.5, tie ? 0.75 : 0.5) * d);
}

float bent(float x) { return x / (1.0 - 1e6 * x); }
[BackwardDerivative(both_bwd)]
float both(float x, float y) { return bent(clamp(x, -1.0, 0.0)) - 2.0 * bent(clamp(y, -1.0, 0.0)); }
float slope(float x) { return x < 0.0 ? 1.0 / ((1.0 - 1e6 * x) * (1.0 - 1e6 * x)) : 0.0; }
void both_bwd(inout DifferentialPair<float> x, inout DifferentialPair<float> y, float d)
{
    bool tie = x.p == 0.0 && y.p == 0.0;
    x = diffPair(x.p, (tie ? 1.5 : slope(x.p)) * d);
    y = diffPair(y.p, (tie ? -3.0 : -2.0 * slope(y.p)) * d);
}
"""
VALUES = {"max(x, y)": 1.0, "max(x, y) + 1e3": 1.0, "max(x, y) + 1e6": 1.0, "1e4 * max(x, y) + 1e9": 1e4}


def _together(tied: str) -> str:
    texts = (
        TOGETHER.replace("NAME", f"f{k}").replace("VALUE", value).replace("TIED", tied).replace("FACTOR", str(factor))
        for k, (value, factor) in enumerate(VALUES.items())
    )
    return "".join(texts)


def test_check__entries_of_a_tie_that_are_wrong_together__fail(checked: Checked) -> None:
    """The same functions as those that are right together."""
    results = checked(WRONG_TOGETHER, ".slang")
    assert {name: result.verdict.bad for name, result in results.items()} == dict.fromkeys(results, True)


@pytest.mark.parametrize(
    ("tied", "expected"),
    [
        ("FACTOR, FACTOR", Verdict.KINK_BAD),
        ("0.0, 0.0", Verdict.KINK_BAD),
        ("FACTOR, 0.0", Verdict.KINK_OK),
        ("0.25 * FACTOR, 0.75 * FACTOR", Verdict.KINK_OK),
    ],
)
def test_check__a_maximum_with_both_gradients_at_a_tie__fails_also_if_its_value_is_large(
    checked: Checked, tied: str, expected: Verdict
) -> None:
    results = checked(_together(tied), ".slang")
    assert {name: result.verdict for name, result in results.items()} == dict.fromkeys(results, expected)
