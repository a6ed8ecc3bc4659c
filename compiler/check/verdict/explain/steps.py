"""Narrow a wrong gradient down to one statement of a custom derivative.

A statement is suspected if every wrong gradient depends on it and no right gradient does. Of several, the one with the
most operators is the likeliest: copies of a value are seldom wrong. The head of a branch or loop is suspected if only
copies are left: several gradients share no other statement if a condition is wrong.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import reduce
from typing import TYPE_CHECKING, Final

from slangad.compiler.errors.spans import NOWHERE

if TYPE_CHECKING:
    from collections.abc import Sequence

    from slangad.compiler.errors.spans import Span


@dataclass(frozen=True, slots=True)
class Step:
    """A statement.

    Attributes:
        stores: The names that it stores to.
        reads: The names that it reads.
        operators: Its number of operators.
        parts: The fields, components or elements that it stores to: ``x``, ``[0][1]``; empty for complete values.
        numbers: The components that it makes of plain numbers: ``y`` of ``float2(g.x, 0.0)``.
        takes: The parts of the cotangent that it reads: ``x`` of ``d.x``, ``[0][1]`` of ``d[0][1]``.
        is_head: True for the head of a branch or loop, which stores to all that its blocks store to.
        is_copy: True if the function itself has the same expression, or if it copies a part. That is seldom wrong.
        guards: The conditions of branches that it stands in, and what they must be. Fields are joined with ``_``.
    """

    stores: frozenset[str]
    reads: frozenset[str]
    operators: int
    span: Span
    parts: frozenset[str] = frozenset()
    is_head: bool = False
    is_copy: bool = False
    guards: frozenset[tuple[str, bool]] = frozenset()
    numbers: frozenset[str] = frozenset()
    takes: frozenset[str] = frozenset()


@dataclass(frozen=True, slots=True)
class Accused:
    """Names or parts of values that are wrong, and those that are right."""

    wrong: frozenset[str]
    right: frozenset[str]


NOTHING: Final = Accused(frozenset(), frozenset())


def suspect(steps: Sequence[Step], names: Accused, parts: Accused, rows: Accused = NOTHING) -> Span:
    """Return the location of the likeliest statement; nowhere if no wrong output is stored.

    Args:
        steps: The statements.
        names: Names by their final values.
        parts: Fields and components of the wrong values.
        rows: Fields and components of results whose derivatives are wrong. It tells additions to one memory apart.
    """
    slices = [slice_of(steps, name) for name in names.wrong]
    if not any(slices):
        return NOWHERE
    common = reduce(frozenset.intersection, slices)
    spared = frozenset[int]().union(*(slice_of(steps, name) for name in names.right))
    candidates = common - spared or common or frozenset[int]().union(*slices)

    def likelihood(number: int) -> tuple[bool, bool, bool, bool, bool, bool, int]:
        step = steps[number]
        named = step.parts & parts.wrong
        of_wrong = bool(named) and (bool(parts.right) or any(len(part) > 1 for part in named))
        of_wrong |= bool(parts.right) and not step.numbers.isdisjoint(parts.wrong)
        of_right = bool(step.parts) and step.parts <= parts.right
        computes = not (step.is_head or step.is_copy) and bool(step.operators or step.stores & names.wrong)
        takes_wrong = bool(rows.right) and not step.takes.isdisjoint(rows.wrong)
        takes_right = bool(step.takes) and step.takes <= rows.right
        return of_wrong, not of_right, takes_wrong, computes, not takes_right, step.is_head, step.operators

    return steps[max(sorted(candidates), key=likelihood)].span


def slice_of(steps: Sequence[Step], name: str) -> frozenset[int]:
    """Return the numbers of the statements that the final value of a name depends on."""
    names, stored = {name}, set[int]()
    while more := {k for k, step in enumerate(steps) if k not in stored and not names.isdisjoint(step.stores)}:
        stored |= more
        names |= {read for k in more for read in steps[k].reads}
    return frozenset(stored)
