"""Struct parameters that are not differentiable lose their gradient in Slang without a word: the check has one."""

from __future__ import annotations

from typing import TYPE_CHECKING

from slangad.compiler.report.model import Leg, LegState, Verdict

if TYPE_CHECKING:
    from check.conftest import Checked

STRUCTS = """
struct Plain { float a; float b; int k; }
struct Deep { Plain p[2]; }
struct Fine : IDifferentiable { float a; }
struct Counts { int n; uint m; }
"""


def test_check__a_parameter_that_silently_has_no_gradient__fails_and_is_named(checked: Checked) -> None:
    text = """
[Differentiable] float lost(Plain p, float y) { return p.a * p.b * y; }
[Differentiable] float lost_deep(Deep p, float y) { return p.p[1].a * y; }
[Differentiable] float lost_array(Plain p[2], float y) { return p[1].a * y; }
[Differentiable] float lost_alone(Plain p) { return p.a * p.b; }
enum Kind { A, B }
[Differentiable] float lost_beside(Kind k, Plain p, float y) { return k == Kind.A ? p.a * y : y; }
struct Object { float s; }
extension Object { [Differentiable] float lost_in(Plain p, float y) { return p.a * y; } }
"""
    results = checked(STRUCTS + text, ".slang")
    for name, column, struct in (
        ("lost", "p.", "Plain"),
        ("lost_deep", "p.p[1].a", "Deep"),
        ("lost_array", "p[1].a", "Plain"),
        ("lost_alone", "p.", "Plain"),
        ("lost_beside", "p.", "Plain"),
        ("Object.lost_in", "p.", "Plain"),
    ):
        result = results[name]
        assert result.verdict is Verdict.FAIL, name
        (failure,) = result.failures
        assert failure.leg is Leg.REVERSE
        assert failure.column.startswith(column)
        assert failure.found == 0.0
        assert failure.expected
        assert f"{struct} is not IDifferentiable" in failure.cause
    assert LegState.DISAGREES in {leg.state for leg in results["lost"].legs if leg.leg is Leg.REVERSE}


def test_check__a_parameter_that_is_meant_to_have_no_gradient__is_not_accused(checked: Checked) -> None:
    text = """
[Differentiable] float meant(no_diff Plain p, float y) { return p.a * p.b * y; }
[Differentiable] float carried(Fine p, float y) { return p.a * p.a * y; }
[Differentiable] float counted(Counts p, float y) { return float(p.n) * y; }
[Differentiable] float unused(Plain p, float y) { return p.k * y; }
[BackwardDerivative(own_bwd)] [Differentiable] float own(Plain p, float y) { return p.a * y; }
void own_bwd(Plain p, inout DifferentialPair<float> y, float d) { y = diffPair(y.p, p.a * d); }
struct Object { float s; }
extension Object { [Differentiable] float aside(no_diff Plain p, float y) { return p.a * y; } }
struct Empty : IDifferentiable { int n; }
[Differentiable] float several(Empty e[2], float x) { return x * float(e[0].n); }
"""
    results = checked(STRUCTS + text, ".slang")
    assert len(results) == 7
    several = results.pop("several")
    assert several.verdict is Verdict.INCONCLUSIVE
    assert "Empty is IDifferentiable and has nothing that carries gradient" in several.reason
    assert {result.verdict for result in results.values()} == {Verdict.PASS}
