"""The table of legs has every leg of a report. The leg of values accuses forward mode alone."""

from __future__ import annotations

from typing import TYPE_CHECKING

from slangad.compiler.check.legs.table import LEGS
from slangad.compiler.report import words
from slangad.compiler.report.model import Leg, LegState

if TYPE_CHECKING:
    from check.conftest import Checked

ELSEWHERE = (Leg.REVERSE, Leg.FORWARD, Leg.COMPILE)
"""Comparisons with the reference, and the build."""


def test_legs__of_the_table_and_of_a_report__are_the_same() -> None:
    legs = [entry.leg for entry in LEGS]
    assert len(LEGS) == len(set(LEGS))
    assert {*legs, *ELSEWHERE} == set(Leg) == set(words.LEGS)
    assert not {*legs} & {*ELSEWHERE}


def test_check__results_without_a_value__accuse_nobody(checked: Checked) -> None:
    text = """
struct Found : IDifferentiable { bool valid; float depth; float2 normal; }
[Differentiable]
Found found(float2 p, float r)
{
    Found f;
    f.valid = dot(p, p) < r * r;
    if (f.valid)
    {
        f.depth = sqrt(r * r - dot(p, p) + 1.0);
        f.normal = p / r;
    }
    return f;
}
[Differentiable]
float alternating(float x) { return pow(-1.0, 3.0) * x; }
"""
    results = checked(text, ".slang")
    assert results["found"].verdict.right, results["found"].reason
    states = {leg.leg: leg.state for leg in results["alternating"].legs}
    assert states[Leg.PRIMAL] is LegState.DISAGREES
