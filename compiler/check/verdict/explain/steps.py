"""Narrow a wrong gradient down to one statement of a custom derivative.

A statement is suspected if every wrong gradient depends on it and no right gradient does. Of several, the one with the
most operators is the likeliest: copies of a value are seldom wrong. The head of a branch or loop is suspected if only
copies are left: several gradients share no other statement if a condition is wrong.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from functools import reduce
from typing import TYPE_CHECKING, Final

from slangad.compiler.check import tolerances as tol
from slangad.compiler.errors.spans import NOWHERE

if TYPE_CHECKING:
    from collections.abc import Collection, Iterator, Mapping, Sequence

    from slangad.compiler.errors.spans import Span


_PAIR: Final = 2
"""Iterations of a loop whose number may also be another factor."""
COMPONENTS: Final = "xyzw"
COLORS: Final = "rgba"


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
        is_conditional: True if it stands in a branch.
        loop: The head of a loop, for the step that is the head or contains it; nowhere for others.
        target: The text of the variable that it stores to, with its path; empty for calls.
        adds: True for ``+=`` and the like.
        declares: True for the declaration of a variable.
        iterations: The number of iterations, for the head of a loop that has it as a number; 0 for others.
        block: The number of the innermost block.
        is_repeated: True if it declares a variable that the function has, too: its value is computed again.
        in_step: The variables that it reads component by component.
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
    is_conditional: bool = False
    loop: Span = NOWHERE
    target: str = ""
    adds: bool = False
    declares: bool = False
    iterations: int = 0
    block: int = 0
    is_repeated: bool = False
    in_step: frozenset[str] = frozenset()


@dataclass(frozen=True, slots=True)
class Accused:
    """Names or parts of values that are wrong, and those that are right."""

    wrong: frozenset[str]
    right: frozenset[str]


NOTHING: Final = Accused(frozenset(), frozenset())


@dataclass(frozen=True, slots=True)
class Suspects:
    """The evidence of a failure.

    Attributes:
        names: Names by their final values.
        parts: Fields and components of the wrong values.
        rows: Fields and components of results whose derivatives are wrong. It tells additions to one memory apart.
        columns: The parts of each wrong input, and of each right one of the same values; by name.
        is_partly: True if other samples are right.
        edge: True if the wrong inputs are the first or the last elements of arrays.
        factor: The common factor of all wrong derivatives; 0 if there is none.
        clamped: Variables that the function stores a clamped value in, if the derivative is wrong only where it is 0.
    """

    names: Accused
    parts: Accused
    rows: Accused = NOTHING
    columns: Mapping[str, tuple[Collection[frozenset[str]], Collection[frozenset[str]]]] = field(default_factory=dict)
    is_partly: bool = False
    edge: bool = False
    factor: float = 0.0
    clamped: frozenset[str] = frozenset()


def suspect(steps: Sequence[Step], evidence: Suspects) -> tuple[Span, tuple[int, ...]]:
    """Return the location of the likeliest statement, and the lines of those that only its operators put before.

    The location is nowhere if no wrong output is stored.
    """
    names, parts, rows = evidence.names, evidence.parts, evidence.rows
    slices = [one for name in sorted(names.wrong) for one in _slices(steps, name, evidence.columns.get(name, ((), ())))]
    if not any(slices):
        return NOWHERE, ()
    common = reduce(frozenset.intersection, slices) or reduce(
        frozenset.intersection, [slice_of(steps, name) for name in names.wrong]
    )
    spared = frozenset[int]().union(*(slice_of(steps, name) for name in names.right))
    right = [
        slice_of_part(steps, name, part) for name in names.wrong for part in evidence.columns.get(name, ((), ()))[1]
    ]
    candidates = common.difference(spared, *right) or common - spared or common or frozenset[int]().union(*slices)
    candidates = _additions(steps, evidence, candidates) or candidates
    if evidence.edge:
        stored = frozenset[str]().union(*(_aliases(steps, name) for name in names.wrong))
        loops = [steps[k].loop for k in sorted(common) if steps[k].loop.line and steps[k].stores & stored]
        if loops:
            return loops[-1], ()
    if (of_clamp := [k for k in sorted(common) if _reads_gradient(steps[k], steps, evidence.clamped)]) and (
        len({steps[k].span for k in of_clamp}) == 1
    ):
        return steps[of_clamp[0]].span, ()
    is_mean = any(step.iterations > _PAIR and _is_power(evidence.factor, step.iterations) for step in steps)

    def likelihood(number: int) -> tuple[tuple[bool, ...], int, bool, int]:
        """Return the facts that decide first, then the number of operators, then what decides between equal ones."""
        step = steps[number]
        named = step.parts & parts.wrong
        of_wrong = bool(named) and (bool(parts.right) or any(len(part) > 1 for part in named))
        of_wrong |= bool(parts.right) and not step.numbers.isdisjoint(parts.wrong)
        of_right = bool(step.parts) and step.parts <= parts.right
        computes = not (step.is_head or step.is_copy) and bool(step.operators or step.stores & names.wrong)
        takes_wrong = bool(rows.right) and not step.takes.isdisjoint(rows.wrong)
        takes_right = bool(step.takes) and step.takes <= rows.right
        is_chosen = step.is_conditional and not step.is_head and (computes or not step.declares)
        in_branch = evidence.is_partly and is_chosen
        scales_all = is_mean and computes and step.takes_all and not step.loop.line
        facts = (
            of_wrong,
            not of_right,
            takes_wrong,
            scales_all,
            in_branch,
            computes,
            not takes_right,
            step.is_head,
        )
        return facts, step.operators, not step.is_repeated, number if in_branch else -number

    best = max(sorted(candidates), key=likelihood)
    alike = [k for k in sorted(candidates) if likelihood(k)[0] == likelihood(best)[0]]
    lines = {steps[k].span.line for k in alike if not steps[k].is_repeated} - {steps[best].span.line}
    return steps[best].span, tuple(sorted(lines))


def _additions(steps: Sequence[Step], evidence: Suspects, candidates: frozenset[int]) -> frozenset[int]:
    """Return the additions to memory of which some elements are right, if there are several; none otherwise."""
    partly = {name for name in evidence.names.wrong if all(evidence.columns.get(name, ((), ())))}
    direct = frozenset(
        k
        for k in candidates
        if steps[k].stores & partly and not (steps[k].is_head or steps[k].parts or steps[k].loop.line)
    )
    return direct if len(direct) > 1 else frozenset()


def _is_power(factor: float, count: int) -> bool:
    """Return True for a factor of ``count`` or ``1 / count``."""
    return any(abs(factor - one) <= tol.CAUSE_CLOSE * one for one in (count, 1.0 / count))


def _reads_gradient(step: Step, steps: Sequence[Step], variables: Collection[str]) -> bool:
    """Return True if a statement reads the gradient of one of some variables, by its name, such as ``d_cosine``."""
    stored = frozenset[str]().union(*(one.stores for one in steps if not one.is_head))
    reads = (name.lower() for name in step.reads & stored - set(variables))
    return not step.is_head and any(name.lower() in read for read in reads for name in variables)


def overwriting(steps: Sequence[Step], names: Collection[str]) -> tuple[Step, Step] | None:
    """Return a statement that adds to a gradient, and the next one, which overwrites the sum unread; None if none does.

    Args:
        steps: The statements.
        names: Names by their final values. Only what they depend on counts.
    """
    slices = [steps[k] for k in sorted(frozenset[int]().union(*(slice_of(steps, name) for name in names)))]
    for k, step in enumerate(slices):
        if not step.adds or step.is_conditional:
            continue
        variable = step.target.partition("[")[0].partition(".")[0]
        for after in slices[k + 1 :]:
            if after.target == step.target and after.block == step.block and not after.is_conditional:
                if after.adds or variable in after.reads:
                    break
                return step, after
            if variable in after.reads:
                break
    return None


def _slices(
    steps: Sequence[Step], name: str, columns: tuple[Collection[frozenset[str]], Collection[frozenset[str]]]
) -> list[frozenset[int]]:
    """Return the statements that each wrong part of a value depends on; of the value if no part is known."""
    return [slice_of_part(steps, name, part) for part in columns[0]] or [slice_of(steps, name)]


def slice_of_part(steps: Sequence[Step], name: str, part: frozenset[str]) -> frozenset[int]:
    """Return the numbers of the statements that a part of the final value of a name depends on.

    Statements that store another part of the value, or of a variable that becomes the value, are left out.
    """
    aliases = _aliases(steps, name)
    apart = frozenset(
        k for k, step in enumerate(steps) if step.parts and step.stores & aliases and not _covers(step.parts, part)
    )
    return slice_of(steps, name, apart) or slice_of(steps, name)


def _covers(stored: Collection[str], part: frozenset[str]) -> bool:
    """Return True if one of the stored parts is a part, or a swizzle that has it."""
    return any(letter in part for one in stored for letter in letters(one))


def letters(field: str) -> Iterator[str]:
    """Yield a field, and if it may be a swizzle, its components: also ``x`` and ``y`` of ``rg``."""
    yield field
    if len(field) <= len(COMPONENTS) and any(set(field) <= set(known) for known in (COMPONENTS, COLORS)):
        yield from field.translate(str.maketrans(COLORS, COMPONENTS))


def _aliases(steps: Sequence[Step], name: str) -> frozenset[str]:
    """Return a name and the variables that become its value, part by part."""
    in_parts = frozenset[str]().union(*(step.stores for step in steps if step.parts))
    result = {name}
    more = set(result)
    while more:
        becoming = [step for step in steps if not step.is_head and not step.parts and step.stores & result]
        more = {
            read
            for step in becoming
            for read in step.in_step | (frozenset() if step.operators else step.reads & in_parts)
        } - result
        result |= more
    return frozenset(result)


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
    evidence: Suspects,
    neighbours: tuple[Sequence[frozenset[str]], Sequence[frozenset[str]]],
) -> Missing | None:
    """Return the statement that is missing; None unless the others show it.

    Wrong gradients are zero in that case. No statement on which they depend takes the part of the cotangent that
    belongs to the wrong results, and others take right parts. Or no statement stores the wrong part of the gradient.

    Args:
        steps: The statements.
        evidence: What is wrong.
        neighbours: The parts of each result and of each input, in their order.
    """
    names, parts, rows = evidence.names, evidence.parts, evidence.rows
    of_rows, of_columns = neighbours
    for name in sorted(names.wrong):
        apart = frozenset(k for k, step in enumerate(steps) if step.parts and step.parts <= parts.right)
        taking = [steps[k] for k in sorted(slice_of(steps, name, apart)) if steps[k].stores]
        taken = frozenset[str]().union(*(step.takes for step in taking))
        if rows.wrong and taken & rows.right and taken.isdisjoint(rows.wrong) and not any(s.takes_all for s in taking):
            return _beside([(step, step.takes) for step in taking if not step.is_head], rows, of_rows, is_stored=False)
        storing = [steps[k] for k in sorted(slice_of(steps, name))]
        beside = [step for step in storing if step.parts & parts.right and not step.is_head]
        filled = frozenset[str]().union(*(step.stores for step in beside))
        computed = frozenset[str]().union(*(step.stores for step in steps)) - filled
        complete = (step for step in storing if not step.parts and step.stores & filled and not step.is_head)
        stored = frozenset[str]().union(*(step.parts | step.numbers for step in storing))
        if beside and stored.isdisjoint(parts.wrong) and not any(_computes(step, computed) for step in complete):
            return _beside([(step, step.parts) for step in beside], parts, of_columns, is_stored=True)
    return None


def _computes(step: Step, computed: frozenset[str]) -> bool:
    """Return False for a statement that only makes a value of constants."""
    return bool(step.operators or step.takes or step.takes_all or step.reads & computed)


def _beside(
    steps: Sequence[tuple[Step, frozenset[str]]], accused: Accused, order: Sequence[frozenset[str]], *, is_stored: bool
) -> Missing | None:
    """Return the statement for the part before the first wrong one, else for the next right part."""
    names = [max(one, key=len) for one in order]
    first = next((k for k, name in enumerate(names) if name in accused.wrong - accused.right), None)
    if first is None:
        return None
    part = names[first]
    for near in (*reversed(order[:first]), *order[first + 1 :]):
        beside = [step for step, own in steps if own & near & accused.right]
        if beside:
            return Missing(beside[-1].span, part, is_stored)
    return None


def slice_of(steps: Sequence[Step], name: str, apart: frozenset[int] = frozenset()) -> frozenset[int]:
    """Return the numbers of the statements that the final value of a name depends on, without some of them."""
    names, stored = {name}, set[int]()
    while more := {k for k, step in enumerate(steps) if k not in stored | apart and not names.isdisjoint(step.stores)}:
        stored |= more
        names |= {read for k in more for read in steps[k].reads}
    return frozenset(stored)
