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
        takes_all: True if it reads the complete cotangent, or a part that is known only at run time.
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
    takes_all: bool = False


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


@dataclass(frozen=True, slots=True)
class Missing:
    """A statement that is not there.

    Attributes:
        span: The statement beside it, which does the same for a neighbouring part.
        part: The part of the cotangent that no statement takes, or of the gradient that none stores.
        is_stored: True for a part of the gradient.
    """

    span: Span
    part: str
    is_stored: bool


def missing_statement(
    steps: Sequence[Step],
    names: Accused,
    parts: Accused,
    rows: Accused,
    neighbours: tuple[Sequence[frozenset[str]], Sequence[frozenset[str]]],
) -> Missing | None:
    """Return the statement that is missing; None unless the others show it.

    Wrong gradients are zero in that case. No statement on which they depend takes the part of the cotangent that
    belongs to the wrong results, and others take right parts. Or no statement stores the wrong part of the gradient.

    Args:
        steps: The statements.
        names: Names by their final values.
        parts: Fields and components of the wrong values.
        rows: Fields and components of results whose derivatives are wrong.
        neighbours: The parts of each result and of each input, in their order.
    """
    of_rows, of_columns = neighbours
    for name in sorted(names.wrong):
        taking = [steps[k] for k in sorted(slice_of(steps, name, parts.right)) if steps[k].stores]
        taken = frozenset[str]().union(*(step.takes for step in taking))
        if rows.wrong and taken & rows.right and taken.isdisjoint(rows.wrong) and not any(s.takes_all for s in taking):
            return _beside([(step, step.takes) for step in taking if not step.is_head], rows, of_rows, is_stored=False)
        storing = [steps[k] for k in sorted(slice_of(steps, name))]
        apart = [step for step in storing if step.parts & parts.right and not step.is_head]
        filled = frozenset[str]().union(*(step.stores for step in apart))
        computed = frozenset[str]().union(*(step.stores for step in steps)) - filled
        complete = (step for step in storing if not step.parts and step.stores & filled and not step.is_head)
        stored = frozenset[str]().union(*(step.parts | step.numbers for step in storing))
        if apart and stored.isdisjoint(parts.wrong) and not any(_computes(step, computed) for step in complete):
            return _beside([(step, step.parts) for step in apart], parts, of_columns, is_stored=True)
    return None


def _computes(step: Step, computed: frozenset[str]) -> bool:
    """Return False for a statement that only makes a value of constants."""
    return bool(step.operators or step.takes or step.takes_all or step.reads & computed)


def _beside(
    steps: Sequence[tuple[Step, frozenset[str]]], accused: Accused, order: Sequence[frozenset[str]], *, is_stored: bool
) -> Missing | None:
    """Return the statement for the part before the first wrong one, else for the next right part."""
    first = next((k for k, one in enumerate(order) if not one.isdisjoint(accused.wrong - accused.right)), None)
    if first is None:
        return None
    part = max(order[first] & accused.wrong, key=len)
    for near in (*reversed(order[:first]), *order[first + 1 :]):
        beside = [step for step, own in steps if own & near & accused.right]
        if beside:
            return Missing(beside[-1].span, part, is_stored)
    return None


def slice_of(steps: Sequence[Step], name: str, apart: frozenset[str] = frozenset()) -> frozenset[int]:
    """Return the numbers of the statements that the final value of a name depends on.

    Args:
        steps: The statements.
        name: The name.
        apart: Parts of values. Statements that store only these are left out.
    """
    left = {k for k, step in enumerate(steps) if step.parts and step.parts <= apart}
    names, stored = {name}, set[int]()
    while more := {k for k, step in enumerate(steps) if k not in stored | left and not names.isdisjoint(step.stores)}:
        stored |= more
        names |= {read for k in more for read in steps[k].reads}
    return frozenset(stored)
