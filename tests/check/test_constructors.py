"""Constructors of Slang files are checked as functions of their parameters, whose result is the struct."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from slangad.compiler.report.model import Leg, Verdict

if TYPE_CHECKING:
    from check.conftest import Checked

PROGRAM = """
struct Pair : IDifferentiable
{
    float2 lo;
    float2 hi;
    [Differentiable] __init(float2 a, float s = 1.0) { lo = a * s; hi = sin(a) + s; }
    [Differentiable] __init(float a) { lo = float2(a); hi = float2(a * a); }
    [Differentiable] __init(This other, float k) { lo = other.hi * k; hi = other.lo; }
}
struct Powers<let N : int> : IDifferentiable
{
    float at[N];
    [Differentiable] __init(float a) { [ForceUnroll] for (int i = 0; i < N; ++i) at[i] = pow(a + 2.0, float(i)); }
}
namespace shapes
{
    struct Disc : IDifferentiable
    {
        float area;
        struct Ring : IDifferentiable
        {
            float width;
            [Differentiable] __init<T : __BuiltinFloatingPointType>(T r, float w) { width = r.toFloat() * w; }
        }
        [Differentiable] __init(float r) { area = 3.0 * r * r; }
    }
    extension Disc { [Differentiable] __init(float r, float w) { area = r * w; } }
}
struct Plain
{
    float a;
    [Differentiable] __init(no_diff float x, int n) { a = x * n; }
}
float user(float x) { return Powers<3>(x).at[1]; }
"""
WRONG = """
struct Ray : IDifferentiable
{
    float3 origin;
    float3 direction;
    [BackwardDerivative(init_bwd)]
    __init(float3 from, float3 to) { origin = from; direction = to - from; }
    static void init_bwd(inout DifferentialPair<float3> from, inout DifferentialPair<float3> to, Ray.Differential d)
    {
        from = diffPair(from.p, d.origin SIGN d.direction);
        to = diffPair(to.p, d.direction);
    }
}
[Differentiable] float user(float3 from, float3 to) { return dot(Ray(from, to).direction, from); }
"""


def test_check__constructors__are_checked_with_all_their_overloads_and_arguments(checked: Checked) -> None:
    results = checked(PROGRAM, ".slang", samples=16)
    assert {name: one.verdict for name, one in results.items() if one.verdict is not Verdict.PASS} == {
        "Plain.__init": Verdict.SKIPPED,
    }
    assert {*results} == {
        *("Pair.__init(float2, float)", "Pair.__init(float)", "Pair.__init(Pair, float)"),
        *(f"Powers<{n}>.__init" for n in (1, 2, 3, 4)),
        *("shapes.Disc.__init(float)", "shapes.Disc.__init(float, float)"),
        *("shapes.Disc.Ring.__init<float>", "Plain.__init"),
    }
    assert results["Plain.__init"].reason == "it has no derivative"


def test_check__a_mistake_in_a_constructor__is_located_in_its_derivative(checked: Checked) -> None:
    right = checked(WRONG.replace("SIGN", "-"), ".slang", samples=16)
    assert {name: one.verdict for name, one in right.items()} == {"Ray.__init": Verdict.PASS, "user": Verdict.PASS}
    wrong = checked(WRONG.replace("SIGN", "+"), ".slang", samples=16)
    assert wrong["Ray.__init"].verdict is Verdict.FAIL
    failure = wrong["Ray.__init"].failures[0]
    assert failure.column.startswith("from.")
    assert failure.found == pytest.approx(-failure.expected)
    assert failure.span is not None
    assert WRONG.splitlines()[failure.span.line - 1].strip().startswith("from = diffPair")


def test_check__callers_of_a_constructor_without_forward_mode__are_not_accused(checked: Checked) -> None:
    (result,) = checked(WRONG.replace("SIGN", "-"), ".slang", samples=16, only=("user",)).values()
    assert result.verdict is Verdict.PASS
    assert [leg.detail for leg in result.legs if leg.leg is Leg.FORWARD] == ["not available: custom backward of Ray"]


def test_check__what_a_constructor_reads__is_known_of_its_callers(checked: Checked) -> None:
    text = """
    static float hidden;
    struct Key { uint bits; __init(float x) { bits = asuint(x); } }
    struct Late { float x; __init(float a) { x = a + hidden; } }
    [Differentiable] float keyed(float x) { return Key(x).bits > 0x3f000000u ? x : 2.0 * x; }
    [Differentiable] float late(float x, no_diff float y) { return x * Late(y).x; }
    """
    results = checked(text, ".slang", samples=16)
    assert "bits of floats (asuint)" in results["keyed"].reason
    assert "'hidden', a static variable without an initial value" in results["late"].reason
