"""The table of legs: it has every leg of a report."""

from __future__ import annotations

from slangad.compiler.check.legs.table import LEGS
from slangad.compiler.report import words
from slangad.compiler.report.model import Leg

ELSEWHERE = (Leg.REVERSE, Leg.FORWARD, Leg.COMPILE)
"""Comparisons with the reference, and the build."""


def test_legs__of_the_table_and_of_a_report__are_the_same() -> None:
    legs = [entry.leg for entry in LEGS]
    assert len(LEGS) == len(set(LEGS))
    assert {*legs, *ELSEWHERE} == set(Leg) == set(words.LEGS)
    assert not {*legs} & {*ELSEWHERE}
